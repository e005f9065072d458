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

#include "Manifest.h"
#include "Npy.h"
#include "support/Hash.h"
#include "support/Json.h"
#include "support/Support.h"
#include "support/ThreadPool.h"

#include <algorithm>

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

static std::string checksumOf(const std::string &facts) {
  return describeChecksum(xxh64(facts.data(), facts.size()));
}

std::string tessera::rt::describeState(const SavedState &state) {
  std::string facts = describeFacts(state);
  return facts + ",\n \"checksum\": \"" + checksumOf(facts) + "\"}\n";
}

std::string
tessera::rt::writeStateManifest(const std::string &folder,
                                const std::vector<const Value *> &values,
                                ThreadPool &pool, SavedState state) {
  // Other ranks may have written some of the files.
  std::vector<std::string> errors(values.size());
  state.files.resize(values.size());
  pool.forEach(int64_t(values.size()), [&](int64_t i, int) {
    const Value &value = *values[size_t(i)];
    MappedFile file;
    errors[size_t(i)] = file.open(folder + "/" + value.name + ".npy");
    state.files[size_t(i)] = {value.name,
                              fileTypeName(value.dtype, value.isUnsigned),
                              value.logicalShape, file.size(),
                              xxh64(file.data(), size_t(file.size()))};
  });
  for (const std::string &error : errors)
    if (!error.empty())
      return error;
  return writeSynced(folder + "/" + stateManifestName, describeState(state));
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
  if (json.getString("checksum") != checksumOf(describeFacts(state)))
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
