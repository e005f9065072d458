//===- Format.cpp - The files of a checkpoint -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Format.h.
//
//===----------------------------------------------------------------------===//

#include "Format.h"

#include "data/Safetensors.h"
#include "support/Hash.h"
#include "support/Json.h"
#include "tessera_manifest.h"

#include <algorithm>
#include <functional>
#include <set>

using namespace tessera::rt;
using namespace tessera::manifest;

static constexpr const char *checkpointFormat = "tessera checkpoint";
static constexpr int64_t checkpointVersion = 1;
static constexpr const char *valuesMember = "values";

//===----------------------------------------------------------------------===//
// The manifest
//===----------------------------------------------------------------------===//

static std::string describeIntegers(const std::vector<int64_t> &values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text += format(i ? ", %lld" : "%lld", (long long)values[i]);
  return text + "]";
}

static std::string quoteMember(const char *name, const std::string &text) {
  return ", \"" + std::string(name) + "\": " + text;
}

static std::string describeAxis(const StridedAxis &axis) {
  return format("{\"%s\": %lld, \"%s\": %lld}", axis::kStride,
                (long long)axis.stride, axis::kSize, (long long)axis.size);
}

static std::string describeValue(const Value &value) {
  std::string sharding, order;
  for (const std::vector<StridedAxis> &axes : value.sharding) {
    sharding += sharding.empty() ? "[" : ", [";
    for (size_t i = 0; i < axes.size(); ++i)
      sharding += (i ? ", " : "") + describeAxis(axes[i]);
    sharding += "]";
  }
  for (const std::vector<int64_t> &chunks : value.order)
    order += (order.empty() ? "" : ", ") + describeIntegers(chunks);
  // Offsets in an arena are nobody's business but that of one program.
  std::vector<int64_t> offsets = value.offsets;
  for (int64_t &offset : offsets)
    offset = offset < 0 ? -1 : 0;
  std::string text =
      "{\"" + std::string(value::kName) + "\": " + quoteJson(value.name);
  text += quoteMember(value::kRole, quoteJson(roleName(value.role)));
  text += quoteMember(value::kDType, quoteJson(dtypeName(value.dtype)));
  text += quoteMember(value::kShape, describeIntegers(value.shape));
  text +=
      quoteMember(value::kLogicalShape, describeIntegers(value.logicalShape));
  if (!value.tiles.empty())
    text += quoteMember(value::kTiles, describeIntegers(value.tiles));
  if (!value.order.empty())
    text += quoteMember(value::kOrder, "[" + order + "]");
  text += quoteMember(value::kPaddedShape, describeIntegers(value.paddedShape));
  text += quoteMember(value::kSharding, "[" + sharding + "]");
  text += quoteMember(value::kLocalShape, describeIntegers(value.localShape));
  text += quoteMember(value::kOffset, offsets.size() == 1
                                          ? std::string("0")
                                          : describeIntegers(offsets));
  return text + quoteMember(value::kBytes, std::to_string(value.bytes)) + "}";
}

std::string tessera::rt::describeCheckpoint(const Manifest &manifest,
                                            const RunPosition &position) {
  std::string mesh;
  for (const MeshAxis &axis : manifest.mesh)
    mesh += (mesh.empty() ? "" : ", ") +
            ("{\"" + std::string(axis::kName) + "\": " + quoteJson(axis.name)) +
            format(", \"%s\": %lld}", axis::kSize, (long long)axis.size);
  std::string text =
      format("{\"format\": \"%s\", \"version\": %lld,\n", checkpointFormat,
             (long long)checkpointVersion) +
      " \"program\": " + quoteJson(manifest.program) +
      ", \"hash\": " + quoteJson(manifest.hash) +
      format(", \"ranks\": %d", manifest.ranks) +
      quoteMember(kMesh, "[" + mesh + "]") +
      quoteMember(kPPAxis, describeAxis(manifest.stageAxis)) +
      format(",\n \"step\": %lld, \"data_position\": %lld, \"data_begin\": "
             "%lld, \"seed\": %llu, \"data\": ",
             (long long)position.step, (long long)position.dataPosition,
             (long long)position.dataBegin, (unsigned long long)position.seed) +
      quoteJson(position.data) + ",\n \"values\": [";
  const char *comma = "\n  ";
  for (const Value *value : stateOf(manifest)) {
    text += comma + describeValue(*value);
    comma = ",\n  ";
  }
  return text + "]}\n";
}

/// Reads the members that say where the run is.
static std::string readPosition(const Json &json, RunPosition &position) {
  position.step = json.getInteger("step", -1);
  position.dataPosition = json.getInteger("data_position", -1);
  position.dataBegin = json.getInteger("data_begin", -1);
  position.data = json.getString("data");
  int64_t seed = json.getInteger("seed", -1);
  position.seed = uint64_t(seed);
  // Sums with a run's steps and sequences must not overflow.
  constexpr int64_t limit = int64_t(1) << 60;
  for (int64_t number :
       {position.step, position.dataPosition, position.dataBegin})
    if (number < 0 || number > limit)
      return "expects a step, a data position and its begin of at least 0";
  return seed < 0 ? "expects a seed of at least 0" : "";
}

/// Checks that the values can be in files.
static std::string checkValues(const std::vector<Value> &values) {
  std::set<std::string> names;
  for (const Value &value : values) {
    if (value.role != Role::Param && value.role != Role::State)
      return "expects parameters and state, but '" + value.name + "' is " +
             roleName(value.role);
    if (value.name.empty() || !names.insert(value.name).second)
      return "expects different names of values, but got '" + value.name + "'";
  }
  return std::string();
}

