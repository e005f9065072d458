//===- Numerics.h - Values of a training step -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The types of values, and the values that are kept or computed again.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLAN_NUMERICS_H
#define TESSERA_PLAN_NUMERICS_H

#include "tessera/Plan/EnumNames.h"
#include <cstdint>

namespace tessera {

/// Activations that are kept for the backward pass.
enum class Recompute {
  /// All activations that it needs.
  None,
  /// All but activations that are cheap to compute again. The price assumes
  /// that only the attention core is recomputed; the compiler recomputes norms,
  /// activation functions and other elementwise ops.
  Selective,
  /// Only the inputs of layers.
  Full,
  /// The inputs of layers, the results of attention and of every other matmul
  /// with a parameter (the first, third, ... of a layer).
  Matmuls,
  /// The most activations that fit into Numerics::recomputeBytes.
  Auto,
};
/// Element type of parameters and activations. All values after F16 are BF16
/// with the matmuls of linear layers in 8 or 4 bits; they differ in the
/// elements that share a scale and in the time at which it is known
/// (docs/cost.md).
enum class Precision {
  F32,
  BF16,
  F16,
  /// One scale per tensor, from the largest elements of earlier steps.
  FP8,
  /// One scale per tensor, from its own largest element.
  FP8Current,
  /// One scale per row.
  FP8Row,
  /// One scale per 128 elements; for parameters, per 128 x 128.
  FP8Block,
  /// One scale per 32 elements, applied by the matrix units.
  MXFP8,
  /// 4 bits; one scale per 16 elements and one per tensor. The last blocks stay
  /// in 16 bits.
  NVFP4,
};
/// True if linear layers multiply in 8 or 4 bits.
inline bool hasNarrowMatmuls(Precision precision) {
  return precision >= Precision::FP8;
}
/// Element type of the sums of gradients.
enum class GradDType {
  F32,
  BF16,
  /// Each micro-batch's gradients in 16 bits, added to separate sums in f32.
  Both,
};
/// The linear layers that have adapters (Numerics::loraRank).
enum class LoraTargets {
  /// The linear layers of each block, not the head.
  All,
  /// The projection to queries, keys and values.
  QKV,
};

/// The types of a training step's values, and which values are kept, computed
/// again, trained and dropped.
struct Numerics {
  Precision precision = Precision::F32;
  GradDType gradDType = GradDType::F32;
  /// Parameters are stored in f32, which is the master copy, and are cast at
  /// each use.
  bool f32Parameters = false;
  /// Bytes per parameter of the copy of a block's parameters that its matmuls
  /// read, if these are below 16 bits. The copy is kept and gathered in
  /// addition to the master copy, as in DeepSeek-V3's recipe. 0: parameters are
  /// kept in the type of the precision and cast for each matmul.
  int64_t weightBytes = 0;
  Recompute recompute = Recompute::None;
  /// For Recompute::Auto: the limit of a rank's arena, in bytes.
  int64_t recomputeBytes = 0;
  /// For Recompute::Full: number of consecutive layers per kept input.
  int64_t checkpointEvery = 1;
  /// Activations that sp gathers before a matmul are kept gathered for the
  /// backward pass instead of gathered again.
  bool keepGathered = false;
  /// Dropout after attention, projections and MLP, as in the training of GPT-3.
  bool dropout = false;
  /// Columns of the adapters that are trained instead of the parameters of
  /// linear layers (LoRA, Hu et al. 2021): a linear layer to this many columns
  /// and one back, whose result is scaled and added. 0: parameters are trained.
  int64_t loraRank = 0;
  /// The linear layers that have adapters; no effect without a rank.
  LoraTargets loraTargets = LoraTargets::All;
};

} // namespace tessera

#endif // TESSERA_PLAN_NUMERICS_H
