//===- Work.h - Work of a program on one device -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain records of the work of a partitioned program: kernels, collectives,
// tensors kept for the backward pass, parameters. The cost and memory models
// see nothing else of a program. Sizes are per device. Layers that do the same
// work are one record with a count.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_WORK_H
#define TESSERA_COST_WORK_H

#include "tessera/Interfaces/CollectiveKind.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cost {

/// Element type of a kernel's operands.
enum class DType { F32, BF16, F16, FP8, MXFP8, FP4, I32, I8 };

/// "f32", "bf16", "f16", "fp8", "mxfp8", "fp4", "i32", "i8".
const char *stringify(DType type);
/// Bytes of an element, without scales.
double byteWidth(DType type);

/// The phase of a training step in which an op runs. Recompute is forward work
/// that is done again because its result was not kept.
enum class Pass {
  Forward,
  Recompute,
  BackwardInput,
  BackwardWeight,
  Optimizer
};

/// "forward", "recompute", "backward", "weight_gradient", "optimizer".
const char *stringify(Pass pass);

/// The bottleneck of a kernel, which selects the efficiency that prices it.
enum class OpClass {
  /// A matmul on the matrix units, with dims.
  Matmul,
  /// Attention in one kernel (scores are never written), with dims.
  Attention,
  /// One pass over its operands and results: elementwise chains, casts, copies.
  Elementwise,
  /// Reads a row, reduces it and writes: norms, softmax, cross entropy.
  RowReduction,
  /// Gathers or scatters rows of a table.
  Embedding,
  /// The optimizer's pass over its state.
  Optimizer,
};

/// "matmul", "attention", ...
const char *stringify(OpClass kind);

/// An axis of the devices of a plan, or a part of one.
enum class PlanAxis {
  /// The mesh of a plan, the outermost axis first.
  PP,
  DP,
  CP,
  TP,
  /// The minor part of DP and CP together over which experts are sharded, and
  /// the rest of both.
  EP,
  EDP,
  /// The minor sub-axis of CP that shares heads of attention, and the rest of
  /// CP.
  CPHeads,
  CPQueries,
  /// The minor part of DP and CP over which ZeRO shards state.
  Shard,
};

/// "pp", "dp", "cp", "tp", "ep", "edp", "cp_heads", "cp_queries", "shard".
const char *stringify(PlanAxis axis);
/// The names of several axes: "dp+cp".
std::string stringify(llvm::ArrayRef<PlanAxis> axes);
/// The axis with this name; none for other names.
std::optional<PlanAxis> parsePlanAxis(llvm::StringRef name);

/// Dimensions of a matmul: `batch` independent [m, k] x [k, n]. For attention:
/// m queries, n keys, k head dims, with batch x heads independent ones.
struct MatmulDims {
  int64_t batch = 0, m = 0, n = 0, k = 0;
  bool operator==(const MatmulDims &o) const {
    return batch == o.batch && m == o.m && n == o.n && k == o.k;
  }
};

/// One kernel.
struct OpWork {
  OpClass kind = OpClass::Elementwise;
  Pass pass = Pass::Forward;
  DType dtype = DType::BF16;
  /// Floating-point operations; a multiply-add counts as two.
  double flops = 0;
  /// Bytes of all operands and of all results.
  double bytesRead = 0, bytesWritten = 0;
  /// Dimensions of Matmul and Attention.
  MatmulDims matmul;
  /// Number of kernels in this record; each pays the launch floor.
  int64_t kernels = 1;
  /// A matmul whose batch runs as that many kernels, one after the other, which
  /// share no wave.
  bool isApart = false;
  /// One call of the framework issues all of its kernels.
  bool isBatched = false;
  /// The host launches it with others as one graph.
  bool isGraphed = false;
  /// A forward matmul whose right operand is a parameter.
  bool weight = false;
  /// Columns of such a matmul that belong to every second matmul of its layer,
  /// which Recompute::Matmuls computes again.
  int64_t secondColumns = 0;
  /// Bytes that the gradients of its vector parameters read: for a bias the
  /// gradient of the sum, for a norm's scale that gradient and the input.
  double parameterSum = 0;
  /// The backward of this op needs no tensor of the forward pass.
  bool linear = false;
  /// Bytes of an element of the operands of a matmul in 8 or 4 bits, scales
  /// included; 0: the width of `dtype`.
  double operandBytes = 0;
  /// Share of the layers of this kind that do such a matmul in 16 bits.
  double wideShare = 0;
  /// MatmulFormat::rate of such a matmul.
  double rate = 1;
  /// Bytes per element that a separate cast of the gradient of such a matmul's
  /// result reads and writes.
  double castGradientRead = 0, castGradientWritten = 0;
  /// Kernels of that cast for each kernel of the matmul.
  int64_t castKernels = 1;
  /// Attention without the device's newest instructions; with the kernel of
  /// 2022.
  bool portable = false, isFirst = false;
  /// Has no backward of its own: the ops after it cover it.
  bool forwardOnly = false;
  /// Elementwise: GELU by tanh of a matmul's result, with a bias or without.
  bool isGelu = false;
  /// The kernel of the matmul before it computes its forward and recomputation.
  bool isEpilogue = false;
  /// Bytes that the epilogue of a matmul reads and writes in addition to the
  /// operands and the result. Each tile moves them after its sums, so that no
  /// arithmetic hides them.
  double epilogueBytes = 0;
  /// For a forward matmul: epilogueBytes of the matmul that computes its left
  /// operand's gradient.
  double gradientEpilogueBytes = 0;
  /// Bytes of keys and values that attention reads; 0: what it reads in
  /// addition to as many queries as results.
  double keyBytes = 0;
  /// Bytes of a device's latents, from which this matmul computes keys and
  /// values; 0: it computes none.
  double latentBytes = 0;
  /// Part of attention between the projections, which selective recomputation
  /// computes again.
  bool attentionCore = false;
  /// Op name, for reports.
  std::string name;
};

