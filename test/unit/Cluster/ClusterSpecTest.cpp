//===- ClusterSpecTest.cpp - Reading clusters -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/ClusterSpec.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

std::string quantity(const std::string &value) {
  return R"({"value": )" + value +
         R"(, "from": "datasheet", "source": "a sheet"})";
}

/// A valid cluster of 2 nodes of 8, with `find` replaced by `with` in its text.
std::string clusterText(const std::string &find = "",
                        const std::string &with = "") {
  // clang-format off
  std::string text = R"({"name": "test", "device": {"name": "H",
    "peak_flops": {"bf16": )" + quantity("989e12") + R"(},
    "memory_bytes": )" + quantity("80e9") + R"(,
    "memory_bytes_per_s": )" + quantity("3.35e12") + R"(,
    "multiprocessors": )" + quantity("132") + R"(,
    "constants": {"launch": )" + quantity("7e-6") + R"(}},
    "levels": [
     {"name": "nvlink", "devices": 8, "latency_s": )" + quantity("1e-6") + R"(,
      "bytes_per_s": )" + quantity("450e9") + R"(, "efficiency": )" +
      quantity("0.8") + R"(, "algorithms": ["ring", "tree"]},
     {"name": "ib", "devices": 16, "latency_s": )" + quantity("6e-6") + R"(,
      "bytes_per_s": )" + quantity("50e9") + R"(, "efficiency": )" +
      quantity("0.9") + R"(, "algorithms": ["ring"]}],
    "host": {"memory_bytes": )" + quantity("256e9") + R"(,
     "link_bytes_per_s": )" + quantity("64e9") + R"(,
     "disk_bytes": )" + quantity("4e12") + R"(,
     "disk_bytes_per_s": )" + quantity("5e9") + R"(}})";
  // clang-format on
  size_t at = find.empty() ? std::string::npos : text.find(find);
  if (at != std::string::npos)
    text.replace(at, find.size(), with);
  EXPECT_EQ(find.empty(), at == std::string::npos) << find;
  return text;
}

/// The error of the changed cluster, without the file's name.
std::string errorOf(const std::string &find, const std::string &with) {
  llvm::Expected<ClusterSpec> spec =
      parseClusterSpec(clusterText(find, with), "c.json");
  if (spec)
    return "none";
  std::string text = llvm::toString(spec.takeError());
  EXPECT_EQ(text.rfind("c.json: ", 0), 0u) << text;
  return text.substr(std::min<size_t>(8, text.size()));
}

TEST(ClusterSpec, reads_and_writes) {
  llvm::Expected<ClusterSpec> spec = parseClusterSpec(clusterText(), "c.json");
  ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
  EXPECT_EQ(spec->device.findPeak("bf16")->value, 989e12);
  EXPECT_EQ(spec->device.findPeak("fp8"), nullptr);
  EXPECT_EQ(spec->device.findConstant("launch")->value, 7e-6);
  EXPECT_EQ(spec->device.findConstant("launch")->provenance,
            Provenance::Datasheet);
  EXPECT_EQ(spec->numDevices(), 16);
  EXPECT_EQ(spec->innerDevices(), 8);
  EXPECT_EQ(llvm::toString(spec->checkSize(16)), "");
  EXPECT_EQ(llvm::toString(spec->checkSize(32)),
            "levels: expects a level of at least 32 devices but the outermost, "
            "'ib', has 16");

  std::string text = llvm::formatv("{0}", toJson(*spec));
  llvm::Expected<ClusterSpec> again = parseClusterSpec(text, "c.json");
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(std::string(llvm::formatv("{0}", toJson(*again))), text);
}

TEST(ClusterSpec, names_the_field_of_a_wrong_number) {
  EXPECT_EQ(errorOf("450e9", "-450e9"),
            "levels[0].bytes_per_s: expects bytes per second from 1.00e+07 to "
            "1.00e+14 but got -4.50e+11");
  EXPECT_EQ(errorOf("450e9", "450"),
            "levels[0].bytes_per_s: expects bytes per second from 1.00e+07 to "
            "1.00e+14 but got 4.50e+02; is it GB/s?");
  EXPECT_EQ(errorOf("6e-6", "6"),
            "levels[1].latency_s: expects seconds from 1.00e-09 to 1.00e-02 "
            "but got 6.00e+00; is it microseconds?");
  EXPECT_EQ(errorOf("989e12", "989"),
            "device.peak_flops.bf16: expects FLOP/s from 1.00e+09 to 1.00e+18 "
            "but got 9.89e+02; is it TFLOP/s?");
  EXPECT_EQ(errorOf("80e9", "80"),
            "device.memory_bytes: expects bytes from 1.00e+06 to 1.00e+16 but "
            "got 8.00e+01; is it GB?");
  EXPECT_EQ(errorOf("0.8", "80"),
            "levels[0].efficiency: expects a share of 1 from 1.00e-03 to "
            "1.00e+00 but got 8.00e+01; is it percent?");
}

TEST(ClusterSpec, sizes_of_levels_nest) {
  EXPECT_EQ(errorOf("\"devices\": 16", "\"devices\": 12"),
            "levels[1].devices: expects a larger multiple of the 8 devices of "
            "'nvlink' but got 12");
  EXPECT_EQ(errorOf("\"latency_s\": " + quantity("6e-6"),
                    "\"latency_s\": " + quantity("1e-7")),
            "levels[1].latency_s: expects at least the 1.00e-06 of 'nvlink' "
            "inside it but got 1.00e-07; are the levels from the inside out?");
  ClusterSpec empty;
  EXPECT_TRUE(llvm::StringRef(llvm::toString(empty.validate()))
                  .contains("levels: expects at least one level but got "
                            "none\n"));
}

TEST(ClusterSpec, a_segment_is_a_part_of_a_group) {
  EXPECT_EQ(errorOf("\"devices\": 8", "\"devices\": 8, \"segment\": 9"),
            "levels[0].segment: expects at most the 8 devices of the level but "
            "got 9");
  auto spec = parseClusterSpec(
      clusterText("\"devices\": 8", "\"devices\": 8, \"segment\": 4"),
      "c.json");
  ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
  EXPECT_EQ(spec->levels[0].segment, 4);
  std::string text = llvm::formatv("{0}", toJson(*spec));
  EXPECT_NE(text.find("\"segment\":4"), std::string::npos);
}

TEST(ClusterSpec, names_the_field_of_a_wrong_form) {
  EXPECT_EQ(errorOf("\"levels\"", "\"level\""),
            "levels: expects a list but got nothing");
  EXPECT_EQ(errorOf("\"datasheet\"", "\"hearsay\""),
            "device.peak_flops.bf16.from: expects 'measured', 'fitted', "
            "'datasheet' or 'guess' but got \"hearsay\"");
  EXPECT_EQ(errorOf("\"devices\": 8", "\"devices\": 8, \"speed\": 1"),
            "levels[0]: expects a known field but got 'speed'");
  EXPECT_EQ(errorOf("80e9", "\"80e9\""),
            "device.memory_bytes.value: expects a number but got \"80e9\"");
  EXPECT_EQ(errorOf("\"tree\"", "\"star\""),
            "levels[0].algorithms: expects 'ring', 'tree' or 'direct' but "
            "got \"star\"");
}

} // namespace
