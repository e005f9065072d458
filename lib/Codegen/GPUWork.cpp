//===- GPUWork.cpp - The code of a GPU thread for one op ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Has one function per kind of work in a plan, except fused column reductions.
//
//===----------------------------------------------------------------------===//

#include "GPUThread.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tessera;

void GPUThreadCode::lowerScalar() {
  linalg::GenericOp generic = op->op;
  chunk.clear();
  SmallVector<Value> values;
  if (op->reductions.size == 1)
    values = body(generic, {}, /*reassociates=*/false);
  else
    values = sumLoop(index(0), 1, startValues(), [&](ValueRange sums) {
      return body(generic, sums, /*reassociates=*/false);
    });
  for (auto [value, result] : llvm::zip(values, generic->getResults()))
    rowScalars[result] = value;
  Value first = plan.flat ? flatChunk : lane;
  Value isFirst;
  if (plan.threadsPerRow > 1)
    isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, first, index(0));
  SmallVector<Elements> results;
  for (Value value : values)
    results.push_back({value});
  storeResults(results, both(isFirst, hasRow));
}

void GPUThreadCode::lowerElements() {
  linalg::GenericOp generic = op->op;
  forRounds([&](Value number, unsigned which, Value isActive) {
    atShared(scale(number, op->vector));
    loadChunk(which);
    SmallVector<Elements> results(generic->getNumResults());
    for (element = 0; element < op->vector; ++element)
      for (auto [i, value] : llvm::enumerate(body(generic, {}, false)))
        results[i].push_back(value);
    element = 0;
    for (auto [i, value] : llvm::enumerate(generic->getResults()))
      if (plan.valueStorage.lookup(value) == ValueStorage::Registers)
        held[{value.getAsOpaquePointer(), which}] = results[i];
    storeResults(results, both(isActive, hasRow));
  });
}

void GPUThreadCode::lowerReduction() {
  linalg::GenericOp generic = op->op;
  SmallVector<Value> sums = neutralValues();
  auto addChunk = [&](Value number, unsigned which) {
    atShared(scale(number, op->vector));
    loadChunk(which);
    SmallVector<Value> next = sums;
    for (element = 0; element < op->vector; ++element)
      next = body(generic, next, /*reassociates=*/false);
    element = 0;
    return next;
  };
  if (plan.unrolled) {
    forRounds([&](Value number, unsigned which, Value isActive) {
      SmallVector<Value> next = addChunk(number, which);
      for (auto [sum, value] : llvm::zip(sums, next))
        sum = isActive ? Value(arith::SelectOp::create(b, isActive, value, sum))
                       : value;
    });
  } else {
    auto loop = scf::ForOp::create(b, lane, index(op->chunks),
                                   index(plan.threadsPerRow), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    sums.assign(loop.getRegionIterArgs().begin(),
                loop.getRegionIterArgs().end());
    scf::YieldOp::create(b, addChunk(loop.getInductionVar(), 0));
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  }
  chunk.clear();
  int64_t scratch = op->scratch;
  SmallVector<Elements> results;
  for (auto [i, result] : llvm::enumerate(generic->getResults())) {
    Value total = reduceRow(i, sums[i], scratch);
    scratch += partialBytes(plan.threadsPerRow / kWarp, total.getType());
    if (!startsNeutral(i))
      total = combine(i, startValue(*generic.getDpsInitOperand(i)), total);
    rowScalars[result] = total;
    results.push_back({total});
  }
  Value isFirst;
  if (plan.threadsPerRow > 1)
    isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, index(0));
  storeResults(results, both(isFirst, hasRow));
}

void GPUThreadCode::lowerSums() {
  linalg::GenericOp generic = op->op;
  auto loop =
      scf::ForOp::create(b, lane, index(op->chunks), index(plan.threadsPerRow));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  atParallel(loop.getInductionVar());
  chunk.clear();
  SmallVector<Value> sums =
      sumLoop(index(0), 1, startValues(), [&](ValueRange carried) {
        return body(generic, carried, /*reassociates=*/false);
      });
  SmallVector<Elements> results;
  for (Value sum : sums)
    results.push_back({sum});
  storeResults(results, hasRow);
}

