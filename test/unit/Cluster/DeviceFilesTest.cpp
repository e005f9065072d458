//===- DeviceFilesTest.cpp - Clusters that name their device --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Support/Share.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

std::string quantity(const std::string &value,
                     const std::string &source = "a sheet") {
  return R"({"value": )" + value + R"(, "from": "datasheet", "source": ")" +
         source + "\"}";
}

/// A folder with devices/ and clusters/, deleted at the end of a test.
class DeviceFiles : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tessera", root));
    write("devices/big.json",
          R"({"name": "Big", "peak_flops": {"bf16": )" + quantity("989e12") +
              R"(, "f32": )" + quantity("494e12") + R"(}, "memory_bytes": )" +
              quantity("80e9") + R"(, "memory_bytes_per_s": )" +
              quantity("3e12") + R"(, "multiprocessors": )" + quantity("132") +
              R"(, "constants": {"launch": )" + quantity("7e-6", "a run") +
              R"(, "rate": )" + quantity("0.7") + "}}");
    ASSERT_FALSE(llvm::sys::fs::create_directory(pathOf("clusters")));
    // The same chip with less memory, and a guess.
    write("devices/small.json",
          R"({"name": "Small", "like": "big", "memory_bytes": )" +
              quantity("40e9") +
              R"(, "constants": {"rate": {"as": "big", "from": "guess",)"
              R"( "source": "as Big"}}})");
  }
  void TearDown() override { llvm::sys::fs::remove_directories(root); }

  std::string pathOf(llvm::StringRef name) {
    llvm::SmallString<128> path(root);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }

  void write(llvm::StringRef name, llvm::StringRef text) {
    std::string path = pathOf(name);
    llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path));
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << text;
    ASSERT_FALSE(error);
  }

  llvm::Expected<ClusterSpec> readWith(const std::string &device) {
    std::string text =
        R"({"name": "test", "device": )" + device + R"(,
     "levels": [{"name": "nvlink", "devices": 8, "latency_s": )" +
        quantity("1e-6") + R"(, "bytes_per_s": )" + quantity("450e9") +
        R"(, "efficiency": )" + quantity("0.8") + R"(, "algorithms": ["ring"]}],
     "host": {"memory_bytes": )" +
        quantity("256e9") + R"(, "link_bytes_per_s": )" + quantity("64e9") +
        R"(, "disk_bytes": )" + quantity("4e12") + R"(, "disk_bytes_per_s": )" +
        quantity("5e9") + "}}";
    return parseClusterSpec(text, pathOf("clusters/c.json"));
  }

  DeviceSpec deviceOf(const std::string &device) {
    auto spec = readWith(device);
    EXPECT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
    return spec ? spec->device : DeviceSpec();
  }

  /// The error of a cluster with this device; the folder is "DIR".
  std::string errorOf(const std::string &device) {
    auto spec = readWith(device);
    if (spec)
      return "none";
    std::string text = llvm::toString(spec.takeError()), dir = pathOf("");
    for (size_t at; (at = text.find(dir)) != std::string::npos;)
      text.replace(at, dir.size(), "DIR/");
    return text;
  }

  llvm::SmallString<128> root;
};

TEST_F(DeviceFiles, a_cluster_names_its_device) {
  DeviceSpec device = deviceOf("\"big\"");
  EXPECT_EQ(device.name, "Big");
  EXPECT_EQ(device.memoryBytes.value, 80e9);
  EXPECT_EQ(device.findConstant("launch")->source, "a run");
}

TEST_F(DeviceFiles, a_device_has_what_differs_from_another) {
  DeviceSpec device = deviceOf("\"small\"");
  EXPECT_EQ(device.name, "Small");
  EXPECT_EQ(device.memoryBytes.value, 40e9);
  EXPECT_EQ(device.multiprocessors.value, 132);
  EXPECT_EQ(device.findPeak("f32")->value, 494e12);
  EXPECT_EQ(device.findConstant("launch")->provenance, Provenance::Datasheet);
  EXPECT_EQ(device.findConstant("rate")->value, 0.7);
  EXPECT_EQ(device.findConstant("rate")->provenance, Provenance::Guess);
  EXPECT_EQ(device.findConstant("rate")->source, "as Big");
}

