//===- CollectiveTimeTest.cpp - Seconds of a collective -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cluster/RootedCollectives.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

const CollectiveKind kAllKinds[] = {
    CollectiveKind::AllReduce,     CollectiveKind::AllGather,
    CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
    CollectiveKind::Permute,       CollectiveKind::Broadcast};

LinkSpan nearLink(int64_t size) { return {size, 1e-6, 300e9, 0}; }
LinkSpan farLink(int64_t size) { return {size, 5e-6, 25e9, 1}; }

/// Bytes over bandwidth, without latencies.
double bandwidthSeconds(CollectiveKind kind, double bytes, LinkSpans spans) {
  for (LinkSpan &span : spans)
    span.latency = 0;
  return getTensorCollectiveTime(kind, bytes, spans,
                                 CollectiveConstants::simple(0));
}

TEST(CollectiveTime, ring_all_reduce_meets_the_lower_bound) {
  // 8 ranks each send 2 * 7/8 of the data: 7 GB for 4 GB, 24.5 GB for 14 GB.
  LinkSpans eight = {{8, 0, 1e9, 0}};
  EXPECT_NEAR(bandwidthSeconds(CollectiveKind::AllReduce, 4e9, eight), 7.0,
              1e-9);
  EXPECT_NEAR(bandwidthSeconds(CollectiveKind::AllReduce, 14e9, eight), 24.5,
              1e-9);
  EXPECT_NEAR(bandwidthSeconds(CollectiveKind::AllGather, 4e9, eight), 3.5,
              1e-9);
  EXPECT_NEAR(bandwidthSeconds(CollectiveKind::ReduceScatter, 4e9, eight), 3.5,
              1e-9);
  // 32 MiB over 8 devices at 300 GB/s: the all-reduce of a 4096 x 4096 bf16
  // activation.
  EXPECT_NEAR(
      bandwidthSeconds(CollectiveKind::AllReduce, 32 << 20, {{8, 0, 300e9, 0}}),
      0.196e-3, 0.001e-3);
}

TEST(CollectiveTime, outer_links_work_in_parallel_rings) {
  // 8 devices per node use 8 outer links of 25 GB/s; a single one uses one.
  double alone = bandwidthSeconds(CollectiveKind::AllGather, 1e9, {farLink(4)});
  double eight = bandwidthSeconds(CollectiveKind::AllGather, 1e9,
                                  {nearLink(8), farLink(4)});
  EXPECT_NEAR(alone, 0.75e9 / 25e9, 1e-9);
  EXPECT_NEAR(eight, 31.0 / 32 * 1e9 / 200e9, 1e-9);
}

/// Two of a node's eight devices, all of them, or one of them leave the node.
TEST(CollectiveTime, without_pxn_some_devices_reach_a_quarter_of_their_cards) {
  auto outer = [](CollectiveKind kind, int64_t near) {
    LinkSpans spans = getSpansWithoutPXN(kind, {nearLink(near), farLink(4)}, 8);
    EXPECT_EQ(spans.front().bandwidth, nearLink(near).bandwidth);
    return spans.back().bandwidth / farLink(4).bandwidth;
  };
  for (CollectiveKind kind : kAllKinds) {
    bool isRing =
        kind != CollectiveKind::AllToAll && kind != CollectiveKind::Permute;
    EXPECT_EQ(outer(kind, 2), isRing ? 0.25 : 1);
    EXPECT_EQ(outer(kind, 8), 1);
    EXPECT_EQ(outer(kind, 1), 1);
  }
}

TEST(CollectiveTime, latency_grows_with_the_ring_and_less_with_a_tree) {
  auto tiny = [](CollectiveKind kind, int64_t nodes) {
    return getTensorCollectiveTime(kind, 8, {nearLink(8), farLink(nodes)});
  };
  // A ring turns once around all devices, a tree goes up and down.
  EXPECT_GT(tiny(CollectiveKind::AllGather, 64),
            7 * tiny(CollectiveKind::AllGather, 8));
  EXPECT_LT(tiny(CollectiveKind::AllReduce, 64),
            2 * tiny(CollectiveKind::AllReduce, 8));
}

TEST(CollectiveTime, monotone_in_bytes_and_free_alone) {
  for (CollectiveKind kind : kAllKinds) {
    EXPECT_EQ(getTensorCollectiveTime(kind, 1e9, {}), 0)
        << stringifyCollective(kind).str();
    for (LinkSpans spans : {LinkSpans{nearLink(8)}, LinkSpans{farLink(4)},
                            LinkSpans{nearLink(8), farLink(16)}}) {
      double last = 0;
      for (double bytes = 1; bytes < 1e11; bytes *= 1.7) {
        double seconds = getTensorCollectiveTime(kind, bytes, spans);
        EXPECT_GE(seconds, last)
            << stringifyCollective(kind).str() << " " << bytes;
        last = seconds;
      }
    }
  }
}

