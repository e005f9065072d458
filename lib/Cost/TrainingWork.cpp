//===- TrainingWork.cpp - From a forward pass to a step ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derives the backward records of each forward record by a rule for its class.
// The tensors saved between them were listed when the forward pass was read.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/TrainingWork.h"
#include "llvm/ADT/StringRef.h"
#include <utility>

using namespace tessera;
using namespace tessera::cost;

/// Returns a matmul with the same record but other dimensions.
static OpWork derivedMatmul(const OpWork &op, Pass pass, int64_t m, int64_t n,
                            int64_t k) {
  OpWork derived = op;
  derived.pass = pass;
  derived.matmul = {op.matmul.batch, m, n, k};
  double batch = op.matmul.batch;
  double width = op.operandBytes > 0 ? op.operandBytes : byteWidth(op.dtype);
  derived.bytesRead = width * batch * (double(m) * k + double(k) * n);
  // Results have at least 16 bits.
  double resultWidth = width < 2 ? 2 : width;
  derived.bytesWritten = resultWidth * batch * double(m) * n;
  return derived;
}

static void appendMatmulBackward(LayerWork &layer, const OpWork &op,
                                 const GradientSums &sums, bool frozen) {
  const MatmulDims d = op.matmul;
  if (op.castGradientRead > 0) {
    // The incoming gradient is cast, with its transpose for the second matmul.
    OpWork cast;
    cast.name = "cast";
    cast.pass = Pass::BackwardInput;
    double gradient = double(d.batch) * double(d.m) * double(d.n);
    cast.bytesRead = op.castGradientRead * gradient;
    cast.bytesWritten = op.castGradientWritten * gradient;
    cast.kernels = op.castKernels * op.kernels;
    cast.isBatched = op.isBatched || op.castKernels > 1;
    cast.isGraphed = op.isGraphed;
    layer.add(cast);
  }
  OpWork input = derivedMatmul(op, Pass::BackwardInput, d.m, d.k, d.n);
  input.epilogueBytes = op.gradientEpilogueBytes;
  layer.add(input);
  if (!op.weight)
    return layer.add(derivedMatmul(op, Pass::BackwardInput, d.k, d.n, d.m));
  if (frozen)
    return;
  OpWork weight = derivedMatmul(op, Pass::BackwardWeight, d.k, d.n, d.m);
  double elements = d.batch * double(d.k) * d.n;
  // The old sum is read while tiles multiply, and the new one is written after
  // that.
  weight.bytesRead += sums.kernels ? 0 : sums.bytes * elements;
  weight.bytesWritten = 0;
  weight.epilogueBytes = (sums.kernels ? sums.own : sums.bytes) * elements;
  layer.add(weight);
  if (sums.read == 0)
    return;
  OpWork sum;
  sum.name = "gradient_sum";
  sum.pass = Pass::BackwardWeight;
  sum.bytesRead = sums.read * elements;
  sum.bytesWritten = sums.written * elements;
  sum.kernels = sums.kernels;
  layer.add(sum);
}

GradientSums tessera::cost::makeGradientSums(const Plan &plan,
                                             const Execution &execution) {
  GradientSums sums(plan.gradDType == GradDType::BF16 ? 2 : 4);
  if (plan.gradDType == GradDType::Both) {
    // A copy of it in f32 is added to the sum (update_hp_grads of DeepSpeed's
    // BF16_Optimizer).
    sums.read = 2 + 4 + 4;
    sums.written = 4 + 4;
    sums.kernels = 2;
  } else if (execution.sumsApart) {
    sums.own = plan.precision == Precision::F32 ? 4 : 2;
    // If both have one type, the first micro-batch's gradient becomes the sum
    // itself.
    double added = sums.own == sums.bytes
                       ? 1 - 1 / double(std::max<int64_t>(plan.microBatches, 1))
                       : 1;
    sums.read = added * (sums.own + sums.bytes);
    sums.written = added * sums.bytes;
    sums.kernels = 1;
  }
  return sums;
}

