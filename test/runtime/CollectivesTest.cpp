//===- CollectivesTest.cpp - Every collective against a naive reference ---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forks ranks and runs each collective over many groups, types and counts. An
// element of a rank is a function of rank and index, so every rank computes the
// expected result by itself.
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "Ranks.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace tessera::rt;

namespace {
constexpr int32_t allTypes[] = {TESSERA_RT_F32, TESSERA_RT_BF16, TESSERA_RT_F16,
                                TESSERA_RT_F64, TESSERA_RT_I1,   TESSERA_RT_I8,
                                TESSERA_RT_I32, TESSERA_RT_I64};

/// Small integers, exact in every type; sums of eight are exact, too.
int64_t valueOf(int rank, int64_t i) { return (rank * 7 + i * 3) % 11 - 5; }

int64_t typed(int32_t dtype, int64_t value) {
  return dtype == TESSERA_RT_I1 ? value & 1 : value;
}

void put(uint8_t *base, int32_t dtype, int64_t i, int64_t value) {
  value = typed(dtype, value);
  switch (dtype) {
  case TESSERA_RT_F32:
    reinterpret_cast<float *>(base)[i] = float(value);
    break;
  case TESSERA_RT_BF16:
    reinterpret_cast<uint16_t *>(base)[i] = floatToBf16(float(value));
    break;
  case TESSERA_RT_F16:
    reinterpret_cast<_Float16 *>(base)[i] = _Float16(float(value));
    break;
  case TESSERA_RT_F64:
    reinterpret_cast<double *>(base)[i] = double(value);
    break;
  case TESSERA_RT_I32:
    reinterpret_cast<int32_t *>(base)[i] = int32_t(value);
    break;
  case TESSERA_RT_I64:
    reinterpret_cast<int64_t *>(base)[i] = value;
    break;
  default:
    reinterpret_cast<int8_t *>(base)[i] = int8_t(value);
  }
}

int64_t get(const uint8_t *base, int32_t dtype, int64_t i) {
  switch (dtype) {
  case TESSERA_RT_F32:
    return int64_t(reinterpret_cast<const float *>(base)[i]);
  case TESSERA_RT_BF16:
    return int64_t(bf16ToFloat(reinterpret_cast<const uint16_t *>(base)[i]));
  case TESSERA_RT_F16:
    return int64_t(float(reinterpret_cast<const _Float16 *>(base)[i]));
  case TESSERA_RT_F64:
    return int64_t(reinterpret_cast<const double *>(base)[i]);
  case TESSERA_RT_I32:
    return reinterpret_cast<const int32_t *>(base)[i];
  case TESSERA_RT_I64:
    return reinterpret_cast<const int64_t *>(base)[i];
  default:
    return reinterpret_cast<const int8_t *>(base)[i];
  }
}

int64_t combine(int32_t dtype, int32_t reduction, int64_t a, int64_t b) {
  if (dtype == TESSERA_RT_I1 && reduction == TESSERA_RT_SUM)
    return a ^ b;
  if (reduction == TESSERA_RT_MAX)
    return std::max(a, b);
  return reduction == TESSERA_RT_MIN ? std::min(a, b) : a + b;
}

constexpr int64_t sourceAt = 0, destinationAt = 2 << 20;
constexpr int64_t guard = 77;

/// One case on one rank.
struct Case {
  tessera_rt_context *ctx;
  Integers axes;
  int32_t dtype;
  Group group;
  std::string what;

  Case(tessera_rt_context *ctx, Integers axes, int32_t dtype, std::string what)
      : ctx(ctx), axes(std::move(axes)), dtype(dtype), what(std::move(what)) {
    makeGroup(this->axes.data(), numAxes(), ctx->rank, ctx->ranks, {}, group);
  }
  /// Gives each case its own number, as each operation of a program has.
  int64_t sequence() const { return ++sequences(); }
  static int64_t &sequences() {
    static int64_t count = 0;
    return count;
  }
  int32_t numAxes() const { return int32_t(axes.size() / 2); }
  uint8_t *destination() const { return ctx->arena() + destinationAt; }

