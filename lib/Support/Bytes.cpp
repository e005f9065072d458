//===- Bytes.cpp - Numbers of bytes as people write them ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Bytes.h"
#include <utility>

using namespace tessera;
using llvm::StringRef;

std::optional<int64_t> tessera::parseBytes(StringRef text) {
  // Keeps a whole number exact: a double has only 53 bits.
  int64_t whole = 0;
  if (!text.getAsInteger(10, whole))
    return whole >= 0 ? std::optional(whole) : std::nullopt;
  double factor = 1, number = 0;
  for (auto [unit, size] : {std::pair("kB", 1e3), std::pair("KB", 1e3),
                            std::pair("MB", 1e6), std::pair("GB", 1e9)})
    if (text.consume_back(unit)) {
      factor = size;
      break;
    }
  if (text.getAsDouble(number) || !(number >= 0) || number * factor >= 0x1p63)
    return std::nullopt;
  return static_cast<int64_t>(number * factor);
}