std::string tessera::rt::parseCheckpoint(const std::string &text,
                                         CheckpointManifest &checkpoint) {
  Json json;
  std::string error;
  if (!parseJson(text, json, error))
    return error;
  if (json.getString("format") != checkpointFormat)
    return std::string("expects \"format\": \"") + checkpointFormat + "\"";
  if (json.getInteger("version", 0) != checkpointVersion)
    return format("expects version %lld, but got %lld",
                  (long long)checkpointVersion,
                  (long long)json.getInteger("version", 0));
  error = checkMembers(json, {"format", "version", "program", "hash", kRanks,
                              kMesh, kPPAxis, "step", "data_position",
                              "data_begin", "seed", "data", valuesMember});
  if (!error.empty())
    return error;
  checkpoint = CheckpointManifest();
  Manifest &layout = checkpoint.layout;
  layout.program = json.getString("program");
  layout.hash = json.getString("hash");
  error = readPosition(json, checkpoint.position);
  if (error.empty())
    error = readLayout(json, valuesMember, layout);
  return error.empty() ? checkValues(layout.arguments) : error;
}

std::string tessera::rt::describeMesh(const Manifest &manifest) {
  std::string text;
  for (const MeshAxis &axis : manifest.mesh)
    text += (text.empty() ? "" : ",") + axis.name +
            format("=%lld", (long long)axis.size);
  return text;
}

std::vector<const Value *> tessera::rt::stateOf(const Manifest &manifest) {
  std::vector<const Value *> values;
  for (const Value &value : manifest.arguments)
    if (value.role == Role::Param || value.role == Role::State)
      values.push_back(&value);
  return values;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

int64_t FilePart::bytes() const {
  return box.elements() * dtypeSize(value->dtype);
}

/// The metadata in which torch's HuggingFaceStorageReader finds the offsets of
/// boxes (torch.distributed.checkpoint, _hf_utils.py).
static std::string describeOffsets(const std::vector<FilePart> &parts) {
  std::string text = "{";
  for (const FilePart &part : parts)
    text += (text.size() > 1 ? ", " : "") + quoteJson(part.value->name) +
            ": {\"saved_offsets\": " + describeIntegers(part.box.offset) + "}";
  return text + "}";
}

/// Completes a file that has its parts' values and boxes. The values are in one
/// array, whose order a reader has, too.
static void finish(CheckpointFile &file) {
  // Elements of large types come first, so that all are aligned.
  std::sort(file.parts.begin(), file.parts.end(),
            [](const FilePart &a, const FilePart &b) {
              int64_t sizeOfA = dtypeSize(a.value->dtype);
              int64_t sizeOfB = dtypeSize(b.value->dtype);
              return sizeOfA != sizeOfB ? sizeOfA > sizeOfB
                                        : std::less<>()(a.value, b.value);
            });
  SafetensorsHeader header;
  header.metadata = {{"format", "pt"},
                     {"DCP_SHARDING_INFO", describeOffsets(file.parts)}};
  int64_t end = 0;
  for (FilePart &part : file.parts) {
    part.begin = end;
    end += part.bytes();
    header.entries.push_back({part.value->name,
                              safetensorsName(part.value->dtype),
                              part.box.extent, part.begin, end});
  }
  file.header = describeSafetensors(header);
  for (FilePart &part : file.parts)
    part.begin += int64_t(file.header.size());
  file.bytes = end + int64_t(file.header.size());
}

/// Adds the boxes of a value to the files of a rank, one to each.
static void addBoxes(const Value &value, size_t rank, std::vector<Box> boxes,
                     std::vector<CheckpointFile> &files) {
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (files.size() == i) {
      std::string number = i ? format(".%zu", i) : std::string();
      files.emplace_back();
      files.back().name =
          format("rank-%05zu%s.safetensors", rank, number.c_str());
    }
    files[i].parts.push_back({&value, std::move(boxes[i]), 0});
  }
}

std::string
tessera::rt::layoutFiles(const std::vector<const Value *> &values, int ranks,
                         std::vector<std::vector<CheckpointFile>> &files) {
  files.assign(size_t(ranks), {});
  for (const Value *value : values) {
    std::vector<std::vector<Box>> dealt = dealBoxes(*value, ranks);
    for (size_t rank = 0; rank < dealt.size(); ++rank) {
      if (dealt[rank].size() > size_t(maxCheckpointFiles))
        return format("expects at most %d boxes of a tensor on a rank, but "
                      "'%s' has more on rank %zu",
                      maxCheckpointFiles, value->name.c_str(), rank);
      addBoxes(*value, rank, std::move(dealt[rank]), files[rank]);
    }
  }
  for (std::vector<CheckpointFile> &own : files)
    for (CheckpointFile &file : own)
      finish(file);
  return std::string();
}

//===----------------------------------------------------------------------===//
// Checksums
//===----------------------------------------------------------------------===//

std::string tessera::rt::describeSums(const FileSums &sums) {
  std::string text;
  for (const auto &[name, sum] : sums)
    text += describeChecksum(sum) + "  " + name + "\n";
  return text;
}

std::string tessera::rt::parseSums(const std::string &text, FileSums &sums) {
  std::set<std::string> names;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    std::string line = text.substr(begin, end - begin);
    uint64_t sum;
    if (end == std::string::npos || line.size() < 19 ||
        line.compare(16, 2, "  ") != 0 ||
        !readChecksum(line.substr(0, 16), sum) ||
        line.find('/') != std::string::npos ||
        !names.insert(line.substr(18)).second)
      return "expects lines of 16 hexadecimal digits, two spaces and the name "
             "of another file, but got '" +
             line.substr(0, 80) + "'";
    sums.push_back({line.substr(18), sum});
    begin = end + 1;
  }
  return std::string();
}
