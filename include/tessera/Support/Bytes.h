//===- Bytes.h - Numbers of bytes as people write them ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_BYTES_H
#define TESSERA_SUPPORT_BYTES_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace tessera {

/// Parses a number of bytes, 0 or more, such as 4096, 450MB or 1.5GB: units are
/// powers of 1000 (kB or KB, MB, GB). None for other texts.
std::optional<int64_t> parseBytes(llvm::StringRef text);

} // namespace tessera

#endif // TESSERA_SUPPORT_BYTES_H
