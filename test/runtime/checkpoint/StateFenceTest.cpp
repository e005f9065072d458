//===- StateFenceTest.cpp - Steps while their state is read ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reader takes the state as late as it may. CudaTargetTest.cpp has the same
// for devices.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include "runtime/src/run/Steps.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace tessera::rt;

namespace {

constexpr int64_t count = 4, bytes = count * 4;
constexpr int64_t pOffset = 0, mOffset = 64, newMOffset = 128;
using Numbers = std::vector<float>;

float *at(tessera_rt_context *ctx, int64_t offset) {
  return reinterpret_cast<float *>(ctx->arena() + offset);
}
Numbers get(tessera_rt_context *ctx, int64_t offset) {
  return Numbers(at(ctx, offset), at(ctx, offset) + count);
}

/// Reads parameters and state when it is waited for.
struct LateReader : StateReader {
  explicit LateReader(tessera_rt_context *ctx) : ctx(ctx) {}
  bool waitFor(double) override {
    p.push_back(get(ctx, pOffset));
    m.push_back(get(ctx, mOffset));
    return !hangs;
  }
  double patience() const override { return 0.01; }

  tessera_rt_context *ctx;
  bool hangs = false;
  /// The values at each wait.
  std::vector<Numbers> p, m;
};

/// p += 1 in place, if `inPlace`; m + 2 goes elsewhere.
template <bool inPlace> int32_t step(tessera_rt_context *ctx) {
  for (int64_t i = 0; i < count; ++i)
    at(ctx, newMOffset)[i] = at(ctx, mOffset)[i] + 2;
  if (!inPlace)
    return TESSERA_RT_OK;
  if (int32_t status = tessera_rt_state_fence(ctx))
    return status;
  for (int64_t i = 0; i < count; ++i)
    at(ctx, pOffset)[i] += 1;
  return TESSERA_RT_OK;
}

Value makeValue(const char *name, int64_t offset) {
  Value value;
  value.name = name;
  value.dtype = TESSERA_RT_F32;
  value.shape = value.paddedShape = value.localShape = {count};
  value.offsets = {offset};
  value.bytes = bytes;
  return value;
}

/// A program with the arguments p and m; m is moved after the step.
Manifest makeManifest() {
  Manifest manifest;
  manifest.ranks = 1;
  manifest.arguments = {makeValue("p", pOffset), makeValue("m", mOffset)};
  manifest.results = {makeValue("p", pOffset), makeValue("m", newMOffset)};
  for (int64_t i = 0; i < 2; ++i) {
    manifest.arguments[size_t(i)].role = Role::Param;
    manifest.arguments[size_t(i)].donate = i;
  }
  return manifest;
}

/// Runs one step with this reader, or none.
Status runStep(tessera_rt_context *ctx, ProgramStep program,
               StateReader *reader) {
  Manifest manifest = makeManifest();
  Options options;
  options.quiet = true;
  options.steps = 1;
  RunData data;
  Checkpoints checkpoints(ctx, manifest, options, data);
  if (Status status = ctx->target->open(manifest, options, program))
    return status;
  ctx->stateReader = reader;
  return StepLoop(ctx, manifest, options, data, checkpoints).run();
}

} // namespace

TEST(state_fence, a_step_that_nobody_reads_does_not_wait) {
  SingleRank rank(1, 4096);
  tessera_rt_context *ctx = rank;
  EXPECT_EQ(runStep(ctx, step<true>, nullptr), TESSERA_RT_OK);
  EXPECT_EQ(get(ctx, pOffset), Numbers(count, 1));
  EXPECT_EQ(get(ctx, mOffset), Numbers(count, 2));
}

// In the program, for what it changes in place, and then before the move.
TEST(state_fence, state_is_whole_when_the_program_waits) {
  SingleRank rank(1, 4096);
  tessera_rt_context *ctx = rank;
  LateReader reader(ctx);
  EXPECT_EQ(runStep(ctx, step<true>, &reader), TESSERA_RT_OK);
  ASSERT_EQ(reader.p.size(), 2u);
  EXPECT_EQ(reader.p[0], Numbers(count, 0));
  EXPECT_EQ(reader.m[0], Numbers(count, 0));
  EXPECT_EQ(reader.m[1], Numbers(count, 0));
  EXPECT_EQ(get(ctx, pOffset), Numbers(count, 1));
  EXPECT_EQ(get(ctx, mOffset), Numbers(count, 2));
}

TEST(state_fence, moves_after_a_step_wait) {
  SingleRank rank(1, 4096);
  tessera_rt_context *ctx = rank;
  for (int i = 0; i < 2; ++i) {
    LateReader reader(ctx);
    EXPECT_EQ(runStep(ctx, step<false>, &reader), TESSERA_RT_OK);
    ASSERT_EQ(reader.m.size(), 1u);
    EXPECT_EQ(reader.m[0], Numbers(count, 2 * float(i)));
    EXPECT_EQ(get(ctx, mOffset), Numbers(count, 2 * float(i + 1)));
  }
}

TEST(state_fence, a_reader_that_hangs_ends_the_step) {
  SingleRank rank(1, 4096);
  tessera_rt_context *ctx = rank;
  LateReader reader(ctx);
  reader.hangs = true;
  EXPECT_EQ(runStep(ctx, step<true>, &reader), TESSERA_RT_SYSTEM);
  EXPECT_NE(strstr(ctx->memory.control->failure,
                   "the disk or the device does not answer"),
            nullptr)
      << ctx->memory.control->failure;
  EXPECT_EQ(get(ctx, pOffset), Numbers(count, 0));
  EXPECT_EQ(get(ctx, mOffset), Numbers(count, 0));
}
