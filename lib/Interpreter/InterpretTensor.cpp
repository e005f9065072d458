//===- InterpretTensor.cpp - tensor ops -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contents of a tensor.empty are undefined. They are filled with NaN
// (integers: with a large number) to detect a program that reads them.
//
//===----------------------------------------------------------------------===//

#include "ScalarRegion.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace tessera::interp;

static LogicalResult evaluateEmpty(tensor::EmptyOp op, Evaluation &e) {
  Tensor result = e.makeResult();
  const ElementType &type = result.getElementType();
  result.fill(type.isFloat() ? floatCell(NAN)
                             : type.round(intCell(0x5a5a5a5a5a5a5a5a)));
  return e.yield(std::move(result));
}

static LogicalResult evaluateSplat(tensor::SplatOp op, Evaluation &e) {
  Tensor result = e.makeResult();
  result.fill(e.operand(0)[0]);
  return e.yield(std::move(result));
}

/// expand_shape, collapse_shape and reshape: the order of elements is kept.
static LogicalResult evaluateReshape(Evaluation &e) {
  auto type = cast<RankedTensorType>(e.op->getResult(0).getType());
  return e.yield(e.operand(0).reshaped(type.getShape()));
}

/// Returns the values of static and dynamic offsets, sizes or strides.
static SmallVector<int64_t> valuesOf(ArrayRef<OpFoldResult> mixed,
                                     const Evaluation &e) {
  SmallVector<int64_t> values;
  for (OpFoldResult entry : mixed) {
    if (auto attr = dyn_cast<Attribute>(entry))
      values.push_back(cast<IntegerAttr>(attr).getInt());
    else
      values.push_back(e.getIndex(cast<Value>(entry)));
  }
  return values;
}

namespace {
/// The elements of a slice with strides.
struct SliceBounds {
  SmallVector<int64_t> offsets, sizes, strides;

  template <typename Op>
  SliceBounds(Op op, const Evaluation &e)
      : offsets(valuesOf(op.getMixedOffsets(), e)),
        sizes(valuesOf(op.getMixedSizes(), e)),
        strides(valuesOf(op.getMixedStrides(), e)) {}

  LogicalResult check(Operation *op, ArrayRef<int64_t> shape) const {
    for (auto [d, size] : llvm::enumerate(shape)) {
      int64_t last = 0;
      bool isFar = llvm::MulOverflow(sizes[d] - 1, strides[d], last) ||
                   llvm::AddOverflow(offsets[d], last, last);
      if (sizes[d] > 0 && (isFar || offsets[d] < 0 || offsets[d] >= size ||
                           last < 0 || last >= size))
        return op->emitOpError("expects a slice inside dimension ")
               << d << " of size " << size << " but got offset " << offsets[d]
               << ", size " << sizes[d] << ", stride " << strides[d];
    }
    return success();
  }
  /// Calls `fn(index)` with the position of each element of the slice.
  template <typename Fn> void forEach(Fn &&fn) const {
    SmallVector<int64_t> position(offsets.size());
    forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
      for (auto [d, i] : llvm::enumerate(index))
        position[d] = offsets[d] + i * strides[d];
      fn(ArrayRef<int64_t>(position));
    });
  }
};
} // namespace

static LogicalResult evaluateExtractSlice(tensor::ExtractSliceOp op,
                                          Evaluation &e) {
  const Tensor &source = e.operand(0);
  SliceBounds bounds(op, e);
  if (failed(bounds.check(op, source.getShape())))
    return failure();
  // Dropping dimensions of size 1 keeps the order of elements.
  Tensor result = e.makeResult();
  int64_t next = 0;
  bounds.forEach([&](ArrayRef<int64_t> at) { result[next++] = source.at(at); });
  return e.yield(std::move(result));
}

static LogicalResult evaluateInsertSlice(tensor::InsertSliceOp op,
                                         Evaluation &e) {
  const Tensor &source = e.operand(0);
  Tensor result = e.operand(1);
  SliceBounds bounds(op, e);
  if (failed(bounds.check(op, result.getShape())))
    return failure();
  int64_t next = 0;
  bounds.forEach([&](ArrayRef<int64_t> at) { result.at(at) = source[next++]; });
  return e.yield(std::move(result));
}

static LogicalResult evaluateConcat(tensor::ConcatOp op, Evaluation &e) {
  Tensor result = e.makeResult();
  SmallVector<int64_t> offsets(result.getRank(), 0);
  for (unsigned i = 0; i < op.getInputs().size(); ++i) {
    result.insert(e.operand(i), offsets);
    offsets[op.getDim()] += e.operand(i).getShape()[op.getDim()];
  }
  return e.yield(std::move(result));
}

static LogicalResult evaluateCast(tensor::CastOp op, Evaluation &e) {
  return e.yield(e.operandRef(0));
}

