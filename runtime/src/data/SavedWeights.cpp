//===- SavedWeights.cpp - The files of --save-weights ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See SavedWeights.h. Node 0 has the blocks of all ranks, so one rank assembles
// a whole tensor by itself; tensors are dealt to the ranks of node 0 in turn.
//
//===----------------------------------------------------------------------===//

#include "SavedWeights.h"

#include "Arguments.h"
#include "Npy.h"
#include "ranks/Context.h"
#include "support/Json.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>

using namespace tessera::rt;

static constexpr const char *indexName = "model.safetensors.index.json";
/// Metadata that distinguishes our files from others.
static constexpr const char *savedByKey = "saved_by", *savedBy = "tessera";

static int64_t countElements(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

int64_t SavedTensor::bytes() const {
  return countElements(shape) * dtypeSize(dtype);
}

bool tessera::rt::isWeightsName(const std::string &name) {
  static const std::string begin = "model", end = ".safetensors";
  return name == indexName ||
         (name.size() >= begin.size() + end.size() &&
          name.compare(0, begin.size(), begin) == 0 &&
          name.compare(name.size() - end.size(), end.size(), end) == 0);
}

std::string tessera::rt::checkSavedWeights(const std::string &path) {
  MappedFile file;
  SafetensorsHeader header;
  std::string error = file.open(path);
  if (error.empty())
    error = parseSafetensors(file.data(), file.size(), header);
  if (!error.empty())
    return error;
  for (const auto &[key, value] : header.metadata)
    if (key == savedByKey && value == savedBy)
      return std::string();
  return "its metadata does not say that a run saved it";
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

int64_t SavedTensor::Part::elements() const {
  return index < 0 ? value->elements()
                   : value->elements() / value->logicalShape.front();
}

/// The number of each tensor, by name: models with experts have many.
using TensorNumbers = std::unordered_map<std::string, size_t>;

/// Adds a parameter, or a slice of it, to the tensor that contains it.
static std::string addPart(std::vector<SavedTensor> &tensors,
                           TensorNumbers &numbers, const std::string &name,
                           SavedTensor::Part part) {
  const Value &value = *part.value;
  const Source &source = value.source;
  auto [number, isNew] = numbers.emplace(name, tensors.size());
  if (isNew) {
    tensors.push_back({name, value.dtype, source.shape, {part}});
    return std::string();
  }
  SavedTensor *it = &tensors[number->second];
  if (it->dtype != value.dtype || it->shape != source.shape)
    return "--save-weights expects parameters of one type and shape for the "
           "tensor '" +
           name + "', but got " + describeType(it->dtype, it->shape) +
           " for '" + it->parts.front().value->name + "' and " +
           describeType(value.dtype, source.shape) + " for '" + value.name +
           "'";
  it->parts.push_back(part);
  return std::string();
}

/// Adds a parameter to the tensors that contain it.
static std::string addParameter(std::vector<SavedTensor> &tensors,
                                TensorNumbers &numbers, const Value &value) {
  if (!isWeightType(value.dtype))
    return "--save-weights expects parameters of f32, bf16 or f16, but '" +
           value.name + "' is " + describeType(value.dtype, value.logicalShape);
  int64_t index = value.source.hasTensors() ? 0 : -1;
  for (const std::string &name : value.source.names(value.logicalShape)) {
    std::string error = addPart(tensors, numbers, name, {&value, index});
    if (!error.empty())
      return error;
    ++index;
  }
  return std::string();
}

/// Checks that the parts cover the tensor. Counting is enough because parts
/// have each element once.
static std::string checkWhole(const SavedTensor &tensor) {
  int64_t covered = 0;
  for (const SavedTensor::Part &part : tensor.parts)
    covered += part.elements();
  int64_t expected = countElements(tensor.shape);
  return covered == expected
             ? std::string()
             : format("--save-weights expects parameters for all %lld elements "
                      "of tensor '%s', but they have %lld",
                      (long long)expected, tensor.name.c_str(),
                      (long long)covered);
}

std::string WeightsLayout::plan(const Manifest &manifest, int64_t fileBytes) {
  TensorNumbers numbers;
  for (const Value &value : manifest.arguments) {
    if (value.role != Role::Param)
      continue;
    parameters.push_back(&value);
    std::string error = addParameter(saved, numbers, value);
    if (!error.empty())
      return error;
  }
  int64_t at = 0;
  files = 1;
  for (SavedTensor &tensor : saved) {
    std::string error = checkWhole(tensor);
    if (!error.empty())
      return error;
    if (at > 0 && at + tensor.bytes() > fileBytes) {
      ++files;
      at = 0;
    }
    tensor.file = files - 1;
    tensor.begin = at;
    at += tensor.bytes();
  }
  for (size_t file = 0; file < files; ++file)
    headerBytes.push_back(int64_t(describeSafetensors(headerOf(file)).size()));
  return std::string();
}

std::string WeightsLayout::fileName(size_t file) const {
  return files == 1
             ? "model.safetensors"
             : format("model-%05zu-of-%05zu.safetensors", file + 1, files);
}

SafetensorsHeader WeightsLayout::headerOf(size_t file) const {
  SafetensorsHeader header;
  // Readers look here for the conventions of the tensors: torch's.
  header.metadata = {{"format", "pt"}, {savedByKey, savedBy}};
  for (const SavedTensor &tensor : saved)
    if (tensor.file == file)
      header.entries.push_back({tensor.name, safetensorsName(tensor.dtype),
                                tensor.shape, tensor.begin,
                                tensor.begin + tensor.bytes()});
  return header;
}

int64_t WeightsLayout::bytes() const {
  int64_t bytes = files > 1 ? int64_t(describeIndex().size()) : 0;
  for (int64_t header : headerBytes)
    bytes += header;
  for (const SavedTensor &tensor : saved)
    bytes += tensor.bytes();
  return bytes;
}

std::string WeightsLayout::describeIndex() const {
  int64_t total = 0;
  for (const SavedTensor &tensor : saved)
    total += tensor.bytes();
  std::string text = format("{\"metadata\": {\"total_size\": %lld},\n"
                            " \"weight_map\": {",
                            (long long)total);
  const char *comma = "\n";
  for (const SavedTensor &tensor : saved) {
    text += std::string(comma) + "  " + quoteJson(tensor.name) + ": " +
            quoteJson(fileName(tensor.file));
    comma = ",\n";
  }
  return text + "}}\n";
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

std::string WeightsLayout::create(const std::string &folder) const {
  for (size_t file = 0; file < files; ++file) {
    std::string error = writeSynced(folder + "/" + fileName(file),
                                    describeSafetensors(headerOf(file)));
    if (!error.empty())
      return error;
  }
  return files == 1 ? std::string()
                    : writeSynced(folder + "/" + indexName, describeIndex());
}

/// Copies the elements of a part, from the `whole` parameter, to their
/// positions in its tensor.
static void scatter(const SavedTensor::Part &part, const uint8_t *whole,
                    uint8_t *tensor) {
  const std::vector<int64_t> &shape = part.value->logicalShape;
  const Source &source = part.value->source;
  size_t size = size_t(dtypeSize(part.value->dtype));
  int64_t inner = shape.empty() ? 1 : shape.back();
  int64_t stride = shape.empty() ? 1 : source.strides.back();
  int64_t first = std::max<int64_t>(part.index, 0) * part.elements();
  if (part.index >= 0 && shape.size() == 1)
    inner = 1;
  for (int64_t at = first; at < first + part.elements(); at += inner) {
    int64_t index = source.offset, rest = at / inner;
    for (size_t d = shape.size(); d-- > 1;) {
      index += rest % shape[d - 1] * source.strides[d - 1];
      rest /= shape[d - 1];
    }
    const uint8_t *from = whole + size_t(at) * size;
    uint8_t *to = tensor + size_t(index) * size;
    for (int64_t i = 0; i < inner; ++i)
      memcpy(to + size_t(i * stride) * size, from + size_t(i) * size, size);
  }
}

/// Writes bytes at an offset of an existing file.
static std::string writeAt(const std::string &path, int64_t offset,
                           const std::vector<uint8_t> &bytes) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return "cannot open '" + path + "': " + strerror(errno);
  std::string error;
  if (lseek(fd, offset, SEEK_SET) != offset ||
      !writeAll(fd, bytes.data(), bytes.size()) || fsync(fd) != 0)
    error = strerror(errno);
  if (close(fd) != 0 && error.empty())
    error = strerror(errno);
  return error.empty() ? error : "cannot write '" + path + "': " + error;
}

std::string WeightsLayout::write(tessera_rt_context *ctx,
                                 const std::string &folder) const {
  // A parameter of many tensors is assembled once.
  const Value *assembled = nullptr;
  std::vector<uint8_t> whole;
  const Placement &place = ctx->memory.place;
  if (place.node != 0)
    return std::string();
  for (size_t i = 0; i < saved.size(); ++i) {
    if (int(i % size_t(place.perNode)) != ctx->rank)
      continue;
    const SavedTensor &tensor = saved[i];
    std::vector<uint8_t> bytes(size_t(tensor.bytes()));
    for (const SavedTensor::Part &part : tensor.parts) {
      if (std::exchange(assembled, part.value) != part.value)
        whole = assemble(ctx, *part.value);
      scatter(part, whole.data(), bytes.data());
    }
    std::string error = writeAt(folder + "/" + fileName(tensor.file),
                                headerBytes[tensor.file] + tensor.begin, bytes);
    if (!error.empty())
      return error;
  }
  return std::string();
}
