//===- Reader.cpp - Reading a checkpoint ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Reader.h.
//
//===----------------------------------------------------------------------===//

#include "Reader.h"

#include "data/Folders.h"
#include "support/Hash.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace tessera::rt;

bool tessera::rt::isTaken(const Value &value, bool parametersAlone) {
  bool isState = value.role == Role::State;
  return value.role == Role::Param ||
         (isState && (!parametersAlone || !value.of.empty()));
}

CheckpointReader::~CheckpointReader() {
  if (fd >= 0)
    close(fd);
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

/// Reads a small file of an open folder.
static std::string readText(const std::string &folder, int fd, const char *name,
                            std::string &text) {
  MappedFile file;
  std::string error = file.open(folder + "/" + name, fd, name);
  if (error.empty())
    text.assign(reinterpret_cast<const char *>(file.data()),
                size_t(file.size()));
  return error;
}

static std::string describeDamage(const std::string &folder,
                                  const std::string &name,
                                  const std::string &fault) {
  return "'" + folder + "/" + name + "' is not as it was written: " + fault;
}

std::string CheckpointReader::readManifest(bool &isForeign) {
  std::string text;
  std::string error = readText(folder, fd, checkpointSumsName, text);
  if (!error.empty())
    return error;
  sumOfSums = xxh64(text.data(), text.size());
  error = parseSums(text, sums);
  if (!error.empty())
    return describeDamage(folder, checkpointSumsName, error);
  error = readText(folder, fd, checkpointManifestName, text);
  if (!error.empty())
    return error;
  auto sum = std::find_if(sums.begin(), sums.end(), [](const auto &entry) {
    return entry.first == checkpointManifestName;
  });
  if (sum == sums.end() || sum->second != xxh64(text.data(), text.size()))
    return describeDamage(folder, checkpointManifestName,
                          "expects the checksum that " +
                              std::string(checkpointSumsName) +
                              " gives, but got another");
  error = parseCheckpoint(text, checkpoint);
  isForeign = !error.empty();
  return error.empty() ? error
                       : "'" + folder + "/" + checkpointManifestName +
                             "' is no manifest of a checkpoint: " + error;
}

/// Compares the files with those that the manifest implies.
std::string CheckpointReader::checkNames() const {
  std::set<std::string> expected = {checkpointManifestName}, summed;
  for (const CheckpointFile &file : files)
    expected.insert(file.name);
  std::vector<std::string> there;
  std::string error = listFolder(folder, there);
  if (!error.empty())
    return error;
  for (const auto &entry : sums)
    summed.insert(entry.first);
  for (const std::string &name : expected) {
    if (!summed.count(name))
      return describeDamage(folder, checkpointSumsName,
                            "expects a checksum of '" + name + "'");
    if (!std::binary_search(there.begin(), there.end(), name))
      return "cannot find '" + folder + "/" + name +
             "', which the checkpoint "
             "has to have";
  }
  for (const std::string &name : there)
    if (!expected.count(name) && name != checkpointSumsName)
      return "expects the files of a checkpoint alone in '" + folder +
             "', but got '" + name + "', too";
  if (summed.size() != expected.size())
    return describeDamage(folder, checkpointSumsName,
                          "expects a checksum of each other file alone");
  return std::string();
}

std::string CheckpointReader::open(const std::string &path, bool &isForeign) {
  folder = path;
  isForeign = false;
  fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return describeSystemError("read the directory", path);
  std::string error = readManifest(isForeign);
  if (!error.empty())
    return error;
  std::vector<const Value *> values = stateOf(checkpoint.layout);
  for (const Value *value : values)
    tensors[value->name] = value;
  std::vector<std::vector<CheckpointFile>> all;
  error = layoutFiles(values, checkpoint.layout.ranks, all);
  if (!error.empty())
    return "'" + folder + "/" + checkpointManifestName + "': " + error;
  for (std::vector<CheckpointFile> &own : all)
    for (CheckpointFile &file : own)
      files.push_back(std::move(file));
  mapped.resize(files.size());
  for (size_t i = 0; i < files.size(); ++i)
    for (const FilePart &part : files[i].parts)
      places[part.value].push_back({&part, i});
  for (auto &[value, boxes] : places)
    std::sort(boxes.begin(), boxes.end(), [](const Place &a, const Place &b) {
      return a.part->box.offset < b.part->box.offset;
    });
  return checkNames();
}

int64_t CheckpointReader::bytes() const {
  int64_t total = 0;
  for (const CheckpointFile &file : files)
    total += file.bytes;
  return total;
}

std::string CheckpointReader::fingerprint() const {
  return isOpen() ? format("step %lld (%016llx)",
                           (long long)checkpoint.position.step,
                           (unsigned long long)sumOfSums)
                  : std::string("none");
}

const Value *CheckpointReader::find(const std::string &name) const {
  auto it = tensors.find(name);
  return it == tensors.end() ? nullptr : it->second;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

std::string CheckpointReader::checkSizes() const {
  for (const CheckpointFile &file : files) {
    struct stat info;
    if (fstatat(fd, file.name.c_str(), &info, 0) != 0)
      return describeSystemError("find", folder + "/" + file.name);
    if (info.st_size != file.bytes)
      return describeDamage(folder, file.name,
                            format("expects %lld bytes, but got %lld",
                                   (long long)file.bytes,
                                   (long long)info.st_size));
  }
  return std::string();
}

/// Compares a file with its header and its checksum.
static std::string verifyFile(const std::string &folder, int fd,
                              const CheckpointFile &file, uint64_t sum) {
  MappedFile mapped;
  std::string error = mapped.open(folder + "/" + file.name, fd, file.name);
  if (!error.empty())
    return error;
  if (mapped.size() != file.bytes)
    return describeDamage(folder, file.name,
                          format("expects %lld bytes, but got %lld",
                                 (long long)file.bytes,
                                 (long long)mapped.size()));
  if (xxh64(mapped.data(), size_t(mapped.size())) != sum)
    return describeDamage(folder, file.name,
                          "expects the checksum that " +
                              std::string(checkpointSumsName) +
                              " gives, but got another");
  return memcmp(mapped.data(), file.header.data(), file.header.size()) == 0
             ? std::string()
             : describeDamage(folder, file.name,
                              "expects the header that the manifest implies, "
                              "but got another");
}

std::string CheckpointReader::verify(ThreadPool &pool, int part,
                                     int parts) const {
  std::map<std::string, uint64_t> sumOf(sums.begin(), sums.end());
  int64_t count = (int64_t(files.size()) - part + parts - 1) / parts;
  std::vector<std::string> errors(size_t(std::max<int64_t>(count, 0)));
  pool.forEach(int64_t(errors.size()), [&](int64_t task, int) {
    const CheckpointFile &file = files[size_t(task * parts + part)];
    errors[size_t(task)] = verifyFile(folder, fd, file, sumOf[file.name]);
  });
  for (const std::string &error : errors)
    if (!error.empty())
      return error;
  return std::string();
}

static std::string describeTensor(const Value &value) {
  return std::string(roleName(value.role)) + " " +
         describeType(value.dtype, value.logicalShape);
}

std::string CheckpointReader::check(const Manifest &manifest,
                                    bool parametersAlone) const {
  std::vector<std::string> faults;
  std::set<std::string> known;
  for (const Value *value : stateOf(manifest)) {
    known.insert(value->name);
    if (!isTaken(*value, parametersAlone))
      continue;
    const Value *tensor = find(value->name);
    if (!tensor)
      faults.push_back("missing: '" + value->name + "', " +
                       describeTensor(*value));
    else if (tensor->role != value->role || tensor->dtype != value->dtype ||
             tensor->logicalShape != value->logicalShape)
      faults.push_back("different: '" + value->name + "' expects " +
                       describeTensor(*value) + ", but got " +
                       describeTensor(*tensor));
  }
  for (const auto &[name, tensor] : tensors)
    if (!known.count(name) && isTaken(*tensor, parametersAlone))
      faults.push_back("extra: '" + name + "', " + describeTensor(*tensor));
  if (faults.empty())
    return std::string();
  std::string text =
      "the checkpoint '" + folder + "' does not fit the program: ";
  if (faults.size() == 1)
    return text + faults.front();
  text += format("%zu tensors", faults.size());
  for (const std::string &fault : faults)
    text += "\n  " + fault;
  return text;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

std::string CheckpointReader::openFile(size_t file,
                                       const MappedFile *&opened) const {
  std::lock_guard<std::mutex> guard(mutex);
  std::unique_ptr<MappedFile> &slot = mapped[file];
  if (!slot) {
    auto fresh = std::make_unique<MappedFile>();
    const std::string &name = files[file].name;
    std::string error = fresh->open(folder + "/" + name, fd, name);
    if (error.empty() && fresh->size() != files[file].bytes)
      error = describeDamage(folder, name,
                             format("expects %lld bytes, but got %lld",
                                    (long long)files[file].bytes,
                                    (long long)fresh->size()));
    if (!error.empty())
      return error;
    slot = std::move(fresh);
  }
  opened = slot.get();
  return std::string();
}

static bool contains(const Box &box, const std::vector<int64_t> &index) {
  for (size_t d = 0; d < index.size(); ++d)
    if (index[d] < box.offset[d] || index[d] >= box.offset[d] + box.extent[d])
      return false;
  return true;
}

/// Finds an element in a box, by its row-major number there. Sets `run` to the
/// elements from there on that are consecutive both in the box and in a tensor
/// of this shape.
static int64_t findInBox(const Box &box, const std::vector<int64_t> &shape,
                         const std::vector<int64_t> &index, int64_t &run) {
  int64_t at = 0, inner = 1;
  bool isWhole = true;
  run = 1;
  for (size_t d = index.size(); d-- > 0; inner *= box.extent[d]) {
    at += (index[d] - box.offset[d]) * inner;
    if (isWhole)
      run = box.extent[d] * inner - at;
    isWhole &= box.extent[d] == shape[d];
  }
  return at;
}

std::string CheckpointReader::read(const Value &tensor, int64_t first,
                                   int64_t count, uint8_t *out) const {
  const std::vector<Place> &boxes = places.at(&tensor);
  const std::vector<int64_t> &shape = tensor.logicalShape;
  int64_t size = dtypeSize(tensor.dtype);
  std::vector<int64_t> index(shape.size());
  size_t hint = 0;
  for (int64_t at = first, end = first + count; at < end;) {
    int64_t rest = at;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
      index[d] = rest % shape[d];
    // Consecutive rows are in the same box, or in one nearby.
    for (size_t tried = 0; !contains(boxes[hint].part->box, index); ++tried) {
      if (tried == boxes.size())
        return "expects all elements of '" + tensor.name + "' in '" + folder +
               "', but got none at " + describeShape(index);
      hint = (hint + 1) % boxes.size();
    }
    const FilePart &part = *boxes[hint].part;
    int64_t run, from = findInBox(part.box, shape, index, run);
    run = std::min(run, end - at);
    const MappedFile *file = nullptr;
    std::string error = openFile(boxes[hint].file, file);
    if (!error.empty())
      return error;
    memcpy(out, file->data() + part.begin + from * size, size_t(run * size));
    out += run * size;
    at += run;
  }
  return std::string();
}
