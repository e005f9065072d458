//===- PresetsTest.cpp - The clusters that come with the project ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Support/Json.h"
#include "tessera/Support/Share.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
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
}

//===----------------------------------------------------------------------===//
// Files of devices
//===----------------------------------------------------------------------===//

llvm::json::Object readJson(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(bool(buffer)) << path;
  auto value = parseJson((*buffer)->getBuffer());
  EXPECT_TRUE(value && value->getAsObject()) << path;
  return std::move(*value->getAsObject());
}

/// The quantities of a device file that have a value of their own, by field.
std::map<std::string, const llvm::json::Object *>
listValues(const llvm::json::Object &object, const std::string &path = "") {
  std::map<std::string, const llvm::json::Object *> values;
  for (const auto &[key, field] : object)
    if (const llvm::json::Object *inner = field.getAsObject()) {
      if (inner->get("value"))
        values[path + key.str()] = inner;
      else
        values.merge(listValues(*inner, path + key.str() + "."));
    }
  return values;
}

std::map<std::string, llvm::json::Object> deviceFiles() {
  std::map<std::string, llvm::json::Object> files;
  for (const std::string &name : listShared("devices"))
    files[name] = readJson(findShared("devices", name));
  return files;
}

TEST(Presets, clusters_name_their_device) {
  std::map<std::string, ClusterSpec> all = presets();
  std::map<std::string, llvm::json::Object> devices = deviceFiles();
  for (const auto &[name, spec] : all) {
    llvm::json::Object cluster =
        readJson(std::string(TESSERA_CLUSTERS) + "/" + name + ".json");
    const llvm::json::Object *own = cluster.getObject("device");
    auto device = own ? own->getString("like") : cluster.getString("device");
    ASSERT_TRUE(device) << name;
    EXPECT_TRUE(devices.count(device->str())) << name;
  }
  for (const auto &[name, device] : devices)
    EXPECT_EQ(device.getString("name")->lower(), name);
}

TEST(Presets, no_constant_of_a_device_stands_twice) {
  std::map<std::string, llvm::json::Object> devices = deviceFiles();
  std::map<std::string, std::string> origins;
  for (const auto &[name, device] : devices) {
    for (const auto &[field, quantity] : listValues(device)) {
      // Data sheets of different devices may agree; fits and guesses do not.
      if (llvm::StringRef(field).starts_with("constants.")) {
        std::string text = llvm::formatv(
            "{0} {1}", field, llvm::json::Value(llvm::json::Object(*quantity)));
        auto [it, isNew] = origins.emplace(text, name);
        EXPECT_TRUE(isNew) << text << " of " << it->second << " and " << name;
      }
      // "as H100" is a reference and not a value.
      llvm::StringRef source = *quantity->getString("source");
      if (source.consume_front("as ")) {
        std::string word =
            source.take_until([](char c) { return !isalnum(c); }).lower();
        for (const auto &other : devices)
          EXPECT_FALSE(llvm::StringRef(other.first).starts_with(word + "-"))
              << name << " " << field;
      }
    }
  }
}

TEST(Presets, a_device_repeats_nothing_of_the_one_that_it_is_like) {
  std::map<std::string, llvm::json::Object> devices = deviceFiles();
  for (const auto &[name, device] : devices) {
    auto like = device.getString("like");
    for (; like; like = devices[like->str()].getString("like"))
      for (const auto &[field, quantity] :
           listValues(devices.at(like->str()))) {
        auto own = listValues(device);
        auto found = own.find(field);
        if (found != own.end())
          EXPECT_NE(*found->second, *quantity) << name << " " << field;
      }
  }
}

} // namespace