TEST_F(DeviceFiles, a_cluster_has_other_values_of_a_device) {
  DeviceSpec device = deviceOf(
      R"({"like": "small", "memory_bytes_per_s": )" + quantity("2e12") +
      R"(, "constants": {"floor": )" + quantity("0.6") +
      R"(, "launch": {"as": "big", "source": "x"}}})");
  EXPECT_EQ(device.name, "Small");
  EXPECT_EQ(device.memoryBandwidth.value, 2e12);
  EXPECT_EQ(device.memoryBytes.value, 40e9);
  EXPECT_EQ(device.findConstant("floor")->value, 0.6);
  EXPECT_EQ(device.findConstant("rate")->source, "as Big");
  EXPECT_EQ(device.findConstant("launch")->value, 7e-6);
  EXPECT_EQ(device.findConstant("launch")->source, "x");
}

TEST_F(DeviceFiles, a_device_may_be_in_the_cluster) {
  auto spec = readWith("\"small\"");
  ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
  std::string text = llvm::formatv("{0}", toJson(*spec));
  auto again = parseClusterSpec(text, "elsewhere.json");
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(std::string(llvm::formatv("{0}", toJson(*again))), text);
}

TEST_F(DeviceFiles, devices_that_are_not_next_to_a_cluster_are_shared) {
  EXPECT_EQ(deviceOf("\"h100-sxm-80gb\"").name, "H100-SXM-80GB");
}

/// The text of an error for an unknown device: it lists the devices next to the
/// cluster, and in share/.
std::string known() {
  std::string list;
  for (const std::string &name : listShared("devices"))
    list += (list.empty() ? "" : ", ") + name;
  return "expects a device of DIR/clusters/../devices (big, small) or "
         "share/devices (" +
         list + ") but got ";
}

TEST_F(DeviceFiles, an_unknown_device_is_an_error_with_all_names) {
  EXPECT_EQ(errorOf("\"bog\""), "DIR/clusters/c.json: device: " + known() +
                                    "\"bog\"; did you mean 'big'?");
  EXPECT_EQ(errorOf(R"({"like": 1})"),
            "DIR/clusters/c.json: device.like: " + known() + "1");
  EXPECT_EQ(errorOf("\"../devices/big\""),
            "DIR/clusters/c.json: device: " + known() + "\"../devices/big\"");
  EXPECT_EQ(errorOf("1"),
            "DIR/clusters/c.json: device: expects an object or the name of a "
            "device but got 1");
}

TEST_F(DeviceFiles, a_wrong_quantity_is_an_error_in_its_file) {
  EXPECT_EQ(
      errorOf(R"({"like": "big", "memory_bytes": )" + quantity("80") + "}"),
      "DIR/clusters/c.json: device.memory_bytes: expects bytes from "
      "1.00e+06 to 1.00e+16 but got 8.00e+01; is it GB?");
  EXPECT_EQ(errorOf(R"({"like": "big", "constants": {"x": {"as": "small"}}})"),
            "DIR/clusters/c.json: device.constants.x.as: expects a device that "
            "has constants.x but got 'small', which has none");
  EXPECT_EQ(errorOf(R"({"like": "big", "multiprocessors": {"as": "small",)"
                    R"( "value": 1}})"),
            "DIR/clusters/c.json: device.multiprocessors: expects value or as "
            "but got both");
  EXPECT_EQ(errorOf(R"({"like": "big", "speed": 1})"),
            "DIR/clusters/c.json: device: expects a known field but got "
            "'speed'");
  write("devices/wrong.json", R"({"name": "Wrong", "like": "big",
    "memory_bytes": )" + quantity("80") +
                                  "}");
  EXPECT_EQ(errorOf("\"wrong\""),
            "DIR/clusters/c.json: DIR/clusters/../devices/wrong.json: "
            "memory_bytes: expects bytes from 1.00e+06 to 1.00e+16 but got "
            "8.00e+01; is it GB?");
  write("devices/part.json", R"({"name": "Part"})");
  EXPECT_EQ(errorOf("\"part\""),
            "DIR/clusters/c.json: DIR/clusters/../devices/part.json: "
            "peak_flops: expects an object but got nothing");
}

TEST_F(DeviceFiles, devices_that_depend_on_each_other_are_an_error) {
  write("devices/a.json", R"({"name": "A", "like": "b"})");
  write("devices/b.json",
        R"({"name": "B", "constants": {"rate": {"as": "a"}}})");
  std::string error = errorOf("\"a\"");
  EXPECT_TRUE(llvm::StringRef(error).ends_with(
      "constants.rate.as: expects a device that does not depend on this one "
      "but got 'a'"))
      << error;
}

} // namespace
