//===- NNCost.cpp - Costs of the ops of a transformer ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One cost model per op, for the op's shapes. They are attached as external
// models, since prices are no part of the ops' meaning.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NNCost.h"
#include "dialects/NN/NN.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::nn;

namespace {

/// An op with a fixed kind and fixed numbers per element of its first operand:
/// operations, and evaluations of exp, tanh and the like.
template <typename Op, CostKind kind, int flopsEach, bool linear, int functions,
          int kernels>
struct PerElement
    : CostOpInterface::ExternalModel<
          PerElement<Op, kind, flopsEach, linear, functions, kernels>, Op> {
  OpCost getOpCost(Operation *op) const {
    OpCost cost;
    cost.kind = kind;
    Type type = op->getNumOperands() ? op->getOperand(0).getType()
                                     : op->getResult(0).getType();
    cost.flops = flopsEach * getTensorElements(type);
    cost.functions = functions * getTensorElements(type);
    cost.linear = linear;
    cost.kernels = kernels;
    return cost;
  }
};

/// An op that moves as many elements as its result has, whatever the size of
/// its first operand: it picks rows or elements from a table.
template <typename Op, CostKind kind>
struct Picked : CostOpInterface::ExternalModel<Picked<Op, kind>, Op> {
  OpCost getOpCost(Operation *op) const {
    OpCost cost;
    cost.kind = kind;
    cost.bytesRead = getTensorBytes(op->getResult(0).getType()) +
                     getTensorBytes(op->getOperand(1).getType());
    cost.linear = true;
    return cost;
  }
};

/// An op that writes the updates to a copy of its first operand.
struct ScatterCost : CostOpInterface::ExternalModel<ScatterCost, ScatterOp> {
  OpCost getOpCost(Operation *op) const {
    OpCost cost;
    cost.kind = CostKind::Embedding;
    cost.flops = getTensorElements(cast<ScatterOp>(op).getUpdates().getType());
    cost.linear = true;
    return cost;
  }
};

/// Letters in both operands and the result are batch, in the left operand and
/// the result m, in the right operand and the result n, in both operands only
/// k.
struct EinsumCost : CostOpInterface::ExternalModel<EinsumCost, EinsumOp> {
  OpCost getOpCost(Operation *op) const {
    auto einsum = cast<EinsumOp>(op);
    EinsumOp::Letters letters = einsum.getLetters();
    OpCost cost;
    cost.kind = CostKind::Matmul;
    cost.batch = cost.m = cost.n = cost.k = 1;
    auto shape = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getShape();
    };
    for (auto [letter, size] :
         llvm::zip_equal(letters.lhs, shape(einsum.getLhs()))) {
      bool right = letters.rhs.contains(letter);
      bool result = letters.result.contains(letter);
      (right ? result ? cost.batch : cost.k : cost.m) *= size;
    }
    for (auto [letter, size] :
         llvm::zip_equal(letters.rhs, shape(einsum.getRhs())))
      if (!letters.lhs.contains(letter))
        cost.n *= size;
    cost.flops = 2.0 * cost.batch * cost.m * cost.n * cost.k;
    return cost;
  }
};

/// A matmul of each group: the weight times the windows of all samples. Taps on
/// the zeros between elements do not count.
struct ConvolutionCost
    : CostOpInterface::ExternalModel<ConvolutionCost, ConvolutionOp> {
  OpCost getOpCost(Operation *op) const {
    auto convolution = cast<ConvolutionOp>(op);
    RankedTensorType x = convolution.getX().getType();
    RankedTensorType result = convolution.getType();
    OpCost cost;
    cost.kind = CostKind::Matmul;
    cost.batch = x.getDimSize(1);
    cost.m = result.getDimSize(2);
    cost.n = x.getDimSize(0);
    cost.k = x.getDimSize(2);
    for (const WindowDim &dim : convolution.getWindows()) {
      cost.n *= dim.getNumWindows();
      cost.k *= llvm::divideCeil(dim.taps, dim.xDilation);
    }
    cost.flops = 2.0 * cost.batch * cost.m * cost.n * cost.k;
    return cost;
  }
};

struct AttentionCost
    : CostOpInterface::ExternalModel<AttentionCost, AttentionOp> {
  OpCost getOpCost(Operation *op) const {
    auto attention = cast<AttentionOp>(op);
    return getAttentionCost(attention.getQ(), attention.getK(),
                            attention.getCausal(), attention.getWindow(), 2);
  }
};

struct AttentionBackwardCost
    : CostOpInterface::ExternalModel<AttentionBackwardCost,
                                     AttentionBackwardOp> {
  OpCost getOpCost(Operation *op) const {
    auto attention = cast<AttentionBackwardOp>(op);
    return getAttentionCost(attention.getQ(), attention.getK(),
                            attention.getCausal(), attention.getWindow(), 5);
  }
};

/// The work of an op on experts with these ids, held weights of the types of
/// w_up and w_down, and the number of all experts.
ExpertWork getWork(Value ids, Value up, Value down, uint64_t experts) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(up.getType()).getShape();
  ExpertWork work;
  work.rows = getTensorElements(ids.getType()) * shape[0] / experts;
  work.in = shape[1];
  work.ffn = shape[2];
  work.out = cast<RankedTensorType>(down.getType()).getShape()[2];
  work.weightBytes =
      2 * getTensorBytes(up.getType()) + getTensorBytes(down.getType());
  work.elementBytes =
      getElementTypeOrSelf(up.getType()).getIntOrFloatBitWidth() / 8.0;
  return work;
}

