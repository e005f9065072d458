//===- JoinSums.cpp - Sums of several pp ranks as sums of micro-batches ---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JoinPipeline.h"
#include "SumOps.h"

using namespace mlir;
using namespace tessera;

static constexpr const char *kNoSum =
    "what pp ranks exchange is no sum of their gradients";

/// The linear ops from a sum over micro-batches to a value; none if other ops
/// are between.
static std::optional<SmallVector<Operation *>>
findChain(Value value, dist::AccumulateOp accumulate) {
  SmallVector<Operation *> chain;
  while (Operation *def = value.getDefiningOp()) {
    if (def == accumulate) {
      std::reverse(chain.begin(), chain.end());
      return chain;
    }
    if (!isLinear(def))
      return std::nullopt;
    chain.push_back(def);
    value = def->getOperand(0);
  }
  return std::nullopt;
}

/// True if a value is computed by linear ops from a sum over some micro-batches
/// only.
bool Joiner::isPart(Value value) {
  if (!accumulate)
    return false;
  auto chain = findChain(value, accumulate);
  if (!chain)
    return false;
  if (!chain->empty())
    value = chain->front()->getOperand(0);
  return !isWhole(cast<OpResult>(value).getResultNumber());
}

/// The additions of the terms of one sum, in order; empty if the terms have
/// other uses.
static SmallVector<Operation *> findAdditions(ValueRange parts) {
  SmallVector<Operation *> additions;
  Value sum = parts.front();
  for (Value part : parts.drop_front()) {
    if (!sum.hasOneUse() || !part.hasOneUse())
      return {};
    Operation *add = *sum.user_begin();
    if (!isa<arith::AddFOp, arith::AddIOp>(add) || add->getOperand(0) != sum ||
        add->getOperand(1) != part)
      return {};
    additions.push_back(add);
    sum = add->getResult(0);
  }
  return additions;
}

LogicalResult Joiner::joinSums(ArrayRef<int64_t> members) {
  auto first = cast<dist::ExchangeOp>(*next[members.front()]);
  ArrayRef<int64_t> from = first.getFrom();
  size_t count = members.size();
  // Sum by sum, a part of each member in one order.
  auto isRepeated = [&](size_t i) { return from[i] == from[i % count]; };
  if (!accumulate || from.size() % count ||
      !llvm::all_of(llvm::seq(from.size()), isRepeated) ||
      llvm::SmallDenseSet<int64_t>(from.begin(), from.end()).size() != count)
    return giveUp(first, kNoSum);
  for (size_t sum = 0; sum < from.size() / count; ++sum)
    if (failed(joinSum(members, sum)))
      return failure();
  return success();
}

/// Joins terms of one sum, which each pp rank has reduced alike and now adds
/// up. Sums are linear, so the terms are added in the micro-batch instead, in
/// program order, and reduced once.
LogicalResult Joiner::joinSum(ArrayRef<int64_t> members, size_t number) {
  auto first = cast<dist::ExchangeOp>(*next[members.front()]);
  auto fail = [&] { return giveUp(first, kNoSum); };
  auto getParts = [&](int64_t rank) {
    return ValueRange(next[rank]->getResults())
        .slice(number * members.size(), members.size());
  };
  auto isUnused = [&](int64_t rank) {
    return llvm::all_of(getParts(rank), [](Value v) { return v.use_empty(); });
  };
  // The terms that all members add in one micro-batch, by path.
  SmallVector<SmallVector<Value>, 2> added(program.problem.numPaths());
  SmallVector<Operation *> chain;
  Type sumType;
  bool isFirst = true;
  for (int64_t rank : members) {
    SmallVector<Operation *> additions = findAdditions(getParts(rank));
    // A member may only provide its term.
    if (additions.size() + 1 != members.size() && !isUnused(rank))
      return fail();
    Value part = values[rank].lookup(next[rank]->getOperand(number));
    auto mine = findChain(part, accumulate);
    if (!mine ||
        (!isFirst && !llvm::equal(*mine, chain, [](Operation *a, Operation *b) {
          return a->getName() == b->getName() &&
                 a->getPropertiesAsAttribute() == b->getPropertiesAsAttribute();
        })))
      return fail();
    chain = *mine;
    isFirst = false;
    Value sum = chain.empty() ? part : chain.front()->getOperand(0);
    sumType = sum.getType();
    size_t result = cast<OpResult>(sum).getResultNumber();
    if (result >= terms.size() || accumulate.isStacked(result))
      return fail();
    for (auto [all, own] : llvm::zip_equal(added, terms[result]))
      llvm::append_range(all, own);
    skipped.insert(additions.begin(), additions.end());
  }
  for (ArrayRef<Value> ofPath : added) {
    if (!llvm::all_of(ofPath, [](Value v) { return bool(v.getDefiningOp()); }))
      return fail();
    if (!way && numbers.getSorted(ofPath) != numbers.getSorted(added.front()))
      return giveUp(first, "micro-batches of one path add other terms than "
                           "those of the other");
  }
  Value whole = addToAccumulate(added[getPath()], sumType);
  for (Operation *op : chain) {
    IRMapping map;
    map.map(op->getOperand(0), whole);
    whole = builder.clone(*op, map)->getResult(0);
  }
  for (int64_t rank : members)
    if (!isUnused(rank))
      values[rank].map(findAdditions(getParts(rank)).back()->getResult(0),
                       whole);
  return success();
}

