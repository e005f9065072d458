//===- RandomNetwork.h - Random networks, and brute force -------*- C++ -*-===//
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

/// A network with at most `maxAssignments`, infinite costs, many ties if costs
/// are drawn from few values, shared tables and classes, weights, and parallel
/// edges.
CostNetwork makeRandomNetwork(std::mt19937 &rng, double maxAssignments);

/// Results of trying all assignments.
struct BruteForce {
  explicit BruteForce(const CostNetwork &network);

  int64_t optimum = kInfinite;
  /// Lowest cost by variable and state.
  std::vector<std::vector<int64_t>> marginals;
};

} // namespace tessera::search::test

#endif // TESSERA_TEST_UNIT_SEARCH_RANDOMNETWORK_H
