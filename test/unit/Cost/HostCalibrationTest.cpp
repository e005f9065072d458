//===- HostCalibrationTest.cpp - Constants of this machine's ranks --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/HostCalibration.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::cost;

namespace {

const HostSeconds kTruth = {5e-7,    2e-11, 8e-10, 1e-10,
                            1.2e-11, 6e-6,  1e-6,  1.3e-10};

/// Measurements of a machine with the constants kTruth; some rounds are slower
/// by a multiple of `factor`.
std::vector<HostProbe> makeProbes(double factor) {
  // Rows by term; each probe also has some work of other terms.
  const double work[kNumHostTerms][kNumHostTerms] = {
      {200, 1e4, 0, 0, 0, 0, 0, 0},  {8, 2e7, 0, 0, 0, 0, 0, 0},
      {8, 8e6, 1e6, 0, 0, 0, 0, 0},  {4, 0, 0, 2e7, 1e8, 0, 0, 0},
      {4, 0, 0, 3e6, 1e9, 0, 0, 0},  {0, 0, 0, 0, 0, 40, 40, 1e4},
      {0, 0, 0, 0, 0, 40, 120, 3e4}, {0, 0, 0, 0, 0, 8, 24, 2e7}};
  std::vector<HostProbe> probes;
  for (size_t i = 0; i < kNumHostTerms; ++i) {
    HostProbe &probe = probes.emplace_back();
    probe.term = static_cast<HostTerm>(i);
    double seconds = 0;
    for (size_t term = 0; term < kNumHostTerms; ++term) {
      probe.work[term] = work[i][term];
      seconds += work[i][term] * kTruth[term];
    }
    // The two fastest rounds have the true time, and so has the lower quartile.
    for (double round : {0, 0, 1, 2, 30})
      probe.seconds.push_back(seconds * (1 + round * factor));
  }
  return probes;
}

} // namespace

TEST(HostCalibration, finds_the_terms_that_made_the_probes) {
  auto seconds = fitHost(makeProbes(0.01));
  ASSERT_TRUE(static_cast<bool>(seconds))
      << llvm::toString(seconds.takeError());
  for (size_t term = 0; term < kNumHostTerms; ++term)
    EXPECT_NEAR((*seconds)[term] / kTruth[term], 1, 1e-6) << term;
}

TEST(HostCalibration, noise_names_the_constant) {
  std::vector<HostProbe> probes = makeProbes(0.01);
  probes[static_cast<size_t>(HostTerm::Function)].seconds = {1e-3, 2e-3, 3e-3,
                                                             4e-3, 5e-3};
  auto seconds = fitHost(probes);
  EXPECT_EQ(llvm::toString(seconds.takeError()),
            "device.constants.function_s: expects rounds that differ by at "
            "most 20% but got 54%; is the machine busy?");
  // A matmul that is as fast as reading its operands has no cost of its own.
  probes = makeProbes(0.01);
  for (double &time : probes[static_cast<size_t>(HostTerm::MatmulFlop)].seconds)
    time = 1e-6;
  seconds = fitHost(probes);
  EXPECT_EQ(llvm::toString(seconds.takeError()),
            "device.peak_flops.f32: expects a program that takes longer by it "
            "but got 1.0 us, no more than its other work; is the machine "
            "busy?");
}

TEST(HostCalibration, a_cluster_has_the_terms) {
  HostMachine machine{"a processor", 8, 2, 16e9};
  ClusterSpec spec = makeHostCluster(kTruth, machine);
  EXPECT_EQ(llvm::toString(spec.validate()), "");
  std::string text;
  llvm::raw_string_ostream(text) << toJson(spec);
  auto read = parseClusterSpec(text, "host.json");
  ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
  // Eight ranks on two processors: each has a quarter of one.
  WorkRates rates = makeWorkRates(read->device, /*isNarrow=*/false);
  EXPECT_NEAR(rates.bytesPerSecond, 1 / 8e-11, 1);
  EXPECT_NEAR(rates.matmulFlops * rates.bytesPerSecond, 1 / 4.8e-11, 10);
  EXPECT_NEAR(rates.kernelFloor, 2e-6, 1e-12);
  EXPECT_NEAR(rates.matmulBytes, 5, 1e-9);
  EXPECT_NEAR(rates.functionSeconds, 3.2e-9, 1e-15);
  EXPECT_EQ(rates.transferShare, 1);
  // At most a seventh of the start counts for a step. An all-reduce takes its
  // measured time, 24 us and 14 steps of 4 us, and 7/8 of 800 kB twice.
  Mesh mesh;
  mesh.names = {"dp"};
  mesh.sizes = {8};
  MeshLinks links = makeMeshLinks(*read, mesh);
  EXPECT_NEAR(links.axes[0][0].latency / links.library.baseLow, 0.15, 1e-9);
  EXPECT_NEAR(getCollectiveTime(links, mesh, CollectiveKind::AllReduce, 8e5,
                                {mesh.fullAxis(0)}),
              24e-6 + 14 * 4e-6 + 14e5 * 5.2e-10, 1e-12);
}
