//===- ClusterSpec.cpp - Clusters as JSON -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes the JSON form of a cluster. ClusterValidate.cpp checks the
// ranges of the numbers.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/ClusterSpec.h"
#include "DeviceFiles.h"
#include "tessera/Support/Errors.h"
#include "tessera/Support/Json.h"
#include "tessera/Support/Spelling.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace tessera;

StringRef tessera::stringify(Provenance provenance) {
  switch (provenance) {
  case Provenance::Measured:
    return "measured";
  case Provenance::Fitted:
    return "fitted";
  case Provenance::Datasheet:
    return "datasheet";
  case Provenance::Guess:
    return "guess";
  }
  return "";
}

static const Quantity *
findIn(const std::vector<std::pair<std::string, Quantity>> &list,
       StringRef name) {
  for (const auto &[key, value] : list)
    if (key == name)
      return &value;
  return nullptr;
}

const Quantity *DeviceSpec::findPeak(StringRef dtype) const {
  return findIn(peakFlops, dtype);
}

const Quantity *DeviceSpec::findConstant(StringRef constant) const {
  return findIn(constants, constant);
}

int64_t ClusterSpec::numDevices() const {
  return levels.empty() ? 1 : levels.back().devices;
}

int64_t ClusterSpec::innerDevices() const {
  return levels.empty() ? 1 : levels.front().devices;
}

namespace {

/// Reads one object of the file. Keeps the first error, names fields by their
/// path, and records which keys were read.
class ClusterReader {
public:
  ClusterReader(const json::Object &object, std::string path, Error &error)
      : object(object), path(std::move(path)), error(error) {}

  /// Records `field: expects <what> but got <found>` unless there is an error
  /// already.
  void fail(StringRef key, StringRef what, const json::Value *found) {
    if (error)
      return;
    std::string text = "nothing";
    if (found)
      text = formatv("{0}", *found).str();
    error = createStringError(
        formatv("{0}: expects {1} but got {2}", field(key), what, text));
  }

  const json::Value *get(StringRef key) {
    known.push_back(key);
    return object.get(key);
  }

  std::string string(StringRef key) {
    const json::Value *value = get(key);
    if (value)
      if (auto text = value->getAsString())
        return text->str();
    fail(key, "a string", value);
    return "";
  }

  int64_t integer(StringRef key) {
    const json::Value *value = get(key);
    if (value)
      if (auto number = value->getAsInteger())
        return *number;
    fail(key, "an integer", value);
    return 0;
  }

  /// Reads {"value": 1.0, "from": "measured", "source": "..."}.
  Quantity quantity(StringRef key) {
    const json::Value *value = get(key);
    const json::Object *fields = value ? value->getAsObject() : nullptr;
    if (!fields) {
      fail(key, "an object with value, from and source", value);
      return {};
    }
    ClusterReader reader(*fields, field(key), error);
    Quantity result;
    const json::Value *number = reader.get("value");
    if (number && number->getAsNumber())
      result.value = *number->getAsNumber();
    else
      reader.fail("value", "a number", number);
    std::string from = reader.string("from");
    bool found = false;
    for (Provenance p : {Provenance::Measured, Provenance::Fitted,
                         Provenance::Datasheet, Provenance::Guess})
      if (stringify(p) == from) {
        result.provenance = p;
        found = true;
      }
    if (!found)
      reader.fail("from", "'measured', 'fitted', 'datasheet' or 'guess'",
                  fields->get("from"));
    result.source = reader.string("source");
    reader.finish();
    return result;
  }

  /// Reads an object of quantities, in the order of their names.
  std::vector<std::pair<std::string, Quantity>> quantities(StringRef key) {
    std::vector<std::pair<std::string, Quantity>> result;
    const json::Object *fields = objectAt(key);
    if (!fields)
      return result;
    ClusterReader reader(*fields, field(key), error);
    for (StringRef name : sortKeys(*fields))
      result.emplace_back(name.str(), reader.quantity(name));
    return result;
  }

  const json::Object *objectAt(StringRef key) {
    const json::Value *value = get(key);
    if (value && value->getAsObject())
      return value->getAsObject();
    fail(key, "an object", value);
    return nullptr;
  }

