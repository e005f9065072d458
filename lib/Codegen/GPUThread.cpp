//===- GPUThread.cpp - Addresses and accesses of a GPU thread -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUThread.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// Builds a quotient or remainder of a number below `bound`, in 32 bits if that
/// fits.
Value GPUThreadCode::divide(Value value, int64_t by, int64_t bound,
                            bool remainder) {
  if (remainder && bound <= by)
    return value;
  if (by == 1)
    return remainder ? index(0) : value;
  Type type =
      bound < (int64_t(1) << 31) ? Type(b.getI32Type()) : Type(b.getI64Type());
  Value wide = arith::IndexCastUIOp::create(b, type, value);
  Value divisor = arith::ConstantOp::create(b, b.getIntegerAttr(type, by));
  Value result = remainder ? Value(arith::RemUIOp::create(b, wide, divisor))
                           : Value(arith::DivUIOp::create(b, wide, divisor));
  return arith::IndexCastUIOp::create(b, b.getIndexType(), result);
}

/// Splits the linear index of a group into one index per run.
SmallVector<Value> GPUThreadCode::indicesOf(const LoopGroup &group,
                                            Value number) {
  SmallVector<Value> values(group.runs.size());
  int64_t below = 1;
  for (int64_t i = int64_t(values.size()) - 1; i >= 0; --i) {
    int64_t size = group.runs[i].size;
    Value above = divide(number, below, group.size, /*remainder=*/false);
    values[i] = divide(above, size, group.size / below, /*remainder=*/true);
    below *= size;
  }
  return values;
}

void GPUThreadCode::atRow() { rowIndices = indicesOf(op->rows, row); }

void GPUThreadCode::atParallel(Value number) {
  parallelIndex = number;
  parallelIndices = indicesOf(op->parallel, number);
}

void GPUThreadCode::atReduction(Value number) {
  reductionIndex = number;
  reductionIndices = indicesOf(op->reductions, number);
}

void GPUThreadCode::atShared(Value number) {
  if (op->work == RowWork::Reduction)
    atReduction(number);
  else
    atParallel(number);
}

Value GPUThreadCode::loopIndex(unsigned loop) {
  auto inGroup = [&](const LoopGroup &group, Value number) -> Value {
    int64_t below = 1;
    for (unsigned other : llvm::reverse(group.loops)) {
      if (other == loop)
        break;
      below *= op->sizes[other];
    }
    Value quotient = divide(number, below, group.size, /*remainder=*/false);
    return divide(quotient, op->sizes[loop], group.size / below,
                  /*remainder=*/true);
  };
  auto moved = [&](const LoopGroup &group, Value number) -> Value {
    if (&group != &op->shared() || element == 0)
      return number;
    return add(number, index(element));
  };
  if (op->sizes[loop] == 1)
    return index(0);
  if (llvm::is_contained(op->rows.loops, loop))
    return inGroup(op->rows, row);
  if (llvm::is_contained(op->parallel.loops, loop))
    return inGroup(op->parallel, moved(op->parallel, parallelIndex));
  return inGroup(op->reductions, moved(op->reductions, reductionIndex));
}

/// Evaluates the offset of a map that is not linear.
Value GPUThreadCode::evaluate(AffineMap map, const Storage &buffer) {
  SmallVector<Value> loops;
  for (unsigned i = 0; i < op->sizes.size(); ++i)
    loops.push_back(map.isFunctionOfDim(i) ? loopIndex(i) : index(0));
  SmallVector<Value> indices;
  SmallVector<int64_t> strides = rt::getRowMajorStrides(buffer.shape), used;
  for (unsigned i = buffer.dropped; i < map.getNumResults(); ++i) {
    indices.push_back(
        affine::expandAffineExpr(b, b.getLoc(), map.getResult(i), loops, {}));
    used.push_back(strides[i]);
  }
  return linear(indices, used);
}

Value GPUThreadCode::address(const LinearAccess &access) {
  Value sum;
  auto plus = [&](Value term) {
    sum = sum ? Value(arith::AddIOp::create(b, sum, term,
                                            arith::IntegerOverflowFlags::nsw))
              : term;
  };
  auto addGroup = [&](const LoopGroup &group, ArrayRef<Value> values) {
    for (auto [run, value] : llvm::zip(group.runs, values))
      if (int64_t stride = access.strides[run.last])
        plus(scale(value, stride));
  };
  addGroup(op->rows, rowIndices);
  addGroup(op->parallel, parallelIndices);
  addGroup(op->reductions, reductionIndices);
  int64_t constant = access.offset;
  if (element)
    constant += element * access.strides[op->shared().runs.back().last];
  if (constant || !sum)
    plus(index(constant));
  return sum;
}