static void appendOpBackward(LayerWork &layer, const OpWork &op,
                             const GradientSums &sums, bool frozen) {
  OpWork backward = op;
  backward.pass = Pass::BackwardInput;
  if (op.parameterSum > 0 && !frozen) {
    // The sum over rows goes the other way through the operands. The call for
    // the input's gradient includes it.
    OpWork sum;
    sum.kind = OpClass::RowReduction;
    sum.name = "parameter_sum";
    sum.pass = Pass::BackwardInput;
    sum.bytesRead = op.parameterSum;
    sum.kernels = 0;
    layer.add(sum);
  }
  switch (op.kind) {
  case OpClass::Matmul:
    return appendMatmulBackward(layer, op, sums, frozen);
  case OpClass::Attention:
    // Computes the scores again, then the gradients of scores, values, queries,
    // keys.
    backward.flops *= 2.5;
    backward.bytesRead *= 2;
    backward.bytesWritten *= 2;
    return layer.add(backward);
  case OpClass::Embedding:
    if (frozen)
      return;
    // Rows of the gradient are read, added to and written.
    backward.bytesRead = op.bytesRead + op.bytesWritten;
    backward.bytesWritten = 2 * op.bytesRead;
    return layer.add(backward);
  case OpClass::Elementwise:
  case OpClass::RowReduction:
    // The gradient of a plain sum or maximum is one value per row, which its
    // readers repeat.
    if (op.forwardOnly || (op.linear && op.kind == OpClass::RowReduction))
      return;
    backward.bytesRead = op.bytesWritten + (op.linear ? 0 : op.bytesRead);
    backward.bytesWritten = op.bytesRead;
    return layer.add(backward);
  case OpClass::Optimizer:
    return;
  }
}

/// Overlaps a gather or a scatter with the matmul that reads or computes it.
static void overlapMatmul(CommWork &comm) {
  comm.overlappable = true;
  comm.beside = comm.kind == CollectiveKind::AllGather
                    ? CommWork::Beside::NextMatmul
                    : CommWork::Beside::LastMatmul;
}

static void appendCommBackward(LayerWork &layer, CommWork comm, bool frozen) {
  comm.pass = Pass::BackwardInput;
  CommWork dual = comm;
  switch (comm.kind) {
  case CollectiveKind::AllGather:
    dual.kind = CollectiveKind::ReduceScatter;
    dual.bytes /= comm.gatherShare;
    break;
  case CollectiveKind::ReduceScatter:
    dual.kind = CollectiveKind::AllGather;
    dual.bytes *= comm.gatherShare;
    break;
  default:
    break;
  }
  if (comm.beside != CommWork::Beside::Any)
    overlapMatmul(dual);
  // Tensors gathered for the forward pass only (parameters, keys and values)
  // are gathered again.
  bool again = comm.parameter ||
               (comm.kind == CollectiveKind::AllGather &&
                (comm.isOver(PlanAxis::CP) || comm.isOver(PlanAxis::CPHeads) ||
                 comm.isOver(PlanAxis::CPQueries)));
  if (again)
    layer.add(comm);
  if (!comm.parameter || !frozen)
    layer.add(dual);
}

/// Appends the recomputation of a forward op.
static void appendRecomputed(LayerWork &layer, OpWork op, Recompute recompute) {
  op.pass = Pass::Recompute;
  switch (recompute) {
  case Recompute::None:
    return;
  case Recompute::Auto:
    llvm_unreachable("expects a checked plan");
  case Recompute::Selective:
    // Fused attention never keeps its scores, so nothing needs recomputing.
    if (op.attentionCore)
      layer.add(op);
    return;
  case Recompute::Full:
    return layer.add(op);
  case Recompute::Matmuls:
    if (op.kind == OpClass::Attention)
      return;
    if (op.weight) {
      if (op.secondColumns == 0)
        return;
      double share = double(op.secondColumns) / double(op.matmul.n);
      double left = op.matmul.m * double(op.matmul.k) * op.matmul.batch *
                    double(byteWidth(op.dtype));
      op.matmul.n = op.secondColumns;
      op.flops *= share;
      op.bytesRead = left + share * (op.bytesRead - left);
      op.bytesWritten *= share;
    }
    return layer.add(op);
  }
}

/// True for collectives of activations that a recomputation repeats, because
/// recomputed ops read their results. Excludes sums that a policy keeps.
static bool isRepeated(const CommWork &comm, Recompute recompute) {
  // The gather of a parameter for the backward serves both.
  if (comm.parameter)
    return false;
  return recompute == Recompute::Full ||
         (recompute == Recompute::Matmuls &&
          comm.kind != CollectiveKind::ReduceScatter);
}

/// True for gathers of activations over tp.
static bool isTensorGather(const CommWork &comm) {
  return comm.kind == CollectiveKind::AllGather && comm.isOver(PlanAxis::TP);
}

