//===- CalibrateTest.cpp - Constants from measurements --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Calibrate.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cost/ComputeModel.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::cost;

namespace {

Quantity guess(double value) { return {value, Provenance::Guess, ""}; }

ClusterSpec cluster() {
  ClusterSpec spec;
  spec.name = "test";
  spec.device.name = "device";
  spec.device.peakFlops = {{"bf16", guess(1000e12)}, {"fp8", guess(2000e12)}};
  spec.device.memoryBytes = guess(80e9);
  spec.device.memoryBandwidth = guess(3e12);
  spec.device.multiprocessors = guess(128);
  spec.levels = {{"nvlink", 8, guess(1e-6), guess(450e9), guess(0.8), {}},
                 {"ib", 1024, guess(5e-6), guess(50e9), guess(0.9), {}}};
  return spec;
}

LinkSpans spans(const ClusterSpec &spec, int64_t ranks) {
  Mesh mesh;
  mesh.names = {"x"};
  mesh.sizes = {ranks};
  return makeMeshLinks(spec, mesh).axes.front();
}

/// Measurements of a cluster with these constants.
Measurements measure(const ClusterSpec &spec) {
  Measurements result;
  for (int64_t ranks : {8, 64})
    for (double bytes = 8; bytes <= 8e9; bytes *= 4)
      result.collectives.push_back(
          {CollectiveKind::AllReduce, ranks, bytes,
           getTensorCollectiveTime(CollectiveKind::AllReduce, bytes,
                                   spans(spec, ranks))});
  DeviceModel device = makeDeviceModel(spec.device);
  for (int64_t size : {64, 4096, 8192, 16384}) {
    OpWork op;
    op.kind = OpClass::Matmul;
    op.matmul = {1, size, size, size};
    op.bytesRead = 4.0 * size * size;
    op.bytesWritten = 2.0 * size * size;
    result.matmuls.push_back({op.matmul, op.dtype, kernelSeconds(device, op)});
  }
  return result;
}

TEST(Calibrate, finds_the_constants_that_made_the_measurements) {
  ClusterSpec truth = cluster();
  truth.levels[0].efficiency.value = 0.7;
  truth.levels[1].efficiency.value = 0.6;
  truth.levels[1].latency.value = 9e-6;
  truth.device.constants = {{"matmul_rate", guess(0.71)},
                            {"kernel_floor_s", guess(5e-6)}};
  ClusterSpec spec = cluster();
  auto refinements = calibrate(spec, measure(truth), "two runs");
  ASSERT_TRUE(bool(refinements)) << llvm::toString(refinements.takeError());
  EXPECT_NEAR(spec.levels[0].efficiency.value, 0.7, 1e-3);
  EXPECT_NEAR(spec.levels[1].efficiency.value, 0.6, 1e-3);
  EXPECT_NEAR(spec.levels[1].latency.value, 9e-6, 1e-8);
  EXPECT_NEAR(spec.device.findConstant("matmul_rate")->value, 0.71, 5e-3);
  EXPECT_NEAR(spec.device.findConstant("kernel_floor_s")->value, 5e-6, 2e-7);
  // Correct constants keep their value and provenance.
  EXPECT_EQ(spec.levels[0].latency.value, 1e-6);
  EXPECT_EQ(spec.levels[0].latency.provenance, Provenance::Guess);
  EXPECT_EQ(spec.levels[1].efficiency.provenance, Provenance::Measured);
  EXPECT_EQ(spec.levels[1].efficiency.source, "two runs");
  for (const Refinement &r : *refinements)
    EXPECT_LT(r.errorAfter, 0.02) << r.field;
}

TEST(Calibrate, errors) {
  ClusterSpec spec = cluster();
  auto tooMany = calibrate(
      spec, {{{CollectiveKind::AllReduce, 2048, 1e9, 1}}, {}}, "a run");
  ASSERT_FALSE(bool(tooMany));
  EXPECT_EQ(llvm::toString(tooMany.takeError()),
            "levels: expects a level of at least 2048 devices but the "
            "outermost, 'ib', has 1024");
  auto nothing =
      calibrate(spec, {{{CollectiveKind::AllReduce, 8, 1e6, 1}}, {}}, "a run");
  ASSERT_FALSE(bool(nothing));
  EXPECT_EQ(llvm::toString(nothing.takeError()).find("expects collectives"),
            0u);
}

std::string ncclText(const std::string &program = "") {
  return "# " + program + R"(
# Using devices
#  Rank  0 Group  0 Pid  1 on  node device  0 [0x0f] a device
#  Rank  1 Group  0 Pid  2 on  node device  1 [0x2d] a device
#  Rank  2 Group  0 Pid  3 on  node device  2 [0x44] a device
#  Rank  3 Group  0 Pid  4 on  node device  3 [0x5b] a device
#
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        1024           256     float     sum      -1    20.00    0.05    0.08      0    20.00    0.05    0.08      0
node: some line of a launcher
   134217728      33554432     float     sum      -1   900.00  149.13  223.70      0   890.00  150.81  226.21      0
# Avg bus bandwidth    : 111.9
)";
}

