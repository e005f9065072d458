//===- EmbeddingBackward.cpp - Gradient of a table of rows ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Positions are sorted by row. One thread sums each row of the table, in
// ascending order of positions, and writes it once.
//
//===----------------------------------------------------------------------===//

#include "HostTarget.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;

namespace {
/// A position whose id is a row of the table; ordered by row, then by position.
struct Hit {
  int64_t row, position;
  bool operator<(const Hit &other) const {
    return row != other.row ? row < other.row : position < other.position;
  }
};

template <typename Id>
std::vector<Hit> sortPositions(const tessera_rt_embedding_desc &d,
                               const Id *ids, int64_t offset) {
  std::vector<Hit> entries;
  int64_t end = d.limit ? std::min(d.rows, d.limit - offset) : d.rows;
  for (int64_t position = 0; position < d.positions; ++position) {
    int64_t row = int64_t(ids[position]) - offset;
    if (row >= 0 && row < end)
      entries.push_back({row, position});
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

float widen(float x) { return x; }
double widen(double x) { return x; }
float widen(uint16_t x) { return bf16ToFloat(x); }
void narrow(float x, float &out) { out = x; }
void narrow(double x, double &out) { out = x; }
void narrow(float x, uint16_t &out) { out = floatToBf16(x); }

/// Sums the entries that have the same row as `entry`, or takes the last of
/// them, and writes that row.
template <typename In, typename Out, typename Wide>
const Hit *addRow(const tessera_rt_embedding_desc &d, const In *grad,
                  const Hit *entry, const Hit *end, Wide *sum, Out *result) {
  int64_t row = entry->row;
  if (d.mode == TESSERA_RT_ROWS_SET)
    while (entry + 1 != end && entry[1].row == row)
      ++entry;
  for (bool first = true; entry != end && entry->row == row;
       ++entry, first = false) {
    const In *from = grad + entry->position * d.width;
    for (int64_t x = 0; x < d.width; ++x)
      sum[x] = first ? widen(from[x]) : sum[x] + widen(from[x]);
  }
  Out *to = result + row * d.width;
  for (int64_t x = 0; x < d.width; ++x)
    narrow(d.mode == TESSERA_RT_ROWS_ADD ? widen(to[x]) + sum[x] : sum[x],
           to[x]);
  return entry;
}

template <typename In, typename Out, typename Wide>
void addAll(tessera_rt_context *ctx, const tessera_rt_embedding_desc &d,
            const void *grad, const std::vector<Hit> &entries, void *result) {
  size_t bytes = size_t(d.width) * sizeof(Wide);
  for (ScratchBuffer &buffer : ctx->scratch.perThread)
    buffer.get(bytes);
  int64_t chunks = std::min<int64_t>(d.rows, ctx->pool->size() * 8);
  ctx->pool->forEach(chunks, [&](int64_t chunk, int thread) {
    auto *sum =
        static_cast<Wide *>(ctx->scratch.perThread[size_t(thread)].get(bytes));
    int64_t begin = d.rows * chunk / chunks;
    int64_t end = d.rows * (chunk + 1) / chunks;
    Out *table = static_cast<Out *>(result);
    if (d.mode == TESSERA_RT_ROWS_SUM)
      memset(static_cast<void *>(table + begin * d.width), 0,
             size_t((end - begin) * d.width) * sizeof(Out));
    const Hit *last = entries.data() + entries.size();
    const Hit *entry = std::lower_bound(entries.data(), last, Hit{begin, 0});
    while (entry != last && entry->row < end)
      entry = addRow<In, Out, Wide>(d, static_cast<const In *>(grad), entry,
                                    last, sum, table);
  });
}
} // namespace

void tessera::rt::host::embeddingBackward(tessera_rt_context *ctx,
                                          const tessera_rt_embedding_desc &d,
                                          const void *grad, const void *ids,
                                          void *result, int64_t offset) {
  std::vector<Hit> entries =
      d.id_dtype == TESSERA_RT_I32
          ? sortPositions(d, static_cast<const int32_t *>(ids), offset)
          : sortPositions(d, static_cast<const int64_t *>(ids), offset);
  if (d.dtype == TESSERA_RT_F64)
    addAll<double, double, double>(ctx, d, grad, entries, result);
  else if (d.dtype == TESSERA_RT_F32)
    addAll<float, float, float>(ctx, d, grad, entries, result);
  else if (d.result_dtype == TESSERA_RT_F32)
    addAll<uint16_t, float, float>(ctx, d, grad, entries, result);
  else
    addAll<uint16_t, uint16_t, float>(ctx, d, grad, entries, result);
}

extern "C" int32_t tessera_rt_embedding_backward(
    tessera_rt_context *ctx, const tessera_rt_embedding_desc *desc,
    const void *grad, const void *ids, void *result, int64_t offset) {
  const tessera_rt_embedding_desc &d = *desc;
  bool known = d.dtype == TESSERA_RT_F32 || d.dtype == TESSERA_RT_BF16 ||
               d.dtype == TESSERA_RT_F64;
  bool fits = d.result_dtype == d.dtype ||
              (d.dtype == TESSERA_RT_BF16 && d.result_dtype == TESSERA_RT_F32);
  bool isMode = d.mode >= TESSERA_RT_ROWS_SUM && d.mode <= TESSERA_RT_ROWS_SET;
  if (!known || !fits || !isMode ||
      std::min({d.positions, d.rows, d.width}) < 0 ||
      (d.id_dtype != TESSERA_RT_I32 && d.id_dtype != TESSERA_RT_I64))
    return fail(
        ctx, TESSERA_RT_INVALID,
        format("embedding backward expects f32, bf16 or f64 by ids of i32 or "
               "i64 and no negative size, but got %s to %s by %s",
               dtypeName(int32_t(d.dtype)), dtypeName(int32_t(d.result_dtype)),
               dtypeName(int32_t(d.id_dtype))));
  return ctx->target->embeddingBackward(d, grad, ids, result, offset);
}
