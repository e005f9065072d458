//===- PresetsTest.cpp - The clusters that come with the project ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/ClusterSpec.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <map>

using namespace tessera;

namespace {

std::map<std::string, ClusterSpec> presets() {
  std::map<std::string, ClusterSpec> result;
  std::error_code error;
  llvm::sys::fs::directory_iterator it(TESSERA_CLUSTERS, error), end;
  for (; it != end && !error; it.increment(error)) {
    llvm::Expected<ClusterSpec> spec = readClusterSpec(it->path());
    EXPECT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
    if (spec)
      result[llvm::sys::path::stem(it->path()).str()] = *spec;
  }
  return result;
}

TEST(Presets, all_are_valid_and_say_where_numbers_are_from) {
  std::map<std::string, ClusterSpec> all = presets();
  for (const char *name :
       {"a100-40-sxm-ib", "a100-80-sxm-ib", "h100-sxm-ib", "h200-sxm-ib",
        "h800-sxm-ib", "b200-sxm-ib", "gb200-nvl72-ib", "b300-sxm-ib",
        "gb300-nvl72-ib", "v100-sxm-ib", "l40s-pcie-roce", "rtx4090-pcie-roce",
        "mi300x-oam-roce"})
    EXPECT_TRUE(all.count(name)) << name;
  for (const auto &[name, spec] : all) {
    EXPECT_EQ(spec.name, name);
    // "H100-SXM-80GB" has 80 x 2^30 bytes, as in every data sheet.
    llvm::StringRef device(spec.device.name);
    llvm::StringRef digits =
        device.take_front(device.rfind("GB")).rsplit('-').second;
    int64_t gigabytes = 0;
    EXPECT_FALSE(digits.getAsInteger(10, gigabytes)) << device.str();
    EXPECT_EQ(spec.device.memoryBytes.value,
              double(gigabytes) * (int64_t(1) << 30))
        << name;
    for (const auto &[constant, quantity] : spec.device.constants)
      EXPECT_FALSE(quantity.source.empty()) << name << " " << constant;
    for (const LevelSpec &level : spec.levels)
      EXPECT_FALSE(level.bandwidth.source.empty()) << name;
  }
}

TEST(Presets, peaks_are_dense_and_links_one_direction) {
  std::map<std::string, ClusterSpec> all = presets();
  auto peak = [&](const char *name, const char *dtype) {
    return all[name].device.findPeak(dtype)->value;
  };
  EXPECT_EQ(peak("a100-80-sxm-ib", "bf16"), 312e12);
  EXPECT_EQ(peak("h100-sxm-ib", "bf16"), 989e12);
  EXPECT_EQ(peak("h100-sxm-ib", "fp8"), 1979e12);
  EXPECT_EQ(peak("b200-sxm-ib", "bf16"), 2250e12);
  EXPECT_EQ(all["h100-sxm-ib"].levels[0].bandwidth.value, 450e9);
  EXPECT_EQ(all["h800-sxm-ib"].levels[0].bandwidth.value, 200e9);
  EXPECT_EQ(all["gb200-nvl72-ib"].innerDevices(), 72);
  // A device has the same constants in every cluster.
  for (const auto &[name, quantity] : all["a100-80-sxm-ib"].device.constants)
    EXPECT_EQ(all["a100-40-sxm-ib"].device.findConstant(name)->value,
              quantity.value)
        << name;
}

} // namespace
