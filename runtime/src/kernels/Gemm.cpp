//===- Gemm.cpp - Packing and multiplying blocks --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Packs blocks of matrices into panels and multiplies panels. host/Matmul.cpp
// splits a matmul into blocks and distributes them over threads;
// test/runtime/MatmulTest.cpp tests both.
//
//===----------------------------------------------------------------------===//

#include "IsaKernels.h"
#include "Tile.h"

namespace tessera::rt::TESSERA_RT_ISA {

namespace {
/// Reads elements as f32.
struct ReadF32 {
  using Element = float;
  static float one(const float *p) { return *p; }
  static VecF many(const float *p) { return load(p); }
};
struct ReadBf16 {
  using Element = uint16_t;
  static float one(const uint16_t *p) {
    uint32_t bits = uint32_t(*p) << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
  }
  static VecF many(const uint16_t *p) { return loadBf16(p); }
};

struct ReadF16 {
  using Element = _Float16;
  static float one(const _Float16 *p) { return float(*p); }
  static VecF many(const _Float16 *p) { return loadF16(p); }
};

/// out[d][Width] = source(i, d) for i < width and all d, zero beyond; element
/// (i, d) is at i * strideItem + d * strideDepth.
template <int Width, typename Read>
void packPanel(const typename Read::Element *source, int64_t strideItem,
               int64_t strideDepth, int64_t width, int64_t depth, float *out) {
  if (width < Width)
    memset(out, 0, size_t(depth) * Width * sizeof(float));
  int64_t d = 0;
  if constexpr (Width < lanes && (Width & (Width - 1)) == 0) {
    for (; strideDepth == 1 && width == Width && d + lanes <= depth;
         d += lanes) {
      VecF rows[Width];
      TESSERA_RT_UNROLL
      for (int i = 0; i < Width; ++i)
        rows[i] = Read::many(source + i * strideItem + d);
      transposeRows<Width>(rows);
      TESSERA_RT_UNROLL
      for (int i = 0; i < Width; ++i)
        store(out + d * Width + i * lanes, rows[i]);
    }
  }
  if (strideDepth == 1) {
    // The most rows of a square.
    constexpr int full = Width < lanes ? Width : lanes;
    // Rows of `lanes` depths are loaded and transposed. Rows at or beyond
    // `width` do not exist; zeros replace them.
    for (; d + lanes <= depth; d += lanes)
      for (int64_t first = 0; first < width; first += lanes) {
        VecF square[lanes] = {};
        int64_t rows = width - first < lanes ? width - first : lanes;
        const typename Read::Element *begin = source + first * strideItem + d;
        if (rows >= full) {
          TESSERA_RT_UNROLL
          for (int i = 0; i < full; ++i)
            square[i] = Read::many(begin + i * strideItem);
        } else {
          for (int64_t i = 0; i < rows; ++i)
            square[i] = Read::many(begin + i * strideItem);
        }
        transposeRows<lanes>(square);
        int64_t room = Width - first;
        for (int i = 0; i < lanes; ++i)
          memcpy(out + (d + i) * Width + first, &square[i],
                 room >= full ? size_t(full) * 4 : size_t(room) * 4);
      }
  }
  for (; d < depth; ++d)
    for (int64_t i = 0; i < width; ++i)
      out[d * Width + i] = Read::one(source + i * strideItem + d * strideDepth);
}

template <int Width, typename Read>
void packPanels(const MatrixView &view, int64_t strideItem, int64_t strideDepth,
                int64_t items, int64_t depth, float *out) {
  auto *source = static_cast<const typename Read::Element *>(view.data);
  if constexpr (Width % lanes == 0) {
    // Items are contiguous. Whole rows are read, since a row may be a page.
    int64_t whole = strideItem == 1 ? items / Width * Width : 0;
    for (int64_t d = 0; whole > 0 && d < depth; ++d)
      for (int64_t i = 0; i < whole; i += Width)
        for (int x = 0; x < Width; x += lanes)
          store(out + i * depth + d * Width + x,
                Read::many(source + d * strideDepth + i + x));
    items -= whole;
    source += whole;
    out += whole * depth;
  }
  for (int64_t first = 0; first < items; first += Width)
    packPanel<Width, Read>(source + first * strideItem, strideItem, strideDepth,
                           items - first < Width ? items - first : Width, depth,
                           out + first * depth);
}

template <int Width>
void packAny(const MatrixView &view, int64_t strideItem, int64_t strideDepth,
             int64_t items, int64_t depth, float *out) {
  if (view.dtype == TESSERA_RT_BF16)
    packPanels<Width, ReadBf16>(view, strideItem, strideDepth, items, depth,
                                out);
  else if (view.dtype == TESSERA_RT_F16)
    packPanels<Width, ReadF16>(view, strideItem, strideDepth, items, depth,
                               out);
  else
    packPanels<Width, ReadF32>(view, strideItem, strideDepth, items, depth,
                               out);
}
} // namespace

static constexpr int64_t tileRows = GemmTile::rows;
static constexpr int64_t tileColumns = GemmTile::columns;

void packA(const MatrixView &a, int64_t rows, int64_t depth, float *out) {
  packAny<GemmTile::rows>(a, a.rowStride, a.columnStride, rows, depth, out);
}

void packB(const MatrixView &b, int64_t depth, int64_t columns, float *out) {
  packAny<GemmTile::columns>(b, b.columnStride, b.rowStride, columns, depth,
                             out);
}

void packAttentionRows(const MatrixView &a, int64_t rows, int64_t depth,
                       float *out) {
  packAny<AttentionTile::rows>(a, a.rowStride, a.columnStride, rows, depth,
                               out);
}

void packAttentionColumns(const MatrixView &b, int64_t depth, int64_t columns,
                          float *out) {
  packAny<AttentionTile::columns>(b, b.columnStride, b.rowStride, columns,
                                  depth, out);
}

namespace {
/// Multiplies one tile at the edge of C, using a full tile in scratch memory.
template <typename Tile, typename Strides>
void multiplyEdge(Strides strides, int64_t rows, int64_t columns, int64_t depth,
                  const float *a, const float *b, float *c, int64_t ldc,
                  bool accumulate) {
  alignas(64) float edge[Tile::rows * Tile::columns];
  multiplyRows<Tile>(strides, rows, depth, a, b, edge, Tile::columns, false);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t x = 0; x < columns; ++x)
      c[r * ldc + x] =
          edge[r * Tile::columns + x] + (accumulate ? c[r * ldc + x] : 0.0f);
}

/// Multiplies one tile whose number of columns, at most a panel's, is known at
/// run time. It uses the smallest number of vectors that hold them.
template <typename Strides, int Vectors = GemmTile::vectors>
void multiplyColumns(Strides strides, int64_t rows, int64_t columns,
                     int64_t depth, const float *a, const float *b, float *c,
                     int64_t ldc, bool accumulate) {
  using Tile = TileShape<GemmTile::rows, Vectors, GemmTile::vectors>;
  if constexpr (Vectors > 1)
    if (columns <= Tile::columns - lanes)
      return multiplyColumns<Strides, Vectors - 1>(
          strides, rows, columns, depth, a, b, c, ldc, accumulate);
  if (columns == Tile::columns)
    multiplyRows<Tile>(strides, rows, depth, a, b, c, ldc, accumulate);
  else
    multiplyEdge<Tile>(strides, rows, columns, depth, a, b, c, ldc, accumulate);
}

/// Panels of A begin `panelStrideA` floats apart.
template <typename Strides>
void multiplyPanels(Strides strides, int64_t rows, int64_t columns,
                    int64_t depth, const float *a, int64_t panelStrideA,
                    const float *packedB, int64_t panelStrideB, float *c,
                    int64_t ldc, bool accumulate) {
  // Processes a few panels of rows at a time. A panel of B is used for all of
  // them while it is in the first-level cache, and the few rows of C that are
  // touched keep their pages in the TLB.
  constexpr int64_t blockRows = 8 * tileRows;
  for (int64_t first = 0; first < rows; first += blockRows) {
    int64_t last = rows - first < blockRows ? rows : first + blockRows;
    for (int64_t j = 0; j < columns; j += tileColumns) {
      const float *b = packedB + j / tileColumns * panelStrideB;
      int64_t width = columns - j < tileColumns ? columns - j : tileColumns;
      for (int64_t i = first; i < last; i += tileRows)
        multiplyColumns(strides, last - i < tileRows ? last - i : tileRows,
                        width, depth, a + i / tileRows * panelStrideA, b,
                        c + i * ldc + j, ldc, accumulate);
    }
  }
}
} // namespace

void multiply(int64_t rows, int64_t columns, int64_t depth,
              const float *packedA, int64_t panelStrideA, const float *packedB,
              int64_t panelStrideB, float *c, int64_t ldc, bool accumulate) {
  multiplyPanels(PackedStrides<1, tileRows>(), rows, columns, depth, packedA,
                 panelStrideA, packedB, panelStrideB, c, ldc, accumulate);
}

void multiplyUnpacked(int64_t rows, int64_t columns, int64_t depth,
                      const float *a, int64_t lda, const float *packedB,
                      int64_t panelStrideB, float *c, int64_t ldc,
                      bool accumulate) {
  multiplyPanels(RowStrides{lda}, rows, columns, depth, a, tileRows * lda,
                 packedB, panelStrideB, c, ldc, accumulate);
}

} // namespace tessera::rt::TESSERA_RT_ISA
