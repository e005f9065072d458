//===- ComputeModelTest.cpp - Seconds of a kernel -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/ComputeModel.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::cost;

namespace {

DeviceModel device() {
  DeviceModel d;
  d.peakF32 = 150e12;
  d.peakBF16 = 300e12;
  d.peakFP8 = 600e12;
  d.memoryBandwidth = 2e12;
  d.multiprocessors = 100;
  d.matmulRate = 0.8;
  d.matmulRateFP8 = 0.7;
  d.memoryRate = 0.5;
  d.kernelFloor = 2e-6;
  d.hostLaunch = 10e-6;
  return d;
}

double share(const MatmulDims &dims, DType type = DType::BF16) {
  DeviceModel d = device();
  double flops = 2.0 * dims.batch * dims.m * dims.n * dims.k;
  return flops / matmulSeconds(d, dims, type) / d.peak(type);
}

TEST(ComputeModel, large_matmuls_reach_the_best_rate) {
  EXPECT_NEAR(share({1, 25600, 12800, 8192}), 0.8, 0.02);
  EXPECT_NEAR(share({1, 25600, 12800, 8192}, DType::FP8), 0.7, 0.02);
}

TEST(ComputeModel, waves_and_short_depth_cost) {
  // 101 tiles on 100 multiprocessors take two waves.
  double full = matmulSeconds(device(), {1, 128 * 100, 128, 512}, DType::BF16);
  double over = matmulSeconds(device(), {1, 128 * 101, 128, 512}, DType::BF16);
  EXPECT_GT(over, 1.2 * full);
  EXPECT_LT(share({1, 12800, 12800, 64}), 0.5 * share({1, 12800, 12800, 4096}));
  // One output tile and a deep sum: splits keep the device busy.
  EXPECT_GT(share({1, 128, 128, 65536}), 4 * share({1, 128, 128, 1024}));
}

TEST(ComputeModel, filling_takes_as_long_in_8_bits) {
  DeviceModel d = device();
  d.matmulRateFP8 = d.matmulRate;
  auto seconds = [&](int64_t k, DType type) {
    return matmulSeconds(d, {1, 12800, 12800, k}, type);
  };
  // Twice the rate at twice the depth.
  EXPECT_NEAR(seconds(8192, DType::FP8) / seconds(4096, DType::BF16), 1, 1e-9);
  // FP8 takes as long as bf16 if its rate is the same.
  d.peakFP8 = d.peakBF16;
  EXPECT_NEAR(seconds(4096, DType::FP8) / seconds(4096, DType::BF16), 1, 1e-9);
}

TEST(ComputeModel, more_work_takes_no_less_time) {
  double last = 0;
  for (int64_t m = 8; m < 20000; m += 8) {
    double seconds = matmulSeconds(device(), {1, m, 4096, 4096}, DType::BF16);
    EXPECT_GE(seconds, last) << m;
    last = seconds;
  }
}

TEST(ComputeModel, rows_that_are_no_multiple_of_16_bytes_are_slow) {
  EXPECT_NEAR(share({1, 1024, 50264, 1024}) / share({1, 1024, 50257, 1024}), 3,
              0.1);
}

TEST(ComputeModel, kernels_are_bound_by_memory_or_the_floor) {
  OpWork op;
  op.bytesRead = 6e9;
  op.bytesWritten = 4e9;
  EXPECT_NEAR(kernelSeconds(device(), op), 10e9 / 1e12, 3e-6);
  op.bytesRead = op.bytesWritten = 0;
  op.kernels = 3;
  EXPECT_DOUBLE_EQ(kernelSeconds(device(), op), 6e-6);
  // A matmul with one row is limited by reading its matrix.
  op = OpWork();
  op.kind = OpClass::Matmul;
  op.matmul = {1, 1, 8192, 8192};
  op.bytesRead = 2.0 * 8192 * 8192;
  EXPECT_GE(kernelSeconds(device(), op), op.bytesRead / 1e12);
}

TEST(ComputeModel, the_slower_of_host_and_device_counts) {
  KernelTime time;
  OpWork op;
  op.bytesRead = 1e6; // 1 us and the floor on the device, 10 us on the host.
  for (int i = 0; i < 5; ++i)
    addKernel(time, device(), op);
  EXPECT_DOUBLE_EQ(time.host, 50e-6);
  EXPECT_NEAR(time.memory, 15e-6, 1e-9);
  EXPECT_DOUBLE_EQ(time.seconds(), 50e-6);
}

TEST(ComputeModel, a_host_issues_graphs_and_batches_in_one_call) {
  auto hostSeconds = [](bool isBatched, bool isGraphed) {
    KernelTime time;
    OpWork op;
    op.kernels = 16;
    op.isBatched = isBatched;
    op.isGraphed = isGraphed;
    addKernel(time, device(), op);
    return time.host;
  };
  EXPECT_DOUBLE_EQ(hostSeconds(false, false), 16 * 10e-6);
  // The driver's launches remain.
  EXPECT_DOUBLE_EQ(hostSeconds(true, false), 10e-6 + 16 * 4e-6);
  EXPECT_EQ(hostSeconds(true, true), 0);
}

TEST(ComputeModel, attention) {
  OpWork op;
  op.kind = OpClass::Attention;
  op.matmul = {1000, 8192, 8192, 128};
  op.flops = 4.0 * 1000 * 8192.0 * 8192 * 128 / 2;
  DeviceModel d = device();
  d.attentionFill = 0;
  double forward = attentionSeconds(d, op);
  EXPECT_NEAR(op.flops / forward / d.peakBF16, d.attentionRate, 1e-6);
  op.pass = Pass::BackwardInput;
  EXPECT_GT(attentionSeconds(d, op), forward);
}

TEST(ComputeModel, attention_over_few_keys_is_slower) {
  // 1024 and 16384 tokens under a causal mask: 512 and 8192 keys per query, and
  // the fill adds as many keys again.
  DeviceModel d = device();
  d.attentionFill = 256;
  auto rate = [&](int64_t tokens, Pass pass) {
    OpWork op;
    op.kind = OpClass::Attention;
    op.pass = pass;
    op.matmul = {1000, tokens, tokens, 128};
    op.flops = 4.0 * 1000 * double(tokens) * double(tokens) * 128 / 2;
    if (pass == Pass::BackwardInput)
      op.flops *= 2.5;
    return op.flops / attentionSeconds(d, op) / d.peakBF16;
  };
  EXPECT_NEAR(rate(1024, Pass::Forward) / d.attentionRate, 512.0 / 768, 1e-9);
  EXPECT_NEAR(rate(16384, Pass::Forward) / d.attentionRate, 8192.0 / 8448,
              1e-9);
  EXPECT_NEAR(rate(1024, Pass::BackwardInput) / d.attentionBackwardRate,
              512.0 / 768, 1e-9);
}

TEST(ComputeModel, narrow_heads_are_slower) {
  DeviceModel d = device();
  d.attentionNarrow = 0.5;
  auto seconds = [&](int64_t headDim, bool portable) {
    OpWork op;
    op.kind = OpClass::Attention;
    op.portable = portable;
    op.matmul = {1000, 8192, 8192, headDim};
    op.flops = 4.0 * 1000 * 8192.0 * 8192 * double(headDim) / 2;
    return attentionSeconds(d, op);
  };
  EXPECT_NEAR(2 * seconds(64, false) / seconds(128, false), 1.5, 1e-9);
  EXPECT_NEAR(2 * seconds(64, true) / seconds(128, true), 1.06, 1e-9);
}

TEST(DeviceModel, constants_of_a_file_replace_the_guesses) {
  DeviceSpec spec;
  spec.peakFlops = {{"bf16", {1e14, Provenance::Datasheet, ""}}};
  spec.constants = {{"memory_rate", {0.25, Provenance::Fitted, ""}}};
  DeviceModel model = makeDeviceModel(spec);
  EXPECT_EQ(model.memoryRate, 0.25);
  EXPECT_EQ(model.matmulFill, DeviceModel().matmulFill);
  EXPECT_EQ(model.unitType(DType::FP8), DType::BF16);
  EXPECT_EQ(model.peak(DType::FP8), 1e14);
  EXPECT_EQ(model.peak(DType::F32), 5e13);
  // Constants of the device, and of a host's calls.
  EXPECT_LE(deviceConstants().size(), 15u + 1);
}

} // namespace
