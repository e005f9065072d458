//===- StepCalls.cpp - Library calls and copies of a step -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepLowering.h"

using namespace mlir;
using namespace tessera;

/// Copies the initial value into the memory of a result, unless they share it.
void StepLowering::startFrom(Value init, Value result) {
  if (offsetOf(init) == offsetOf(result))
    return;
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<int64_t> strides = rt::getRowMajorStrides(type.getShape());
  rt::CallCopyOp::create(b, rt::getElementBytes(type.getElementType()),
                         type.getShape(), offsetOf(init), strides,
                         offsetOf(result), strides, Value(), IntegerAttr());
}

void StepLowering::lowerMatmul(rt::MatmulOp op) {
  Type element = op.getLhs().getType().getElementType();
  Type resultElement = op.getResult().getType().getElementType();
  int64_t offsets[] = {offsetOf(op.getLhs()), offsetOf(op.getRhs()),
                       offsetOf(op.getResult())};
  // On a device, the call itself adds an initial value stored elsewhere.
  if (op.getInit() && device && op.getLayout().getBatch() == 1 &&
      offsetOf(op.getInit()) != offsets[2]) {
    rt::CallMatmulFusedOp::create(
        b, rt::EpilogueKind::None, op.getLayout(), element, resultElement,
        offsets, b.getI64IntegerAttr(offsetOf(op.getInit())),
        /*bias=*/IntegerAttr(), /*bias_element=*/TypeAttr(),
        /*aux=*/IntegerAttr());
    return;
  }
  if (op.getInit())
    startFrom(op.getInit(), op.getResult());
  rt::CallMatmulOp::create(b, op.getLayout(), /*accumulate=*/bool(op.getInit()),
                           element, resultElement, offsets);
}

void StepLowering::lowerMatmulFused(rt::MatmulFusedOp op) {
  Value extra = op.getExtras().empty() ? Value() : op.getExtras().front();
  bool isGelu = op.getKind() == rt::EpilogueKind::Gelu;
  Value bias = isGelu || op.getBias() ? op.getBias() : extra;
  Value aux = isGelu ? extra : op.getArgument();
  auto optionalOffset = [&](Value value) {
    return value ? b.getI64IntegerAttr(offsetOf(value)) : IntegerAttr();
  };
  rt::CallMatmulFusedOp::create(
      b, op.getKind(), op.getLayout(), op.getLhs().getType().getElementType(),
      op.getResult().getType().getElementType(),
      ArrayRef<int64_t>{offsetOf(op.getLhs()), offsetOf(op.getRhs()),
                        offsetOf(op.getResult())},
      optionalOffset(op.getInit()), optionalOffset(bias),
      bias ? TypeAttr::get(getElementTypeOrSelf(bias.getType())) : TypeAttr(),
      optionalOffset(aux));
}

void StepLowering::lowerScaledMatmul(rt::ScaledMatmulOp op) {
  if (op.getInit())
    startFrom(op.getInit(), op.getResult());
  SmallVector<Attribute> types;
  SmallVector<int64_t> offsets;
  for (Value tensor : {op.getLhs(), op.getRhs(), op.getLhsScale(),
                       op.getRhsScale(), op.getResult()})
    offsets.push_back(offsetOf(tensor));
  for (Value tensor : {op.getLhs(), op.getRhs(), op.getResult()})
    types.push_back(TypeAttr::get(
        cast<RankedTensorType>(tensor.getType()).getElementType()));
  rt::CallScaledMatmulOp::create(b, op.getLayout(), bool(op.getInit()),
                                 b.getArrayAttr(types), offsets);
}

/// Returns the strides of a bias, without the keys': 0 where one serves all.
static SmallVector<int64_t> getBiasStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides = rt::getRowMajorStrides(shape);
  strides.pop_back();
  for (auto [stride, size] : llvm::zip(strides, shape))
    if (size == 1)
      stride = 0;
  return strides;
}

