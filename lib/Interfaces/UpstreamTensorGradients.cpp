//===- UpstreamTensorGradients.cpp - Gradients of tensor ops --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that move elements: their gradients move them back.
//
//===----------------------------------------------------------------------===//

#include "UpstreamGradients.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;

namespace {

using Builder = ElementwiseBuilder;

/// Zeros of a tensor's shape, in the gradient's element type.
Value zerosLike(Builder &b, Value tensor, Value grad) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return b.splatOf(type.clone(getElementTypeOrSelf(grad.getType())), 0.0);
}

void castGradients(tensor::CastOp op, GradientBuilder &g, Builder &b) {
  Type type = op.getSource().getType();
  g.setOperand(0, b.make<tensor::CastOp>(type, g.ofResult(0)));
}

template <typename From, typename To>
void reshapeGradients(From op, GradientBuilder &g, Builder &b) {
  g.setOperand(0, b.make<To>(op.getSrcType(), g.ofResult(0),
                             op.getReassociationIndices()));
}

void extractSliceGradients(tensor::ExtractSliceOp op, GradientBuilder &g,
                           Builder &b) {
  Value grad = g.ofResult(0);
  g.setOperand(
      0, b.make<tensor::InsertSliceOp>(grad, zerosLike(b, op.getSource(), grad),
                                       op.getMixedOffsets(), op.getMixedSizes(),
                                       op.getMixedStrides()));
}

/// The source's gradient is the slice; the destination's is zero there.
void insertSliceGradients(tensor::InsertSliceOp op, GradientBuilder &g,
                          Builder &b) {
  Value grad = g.ofResult(0);
  auto offsets = op.getMixedOffsets(), sizes = op.getMixedSizes(),
       strides = op.getMixedStrides();
  if (g.isNeeded(0))
    g.setOperand(0, b.make<tensor::ExtractSliceOp>(op.getSourceType(), grad,
                                                   offsets, sizes, strides));
  if (g.isNeeded(1))
    g.setOperand(
        1, b.make<tensor::InsertSliceOp>(zerosLike(b, op.getSource(), grad),
                                         grad, offsets, sizes, strides));
}

void concatGradients(tensor::ConcatOp op, GradientBuilder &g, Builder &b) {
  SmallVector<OpFoldResult> offsets(op.getResultType().getRank(),
                                    b.b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(offsets.size(), b.b.getIndexAttr(1));
  int64_t dim = op.getDim(), offset = 0;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    auto type = cast<RankedTensorType>(input.getType());
    if (g.isNeeded(i)) {
      offsets[dim] = b.b.getIndexAttr(offset);
      SmallVector<OpFoldResult> sizes;
      for (int64_t size : type.getShape())
        sizes.push_back(b.b.getIndexAttr(size));
      g.setOperand(i, b.make<tensor::ExtractSliceOp>(type, g.ofResult(0),
                                                     offsets, sizes, strides));
    }
    offset += type.getDimSize(dim);
  }
}

/// The gradient is the sum of all elements, as a scalar.
void splatGradients(tensor::SplatOp op, GradientBuilder &g, Builder &b) {
  Value grad = b.widen(g.ofResult(0));
  auto type = cast<RankedTensorType>(grad.getType());
  Value zero = b.splatOf(RankedTensorType::get({}, type.getElementType()), 0.0);
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  auto sum = linalg::ReduceOp::create(
      g.builder, g.loc, grad, zero, all,
      [](OpBuilder &builder, Location loc, ValueRange values) {
        Value added = arith::AddFOp::create(builder, loc, values[0], values[1]);
        linalg::YieldOp::create(builder, loc, added);
      });
  g.setOperand(0, b.make<tensor::ExtractOp>(sum->getResult(0), ValueRange()));
}

void attachTensor(MLIRContext *c, tensor::TensorDialect *) {
  using namespace tensor;
  attachGradients<CastOp, castGradients>(c);
  attachGradients<ExpandShapeOp,
                  reshapeGradients<ExpandShapeOp, CollapseShapeOp>>(c);
  attachGradients<CollapseShapeOp,
                  reshapeGradients<CollapseShapeOp, ExpandShapeOp>>(c);
  attachGradients<ExtractSliceOp, extractSliceGradients>(c);
  attachGradients<InsertSliceOp, insertSliceGradients>(c);
  attachGradients<ConcatOp, concatGradients>(c);
  attachGradients<SplatOp, splatGradients>(c);
}

} // namespace

void tessera::registerTensorGradients(DialectRegistry &registry) {
  registry.addExtension(attachTensor);
}
