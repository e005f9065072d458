//===- NodeSumsTest.cpp - Sums that go from node to node ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Large sums of ranks on several nodes against one sum over all operands, bit
// by bit, and the bytes that leave a node against their formula.
//
//===----------------------------------------------------------------------===//

#include "runtime/src/nodes/NodeSums.h"

#include "../Collectives.h"
#include "../Ranks.h"
#include "runtime/src/kernels/CpuKernels.h"
#include "runtime/src/nodes/Mirror.h"

#include <gtest/gtest.h>

using namespace tessera::rt;

namespace {
constexpr int64_t arenaBytes = 16 << 20, destinationAt = 8 << 20;

/// One sum of a group. `outer` is 0 for an all_reduce.
struct Sum {
  Integers axes;
  int32_t dtype = TESSERA_RT_F32;
  int32_t reduction = TESSERA_RT_SUM;
  int64_t outer = 0, count = 0;
  bool isInPlace = false;

  std::string describe() const {
    return format("%s of %s, %lld x %lld, over {%lld,%lld}",
                  outer ? "reduce_scatter" : "all_reduce", dtypeName(dtype),
                  (long long)outer, (long long)count, (long long)axes[0],
                  (long long)axes[1]);
  }
  Collective make() const {
    return outer ? reduceScatter(axes, dtype, reduction, outer, count)
                 : allReduce(axes, dtype, reduction, count);
  }
};

/// Writes elements first, first + 1, ... of a rank's operand. Floats need
/// rounding in each addition, so another order has other bits.
void fill(uint8_t *out, int32_t dtype, int rank, int64_t first, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = uint64_t(first + i) * 0x9e3779b97f4a7c15ull +
                    uint64_t(rank) * 0xbf58476d1ce4e5b9ull;
    bits ^= bits >> 29;
    bits *= 0x94d049bb133111ebull;
    float number = float(int32_t(bits >> 32)) / float(1u << 28);
    switch (dtype) {
    case TESSERA_RT_F32:
      reinterpret_cast<float *>(out)[i] = number;
      break;
    case TESSERA_RT_F64:
      reinterpret_cast<double *>(out)[i] = double(number) / 3;
      break;
    case TESSERA_RT_BF16:
      reinterpret_cast<uint16_t *>(out)[i] = floatToBf16(number);
      break;
    case TESSERA_RT_F16:
      reinterpret_cast<_Float16 *>(out)[i] = _Float16(number);
      break;
    default:
      memcpy(out + i * dtypeSize(dtype), &bits, size_t(dtypeSize(dtype)));
    }
  }
}

/// out = the sum of elements [first, first + count) of all members' operands.
void sumAll(const Sum &sum, const Group &group, int64_t first, int64_t count,
            uint8_t *out) {
  size_t bytes = size_t(count * dtypeSize(sum.dtype));
  std::vector<std::vector<uint8_t>> operands;
  std::vector<const void *> sources;
  for (int member : group.members) {
    operands.emplace_back(bytes);
    fill(operands.back().data(), sum.dtype, member, first, count);
  }
  for (auto &operand : operands)
    sources.push_back(operand.data());
  cpuKernels().reduce(sum.dtype, sum.reduction, sources.data(), group.size(),
                      out, count);
}

/// Compares a result with the sum; returns an error or nothing.
std::string check(tessera_rt_context *ctx, const Sum &sum, const Group &group) {
  int64_t size = dtypeSize(sum.dtype), members = group.size();
  const uint8_t *result = ctx->arena() + (sum.isInPlace ? 0 : destinationAt);
  int64_t rows = std::max<int64_t>(sum.outer, 1);
  std::vector<uint8_t> expected(size_t(sum.count * size));
  for (int64_t row = 0; row < rows; ++row) {
    int64_t first =
        sum.outer ? (row * members + group.index) * sum.count : int64_t(0);
    sumAll(sum, group, first, sum.count, expected.data());
    const uint8_t *got = result + row * sum.count * size;
    for (int64_t i = 0; i < sum.count * size; ++i)
      if (got[i] != expected[size_t(i)])
        return sum.describe() + format(": element %lld of row %lld is wrong",
                                       (long long)(i / size), (long long)row);
  }
  return std::string();
}

