//===- SavedState.cpp - The manifest of a saved state ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See SavedState.h.
//
//===----------------------------------------------------------------------===//

#include "SavedState.h"

#include "Npy.h"
#include "support/Json.h"
#include "support/Support.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;

/// Distinguishes the manifest of a state from other JSON.
static constexpr const char *stateFormat = "tessera state";
static constexpr int64_t stateVersion = 2;

bool SavedState::hasFile(const std::string &fileName) const {
  return std::any_of(files.begin(), files.end(), [&](const SavedFile &file) {
    return file.name + ".npy" == fileName;
  });
}

/// Formats all fields but the last, which is the checksum of this text.
static std::string describeFacts(const SavedState &state) {
  std::string text =
      format("{\"format\": \"%s\", \"version\": %lld,\n", stateFormat,
             (long long)stateVersion) +
      " \"kind\": " + quoteJson(state.kind) +
      ", \"program\": " + quoteJson(state.program) +
      ", \"hash\": " + quoteJson(state.hash) +
      format(", \"ranks\": %lld,\n \"step\": %lld, \"data_position\": %lld, "
             "\"data\": ",
             (long long)state.ranks, (long long)state.step,
             (long long)state.dataPosition) +
      quoteJson(state.data) + ",\n \"files\": [";
  const char *comma = "\n";
  for (const SavedFile &file : state.files) {
    text += std::string(comma) + "  {\"name\": " + quoteJson(file.name) +
            ", \"dtype\": " + quoteJson(file.dtype) + ", \"shape\": [";
    for (size_t i = 0; i < file.shape.size(); ++i)
      text += format(i ? ", %lld" : "%lld", (long long)file.shape[i]);
    text += format("], \"bytes\": %lld, \"checksum\": \"%016llx\"}",
                   (long long)file.bytes, (unsigned long long)file.checksum);
    comma = ",\n";
  }
  return text + "]";
}

static std::string describeChecksum(const std::string &facts) {
  return format("%016llx",
                (unsigned long long)xxh64(facts.data(), facts.size()));
}

std::string tessera::rt::describeState(const SavedState &state) {
  std::string facts = describeFacts(state);
  return facts + ",\n \"checksum\": \"" + describeChecksum(facts) + "\"}\n";
}