  void fillSource(int64_t count) const {
    for (int64_t i = 0; i < count; ++i)
      put(ctx->arena() + sourceAt, dtype, i, valueOf(ctx->rank, i));
  }
  /// A sentinel after the destination must survive.
  void fillGuard(int64_t count) const {
    for (int64_t i = 0; i < count + 1; ++i)
      put(destination(), dtype, i, guard);
  }
  template <typename Expected>
  std::string check(int64_t count, Expected &&expected,
                    int64_t offset = destinationAt) const {
    const uint8_t *base = ctx->arena() + offset;
    for (int64_t i = 0; i < count; ++i) {
      int64_t wanted = typed(dtype, expected(i)), got = get(base, dtype, i);
      if (got != wanted)
        return format(
            "%s %s over %d members: element %lld of %lld is %lld, not "
            "%lld",
            what.c_str(), dtypeName(dtype), group.size(), (long long)i,
            (long long)count, (long long)got, (long long)wanted);
    }
    if (offset == destinationAt &&
        get(base, dtype, count) != typed(dtype, guard))
      return what + " wrote beyond its destination";
    return std::string();
  }
};

#define TRY(expression)                                                        \
  do {                                                                         \
    std::string error_ = (expression);                                         \
    if (!error_.empty())                                                       \
      return error_;                                                           \
  } while (false)
#define OK(expression)                                                         \
  do {                                                                         \
    if (int32_t status_ = (expression))                                        \
      return format("status %d at line %d", status_, __LINE__);                \
  } while (false)

const int64_t counts[] = {0, 1, 3, 255, 6001};

/// Groups over 8 ranks: all, axes of 2x4 and 2x2x2, sub-axes, axes in another
/// order, the rank alone.
const Integers groups8[] = {{1, 8},       {4, 2},       {1, 4}, {2, 2},
                            {4, 2, 1, 2}, {1, 2, 4, 2}, {1, 2}, {}};

std::string allGatherIsRight(tessera_rt_context *ctx) {
  for (const Integers &axes : groups8)
    for (int32_t dtype : allTypes)
      for (int64_t outer : {1, 3})
        for (int64_t inner : counts) {
          Case c(ctx, axes, dtype, "all_gather");
          int64_t n = c.group.size(), total = outer * inner * n;
          c.fillSource(outer * inner);
          c.fillGuard(total);
          OK(allGather(axes, dtype, outer, inner)
                 .run(ctx, 3, c.sequence(), sourceAt, destinationAt));
          TRY(c.check(total, [&](int64_t i) {
            int64_t o = i / (n * inner), j = i / inner % n, x = i % inner;
            return valueOf(c.group.members[size_t(j)], o * inner + x);
          }));
        }
  return std::string();
}

std::string reduceScatterIsRight(tessera_rt_context *ctx) {
  for (const Integers &axes : groups8)
    for (int32_t dtype : allTypes)
      for (int32_t reduction : {0, 1, 2})
        for (int64_t outer : {1, 3})
          for (int64_t inner : counts) {
            Case c(ctx, axes, dtype, "reduce_scatter");
            int64_t n = c.group.size();
            c.fillSource(outer * inner * n);
            c.fillGuard(outer * inner);
            OK(reduceScatter(axes, dtype, reduction, outer, inner)
                   .run(ctx, 3, c.sequence(), sourceAt, destinationAt));
            TRY(c.check(outer * inner, [&](int64_t i) {
              int64_t at = (i / inner * n + c.group.index) * inner + i % inner;
              int64_t sum = typed(dtype, valueOf(c.group.members[0], at));
              for (int64_t j = 1; j < n; ++j)
                sum = combine(
                    dtype, reduction, sum,
                    typed(dtype, valueOf(c.group.members[size_t(j)], at)));
              return sum;
            }));
          }
  return std::string();
}

constexpr int64_t idsAt = 4 << 20;

/// Id j of the token with this number among those of all ranks: of 16 experts,
/// one token in five has none.
int64_t idOf(int64_t token, int64_t j) {
  return token % 5 == 0 ? -1 : (token * 3 + j * 5) % 16;
}

/// The blocks of 2 experts are numbered by the position in the group of all.
template <typename Check>
std::string forTokens(tessera_rt_context *ctx, Check &&check) {
  for (const Integers &axes : groups8)
    for (int32_t dtype : {TESSERA_RT_F32, TESSERA_RT_BF16})
      for (int32_t idType : {TESSERA_RT_I32, TESSERA_RT_I64})
        for (int64_t outer : {1, 3})
          for (int64_t rows : {0, 1, 40}) {
            Case c(ctx, axes, dtype, "tokens");
            Tokens tokens{idType, 9, 2, 2, {1, 8}};
            TRY(check(c, tokens, outer, rows));
          }
  return std::string();
}

bool goesTo(int64_t token, int64_t rank) {
  auto isIn = [&](int64_t id) { return id >= 0 && id / 2 == rank; };
  return isIn(idOf(token, 0)) || isIn(idOf(token, 1));
}

void fillIds(const Case &c, const Tokens &tokens, int64_t count,
             const std::function<int64_t(int64_t)> &tokenOf) {
  for (int64_t i = 0; i < count * tokens.choices; ++i)
    put(c.ctx->arena() + idsAt, tokens.idType, i,
        idOf(tokenOf(i / tokens.choices), i % tokens.choices));
}

std::string dispatchIsRight(tessera_rt_context *ctx) {
  return forTokens(
      ctx,
      [&](Case &c, const Tokens &tokens, int64_t outer,
          int64_t rows) -> std::string {
        int64_t n = c.group.size(), all = outer * rows * n;
        auto tokenOf = [](int64_t i) { return i; };
        c.fillSource(outer * rows * tokens.width);
        c.fillGuard(all * tokens.width);
        fillIds(c, tokens, all, tokenOf);
        OK(runTokens(ctx, 3, c.sequence(), TESSERA_RT_DISPATCH, c.axes, c.dtype,
                     outer, rows, tokens, sourceAt, destinationAt, idsAt));
        return c.check(all * tokens.width, [&](int64_t i) {
          int64_t token = i / tokens.width;
          if (!goesTo(token, ctx->rank))
            return guard;
          int64_t block = token / rows, row = block / n * rows + token % rows;
          return valueOf(c.group.members[size_t(block % n)],
                         row * tokens.width + i % tokens.width);
        });
      });
}

std::string combineIsRight(tessera_rt_context *ctx) {
  return forTokens(
      ctx,
      [&](Case &c, const Tokens &tokens, int64_t outer,
          int64_t rows) -> std::string {
        int64_t n = c.group.size(), own = outer * rows;
        // Members have other tokens.
        auto tokenOf = [&](int64_t i) { return i * n + c.group.index; };
        c.fillSource(own * n * tokens.width);
        c.fillGuard(own * tokens.width);
        fillIds(c, tokens, own, tokenOf);
        OK(runTokens(ctx, 3, c.sequence(), TESSERA_RT_COMBINE, c.axes, c.dtype,
                     outer, rows, tokens, sourceAt, destinationAt, idsAt));
        return c.check(own * tokens.width, [&](int64_t i) {
          int64_t token = i / tokens.width, sum = 0;
          int64_t row =
              (token / rows * n + c.group.index) * rows + token % rows;
          for (int member : c.group.members)
            if (goesTo(tokenOf(token), member))
              sum += valueOf(member, row * tokens.width + i % tokens.width);
          return sum;
        });
      });
}

std::string allReduceIsRight(tessera_rt_context *ctx) {
  for (const Integers &axes : groups8)
    for (int32_t dtype : allTypes)
      for (int32_t reduction : {0, 1, 2})
        for (bool inPlace : {false, true})
          for (int64_t count : {0, 1, 3, 255, 9001}) {
            Case c(ctx, axes, dtype, "all_reduce");
            int64_t to = inPlace ? sourceAt : destinationAt;
            c.fillSource(count);
            c.fillGuard(count);
            OK(allReduce(axes, dtype, reduction, count)
                   .run(ctx, 3, c.sequence(), sourceAt, to));
            TRY(c.check(
                count,
                [&](int64_t i) {
                  int64_t sum = typed(dtype, valueOf(c.group.members[0], i));
                  for (int j = 1; j < c.group.size(); ++j)
                    sum = combine(
                        dtype, reduction, sum,
                        typed(dtype, valueOf(c.group.members[size_t(j)], i)));
                  return sum;
                },
                to));
          }
  return std::string();
}

/// Position of row-major element `i` of `shape`, as a multi-index.
std::vector<int64_t> unravel(int64_t i, const std::vector<int64_t> &shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; i /= shape[d])
    index[d] = i % shape[d];
  return index;
}
int64_t ravel(const std::vector<int64_t> &index,
              const std::vector<int64_t> &shape) {
  int64_t i = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    i = i * shape[d] + index[d];
  return i;
}

