//===- Route.cpp - Which tokens go to which experts -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostTarget.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tessera::rt;

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

/// Counts the rows of each expert, then numbers them in order of choices.
/// Returns the number of rows, which may be more than there is room for; then
/// the routing has no row.
template <typename Id>
static int64_t routeIds(const tessera_rt_route_desc &d, const Id *ids,
                        int64_t offset, int32_t *routing) {
  int32_t *first = routing, *choiceOf = first + d.experts + 1,
          *rowOf = choiceOf + d.room;
  int64_t count = d.tokens * d.choices;
  std::fill(first, first + d.experts + 1, 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t expert = int64_t(ids[i]) - offset;
    if (expert >= 0 && expert < d.experts)
      ++first[expert + 1];
  }
  for (int64_t expert = 0; expert < d.experts; ++expert)
    first[expert + 1] += first[expert];
  int64_t rows = first[d.experts];
  if (rows > d.room) {
    std::fill(choiceOf, choiceOf + d.room + count, -1);
    return rows;
  }
  std::vector<int32_t> next(first, first + d.experts);
  for (int64_t i = 0; i < count; ++i) {
    int64_t expert = int64_t(ids[i]) - offset;
    bool isHeld = expert >= 0 && expert < d.experts;
    rowOf[i] = isHeld ? next[size_t(expert)]++ : -1;
    if (isHeld)
      choiceOf[rowOf[i]] = int32_t(i);
  }
  std::fill(choiceOf + rows, choiceOf + d.room, -1);
  return rows;
}

/// Notes experts with more rows than there is room for.
static void noteRoom(LayerLoads &loads, const tessera_rt_route_desc &d,
                     const int32_t *first) {
  for (int64_t expert = 0; expert < d.experts; ++expert) {
    int64_t rows = first[expert + 1] - first[expert];
    if (rows > d.room_of_each)
      loads.sentOverEven =
          std::max(loads.sentOverEven, double(rows) / double(d.even_of_each));
  }
}

/// Adds the rows of a routing to the loads of its layer.
static void countLoads(LayerLoads &loads, const tessera_rt_route_desc &d,
                       int64_t offset, const int32_t *first) {
  loads.tokens += d.tokens;
  loads.choices = d.choices;
  loads.offset = offset;
  loads.held = d.experts;
  loads.experts = d.all_experts;
  loads.mostRows = std::max<int64_t>(loads.mostRows, first[d.experts]);
  loads.room = d.room;
  loads.evenRows = evenRows(d);
  // Experts after the last one are padding.
  int64_t held = std::min(d.experts, d.all_experts - offset);
  for (int64_t expert = 0; expert < held; ++expert)
    loads.uses()[offset + expert] += first[expert + 1] - first[expert];
}

Status tessera::rt::host::route(tessera_rt_context *ctx,
                                const tessera_rt_route_desc &d, const void *ids,
                                int64_t offset, int32_t *routing,
                                LayerLoads *loads) {
  int64_t rows =
      d.id_dtype == TESSERA_RT_I32
          ? routeIds(d, static_cast<const int32_t *>(ids), offset, routing)
          : routeIds(d, static_cast<const int64_t *>(ids), offset, routing);
  if (rows > mostRows(d))
    return failRouting(ctx, mostRows(d), offset, rows);
  if (loads && d.room_of_each)
    noteRoom(*loads, d, routing);
  else if (loads)
    countLoads(*loads, d, offset, routing);
  return TESSERA_RT_OK;
}

int64_t tessera::rt::mostRows(const tessera_rt_route_desc &d) {
  return std::max(d.room, d.tokens * std::min(d.choices, d.experts));
}

double tessera::rt::evenRows(const tessera_rt_route_desc &d) {
  return double(d.tokens) * double(d.choices) * double(d.experts) /
         double(std::max<int64_t>(d.all_experts, 1));
}

Status tessera::rt::failRouting(tessera_rt_context *ctx, int64_t most,
                                int64_t offset, int64_t rows) {
  return fail(ctx, TESSERA_RT_INVALID,
              format("a routing expects at most %lld rows for the experts from "
                     "%lld on, as different ids of a token need, but got %lld",
                     (long long)most, (long long)offset, (long long)rows));
}

LayerLoads *tessera::rt::findLoads(const tessera_rt_context &ctx,
                                   const tessera_rt_route_desc &d) {
  bool fits = d.all_experts <= ctx.memory.tables.experts;
  return fits ? ctx.memory.loads(ctx.rank, d.layer) : nullptr;
}

Status HostTarget::route(const tessera_rt_route_desc &desc, const void *ids,
                         int64_t offset, int32_t *routing) {
  return host::route(ctx, desc, ids, offset, routing, findLoads(*ctx, desc));
}

static bool isId(int64_t dtype) {
  return dtype == TESSERA_RT_I32 || dtype == TESSERA_RT_I64;
}