/// Reads sixteen hexadecimal digits; false for anything else.
static bool readChecksum(const std::string &text, uint64_t &checksum) {
  if (text.size() != 16 ||
      text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return false;
  checksum = strtoull(text.c_str(), nullptr, 16);
  return true;
}

static std::string readFile(const Json &json, SavedFile &file) {
  std::string error =
      checkMembers(json, {"name", "dtype", "shape", "bytes", "checksum"});
  if (!error.empty())
    return "a file " + error;
  file.name = json.getString("name");
  file.dtype = json.getString("dtype");
  file.bytes = json.getInteger("bytes", -1);
  for (const Json &extent : json.getArray("shape"))
    file.shape.push_back(extent.isInteger ? extent.integer : -1);
  bool isValid = !file.name.empty() &&
                 file.name.find('/') == std::string::npos &&
                 file.name.find('\0') == std::string::npos &&
                 dtypeFromName(file.dtype) >= 0 && file.bytes >= 0 &&
                 std::all_of(file.shape.begin(), file.shape.end(),
                             [](int64_t extent) { return extent >= 0; });
  if (!isValid || !readChecksum(json.getString("checksum"), file.checksum))
    return "expects a name without '/', a dtype, a shape, bytes and a checksum "
           "of each file, but got another of '" +
           file.name + "'";
  return std::string();
}

std::string tessera::rt::parseState(const std::string &text,
                                    SavedState &state) {
  Json json;
  std::string error;
  if (!parseJson(text, json, error))
    return error;
  if (json.getString("format") != stateFormat)
    return std::string("expects \"format\": \"") + stateFormat + "\"";
  if (json.getInteger("version", 0) != stateVersion)
    return format("expects version %lld, but got %lld", (long long)stateVersion,
                  (long long)json.getInteger("version", 0));
  error = checkMembers(json,
                       {"format", "version", "kind", "program", "hash", "ranks",
                        "step", "data_position", "data", "files", "checksum"});
  if (!error.empty())
    return error;
  state = SavedState();
  state.kind = json.getString("kind");
  state.program = json.getString("program");
  state.hash = json.getString("hash");
  state.ranks = json.getInteger("ranks", 0);
  state.step = json.getInteger("step", -1);
  state.dataPosition = json.getInteger("data_position", -1);
  state.data = json.getString("data");
  // Sums with a run's steps and sequences must not overflow.
  constexpr int64_t limit = int64_t(1) << 60;
  if (state.step < 0 || state.step > limit || state.dataPosition < 0 ||
      state.dataPosition > limit)
    return "expects a step and a data position of at least 0";
  for (const Json &item : json.getArray("files")) {
    state.files.emplace_back();
    error = readFile(item, state.files.back());
    if (!error.empty())
      return error;
  }
  // The checksum ignores the spacing of the JSON text.
  if (json.getString("checksum") != describeChecksum(describeFacts(state)))
    return "expects it as it was saved, but a field is another than its "
           "checksum says";
  return std::string();
}

std::string tessera::rt::readStateManifest(const std::string &path,
                                           SavedState &state) {
  MappedFile file;
  std::string error = file.open(path);
  if (!error.empty())
    return error;
  error = parseState(std::string(reinterpret_cast<const char *>(file.data()),
                                 size_t(file.size())),
                     state);
  return error.empty()
             ? error
             : "'" + path + "' is no manifest of a saved state: " + error;
}

//===----------------------------------------------------------------------===//
// XXH64
//===----------------------------------------------------------------------===//

static constexpr uint64_t prime1 = 0x9e3779b185ebca87ull;
static constexpr uint64_t prime2 = 0xc2b2ae3d27d4eb4full;
static constexpr uint64_t prime3 = 0x165667b19e3779f9ull;
static constexpr uint64_t prime4 = 0x85ebca77c2b2ae63ull;
static constexpr uint64_t prime5 = 0x27d4eb2f165667c5ull;

static uint64_t rotate(uint64_t x, int bits) {
  return x << bits | x >> (64 - bits);
}
static uint64_t round(uint64_t lane, uint64_t word) {
  return rotate(lane + word * prime2, 31) * prime1;
}
template <typename T> static T load(const uint8_t *p) {
  T value;
  memcpy(&value, p, sizeof(value));
  return value;
}

uint64_t tessera::rt::xxh64(const void *data, size_t bytes) {
  const uint8_t *p = static_cast<const uint8_t *>(data), *end = p + bytes;
  uint64_t hash = prime5;
  if (bytes >= 32) {
    uint64_t lanes[4] = {prime1 + prime2, prime2, 0, 0 - prime1};
    for (; end - p >= 32; p += 32)
      for (int i = 0; i < 4; ++i)
        lanes[i] = round(lanes[i], load<uint64_t>(p + 8 * i));
    hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) +
           rotate(lanes[3], 18);
    for (uint64_t lane : lanes)
      hash = (hash ^ round(0, lane)) * prime1 + prime4;
  }
  hash += bytes;
  for (; end - p >= 8; p += 8)
    hash = rotate(hash ^ round(0, load<uint64_t>(p)), 27) * prime1 + prime4;
  if (end - p >= 4) {
    hash = rotate(hash ^ load<uint32_t>(p) * prime1, 23) * prime2 + prime3;
    p += 4;
  }
  for (; p < end; ++p)
    hash = rotate(hash ^ *p * prime5, 11) * prime1;
  hash = (hash ^ hash >> 33) * prime2;
  hash = (hash ^ hash >> 29) * prime3;
  return hash ^ hash >> 32;
}
