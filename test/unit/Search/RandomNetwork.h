//===- RandomNetwork.h - Networks by chance, and brute force ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_SEARCH_RANDOMNETWORK_H
#define TESSERA_TEST_UNIT_SEARCH_RANDOMNETWORK_H

#include "tessera/Search/CostNetwork.h"
#include <random>

namespace tessera::search::test {

/// A network of at most `maxAssignments`, with infinite costs, many ties where
/// costs are drawn from few, shared tables and classes, weights and edges
/// between the same variables.
CostNetwork makeRandomNetwork(std::mt19937 &rng, double maxAssignments);

/// What trying all assignments finds.
struct BruteForce {
  explicit BruteForce(const CostNetwork &network);

  int64_t optimum = kInfinite;
  /// By variable and state.
  std::vector<std::vector<int64_t>> marginals;
};

} // namespace tessera::search::test

#endif // TESSERA_TEST_UNIT_SEARCH_RANDOMNETWORK_H
