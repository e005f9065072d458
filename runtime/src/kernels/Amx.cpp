//===- Amx.cpp - bf16 matmuls on matrix units -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GemmKernels for bf16 operands on AMX, which multiplies tiles of 16 x 32 by
// 32 x 16 with f32 accumulation. Compiled for x86-64 with AMX only, and used
// only after the system has granted it (CpuDispatch.cpp).
//
// A packed panel has 32 rows (or columns). A pair of elements along the depth
// is one 32-bit word; 16 words are a step. A: [step][row][16 words], so that a
// tile is contiguous. B: [word][32 columns], the layout that the unit needs.
//
//===----------------------------------------------------------------------===//

#include "CpuKernels.h"
#include "Vector.h"

#include <immintrin.h>

namespace tessera::rt::amx {

namespace {
constexpr int64_t side = 32;      // rows and columns of a block of 2 x 2 tiles
constexpr int64_t stepWords = 16; // words of depth in one tile
constexpr int64_t stepDepth = 2 * stepWords;

int64_t packedDepth(int64_t depth) {
  return (depth + stepDepth - 1) / stepDepth * stepWords;
}

const uint16_t *elementsOf(const MatrixView &view) {
  return static_cast<const uint16_t *>(view.data);
}

void packPanelA(const uint16_t *source, int64_t strideRow, int64_t strideDepth,
                int64_t rows, int64_t depth, uint16_t *out) {
  for (int64_t d = 0; d < depth; d += stepDepth) {
    int64_t some = depth - d < stepDepth ? depth - d : stepDepth;
    for (int64_t r = 0; r < side; ++r, out += stepDepth) {
      const uint16_t *row = source + r * strideRow + d * strideDepth;
      if (r < rows && strideDepth == 1 && some == stepDepth) {
        memcpy(out, row, stepDepth * 2);
        continue;
      }
      for (int64_t x = 0; x < stepDepth; ++x)
        out[x] = r < rows && x < some ? row[x * strideDepth] : uint16_t(0);
    }
  }
}

/// Interleaves 16 columns of two rows of B into 16 words.
void packWords(const uint16_t *even, const uint16_t *odd, uint32_t *out) {
  VecH low, high;
  memcpy(&low, even, sizeof(low));
  memcpy(&high, odd, sizeof(high));
  VecU words = __builtin_convertvector(low, VecU) |
               (__builtin_convertvector(high, VecU) << 16);
  memcpy(out, &words, sizeof(words));
}

void packPanelB(const uint16_t *source, int64_t strideDepth,
                int64_t strideColumn, int64_t depth, int64_t columns,
                uint32_t *out) {
  int64_t words = packedDepth(depth);
  int64_t word = 0;
  if (columns == side && strideColumn == 1) {
    for (; 2 * word + 1 < depth; ++word)
      for (int64_t j = 0; j < side; j += lanes) {
        const uint16_t *even = source + 2 * word * strideDepth + j;
        packWords(even, even + strideDepth, out + word * side + j);
      }
  } else if (columns == side && strideDepth == 1) {
    // Pairs are in the right order already: transpose words.
    for (; 2 * (word + lanes) <= depth; word += lanes)
      for (int64_t j = 0; j < side; j += lanes) {
        VecF square[lanes];
        TESSERA_RT_UNROLL
        for (int i = 0; i < lanes; ++i)
          memcpy(&square[i], source + (j + i) * strideColumn + 2 * word,
                 sizeof(VecF));
        transposeRows<lanes>(square);
        TESSERA_RT_UNROLL
        for (int i = 0; i < lanes; ++i)
          memcpy(out + (word + i) * side + j, &square[i], sizeof(VecF));
      }
  }
  auto element = [&](int64_t d, int64_t j) {
    return d < depth && j < columns
               ? uint32_t(source[d * strideDepth + j * strideColumn])
               : 0u;
  };
  for (; word < words; ++word)
    for (int64_t j = 0; j < side; ++j)
      out[word * side + j] = element(2 * word, j) | element(2 * word + 1, j)
                                                        << 16;
}

void packA(const MatrixView &a, int64_t rows, int64_t depth, float *out) {
  for (int64_t r = 0; r < rows; r += side, out += side * packedDepth(depth))
    packPanelA(elementsOf(a) + r * a.rowStride, a.rowStride, a.columnStride,
               rows - r < side ? rows - r : side, depth,
               reinterpret_cast<uint16_t *>(out));
}

void packB(const MatrixView &b, int64_t depth, int64_t columns, float *out) {
  for (int64_t j = 0; j < columns; j += side, out += side * packedDepth(depth))
    packPanelB(elementsOf(b) + j * b.columnStride, b.rowStride, b.columnStride,
               depth, columns - j < side ? columns - j : side,
               reinterpret_cast<uint32_t *>(out));
}

/// Operand of ldtilecfg: 8 tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// Multiplies a block of 32 x 32 of C: tiles 0..3 accumulate, 4 and 5 are A, 6
/// and 7 are B.
void multiplyBlock(int64_t steps, const float *a, const float *b, float *c,
                   int64_t ldc, bool accumulate) {
  constexpr int64_t tileFloats = 16 * stepWords;
  int64_t stride = ldc * 4;
  float *lower = c + 16 * ldc;
  if (accumulate) {
    _tile_loadd(0, c, stride);
    _tile_loadd(1, c + 16, stride);
    _tile_loadd(2, lower, stride);
    _tile_loadd(3, lower + 16, stride);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t s = 0; s < steps; ++s) {
    const float *rows = a + s * 2 * tileFloats,
                *columns = b + s * 2 * tileFloats;
    _tile_loadd(4, rows, 64);
    _tile_loadd(6, columns, side * 4);
    _tile_loadd(7, columns + 16, side * 4);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, rows + tileFloats, 64);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, stride);
  _tile_stored(1, c + 16, stride);
  _tile_stored(2, lower, stride);
  _tile_stored(3, lower + 16, stride);
}

/// Multiplies a block at the edge of C, using a whole block in scratch memory.
void multiplyEdge(int64_t rows, int64_t columns, int64_t steps, const float *a,
                  const float *b, float *c, int64_t ldc, bool accumulate) {
  alignas(64) float edge[side * side];
  multiplyBlock(steps, a, b, edge, side, false);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < columns; ++j)
      c[r * ldc + j] =
          edge[r * side + j] + (accumulate ? c[r * ldc + j] : 0.0f);
}

void multiply(int64_t rows, int64_t columns, int64_t packedDepth,
              const float *packedA, int64_t panelStrideA, const float *packedB,
              int64_t panelStrideB, float *c, int64_t ldc, bool accumulate) {
  static const TileConfig config;
  _tile_loadconfig(&config);
  int64_t steps = packedDepth / stepWords;
  // A panel of A stays in the first-level cache for all panels of B.
  for (int64_t i = 0; i < rows; i += side, packedA += panelStrideA)
    for (int64_t j = 0; j < columns; j += side) {
      const float *b = packedB + j / side * panelStrideB;
      float *block = c + i * ldc + j;
      if (rows - i >= side && columns - j >= side)
        multiplyBlock(steps, packedA, b, block, ldc, accumulate);
      else
        multiplyEdge(rows - i < side ? rows - i : side,
                     columns - j < side ? columns - j : side, steps, packedA, b,
                     block, ldc, accumulate);
    }
  // Threads that hold tile data are slower to switch.
  _tile_release();
}
} // namespace

extern const GemmKernels table = {side,  side,  256,      packedDepth,
                                  packA, packB, multiply, nullptr};

} // namespace tessera::rt::amx