TEST(CollectiveTime, all_to_all_is_bound_by_the_outer_links) {
  // 16 devices on 2 nodes send 8/16 of the data over 25 GB/s.
  EXPECT_NEAR(bandwidthSeconds(CollectiveKind::AllToAll, 1e9,
                               {nearLink(8), farLink(2)}),
              0.5e9 / 25e9, 1e-9);
  EXPECT_NEAR(
      bandwidthSeconds(CollectiveKind::Permute, 1e9, {nearLink(8), farLink(2)}),
      1e9 / 25e9, 1e-9);
}

TEST(CollectiveTime, tokens_go_once_to_each_group) {
  CollectiveConstants library = CollectiveConstants::simple(0);
  auto seconds = [&](double copies, LinkSpans spans) {
    for (LinkSpan &span : spans)
      span.latency = 0;
    return getDispatchTime(1e9, copies, spans, library);
  };
  EXPECT_EQ(seconds(8, {}), 0);
  // One copy: 7 of 8 copies go to another device, half of them to another node.
  EXPECT_NEAR(seconds(1, {nearLink(8)}), 1e9 * 7 / 8 / nearLink(8).bandwidth,
              1e-9);
  EXPECT_NEAR(seconds(1, {nearLink(8), farLink(2)}), 0.5e9 / 25e9, 1e-9);
  // Eight copies reach 8 (1 - (7/8)^8) = 5.25 of 8 devices, and 1.99 of two
  // nodes, including their own.
  EXPECT_NEAR(seconds(8, {nearLink(8)}),
              5.2511 * 1e9 * 7 / 8 / nearLink(8).bandwidth, 1e-6);
  EXPECT_NEAR(seconds(8, {nearLink(8), farLink(2)}),
              1e9 * (2 - 2.0 / 256) / 2 / 25e9, 1e-9);
  // Very many copies reach all devices.
  EXPECT_NEAR(seconds(1e6, {farLink(4)}), 3e9 / 25e9, 1e-9);
}

/// Bytes over bandwidth of a collective with a root, without latencies.
double rootedSeconds(RootedCollective kind, double bytes, LinkSpans spans) {
  for (LinkSpan &span : spans)
    span.latency = 0;
  return getRootedCollectiveTime(kind, bytes, spans,
                                 CollectiveConstants::simple(0));
}

TEST(RootedCollectives, the_root_moves_a_block_for_each_other_rank) {
  LinkSpans eight = {{8, 0, 1e9, 0}};
  for (auto kind : {RootedCollective::Scatter, RootedCollective::Gather}) {
    EXPECT_NEAR(rootedSeconds(kind, 4e9, eight), 3.5, 1e-9);
    // 24 of 32 blocks go to other nodes over the root's own link.
    EXPECT_NEAR(rootedSeconds(kind, 1e9, {nearLink(8), farLink(4)}),
                24.0 / 32 * 1e9 / 25e9, 1e-9);
  }
  EXPECT_EQ(getRootedShares(RootedCollective::Scatter, 8).sent, 7.0 / 8);
  EXPECT_EQ(getRootedShares(RootedCollective::Scatter, 8).received, 1.0 / 8);
  EXPECT_EQ(getRootedShares(RootedCollective::Gather, 8).sent, 1.0 / 8);
  EXPECT_EQ(getRootedShares(RootedCollective::Gather, 8).received, 7.0 / 8);
}

TEST(RootedCollectives, each_link_of_a_reduce_carries_the_tensor) {
  LinkSpans eight = {{8, 0, 1e9, 0}};
  EXPECT_NEAR(rootedSeconds(RootedCollective::Reduce, 4e9, eight), 4, 1e-9);
  // Eight chains, one through each device of a node, use its eight links.
  EXPECT_NEAR(
      rootedSeconds(RootedCollective::Reduce, 1e9, {nearLink(8), farLink(4)}),
      1e9 / 200e9, 1e-9);
  // A reduce that is followed by a broadcast does no less than an all-reduce.
  for (double bytes : {1e3, 1e6, 1e9}) {
    LinkSpans spans = {nearLink(8), farLink(4)};
    EXPECT_GE(
        getRootedCollectiveTime(RootedCollective::Reduce, bytes, spans) +
            getTensorCollectiveTime(CollectiveKind::Broadcast, bytes, spans),
        getTensorCollectiveTime(CollectiveKind::AllReduce, bytes, spans));
  }
}

TEST(RootedCollectives, latency_is_a_trees_or_a_chains) {
  auto steps = [](RootedCollective kind) {
    return getRootedCollectiveTime(kind, 0, {{16, 1e-6, 1e9, 0}},
                                   CollectiveConstants::simple(0));
  };
  EXPECT_NEAR(steps(RootedCollective::Scatter), 4e-6, 1e-12);
  EXPECT_NEAR(steps(RootedCollective::Gather), 4e-6, 1e-12);
  EXPECT_NEAR(steps(RootedCollective::Reduce), 15e-6, 1e-12);
  for (auto kind : {RootedCollective::Scatter, RootedCollective::Gather,
                    RootedCollective::Reduce}) {
    EXPECT_EQ(getRootedCollectiveTime(kind, 1e9, {}), 0);
    EXPECT_EQ(getRootedShares(kind, 1).sent, 0);
    EXPECT_EQ(getRootedShares(kind, 1).received, 0);
  }
}

} // namespace
