//===- GPUSums.cpp - Sums over the threads of a GPU -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUThread.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Codegen/ReductionLoops.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Sums carried from row to row
//===----------------------------------------------------------------------===//

/// Adds the row to the sums. A thread without a chunk adds values that it never
/// stores.
void GPUThreadCode::lowerCarried() {
  Elements &sums = carried[op];
  unsigned numResults = op->op->getNumResults();
  forRounds([&](Value number, unsigned which, Value) {
    atShared(scale(number, op->vector));
    loadChunk(which);
    for (element = 0; element < op->vector; ++element) {
      auto *mine = sums.begin() + (which * op->vector + element) * numResults;
      Elements before(mine, mine + numResults);
      llvm::copy(body(op->op, before, /*reassociates=*/false), mine);
    }
    element = 0;
  });
  chunk.clear();
}

/// Lowers the rows of a chunk one after the other, then stores its sums.
void GPUThreadCode::lowerRowsInTurn(Value chunk) {
  Value first = scale(chunk, plan.rowsPerSum);
  SmallVector<Value> starts;
  for (const OpPlan &next : plan.ops) {
    if (next.work != RowWork::FusedColumnReduction)
      continue;
    op = &next;
    Elements &sums = carried[op];
    for (int64_t i = 0; i < next.chunksPerThread * next.vector; ++i)
      llvm::append_range(sums, neutralValues());
    llvm::append_range(starts, sums);
  }
  auto loop =
      scf::ForOp::create(b, index(0), index(plan.rowsPerSum), index(1), starts);
  auto take = [&](ValueRange values) {
    for (auto &[next, sums] : carried) {
      llvm::copy(values.take_front(sums.size()), sums.begin());
      values = values.drop_front(sums.size());
    }
  };
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    row = add(first, loop.getInductionVar());
    take(loop.getRegionIterArgs());
    lowerOps();
    // The next row's partial sums overwrite the buffer that this row reads.
    if (plan.sharedBytes)
      gpu::BarrierOp::create(b);
    SmallVector<Value> sums;
    for (auto &[next, values] : carried)
      llvm::append_range(sums, values);
    scf::YieldOp::create(b, sums);
  }
  take(loop.getResults());
  row = first;
  for (auto &entry : carried) {
    op = entry.first;
    ArrayRef<Value> sums = entry.second;
    atRow();
    unsigned numResults = op->op->getNumResults();
    forRounds([&](Value number, unsigned which, Value isActive) {
      atShared(scale(number, op->vector));
      SmallVector<Elements> results(numResults);
      for (int64_t i = 0; i < op->vector * numResults; ++i)
        results[i % numResults].push_back(
            sums[which * op->vector * numResults + i]);
      storeResults(results, both(isActive, hasRow));
    });
  }
}

//===----------------------------------------------------------------------===//
// Sums over the threads of a row
//===----------------------------------------------------------------------===//

SmallVector<Value> GPUThreadCode::neutralValues() {
  SmallVector<Value> values;
  for (unsigned i = 0; i < op->op->getNumResults(); ++i)
    values.push_back(arith::ConstantOp::create(
        b, *arith::getNeutralElement(getCombiner(op->op, i))));
  return values;
}

Value GPUThreadCode::combine(unsigned result, Value a, Value other) {
  linalg::GenericOp generic = op->op;
  Operation *combiner = getCombiner(generic, result);
  Value accumulator =
      generic.getBody()->getArgument(generic.getNumDpsInputs() + result);
  IRMapping mapping;
  for (Value operand : combiner->getOperands())
    mapping.map(operand, operand == accumulator ? a : other);
  return b.clone(*combiner, mapping)->getResult(0);
}

/// True if a sum starts with its neutral element.
bool GPUThreadCode::startsNeutral(unsigned result) {
  linalg::GenericOp generic = op->op;
  auto fill =
      generic.getDpsInitOperand(result)->get().getDefiningOp<linalg::FillOp>();
  auto constant =
      fill ? fill.getInputs()[0].getDefiningOp<arith::ConstantOp>() : nullptr;
  if (!constant)
    return false;
  if (auto zero = dyn_cast<FloatAttr>(constant.getValue()))
    if (isa<arith::AddFOp>(getCombiner(generic, result)))
      return zero.getValue().isZero();
  return constant.getValue() ==
         *arith::getNeutralElement(getCombiner(generic, result));
}

/// Returns the value of the lane whose number differs in the bits of `mask`.
/// Lanes exchange 32-bit words.
Value GPUThreadCode::exchange(Value value, int64_t mask) {
  Type type = value.getType(), word = b.getI32Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  Type whole = b.getIntegerType(bits);
  auto shuffle = [&](Value half) -> Value {
    return gpu::ShuffleOp::create(b, half, int32_t(mask), int32_t(kWarp),
                                  gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  Value integer = isa<FloatType>(type)
                      ? Value(arith::BitcastOp::create(b, whole, value))
                      : value;
  if (bits < 32) {
    integer = shuffle(arith::ExtUIOp::create(b, word, integer));
    integer = arith::TruncIOp::create(b, whole, integer);
  } else if (bits == 32) {
    integer = shuffle(integer);
  } else {
    Value half = arith::ConstantOp::create(b, b.getIntegerAttr(whole, 32));
    Value low = shuffle(arith::TruncIOp::create(b, word, integer));
    Value high = shuffle(arith::TruncIOp::create(
        b, word, arith::ShRUIOp::create(b, integer, half)));
    high =
        arith::ShLIOp::create(b, arith::ExtUIOp::create(b, whole, high), half);
    integer =
        arith::OrIOp::create(b, high, arith::ExtUIOp::create(b, whole, low));
  }
  return isa<FloatType>(type)
             ? Value(arith::BitcastOp::create(b, type, integer))
             : integer;
}

/// Returns the sum over the threads of a row, the same for all of them.
Value GPUThreadCode::reduceRow(unsigned result, Value value, int64_t scratch) {
  for (int64_t mask = std::min(plan.threadsPerRow, kWarp) / 2; mask >= 1;
       mask /= 2)
    value = combine(result, value, exchange(value, mask));
  if (plan.threadsPerRow <= kWarp)
    return value;
  int64_t warps = plan.threadsPerRow / kWarp;
  Value partials = view(scratch, value.getType(), warps);
  Value first = arith::CmpIOp::create(
      b, arith::CmpIPredicate::eq,
      divide(lane, kWarp, plan.threadsPerRow, /*remainder=*/true), index(0));
  when(first, [&] {
    memref::StoreOp::create(
        b, value, partials,
        divide(lane, kWarp, plan.threadsPerRow, /*remainder=*/false));
  });
  gpu::BarrierOp::create(b);
  Value total = memref::LoadOp::create(b, partials, index(0));
  for (int64_t warp = 1; warp < warps; ++warp)
    total = combine(result, total,
                    memref::LoadOp::create(b, partials, index(warp)));
  return total;
}

int64_t tessera::partialBytes(int64_t count, Type type) {
  return llvm::alignTo(count * rt::getElementBytes(type), 16);
}