TEST(Measurements, nccl_tests) {
  auto parsed = parseMeasurements(ncclText(), "run.txt");
  ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
  ASSERT_EQ(parsed->collectives.size(), 2u);
  EXPECT_EQ(parsed->collectives[1].kind, CollectiveKind::AllReduce);
  EXPECT_EQ(parsed->collectives[1].ranks, 4);
  EXPECT_EQ(parsed->collectives[1].bytes, 134217728);
  EXPECT_NEAR(parsed->collectives[1].seconds, 900e-6, 1e-12);
  parsed = parseMeasurements(ncclText("reduce_scatter_perf"), "run.txt");
  EXPECT_EQ(parsed->collectives[1].kind, CollectiveKind::ReduceScatter);
}

TEST(Measurements, tables_of_matmuls) {
  auto parsed =
      parseMeasurements("m,n,k,dtype,tflops\n8192,8192,8192,bf16,700\n"
                        "\n8192,4096,8192,fp8,1200\n",
                        "matmuls.csv");
  ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
  ASSERT_EQ(parsed->matmuls.size(), 2u);
  EXPECT_EQ(parsed->matmuls[0].dims, (MatmulDims{1, 8192, 8192, 8192}));
  EXPECT_NEAR(parsed->matmuls[0].seconds, 2.0 * 8192 * 8192 * 8192 / 700e12,
              1e-12);
  EXPECT_EQ(parsed->matmuls[1].type, DType::FP8);
  parsed = parseMeasurements("K, M, us, N, batch\n64,128,5,256,2\n", "p.csv");
  ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
  EXPECT_EQ(parsed->matmuls[0].dims, (MatmulDims{2, 128, 256, 64}));
  EXPECT_NEAR(parsed->matmuls[0].seconds, 5e-6, 1e-15);
}

std::string errorOf(const std::string &text) {
  auto parsed = parseMeasurements(text, "f");
  return parsed ? "" : llvm::toString(parsed.takeError());
}

TEST(Measurements, errors) {
  EXPECT_EQ(errorOf("m,n,seconds\n1,2,3\n"),
            "f:1: expects a header with m, n, k and seconds, ms, us or tflops, "
            "or the output of nccl-tests, but got 'm,n,seconds'");
  EXPECT_EQ(errorOf("m,n,k,us\n1,2,3,0\n"),
            "f:2: expects sizes, a type and a time above 0 but got '1,2,3,0'");
  EXPECT_EQ(errorOf("m,n,k,us,dtype\n1,2,3,4,int4\n"),
            "f:2: expects sizes, a type and a time above 0 but got "
            "'1,2,3,4,int4'");
  EXPECT_EQ(errorOf("m,n,k,us\n"), "f:1: expects rows of matmuls but got none");
  EXPECT_EQ(errorOf("# busbw\n"),
            "f:1: expects rows of nccl-tests but got none");
  std::string oneRank = ncclText();
  oneRank.erase(oneRank.find("#  Rank  1"),
                oneRank.find("#\n") - oneRank.find("#  Rank  1"));
  EXPECT_EQ(errorOf(oneRank).substr(0, 5), "f:10:") << errorOf(oneRank);
}

} // namespace