/// Adds the sums of the other splits, which are in shared memory by then, to
/// the sums of the first split, in order.
void GPUThreadCode::addPartials(SmallVector<Elements> &sums, Value split,
                                Value chunk, Value isActive) {
  int64_t scratch = op->scratch, width = op->parallel.size;
  SmallVector<Value> partials;
  for (const Elements &values : sums) {
    int64_t count = (op->splits - 1) * width;
    partials.push_back(view(scratch, values[0].getType(), count));
    scratch += partialBytes(count, values[0].getType());
  }
  Value start = scale(chunk, op->vector);
  Value isOther =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, split, index(0));
  when(both(isOther, isActive), [&] {
    Value before = arith::SubIOp::create(b, split, index(1));
    Value offset = add(scale(before, width), start);
    for (auto [values, memory] : llvm::zip(sums, partials))
      for (auto [v, value] : llvm::enumerate(values))
        memref::StoreOp::create(b, value, memory, add(offset, index(v)));
  });
  gpu::BarrierOp::create(b);
  for (int64_t other = 0; other + 1 < op->splits; ++other)
    for (auto [i, memory] : llvm::enumerate(partials))
      for (auto [v, value] : llvm::enumerate(sums[i]))
        value = combine(i, value,
                        memref::LoadOp::create(
                            b, memory, add(start, index(other * width + v))));
}

void GPUThreadCode::lowerColumns() {
  linalg::GenericOp generic = op->op;
  unsigned numResults = generic->getNumResults();
  // Sums the rows begin, begin + splits, ... of one chunk.
  auto sumRows = [&](Value number, Value begin, bool fromStart) {
    atParallel(scale(number, op->vector));
    chunk.clear();
    SmallVector<Value> starts;
    for (element = 0; element < op->vector; ++element)
      llvm::append_range(starts, fromStart ? startValues() : neutralValues());
    element = 0;
    SmallVector<Value> flat =
        sumLoop(begin, op->splits, starts, [&](ValueRange carried) {
          loadChunk(0);
          SmallVector<Value> next;
          for (element = 0; element < op->vector; ++element)
            llvm::append_range(
                next,
                body(generic, carried.slice(element * numResults, numResults),
                     /*reassociates=*/false));
          element = 0;
          return next;
        });
    SmallVector<Elements> sums(numResults);
    for (auto [i, value] : llvm::enumerate(flat))
      sums[i % numResults].push_back(value);
    chunk.clear();
    return sums;
  };
  if (op->splits == 1) {
    auto loop = scf::ForOp::create(b, lane, index(op->chunks),
                                   index(plan.threadsPerRow));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    return storeResults(
        sumRows(loop.getInductionVar(), index(0), /*fromStart=*/true), hasRow);
  }
  Value split =
      divide(lane, op->chunks, plan.threadsPerRow, /*remainder=*/false);
  Value number =
      divide(lane, op->chunks, plan.threadsPerRow, /*remainder=*/true);
  Value isActive;
  Value begin = split;
  if (op->chunks * op->splits < plan.threadsPerRow) {
    isActive = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, split,
                                     index(op->splits));
    begin =
        arith::SelectOp::create(b, isActive, split, index(op->reductions.size));
  }
  SmallVector<Elements> sums = sumRows(number, begin, /*fromStart=*/false);
  addPartials(sums, split, number, isActive);
  for (unsigned i = 0; i < numResults; ++i)
    if (!startsNeutral(i))
      for (element = 0; element < op->vector; ++element)
        sums[i][element] = combine(i, startValue(*generic.getDpsInitOperand(i)),
                                   sums[i][element]);
  element = 0;
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, split, index(0));
  storeResults(sums, both(isFirst, hasRow));
}
