//===- CodegenUnits.cpp - Splits a program into units ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodegenUnits.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <numeric>

using namespace tessera;
using llvm::Function;
using llvm::GlobalValue;

/// Returns the functions whose bodies refer to each global, in the module's
/// order. A reference from another global is recorded as nullptr.
static llvm::MapVector<GlobalValue *, llvm::SetVector<Function *>>
findReaders(llvm::Module &module) {
  llvm::MapVector<GlobalValue *, llvm::SetVector<Function *>> readers;
  for (GlobalValue &value : module.global_values()) {
    llvm::SmallVector<llvm::User *> users(value.users());
    llvm::SmallPtrSet<llvm::User *, 16> seen;
    while (!users.empty()) {
      llvm::User *user = users.pop_back_val();
      if (!seen.insert(user).second)
        continue;
      if (auto *instruction = llvm::dyn_cast<llvm::Instruction>(user))
        readers[&value].insert(instruction->getFunction());
      else if (llvm::isa<GlobalValue>(user))
        readers[&value].insert(nullptr);
      else
        llvm::append_range(users, user->users());
    }
  }
  return readers;
}

/// Returns the unit of each defined global that is not in the first unit.
static llvm::DenseMap<const GlobalValue *, unsigned>
assignUnits(llvm::Module &module, unsigned maxHot) {
  auto readers = findReaders(module);
  llvm::SetVector<Function *> hot;
  for (Function &function : module)
    if (!function.isDeclaration() &&
        !function.hasFnAttribute(llvm::Attribute::OptimizeNone))
      hot.insert(&function);
  llvm::EquivalenceClasses<Function *> together;
  for (Function *function : hot)
    together.insert(function);
  for (auto &[value, users] : readers)
    if (auto *callee = llvm::dyn_cast<Function>(value); hot.contains(callee))
      for (Function *user : users)
        if (hot.contains(user))
          together.unionSets(callee, user);

  llvm::MapVector<Function *, unsigned> sizes;
  for (Function *function : hot)
    sizes[together.getLeaderValue(function)] += function->getInstructionCount();
  auto groups = sizes.takeVector();
  std::vector<unsigned> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](unsigned lhs, unsigned rhs) {
    return std::tuple(groups[rhs].second, lhs) <
           std::tuple(groups[lhs].second, rhs);
  });
  // Assigns the next largest group to the unit with the smallest load.
  std::vector<unsigned> loads(std::min<size_t>(maxHot, groups.size()), 0);
  llvm::DenseMap<Function *, unsigned> partOfGroup;
  for (unsigned number : order) {
    auto least = llvm::min_element(loads);
    *least += groups[number].second;
    partOfGroup[groups[number].first] = 1 + (least - loads.begin());
  }
  llvm::DenseMap<const GlobalValue *, unsigned> units;
  for (Function *function : hot)
    units[function] = partOfGroup[together.getLeaderValue(function)];
  for (llvm::GlobalVariable &variable : module.globals()) {
    const auto &users = readers[&variable];
    if (!variable.hasLocalLinkage() || users.empty() ||
        !llvm::all_of(users, [&](Function *f) { return hot.contains(f); }))
      continue;
    unsigned unit = units.lookup(users.front());
    if (llvm::all_of(users,
                     [&](Function *f) { return units.lookup(f) == unit; }))
      units[&variable] = unit;
  }
  return units;
}

/// Gives local symbols external, hidden linkage, so that other units can refer
/// to them.
static void exportLocals(llvm::Module &module) {
  for (GlobalValue &value : module.global_values())
    if (value.hasLocalLinkage()) {
      value.setLinkage(GlobalValue::ExternalLinkage);
      value.setVisibility(GlobalValue::HiddenVisibility);
    }
}

/// Drops declarations without a use in the unit.
static void dropUnused(llvm::Module &unit) {
  for (Function &function : llvm::make_early_inc_range(unit))
    if (function.isDeclaration() && function.use_empty())
      function.eraseFromParent();
  for (auto &variable : llvm::make_early_inc_range(unit.globals()))
    if (variable.isDeclaration() && variable.use_empty())
      variable.eraseFromParent();
}

std::vector<CodegenUnit> tessera::splitProgram(llvm::Module &module,
                                               unsigned maxHot) {
  auto units = assignUnits(module, maxHot);
  unsigned count = 1;
  for (const auto &entry : units)
    count = std::max(count, entry.second + 1);
  exportLocals(module);
  std::vector<CodegenUnit> result(count);
  for (unsigned number = 0; number < count; ++number) {
    llvm::ValueToValueMapTy mapping;
    std::unique_ptr<llvm::Module> unit =
        llvm::CloneModule(module, mapping, [&](const GlobalValue *value) {
          return units.lookup(value) == number;
        });
    dropUnused(*unit);
    llvm::raw_svector_ostream os(result[number].bitcode);
    llvm::WriteBitcodeToFile(*unit, os);
    result[number].isHot = number > 0;
  }
  return result;
}