#define OK(call)                                                               \
  if (int32_t status = call)                                                   \
  return format("%s returned %d", #call, status)

std::string runSum(tessera_rt_context *ctx, const Sum &sum, int64_t sequence) {
  Group group;
  makeGroup(sum.axes.data(), int32_t(sum.axes.size() / 2), ctx->rank,
            ctx->ranks, {}, group);
  int64_t operand =
      sum.outer ? sum.outer * sum.count * group.size() : sum.count;
  int64_t destination = sum.isInPlace ? 0 : destinationAt;
  fill(ctx->arena(), sum.dtype, ctx->rank, 0, operand);
  OK(barrier(ctx, BarrierStep));
  OK(sum.make().run(ctx, int32_t(sequence % 3), sequence, 0, destination));
  std::string error = check(ctx, sum, group);
  // The next case writes to memory that others may still read here.
  OK(barrier(ctx, BarrierStep));
  return error;
}

/// Runs the sums on ranks of several nodes and expects success.
void expectSums(int nodes, int ranks, const std::vector<Sum> &sums,
                int threads = 1) {
  RankSetup setup;
  setup.ranks = ranks;
  setup.nodes = nodes;
  setup.threads = threads;
  setup.arenaBytes = arenaBytes;
  testing::internal::CaptureStderr();
  int status = runRanks(setup, [&](tessera_rt_context *ctx) -> std::string {
    int64_t sequence = 0;
    for (const Sum &sum : sums) {
      std::string error = runSum(ctx, sum, ++sequence);
      if (!error.empty())
        return error;
    }
    return std::string();
  });
  std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, 0) << printed;
}

/// The decision for a sum of `axes` on nodes of `perNode` ranks.
NodeSum decide(const Sum &sum, int ranks, int perNode) {
  Group group;
  makeGroup(sum.axes.data(), int32_t(sum.axes.size() / 2), 0, ranks, {}, group);
  Operation op;
  op.kind = sum.outer ? OpKind::ReduceScatter : OpKind::AllReduce;
  op.group = &group;
  op.header.dtype = sum.dtype;
  op.sourceBytes = dtypeSize(sum.dtype) * sum.count *
                   (sum.outer ? sum.outer * group.size() : 1);
  return findNodeSum({0, ranks / perNode, perNode}, op);
}

/// Runs a collective and compares the bytes that leave this node with what is
/// expected; headers may add a hundredth of it, or of 1 MiB.
std::string checkBytes(tessera_rt_context *ctx, const char *what,
                       const Collective &collective, double expected) {
  int64_t before = ctx->mirror->sentBytes();
  OK(collective.run(ctx, 0, 1, 0, destinationAt));
  auto countOf = [&](int rank) {
    return reinterpret_cast<int64_t *>(ctx->memory.arena(rank) + arenaBytes -
                                       8);
  };
  *countOf(ctx->rank) = ctx->mirror->sentBytes() - before;
  OK(barrierOfNode(ctx, BarrierStep));
  const Placement &place = ctx->memory.place;
  double bytes = 0;
  for (int rank = place.firstRank(); rank < place.endRank(); ++rank)
    bytes += double(*countOf(rank));
  OK(barrierOfNode(ctx, BarrierStep));
  double headers = 0.01 * std::max<double>(expected, 1 << 20);
  if (bytes < expected || bytes > expected + headers)
    return format("%s: node %d sends %.0f bytes, expected %.0f", what,
                  place.node, bytes, expected);
  return std::string();
}
} // namespace

