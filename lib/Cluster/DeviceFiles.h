//===- DeviceFiles.h - Devices by name --------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces the names of devices in the JSON of a cluster or a device by their
// contents, so that each constant is written once. Three forms name a device:
//
//   "device": "h100-sxm-80gb"                   this device
//   "device": {"like": "h100-sxm-80gb", ...}    this device, with other values
//   "memory_rate": {"as": "h100-sxm-80gb", ...} this device's quantity
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CLUSTER_DEVICEFILES_H
#define TESSERA_LIB_CLUSTER_DEVICEFILES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <string>

namespace tessera {

/// Reads the fields of a complete device and checks their ranges; names fields
/// from "name" on.
llvm::Error checkDevice(const llvm::json::Object &device);

/// Reads device files, each once.
class DeviceFiles {
public:
  /// Looks files up in `folder`, and then in share/devices.
  explicit DeviceFiles(std::string folder) : folder(std::move(folder)) {}

  /// Returns `device` without names of other devices. Fields that it lacks next
  /// to "like" are the named device's; peaks and constants are merged one by
  /// one. A quantity with "as" has the value of the same quantity of the named
  /// device, and its origin if `device` gives none. Everything else is left as
  /// it is, for a reader to check. Errors name the field after `path`.
  llvm::Expected<llvm::json::Object> expand(const llvm::json::Value &device,
                                            llvm::StringRef path);

private:
  /// The expanded device of this name. `field` is the field that names it.
  llvm::Expected<const llvm::json::Object *> load(llvm::StringRef name,
                                                  llvm::StringRef field);
  llvm::Expected<llvm::json::Object> read(llvm::StringRef file);
  /// Expands the quantities of a device that name another one with "as".
  llvm::Error expandQuantities(llvm::json::Object &device,
                               llvm::StringRef path);
  llvm::Error expandQuantity(llvm::json::Object &quantity,
                             llvm::ArrayRef<llvm::StringRef> keys,
                             llvm::StringRef path);
  llvm::Error unknown(const llvm::json::Value &name,
                      llvm::StringRef field) const;

  std::string folder;
  std::map<std::string, llvm::json::Object> devices;
  /// Names of the devices that are being read.
  llvm::SmallVector<std::string, 4> stack;
};

} // namespace tessera

#endif // TESSERA_LIB_CLUSTER_DEVICEFILES_H