std::string allToAllIsRight(tessera_rt_context *ctx) {
  for (const Integers &axes : groups8)
    for (int32_t dtype : allTypes)
      for (size_t split : {0, 1, 2})
        for (size_t concat : {0, 1, 2}) {
          Case c(ctx, axes, dtype, "all_to_all");
          int64_t n = c.group.size();
          std::vector<int64_t> shape = {3, 5, 7};
          shape[split] *= n;
          std::vector<int64_t> chunk = shape, result;
          chunk[split] /= n;
          result = chunk;
          result[concat] *= n;
          int64_t total = shape[0] * shape[1] * shape[2];
          c.fillSource(total);
          c.fillGuard(total);
          OK(allToAll(axes, dtype, shape, int64_t(split), int64_t(concat))
                 .run(ctx, 3, c.sequence(), sourceAt, destinationAt));
          TRY(c.check(total, [&](int64_t i) {
            std::vector<int64_t> index = unravel(i, result);
            int64_t j = index[concat] / chunk[concat];
            index[concat] %= chunk[concat];
            index[split] += c.group.index * chunk[split];
            return valueOf(c.group.members[size_t(j)], ravel(index, shape));
          }));
        }
  return std::string();
}

std::string permuteIsRight(tessera_rt_context *ctx) {
  for (const Integers &axes : groups8)
    for (int32_t dtype : allTypes)
      for (int64_t shift : {0, 1, 3})
        for (int64_t count : counts) {
          Case c(ctx, axes, dtype, "permute");
          int64_t n = c.group.size();
          // An open ring: the last index is no source.
          std::vector<int64_t> pairs;
          std::vector<int64_t> from(size_t(n), -1);
          for (int64_t s = 0; s < n - 1; ++s) {
            pairs.push_back(s);
            pairs.push_back((s + shift) % n);
            from[size_t((s + shift) % n)] = s;
          }
          c.fillSource(count);
          c.fillGuard(count);
          OK(permute(axes, dtype, pairs, count)
                 .run(ctx, 3, c.sequence(), sourceAt, destinationAt));
          int64_t source = from[size_t(c.group.index)];
          TRY(c.check(count, [&](int64_t i) {
            return source < 0 ? 0 : valueOf(c.group.members[size_t(source)], i);
          }));
        }
  return std::string();
}

