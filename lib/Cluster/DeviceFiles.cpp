//===- DeviceFiles.cpp - Devices by name ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceFiles.h"
#include "tessera/Support/Errors.h"
#include "tessera/Support/Json.h"
#include "tessera/Support/Share.h"
#include "tessera/Support/Spelling.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace tessera;

/// Objects of quantities by name; the other quantities are fields of a device.
static constexpr StringRef kQuantityLists[] = {"peak_flops", "constants"};

static std::string joinField(StringRef path, StringRef key) {
  return path.empty() ? key.str() : (path + "." + key).str();
}

Error DeviceFiles::unknown(const json::Value &name, StringRef field) const {
  std::vector<std::string> near = listJsonFiles(folder),
                           shared = listShared("devices");
  std::string places = near.empty() || near == shared
                           ? ""
                           : folder + " (" + join(near, ", ") + ") or ";
  SmallVector<StringRef> known(near.begin(), near.end());
  known.append(shared.begin(), shared.end());
  return createStringError(
      formatv("{0}: expects a device of {1}share/devices ({2}) but got {3}{4}",
              field, places, join(shared, ", "), name,
              didYouMean(name.getAsString().value_or(""), known)));
}

Expected<json::Object> DeviceFiles::read(StringRef file) {
  auto buffer = MemoryBuffer::getFile(file);
  if (!buffer)
    return createStringError(buffer.getError().message());
  Expected<json::Value> value = parseJson((*buffer)->getBuffer());
  if (!value)
    return value.takeError();
  if (!value->getAsObject())
    return createStringError("expects a JSON object");
  Expected<json::Object> device = expand(*value, "");
  if (!device)
    return device;
  if (Error error = checkDevice(*device))
    return std::move(error);
  return device;
}

Expected<const json::Object *> DeviceFiles::load(StringRef name,
                                                 StringRef field) {
  auto found = devices.find(name.str());
  if (found != devices.end())
    return &found->second;
  std::string file = findNear(folder, "devices", name);
  if (file.empty())
    return unknown(name, field);
  if (is_contained(stack, name))
    return createStringError(field +
                             ": expects a device that does not depend "
                             "on this one but got '" +
                             name + "'");
  stack.push_back(name.str());
  Expected<json::Object> device = read(file);
  stack.pop_back();
  if (!device)
    return prefixError(file + ": ", device.takeError());
  return &devices.emplace(name.str(), std::move(*device)).first->second;
}

Error DeviceFiles::expandQuantity(json::Object &quantity,
                                  ArrayRef<StringRef> keys, StringRef path) {
  const json::Value *as = quantity.get("as");
  if (!as)
    return Error::success();
  std::string field = joinField(path, "as");
  if (quantity.get("value"))
    return createStringError(path + ": expects value or as but got both");
  if (!as->getAsString())
    return unknown(*as, field);
  std::string name = as->getAsString()->str();
  Expected<const json::Object *> other = load(name, field);
  if (!other)
    return other.takeError();
  const json::Object *fields = *other;
  for (StringRef key : keys)
    fields = fields ? fields->getObject(key) : nullptr;
  if (!fields)
    return createStringError(formatv(
        "{0}: expects a device that has {1} but got '{2}', which has none",
        field, join(keys, "."), name));
  quantity.erase("as");
  for (const auto &[key, value] : *fields)
    quantity.try_emplace(key, value);
  return Error::success();
}

/// Adds the fields of `base` that `device` lacks.
static void addMissing(json::Object &device, const json::Object &base) {
  for (const auto &[key, value] : base) {
    json::Object *own = device.getObject(key);
    const json::Object *other = value.getAsObject();
    if (own && other && is_contained(kQuantityLists, StringRef(key)))
      for (const auto &[name, quantity] : *other)
        own->try_emplace(name, quantity);
    else
      device.try_emplace(key, value);
  }
}

Error DeviceFiles::expandQuantities(json::Object &device, StringRef path) {
  for (StringRef key : sortKeys(device)) {
    json::Object *fields = device.getObject(key);
    std::string field = joinField(path, key);
    if (!fields)
      continue;
    if (!is_contained(kQuantityLists, key)) {
      if (Error error = expandQuantity(*fields, {key}, field))
        return error;
      continue;
    }
    for (StringRef name : sortKeys(*fields))
      if (json::Object *quantity = fields->getObject(name))
        if (Error error =
                expandQuantity(*quantity, {key, name}, joinField(field, name)))
          return error;
  }
  return Error::success();
}

Expected<json::Object> DeviceFiles::expand(const json::Value &value,
                                           StringRef path) {
  if (auto name = value.getAsString()) {
    Expected<const json::Object *> device = load(*name, path);
    if (!device)
      return device.takeError();
    return **device;
  }
  const json::Object *object = value.getAsObject();
  if (!object)
    return createStringError(
        formatv("{0}: expects an object or the name of a device but got {1}",
                path, value));
  json::Object device = *object;
  device.erase("like");
  if (Error error = expandQuantities(device, path))
    return std::move(error);
  const json::Value *like = object->get("like");
  if (!like)
    return device;
  std::string field = joinField(path, "like");
  if (!like->getAsString())
    return unknown(*like, field);
  Expected<const json::Object *> base = load(*like->getAsString(), field);
  if (!base)
    return base.takeError();
  addMissing(device, **base);
  return device;
}