static LogicalResult evaluateDim(tensor::DimOp op, Evaluation &e) {
  int64_t dim = e.getIndex(op.getIndex());
  ArrayRef<int64_t> shape = e.operand(0).getShape();
  if (dim < 0 || dim >= static_cast<int64_t>(shape.size()))
    return op.emitOpError("expects a dimension below ")
           << shape.size() << " but got " << dim;
  Tensor result = e.makeResult();
  result[0] = intCell(shape[dim]);
  return e.yield(std::move(result));
}

/// Returns the position given by index operands; an error outside the tensor.
static FailureOr<SmallVector<int64_t>> positionOf(Operation *op,
                                                  ValueRange indices,
                                                  ArrayRef<int64_t> shape,
                                                  const Evaluation &e) {
  SmallVector<int64_t> position;
  for (auto [value, size] : llvm::zip_equal(indices, shape)) {
    int64_t i = e.getIndex(value);
    if (i < 0 || i >= size) {
      op->emitOpError("expects an index in [0, ") << size << ") but got " << i;
      return failure();
    }
    position.push_back(i);
  }
  return position;
}

static LogicalResult evaluateExtract(tensor::ExtractOp op, Evaluation &e) {
  auto position = positionOf(op, op.getIndices(), e.operand(0).getShape(), e);
  if (failed(position))
    return failure();
  Tensor result = e.makeResult();
  result[0] = e.operand(0).at(*position);
  return e.yield(std::move(result));
}

static LogicalResult evaluateInsert(tensor::InsertOp op, Evaluation &e) {
  Tensor result = e.operand(1);
  auto position = positionOf(op, op.getIndices(), result.getShape(), e);
  if (failed(position))
    return failure();
  result.at(*position) = e.operand(0)[0];
  return e.yield(std::move(result));
}

static LogicalResult evaluateFromElements(tensor::FromElementsOp op,
                                          Evaluation &e) {
  Tensor result = e.makeResult();
  for (int64_t i = 0, n = result.getNumElements(); i < n; ++i)
    result[i] = e.operand(i)[0];
  return e.yield(std::move(result));
}

/// Fills a tensor by a region of its indices.
static LogicalResult generate(Block &block, const Evaluation &e,
                              Tensor &result) {
  FailureOr<ScalarRegion> region = ScalarRegion::compile(block, e);
  if (failed(region))
    return failure();
  int64_t next = 0;
  LogicalResult status = success();
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> index) {
    if (failed(status))
      return;
    for (auto [d, i] : llvm::enumerate(index))
      region->argument(d) = intCell(i);
    status = region->run(index);
    result[next++] = region->getYielded(0);
  });
  return status;
}

static LogicalResult evaluateGenerate(tensor::GenerateOp op, Evaluation &e) {
  Tensor result = e.makeResult();
  if (failed(generate(op.getBody().front(), e, result)))
    return failure();
  return e.yield(std::move(result));
}

static LogicalResult evaluatePad(tensor::PadOp op, Evaluation &e) {
  Tensor result = e.makeResult();
  SmallVector<int64_t> low = valuesOf(op.getMixedLowPad(), e);
  SmallVector<int64_t> high = valuesOf(op.getMixedHighPad(), e);
  const Tensor &source = e.operand(0);
  for (auto [d, size] : llvm::enumerate(source.getShape()))
    if (low[d] < 0 || low[d] + size + high[d] != result.getShape()[d])
      return op.emitOpError("expects padding that gives size ")
             << result.getShape()[d] << " in dimension " << d << " but got "
             << low[d] << " + " << size << " + " << high[d];
  if (failed(generate(op.getRegion().front(), e, result)))
    return failure();
  result.insert(source, low);
  return e.yield(std::move(result));
}

void tessera::interp::addTensorHandlers(Registry &r) {
  r.addLocal(tensor::ExpandShapeOp::getOperationName(), evaluateReshape);
  r.addLocal(tensor::CollapseShapeOp::getOperationName(), evaluateReshape);
  r.addLocal(tensor::ReshapeOp::getOperationName(), evaluateReshape);
  r.addLocal<tensor::CastOp, evaluateCast>();
  r.addLocal<tensor::ConcatOp, evaluateConcat>();
  r.addLocal<tensor::DimOp, evaluateDim>();
  r.addLocal<tensor::EmptyOp, evaluateEmpty>();
  r.addLocal<tensor::ExtractOp, evaluateExtract>();
  r.addLocal<tensor::ExtractSliceOp, evaluateExtractSlice>();
  r.addLocal<tensor::FromElementsOp, evaluateFromElements>();
  r.addLocal<tensor::GenerateOp, evaluateGenerate>();
  r.addLocal<tensor::InsertOp, evaluateInsert>();
  r.addLocal<tensor::InsertSliceOp, evaluateInsertSlice>();
  r.addLocal<tensor::PadOp, evaluatePad>();
  r.addLocal<tensor::SplatOp, evaluateSplat>();
}