void tessera::cost::appendBackward(LayerWork &layer, Recompute recompute,
                                   const GradientSums &sums, bool frozen,
                                   bool gathersAgain) {
  // Under Recompute::Matmuls the recomputation's gather serves both.
  gathersAgain &= !frozen && recompute != Recompute::Matmuls;
  std::vector<WorkItem> forward = layer.items;
  for (const OpWork &op : layer.ops)
    if (op.kind == OpClass::Matmul || op.kind == OpClass::Attention)
      layer.modelFlops += (frozen && op.weight ? 2 : 3) * op.flops;
  for (const WorkItem &item : forward) {
    if (item.kind == WorkItem::Kind::Op) {
      appendRecomputed(layer, layer.ops[item.index], recompute);
    } else if (isRepeated(layer.comms[item.index], recompute)) {
      CommWork comm = layer.comms[item.index];
      comm.pass = Pass::Recompute;
      layer.add(comm);
    }
  }
  for (auto item = forward.rbegin(); item != forward.rend(); ++item) {
    if (item->kind == WorkItem::Kind::Op) {
      appendOpBackward(layer, OpWork(layer.ops[item->index]), sums, frozen);
    } else {
      CommWork comm = layer.comms[item->index];
      appendCommBackward(layer, comm, frozen);
      if (!gathersAgain || !isTensorGather(comm))
        continue;
      // The collective overlaps with the matmul of the input's gradient.
      comm.pass = Pass::BackwardInput;
      comm.overlappable = true;
      comm.beside = CommWork::Beside::LastMatmul;
      layer.add(comm);
    }
  }
}

/// Overlaps gathers and scatters over tp, in chunks, with the matmul that reads
/// or computes them. The scatter of a gradient overlaps with the matmul of the
/// parameter's gradient, which comes after it. Sums over tp must be whole.
static void overlapTensorAxis(LayerWork &layer) {
  for (CommWork &comm : layer.comms)
    if (comm.isOver(PlanAxis::TP) &&
        (comm.kind == CollectiveKind::AllGather ||
         comm.kind == CollectiveKind::ReduceScatter))
      overlapMatmul(comm);
}

/// Gradients of gathered parameters are scattered in the type of their sums.
static void setGradientBytes(LayerWork &layer, double parameterBytes,
                             double gradientBytes) {
  for (CommWork &comm : layer.comms)
    if (comm.parameter)
      comm.gatherShare *= parameterBytes / gradientBytes;
}

void tessera::cost::buildTrainingWork(ModelWork &model, const Plan &plan,
                                      const Execution &execution) {
  GradientSums sums = makeGradientSums(plan, execution);
  bool isF32 = plan.precision == Precision::F32;
  double parameterBytes = isF32 ? 4 : 2,
         scatteredBytes = isF32 || plan.gradDType == GradDType::F32 ? 4 : 2;
  std::optional<MatmulFormat> format = getMatmulFormat(plan.precision);
  for (LayerWork &layer : model.kinds) {
    shardContext(layer, plan.cp, plan.cpMethod, /*sumsLatents=*/!format);
    if (plan.documentTokens > 0)
      packDocuments(layer, double(plan.documentTokens) / double(plan.seq));
    if (execution.attention == AttentionKind::Naive)
      unfuseAttention(layer, plan.dropout);
    for (OpWork &op : layer.ops) {
      op.isFirst = execution.attention == AttentionKind::Flash1;
      op.portable = op.isFirst || execution.attention == AttentionKind::Flash2;
    }
    if (execution.eager)
      unfuseNorms(layer);
    if (plan.dropout)
      addDropout(layer);
    if (execution.fusedEpilogues)
      fuseEpilogues(layer);
    if (execution.lossMetrics > 0)
      addLossMetrics(layer, execution.lossMetrics);
    if (!execution.fusedLoss)
      unfuseLoss(layer, /*isLogSoftmax=*/execution.eager, execution.lossCopies);
    if (layer.name == "head")
      chunkLoss(layer, execution.lossChunks);
    layer.frozen = plan.loraRank > 0;
    if (layer.frozen && layer.name == "block")
      addAdapters(layer, plan.loraRank, plan.loraTargets);
    if (format && layer.name == "block") {
      quantizeMatmuls(layer, *format);
      keepWideResults(layer, *format);
      narrowGathers(layer, *format, plan.weightBytes);
    }
    setGradientBytes(layer, parameterBytes, scatteredBytes);
    if (plan.overlapTp)
      overlapTensorAxis(layer);
    // Only blocks are recomputed: there is one embedding and one head.
    appendBackward(layer,
                   layer.name == "block" ? plan.recompute : Recompute::None,
                   sums, layer.frozen,
                   /*gathersAgain=*/plan.sp && !plan.keepGathered);
    appendAdapterBackward(layer);
    if (execution.gatherCopyBytes > 0)
      addGatherCopies(layer, execution.gatherCopyBytes, scatteredBytes);
  }
}