TEST(node_sums, are_chosen_where_they_send_less) {
  // Two members on each of two nodes: B in place of 1.5 B.
  EXPECT_EQ(decide({{1, 4}, TESSERA_RT_F32, 0, 0, 1 << 20}, 4, 2).perNode, 2);
  EXPECT_EQ(decide({{1, 4}, TESSERA_RT_F32, 0, 0, 5000}, 4, 2).nodes, 0);
  // Two members on each of three: as much either way.
  EXPECT_EQ(decide({{1, 6}, TESSERA_RT_F32, 0, 0, 1 << 20}, 6, 2).nodes, 0);
  EXPECT_EQ(decide({{1, 8}, TESSERA_RT_F32, 0, 0, 1 << 20}, 8, 2).nodes, 4);
  // One member on each node has nothing to add first.
  EXPECT_EQ(decide({{2, 4}, TESSERA_RT_F32, 0, 0, 1 << 20}, 8, 2).nodes, 0);
  // One node.
  EXPECT_EQ(decide({{1, 4}, TESSERA_RT_F32, 0, 0, 1 << 20}, 8, 4).nodes, 0);
  // Partial sums of 16-bit types are twice as long.
  EXPECT_EQ(decide({{1, 4}, TESSERA_RT_BF16, 0, 0, 1 << 20}, 4, 2).nodes, 0);
  EXPECT_EQ(decide({{1, 8}, TESSERA_RT_BF16, 0, 0, 1 << 20}, 8, 4).nodes, 2);
  EXPECT_EQ(decide({{1, 8}, TESSERA_RT_F32, 0, 1, 1 << 18}, 8, 4).nodes, 2);
  // A group that goes through its nodes twice.
  EXPECT_EQ(decide({{1, 4, 4, 2}, TESSERA_RT_F32, 0, 0, 1 << 20}, 8, 4).nodes,
            0);
}

TEST(node_sums, have_the_bits_of_one_sum) {
  const Integers all = {1, 8}, even = {2, 4}, mixed = {1, 4, 4, 2};
  std::vector<Sum> sums;
  for (int32_t dtype : {TESSERA_RT_F32, TESSERA_RT_BF16, TESSERA_RT_F16,
                        TESSERA_RT_F64, TESSERA_RT_I32, TESSERA_RT_I1})
    sums.push_back({all, dtype, TESSERA_RT_SUM, 0, 300007, dtype % 2 == 0});
  sums.push_back({all, TESSERA_RT_F16, TESSERA_RT_MAX, 0, 300007});
  sums.push_back({all, TESSERA_RT_F32, TESSERA_RT_MIN, 0, 100003});
  sums.push_back({even, TESSERA_RT_F32, TESSERA_RT_SUM, 0, 200001});
  sums.push_back({mixed, TESSERA_RT_F32, TESSERA_RT_SUM, 0, 100001});
  sums.push_back({all, TESSERA_RT_F32, TESSERA_RT_SUM, 1, 70001});
  sums.push_back({all, TESSERA_RT_F64, TESSERA_RT_SUM, 301, 97});
  sums.push_back({even, TESSERA_RT_I64, TESSERA_RT_SUM, 3, 30011});
  expectSums(2, 8, sums);
  expectSums(2, 8, {sums[0], sums[1], sums[11]}, /*threads=*/3);
}

TEST(node_sums, pass_through_nodes_in_the_middle) {
  const Integers all = {1, 12};
  expectSums(3, 12,
             {{all, TESSERA_RT_F32, TESSERA_RT_SUM, 0, 300007, true},
              {all, TESSERA_RT_BF16, TESSERA_RT_SUM, 0, 600011},
              {all, TESSERA_RT_BF16, TESSERA_RT_SUM, 1, 60013},
              {all, TESSERA_RT_F16, TESSERA_RT_SUM, 257, 129},
              {all, TESSERA_RT_F32, TESSERA_RT_SUM, 2, 20011}});
}

