//===- Bytes.h - Sizes and counts as people write them ----------*- C++ -*-===//
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

/// Parses a number of bytes, 0 or more, such as 4096, 450MB, 1.5GB or 512MiB,
/// as tessera_rt_read_bytes does: kB, MB, GB are powers of 1000, KiB, MiB, GiB
/// powers of 1024. None for other texts.
std::optional<int64_t> parseBytes(llvm::StringRef text);

/// Parses a whole number, 0 or more, such as 4096, 300B or 4Ki: k, M, B and T
/// are powers of 1000, Ki and Mi of 1024. None for other texts.
std::optional<int64_t> parseCount(llvm::StringRef text);

/// Parses a number with a unit of a count: 15e12, 15.6T, 0.5.
std::optional<double> parseAmount(llvm::StringRef text);

} // namespace tessera

#endif // TESSERA_SUPPORT_BYTES_H
