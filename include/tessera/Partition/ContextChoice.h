//===- ContextChoice.h - Sharing of attention among devices -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Context parallelism in plain C++: n devices, each with a shard of the
// sequence, share one attention by one of the methods of ContextMethod.h. The
// methods differ only in the factors of attention that get the axis:
//
//     all_gather, ring, latent   query: (n)
//     all_to_all:U               query: (n / U)   head: (r)   group: (g)
//
// in this order, major to minor, with (g, r) = splitHeads(U, groups, heads).
// `latent` gathers what keys and values are computed from (Latents.h).
// The groups get the minor part: keys and values, which have no heads, are then
// exchanged over it and gathered over the rest, which moves the fewest bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PARTITION_CONTEXTCHOICE_H
#define TESSERA_PARTITION_CONTEXTCHOICE_H

#include "tessera/Cluster/MeshLinks.h"
#include "tessera/Interfaces/WorkTime.h"
#include "tessera/Plan/ContextMethod.h"
#include "llvm/Support/Error.h"
#include <utility>

namespace tessera {

/// Returns how `size` devices share attention heads that come in `groups` (KV
/// heads) of `perGroup` query heads: the number of devices that share the
/// groups and the number that share the heads of a group; their product is
/// `size`. Chooses the split with the fewest heads on a device, then one that
/// splits the groups without padding, then the one with the most parts of the
/// groups. Groups of one head are not split.
std::pair<int64_t, int64_t> splitHeads(int64_t size, int64_t groups,
                                       int64_t perGroup);

/// Number of pairs of a query and a visible key, for the queries from position
/// `first` on: all `keys` without `causal`; with it the keys up to the query's
/// position, and of these the last `window`.
double countPairs(int64_t first, int64_t queries, int64_t keys, bool causal,
                  std::optional<int64_t> window = std::nullopt);

/// The last step of a ring of `devices` in which a query sees a key. In step s
/// the queries of chunk i, of `size`, meet the keys of chunk i - s.
int64_t getLastStep(int64_t devices, int64_t size, bool causal,
                    std::optional<int64_t> window);

/// One attention and the devices that share it.
struct ContextProblem {
  Mesh mesh;
  MeshLinks links;
  /// The rates of a device.
  WorkRates rates = kGpuRates;
  /// The axis that the sequence is sharded over.
  AxisRef axis;
  /// Sequences of a device, queries and keys of a whole sequence.
  int64_t batch = 1, queries = 1, keys = 1;
  /// KV heads, and query heads of each, on a device before the axis shares
  /// them; elements of a head of queries and keys, and of values.
  int64_t groups = 1, heads = 1, dim = 1, valueDim = 1;
  int64_t elementBytes = 4;
  /// Bytes of the latents of a device's sequences, all tokens of them, and the
  /// operations that compute keys and values from them; 0 without latents.
  double latentBytes = 0, latentFlops = 0;
  /// Gradients are summed over devices as gradients of latents, not of keys and
  /// values.
  bool sumsLatents = true;
  bool causal = false;
  std::optional<int64_t> window;
  /// The bias of scores differs from query to query: it has all pairs of a
  /// query and a key, and keys cannot go around a ring.
  bool hasPairBias = false;
  /// The sequence is stored in zig-zag order, so that devices that share the
  /// queries of causal attention have equal work.
  bool isOrdered = false;
  /// There is a backward, and it gathers keys and values again.
  bool hasBackward = false, gathersAgain = false;

  /// Fails if the problem is malformed.
  llvm::Error check() const;
};

/// The parts of the problem's axis that attention's factors get.
struct ContextAxes {
  AxisList query, head, group;
};

/// The cost of one method.
struct ContextCost {
  ContextMethod method;
  /// Bytes that a device receives.
  int64_t forwardBytes = 0, backwardBytes = 0;
  /// Seconds of collectives and of the attention of the busiest device, forward
  /// and backward.
  double seconds = 0;
  /// Keys and values go around a ring of the devices that share queries.
  bool isRing = false;
};

/// The costs of all methods, in one order, and the index of the chosen one.
struct ContextChoice {
  llvm::SmallVector<ContextCost, 4> costs;
  unsigned chosen = 0;

  const ContextCost &get() const { return costs[chosen]; }
};

/// The cost of one method, which is not `auto`.
ContextCost getContextCost(const ContextProblem &problem,
                           const ContextMethod &method);

/// The method `wanted`, or for `auto` the fastest one, the first of equal ones.
/// Fails if more devices than there are query heads would share heads, and for
/// a ring where a bias has all pairs of a query and a key.
llvm::Expected<ContextChoice> chooseContext(const ContextProblem &problem,
                                            const ContextMethod &wanted);

/// The axes of attention's factors under a method.
ContextAxes getContextAxes(const ContextProblem &problem,
                           const ContextMethod &method);

} // namespace tessera

#endif // TESSERA_PARTITION_CONTEXTCHOICE_H
