//===- Params.h - Parameters of the hand-written kernels --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters of the kernels, filled in by Launch*.cpp. All fields have 64 bits;
// addresses are the device's. Counts, extents and strides are in elements
// unless their names say bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_PARAMS_H
#define TESSERA_RT_CUDA_KERNELS_PARAMS_H

#include "../../include/tessera_rt_cuda.h"
#include <stdint.h>

namespace tessera::rt::cuda::device {

/// Fills bytes [begin, end): address a gets byte a % 8 of the pattern.
struct FillParams {
  int64_t begin, end, pattern;
};

/// Computes to[i] = from[i] as f32 for i < count; both are aligned to 16 bytes.
struct WidenParams {
  int64_t from, to, count;
};

/// Copies to[sum i_d * toStride_d] = from[sum i_d * fromStride_d] for i_d <
/// extent_d, with elements of the kernel's size. Rank 1 to 8, the last
/// dimension innermost.
struct CopyParams {
  int64_t from, to, rank, total;
  int64_t extent[TESSERA_RT_MAX_DIMS], fromStride[TESSERA_RT_MAX_DIMS],
      toStride[TESSERA_RT_MAX_DIMS];
};

/// A CopyParams with fromStride[rank - 2] and toStride[rank - 1] equal to 1:
/// tiles of the two innermost extents go through shared memory.
struct TransposeParams {
  int64_t from, to, rank;
  /// Tiles along the last extent but one, and along the last.
  int64_t tileRows, tileColumns;
  int64_t extent[TESSERA_RT_MAX_DIMS], fromStride[TESSERA_RT_MAX_DIMS],
      toStride[TESSERA_RT_MAX_DIMS];
};

/// A block of `bytes` at `block`, which is at `offset` in the arena. `fault` is
/// three 64-bit integers: 0, or 1 + the index of the first byte changed after a
/// block; that block's offset; and its bytes. The first fault is kept.
struct GuardParams {
  int64_t block, bytes, offset, fault;
};

/// Most ranks of a group that one process simulates.
constexpr int maxLocalRanks = 64;

/// Computes destination_j[o][i] = reduction over s of source_s[o][i] for i <
/// inner, in ascending s, for every destination. Rows of a source are
/// sourceStride apart.
struct ReduceParams {
  int64_t outer, inner, sourceStride, destinationStride;
  int64_t reduction, numSources, numDestinations;
  int64_t source[maxLocalRanks], destination[maxLocalRanks];
};

/// A matmul's result at `c` and its in-place epilogue; see Epilogue.h. `bias`
/// and `aux` may be 0.
struct EpilogueParams {
  int64_t c, bias, aux, kind, isBiasF32, m, n, ldc, auxLd;
};

/// Computes sums[chunk][j] = the sum of rows [chunk * rowsPerChunk, ...) of
/// column j of `from`, as wide numbers; result[j] = the sum of these.
struct ColumnReductionParams {
  int64_t from, sums, result, rows, columns, ld, chunks, rowsPerChunk;
};
/// Warps of a block that adds partial sums.
constexpr int totalWarps = 8;

/// Keys for the sort of positions by the row of an id.
struct SortKeysParams {
  int64_t ids, positions, rows, offset, keys, values, end;
};

/// One pass of a sort by 8 bits of the keys, from bit `shift` on. `counts` are
/// 256 * tiles integers of 32 bits, by the key's 8 bits and then by tile.
struct SortParams {
  int64_t keys, values, sortedKeys, sortedValues, count, shift, counts, tiles;
};
/// Keys of a tile, which a block of sortThreads sorts.
constexpr int sortTile = 2048;
constexpr int sortThreads = 256;
constexpr int scanThreads = 1024;

/// starts[r], r in [0, rows]: the index of the first sorted key that is at
/// least r.
struct StartsParams {
  int64_t keys, count, rows, starts;
};

struct EmbeddingSumParams {
  int64_t grad, positions, starts, result, rows, width, mode;
};

/// A routing from choices sorted by expert; see tessera_rt_route. `loads`, the
/// LayerLoads of a layer, may be 0; `fault` is a RoutingFault.
struct RouteParams {
  int64_t sortedChoices, starts, routing, count, experts, room;
  /// The most rows that are no fault.
  int64_t most;
  int64_t loads, fault, tokens, choices, offset, allExperts;
  /// The rows of an even load, f64.
  int64_t evenRowsBits;
  /// Rows of one expert: as many as have room, 0 if any have, and those of an
  /// even load.
  int64_t roomOfEach, evenOfEach;
};

/// Choices sorted by sequence and expert; see tessera_rt_expert_capacity.
struct CapacityParams {
  int64_t ids, scores, result;
  int64_t keys, values, starts;
  /// Choices of all sequences, and of one; all pairs of sequence and expert.
  int64_t count, perSequence, rows;
  int64_t choices, experts, capacity, orderShards, orderSize;
};

/// A matmul for each expert. The left operand has rows of `leftWidth`, by row
/// of the routing or, if gathersLeft, by token. The right one is a matrix of
/// each expert, [depth, columns] or its transpose; or rows of `columns`, by row
/// or by token, for the gradient of weights, which is summed over an expert's
/// rows. A block has `groupedRows` rows of the result and columns of two sets:
/// the same `groupedColumns` of right[0] and right[1] if `pair`, else twice as
/// many of one. The sums of `passes` left and right operands are added.
struct GroupedParams {
  int64_t routing, experts, choices, room;
  int64_t left[2], right[2], gathersLeft, gathersRight;
  int64_t leftWidth, columns, depth, pair, passes;
  /// Tiles of rows, and of columns.
  int64_t slots, columnTiles;
  int64_t activation, gates;
  /// Rows [room, columns]: products before the activation, the hidden rows, and
  /// the gradients of the products. g and u may be 0 where they are written.
  int64_t g, u, h, dg, du;
  /// [room, columnTiles], wide: terms of the gradients of gates.
  int64_t partials;
  /// The result, wide rows or gradients of weights; f32 if resultIsF32.
  int64_t result[2], resultIsF32;
};
/// Sizes of a block's tiles, and rows of a step of matmuls without matrix
/// units.
constexpr int groupedRows = 64, groupedColumns = 64;
constexpr int groupedThreads = 128, groupedStages = 3, plainDepth = 16;
/// Tiles of rows whose blocks are next to each other.
constexpr int groupedSlots = 16;
/// Bytes of shared memory before the tiles: the row of each of the block's
/// rows in the left operand, and the expert.
constexpr int groupedHeader = groupedRows * 4 + 16;

/// Sums of the rows of each token, [tokens, width], in their order, and the
/// gradients of gates from `partials`, unless that is 0.
struct CombineParams {
  int64_t routing, experts, room, tokens, choices;
  int64_t rows, width, result;
  int64_t partials, columnTiles, dgates;
};

/// Parameters of forward and backward; tensors as in tessera_rt_attention_desc.
struct AttentionParams {
  int64_t q, k, v, out, logsumexp;
  /// [B,S] i32: the first position that a query sees; or 0.
  int64_t starts;
  /// f32: what is added to scores; or 0. Elements between its sequences,
  /// queries, groups and heads.
  int64_t bias, biasBatch, biasQuery, biasGroup, biasHead;
  int64_t grad, dq, dk, dv;
  /// [B,S,G,R] f32: sums of grad * out.
  int64_t delta;
  int64_t batch, queryLength, keyLength, groups, perGroup, headDim, valueDim;
  int64_t causal, window, scaleBits, softcapBits, keySize, queryOffset,
      keyOffset;
  /// Blocks of rows or of keys of one head.
  int64_t tiles;
  /// 1: out, or dq, dk and dv, are f32, whatever the operands' type.
  int64_t wide;
};

/// Query rows and keys of a tile of the matrix-unit kernels.
constexpr int tileRows = 64, tileKeys = 64;
constexpr int tileThreads = 128;
/// Kernels without matrix units: rows (or keys) of a block, with 8 lanes each,
/// and the keys (or rows) that it processes at once.
constexpr int plainRows = 16, plainLanes = 8, plainKeys = 32;
constexpr int plainThreads = plainRows * plainLanes;

} // namespace tessera::rt::cuda::device

#endif // TESSERA_RT_CUDA_KERNELS_PARAMS_H
