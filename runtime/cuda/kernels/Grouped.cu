//===- Grouped.cu - The MLPs of experts and their gradients ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See tessera_rt_experts. Each matmul of the experts is one launch, which
// gathers tokens while it loads and applies what follows the matmul to the
// block's result in shared memory. Sums over rows have a fixed order, and no
// result depends on timing.
//
//===----------------------------------------------------------------------===//

#include "Activation.h"
#include "GroupedMatrix.h"
#include "GroupedPlain.h"

using namespace tessera::rt::cuda::device;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Reads `count` neighbouring elements from `index` on, of which `size` exist.
template <typename Type, bool isPacked, int count>
static TESSERA_DEVICE void readSome(typename Type::Wide (&values)[count],
                                    int64_t tensor, int64_t index,
                                    int64_t size) {
  using P = Pack<Type, isPacked ? count : 1>;
  const typename Type::Stored *from =
      reinterpret_cast<const typename Type::Stored *>(tensor) + index;
  constexpr int width = isPacked ? count : 1;
  TESSERA_UNROLL
  for (int e = 0; e < count; e += width) {
    P pack = {};
    if (e < size)
      pack = *reinterpret_cast<const P *>(from + e);
    TESSERA_UNROLL
    for (int i = 0; i < width; ++i)
      values[e + i] = Type::read(pack.element[i]);
  }
}

template <typename Type, bool isPacked, int count>
static TESSERA_DEVICE void writeSome(const typename Type::Wide (&values)[count],
                                     int64_t tensor, int64_t index,
                                     int64_t size) {
  using P = Pack<Type, isPacked ? count : 1>;
  typename Type::Stored *to =
      reinterpret_cast<typename Type::Stored *>(tensor) + index;
  constexpr int width = isPacked ? count : 1;
  TESSERA_UNROLL
  for (int e = 0; e < count; e += width) {
    P pack;
    TESSERA_UNROLL
    for (int i = 0; i < width; ++i)
      pack.element[i] = Type::write(values[e + i]);
    if (e < size)
      *reinterpret_cast<P *>(to + e) = pack;
  }
}

/// The gate of a row.
template <typename Wide, typename Block>
static TESSERA_DEVICE Wide gateOf(const Block &block, int64_t row) {
  return reinterpret_cast<const Wide *>(block.p.gates)[block.choiceOf(row)];
}