std::string broadcastIsRight(tessera_rt_context *ctx) {
  for (const Integers &axes : groups8)
    for (int32_t dtype : allTypes)
      for (int64_t count : counts) {
        Case c(ctx, axes, dtype, "broadcast");
        int64_t root = c.group.size() - 1;
        c.fillSource(count);
        c.fillGuard(count);
        OK(broadcast(axes, dtype, root, count)
               .run(ctx, 3, c.sequence(), sourceAt, destinationAt));
        TRY(c.check(count, [&](int64_t i) {
          return valueOf(c.group.members[size_t(root)], i);
        }));
      }
  return std::string();
}

/// Each rank sends to the next and receives from the previous one, with
/// different slots and numbers for the two.
std::string sendRecv(tessera_rt_context *ctx) {
  const Integers all = {1, ctx->ranks};
  int64_t next = (ctx->rank + 1) % ctx->ranks;
  int64_t before = (ctx->rank + ctx->ranks - 1) % ctx->ranks;
  for (int32_t dtype : allTypes)
    for (int64_t count : counts)
      for (int64_t tag : {0, 7}) {
        Case c(ctx, {1, ctx->ranks}, dtype, "send and recv");
        c.fillSource(count);
        c.fillGuard(count);
        int32_t sendSlot = ctx->rank, recvSlot = 20 + ctx->rank;
        OK(transfer(TESSERA_RT_SEND, all, dtype, next, tag, count)
               .start(ctx, sendSlot, 100 + ctx->rank, sourceAt, 0));
        OK(transfer(TESSERA_RT_RECV, all, dtype, before, tag, count)
               .start(ctx, recvSlot, 200, 0, destinationAt));
        OK(tessera_rt_wait(ctx, sendSlot));
        OK(tessera_rt_wait(ctx, recvSlot));
        TRY(c.check(count, [&](int64_t i) { return valueOf(int(before), i); }));
      }
  return std::string();
}

