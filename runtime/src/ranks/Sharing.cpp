//===- Sharing.cpp - Memory that ranks share before the steps -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Sharing.h.
//
//===----------------------------------------------------------------------===//

#include "Sharing.h"

#include "Context.h"
#include "nodes/Mirror.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace tessera::rt;

Status tessera::rt::shareMemory(tessera_rt_context *ctx, const void *at,
                                int64_t bytes) {
  if (!ctx->mirror || bytes == 0)
    return TESSERA_RT_OK;
  for (int node = 0; node < ctx->memory.place.nodes; ++node)
    if (Status status = ctx->mirror->put(node, at, bytes))
      return status;
  return TESSERA_RT_OK;
}

Status tessera::rt::announce(tessera_rt_context *ctx, uint64_t name,
                             const void *data, size_t bytes,
                             const std::vector<int> &ranks) {
  RankBlock &block = ctx->block();
  Announcement *end = block.announcements + maxGroups;
  Announcement *free =
      std::find_if(block.announcements, end,
                   [](const Announcement &one) { return one.name == 0; });
  if (free == end || bytes > sizeof(free->data))
    return fail(ctx, TESSERA_RT_INVALID,
                format("expects at most %d announcements of %zu bytes, but got "
                       "more",
                       maxGroups, sizeof(free->data)));
  memcpy(free->data, data, bytes);
  free->name = name;
  if (!ctx->mirror)
    return TESSERA_RT_OK;
  std::set<int> nodes;
  for (int rank : ranks)
    nodes.insert(ctx->memory.place.nodeOf(rank));
  for (int node : nodes)
    if (Status status = ctx->mirror->put(node, free, sizeof(*free)))
      return status;
  return TESSERA_RT_OK;
}

Status tessera::rt::awaitShared(tessera_rt_context *ctx) {
  if (ctx->mirror)
    if (Status status = ctx->mirror->flush())
      return status;
  return barrier(ctx, BarrierAgreed);
}

bool tessera::rt::findAnnouncement(const tessera_rt_context *ctx, int owner,
                                   uint64_t name, void *data, size_t bytes) {
  for (const Announcement &one : ctx->memory.blocks[owner].announcements) {
    if (one.name != name)
      continue;
    memcpy(data, one.data, std::min(bytes, sizeof(one.data)));
    return true;
  }
  return false;
}

Status tessera::rt::shareText(tessera_rt_context *ctx, std::string &text) {
  // The arena of rank 0 holds one part of the text after another, each after
  // the number of the bytes that remain.
  uint8_t *arena = ctx->memory.arena(0);
  const int64_t room = ctx->memory.arenaStride - int64_t(sizeof(int64_t));
  uint8_t *content = arena + sizeof(int64_t);
  std::string whole;
  for (int64_t rest = -1; rest != 0;) {
    int64_t begin = int64_t(whole.size());
    if (ctx->rank == 0) {
      rest = int64_t(text.size()) - begin;
      int64_t bytes = std::min(rest, room);
      memcpy(arena, &rest, sizeof(rest));
      memcpy(content, text.data() + begin, size_t(bytes));
      if (Status status =
              shareMemory(ctx, arena, int64_t(sizeof(rest)) + bytes))
        return status;
    }
    if (Status status = awaitShared(ctx))
      return status;
    memcpy(&rest, arena, sizeof(rest));
    int64_t bytes = std::min(rest, room);
    whole.append(reinterpret_cast<const char *>(content), size_t(bytes));
    rest -= bytes;
    // Rank 0 overwrites the part when all have read it.
    if (Status status = barrier(ctx, BarrierAgreed))
      return status;
  }
  text = std::move(whole);
  return TESSERA_RT_OK;
}
