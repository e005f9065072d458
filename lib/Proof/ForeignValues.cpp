//===- ForeignValues.cpp - Values that the reference lacks ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForeignValues.h"
#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <set>

using namespace mlir;
using namespace tessera;

ForeignValues::Maker ForeignValues::findMaker(int value) const {
  if (auto it = made.find(value); it != made.end())
    return it->second;
  auto [op, result] = reference.findMaker(value);
  if (!op)
    return {};
  // The sum over micro-batches adds up the values that its region yields.
  if (auto sum = dyn_cast<dist::AccumulateOp>(op->op))
    return {
        sum, {reference.lookup(sum.getYield()->getOperand(result))}, result};
  return {op->op, op->operands, result};
}

/// True for additions of numbers, which change under doubling; false for
/// booleans.
static bool isAddition(Operation *op) {
  return isa<arith::AddFOp>(op) ||
         (isa<arith::AddIOp>(op) &&
          !getElementTypeOrSelf(op->getResult(0)).isInteger(1));
}

bool ForeignValues::addTerms(int value, Terms &terms, int64_t &numTerms) const {
  constexpr int64_t kMostTerms = 4096;
  Maker maker = findMaker(value);
  if (!maker.op || !isAddition(maker.op)) {
    ++terms[value];
    return ++numTerms <= kMostTerms;
  }
  return llvm::all_of(maker.operands, [&](int operand) {
    return addTerms(operand, terms, numTerms);
  });
}

/// Whether both ops do the same with their operands.
static bool areAlike(Operation *a, unsigned resultOfA, Operation *b,
                     unsigned resultOfB) {
  if (a->getName() != b->getName())
    return false;
  if (auto sum = dyn_cast<dist::AccumulateOp>(a)) {
    auto other = cast<dist::AccumulateOp>(b);
    return sum.getCount() == other.getCount() &&
           sum.isStacked(resultOfA) == other.isStacked(resultOfB);
  }
  return resultOfA == resultOfB && a->getNumRegions() == 0 &&
         haveSameProperties(a, b);
}

bool ForeignValues::tellsApart(Operation *op, unsigned result) {
  return isa<dist::AccumulateOp>(op) ||
         isa<FloatType>(getElementTypeOrSelf(op->getResult(result)));
}

static std::string printTimes(int64_t times) {
  return times == 1 ? "once" : std::to_string(times) + " times";
}

/// Compares two sums. If they differ in exactly one term, and it is not zero,
/// explains how.
std::string ForeignValues::compareTerms(int got, int needed) const {
  Terms mine, theirs;
  int64_t numTerms = 0;
  if (!addTerms(got, mine, numTerms) || !addTerms(needed, theirs, numTerms))
    return "";
  Terms difference = mine;
  for (auto [value, times] : theirs)
    if ((difference[value] -= times) == 0)
      difference.erase(value);
  if (difference.size() != 1)
    return "";
  int value = difference.begin()->first;
  if (value < 0 || reference.getValue(value).isZero)
    return "";
  int64_t here = mine[value], there = theirs[value];
  return (here ? "it adds a value " + printTimes(here) : "it lacks a value") +
         " that the reference " +
         (there ? "adds " + printTimes(there) : "does not add");
}

std::string ForeignValues::explainDifference(int got, int needed) const {
  if (!contains(got) || needed < 0)
    return "";
  std::string difference = compareTerms(got, needed);
  if (!difference.empty())
    return difference;
  Maker a = findMaker(got), b = findMaker(needed);
  if (!a.op || !b.op || !areAlike(a.op, a.result, b.op, b.result) ||
      a.operands.size() != b.operands.size())
    return "";
  if (a.op->hasTrait<OpTrait::IsCommutative>()) {
    llvm::sort(a.operands);
    llvm::sort(b.operands);
  }
  // Two operands that differ might compensate for each other, but one value
  // that is used twice cannot.
  std::optional<std::pair<int, int>> other;
  for (auto [mine, theirs] : llvm::zip(a.operands, b.operands)) {
    if (mine == theirs)
      continue;
    if (other && *other != std::pair(mine, theirs))
      return "";
    other = {mine, theirs};
  }
  if (!other || other->second < 0)
    return "";
  if (contains(other->first))
    return tellsApart(a.op, a.result)
               ? explainDifference(other->first, other->second)
               : "";
  if (other->first < 0)
    return "";
  return "it is " + a.op->getName().getStringRef().str() + " of another value";
}

bool ForeignValues::isRelated(int got, int needed) const {
  std::set<int> sources, seen;
  SmallVector<int> open{got};
  while (!open.empty()) {
    int value = open.pop_back_val();
    if (!contains(value))
      sources.insert(value);
    else if (seen.insert(value).second)
      llvm::append_range(open, made.at(value).operands);
  }
  seen.clear();
  open.push_back(needed);
  while (!open.empty()) {
    int value = open.pop_back_val();
    if (sources.count(value))
      return true;
    if (value >= 0 && seen.insert(value).second)
      llvm::append_range(open, findMaker(value).operands);
  }
  return false;
}