/// Calls body(row, set, column, lane's first column of the result) for the
/// rows of a block's result, a warp for each; a lane has 4 columns of a set.
template <typename Body>
static TESSERA_DEVICE void forEachRow(int64_t rows, Body body) {
  int lane = threadIndex() % 32;
  for (int row = threadIndex() / 32; row < groupedRows && row < rows;
       row += groupedThreads / 32)
    body(row, lane / 16, lane % 16 * 4);
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// g = x w_gate, u = x w_up and h = gate act(g) u, from g and u as stored.
template <typename Tile>
static TESSERA_DEVICE void computeHidden(const GroupedParams &p) {
  using Type = typename Tile::Type;
  using Wide = typename Type::Wide;
  constexpr bool packed = Tile::isPacked;
  GroupedBlock<Tile::kind> block(p);
  if (!block.find())
    return;
  Tile(block).run();
  int column = threadIndex() % 32 * 2;
  int64_t at = block.firstColumn + column, size = p.columns - at;
  forEachRow(block.end - block.begin, [&](int row, int, int) {
    int64_t index = (block.begin + row) * p.columns + at;
    Wide gate = gateOf<Wide>(block, block.begin + row), g[2], u[2], h[2];
    TESSERA_UNROLL
    for (int e = 0; e < 2; ++e) {
      g[e] = *SharedResult<Wide>::at(0, row, column + e);
      u[e] = *SharedResult<Wide>::at(1, row, column + e);
      h[e] = gate *
             activate(p.activation, Wide(Type::read(Type::write(g[e])))) *
             Type::read(Type::write(u[e]));
    }
    if (p.g)
      writeSome<Type, packed>(g, p.g, index, size);
    if (p.u)
      writeSome<Type, packed>(u, p.u, index, size);
    writeSome<Type, packed>(h, p.h, index, size);
  });
}

/// Wide rows: h w_down, or dg w_gate^T + du w_up^T.
template <typename Tile>
static TESSERA_DEVICE void computeRows(const GroupedParams &p) {
  using Wide = typename Tile::Type::Wide;
  GroupedBlock<Tile::kind> block(p);
  if (!block.find())
    return;
  Tile(block).run();
  forEachRow(block.end - block.begin, [&](int row, int set, int column) {
    int64_t at = block.columnOf(set) + column;
    Wide values[4];
    TESSERA_UNROLL
    for (int e = 0; e < 4; ++e)
      values[e] = *SharedResult<Wide>::at(set, row, column + e);
    writeSome<Number<Wide>, Tile::isPacked>(
        values, p.result[0], (block.begin + row) * p.columns + at,
        p.columns - at);
  });
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// dh = dy w_down^T, dg = gate dh u act'(g) and du = gate dh act(g), and the
/// sum of dh act(g) u over the block's columns.
template <typename Tile>
static TESSERA_DEVICE void computeHiddenBackward(const GroupedParams &p) {
  using Type = typename Tile::Type;
  using Wide = typename Type::Wide;
  constexpr bool packed = Tile::isPacked;
  GroupedBlock<Tile::kind> block(p);
  if (!block.find())
    return;
  Tile(block).run();
  Wide *partials = reinterpret_cast<Wide *>(p.partials);
  forEachRow(block.end - block.begin, [&](int row, int set, int column) {
    int64_t at = block.columnOf(set) + column, size = p.columns - at;
    int64_t index = (block.begin + row) * p.columns + at;
    Wide gate = gateOf<Wide>(block, block.begin + row), sum = 0;
    Wide g[4], u[4], dg[4], du[4];
    readSome<Type, packed>(g, p.g, index, size);
    readSome<Type, packed>(u, p.u, index, size);
    TESSERA_UNROLL
    for (int e = 0; e < 4; ++e) {
      // 0 in columns that do not exist.
      Wide dh = *SharedResult<Wide>::at(set, row, column + e);
      Wide value = activate(p.activation, g[e]);
      sum += dh * value * u[e];
      dg[e] = gate * dh * u[e] * activationSlope(p.activation, g[e]);
      du[e] = gate * dh * value;
    }
    writeSome<Type, packed>(dg, p.dg, index, size);
    writeSome<Type, packed>(du, p.du, index, size);
    sum = sumOfLanes(sum, 32);
    if (threadIndex() % 32 == 0)
      partials[(block.begin + row) * p.columnTiles + block.columnTile] = sum;
  });
}

/// Gradients of weights: x^T dg and x^T du, or h^T dy.
template <typename Tile>
static TESSERA_DEVICE void computeWeights(const GroupedParams &p) {
  using Type = typename Tile::Type;
  using Wide = typename Type::Wide;
  constexpr bool packed = Tile::isPacked;
  GroupedBlock<Tile::kind> block(p);
  bool isKnown = block.find();
  if (isKnown)
    Tile(block).run();
  forEachRow(p.leftWidth - block.top, [&](int row, int set, int column) {
    int64_t at = block.columnOf(set) + column, size = p.columns - at;
    int64_t to = p.result[p.pair ? set : 0];
    int64_t index =
        (block.expert * p.leftWidth + block.top + row) * p.columns + at;
    Wide values[4];
    TESSERA_UNROLL
    for (int e = 0; e < 4; ++e)
      values[e] = isKnown ? *SharedResult<Wide>::at(set, row, column + e)
                          : Wide(notANumber());
    if (p.resultIsF32) {
      float rounded[4] = {float(values[0]), float(values[1]), float(values[2]),
                          float(values[3])};
      writeSome<Number<float>, packed>(rounded, to, index, size);
    } else {
      writeSome<Type, packed>(values, to, index, size);
    }
  });
}

//===----------------------------------------------------------------------===//
// Kernels of matmuls
//===----------------------------------------------------------------------===//

#define TESSERA_GROUPED(prefix, suffix, Tile, Type, blocks)                    \
  TESSERA_KERNEL(prefix##hidden_##suffix, GroupedParams, groupedThreads,       \
                 blocks) {                                                     \
    computeHidden<Tile<Type, Form::Rows>>(p);                                  \
  }                                                                            \
  TESSERA_KERNEL(prefix##rows_##suffix, GroupedParams, groupedThreads,         \
                 blocks) {                                                     \
    computeRows<Tile<Type, Form::Rows>>(p);                                    \
  }                                                                            \
  TESSERA_KERNEL(prefix##hidden_backward_##suffix, GroupedParams,              \
                 groupedThreads, blocks) {                                     \
    computeHiddenBackward<Tile<Type, Form::Transposed>>(p);                    \
  }                                                                            \
  TESSERA_KERNEL(prefix##rows_backward_##suffix, GroupedParams,                \
                 groupedThreads, blocks) {                                     \
    computeRows<Tile<Type, Form::Transposed>>(p);                              \
  }                                                                            \
  TESSERA_KERNEL(prefix##weights_##suffix, GroupedParams, groupedThreads,      \
                 blocks) {                                                     \
    computeWeights<Tile<Type, Form::Weights>>(p);                              \
  }

TESSERA_GROUPED(tessera_grouped_, f32, GroupedPlain, Number<float>, 3)
TESSERA_GROUPED(tessera_grouped_, f64, GroupedPlain, Number<double>, 1)
TESSERA_GROUPED(tessera_grouped_, bf16, GroupedPlain, BFloat, 3)
TESSERA_GROUPED(tessera_grouped_, f16, GroupedPlain, Half, 3)
TESSERA_GROUPED(tessera_grouped_matrix_, bf16, GroupedMatrix, BFloat, 2)
TESSERA_GROUPED(tessera_grouped_matrix_, f16, GroupedMatrix, Half, 2)

//===----------------------------------------------------------------------===//
// Rows and tokens
//===----------------------------------------------------------------------===//

/// The hidden rows once more, from g and u: `count` elements at once.
template <typename Type, int count>
static TESSERA_DEVICE void activatePacks(const GroupedParams &p) {
  using Wide = typename Type::Wide;
  GroupedBlock<Form::Rows> block(p);
  int64_t rows = block.overflows() ? 0 : block.first()[p.experts];
  int64_t perRow = p.columns / count, all = rows * perRow;
  for (int64_t i = globalIndex(); i < all; i += globalSize()) {
    Wide gate = gateOf<Wide>(block, i / perRow), g[count], u[count];
    readSome<Type, true>(g, p.g, i * count, count);
    readSome<Type, true>(u, p.u, i * count, count);
    TESSERA_UNROLL
    for (int e = 0; e < count; ++e)
      g[e] = gate * activate(p.activation, g[e]) * u[e];
    writeSome<Type, true>(g, p.h, i * count, count);
  }
}

template <typename Type>
static TESSERA_DEVICE void activateRows(const GroupedParams &p) {
  constexpr int64_t size = int64_t(sizeof(typename Type::Stored));
  if ((p.g | p.u | p.h | p.columns * size) % 16 == 0)
    activatePacks<Type, int(16 / size)>(p);
  else
    activatePacks<Type, 1>(p);
}

/// The sum of no rows: NaN if there are more rows than room.
template <typename Wide>
static TESSERA_DEVICE Wide sumOfNone(const CombineParams &p) {
  const int32_t *first = reinterpret_cast<const int32_t *>(p.routing);
  return first[p.experts] > p.room ? Wide(notANumber()) : Wide(0);
}

/// Writes the rows of a token to shared memory, in ascending order, and the
/// gradients of its gates. Returns the number of rows.
template <typename Wide>
static TESSERA_DEVICE int findRows(const CombineParams &p, int64_t token) {
  int32_t *sorted = reinterpret_cast<int32_t *>(sharedMemory());
  const int32_t *rowOf = reinterpret_cast<const int32_t *>(p.routing) +
                         p.experts + 1 + p.room + token * p.choices;
  const Wide *partials = reinterpret_cast<const Wide *>(p.partials);
  int count = 0;
  for (int64_t j = 0; j < p.choices; ++j)
    count += rowOf[j] >= 0;
  for (int64_t j = threadIndex(); j < p.choices; j += blockSize()) {
    int32_t row = rowOf[j], rank = 0;
    Wide sum = sumOfNone<Wide>(p);
    for (int64_t i = 0; i < p.choices; ++i)
      rank += rowOf[i] >= 0 && rowOf[i] < row;
    if (row >= 0)
      sorted[rank] = row;
    for (int64_t i = 0; p.partials && row >= 0 && i < p.columnTiles; ++i)
      sum += partials[row * p.columnTiles + i];
    if (p.partials)
      reinterpret_cast<Wide *>(p.dgates)[token * p.choices + j] = sum;
  }
  return count;
}

/// Adds the rows of each token, one block for a token.
template <typename Type, int count>
static TESSERA_DEVICE void combinePacks(const CombineParams &p) {
  using Wide = typename Type::Wide;
  const int32_t *sorted = reinterpret_cast<const int32_t *>(sharedMemory());
  for (int64_t token = blockIndex(); token < p.tokens; token += gridSize()) {
    int rows = findRows<Wide>(p, token);
    syncThreads();
    for (int64_t x = threadIndex() * count; x < p.width;
         x += blockSize() * count) {
      Wide sum[count], next[count], none = sumOfNone<Wide>(p);
      TESSERA_UNROLL
      for (int e = 0; e < count; ++e)
        sum[e] = none;
      for (int i = 0; i < rows; ++i) {
        readSome<Number<Wide>, true>(next, p.rows, sorted[i] * p.width + x,
                                     count);
        TESSERA_UNROLL
        for (int e = 0; e < count; ++e)
          sum[e] += next[e];
      }
      writeSome<Type, true>(sum, p.result, token * p.width + x, count);
    }
    syncThreads();
  }
}

template <typename Type>
static TESSERA_DEVICE void combineRows(const CombineParams &p) {
  constexpr int64_t count = 16 / int64_t(sizeof(typename Type::Wide));
  if (p.width % count == 0 && (p.rows | p.result) % 16 == 0)
    combinePacks<Type, count>(p);
  else
    combinePacks<Type, 1>(p);
}

#define TESSERA_EXPERTS(suffix, Type)                                          \
  TESSERA_KERNEL(tessera_experts_activate_##suffix, GroupedParams, 256, 2) {   \
    activateRows<Type>(p);                                                     \
  }                                                                            \
  TESSERA_KERNEL(tessera_experts_combine_##suffix, CombineParams, 128, 4) {    \
    combineRows<Type>(p);                                                      \
  }

TESSERA_EXPERTS(f32, Number<float>)
TESSERA_EXPERTS(f64, Number<double>)
TESSERA_EXPERTS(bf16, BFloat)
TESSERA_EXPERTS(f16, Half)
