//===- RingRun.cpp - An all-reduce around a ring, on integers -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RingRun.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace tessera::explain;

RingRun::RingRun(int64_t ranks, int64_t elements)
    : ranks(ranks), elements(elements),
      terms(ranks, std::vector<int64_t>(ranks, 1)), sent(ranks, 0) {
  for (int64_t rank = 0; rank < ranks; ++rank) {
    values.emplace_back(elements);
    std::iota(values.back().begin(), values.back().end(), 10 * (rank + 1));
  }
}

int64_t RingRun::beginOf(int64_t chunk) const {
  return chunk * (elements / ranks) + std::min(chunk, elements % ranks);
}

RingChunk RingRun::chunkOf(int64_t rank, int64_t chunk) const {
  int64_t begin = beginOf(chunk);
  return {begin < beginOf(chunk + 1) ? values[rank][begin] : 0,
          terms[rank][chunk]};
}

void RingRun::step(int64_t shift, bool adds) {
  const auto before = values;
  const auto termsBefore = terms;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t chunk = (rank + ranks - shift % ranks) % ranks;
    int64_t next = (rank + 1) % ranks;
    for (int64_t e = beginOf(chunk); e < beginOf(chunk + 1); ++e)
      values[next][e] = before[rank][e] + (adds ? before[next][e] : 0);
    terms[next][chunk] =
        termsBefore[rank][chunk] + (adds ? termsBefore[next][chunk] : 0);
    sent[rank] += beginOf(chunk + 1) - beginOf(chunk);
  }
}

llvm::Error RingRun::run(llvm::function_ref<void(int64_t)> visit) {
  visit(0);
  for (int64_t i = 0; i + 1 < ranks; ++i) {
    step(i, /*adds=*/true);
    visit(i + 1);
  }
  // A rank has the whole sum of the chunk after its own.
  for (int64_t i = 0; i + 1 < ranks; ++i) {
    step(i + ranks - 1, /*adds=*/false);
    visit(ranks + i);
  }
  return check();
}

llvm::Error RingRun::check() const {
  for (int64_t e = 0; e < elements; ++e) {
    int64_t sum = 10 * ranks * (ranks + 1) / 2 + ranks * e;
    for (int64_t rank = 0; rank < ranks; ++rank)
      if (values[rank][e] != sum)
        return llvm::createStringError(
            "ring: expects the sum %lld at element %lld of rank %lld but got "
            "%lld",
            (long long)sum, (long long)e, (long long)rank,
            (long long)values[rank][e]);
  }
  int64_t all = std::accumulate(sent.begin(), sent.end(), int64_t(0));
  if (all != 2 * (ranks - 1) * elements)
    return llvm::createStringError(
        "ring: expects %lld elements sent but got %lld",
        (long long)(2 * (ranks - 1) * elements), (long long)all);
  return llvm::Error::success();
}