extern "C" int32_t tessera_rt_route(tessera_rt_context *ctx,
                                    const tessera_rt_route_desc *desc,
                                    const void *ids, int64_t offset,
                                    int32_t *routing) {
  const tessera_rt_route_desc &d = *desc;
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (!isId(d.id_dtype) ||
      std::min({d.tokens, d.choices, d.experts, d.all_experts, d.room,
                d.room_of_each}) < 0 ||
      (d.room_of_each && d.even_of_each < 1) || d.tokens * d.choices > most ||
      d.room > most)
    return fail(ctx, TESSERA_RT_INVALID,
                format("a routing expects ids of i32 or i64, no negative size "
                       "and fewer than 2^31 choices, but got %s and %lld x "
                       "%lld",
                       dtypeName(int32_t(d.id_dtype)), (long long)d.tokens,
                       (long long)d.choices));
  return ctx->target->route(d, ids, offset, routing);
}

//===----------------------------------------------------------------------===//
// Capacity
//===----------------------------------------------------------------------===//

namespace {
/// One choice of an expert in a sequence.
template <typename Score> struct Choice {
  int64_t expert;
  Score score;
  /// Rank in plain order, and position in the ids.
  int64_t rank, index;

  /// Orders by expert, then from the best to the worst.
  bool operator<(const Choice &other) const {
    if (expert != other.expert)
      return expert < other.expert;
    bool isNaN = std::isnan(score), otherIsNaN = std::isnan(other.score);
    if (isNaN || otherIsNaN)
      return isNaN != otherIsNaN ? isNaN : rank < other.rank;
    return score != other.score ? score > other.score : rank < other.rank;
  }
};
} // namespace

/// The position, in plain order, of the token that is stored at `index`: of
/// 2 * shards chunks, the shard i stores chunks i and 2 * shards - 1 - i.
static int64_t positionOf(const tessera_rt_capacity_desc &d, int64_t index) {
  if (!d.order_shards || index >= d.order_size)
    return index;
  int64_t chunk = d.order_size / (2 * d.order_shards), stored = index / chunk;
  int64_t position =
      stored % 2 == 0 ? stored / 2 : 2 * d.order_shards - 1 - stored / 2;
  return position * chunk + index % chunk;
}

template <typename Id, typename Score>
static void dropIds(const tessera_rt_capacity_desc &d, const Id *ids,
                    const Score *scores, Id *result) {
  std::vector<Choice<Score>> choices;
  int64_t size = d.tokens * d.choices;
  for (int64_t start = 0; start < d.sequences * size; start += size) {
    choices.clear();
    for (int64_t i = 0; i < size; ++i) {
      int64_t index = start + i, expert = int64_t(ids[index]);
      result[index] = ids[index];
      int64_t rank = positionOf(d, i / d.choices) * d.choices + i % d.choices;
      if (expert >= 0 && expert < d.experts)
        choices.push_back({expert, scores[index], rank, index});
    }
    std::sort(choices.begin(), choices.end());
    for (size_t i = size_t(d.capacity); i < choices.size(); ++i)
      if (choices[i].expert == choices[i - size_t(d.capacity)].expert)
        result[choices[i].index] = -1;
  }
}

template <typename Id>
static void dropScored(const tessera_rt_capacity_desc &d, const void *ids,
                       const void *scores, void *result) {
  auto *from = static_cast<const Id *>(ids);
  auto *to = static_cast<Id *>(result);
  if (d.dtype == TESSERA_RT_F32)
    dropIds(d, from, static_cast<const float *>(scores), to);
  else
    dropIds(d, from, static_cast<const double *>(scores), to);
}

void tessera::rt::host::expertCapacity(const tessera_rt_capacity_desc &d,
                                       const void *ids, const void *scores,
                                       void *result) {
  if (d.id_dtype == TESSERA_RT_I32)
    dropScored<int32_t>(d, ids, scores, result);
  else
    dropScored<int64_t>(d, ids, scores, result);
}

Status HostTarget::expertCapacity(const tessera_rt_capacity_desc &desc,
                                  const void *ids, const void *scores,
                                  void *result) {
  host::expertCapacity(desc, ids, scores, result);
  return TESSERA_RT_OK;
}

extern "C" int32_t
tessera_rt_expert_capacity(tessera_rt_context *ctx,
                           const tessera_rt_capacity_desc *desc,
                           const void *ids, const void *scores, void *result) {
  const tessera_rt_capacity_desc &d = *desc;
  bool hasTypes = isId(d.id_dtype) &&
                  (d.dtype == TESSERA_RT_F32 || d.dtype == TESSERA_RT_F64);
  bool hasSizes = std::min({d.sequences, d.tokens, d.choices, d.experts,
                            d.order_shards, d.order_size}) >= 0 &&
                  d.capacity >= 1;
  if (!hasTypes || !hasSizes)
    return fail(
        ctx, TESSERA_RT_INVALID,
        format("a capacity of experts expects ids of i32 or i64, scores "
               "of f32 or f64, no negative size and a capacity of 1 at "
               "least, but got %s, %s and a capacity of %lld",
               dtypeName(int32_t(d.id_dtype)), dtypeName(int32_t(d.dtype)),
               (long long)d.capacity));
  return ctx->target->expertCapacity(d, ids, scores, result);
}
