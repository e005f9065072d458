//===- ReplicasTest.cpp - Parameters that several ranks share -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests which pages share one memory, which ranks fill them, and that every
// rank finds the same numbers in its blocks as without replicas.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include "runtime/src/data/Arguments.h"
#include "runtime/src/data/Replicas.h"
#include "runtime/src/data/ShardRuns.h"
#include "runtime/src/ranks/Context.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace tessera::rt;

namespace {

constexpr int64_t page = 4096;

/// Members of an f32 argument that, if `isSharded`, is sharded over tp=2 along
/// its first dimension.
std::string argument(const std::string &name, int64_t offset, int64_t rows,
                     int64_t padded, bool isSharded,
                     const std::string &more = "") {
  int64_t local = isSharded ? padded / 2 : padded;
  return format("{\"name\":\"%s\",\"role\":\"param\",\"dtype\":\"f32\","
                "\"shape\":[%lld,64],\"padded_shape\":[%lld,64],"
                "\"local_shape\":[%lld,64],\"sharding\":[[%s],[]],"
                "\"offset\":%lld,\"bytes\":%lld,"
                "\"init\":{\"kind\":\"uniform\",\"low\":1,\"high\":2}%s}",
                name.c_str(), (long long)rows, (long long)padded,
                (long long)local, isSharded ? "{\"stride\":1,\"size\":2}" : "",
                (long long)offset, (long long)(local * 256), more.c_str());
}

Manifest manifestOf(const std::string &arguments,
                    const std::string &results = "") {
  Manifest manifest;
  std::string error;
  std::string text = "{\"version\":" + std::to_string(TESSERA_RT_ABI_VERSION) +
                     ",\"ranks\":4,\"arena_bytes\":200000,\"mesh\":["
                     "{\"name\":\"dp\",\"size\":2},{\"name\":\"tp\",\"size\":2}"
                     "],\"arguments\":[" +
                     arguments + "],\"results\":[" + results + "]}";
  EXPECT_TRUE(parseManifest(text.c_str(), manifest, error)) << error;
  return manifest;
}

/// Describes each as "ranks: begin-end", in pages.
std::string describe(const std::vector<ReplicatedPages> &replicas) {
  std::string text;
  for (const ReplicatedPages &pages : replicas) {
    for (int rank : pages.ranks)
      text += std::to_string(rank) + " ";
    text += format("%g-%g\n", double(pages.range.begin) / page,
                   double(pages.range.end) / page);
  }
  return text;
}

std::string describe(const std::string &arguments,
                     const std::string &results = "") {
  return describe(findReplicatedPages(manifestOf(arguments, results), page));
}

/// Parameters of all kinds, which fill pages partly.
std::string manyArguments() {
  std::string zeros = argument("zeros", 60032, 40, 40, false);
  zeros.replace(zeros.find("uniform"), 7, "zeros");
  return argument("a", 192, 70, 70, true) + "," +
         argument("b", 192 + 35 * 256, 77, 78, true) + "," +
         argument("c", 192 + 74 * 256, 33, 33, false) + "," +
         argument("d", 192 + 107 * 256, 101, 104, false) + "," + zeros + "," +
         argument("changed", 80000, 64, 64, true, ",\"donate\":0");
}

const char *const changed =
    "{\"name\":\"changed\",\"dtype\":\"f32\",\"shape\":[64,64],"
    "\"padded_shape\":[64,64],\"local_shape\":[32,64],"
    "\"sharding\":[[{\"stride\":1,\"size\":2}],[]],\"offset\":80000,"
    "\"bytes\":8192}";

/// The numbers that a rank fills without replicas.
std::vector<float> fillAlone(const Value &value) {
  Manifest manifest;
  manifest.ranks = 1;
  manifest.mesh = {{"x", 1}};
  Value whole = value;
  whole.paddedShape = whole.localShape = whole.shape;
  whole.sharding.assign(whole.shape.size(), {});
  whole.offsets = {0};
  whole.bytes = whole.elements() * 4;
  whole.stageAxis = manifest.stageAxis;
  manifest.arguments = {whole};
  SingleRank rank(1, whole.bytes);
  EXPECT_EQ(fillArguments(rank, manifest, Options(), RunData()), TESSERA_RT_OK);
  auto *values = reinterpret_cast<const float *>(rank.arena());
  return {values, values + whole.elements()};
}

/// Compares a rank's blocks with its numbers without replicas.
std::string compareBlocks(tessera_rt_context *ctx, const Manifest &manifest) {
  for (const Value &value : manifest.arguments) {
    std::vector<float> whole = fillAlone(value);
    std::vector<float> expected(size_t(value.localElements()), 0);
    ShardRuns runs(value, ctx->rank);
    for (int64_t i = 0; i < runs.size(); ++i) {
      ShardRuns::Run run = runs[i];
      std::copy_n(whole.begin() + run.global, run.length,
                  expected.begin() + run.local);
    }
    if (memcmp(ctx->arena() + value.offsetOn(ctx->rank), expected.data(),
               size_t(value.bytes)) != 0)
      return "'" + value.name + "' has other numbers";
  }
  return std::string();
}

} // namespace