TEST(node_sums, leave_their_operands_to_other_collectives) {
  RankSetup setup;
  setup.ranks = 8;
  setup.nodes = 2;
  setup.arenaBytes = arenaBytes;
  testing::internal::CaptureStderr();
  int status = runRanks(setup, [](tessera_rt_context *ctx) -> std::string {
    const Integers all = {1, 8};
    constexpr int64_t count = 1 << 17, gatheredAt = 10 << 20;
    Sum sum = {all, TESSERA_RT_F32, TESSERA_RT_SUM, 1, count};
    Group group;
    makeGroup(all.data(), 1, ctx->rank, ctx->ranks, {}, group);
    for (int64_t round = 0; round < 5; ++round) {
      fill(ctx->arena(), sum.dtype, ctx->rank, 0, 8 * count);
      memset(ctx->arena() + gatheredAt, 0, size_t(8 * count * 4));
      OK(barrier(ctx, BarrierStep));
      // Both read the same memory at the same time.
      OK(sum.make().start(ctx, 0, 1, 0, destinationAt));
      OK(allGather(all, sum.dtype, 1, count).start(ctx, 1, 2, 0, gatheredAt));
      OK(tessera_rt_wait(ctx, int32_t(round % 2)));
      OK(tessera_rt_wait(ctx, int32_t(1 - round % 2)));
      std::string error = check(ctx, sum, group);
      if (!error.empty())
        return error;
      std::vector<uint8_t> expected(size_t(count * 4));
      for (int rank = 0; rank < ctx->ranks; ++rank) {
        fill(expected.data(), sum.dtype, rank, 0, count);
        if (memcmp(ctx->arena() + gatheredAt + rank * count * 4,
                   expected.data(), expected.size()) != 0)
          return format("what was gathered of rank %d is wrong", rank);
      }
      OK(barrier(ctx, BarrierStep));
    }
    return std::string();
  });
  std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, 0) << printed;
}

TEST(node_sums, send_the_bytes_of_their_formula) {
  RankSetup setup;
  setup.ranks = 8;
  setup.nodes = 2;
  setup.arenaBytes = arenaBytes;
  testing::internal::CaptureStderr();
  int status = runRanks(setup, [](tessera_rt_context *ctx) -> std::string {
    const Integers all = {1, 8}, pairs = {4, 2};
    const int32_t f32 = TESSERA_RT_F32, bf16 = TESSERA_RT_BF16;
    const int32_t sum = TESSERA_RT_SUM;
    // The larger side of each operation has 4 MiB.
    double bytes = 1 << 22;
    bool isLast = ctx->memory.place.node == 1;
    struct {
      const char *what;
      Collective collective;
      double expected;
    } cases[] = {
        {"all_reduce", allReduce(all, f32, sum, 1 << 20), bytes},
        {"all_reduce of bf16", allReduce(all, bf16, sum, 1 << 21),
         isLast ? bytes : 2 * bytes},
        {"reduce_scatter", reduceScatter(all, f32, sum, 1, 1 << 17),
         isLast ? bytes / 2 : bytes},
        // Each of four groups has one member on each node.
        {"all_reduce of pairs", allReduce(pairs, f32, sum, 1 << 20), 4 * bytes},
        {"reduce_scatter of pairs", reduceScatter(pairs, f32, sum, 1, 1 << 19),
         4 * bytes / 2},
        {"all_gather", allGather(all, f32, 1, 1 << 17), bytes / 2},
        {"all_to_all", allToAll(all, f32, {8, 1 << 17}, 0, 1), 4 * bytes / 2},
        {"broadcast", broadcast(all, f32, 0, 1 << 20), isLast ? 0 : bytes}};
    for (auto &one : cases) {
      std::string error =
          checkBytes(ctx, one.what, one.collective, one.expected);
      if (!error.empty())
        return error;
    }
    return std::string();
  });
  std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, 0) << printed;
}
