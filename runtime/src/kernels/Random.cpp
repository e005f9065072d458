//===- Random.cpp - Counter-based random numbers --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011) and Box-Muller, in loops over many counters that the compiler
// vectorises. Compiled without contraction of a*b+c, so that all instruction
// sets give the same bits. Streams and keys: see ../Random.h.
//
//===----------------------------------------------------------------------===//

#include "Compilers.h"
#include "IsaKernels.h"

#include <cstring>

namespace tessera::rt::TESSERA_RT_ISA {

namespace {
/// Blocks of four numbers that are generated together.
constexpr int batch = 64;

struct Words {
  uint32_t word[4][batch];
};

/// Block b of the result belongs to counter firstBlock + b.
void philox(uint64_t key, uint64_t firstBlock, Words &out) {
  uint32_t *w0 = out.word[0], *w1 = out.word[1], *w2 = out.word[2],
           *w3 = out.word[3];
  for (int b = 0; b < batch; ++b) {
    uint64_t counter = firstBlock + uint64_t(b);
    uint32_t c0 = uint32_t(counter), c1 = uint32_t(counter >> 32), c2 = 0,
             c3 = 0;
    uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
    TESSERA_RT_UNROLL
    for (int round = 0; round < 10; ++round) {
      uint64_t p0 = uint64_t(0xD2511F53u) * c0;
      uint64_t p1 = uint64_t(0xCD9E8D57u) * c2;
      uint32_t n0 = uint32_t(p1 >> 32) ^ c1 ^ k0;
      uint32_t n2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
      c1 = uint32_t(p1);
      c3 = uint32_t(p0);
      c0 = n0;
      c2 = n2;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    w0[b] = c0;
    w1[b] = c1;
    w2[b] = c2;
    w3[b] = c3;
  }
}

/// Maps a word to [0, 1) with 24 bits.
inline float unit(uint32_t word) {
  return float(int32_t(word >> 8)) * 0x1p-24f;
}

/// Square root of -2 ln u, for u = (word + 1/2) / 2^32 in (0, 1). ln uses the
/// exponent and a polynomial in (m-1)/(m+1), |error| < 1e-7.
inline float radius(uint32_t word) {
  // The top 24 bits suffice except for the tail; the conversion keeps the lower
  // bits when the top ones are 0.
  float u = float(word) * 0x1p-32f + 0x1p-33f;
  uint32_t bits;
  memcpy(&bits, &u, 4);
  // Mantissa in [sqrt(1/2), sqrt(2)).
  int32_t shifted = int32_t(bits) - 0x3f3504f3;
  float exponent = float(shifted >> 23);
  uint32_t mantissaBits = uint32_t(shifted & 0x7fffff) + 0x3f3504f3u;
  float m;
  memcpy(&m, &mantissaBits, 4);
  float s = (m - 1.0f) / (m + 1.0f), z = s * s;
  float series = ((0.2222222f * z + 0.2857143f) * z + 0.4f) * z + 0.6666667f;
  float ln = exponent * 0.69314718f + (2.0f * s + s * z * series);
  float square = -2.0f * ln;
  return __builtin_sqrtf(square > 0.0f ? square : 0.0f);
}

/// Sine and cosine of 2 pi t, t in [0, 1), from quarter turns and the Taylor
/// series on [-pi/4, pi/4].
inline void turn(float t, float &sine, float &cosine) {
  float quarters = t * 4.0f;
  int32_t quadrant = int32_t(quarters + 0.5f);
  float x = (quarters - float(quadrant)) * 1.57079633f, z = x * x;
  float s =
      x + x * z *
              (-0.16666667f +
               z * (8.3333333e-3f + z * (-1.9841270e-4f + z * 2.7557319e-6f)));
  float c = 1.0f + z * (-0.5f + z * (4.1666667e-2f +
                                     z * (-1.3888889e-3f + z * 2.4801587e-5f)));
  bool swap = quadrant & 1;
  float first = swap ? c : s, second = swap ? s : c;
  sine = quadrant & 2 ? -first : first;
  cosine = (quadrant + 1) & 2 ? -second : second;
}

/// Calls make(block words, values[4 * batch]) for all batches that the range
/// overlaps, and copies the values in the range.
template <typename Make>
void generate(uint64_t key, int64_t first, int64_t count, float *out,
              Make &&make) {
  Words words;
  float values[4 * batch];
  int64_t end = first + count;
  for (int64_t block = first / 4; block * 4 < end; block += batch) {
    philox(key, uint64_t(block), words);
    make(words, values);
    int64_t from = block * 4 < first ? first : block * 4;
    int64_t to = block * 4 + 4 * batch < end ? block * 4 + 4 * batch : end;
    memcpy(out + (from - first), values + (from - block * 4),
           size_t(to - from) * sizeof(float));
  }
}
} // namespace

void normal(uint64_t key, int64_t first, int64_t count, float mean,
            float deviation, float *out) {
  generate(key, first, count, out, [=](const Words &words, float *values) {
    for (int b = 0; b < batch; ++b) {
      float r0 = radius(words.word[0][b]) * deviation;
      float r1 = radius(words.word[2][b]) * deviation;
      float s0, c0, s1, c1;
      turn(unit(words.word[1][b]), s0, c0);
      turn(unit(words.word[3][b]), s1, c1);
      values[4 * b] = mean + r0 * c0;
      values[4 * b + 1] = mean + r0 * s0;
      values[4 * b + 2] = mean + r1 * c1;
      values[4 * b + 3] = mean + r1 * s1;
    }
  });
}

void uniform(uint64_t key, int64_t first, int64_t count, float low, float high,
             float *out) {
  float range = high - low;
  generate(key, first, count, out, [=](const Words &words, float *values) {
    for (int b = 0; b < batch; ++b)
      for (int w = 0; w < 4; ++w)
        values[4 * b + w] = low + unit(words.word[w][b]) * range;
  });
}

} // namespace tessera::rt::TESSERA_RT_ISA