TEST(replicas, pages_of_parameters_that_stay) {
  // Shards differ over tp; only whole pages of a block count.
  EXPECT_EQ(describe(argument("a", 0, 64, 64, true)), "0 2 0-2\n1 3 0-2\n");
  EXPECT_EQ(describe(argument("a", 0, 64, 64, false)), "0 1 2 3 0-4\n");
  EXPECT_EQ(describe(argument("a", 64, 64, 64, false)), "0 1 2 3 1-4\n");
  EXPECT_EQ(describe(argument("a", 64, 31, 31, false)), "");
  // A step changes the parameter, or writes a result there.
  EXPECT_EQ(
      describe(argument("a", 80000, 64, 64, true, ",\"donate\":0"), changed),
      "");
  EXPECT_EQ(describe(argument("a", 80000 - 16128, 64, 64, false), changed), "");
  EXPECT_EQ(describe(argument("a", 80000 - 16384, 64, 64, false), changed),
            "0 1 2 3 16-19\n");
  // Data and state are not parameters.
  std::string state = argument("a", 0, 64, 64, true);
  state.replace(state.find("param"), 5, "state");
  EXPECT_EQ(describe(state), "");
  EXPECT_TRUE(findReplicatedPages(manifestOf(argument("a", 0, 64, 64, true)), 0)
                  .empty());
}

TEST(replicas, neighbours_are_one_range) {
  // Two neighboring blocks share a page; memory between others is not shared.
  EXPECT_EQ(describe(argument("a", 0, 20, 20, false) + "," +
                     argument("b", 20 * 256, 20, 20, false)),
            "0 1 2 3 0-2\n");
  EXPECT_EQ(describe(argument("a", 0, 20, 20, false) + "," +
                     argument("b", 20 * 256 + 64, 20, 20, false)),
            "0 1 2 3 0-1\n");
  // The blocks belong to other ranks.
  EXPECT_EQ(describe(argument("a", 0, 24, 24, true) + "," +
                     argument("b", 12 * 256, 20, 20, false)),
            "0 1 2 3 1-2\n");
}

/// On a pipeline's ranks the offsets differ, and some have no block.
TEST(replicas, pipelines) {
  Manifest manifest = manifestOf(argument("a", 0, 64, 64, false));
  manifest.stageAxis = {1, 2};
  Value &value = manifest.arguments.front();
  value.stageAxis = manifest.stageAxis;
  value.offsets = {-1, 8192};
  EXPECT_EQ(describe(findReplicatedPages(manifest, page)), "1 3 2-6\n");
  value.offsets = {0, 8192};
  EXPECT_EQ(describe(findReplicatedPages(manifest, page)),
            "0 2 0-4\n1 3 2-6\n");
}

TEST(replicas, machines) {
  EXPECT_EQ(findReplicaPageBytes("0\n", "always advise [never]"), page);
  EXPECT_EQ(findReplicaPageBytes("", ""), page);
  EXPECT_EQ(findReplicaPageBytes("0\n", "always [advise] never"), 2 << 20);
  EXPECT_EQ(findReplicaPageBytes("0-1\n", "always advise [never]"), 0);
  EXPECT_EQ(findReplicaPageBytes("0,2\n", "always [advise] never"), 0);
}

