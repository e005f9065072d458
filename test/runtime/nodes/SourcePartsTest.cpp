//===- SourcePartsTest.cpp - What a node needs of an operand --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of an operand that members of a group read.
//
//===----------------------------------------------------------------------===//

#include "runtime/src/nodes/SourceParts.h"

#include <gtest/gtest.h>

using namespace tessera::rt;

namespace {
struct Posted {
  explicit Posted(OpKind kind, int members) {
    for (int i = 0; i < members; ++i)
      group.members.push_back(i);
    op.kind = kind;
    op.group = &group;
    op.header.dtype = TESSERA_RT_F32;
    op.readers = uint32_t(members - 1);
    op.isRead = true;
  }
  Group group;
  Operation op;
};
using Parts = std::vector<SourcePart>;
} // namespace

TEST(source_parts, gathers_need_all) {
  Posted posted(OpKind::AllGather, 4);
  posted.op.outer = 3;
  posted.op.inner = 5;
  posted.op.header.count = 15;
  EXPECT_EQ(findSourceParts(posted.op, {2, 3}), (Parts{{0, 60, 0, 1}}));
}

TEST(source_parts, scatters_need_the_readers_blocks) {
  Posted posted(OpKind::ReduceScatter, 4);
  posted.op.outer = 3;
  posted.op.inner = 5;
  EXPECT_EQ(findSourceParts(posted.op, {2, 3}), (Parts{{40, 40, 80, 3}}));
  EXPECT_EQ(findSourceParts(posted.op, {0, 2}),
            (Parts{{0, 20, 80, 3}, {40, 20, 80, 3}}));
}

TEST(source_parts, all_to_all_needs_the_blocks_of_the_split_dim) {
  Posted posted(OpKind::AllToAll, 2);
  posted.op.shape = {3, 4, 5};
  posted.op.splitDim = 1;
  EXPECT_EQ(findSourceParts(posted.op, {1}), (Parts{{40, 40, 80, 3}}));
}

TEST(source_parts, large_sums_need_the_readers_chunks) {
  Posted posted(OpKind::AllReduce, 4);
  posted.op.inner = posted.op.header.count = 6000;
  // Chunks of 1504 elements.
  EXPECT_EQ(findSourceParts(posted.op, {2, 3}),
            (Parts{{2 * 1504 * 4, (6000 - 2 * 1504) * 4, 0, 1}}));
  EXPECT_EQ(findSourceParts(posted.op, {0, 3}),
            (Parts{{0, 1504 * 4, 0, 1},
                   {3 * 1504 * 4, (6000 - 3 * 1504) * 4, 0, 1}}));
  posted.op.inner = posted.op.header.count = 10;
  EXPECT_EQ(findSourceParts(posted.op, {2}), (Parts{{0, 40, 0, 1}}));
}

TEST(source_parts, readers_are_those_of_the_kind) {
  Posted gather(OpKind::AllGather, 3);
  EXPECT_FALSE(isReader(gather.op, 0));
  EXPECT_TRUE(isReader(gather.op, 2));
  Posted permute(OpKind::Permute, 3);
  permute.op.targets = {2};
  EXPECT_FALSE(isReader(permute.op, 1));
  EXPECT_TRUE(isReader(permute.op, 2));
  Posted send(OpKind::Send, 3);
  send.op.peer = 1;
  EXPECT_TRUE(isReader(send.op, 1));
  EXPECT_FALSE(isReader(send.op, 2));
  // A receiver, and a member of a broadcast that is not its root, are not read.
  send.op.isRead = false;
  EXPECT_FALSE(isReader(send.op, 1));
}
