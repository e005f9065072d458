//===- Weights.cpp - The files of --weights -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Weights.h.
//
//===----------------------------------------------------------------------===//

#include "Weights.h"

#include "Floats.h"
#include "SavedState.h"
#include "support/Json.h"
#include "support/Support.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <set>
#include <sys/stat.h>

using namespace tessera::rt;

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

static bool isFile(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

std::string WeightFiles::openFile(const std::string &filePath) {
  MappedFile &file = files.emplace_back();
  std::string error = file.open(filePath);
  if (!error.empty())
    return error;
  SafetensorsHeader header;
  error = parseSafetensors(file.data(), file.size(), header);
  if (!error.empty())
    return "'" + filePath + "' is no safetensors file: " + error;
  hash = hashBytes(file.data(), size_t(header.elements), hash);
  for (const SafetensorsEntry &entry : header.entries) {
    WeightTensor tensor{dtypeFromSafetensors(entry.type), entry.type,
                        entry.shape,
                        file.data() + header.elements + entry.begin};
    if (!tensors.emplace(entry.name, tensor).second)
      return "tensor '" + entry.name + "' is in more than one file of '" +
             path + "'";
  }
  return std::string();
}

std::string WeightFiles::openIndex(const std::string &indexPath) {
  MappedFile file;
  std::string error = file.open(indexPath);
  Json json;
  if (error.empty() &&
      !parseJson(std::string(reinterpret_cast<const char *>(file.data()),
                             size_t(file.size())),
                 json, error))
    error = "'" + indexPath + "' is no index of weights: " + error;
  if (!error.empty())
    return error;
  const Json *map = json.find("weight_map");
  if (!map || map->kind != Json::Object || map->members.empty())
    return "'" + indexPath +
           "' is no index of weights: expects a \"weight_map\" of tensors";
  std::set<std::string> names;
  for (const auto &member : map->members) {
    if (member.second.kind != Json::String ||
        member.second.string.find('/') != std::string::npos)
      return "'" + indexPath + "' expects the name of a file beside it for '" +
             member.first + "'";
    names.insert(member.second.string);
  }
  size_t slash = indexPath.find_last_of('/');
  std::string folder =
      slash == std::string::npos ? "" : indexPath.substr(0, slash + 1);
  for (const std::string &name : names) {
    error = openFile(folder + name);
    if (!error.empty())
      return error;
  }
  for (const auto &member : map->members)
    if (!tensors.count(member.first))
      return "'" + indexPath + "' names tensor '" + member.first +
             "', which '" + member.second.string + "' does not have";
  return std::string();
}

std::string WeightFiles::openFolder(const std::string &folder) {
  std::string index = folder + "/model.safetensors.index.json";
  if (isFile(index))
    return openIndex(index);
  if (isFile(folder + "/model.safetensors"))
    return openFile(folder + "/model.safetensors");
  std::set<std::string> names;
  DIR *listed = opendir(folder.c_str());
  if (!listed)
    return "cannot read the directory '" + folder + "': " + strerror(errno);
  while (dirent *entry = readdir(listed))
    if (endsWith(entry->d_name, ".safetensors"))
      names.insert(entry->d_name);
  closedir(listed);
  if (names.empty())
    return "expects .safetensors files in '" + folder + "', but got none";
  std::string error;
  for (const std::string &name : names)
    if (error.empty())
      error = openFile(folder + "/" + name);
  return error;
}

std::string WeightFiles::open(const std::string &path_) {
  path = path_;
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    return "cannot open '" + path + "': " + strerror(errno);
  if (S_ISDIR(info.st_mode))
    return openFolder(path);
  return endsWith(path, ".json") ? openIndex(path) : openFile(path);
}

std::string WeightFiles::fingerprint() const {
  return isOpen() ? format("%zu files, %zu tensors (%016llx)", files.size(),
                           tensors.size(), (unsigned long long)hash)
                  : "nothing";
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

const WeightTensor *WeightFiles::findTensor(const std::string &name) const {
  if (name.compare(0, removed.size(), removed) != 0)
    return nullptr;
  auto it = tensors.find(added + name.substr(removed.size()));
  return it == tensors.end() ? nullptr : &it->second;
}

/// Chooses the prefix that matches the files' names to the program's.
bool WeightFiles::choosePrefix() {
  auto hasAll = [&] {
    return std::all_of(views.begin(), views.end(), [&](const auto &entry) {
      const std::vector<std::string> &names = entry.second.names;
      return std::all_of(
          names.begin(), names.end(),
          [&](const std::string &name) { return findTensor(name); });
    });
  };
  if (views.empty() || hasAll())
    return true;
  auto named = std::find_if(views.begin(), views.end(), [](const auto &entry) {
    return !entry.second.names.empty();
  });
  if (named == views.end())
    return true;
  const std::string &wanted = named->second.names.front();
  for (const auto &[name, tensor] : tensors) {
    added = endsWith(name, "." + wanted)
                ? name.substr(0, name.size() - wanted.size())
                : "";
    removed = endsWith(wanted, "." + name)
                  ? wanted.substr(0, wanted.size() - name.size())
                  : "";
    if ((!added.empty() || !removed.empty()) && hasAll())
      return true;
  }
  added.clear();
  removed.clear();
  return false;
}

void WeightFiles::noteUnused() {
  if (!added.empty())
    notes.push_back("names in '" + path + "' have the prefix '" + added + "'");
  if (!removed.empty())
    notes.push_back("names in '" + path + "' lack the prefix '" + removed +
                    "'");
  std::set<const WeightTensor *> used;
  for (const auto &entry : views)
    used.insert(entry.second.tensors.begin(), entry.second.tensors.end());
  std::string names;
  size_t count = 0;
  for (const auto &[name, tensor] : tensors)
    if (!used.count(&tensor) && ++count <= 3)
      names += (count > 1 ? ", '" : "'") + name + "'";
  if (count > 0)
    notes.push_back(format("%zu %s of '%s' %s in no parameter: ", count,
                           count == 1 ? "tensor" : "tensors", path.c_str(),
                           count == 1 ? "is" : "are") +
                    names + (count > 3 ? ", ..." : ""));
}

/// Checks the head of a model with tied weights. Such programs of tessera model
/// have the parameter `wte` and no `lm_head`; files may have a head in addition
/// to the table, with the same numbers.
std::string WeightFiles::checkTiedHead() const {
  auto table = views.find("wte");
  if (table == views.end() || views.count("lm_head"))
    return std::string();
  const WeightTensor &wanted = *table->second.tensors.front();
  int64_t bytes = dtypeSize(wanted.dtype);
  for (int64_t size : wanted.shape)
    bytes *= size;
  for (const auto &[name, head] : tensors) {
    if (name != "lm_head.weight" && !endsWith(name, ".lm_head.weight"))
      continue;
    if (head.shape == wanted.shape && head.dtype == wanted.dtype &&
        memcmp(head.elements, wanted.elements, size_t(bytes)) == 0)
      continue;
    return "expects '" + name + "' to be '" + table->second.source.tensor +
           "', to which the program's head is tied, but they differ; a "
           "config.json with \"tie_word_embeddings\": false gives the head "
           "numbers of its own";
  }
  return std::string();
}

void WeightFiles::bind(const std::string &parameter, WeightView &view,
                       bool initMissing, std::vector<std::string> &faults) {
  bool hasSome =
      std::any_of(view.names.begin(), view.names.end(),
                  [&](const std::string &name) { return findTensor(name); });
  for (const std::string &name : view.names) {
    const WeightTensor *tensor = findTensor(name);
    std::string expected = "'" + name + "' of " +
                           describeShape(view.source.shape) + " for '" +
                           parameter + "'";
    if (tensor && (tensor->dtype < 0 || tensor->shape != view.source.shape))
      faults.push_back("expects " + expected +
                       ", of F32, BF16 or F16, but got " + tensor->type +
                       describeShape(tensor->shape));
    else if (!tensor && (hasSome || !initMissing))
      faults.push_back("misses " + expected);
    if (tensor)
      view.tensors.push_back(tensor);
  }
}

std::string WeightFiles::bind(const Manifest &manifest, bool initMissing) {
  for (const Value &value : manifest.arguments)
    if (value.role == Role::Param)
      views.emplace(
          value.name,
          WeightView{value.source, value.source.names(value.logicalShape), {}});
  choosePrefix();
  std::vector<std::string> faults;
  for (auto it = views.begin(); it != views.end();) {
    bind(it->first, it->second, initMissing, faults);
    it = it->second.tensors.empty() ? views.erase(it) : std::next(it);
  }
  if (std::string fault = checkTiedHead(); !fault.empty())
    faults.push_back(fault);
  if (faults.empty()) {
    noteUnused();
    return std::string();
  }
  std::string text = "--weights '" + path + "' does not fit the program: ";
  if (faults.size() == 1)
    return text + faults.front();
  text += format("%zu tensors", faults.size());
  for (const std::string &fault : faults)
    text += "\n  " + fault;
  return text;
}

static const std::string &parameterOf(const Value &value) {
  return value.role == Role::Param ? value.name : value.of;
}

const WeightView *WeightFiles::find(const Value &value) const {
  auto it = views.find(parameterOf(value));
  return it == views.end() ? nullptr : &it->second;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Copies elements that are `stride` apart to consecutive positions.
template <typename T>
static void gather(const uint8_t *source, int64_t stride, int64_t count,
                   uint8_t *out) {
  for (int64_t i = 0; i < count; ++i)
    memcpy(out + i * int64_t(sizeof(T)),
           source + i * stride * int64_t(sizeof(T)), sizeof(T));
}

static void gather(int64_t size, const uint8_t *source, int64_t stride,
                   int64_t count, uint8_t *out) {
  if (stride == 1)
    memcpy(out, source, size_t(count * size));
  else if (size == 4)
    gather<uint32_t>(source, stride, count, out);
  else
    gather<uint16_t>(source, stride, count, out);
}

void tessera::rt::readElements(const WeightView &view,
                               const std::vector<int64_t> &logicalShape,
                               int32_t dtype, int64_t first, int64_t count,
                               uint8_t *out) {
  const Source &source = view.source;
  bool hasTensors = source.hasTensors();
  constexpr int64_t chunk = 1024;
  int64_t inner = logicalShape.empty() ? 1 : logicalShape.back();
  int64_t stride = logicalShape.empty() ? 1 : source.strides.back();
  int64_t to = dtypeSize(dtype);
  alignas(8) uint8_t picked[chunk * 4];
  float wide[chunk];
  for (int64_t at = first, end = first + count; at < end;) {
    // Handles a piece of a row, the last dimension.
    int64_t column = at % inner, rest = at / inner;
    int64_t some = std::min({inner - column, end - at, chunk});
    int64_t index = source.offset, number = 0;
    for (size_t d = logicalShape.size(); d-- > 0;) {
      bool isInner = d + 1 == logicalShape.size();
      int64_t i = isInner ? column : rest % logicalShape[d];
      index += i * source.strides[d];
      if (!isInner)
        rest /= logicalShape[d];
      // In a single dimension of tensors, a piece is one element.
      if (d == 0 && hasTensors)
        number = i;
    }
    if (hasTensors && logicalShape.size() == 1)
      some = 1;
    const WeightTensor &tensor = *view.tensors[size_t(number)];
    int64_t from = dtypeSize(tensor.dtype);
    const uint8_t *elements = tensor.elements + index * from;
    if (dtype == tensor.dtype) {
      gather(from, elements, stride, some, out);
    } else {
      gather(from, elements, stride, some, picked);
      widenFloats(picked, tensor.dtype, wide, some);
      convertFloats(wide, dtype, out, some);
    }
    out += some * to;
    at += some;
  }
}
