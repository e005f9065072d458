//===- Collectives.h - Collectives for tests and measurements ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds descriptors of collectives, and runs collectives that start and
// complete in one call.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RUNTIME_COLLECTIVES_H
#define TESSERA_TEST_RUNTIME_COLLECTIVES_H

#include "tessera_rt.h"

#include <cstring>
#include <vector>

namespace tessera::rt {

/// The axes of a group, a shape or pairs, as in a descriptor.
using Integers = std::vector<int64_t>;

/// A descriptor with its lists.
class Collective {
public:
  /// Copies `desc` and the lists, and fills in their lengths.
  Collective(tessera_rt_collective desc, const Integers &axes,
             const Integers &shape = {}, const Integers &pairs = {})
      : data(sizeof(desc) / sizeof(int64_t)) {
    desc.num_axes = int64_t(axes.size() / 2);
    desc.num_dims = int64_t(shape.size());
    desc.num_pairs = int64_t(pairs.size() / 2);
    memcpy(data.data(), &desc, sizeof(desc));
    for (const Integers *list : {&axes, &shape, &pairs})
      data.insert(data.end(), list->begin(), list->end());
  }

  /// Starts the collective. A send has no destination, a receive no source.
  int32_t start(tessera_rt_context *ctx, int32_t slot, int64_t sequence,
                int64_t source, int64_t destination) const {
    auto *desc = reinterpret_cast<const tessera_rt_collective *>(data.data());
    return tessera_rt_start(ctx, slot, sequence, desc, source, destination);
  }
  /// Starts the collective and waits for it.
  int32_t run(tessera_rt_context *ctx, int32_t slot, int64_t sequence,
              int64_t source, int64_t destination) const {
    int32_t status = start(ctx, slot, sequence, source, destination);
    return status == TESSERA_RT_OK ? tessera_rt_wait(ctx, slot) : status;
  }

private:
  std::vector<int64_t> data;
};

inline Collective allGather(const Integers &axes, int32_t dtype, int64_t outer,
                            int64_t count) {
  tessera_rt_collective desc = {};
  desc.kind = TESSERA_RT_ALL_GATHER;
  desc.dtype = dtype;
  desc.outer = outer;
  desc.count = count;
  return Collective(desc, axes);
}

inline Collective reduceScatter(const Integers &axes, int32_t dtype,
                                int32_t reduction, int64_t outer,
                                int64_t count) {
  tessera_rt_collective desc = {};
  desc.kind = TESSERA_RT_REDUCE_SCATTER;
  desc.dtype = dtype;
  desc.reduction = reduction;
  desc.outer = outer;
  desc.count = count;
  return Collective(desc, axes);
}

inline Collective allReduce(const Integers &axes, int32_t dtype,
                            int32_t reduction, int64_t count) {
  tessera_rt_collective desc = {};
  desc.kind = TESSERA_RT_ALL_REDUCE;
  desc.dtype = dtype;
  desc.reduction = reduction;
  desc.count = count;
  return Collective(desc, axes);
}

inline Collective allToAll(const Integers &axes, int32_t dtype,
                           const Integers &shape, int64_t splitDim,
                           int64_t concatDim) {
  tessera_rt_collective desc = {};
  desc.kind = TESSERA_RT_ALL_TO_ALL;
  desc.dtype = dtype;
  desc.split_dim = splitDim;
  desc.concat_dim = concatDim;
  return Collective(desc, axes, shape);
}

inline Collective permute(const Integers &axes, int32_t dtype,
                          const Integers &pairs, int64_t count) {
  tessera_rt_collective desc = {};
  desc.kind = TESSERA_RT_PERMUTE;
  desc.dtype = dtype;
  desc.count = count;
  return Collective(desc, axes, {}, pairs);
}

inline Collective broadcast(const Integers &axes, int32_t dtype, int64_t root,
                            int64_t count) {
  tessera_rt_collective desc = {};
  desc.kind = TESSERA_RT_BROADCAST;
  desc.dtype = dtype;
  desc.member = root;
  desc.count = count;
  return Collective(desc, axes);
}

/// The tokens of a dispatch or a combine; `at` are the axes of the blocks.
struct Tokens {
  int32_t idType;
  int64_t width, choices, experts;
  Integers at;
};

/// Runs a dispatch or a combine of `rows` rows a block.
inline int32_t runTokens(tessera_rt_context *ctx, int32_t slot,
                         int64_t sequence, tessera_rt_collective_kind kind,
                         const Integers &axes, int32_t dtype, int64_t outer,
                         int64_t rows, const Tokens &tokens, int64_t source,
                         int64_t destination, int64_t ids) {
  tessera_rt_collective desc = {};
  desc.kind = kind;
  desc.dtype = dtype;
  desc.outer = outer;
  desc.count = rows * tokens.width;
  desc.num_axes = int64_t(axes.size() / 2);
  Integers collective(sizeof(desc) / sizeof(int64_t));
  memcpy(collective.data(), &desc, sizeof(desc));
  collective.insert(collective.end(), axes.begin(), axes.end());
  Integers described{tokens.idType, tokens.width, tokens.choices,
                     tokens.experts, int64_t(tokens.at.size() / 2)};
  described.insert(described.end(), tokens.at.begin(), tokens.at.end());
  int32_t status = tessera_rt_start_tokens(
      ctx, slot, sequence,
      reinterpret_cast<const tessera_rt_collective *>(collective.data()),
      reinterpret_cast<const tessera_rt_tokens *>(described.data()), source,
      destination, ids);
  return status == TESSERA_RT_OK ? tessera_rt_wait(ctx, slot) : status;
}

/// A send to or a receive from `peer`: `kind` is TESSERA_RT_SEND or
/// TESSERA_RT_RECV.
inline Collective transfer(tessera_rt_collective_kind kind,
                           const Integers &axes, int32_t dtype, int64_t peer,
                           int64_t tag, int64_t count) {
  tessera_rt_collective desc = {};
  desc.kind = kind;
  desc.dtype = dtype;
  desc.count = count;
  desc.member = peer;
  desc.tag = tag;
  return Collective(desc, axes);
}

} // namespace tessera::rt

#endif // TESSERA_TEST_RUNTIME_COLLECTIVES_H
