//===- Random.h - Streams of random numbers ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A seed and a text name a stream; its element i depends only on these and i.
// So a value has the same elements under every mesh, and a rank generates only
// the elements that it holds.
//
// Definition. key = hash(name), mixed with the seed. Philox4x32-10 under that
// key maps the counter i / 4 to four 32-bit words. Uniform: element i is low +
// (high - low) * (word[i % 4] >> 8) / 2^24. Normal: words 0 and 1 of the block
// give elements 0 and 1 by Box-Muller (radius from the first word, angle from
// the second; cosine, then sine), words 2 and 3 give elements 2 and 3.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_RANDOM_H
#define TESSERA_RT_SRC_RANDOM_H

#include <cstdint>
#include <string>

namespace tessera::rt {

/// Key of the stream `name` under `seed`.
uint64_t randomKey(uint64_t seed, const std::string &name);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_RANDOM_H
