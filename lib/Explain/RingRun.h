//===- RingRun.h - An all-reduce around a ring, on integers -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks are in a ring and each sends to the next one. The tensor has a chunk
// for each rank. In n - 1 steps of reduce-scatter a rank adds what it receives;
// then it has the sum of one chunk. In n - 1 steps of all-gather these sums go
// around (Patarasuk and Yuan 2009). With 3 ranks, chunks a, b, c:
//
//   rank 0 sends a to 1, rank 1 sends b to 2, rank 2 sends c to 0, all add;
//   rank 0 sends c to 1, rank 1 sends a to 2, rank 2 sends b to 0, all add;
//   now rank 0 has all of b, rank 1 of c, rank 2 of a, and these go around.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_EXPLAIN_RINGRUN_H
#define TESSERA_LIB_EXPLAIN_RINGRUN_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace tessera::explain {

/// A chunk as a rank has it: the sum of its first elements, and the number of
/// ranks whose elements are in it.
struct RingChunk {
  int64_t first = 0, terms = 0;
};

class RingRun {
public:
  /// Rank r begins with element e = 10 (r + 1) + e. Chunks differ in size by
  /// one element at most, the larger first.
  RingRun(int64_t ranks, int64_t elements);

  /// Runs all steps; calls `visit` with the number of steps that are done, from
  /// 0 on. Fails if an element of a rank is not the sum of those of all ranks,
  /// or if the ranks have not sent 2 (n - 1) times the tensor together.
  llvm::Error run(llvm::function_ref<void(int64_t done)> visit);

  /// A chunk of a rank now; an empty chunk has a first element of 0.
  RingChunk chunkOf(int64_t rank, int64_t chunk) const;
  /// Elements that a rank has sent so far.
  int64_t sentBy(int64_t rank) const { return sent[rank]; }

private:
  /// All ranks send the chunk `shift` before their own number to the next rank,
  /// which adds or replaces.
  void step(int64_t shift, bool adds);
  llvm::Error check() const;
  int64_t beginOf(int64_t chunk) const;

  int64_t ranks, elements;
  /// Elements by rank, terms by rank and chunk, and sent elements by rank.
  std::vector<std::vector<int64_t>> values, terms;
  std::vector<int64_t> sent;
};

} // namespace tessera::explain

#endif // TESSERA_LIB_EXPLAIN_RINGRUN_H