struct ExpertsCost : CostOpInterface::ExternalModel<ExpertsCost, ExpertsOp> {
  OpCost getOpCost(Operation *op) const {
    auto experts = cast<ExpertsOp>(op);
    return getWork(experts.getIds(), experts.getWUp(), experts.getWDown(),
                   experts.getExperts())
        .getForward(getTensorBytes(experts.getResult().getType()),
                    !experts.getStats().empty());
  }
};

struct ExpertsBackwardCost
    : CostOpInterface::ExternalModel<ExpertsBackwardCost, ExpertsBackwardOp> {
  OpCost getOpCost(Operation *op) const {
    auto experts = cast<ExpertsBackwardOp>(op);
    return getWork(experts.getIds(), experts.getWUp(), experts.getWDown(),
                   experts.getExperts())
        .getBackward(getTensorBytes(experts.getDx().getType()));
  }
};

struct ExpertsWeightGradientCost
    : CostOpInterface::ExternalModel<ExpertsWeightGradientCost,
                                     ExpertsWeightGradientOp> {
  OpCost getOpCost(Operation *op) const {
    auto experts = cast<ExpertsWeightGradientOp>(op);
    return getWork(experts.getIds(), experts.getDwUp(), experts.getDwDown(),
                   experts.getExperts())
        .getWeightGradient();
  }
};

/// Rows of tokens are copied for the held experts that they go to.
struct ExpertRowsCost
    : CostOpInterface::ExternalModel<ExpertRowsCost, ExpertRowsOp> {
  OpCost getOpCost(Operation *op) const {
    auto rows = cast<ExpertRowsOp>(op);
    double tokens = getTensorBytes(rows.getX().getType());
    double choices = rows.getIds().getType().getShape().back();
    OpCost cost;
    cost.kind = CostKind::Embedding;
    cost.bytesRead = std::min(tokens * choices, getTensorBytes(rows.getType()));
    cost.bytesWritten = cost.bytesRead;
    cost.linear = true;
    return cost;
  }
};

} // namespace

template <typename Op, CostKind kind, int flopsEach, bool linear = false,
          int functions = 0, int kernels = 1>
static void attach(MLIRContext *context) {
  Op::template attachInterface<
      PerElement<Op, kind, flopsEach, linear, functions, kernels>>(*context);
}

void tessera::nn::attachCostModels(MLIRContext *context) {
  constexpr CostKind elementwise = CostKind::Elementwise;
  constexpr CostKind rows = CostKind::RowReduction;
  EinsumOp::attachInterface<EinsumCost>(*context);
  ConvolutionOp::attachInterface<ConvolutionCost>(*context);
  AttentionOp::attachInterface<AttentionCost>(*context);
  AttentionBackwardOp::attachInterface<AttentionBackwardCost>(*context);
  attach<LayerNormOp, rows, 8>(context);
  attach<RMSNormOp, rows, 4>(context);
  attach<SoftmaxOp, rows, 5, false, 1>(context);
  attach<CrossEntropyOp, rows, 4, false, 1>(context);
  attach<ReduceOp, rows, 1, true>(context);
  attach<ArgReduceOp, rows, 2>(context);
  TakeAlongAxisOp::attachInterface<Picked<TakeAlongAxisOp, rows>>(*context);
  EmbeddingOp::attachInterface<Picked<EmbeddingOp, CostKind::Embedding>>(
      *context);
  ScatterOp::attachInterface<ScatterCost>(*context);
  attach<RopeOp, elementwise, 3, true>(context);
  attach<GeluOp, elementwise, 12, false, 1>(context);
  attach<QuantizeOp, elementwise, 3>(context);
  attach<SiluOp, elementwise, 4, false, 1>(context);
  attach<MaskPaddingOp, elementwise, 0, true>(context);
  attach<StopGradientOp, CostKind::None, 0, true>(context);
  attach<TransposeOp, elementwise, 0, true>(context);
  attach<BroadcastOp, elementwise, 0, true>(context);
  attach<IotaOp, CostKind::None, 0, true>(context);
  // The mean of the gradient is a separate kernel.
  attach<LayerNormBackwardOp, rows, 16, false, 0, 2>(context);
  attach<RMSNormBackwardOp, rows, 10>(context);
  attach<CrossEntropyBackwardOp, elementwise, 4, false, 1>(context);
  attach<GeluBackwardOp, elementwise, 16, false, 1>(context);
  attach<SiluBackwardOp, elementwise, 6, false, 1>(context);
  attach<EmbeddingBackwardOp, CostKind::Embedding, 1>(context);
  attach<TakeAlongAxisBackwardOp, elementwise, 0>(context);
  attach<TopKOp, rows, 4>(context);
  attach<ExpertCapacityOp, rows, 4>(context);
  ExpertsOp::attachInterface<ExpertsCost>(*context);
  ExpertsBackwardOp::attachInterface<ExpertsBackwardCost>(*context);
  ExpertsWeightGradientOp::attachInterface<ExpertsWeightGradientCost>(*context);
  ExpertRowsOp::attachInterface<ExpertRowsCost>(*context);
  attach<AdamWOp, CostKind::Optimizer, 12>(context);
  attach<SGDOp, CostKind::Optimizer, 4>(context);
}
