//===- TuneFile.cpp - File of chosen algorithms ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See TuneFile.h. The file is two lines of JSON: the choices, and the checksum
// of the first line.
//
//===----------------------------------------------------------------------===//

#include "TuneFile.h"

#include "ranks/Control.h"
#include "support/Json.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

const char *const tessera::rt::cuda::tuneFileAbsent = "absent";

/// Version of this format.
static constexpr int64_t formatVersion = 2;
static constexpr size_t algoWords = sizeof(lt::Algo) / sizeof(uint64_t);

std::string TuneSubject::describe() const {
  return format("version %lld on %s (%lld multiprocessors)%s",
                (long long)libraryVersion, device.c_str(),
                (long long)multiprocessors, tf32 ? " with tf32" : "");
}

/// Formats 64-bit integers as 16 hexadecimal digits each, because JSON's
/// numbers cannot hold them.
static std::string encode(const uint64_t *words, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += format("%016llx", (unsigned long long)words[i]);
  return text;
}

static bool decode(const std::string &text, uint64_t *words, size_t count) {
  if (text.size() != count * 16 ||
      text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return false;
  for (size_t i = 0; i < count; ++i)
    words[i] = strtoull(text.substr(i * 16, 16).c_str(), nullptr, 16);
  return true;
}

std::string TuneFile::text() const {
  std::string line =
      format("{\"version\": %lld, \"library\": %lld, \"device\": %s, "
             "\"multiprocessors\": %lld, \"tf32\": %d, \"matmuls\": [",
             (long long)formatVersion, (long long)subject.libraryVersion,
             quoteJson(subject.device).c_str(),
             (long long)subject.multiprocessors, int(subject.tf32));
  const char *comma = "";
  for (const auto &[key, entry] : entries) {
    line += format(
        "%s{\"what\": %s, \"microseconds\": %.2f, \"split\": %lld, "
        "\"by_split\": [%.2f, %.2f, %.2f], \"workspace\": %lld, \"key\": [",
        comma, quoteJson(entry.what).c_str(), entry.seconds * 1e6,
        (long long)entry.split, entry.bySplit[0] * 1e6, entry.bySplit[1] * 1e6,
        entry.bySplit[2] * 1e6, (long long)entry.workspaceBytes);
    comma = ", ";
    for (size_t i = 0; i < key.size(); ++i)
      line += format(i ? ", %lld" : "%lld", (long long)key[i]);
    line += "], \"algo\": \"" + encode(entry.algo.data, algoWords) + "\"}";
  }
  line += "]}\n";
  uint64_t sum = hashBytes(line.data(), line.size());
  return line + "{\"checksum\": \"" + encode(&sum, 1) + "\"}\n";
}

/// Reads one matmul. Returns false if a field is missing.
static bool readEntry(const Json &json, std::vector<int64_t> &key,
                      TuneEntry &entry) {
  for (const Json &word : json.getArray("key"))
    key.push_back(word.integer);
  entry.what = json.getString("what");
  entry.seconds = json.getNumber("microseconds", 0) * 1e-6;
  entry.workspaceBytes = json.getInteger("workspace", -1);
  entry.split = json.getInteger("split", -1);
  const std::vector<Json> &times = json.getArray("by_split");
  for (size_t i = 0; i < times.size() && i < 3; ++i)
    entry.bySplit[i] = times[i].number * 1e-6;
  return !key.empty() && entry.workspaceBytes >= 0 && entry.split >= 0 &&
         entry.split <= 2 && times.size() == 3 &&
         decode(json.getString("algo"), entry.algo.data, algoWords);
}

std::string TuneFile::parse(const std::string &text) {
  size_t end = text.find('\n');
  Json json, sum;
  std::string error;
  if (end == std::string::npos || !parseJson(text.substr(0, end), json, error))
    return "it is no tune file: " +
           (error.empty() ? std::string("cut short") : error);
  uint64_t expected = 0, actual = hashBytes(text.data(), end + 1);
  if (!parseJson(text.substr(end + 1), sum, error) ||
      !decode(sum.getString("checksum"), &expected, 1) || expected != actual)
    return "it was changed or cut short: its checksum does not match";
  if (json.getInteger("version", 0) != formatVersion)
    return format("expects version %lld, but got %lld",
                  (long long)formatVersion,
                  (long long)json.getInteger("version", 0));
  TuneFile file;
  file.subject = {json.getInteger("library", 0), json.getString("device"),
                  json.getInteger("multiprocessors", 0),
                  json.getInteger("tf32", 0) != 0};
  for (const Json &item : json.getArray("matmuls")) {
    std::vector<int64_t> key;
    TuneEntry entry;
    if (!readEntry(item, key, entry))
      return "a matmul in it is not whole";
    file.entries[key] = entry;
  }
  *this = file;
  return std::string();
}

std::string TuneFile::read(const std::string &path) {
  FILE *file = fopen(path.c_str(), "rb");
  if (!file)
    return errno == ENOENT ? tuneFileAbsent : strerror(errno);
  // The limit is the size of a file for the largest step.
  constexpr size_t limit = size_t(64) << 20;
  std::string text;
  char buffer[1 << 16];
  while (size_t bytes = fread(buffer, 1, sizeof(buffer), file)) {
    text.append(buffer, bytes);
    if (text.size() > limit)
      break;
  }
  bool failed = ferror(file) || text.size() > limit;
  fclose(file);
  return failed ? "it cannot be read" : parse(text);
}

std::string TuneFile::write(const std::string &path) const {
  std::string temporary = path + format(".%d", int(getpid())), content = text();
  FILE *file = fopen(temporary.c_str(), "wb");
  if (!file)
    return strerror(errno);
  bool isWhole =
      fwrite(content.data(), 1, content.size(), file) == content.size() &&
      fflush(file) == 0 && fsync(fileno(file)) == 0;
  std::string error = isWhole ? "" : strerror(errno);
  if (fclose(file) != 0 && error.empty())
    error = strerror(errno);
  if (error.empty() && rename(temporary.c_str(), path.c_str()) != 0)
    error = strerror(errno);
  if (!error.empty())
    unlink(temporary.c_str());
  return error;
}
