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

/// The linear ops that lead from a sum over micro-batches to a value; none if
/// others do.
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

/// The additions of an exchange's results, in their order; empty if they are
/// used otherwise.
static SmallVector<Operation *> findAdditions(Operation *exchange) {
  SmallVector<Operation *> additions;
  Value sum = exchange->getResult(0);
  for (Value part : exchange->getResults().drop_front()) {
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

/// Parts of one sum, which each pp rank has reduced alike and now adds up: sums
/// are linear, so they are added in the micro-batch instead, in the order in
/// which it makes them, and reduced once.
LogicalResult Joiner::joinSum(ArrayRef<int64_t> members) {
  auto first = cast<dist::ExchangeOp>(*next[members.front()]);
  auto fail = [&] {
    return first.emitOpError(
        "not provable: what pp ranks exchange is no sum of "
        "their gradients");
  };
  if (!accumulate || first.getFrom().size() != members.size())
    return fail();
  SmallVector<Value> terms;
  SmallVector<Operation *> chain;
  for (int64_t rank : members) {
    Operation *exchange = &*next[rank];
    SmallVector<Operation *> additions = findAdditions(exchange);
    if (exchange->getNumOperands() != 1 ||
        additions.size() + 1 != members.size())
      return fail();
    Value part = values[rank].lookup(exchange->getOperand(0));
    auto mine = findChain(part, accumulate);
    if (!mine || (!terms.empty() &&
                  !llvm::equal(*mine, chain, [](Operation *a, Operation *b) {
                    return a->getName() == b->getName() &&
                           a->getPropertiesAsAttribute() ==
                               b->getPropertiesAsAttribute();
                  })))
      return fail();
    chain = *mine;
    Value sum = chain.empty() ? part : chain.front()->getOperand(0);
    terms.push_back(accumulate.getBody().front().getTerminator()->getOperand(
        cast<OpResult>(sum).getResultNumber()));
    if (!terms.back().getDefiningOp())
      return fail();
    skipped.insert(additions.begin(), additions.end());
  }
  Value whole = addToAccumulate(terms);
  for (Operation *op : chain) {
    IRMapping map;
    map.map(op->getOperand(0), whole);
    whole = builder.clone(*op, map)->getResult(0);
  }
  for (int64_t rank : members)
    values[rank].map(findAdditions(&*next[rank]).back()->getResult(0), whole);
  return success();
}

/// The joined accumulate with other yielded values, of which the first are
/// those of its results `kept`.
void Joiner::rebuildAccumulate(ArrayRef<Value> yielded,
                               ArrayRef<unsigned> kept) {
  Operation *yield = accumulate.getBody().front().getTerminator();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(accumulate);
  auto rebuilt = dist::AccumulateOp::create(
      builder, accumulate.getLoc(), ValueRange(yielded).getTypes(),
      accumulate.getCountAttr(), accumulate.getReduceEachAttr(),
      accumulate.getSlices());
  rebuilt.getBody().takeBody(accumulate.getBody());
  yield->setOperands(yielded);
  for (auto [now, before] : llvm::enumerate(kept))
    accumulate.getResult(before).replaceAllUsesWith(rebuilt.getResult(now));
  accumulate.erase();
  accumulate = rebuilt;
}

/// A new result: the sum of terms of a micro-batch.
Value Joiner::addToAccumulate(ArrayRef<Value> terms) {
  Operation *yield = accumulate.getBody().front().getTerminator();
  SmallVector<Value> ordered(terms);
  llvm::sort(ordered, [](Value a, Value b) {
    return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
  });
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(yield);
  Value sum = ordered.front();
  for (Value term : ArrayRef(ordered).drop_front())
    sum = addValues(builder, term.getLoc(), sum, term);
  SmallVector<Value> yielded(yield->getOperands());
  SmallVector<unsigned> kept(
      llvm::to_vector(llvm::seq<unsigned>(0, accumulate.getNumResults())));
  yielded.push_back(sum);
  rebuildAccumulate(yielded, kept);
  mapSums();
  return accumulate->getResults().back();
}

/// Maps the results of pipelines to those of the accumulate.
void Joiner::mapSums() {
  unsigned number = 0;
  for (int64_t rank = 0; rank < program.getNumRanks(); ++rank)
    for (Value result : pipelineResults[rank])
      values[rank].map(result, accumulate.getResult(number++));
}

/// Parts of sums that were added in the micro-batch are used no more.
void Joiner::dropUnused() {
  removeDead(joined.getBody().front());
  SmallVector<Value> yielded;
  SmallVector<unsigned> kept;
  Operation *yield = accumulate.getBody().front().getTerminator();
  for (OpResult result : accumulate->getResults())
    if (!result.use_empty()) {
      kept.push_back(result.getResultNumber());
      yielded.push_back(yield->getOperand(result.getResultNumber()));
    }
  rebuildAccumulate(yielded, kept);
}