/// One collective.
struct CommWork {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Pass pass = Pass::Forward;
  /// Bytes of the whole tensor of one group: the result of an all-gather, the
  /// input of a reduce-scatter or an all-reduce; for the other kinds the bytes
  /// that one device holds before.
  double bytes = 0;
  /// For an all-to-all that dispatches tokens: each token goes to `copies`
  /// devices drawn at random, but only once to each device and, over outer
  /// links, once to each group of devices; 0: the data is divided among all
  /// devices.
  int64_t copies = 0;
  /// Mesh axes of the group, major to minor, and its number of devices.
  std::vector<PlanAxis> axes;
  int64_t ranks = 1;
  /// The next ops do not need the result at once: gradients, prefetched
  /// parameters. Such a collective overlaps with kernels.
  bool overlappable = false;
  /// The kernels that an overlappable collective may overlap with: any, or one
  /// matmul with a parameter: the next, which reads the gathered tensor chunk
  /// by chunk, or the last, which computes the scattered tensor or does not
  /// depend on the collective.
  enum class Beside { Any, NextMatmul, LastMatmul } beside = Beside::Any;
  /// Gathers a parameter for its use; its gradient is scattered.
  bool parameter = false;
  /// Bytes of the gather relative to the scatter of the gradient: below 1 if
  /// matmul operands are cast before they travel, or if gradients are reduced
  /// in f32.
  double gatherShare = 1;
  std::string name;

  /// True if the group's major axis is `axis`.
  bool isOver(PlanAxis axis) const {
    return !axes.empty() && axes.front() == axis;
  }
};

/// An entry of a program, in the order in which it runs.
struct WorkItem {
  /// Whether the entry is an op of the device or a collective.
  enum class Kind { Op, Comm } kind;
  /// Index into LayerWork::ops or LayerWork::comms.
  size_t index;
};

/// A tensor that the forward pass saves for the backward pass.
struct SavedTensor {
  std::string name;
  double bytes = 0;
  /// Selective recomputation computes it again instead.
  bool attentionCore = false;
};

/// A parameter, one device's shard of it.
struct ParameterWork {
  std::string name;
  /// Elements of the shard over all axes but the data axes.
  double elements = 0;
  /// Devices of the data axes that share out the experts which this parameter
  /// belongs to; 1: it is on all devices. The devices that hold the same shard,
  /// dp x cp / expertRanks, share gradients and, with ZeRO, state.
  int64_t expertRanks = 1;
};

/// An adapter of a linear layer (Numerics::loraRank) on one device: bytes of
/// its input, of its few columns and of its result, and elements of its
/// parameters.
struct AdapterWork {
  double input = 0, inner = 0, result = 0, elements = 0;
};

/// The work of one layer with one micro-batch: its passes one after the other.
struct LayerWork {
  /// "embedding", "block", "head", "loss".
  std::string name;
  std::vector<OpWork> ops;
  std::vector<CommWork> comms;
  std::vector<WorkItem> items;
  std::vector<SavedTensor> saved;
  /// Tensors that Recompute::Matmuls keeps in addition to the layer's input.
  std::vector<SavedTensor> keptResults;
  std::vector<ParameterWork> parameters;
  /// The parameters above are not trained; adapters are, here or in other
  /// layers.
  bool frozen = false;
  std::vector<AdapterWork> adapters;
  /// Bytes of the activation that goes to the next layer, which is also the
  /// activation that a pipeline stage sends to the next.
  double outputBytes = 0;
  /// FLOPs per device and micro-batch of the model itself: matmuls and
  /// attention of forward and backward, without recomputation.
  double modelFlops = 0;
  /// Largest bytes alive at once inside the layer that are not in `saved`.
  double workspaceBytes = 0;
  /// The host reads a result of the forward pass before it issues the rest, so
  /// that it does not run ahead of the device; and it issues the backward pass
  /// of another micro-batch meanwhile.
  bool hostWaits = false, backwardWaits = false;

  /// Appends an op or a collective to the layer's program.
  void add(OpWork op);
  void add(CommWork comm);
  /// Bytes of `saved`.
  double savedBytes() const;
  /// Elements of `parameters` and of `adapters`.
  double parameterElements() const;
  double adapterElements() const;
  /// FLOPs of the ops of one pass.
  double flops(Pass pass) const;
};

/// A model: kinds of layers and the number of each in a row.
struct ModelWork {
  /// `count` layers of one kind, one after the other.
  struct Run {
    /// Index into `kinds`.
    size_t kind;
    /// Number of layers; blocks of a chunk may be halves.
    double count;
  };
  /// The layers of a chunk, in order.
  using Runs = llvm::SmallVector<Run, 2>;
  std::vector<LayerWork> kinds;
  /// From the embedding to the loss.
  std::vector<Run> layers;
  /// Parameters of the whole model, tied ones once.
  double modelParameters = 0;
  /// Model FLOPs of one token, forward and backward, over all devices.
  double modelFlopsPerToken = 0;

  /// Layers of all runs, the embedding and the head included.
  int64_t numLayers() const;
};

} // namespace tessera::cost

#endif // TESSERA_COST_WORK_H
