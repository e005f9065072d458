//===- AttentionContext.h - Problems for ContextChoice ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the problems of ContextChoice.h for the two passes that use it, so
// that both get the same answer: the pass that chooses the order of the
// sequence, and the pass that pins axes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PARTITION_ATTENTIONCONTEXT_H
#define TESSERA_PARTITION_ATTENTIONCONTEXT_H

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Partition/ContextChoice.h"
#include "tessera/Partition/Latents.h"

namespace tessera {

/// The `dist.context` of a module, and its mesh.
struct SequenceContext {
  Mesh mesh;
  mlir::FlatSymbolRefAttr meshSymbol;
  MeshLinks links;
  /// The rates of a device.
  WorkRates rates = kGpuRates;
  ContextMethod method;
  /// The axes of the sequence (one), of sequences, and of heads.
  AxisList seq, batch, heads;
  /// The sequence is stored in zig-zag order.
  bool isOrdered = false;
  /// The backward gathers keys and values again.
  bool gathersAgain = false;

  /// The sharding of a value that each device has for all tokens: no axis is on
  /// `dim`, the sequence, and those of the context are on no other dimension.
  Sharding getWholeSequence(mlir::Value value, unsigned dim) const;
};

/// Reads the context of a module, which must have one. Fails, with an error, if
/// it has no mesh.
mlir::FailureOr<SequenceContext> readContext(mlir::ModuleOp module);

/// Splits the axes of heads between groups and the heads of a group.
std::pair<AxisList, AxisList> splitHeadAxes(llvm::ArrayRef<AxisRef> axes,
                                            int64_t groups, int64_t heads);

/// The problem of an attention or of its backward; both have the same.
template <typename Op>
ContextProblem getContextProblem(Op op, const SequenceContext &context,
                                 bool hasBackward) {
  llvm::ArrayRef<int64_t> q = op.getQ().getType().getShape();
  mlir::RankedTensorType values = op.getV().getType();
  auto [groups, heads] = splitHeadAxes(context.heads, q[2], q[3]);
  ContextProblem problem;
  problem.mesh = context.mesh;
  problem.links = context.links;
  problem.rates = context.rates;
  problem.axis = context.seq.front();
  problem.batch = llvm::divideCeil(q[0], numShards(context.batch));
  problem.queries = q[1];
  problem.keys = values.getDimSize(1);
  problem.groups = llvm::divideCeil(q[2], numShards(groups));
  problem.heads = llvm::divideCeil(q[3], numShards(heads));
  problem.dim = q[4];
  problem.valueDim = values.getDimSize(3);
  problem.elementBytes = llvm::divideCeil(values.getElementTypeBitWidth(), 8);
  GatheredLatents latents = getGatheredLatents(op.getK(), op.getV());
  auto devices = double(numShards(context.batch));
  problem.latentBytes = latents.bytes / devices;
  problem.latentFlops =
      latents.flops / devices / double(numShards(context.heads));
  problem.sumsLatents = latents.sumsGradients;
  problem.causal = op.getCausal();
  problem.window = op.getWindow();
  problem.hasPairBias =
      op.getBias() && llvm::is_contained(*op.getBiasDims(), 1);
  problem.isOrdered = context.isOrdered;
  problem.hasBackward = hasBackward;
  problem.gathersAgain = context.gathersAgain;
  return problem;
}

} // namespace tessera

#endif // TESSERA_PARTITION_ATTENTIONCONTEXT_H
