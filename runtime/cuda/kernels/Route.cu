//===- Route.cu - Which tokens go to which experts ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Choices are sorted by expert with the stable sort of Sort.cu, so a routing
// and the choices that a capacity drops do not depend on timing.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

using namespace tessera::rt::cuda::device;

/// Adds the rows of a routing to the LayerLoads of its layer.
static TESSERA_DEVICE void countLoads(const RouteParams &p) {
  int64_t *loads = reinterpret_cast<int64_t *>(p.loads), *uses = loads + 9;
  const int32_t *starts = reinterpret_cast<const int32_t *>(p.starts);
  for (int64_t i = globalIndex(); i < p.experts; i += globalSize())
    // Experts after the last one are padding.
    if (p.offset + i < p.allExperts)
      uses[p.offset + i] += starts[i + 1] - starts[i];
  if (globalIndex() > 0)
    return;
  loads[0] += p.tokens;
  loads[1] = p.choices;
  loads[2] = p.offset;
  loads[3] = p.experts;
  loads[4] = p.allExperts;
  int64_t rows = starts[p.experts];
  loads[5] = loads[5] > rows ? loads[5] : rows;
  loads[6] = p.room;
  loads[7] = p.evenRowsBits;
}

/// Notes experts with more rows than there is room for.
static TESSERA_DEVICE void noteRoom(const RouteParams &p) {
  double *sentOverEven = reinterpret_cast<double *>(p.loads) + 8;
  const int32_t *starts = reinterpret_cast<const int32_t *>(p.starts);
  if (globalIndex() > 0)
    return;
  for (int64_t i = 0; i < p.experts; ++i) {
    int64_t rows = starts[i + 1] - starts[i];
    double ratio = double(rows) / double(p.evenOfEach);
    if (rows > p.roomOfEach && ratio > *sentOverEven)
      *sentOverEven = ratio;
  }
}

TESSERA_KERNEL(tessera_route_rows, RouteParams, 256, 4) {
  const uint32_t *sorted = reinterpret_cast<const uint32_t *>(p.sortedChoices);
  const int32_t *starts = reinterpret_cast<const int32_t *>(p.starts);
  int64_t *fault = reinterpret_cast<int64_t *>(p.fault);
  int32_t *first = reinterpret_cast<int32_t *>(p.routing),
          *choiceOf = first + p.experts + 1, *rowOf = choiceOf + p.room;
  // If not all rows fit, no choice has one.
  int64_t rows = starts[p.experts], kept = rows <= p.room ? rows : 0;
  for (int64_t i = globalIndex(); i <= p.experts; i += globalSize())
    first[i] = starts[i];
  for (int64_t i = globalIndex(); i < p.room; i += globalSize())
    choiceOf[i] = i < kept ? int32_t(sorted[i]) : -1;
  for (int64_t i = globalIndex(); i < p.count; i += globalSize())
    rowOf[sorted[i]] = i < kept ? int32_t(i) : -1;
  if (p.loads && p.roomOfEach)
    noteRoom(p);
  else if (p.loads)
    countLoads(p);
  if (rows > p.most && globalIndex() == 0 && fault[0] == 0) {
    fault[0] = rows;
    fault[1] = p.most;
    fault[2] = p.offset;
  }
}

//===----------------------------------------------------------------------===//
// Capacity
//===----------------------------------------------------------------------===//

template <typename Id>
static TESSERA_DEVICE void makeKeys(const CapacityParams &p) {
  const Id *ids = reinterpret_cast<const Id *>(p.ids);
  uint32_t *keys = reinterpret_cast<uint32_t *>(p.keys);
  uint32_t *values = reinterpret_cast<uint32_t *>(p.values);
  for (int64_t i = globalIndex(); i < p.count; i += globalSize()) {
    int64_t expert = int64_t(ids[i]);
    bool isExpert = expert >= 0 && expert < p.experts;
    keys[i] =
        uint32_t(isExpert ? i / p.perSequence * p.experts + expert : p.rows);
    values[i] = uint32_t(i);
  }
}
TESSERA_KERNEL(tessera_capacity_keys_i32, CapacityParams, 256, 4) {
  makeKeys<int32_t>(p);
}
TESSERA_KERNEL(tessera_capacity_keys_i64, CapacityParams, 256, 4) {
  makeKeys<int64_t>(p);
}

/// Returns the rank of a choice in the plain order of its sequence. Of 2 *
/// orderShards chunks, shard i stores chunks i and 2 * orderShards - 1 - i.
static TESSERA_DEVICE int64_t rankOf(const CapacityParams &p, int64_t choice) {
  int64_t inSequence = choice % p.perSequence;
  int64_t token = inSequence / p.choices, nth = inSequence % p.choices;
  if (!p.orderShards || token >= p.orderSize)
    return inSequence;
  int64_t chunk = p.orderSize / (2 * p.orderShards), stored = token / chunk;
  int64_t position =
      stored % 2 == 0 ? stored / 2 : 2 * p.orderShards - 1 - stored / 2;
  return (position * chunk + token % chunk) * p.choices + nth;
}

/// True if choice `a`, of score x, stays before choice `b`, of score y.
template <typename Score>
static TESSERA_DEVICE bool isBefore(const CapacityParams &p, int64_t a, Score x,
                                    int64_t b, Score y) {
  bool isNaN = x != x, otherIsNaN = y != y;
  if (isNaN != otherIsNaN)
    return isNaN;
  if (!isNaN && x != y)
    return x > y;
  return rankOf(p, a) < rankOf(p, b);
}

/// Drops a choice if `capacity` others of its expert and sequence stay before
/// it.
template <typename Id, typename Score>
static TESSERA_DEVICE void dropChoices(const CapacityParams &p) {
  const Id *ids = reinterpret_cast<const Id *>(p.ids);
  const Score *scores = reinterpret_cast<const Score *>(p.scores);
  Id *result = reinterpret_cast<Id *>(p.result);
  const uint32_t *keys = reinterpret_cast<const uint32_t *>(p.keys);
  const uint32_t *values = reinterpret_cast<const uint32_t *>(p.values);
  const int32_t *starts = reinterpret_cast<const int32_t *>(p.starts);
  for (int64_t i = globalIndex(); i < p.count; i += globalSize()) {
    int64_t choice = values[i], key = keys[i];
    Score score = scores[choice];
    int32_t begin = key < p.rows ? starts[key] : 0;
    int32_t end = key < p.rows ? starts[key + 1] : 0;
    int64_t before = 0;
    // Few choices all stay.
    if (end - begin > p.capacity)
      for (int32_t j = begin; j < end && before < p.capacity; ++j)
        before += isBefore(p, values[j], scores[values[j]], choice, score);
    result[choice] = before < p.capacity ? ids[choice] : Id(-1);
  }
}
TESSERA_KERNEL(tessera_capacity_drop_i32_f32, CapacityParams, 256, 2) {
  dropChoices<int32_t, float>(p);
}
TESSERA_KERNEL(tessera_capacity_drop_i32_f64, CapacityParams, 256, 2) {
  dropChoices<int32_t, double>(p);
}
TESSERA_KERNEL(tessera_capacity_drop_i64_f32, CapacityParams, 256, 2) {
  dropChoices<int64_t, float>(p);
}
TESSERA_KERNEL(tessera_capacity_drop_i64_f64, CapacityParams, 256, 2) {
  dropChoices<int64_t, double>(p);
}
