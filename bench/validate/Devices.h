//===- Devices.h - Presets of the devices that tables name ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_BENCH_VALIDATE_DEVICES_H
#define TESSERA_BENCH_VALIDATE_DEVICES_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace tessera::validate {

/// The cluster preset of a device as a table names it ("NVIDIA H100-SXM5-80GB",
/// "A100-SXM (Perlmutter: ...)"); empty if there is none. A device of another
/// form factor or memory never matches.
std::string presetOf(llvm::StringRef gpu);

/// True if the power of a device is limited by an amount that its name does not
/// give, so that its rates are not known.
bool hasUnknownPower(llvm::StringRef gpu);

} // namespace tessera::validate

#endif // TESSERA_BENCH_VALIDATE_DEVICES_H
