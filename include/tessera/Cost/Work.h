//===- Work.h - What a program does on one device ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain records of the work of a partitioned program: kernels, collectives,
// tensors kept for the backward pass, parameters. They are all that the cost
// and memory models know of a program; sizes are those of one device. Layers
// that do the same work are one record with a count.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_WORK_H
#define TESSERA_COST_WORK_H

#include "tessera/Interfaces/CollectiveKind.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::cost {

/// Element type of a kernel's operands.
enum class DType { F32, BF16, F16, FP8, MXFP8, FP4, I32, I8 };

/// "f32", "bf16", "f16", "fp8", "mxfp8", "fp4", "i32", "i8".
const char *stringify(DType type);
/// Bytes of an element, without scales.
double byteWidth(DType type);

/// When in a training step something runs. Recompute is forward work that is
/// done again because its result was not kept.
enum class Pass {
  Forward,
  Recompute,
  BackwardInput,
  BackwardWeight,
  Optimizer
};

/// "forward", "recompute", "backward", "weight_gradient", "optimizer".
const char *stringify(Pass pass);

/// What bounds a kernel and by which efficiency it is priced.
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

/// Dimensions of a matmul: `batch` independent [m, k] x [k, n]. Attention: m
/// queries, n keys, k head dims, batch x heads independent ones.
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
  /// Floating-point operations, a multiply-add counted as two.
  double flops = 0;
  /// Bytes of all operands and of all results.
  double bytesRead = 0, bytesWritten = 0;
  /// Of Matmul and Attention.
  MatmulDims matmul;
  /// Kernels that this record stands for; each pays the launch floor.
  int64_t kernels = 1;
  /// Of a matmul: its batch is as many kernels, one after the other, which
  /// share no wave.
  bool isApart = false;
  /// One call of the framework issues all of its kernels.
  bool isBatched = false;
  /// The host launches it with others as one graph.
  bool isGraphed = false;
  /// Of a forward matmul: its right operand is a parameter.
  bool weight = false;
  /// Of such a matmul: columns that belong to every second one of its layer,
  /// which Recompute::Matmuls does again.
  int64_t secondColumns = 0;
  /// Bytes that the gradients of its vector parameters read: for a bias the
  /// gradient of what it is added to, for a norm's scale that and the input.
  double parameterSum = 0;
  /// The backward of this op needs no tensor of the forward pass.
  bool linear = false;
  /// Of a matmul in 8 or 4 bits: bytes of an element of its operands, scales
  /// included; 0: those of `dtype`.
  double operandBytes = 0;
  /// Of such a matmul: share of the layers of this kind that do it in 16 bits.
  double wideShare = 0;
  /// Of such a matmul: MatmulFormat::rate.
  double rate = 1;
  /// Of such a matmul: the gradient of its result needs a cast of its own,
  /// which reads and writes so many bytes an element.
  double castGradientRead = 0, castGradientWritten = 0;
  /// Kernels of that cast for each kernel of the matmul.
  int64_t castKernels = 1;
  /// Attention without the device's newest instructions; that of 2022.
  bool portable = false, isFirst = false;
  /// What follows takes care of its backward.
  bool forwardOnly = false;
  /// Elementwise: GELU by tanh of a matmul's result, with a bias or without.
  bool isGelu = false;
  /// Forward and recomputation are in the kernel of the matmul before it.
  bool isEpilogue = false;
  /// Of a matmul: bytes that its epilogue reads and writes beside the operands
  /// and the result. Each tile moves them after its sums, so that no arithmetic
  /// hides them.
  double epilogueBytes = 0;
  /// Of a forward matmul: the same of the matmul of its left operand's
  /// gradient.
  double gradientEpilogueBytes = 0;
  /// Part of attention between the projections: what selective recomputation
  /// does again.
  bool attentionCore = false;
  /// Op name, for reports.
  std::string name;
};

/// One collective.
struct CommWork {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Pass pass = Pass::Forward;
  /// Bytes of the whole tensor of one group: what an all-gather ends with, what
  /// a reduce-scatter starts with, what an all-reduce reduces; for the others
  /// what one device holds before.
  double bytes = 0;
  /// Of an all-to-all: what one device holds goes once to each device, and over
  /// outer links once to each group of devices, that holds one of so many drawn
  /// at random; 0: it is divided among all devices.
  int64_t copies = 0;
  /// Mesh axes of the group, major to minor, and its devices.
  std::vector<std::string> axes;
  int64_t ranks = 1;
  /// What follows does not need the result at once: gradients, prefetched
  /// parameters. Such a collective runs beside kernels.
  bool overlappable = false;
  /// The kernels that an overlappable collective can run beside: any, or one
  /// matmul with a parameter: the next, which reads what is gathered chunk by
  /// chunk, or the last, which makes what is scattered or needs nothing of it.
  enum class Beside { Any, NextMatmul, LastMatmul } beside = Beside::Any;
  /// Gathers a parameter where it is used; its gradient is scattered.
  bool parameter = false;
  /// Bytes of what a gather moves relative to those of the scatter of the
  /// gradient: below 1 where operands of matmuls are cast before they travel,
  /// and where gradients are reduced in f32.
  double gatherShare = 1;
  std::string name;
};

/// An entry of a program, in the order in which it runs.
struct WorkItem {
  /// Whether the entry is an op of the device or a collective.
  enum class Kind { Op, Comm } kind;
  /// Index into LayerWork::ops or LayerWork::comms.
  size_t index;
};

/// A tensor that the forward pass leaves for the backward pass.
struct SavedTensor {
  std::string name;
  double bytes = 0;
  /// Selective recomputation makes it again instead.
  bool attentionCore = false;
};

/// A parameter, one device's shard of it.
struct ParameterWork {
  std::string name;
  /// Elements after all axes but the data axes have sharded it.
  double elements = 0;
  /// Devices of the data axes among which the experts are divided that it
  /// belongs to; 1: it is on all of them. Those that hold the same shard, dp x
  /// cp / expertRanks, share gradients and, with ZeRO, state.
  int64_t expertRanks = 1;
};

/// An adapter of a linear layer (Plan::loraRank) on one device: bytes of its
/// input, of its few columns and of its result, and elements of its parameters.
struct AdapterWork {
  double input = 0, inner = 0, result = 0, elements = 0;
};

/// What one layer does with one micro-batch: its passes one after the other.
struct LayerWork {
  /// "embedding", "block", "head", "loss".
  std::string name;
  std::vector<OpWork> ops;
  std::vector<CommWork> comms;
  std::vector<WorkItem> items;
  std::vector<SavedTensor> saved;
  /// What Recompute::Matmuls keeps beside the layer's input.
  std::vector<SavedTensor> keptResults;
  std::vector<ParameterWork> parameters;
  /// Adapters are trained, here or in other layers, and the parameters above
  /// are not.
  bool frozen = false;
  std::vector<AdapterWork> adapters;
  /// Bytes of the activation that goes to the next layer, also what one
  /// pipeline stage sends to the next.
  double outputBytes = 0;
  /// FLOPs per device and micro-batch that the model itself asks for: matmuls
  /// and attention of forward and backward, nothing computed twice.
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

/// A model: kinds of layers and how many of each are in a row.
struct ModelWork {
  /// `count` layers of one kind, one after the other.
  struct Run {
    /// Index into `kinds`.
    size_t kind;
    /// Of the blocks of a chunk, half ones too.
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