/// Several collectives in flight; ranks wait for them in different orders.
std::string anyOrderOfWaits(tessera_rt_context *ctx) {
  const Integers rows = {4, 2}, columns = {1, 4}, all = {1, 8};
  for (int round = 0; round < 20; ++round) {
    float *values = reinterpret_cast<float *>(ctx->arena());
    for (int i = 0; i < 3; ++i)
      values[i * 1024] = float(ctx->rank + 1 + i);
    OK(allReduce(rows, TESSERA_RT_F32, 0, 1).start(ctx, 0, 1, 0, 64));
    OK(allReduce(columns, TESSERA_RT_F32, 0, 1)
           .start(ctx, 1, 2, 4096, 4096 + 64));
    OK(allReduce(all, TESSERA_RT_F32, 0, 1).start(ctx, 2, 3, 8192, 8192 + 64));
    for (int i = 0; i < 3; ++i)
      OK(tessera_rt_wait(ctx, (i + ctx->rank) % 3));
    int row = ctx->rank / 4, column = ctx->rank % 4;
    float sums[3] = {float(2 * column + 6), float(16 * row + 10 + 4),
                     float(36 + 16)};
    for (int i = 0; i < 3; ++i)
      if (values[i * 1024 + 16] != sums[i])
        return format("sum %d is %f, not %f", i, double(values[i * 1024 + 16]),
                      double(sums[i]));
  }
  return std::string();
}

