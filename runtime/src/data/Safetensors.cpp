//===- Safetensors.cpp - Files of weights ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Safetensors.h.
//
//===----------------------------------------------------------------------===//

#include "Safetensors.h"

#include "Manifest.h"
#include "support/Json.h"
#include "support/Support.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace tessera::rt;

static constexpr int64_t longestHeader = 100000000;

namespace {
struct TypeRow {
  const char *name;
  /// Bits of an element.
  int64_t bits;
  /// -1: programs do not have this type.
  int32_t dtype;
  /// True for types that weights have.
  bool isOfWeights = false;
};
} // namespace

static constexpr TypeRow types[] = {
    {"F32", 32, TESSERA_RT_F32, true},
    {"BF16", 16, TESSERA_RT_BF16, true},
    {"F16", 16, TESSERA_RT_F16, true},
    {"F64", 64, TESSERA_RT_F64},
    {"I64", 64, TESSERA_RT_I64},
    {"U64", 64, -1},
    {"I32", 32, TESSERA_RT_I32},
    {"U32", 32, -1},
    {"I16", 16, TESSERA_RT_I16},
    {"U16", 16, -1},
    {"I8", 8, TESSERA_RT_I8},
    {"U8", 8, -1},
    {"BOOL", 8, TESSERA_RT_I1},
    {"C64", 64, -1},
    {"F8_E4M3", 8, TESSERA_RT_F8E4M3},
    {"F8_E5M2", 8, TESSERA_RT_F8E5M2},
    {"F8_E8M0", 8, -1},
    {"F6_E2M3", 6, -1},
    {"F6_E3M2", 6, -1},
    {"F4", 4, -1},
};

static const TypeRow *findType(const std::string &name) {
  for (const TypeRow &row : types)
    if (name == row.name)
      return &row;
  return nullptr;
}

int32_t tessera::rt::dtypeFromSafetensors(const std::string &type) {
  const TypeRow *row = findType(type);
  return row && row->isOfWeights ? row->dtype : -1;
}

const char *tessera::rt::safetensorsName(int32_t dtype) {
  for (const TypeRow &row : types)
    if (row.dtype == dtype && dtype >= 0)
      return row.name;
  return nullptr;
}

bool tessera::rt::isWeightType(int32_t dtype) {
  const char *name = safetensorsName(dtype);
  return name && findType(name)->isOfWeights;
}

/// Returns a tensor's bytes, or -1 if its bits are not whole bytes or the bytes
/// exceed a file's limit.
static int64_t countBytes(const TypeRow &type,
                          const std::vector<int64_t> &shape) {
  int64_t bits = type.bits;
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(bits, extent, &bits))
      return -1;
  return bits % 8 == 0 ? bits / 8 : -1;
}

static std::string readEntry(const std::string &name, const Json &json,
                             SafetensorsEntry &entry) {
  std::string where = "tensor '" + name + "' ";
  std::string error = checkMembers(json, {"dtype", "shape", "data_offsets"});
  if (!error.empty())
    return where + error;
  entry.name = name;
  entry.type = json.getString("dtype");
  const TypeRow *type = findType(entry.type);
  if (!type)
    return where + "has the unknown dtype '" + entry.type + "'";
  for (const Json &extent : json.getArray("shape"))
    entry.shape.push_back(extent.isInteger ? extent.integer : -1);
  const std::vector<Json> &offsets = json.getArray("data_offsets");
  if (offsets.size() != 2 || !offsets[0].isInteger || !offsets[1].isInteger)
    return where + "expects two data_offsets";
  entry.begin = offsets[0].integer;
  entry.end = offsets[1].integer;
  int64_t bytes = countBytes(*type, entry.shape);
  if (bytes < 0 || entry.begin < 0 || entry.end < entry.begin ||
      entry.end - entry.begin != bytes)
    return where + format("has data_offsets [%lld, %lld], but its dtype and "
                          "shape have %lld bytes",
                          (long long)entry.begin, (long long)entry.end,
                          (long long)bytes);
  return std::string();
}

static std::string readMetadata(const Json &json, SafetensorsHeader &header) {
  if (json.kind != Json::Object)
    return "expects __metadata__ to be an object";
  for (const auto &member : json.members) {
    if (member.second.kind != Json::String)
      return "expects strings in __metadata__";
    header.metadata.push_back({member.first, member.second.string});
  }
  return std::string();
}

/// Sorts the entries by their bytes, which must be contiguous up to `size`.
static std::string checkBytes(std::vector<SafetensorsEntry> &entries,
                              int64_t size) {
  std::sort(entries.begin(), entries.end(),
            [](const SafetensorsEntry &a, const SafetensorsEntry &b) {
              return std::tie(a.begin, a.end, a.name) <
                     std::tie(b.begin, b.end, b.name);
            });
  int64_t at = 0;
  for (const SafetensorsEntry &entry : entries) {
    if (entry.begin != at)
      return format("tensor '%s' begins at byte %lld, but the one before it "
                    "ends at %lld: tensors %s",
                    entry.name.c_str(), (long long)entry.begin, (long long)at,
                    entry.begin < at ? "overlap" : "leave a hole");
    at = entry.end;
  }
  return at == size ? std::string()
                    : format("expects %lld bytes of tensors, but the file has "
                             "%lld",
                             (long long)at, (long long)size);
}

std::string tessera::rt::parseSafetensors(const uint8_t *data, int64_t size,
                                          SafetensorsHeader &header) {
  if (size < 8)
    return "expects at least 8 bytes";
  uint64_t length;
  memcpy(&length, data, sizeof(length));
  if (length > uint64_t(longestHeader) || int64_t(length) > size - 8)
    return format("expects a header of at most %lld bytes, but its length is "
                  "%llu",
                  (long long)std::min(longestHeader, size - 8),
                  (unsigned long long)length);
  header.elements = 8 + int64_t(length);
  Json json;
  std::string error;
  if (!parseJson(
          std::string(reinterpret_cast<const char *>(data) + 8, size_t(length)),
          json, error))
    return "in the header, " + error;
  if (json.kind != Json::Object)
    return "expects a header that is a JSON object";
  std::set<std::string> names;
  for (const auto &[name, value] : json.members) {
    if (!names.insert(name).second)
      return "the name '" + name + "' comes twice";
    if (name == "__metadata__") {
      error = readMetadata(value, header);
    } else {
      header.entries.emplace_back();
      error = readEntry(name, value, header.entries.back());
    }
    if (!error.empty())
      return error;
  }
  return checkBytes(header.entries, size - header.elements);
}

std::string tessera::rt::describeSafetensors(const SafetensorsHeader &header) {
  std::string text = "{";
  if (!header.metadata.empty()) {
    text += "\"__metadata__\":{";
    const char *comma = "";
    for (const auto &[key, value] : header.metadata) {
      text += comma + quoteJson(key) + ":" + quoteJson(value);
      comma = ",";
    }
    text += "}";
  }
  for (const SafetensorsEntry &entry : header.entries) {
    text += (text.size() > 1 ? "," : "") + quoteJson(entry.name) +
            ":{\"dtype\":" + quoteJson(entry.type) + ",\"shape\":[";
    for (size_t i = 0; i < entry.shape.size(); ++i)
      text += format(i ? ",%lld" : "%lld", (long long)entry.shape[i]);
    text += format("],\"data_offsets\":[%lld,%lld]}", (long long)entry.begin,
                   (long long)entry.end);
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t length = text.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + text;
}
