//===- Latents.h - The small values behind keys and values ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Latent attention (DeepSeek-V2, 2024) computes keys and values of all heads
// from a few numbers of each token, its latents: values that nothing but keys
// and values are computed from, and that have fewer bytes than these. No op is
// known by name; sharding rules tell which dimension is the sequence.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PARTITION_LATENTS_H
#define TESSERA_PARTITION_LATENTS_H

#include "dialects/NN/NN.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {

/// The dimension of keys and values that is the sequence.
inline constexpr unsigned kKeyDim = 1;

/// Finds the latents of all attentions in the body of a function, each with its
/// dimension of the sequence: the values of the fewest bytes that together
/// determine all keys and values; of several such sets the one that is nearest
/// to the attentions. Keys and values that follow from no fewer bytes have
/// none. The function has no backward yet, whose ops would be further users.
llvm::MapVector<mlir::Value, unsigned>
findLatents(mlir::FunctionOpInterface func);

/// The latents that the keys and values of an attention come from, once
/// dist-gather-latents has put constraints after them.
struct GatheredLatents {
  /// Bytes of the latents of all tokens; 0: there are none.
  double bytes = 0;
  /// Operations that compute the keys and values of all tokens from them.
  double flops = 0;
  /// Gradients are summed over devices as gradients of latents.
  bool sumsGradients = false;
};

/// A value and its dimension of the sequence.
using SequenceUse = std::pair<mlir::Value, unsigned>;

/// Lists the values from which `operand`, keys or values, follows, from
/// gathered latents on, and `operand` itself; empty if it comes from no
/// latents.
llvm::SmallVector<SequenceUse> listFromLatents(mlir::Value operand);

/// Lists the gradients of keys and values that come from latents, and the
/// values that follow linearly from these, up to the gradients of latents.
/// Leaves out keys and values whose latents have constraints without gradient.
llvm::SmallVector<mlir::Value>
listPartialGradients(nn::AttentionBackwardOp backward);

/// Reads the latents of `keys` and `values` off a program. If only one of the
/// two comes from latents, the other counts as a latent.
GatheredLatents getGatheredLatents(mlir::Value keys, mlir::Value values);

} // namespace tessera

#endif // TESSERA_PARTITION_LATENTS_H
