//===- Inputs.cpp - The folder of --inputs --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Inputs.h.
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"

#include "StagedFolder.h"
#include "ranks/Control.h"
#include "support/Hash.h"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

using namespace tessera::rt;

InputFolder::~InputFolder() {
  if (fd >= 0)
    close(fd);
}

std::string InputFolder::open(const std::string &path_) {
  path = path_;
  fd = ::open(readablePath(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int listed = fd < 0 ? -1 : dup(fd);
  DIR *folder = listed < 0 ? nullptr : fdopendir(listed);
  if (!folder) {
    std::string error = strerror(errno);
    if (listed >= 0)
      close(listed);
    return "cannot read the directory '" + path + "': " + error;
  }
  bool hasManifest = false;
  while (dirent *entry = readdir(folder)) {
    std::string name = entry->d_name;
    if (name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0)
      names.insert(name);
    hasManifest |= name == stateManifestName;
  }
  closedir(folder);
  if (!hasManifest)
    return std::string();
  MappedFile file;
  std::string shown = path + "/" + stateManifestName;
  std::string error = file.open(shown, fd, stateManifestName);
  if (!error.empty())
    return error;
  std::string text(reinterpret_cast<const char *>(file.data()),
                   size_t(file.size()));
  manifestHash = xxh64(text.data(), text.size());
  hasState = true;
  error = parseState(text, saved);
  return error.empty()
             ? error
             : "'" + shown + "' is no manifest of a saved state: " + error;
}

std::string InputFolder::fingerprint() const {
  if (!isOpen())
    return "nothing";
  uint64_t hash = manifestHash;
  for (const std::string &name : names)
    hash = hashBytes(name.c_str(), name.size() + 1, hash);
  return format(
      "%zu files%s (%016llx)", names.size(),
      hasState ? format(" after step %lld", (long long)saved.step).c_str() : "",
      (unsigned long long)hash);
}

std::string InputFolder::fileOf(const Value &value) const {
  if (value.role == Role::Control)
    return std::string();
  for (const std::string &name : {value.name, value.of})
    if (!name.empty() && names.count(name + ".npy"))
      return name + ".npy";
  return std::string();
}

std::string InputFolder::load(const std::string &fileName,
                              NpyArray &array) const {
  return array.open(path + "/" + fileName, fd, fileName);
}

std::string tessera::rt::checkArray(const Value &value, const NpyArray &array) {
  bool isRounded =
      (value.dtype == TESSERA_RT_BF16 || value.dtype == TESSERA_RT_F16) &&
      array.dtype == TESSERA_RT_F32;
  if ((array.dtype == value.dtype || isRounded) &&
      array.isUnsigned == value.isUnsigned && array.shape == value.logicalShape)
    return std::string();
  return "argument '" + value.name + "' expects " +
         describeType(value.dtype, value.logicalShape, value.isUnsigned) +
         ", but got " +
         describeType(array.dtype, array.shape, array.isUnsigned);
}

/// Returns an element of an integer type; of an unsigned one the largest of
/// i64 for those beyond. The file's data may be unaligned.
static int64_t readInteger(const NpyArray &array, int64_t i) {
  auto read = [&](auto value) {
    memcpy(&value, array.elements + i * int64_t(sizeof(value)), sizeof(value));
    if (!array.isUnsigned)
      return int64_t(value);
    constexpr uint64_t most = std::numeric_limits<int64_t>::max();
    using Unsigned = std::make_unsigned_t<decltype(value)>;
    return int64_t(std::min(uint64_t(Unsigned(value)), most));
  };
  switch (array.dtype) {
  case TESSERA_RT_I64:
    return read(int64_t());
  case TESSERA_RT_I32:
    return read(int32_t());
  case TESSERA_RT_I16:
    return read(int16_t());
  case TESSERA_RT_I8:
    return read(int8_t());
  default:
    return int64_t(array.elements[i]);
  }
}

/// Formats the indices of an element, such as "[0, 3]".
static std::string describeElement(const std::vector<int64_t> &shape,
                                   int64_t element) {
  std::string text;
  for (size_t dim = shape.size(); dim-- > 0;) {
    text = std::to_string(element % shape[dim]) + (text.empty() ? "" : ", ") +
           text;
    element /= shape[dim];
  }
  return "[" + text + "]";
}

std::string tessera::rt::checkIds(const Value &value, const NpyArray &array) {
  if (value.vocab <= 0)
    return std::string();
  int64_t count = value.elements();
  for (int64_t i = 0; i < count; ++i) {
    int64_t id = readInteger(array, i);
    if ((id >= 0 && id < value.vocab) || id == value.ignored)
      continue;
    std::string besides =
        value.ignored < 0 || value.ignored >= value.vocab
            ? format(" or %lld, which has no loss", (long long)value.ignored)
            : std::string();
    return format("argument '%s' expects ids from 0 to %lld%s, but got %lld at "
                  "%s",
                  value.name.c_str(), (long long)value.vocab - 1,
                  besides.c_str(), (long long)id,
                  describeElement(value.logicalShape, i).c_str());
  }
  return std::string();
}

/// Checks that the files the state had when it was saved are still there.
void InputFolder::checkSaved(std::vector<std::string> &faults) const {
  for (const SavedFile &file : saved.files) {
    std::string name = file.name + ".npy";
    if (!names.count(name)) {
      faults.push_back("missing: '" + name + "', which " + stateManifestName +
                       " names");
      continue;
    }
    MappedFile mapped;
    std::string error = mapped.open(path + "/" + name, fd, name);
    if (error.empty() && mapped.size() != file.bytes)
      error = format("it has %lld bytes, but was saved with %lld",
                     (long long)mapped.size(), (long long)file.bytes);
    if (!error.empty())
      faults.push_back("misshapen: '" + name + "': " + error);
  }
}

void InputFolder::checkArguments(const Manifest &manifest, bool initMissing,
                                 std::vector<std::string> &faults) const {
  for (const Value &value : manifest.arguments) {
    std::string name = fileOf(value);
    if (name.empty()) {
      bool isNeeded = !initMissing &&
                      (value.role == Role::Param || value.role == Role::State);
      bool isNamed = saved.hasFile(value.name + ".npy");
      if (isNeeded && !isNamed)
        faults.push_back(
            "missing: '" + value.name + ".npy', " +
            describeType(value.dtype, value.logicalShape, value.isUnsigned));
      continue;
    }
    NpyArray array;
    std::string error = load(name, array);
    if (error.empty())
      error = checkArray(value, array);
    if (!error.empty())
      faults.push_back("misshapen: '" + name + "': " + error);
    else if (!(error = checkIds(value, array)).empty())
      faults.push_back("out of range: '" + name + "': " + error);
  }
}

/// Finds files that a training program has no argument for. Results that are
/// not arguments do not count as extra, because --save-outputs writes them too.
void InputFolder::checkExtra(const Manifest &manifest,
                             std::vector<std::string> &faults) const {
  std::set<std::string> known;
  for (const Value &value : manifest.arguments) {
    if (value.role == Role::Control)
      continue;
    known.insert(value.name + ".npy");
    known.insert(value.of + ".npy");
  }
  for (const Value &value : manifest.results)
    known.insert(value.name + ".npy");
  for (const std::string &name : names)
    if (!known.count(name))
      faults.push_back("extra: '" + name +
                       "', which the program has no argument for");
}

std::string InputFolder::check(const Manifest &manifest,
                               bool initMissing) const {
  std::vector<std::string> faults;
  checkSaved(faults);
  checkArguments(manifest, initMissing, faults);
  if (manifest.isTraining())
    checkExtra(manifest, faults);
  if (faults.empty())
    return std::string();
  bool isMissing = false;
  for (const std::string &fault : faults)
    isMissing |= fault.compare(0, 8, "missing:") == 0;
  std::string text = "--inputs '" + path + "' does not fit the program: ";
  if (faults.size() == 1) {
    text += faults.front();
  } else {
    text += format("%zu files", faults.size());
    for (const std::string &fault : faults)
      text += "\n  " + fault;
  }
  if (isMissing && !initMissing)
    text += std::string(faults.size() == 1 ? "; " : "\n") +
            "--init-missing initializes what is missing as without --inputs";
  return text;
}

std::string InputFolder::verify(ThreadPool &pool, int rank, int ranks) const {
  std::vector<std::string> errors(saved.files.size());
  int64_t count = int64_t(saved.files.size());
  pool.forEach((count - rank + ranks - 1) / ranks, [&](int64_t task, int) {
    size_t index = size_t(task * ranks + rank);
    const SavedFile &file = saved.files[index];
    std::string name = file.name + ".npy";
    MappedFile mapped;
    errors[index] = mapped.open(path + "/" + name, fd, name);
    if (errors[index].empty() &&
        xxh64(mapped.data(), size_t(mapped.size())) != file.checksum)
      errors[index] = "'" + path + "/" + name +
                      "' is not as it was saved: expects the checksum that " +
                      stateManifestName +
                      " gives, but got another (without that file it is not "
                      "looked at)";
  });
  for (const std::string &error : errors)
    if (!error.empty())
      return error;
  return std::string();
}