/// Rebuilds the joined accumulate to yield `yielded`. The first of these are
/// the values of its results `kept`.
void Joiner::rebuildAccumulate(ArrayRef<Value> yielded,
                               ArrayRef<unsigned> kept) {
  Operation *yield = accumulate.getBody().front().getTerminator();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(accumulate);
  // New results are sums.
  SmallVector<Type> types(ValueRange(yielded).getTypes());
  for (auto [now, before] : llvm::enumerate(kept))
    types[now] = accumulate.getResult(before).getType();
  auto rebuilt = dist::AccumulateOp::create(
      builder, accumulate.getLoc(), types, accumulate.getCountAttr(),
      accumulate.getReduceEachAttr(), accumulate.getSlices());
  rebuilt.getBody().takeBody(accumulate.getBody());
  yield->setOperands(yielded);
  for (auto [now, before] : llvm::enumerate(kept))
    accumulate.getResult(before).replaceAllUsesWith(rebuilt.getResult(now));
  accumulate.erase();
  accumulate = rebuilt;
}

/// Returns a placeholder for a new result, the sum of terms of a micro-batch.
/// addResults() replaces all placeholders together, since each rebuild changes
/// the op.
Value Joiner::addToAccumulate(ArrayRef<Value> terms, Type type) {
  Operation *yield = accumulate.getBody().front().getTerminator();
  SmallVector<Value> ordered(terms);
  if (terms.empty()) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(yield);
    ordered.push_back(buildZero(builder, yield->getLoc(), type));
  }
  llvm::sort(ordered, [](Value a, Value b) {
    return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
  });
  OpBuilder inBody(yield);
  Value sum = ordered.front();
  for (Value term : ArrayRef(ordered).drop_front())
    sum = addValues(inBody, term.getLoc(), sum, term);
  Value placeholder =
      UnrealizedConversionCastOp::create(builder, sum.getLoc(),
                                         TypeRange(sum.getType()), ValueRange())
          .getResult(0);
  numbers.keepApart(placeholder.getDefiningOp());
  results.push_back({placeholder, sum});
  return placeholder;
}

/// Replaces the placeholders by results of the accumulate.
void Joiner::addResults() {
  Operation *yield = accumulate.getBody().front().getTerminator();
  SmallVector<Value> yielded(yield->getOperands());
  auto kept =
      llvm::to_vector(llvm::seq<unsigned>(0, accumulate.getNumResults()));
  for (auto [placeholder, sum] : results)
    yielded.push_back(sum);
  rebuildAccumulate(yielded, kept);
  for (auto [i, result] : llvm::enumerate(results)) {
    Value placeholder = result.first;
    placeholder.replaceAllUsesWith(accumulate.getResult(kept.size() + i));
    placeholder.getDefiningOp()->erase();
  }
}

/// Maps the results of pipelines to results of the accumulate.
void Joiner::mapSums() {
  unsigned number = 0;
  for (int64_t rank = 0; rank < program.getNumRanks(); ++rank)
    for (Value result : pipelineResults[rank])
      values[rank].map(result, accumulate.getResult(number++));
}

/// Removes partial sums that were added in the micro-batch, and values of other
/// paths. Fails if a sum over the micro-batches of one path is used as a whole
/// sum.
LogicalResult Joiner::dropUnused() {
  addResults();
  removeDead(joined.getBody().front());
  for (OpResult result : accumulate->getResults())
    if (!way && !result.use_empty() && !isWhole(result.getResultNumber()))
      return giveUp(program.pipelines.front(),
                    "a sum over the micro-batches of one path is used before "
                    "the others are added");
  SmallVector<Value> yielded;
  SmallVector<unsigned> kept;
  Operation *yield = accumulate.getBody().front().getTerminator();
  for (OpResult result : accumulate->getResults())
    if (!result.use_empty()) {
      kept.push_back(result.getResultNumber());
      yielded.push_back(yield->getOperand(result.getResultNumber()));
    }
  rebuildAccumulate(yielded, kept);
  removeDead(accumulate.getBody().front());
  return success();
}
