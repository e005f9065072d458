//===- Draw.h - Orders drawn from a seed ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_EMULATOR_DRAW_H
#define TESSERA_RT_CUDA_EMULATOR_DRAW_H

#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::emu {

/// Numbers from a seed: splitmix64 (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014).
struct Draw {
  uint64_t state;

  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  template <typename T> void shuffle(std::vector<T> &order) {
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[next() % i]);
  }
};

} // namespace tessera::emu

#endif // TESSERA_RT_CUDA_EMULATOR_DRAW_H