  const json::Array *arrayAt(StringRef key) {
    const json::Value *value = get(key);
    if (value && value->getAsArray())
      return value->getAsArray();
    fail(key, "a list", value);
    return nullptr;
  }

  /// Reports keys that were never read as errors.
  void finish() {
    for (StringRef name : sortKeys(object))
      if (!error && !is_contained(known, name))
        error = createStringError(formatv(
            "{0}: expects a known field but got '{1}'{2}",
            path.empty() ? "top level" : path, name, didYouMean(name, known)));
  }

  std::string field(StringRef key) const {
    return path.empty() ? key.str() : path + "." + key.str();
  }

private:
  const json::Object &object;
  std::string path;
  Error &error;
  SmallVector<StringRef, 8> known;
};

} // namespace

static DeviceSpec readDevice(const json::Object &object, std::string path,
                             Error &error) {
  ClusterReader reader(object, std::move(path), error);
  DeviceSpec device;
  device.name = reader.string("name");
  device.peakFlops = reader.quantities("peak_flops");
  device.memoryBytes = reader.quantity("memory_bytes");
  device.memoryBandwidth = reader.quantity("memory_bytes_per_s");
  device.multiprocessors = reader.quantity("multiprocessors");
  device.constants = reader.quantities("constants");
  reader.finish();
  return device;
}

Error tessera::checkDevice(const json::Object &object) {
  Error error = Error::success();
  DeviceSpec device = readDevice(object, "", error);
  return error ? std::move(error) : takeFirst(device.validate(""));
}

static LevelSpec readLevel(const json::Object &object, size_t index,
                           Error &error) {
  ClusterReader reader(object, formatv("levels[{0}]", index), error);
  LevelSpec level;
  level.name = reader.string("name");
  level.devices = reader.integer("devices");
  if (object.get("segment"))
    level.segment = reader.integer("segment");
  if (object.get("alone"))
    level.alone = reader.quantity("alone");
  level.latency = reader.quantity("latency_s");
  level.bandwidth = reader.quantity("bytes_per_s");
  level.efficiency = reader.quantity("efficiency");
  if (const json::Array *list = reader.arrayAt("algorithms"))
    for (const json::Value &value : *list) {
      auto name = value.getAsString();
      if (!name || (*name != "ring" && *name != "tree" && *name != "direct"))
        reader.fail("algorithms", "'ring', 'tree' or 'direct'", &value);
      else
        level.algorithms.push_back(name->str());
    }
  reader.finish();
  return level;
}

static HostSpec readHost(const json::Object &object, Error &error) {
  ClusterReader reader(object, "host", error);
  HostSpec host;
  host.memoryBytes = reader.quantity("memory_bytes");
  host.linkBandwidth = reader.quantity("link_bytes_per_s");
  host.diskBytes = reader.quantity("disk_bytes");
  host.diskBandwidth = reader.quantity("disk_bytes_per_s");
  reader.finish();
  return host;
}

static CollectiveSpec readCollectives(const json::Object &object,
                                      Error &error) {
  ClusterReader reader(object, "collectives", error);
  CollectiveSpec collectives;
  collectives.baseLow = reader.quantity("base_low_s");
  collectives.baseBulk = reader.quantity("base_bulk_s");
  collectives.bulkStep = reader.quantity("bulk_step");
  collectives.lowShare = reader.quantity("low_share");
  reader.finish();
  return collectives;
}

/// The device of the cluster in `fileName`, without names of other devices.
static std::optional<json::Object>
expandDevice(const json::Value &device, StringRef fileName, Error &error) {
  SmallString<128> folder(sys::path::parent_path(fileName));
  sys::path::append(folder, "..", "devices");
  Expected<json::Object> expanded =
      DeviceFiles(folder.str().str()).expand(device, "device");
  if (expanded)
    return std::move(*expanded);
  if (error)
    consumeError(expanded.takeError());
  else
    error = expanded.takeError();
  return std::nullopt;
}