/// Lowers attention or its gradients; the call's tensors are the operands, then
/// the results.
template <typename Call, typename Op> void StepLowering::lowerAttention(Op op) {
  ArrayRef<int64_t> q = op.getQ().getType().getShape();
  SmallVector<Value> positions;
  for (Value offset : op.getPositionOffsets())
    positions.push_back(scalars.lookup(offset));
  SmallVector<int64_t> sizes{
      q[0], q[1], op.getK().getType().getDimSize(1), q[2],
      q[3], q[4], op.getV().getType().getDimSize(3)};
  SmallVector<int64_t> offsets;
  for (Value value : op->getOperands())
    if (isa<RankedTensorType>(value.getType()) && value != op.getStarts() &&
        value != op.getBias())
      offsets.push_back(offsetOf(value));
  IntegerAttr starts, bias;
  DenseI64ArrayAttr strides;
  if (op.getStarts())
    starts = b.getI64IntegerAttr(offsetOf(op.getStarts()));
  if (op.getBias()) {
    bias = b.getI64IntegerAttr(offsetOf(op.getBias()));
    strides = b.getDenseI64ArrayAttr(getBiasStrides(
        cast<RankedTensorType>(op.getBias().getType()).getShape()));
  }
  for (Value value : op->getResults())
    offsets.push_back(offsetOf(value));
  Call::create(b, op.getCausalAttr(), op.getWindowAttr(), op.getScaleAttr(),
               op.getSoftcapAttr(), op.getKeySizeAttr(),
               TypeAttr::get(op.getQ().getType().getElementType()),
               TypeAttr::get(getElementTypeOrSelf(op->getResult(0))),
               b.getDenseI64ArrayAttr(sizes), b.getDenseI64ArrayAttr(offsets),
               starts, bias, strides, positions);
}
template void
    StepLowering::lowerAttention<rt::CallAttentionOp>(rt::AttentionOp);
template void StepLowering::lowerAttention<rt::CallAttentionBackwardOp>(
    rt::AttentionBackwardOp);

void StepLowering::lowerEmbeddingBackward(rt::EmbeddingBackwardOp op) {
  if (op.getInit())
    startFrom(op.getInit(), op.getResult());
  RankedTensorType result = op.getResult().getType(),
                   ids = op.getIds().getType();
  rt::CallEmbeddingBackwardOp::create(
      b, /*accumulate=*/op.getInit() && !op.getReplace(), op.getReplace(),
      op.getGrad().getType().getElementType(), ids.getElementType(),
      result.getElementType(),
      ArrayRef<int64_t>{ids.getNumElements(), result.getDimSize(0),
                        result.getDimSize(1)},
      ArrayRef<int64_t>{offsetOf(op.getGrad()), offsetOf(op.getIds()),
                        offsetOf(op.getResult())},
      op.getOffset() ? scalars.lookup(op.getOffset()) : Value(),
      op.getLimitAttr());
}

void StepLowering::lowerCopy(rt::CopyOp op) {
  if (op.isInPlace())
    return;
  auto type = op.getResult().getType();
  int64_t bytes = rt::getElementBytes(type.getElementType());
  SmallVector<int64_t> target = rt::getRowMajorStrides(type.getShape());
  Value start = op.getStart() ? scalars.lookup(op.getStart()) : Value();
  rt::CallCopyOp::create(
      b, bytes, type.getShape(),
      offsetOf(op.getSource()) + int64_t(op.getBase()) * bytes, op.getStrides(),
      offsetOf(op.getResult()), target, start, op.getDimAttr());
}

void StepLowering::lowerConcat(rt::ConcatOp op) {
  auto type = op.getResult().getType();
  int64_t bytes = rt::getElementBytes(type.getElementType());
  SmallVector<int64_t> target = rt::getRowMajorStrides(type.getShape());
  int64_t offset = offsetOf(op.getResult());
  for (Value source : op.getSources()) {
    auto part = cast<RankedTensorType>(source.getType());
    // A source computed at its own offset in the result is not copied.
    if (offsetOf(source) != offset)
      rt::CallCopyOp::create(b, bytes, part.getShape(), offsetOf(source),
                             rt::getRowMajorStrides(part.getShape()), offset,
                             target, Value(), IntegerAttr());
    offset += part.getDimSize(op.getDim()) * target[op.getDim()] * bytes;
  }
}

void StepLowering::lowerAssemble(rt::AssembleOp op) {
  auto type = op.getResult().getType();
  int64_t bytes = rt::getElementBytes(type.getElementType());
  for (auto [chunk, start] : llvm::zip_equal(op.getChunks(), op.getStarts())) {
    auto part = cast<RankedTensorType>(chunk.getType());
    rt::CallCopyOp::create(b, bytes, part.getShape(), offsetOf(chunk),
                           rt::getRowMajorStrides(part.getShape()),
                           offsetOf(op.getResult()),
                           rt::getRowMajorStrides(type.getShape()),
                           scalars.lookup(start), op.getDimAttr(),
                           /*in_target=*/true);
  }
}
