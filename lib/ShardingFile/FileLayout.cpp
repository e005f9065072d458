//===- FileLayout.cpp - The layout that a sharding file gives -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FileKeys.h"
#include "tessera/Training/TrainingPlan.h"

using namespace tessera;

void tessera::setLayoutFields(GivenPlan &to, const Plan &from) {
  for (llvm::StringRef name : kLayoutFields) {
    const PlanField *field = findField<Plan>(name);
    if (!field->isDefault(from))
      llvm::cantFail(to.set(name, field->print(from)));
  }
}

/// True if a field of devices is given, as --dp or --zero.
static bool givesDevices(const GivenPlan &plan) {
  return llvm::any_of(getFields<Plan>(), [&](const PlanField &field) {
    return (field.uses & FieldUse::kDevices) && plan.has(field.name);
  });
}

/// The strategy of a file: the one that it names, or where its plan needs one,
/// that of the plan on the axes dp, cp, tp and pp. A search's decisions replace
/// a strategy.
static Strategy findStrategy(const ShardingFile &file) {
  Strategy strategy;
  if (file.strategy) {
    strategy = *file.strategy;
  } else if (givesDevices(file.plan)) {
    Plan plan = file.plan.plan;
    auto size = [&](llvm::StringRef name) {
      std::optional<unsigned> axis = file.mesh.find(name);
      return axis ? file.mesh.sizes[*axis] : int64_t(1);
    };
    plan.dp = size("dp");
    plan.cp = size("cp");
    plan.tp = size("tp");
    plan.pp = size("pp");
    strategy = getStrategy(plan);
  }
  if (file.decisions.empty())
    return strategy;
  Strategy decided;
  decided.pp = strategy.pp;
  decided.isSearched = true;
  return decided;
}

static llvm::Error checkMesh(const GivenShardings &shardings,
                             const std::optional<Mesh> &mesh) {
  const Mesh &own = shardings.file.mesh;
  if (mesh && mesh->names == own.names && mesh->sizes == own.sizes)
    return llvm::Error::success();
  return llvm::createStringError("mesh: expects the mesh of the program, " +
                                 (mesh ? print(*mesh) : "one device") +
                                 ", but got " + print(own));
}

llvm::Error tessera::takeLayout(GivenShardings &shardings,
                                GivenLayout &layout) {
  const ShardingFile &file = shardings.file;
  bool givesLayout = !layout.strategy.isNone() || givesDevices(layout.plan);
  for (llvm::StringRef name : kLayoutFields) {
    const PlanField *field = findField<Plan>(name);
    if (file.plan.has(name) && !layout.plan.has(name) &&
        !(field->uses & FieldUse::kDevices))
      llvm::cantFail(layout.plan.set(name, field->print(file.plan.plan)));
  }
  if (givesLayout) {
    if (!layout.mesh && !layout.strategy.isNone())
      layout.mesh = file.mesh;
  } else {
    if (!layout.mesh)
      layout.mesh = file.mesh;
    layout.strategy = findStrategy(file);
    shardings.hasOwnStrategy = file.strategy || !file.decisions.empty();
  }
  if (llvm::Error error = layout.complete())
    return error;
  return checkMesh(shardings, layout.mesh);
}
