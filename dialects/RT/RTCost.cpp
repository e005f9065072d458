//===- RTCost.cpp - Costs of library calls --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RTCost.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tessera/Interfaces/CostOpInterface.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::rt;

namespace {

template <typename Op>
struct MatmulCost : CostOpInterface::ExternalModel<MatmulCost<Op>, Op> {
  OpCost getOpCost(Operation *op) const {
    MatmulLayoutAttr layout = cast<Op>(op).getLayout();
    OpCost cost;
    cost.kind = CostKind::Matmul;
    cost.batch = layout.getBatch();
    cost.m = layout.getM();
    cost.n = layout.getN();
    cost.k = layout.getK();
    cost.flops = 2.0 * cost.batch * cost.m * cost.n * cost.k;
    return cost;
  }
};

template <typename Op, int matmuls>
struct Attention : CostOpInterface::ExternalModel<Attention<Op, matmuls>, Op> {
  OpCost getOpCost(Operation *op) const {
    auto attention = cast<Op>(op);
    return getAttentionCost(attention.getQ(), attention.getK(),
                            attention.getCausal(), attention.getWindow(),
                            matmuls);
  }
};

/// One addition per element of the gradient.
struct EmbeddingCost
    : CostOpInterface::ExternalModel<EmbeddingCost, EmbeddingBackwardOp> {
  OpCost getOpCost(Operation *op) const {
    OpCost cost;
    cost.kind = CostKind::Embedding;
    cost.flops = getTensorElements(op->getOperand(0).getType());
    return cost;
  }
};

/// A copy reads as many bytes as it writes, whatever the size of its source. A
/// copy in place is no kernel.
struct CopyCost : CostOpInterface::ExternalModel<CopyCost, CopyOp> {
  OpCost getOpCost(Operation *op) const {
    OpCost cost;
    if (cast<CopyOp>(op).isInPlace())
      return cost;
    cost.kind = CostKind::Elementwise;
    cost.bytesRead = tessera::getTensorBytes(op->getResult(0).getType());
    cost.linear = true;
    return cost;
  }
};

/// One pass over operands and results, with the functions of the kernel's body.
struct KernelCost : CostOpInterface::ExternalModel<KernelCost, KernelOp> {
  OpCost getOpCost(Operation *op) const {
    OpCost cost = getElementwiseCost(op, 0, /*linear=*/true);
    auto body = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        op, cast<KernelOp>(op).getCalleeAttr());
    if (body)
      body.walk([&](linalg::LinalgOp inner) {
        cost.functions += tessera::getOpCost(inner).functions;
      });
    return cost;
  }
};

/// The work of a call on experts, with weights of the types of w_up and w_down.
template <typename Op> ExpertWork getWork(Op op, Value up, Value down) {
  SmallVector<int64_t> sizes = op.getSizes();
  double choices = double(sizes[0]) * sizes[1];
  ExpertWork work;
  work.rows = choices * sizes[2] / op.getExperts();
  work.in = sizes[4];
  work.ffn = sizes[5];
  work.out = sizes[6];
  work.weightBytes = 2 * tessera::getTensorBytes(up.getType()) +
                     tessera::getTensorBytes(down.getType());
  work.elementBytes =
      getElementTypeOrSelf(up.getType()).getIntOrFloatBitWidth() / 8.0;
  return work;
}

struct ExpertsCost : CostOpInterface::ExternalModel<ExpertsCost, ExpertsOp> {
  OpCost getOpCost(Operation *op) const {
    auto call = cast<ExpertsOp>(op);
    return getWork(call, call.getWUp(), call.getWDown())
        .getForward(tessera::getTensorBytes(call.getResult().getType()),
                    !call.getRows().empty());
  }
};

struct ExpertsBackwardCost
    : CostOpInterface::ExternalModel<ExpertsBackwardCost, ExpertsBackwardOp> {
  OpCost getOpCost(Operation *op) const {
    auto call = cast<ExpertsBackwardOp>(op);
    return getWork(call, call.getWUp(), call.getWDown())
        .getBackward(tessera::getTensorBytes(call.getDx().getType()));
  }
};

struct ExpertsWeightGradientCost
    : CostOpInterface::ExternalModel<ExpertsWeightGradientCost,
                                     ExpertsWeightGradientOp> {
  OpCost getOpCost(Operation *op) const {
    auto call = cast<ExpertsWeightGradientOp>(op);
    return getWork(call, call.getDwUp(), call.getDwDown()).getWeightGradient();
  }
};

} // namespace

void rt::attachCostModels(MLIRContext *context) {
  MatmulOp::attachInterface<MatmulCost<MatmulOp>>(*context);
  MatmulFusedOp::attachInterface<MatmulCost<MatmulFusedOp>>(*context);
  ScaledMatmulOp::attachInterface<MatmulCost<ScaledMatmulOp>>(*context);
  AttentionOp::attachInterface<Attention<AttentionOp, 2>>(*context);
  AttentionBackwardOp::attachInterface<Attention<AttentionBackwardOp, 5>>(
      *context);
  EmbeddingBackwardOp::attachInterface<EmbeddingCost>(*context);
  ExpertsOp::attachInterface<ExpertsCost>(*context);
  ExpertsBackwardOp::attachInterface<ExpertsBackwardCost>(*context);
  ExpertsWeightGradientOp::attachInterface<ExpertsWeightGradientCost>(*context);
  CopyOp::attachInterface<CopyCost>(*context);
  KernelOp::attachInterface<KernelCost>(*context);
}
