//===- SharingTest.cpp - Memory that ranks share before the steps ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/ranks/Sharing.h"
#include "Ranks.h"

#include <gtest/gtest.h>

using namespace tessera::rt;

/// Announces a text of 128 bytes of this rank to some ranks.
static Status announceText(tessera_rt_context *ctx, uint64_t name,
                           const std::vector<int> &ranks) {
  std::string text(128, char('a' + ctx->rank));
  return announce(ctx, name, text.data(), text.size(), ranks);
}

TEST(sharing, announcements_reach_the_ranks_that_they_are_for) {
  auto body = [](tessera_rt_context *ctx) -> std::string {
    // Ranks 0 and 3 announce to each other under the same name, ranks 1 and 2
    // to all.
    bool isOuter = ctx->rank % 3 == 0;
    if (announceText(ctx, isOuter ? 7 : 8,
                     isOuter ? std::vector<int>{0, 3}
                             : std::vector<int>{0, 1, 2, 3}) ||
        awaitShared(ctx))
      return "not announced";
    for (int owner = 0; owner < 4; ++owner) {
      bool isFromOuter = owner % 3 == 0;
      if (isFromOuter && !isOuter)
        continue;
      std::string text(128, ' ');
      if (!findAnnouncement(ctx, owner, isFromOuter ? 7 : 8, text.data(),
                            text.size()) ||
          text != std::string(128, char('a' + owner)))
        return format("%d does not hear rank %d", ctx->rank, owner);
      if (findAnnouncement(ctx, owner, 9, text.data(), text.size()))
        return "a name that nobody has announced";
    }
    return "";
  };
  EXPECT_EQ(runRanks({4}, body), 0);
}

TEST(sharing, too_many_announcements_are_refused) {
  auto body = [](tessera_rt_context *ctx) -> std::string {
    for (uint64_t i = 0; i < maxGroups; ++i)
      if (announceText(ctx, 1 + i, {0}))
        return "refused too early";
    return announceText(ctx, 1000, {0}) ? "" : "not refused";
  };
  EXPECT_NE(runRanks({4}, body), 0);
}

TEST(sharing, all_ranks_get_the_text_of_the_first) {
  auto body = [](tessera_rt_context *ctx) -> std::string {
    // An arena has two megabytes here.
    for (size_t size : {size_t(0), size_t(1), size_t(5) << 20}) {
      std::string expected(size, 0);
      for (size_t i = 0; i < size; ++i)
        expected[i] = char(i * 2654435761u >> 13);
      std::string text = ctx->rank == 0 ? expected : "of another rank";
      if (shareText(ctx, text) || text != expected)
        return format("a text of %zu bytes", size);
    }
    return "";
  };
  EXPECT_EQ(runRanks({4}, body), 0);
}