std::optional<LinearAccess> GPUThreadCode::access(OpOperand &operand,
                                                  const Storage &buffer) const {
  linalg::GenericOp generic = op->op;
  return getLinearAccess(generic.getMatchingIndexingMap(&operand), buffer.shape,
                         buffer.dropped);
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

/// Returns the number of elements of one access of at most 16 bytes. It is 1
/// for elements that do not fill their bytes: a vector of them has another
/// layout than memory.
static int64_t accessWidth(Type element, int64_t vector) {
  int64_t bytes = rt::getElementBytes(element);
  if (element.getIntOrFloatBitWidth() != 8 * bytes)
    return 1;
  return std::min<int64_t>(vector, 16 / bytes);
}

GPUThreadCode::Elements GPUThreadCode::loadVector(OpOperand &operand,
                                                  const Storage &buffer,
                                                  const LinearAccess &access) {
  Type type = getElementTypeOrSelf(operand.get().getType());
  int64_t width = accessWidth(type, op->vector);
  Elements values;
  for (element = 0; element < op->vector; element += width) {
    Value at = address(access);
    if (width == 1) {
      values.push_back(memref::LoadOp::create(b, buffer.memref, at));
      continue;
    }
    Value vector = vector::LoadOp::create(
        b, VectorType::get({width}, type), buffer.memref, at,
        /*nontemporal=*/false,
        llvm::MaybeAlign(width * rt::getElementBytes(type)));
    for (int64_t i = 0; i < width; ++i)
      values.push_back(vector::ExtractOp::create(b, vector, i));
  }
  element = 0;
  return values;
}

/// Reads the op's operands of a chunk as vectors.
void GPUThreadCode::loadChunk(unsigned number) {
  round = number;
  element = 0;
  chunk.clear();
  linalg::GenericOp generic = op->op;
  for (OpOperand &operand : generic->getOpOperands()) {
    Value value = operand.get();
    auto found = storage.find(value);
    if (generic.getMatchingBlockArgument(&operand).use_empty() ||
        found == storage.end())
      continue;
    ValueStorage where = ValueStorage::Memory;
    if (auto it = plan.valueStorage.find(value); it != plan.valueStorage.end())
      where = it->second;
    if (where == ValueStorage::Scalar || where == ValueStorage::Registers)
      continue;
    auto linear = access(operand, found->second);
    if (!linear || op->vector == 1 || !isAligned(*op, *linear, op->vector))
      continue;
    std::vector<int64_t> way{int64_t(number), op->shared().size,
                             linear->offset};
    bool keeps = plan.keepsLoads &&
                 readsAlike(*op, op->shared(), *linear, op->shared().size);
    for (const LoopGroup::Run &run : op->rows.runs) {
      way.push_back(run.size);
      way.push_back(linear->strides[run.last]);
    }
    auto key = std::make_pair(value.getAsOpaquePointer(), way);
    auto known = kept.find(key);
    if (keeps && known != kept.end()) {
      chunk[operand.getOperandNumber()] = known->second;
      continue;
    }
    Elements values = loadVector(operand, found->second, *linear);
    chunk[operand.getOperandNumber()] = values;
    if (keeps)
      kept[key] = values;
  }
}

Value GPUThreadCode::load(OpOperand &operand) {
  Value value = operand.get();
  if (!isa<RankedTensorType>(value.getType()))
    return scalars.lookup(value);
  auto found = plan.valueStorage.find(value);
  if (found != plan.valueStorage.end() && found->second == ValueStorage::Scalar)
    return rowScalars.lookup(value);
  if (found != plan.valueStorage.end() &&
      found->second == ValueStorage::Registers)
    return held.find({value.getAsOpaquePointer(), round})->second[element];
  Elements &known = chunk[operand.getOperandNumber()];
  if (!known.empty())
    return known[known.size() == 1 ? 0 : element];
  const Storage &memory = storage.find(value)->second;
  auto linear = access(operand, memory);
  linalg::GenericOp generic = op->op;
  Value at = linear
                 ? address(*linear)
                 : evaluate(generic.getMatchingIndexingMap(&operand), memory);
  Value loaded = memref::LoadOp::create(b, memory.memref, at);
  // The value is the same for all elements of the chunk.
  if (linear && op->vector > 1 &&
      linear->strides[op->shared().runs.back().last] == 0)
    known = {loaded};
  return loaded;
}

/// Writes the elements of a chunk, or one element.
void GPUThreadCode::store(OpOperand &init, const Storage &buffer,
                          ArrayRef<Value> values) {
  Type type = values[0].getType();
  auto linear = access(init, buffer);
  linalg::GenericOp generic = op->op;
  int64_t size = values.size();
  int64_t width = linear && size > 1 && isAligned(*op, *linear, size)
                      ? accessWidth(type, size)
                      : 1;
  for (element = 0; element < size; element += width) {
    Value at = linear ? address(*linear)
                      : evaluate(generic.getMatchingIndexingMap(&init), buffer);
    if (width == 1) {
      memref::StoreOp::create(b, values[element], buffer.memref, at);
      continue;
    }
    Value vector = vector::FromElementsOp::create(
        b, VectorType::get({width}, type), values.slice(element, width));
    vector::StoreOp::create(
        b, vector, buffer.memref, at, /*nontemporal=*/false,
        llvm::MaybeAlign(width * rt::getElementBytes(type)));
  }
  element = 0;
}

Value GPUThreadCode::both(Value a, Value other) {
  if (!a || !other)
    return a ? a : other;
  return arith::AndIOp::create(b, a, other);
}

void GPUThreadCode::when(Value condition, llvm::function_ref<void()> build) {
  if (!condition)
    return build();
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  build();
}

/// Writes the op's results of a chunk that are in memory.
void GPUThreadCode::storeResults(ArrayRef<Elements> results, Value condition) {
  linalg::GenericOp generic = op->op;
  bool stores = llvm::any_of(generic->getResults(),
                             [&](Value value) { return storage.count(value); });
  if (!stores)
    return;
  when(condition, [&] {
    for (auto [i, value] : llvm::enumerate(generic->getResults()))
      if (auto found = storage.find(value); found != storage.end())
        store(*generic.getDpsInitOperand(i), found->second, results[i]);
  });
}