/// Every byte of every rank's blocks is filled once.
TEST(replicas, each_byte_is_filled_once) {
  std::mt19937 generator(1);
  for (int trial = 0; trial < 200; ++trial) {
    SharedMemory memory;
    int ranks = 2 + int(generator() % 5);
    int64_t end = 40 * page, at = 0;
    while (at < end) {
      ReplicatedPages pages;
      pages.range.begin = at + int64_t(generator() % 4) * page;
      pages.range.end = pages.range.begin + int64_t(1 + generator() % 9) * page;
      for (int rank = 0; rank < ranks; ++rank)
        if (generator() % 2)
          pages.ranks.push_back(rank);
      at = pages.range.end;
      if (pages.ranks.size() > 1)
        memory.replicas.push_back(pages);
    }
    // Counts by the rank whose arena has the byte's memory.
    std::map<std::pair<int, int64_t>, int> filled;
    auto ownerOf = [&](int rank, int64_t byte) {
      for (const ReplicatedPages &pages : memory.replicas)
        if (byte >= pages.range.begin && byte < pages.range.end &&
            std::count(pages.ranks.begin(), pages.ranks.end(), rank))
          return pages.ranks.front();
      return rank;
    };
    constexpr int64_t step = 64;
    std::vector<ByteRange> blocks;
    for (int64_t begin = step; begin < at;) {
      int64_t bytes = step * int64_t(1 + generator() % 300);
      blocks.push_back({begin, begin + bytes});
      begin += bytes + step * int64_t(generator() % 2);
    }
    for (int rank = 0; rank < ranks; ++rank)
      for (const ByteRange &block : blocks)
        for (const ByteRange &range : memory.rangesToFill(rank, block)) {
          EXPECT_TRUE(range.begin >= block.begin && range.end <= block.end);
          for (int64_t byte = range.begin; byte < range.end; byte += step)
            ++filled[{ownerOf(rank, byte), byte}];
        }
    for (int rank = 0; rank < ranks; ++rank)
      for (const ByteRange &block : blocks)
        for (int64_t byte = block.begin; byte < block.end; byte += step)
          ASSERT_EQ((filled[{ownerOf(rank, byte), byte}]), 1)
              << "rank " << rank << " byte " << byte;
  }
}

/// Replicas see the bytes that one rank writes, and no other rank does.
TEST(replicas, are_one_memory) {
  Manifest manifest = manifestOf(argument("a", 64, 70, 70, true));
  SharedMemory memory;
  int fd = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, SharedMemory::bytesFor(4, manifest.arenaBytes)), 0);
  ASSERT_TRUE(memory.map(fd, onOneNode(4), manifest.arenaBytes));
  ASSERT_TRUE(memory.shareReplicas(fd, findReplicatedPages(manifest, page)));
  close(fd);
  for (int rank = 0; rank < 4; ++rank)
    for (int64_t byte : {int64_t(100), page - 1, page, 2 * page + 10})
      memory.arena(rank)[byte] = uint8_t(rank + 1);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(memory.arena(rank)[100], rank + 1);
    EXPECT_EQ(memory.arena(rank)[page - 1], rank + 1);
    EXPECT_EQ(memory.arena(rank)[page], rank % 2 + 3);
    EXPECT_EQ(memory.arena(rank)[2 * page + 10], rank + 1);
  }
  memory.unmap();
}

/// Blocks have the numbers that they have without replicas, padding included.
TEST(replicas, blocks_are_filled) {
  Manifest manifest = manifestOf(manyArguments(), changed);
  EXPECT_EQ(describe(findReplicatedPages(manifest, page)),
            "0 2 1-4\n1 3 1-4\n0 1 2 3 5-13\n0 1 2 3 15-17\n");
  Options options;
  options.threads = 2;
  options.quiet = true;
  auto body = [](tessera_rt_context *ctx, const Manifest &manifest,
                 const Options &options) {
    if (fillArguments(ctx, manifest, options, RunData()) ||
        barrier(ctx, BarrierReady))
      return 1;
    std::string error = compareBlocks(ctx, manifest);
    if (!error.empty())
      fail(ctx, TESSERA_RT_INVALID, error);
    return barrier(ctx, BarrierEnd) ? 1 : 0;
  };
  EXPECT_EQ(launchRanks(manifest, options, body, onOneNode(manifest.ranks)), 0);
}