/// Sums with rounding have the same bits on all ranks, in ascending order.
std::string reductionsAreDeterministic(tessera_rt_context *ctx) {
  const Integers all = {1, ctx->ranks};
  for (int32_t dtype : {TESSERA_RT_F32, TESSERA_RT_BF16})
    for (int64_t count : {7, 30011}) {
      auto number = [&](int rank, int64_t i) {
        float x = 1.0f / float(1 + (i * 37 + rank * 101) % 1009);
        return dtype == TESSERA_RT_F32 ? x : bf16ToFloat(floatToBf16(x));
      };
      uint8_t *source = ctx->arena(), *result = ctx->arena() + destinationAt;
      for (int64_t i = 0; i < count; ++i) {
        if (dtype == TESSERA_RT_F32)
          reinterpret_cast<float *>(source)[i] = number(ctx->rank, i);
        else
          reinterpret_cast<uint16_t *>(source)[i] =
              floatToBf16(number(ctx->rank, i));
      }
      OK(allReduce(all, dtype, 0, count).run(ctx, 0, 1, 0, destinationAt));
      OK(barrier(ctx, BarrierStep));
      if (ctx->memory.place.isHere(0) &&
          memcmp(result, ctx->memory.arena(0) + destinationAt,
                 size_t(count * dtypeSize(dtype))) != 0)
        return "a rank's sum differs from rank 0's";
      for (int64_t i = 0; i < count; ++i) {
        float sum = number(0, i);
        for (int rank = 1; rank < ctx->ranks; ++rank)
          sum += number(rank, i);
        bool equal =
            dtype == TESSERA_RT_F32
                ? reinterpret_cast<float *>(result)[i] == sum
                : reinterpret_cast<uint16_t *>(result)[i] == floatToBf16(sum);
        if (!equal)
          return format("element %lld is not the sum in ascending order",
                        (long long)i);
      }
      OK(barrier(ctx, BarrierStep));
    }
  return std::string();
}

/// Runs a body on 8 ranks and expects success.
void expectGood(const RankFunction &body, int threads = 1) {
  RankSetup setup;
  setup.ranks = 8;
  setup.arenaBytes = 5 << 20;
  setup.threads = threads;
  testing::internal::CaptureStderr();
  int status = runRanks(setup, body);
  EXPECT_EQ(status, 0) << testing::internal::GetCapturedStderr();
  if (status == 0)
    testing::internal::GetCapturedStderr();
}
} // namespace

TEST(collectives, all_gather) { expectGood(allGatherIsRight); }
TEST(collectives, reduce_scatter) { expectGood(reduceScatterIsRight); }
TEST(collectives, all_reduce) { expectGood(allReduceIsRight); }
TEST(collectives, all_to_all) { expectGood(allToAllIsRight); }
TEST(collectives, permute) { expectGood(permuteIsRight); }
TEST(collectives, broadcast) { expectGood(broadcastIsRight); }
TEST(collectives, dispatch) { expectGood(dispatchIsRight); }
TEST(collectives, combine) { expectGood(combineIsRight); }
TEST(collectives, send_recv) { expectGood(sendRecv); }
TEST(collectives, waits_in_any_order) { expectGood(anyOrderOfWaits); }
TEST(collectives, reductions_are_deterministic) {
  expectGood(reductionsAreDeterministic);
}
TEST(collectives, several_threads_a_rank) {
  expectGood(reductionsAreDeterministic, 3);
  expectGood(allToAllIsRight, 2);
  expectGood(dispatchIsRight, 2);
  expectGood(combineIsRight, 3);
}

TEST(collectives, received_bytes_are_counted) {
  expectGood([](tessera_rt_context *ctx) -> std::string {
    const Integers all = {1, 8};
    int64_t count = 1 << 16;
    OK(allReduce(all, TESSERA_RT_F32, 0, count)
           .run(ctx, 0, 1, 0, destinationAt));
    OK(allGather(all, TESSERA_RT_F32, 1, 100).run(ctx, 0, 2, 0, destinationAt));
    const RankBlock &block = ctx->block();
    if (block.numbers.numTraffic != 2 || block.numbers.traffic[0].calls != 1)
      return "expects two kinds, one call each";
    // Expects 2 (n-1)/n of the operand, and n-1 blocks.
    if (block.numbers.traffic[0].bytes != count * 4 * 2 * 7 / 8 ||
        block.numbers.traffic[1].bytes != 400 * 7)
      return format("received %lld and %lld bytes",
                    (long long)block.numbers.traffic[0].bytes,
                    (long long)block.numbers.traffic[1].bytes);
    return std::string();
  });
}
