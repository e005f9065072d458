//===- LaunchRoute.cpp - Launches of routings -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launches of Route.cu, after a sort of the choices.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "Params.h"
#include "RowSort.h"

#include "support/Support.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace tessera::rt;
using namespace tessera::rt::cuda;
using namespace tessera::rt::cuda::device;

// The kernel writes both as 64-bit integers, in this order.
static_assert(offsetof(LayerLoads, choices) == 8 &&
                  offsetof(LayerLoads, offset) == 16 &&
                  offsetof(LayerLoads, held) == 24 &&
                  offsetof(LayerLoads, experts) == 32 &&
                  offsetof(LayerLoads, mostRows) == 40 &&
                  offsetof(LayerLoads, room) == 48 &&
                  offsetof(LayerLoads, evenRows) == 56 &&
                  offsetof(LayerLoads, sentOverEven) == 64 &&
                  sizeof(LayerLoads) == 72,
              "tokens, choices, offset, held, experts, mostRows, room, "
              "evenRows, sentOverEven");
static_assert(offsetof(RoutingFault, most) == 8 &&
                  offsetof(RoutingFault, offset) == 16,
              "rows, most, offset");

static int64_t addressOf(const void *memory) {
  return int64_t(reinterpret_cast<uintptr_t>(memory));
}

int64_t tessera::rt::cuda::routeWorkspace(const tessera_rt_route_desc &d) {
  return RowSort(d.tokens * d.choices, d.experts, nullptr).bytes;
}

std::string
tessera::rt::cuda::launchRoute(BuiltinKernels &kernels, Stream stream,
                               const tessera_rt_route_desc &d, const void *ids,
                               int64_t offset, int32_t *routing,
                               const RoutingCounts &counts, void *workspace) {
  RowSort sort(d.tokens * d.choices, d.experts, workspace);
  std::string error = sort.makeKeys(kernels, stream, int32_t(d.id_dtype), ids,
                                    offset, d.experts);
  if (error.empty())
    error = sort.run(kernels, stream);
  RouteParams params{sort.sortedValues(),
                     sort.starts,
                     addressOf(routing),
                     sort.positions,
                     d.experts,
                     d.room,
                     mostRows(d),
                     addressOf(counts.loads),
                     addressOf(counts.fault),
                     d.tokens,
                     d.choices,
                     offset,
                     d.all_experts,
                     /*evenRowsBits=*/0,
                     d.room_of_each,
                     d.even_of_each};
  double even = evenRows(d);
  memcpy(&params.evenRowsBits, &even, sizeof(even));
  int64_t work = std::max({sort.positions, d.room, d.experts + 1});
  if (error.empty())
    error = kernels.launch(stream, "tessera_route_rows",
                           {kernels.gridFor(work, 256), 256, 0}, params);
  return error;
}

static RowSort sortOf(const tessera_rt_capacity_desc &d, void *workspace) {
  return RowSort(d.sequences * d.tokens * d.choices, d.sequences * d.experts,
                 workspace);
}

int64_t
tessera::rt::cuda::capacityWorkspace(const tessera_rt_capacity_desc &d) {
  return sortOf(d, nullptr).bytes;
}

std::string tessera::rt::cuda::launchExpertCapacity(
    BuiltinKernels &kernels, Stream stream, const tessera_rt_capacity_desc &d,
    const void *ids, const void *scores, void *result, void *workspace) {
  RowSort sort = sortOf(d, workspace);
  if (std::max(sort.positions, sort.rows) >= (int64_t(1) << 31) - 1)
    return format("a capacity of experts on a device expects less than 2^31 "
                  "choices, and experts of all sequences, but got %lld and "
                  "%lld",
                  (long long)sort.positions, (long long)sort.rows);
  if (sort.positions == 0)
    return "";
  CapacityParams params{addressOf(ids),    addressOf(scores),
                        addressOf(result), sort.keys(),
                        sort.values(),     sort.starts,
                        sort.positions,    d.tokens * d.choices,
                        sort.rows,         d.choices,
                        d.experts,         d.capacity,
                        d.order_shards,    d.order_size};
  LaunchShape shape{kernels.gridFor(sort.positions, 256), 256, 0};
  bool isWide = d.id_dtype == TESSERA_RT_I64;
  std::string error = kernels.launch(stream,
                                     isWide ? "tessera_capacity_keys_i64"
                                            : "tessera_capacity_keys_i32",
                                     shape, params);
  if (error.empty())
    error = sort.run(kernels, stream);
  params.keys = sort.sortedKeys();
  params.values = sort.sortedValues();
  static const char *const names[2][2] = {
      {"tessera_capacity_drop_i32_f32", "tessera_capacity_drop_i32_f64"},
      {"tessera_capacity_drop_i64_f32", "tessera_capacity_drop_i64_f64"}};
  if (error.empty())
    error = kernels.launch(stream, names[isWide][d.dtype == TESSERA_RT_F64],
                           shape, params);
  return error;
}