static Expected<ClusterSpec> readCluster(const json::Object &object,
                                         StringRef fileName) {
  Error error = Error::success();
  ClusterReader reader(object, "", error);
  ClusterSpec spec;
  spec.name = reader.string("name");
  const json::Value *device = reader.get("device");
  if (!device)
    reader.fail("device", "an object or the name of a device", device);
  else if (auto expanded = expandDevice(*device, fileName, error))
    spec.device = readDevice(*expanded, "device", error);
  if (const json::Array *list = reader.arrayAt("levels"))
    for (auto [index, value] : llvm::enumerate(*list)) {
      if (const json::Object *level = value.getAsObject())
        spec.levels.push_back(readLevel(*level, index, error));
      else
        reader.fail(formatv("levels[{0}]", index).str(), "an object", &value);
    }
  if (const json::Object *host = reader.objectAt("host"))
    spec.host = readHost(*host, error);
  if (object.get("collectives"))
    if (const json::Object *collectives = reader.objectAt("collectives"))
      spec.collectives = readCollectives(*collectives, error);
  reader.finish();
  if (!error)
    error = takeFirst(spec.validate());
  if (error)
    return std::move(error);
  return spec;
}

Expected<ClusterSpec> tessera::parseClusterSpec(StringRef text,
                                                StringRef fileName) {
  Expected<json::Value> value = parseJson(text);
  if (!value)
    return prefixError(fileName + ": ", value.takeError());
  const json::Object *object = value->getAsObject();
  if (!object)
    return createStringError(fileName + ": expects a JSON object");
  Expected<ClusterSpec> spec = readCluster(*object, fileName);
  if (!spec)
    return prefixError(fileName + ": ", spec.takeError());
  return spec;
}

Expected<ClusterSpec> tessera::readClusterSpec(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError(path + ": " + buffer.getError().message());
  return parseClusterSpec((*buffer)->getBuffer(), path);
}

static json::Object write(const Quantity &quantity) {
  return json::Object{{"value", quantity.value},
                      {"from", stringify(quantity.provenance)},
                      {"source", quantity.source}};
}

static json::Object
write(const std::vector<std::pair<std::string, Quantity>> &list) {
  json::Object object;
  for (const auto &[name, quantity] : list)
    object[name] = write(quantity);
  return object;
}

json::Value tessera::toJson(const ClusterSpec &spec) {
  json::Array levels;
  for (const LevelSpec &level : spec.levels) {
    json::Object object{{"name", level.name},
                        {"devices", level.devices},
                        {"latency_s", write(level.latency)},
                        {"bytes_per_s", write(level.bandwidth)},
                        {"efficiency", write(level.efficiency)},
                        {"algorithms", json::Array(level.algorithms)}};
    if (level.segment)
      object["segment"] = level.segment;
    if (level.alone.value != 1)
      object["alone"] = write(level.alone);
    levels.push_back(std::move(object));
  }
  const DeviceSpec &device = spec.device;
  const HostSpec &host = spec.host;
  json::Object cluster{
      {"name", spec.name},
      {"device",
       json::Object{{"name", device.name},
                    {"peak_flops", write(device.peakFlops)},
                    {"memory_bytes", write(device.memoryBytes)},
                    {"memory_bytes_per_s", write(device.memoryBandwidth)},
                    {"multiprocessors", write(device.multiprocessors)},
                    {"constants", write(device.constants)}}},
      {"levels", std::move(levels)},
      {"host", json::Object{{"memory_bytes", write(host.memoryBytes)},
                            {"link_bytes_per_s", write(host.linkBandwidth)},
                            {"disk_bytes", write(host.diskBytes)},
                            {"disk_bytes_per_s", write(host.diskBandwidth)}}}};
  if (spec.collectives) {
    const CollectiveSpec &collectives = *spec.collectives;
    cluster["collectives"] =
        json::Object{{"base_low_s", write(collectives.baseLow)},
                     {"base_bulk_s", write(collectives.baseBulk)},
                     {"bulk_step", write(collectives.bulkStep)},
                     {"low_share", write(collectives.lowShare)}};
  }
  return cluster;
}
