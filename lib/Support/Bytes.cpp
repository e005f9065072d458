//===- Bytes.cpp - Sizes and counts as people write them ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Bytes.h"
#include "runtime/include/tessera_bytes.h"
#include <cmath>
#include <utility>

using namespace tessera;
using llvm::StringRef;

std::optional<int64_t> tessera::parseBytes(StringRef text) {
  int64_t bytes;
  if (!tessera_rt_read_bytes(text.str().c_str(), &bytes))
    return std::nullopt;
  return bytes;
}

namespace {
/// A number and the unit after it.
struct Scaled {
  double number;
  /// The number if it is whole and exact; otherwise -1.
  int64_t whole;
  int64_t unit = 1;
};
} // namespace

static std::optional<Scaled> parseScaled(StringRef text) {
  Scaled scaled;
  std::string copy = text.str();
  const char *end;
  if (!tessera_rt_read_number(copy.c_str(), &scaled.number, &scaled.whole,
                              &end))
    return std::nullopt;
  StringRef suffix(end);
  for (auto [name, unit] :
       {std::pair("k", int64_t(1'000)), std::pair("M", int64_t(1'000'000)),
        std::pair("B", int64_t(1'000'000'000)),
        std::pair("T", int64_t(1'000'000'000'000)),
        std::pair("Ki", int64_t(1) << 10), std::pair("Mi", int64_t(1) << 20)})
    if (suffix == name)
      scaled.unit = unit;
  if (!suffix.empty() && scaled.unit == 1)
    return std::nullopt;
  return scaled;
}

std::optional<int64_t> tessera::parseCount(StringRef text) {
  std::optional<Scaled> scaled = parseScaled(text);
  int64_t count;
  // A number that is not exact may be whole only if it has a unit: 1.5k.
  if (!scaled || (scaled->whole < 0 && scaled->unit == 1) ||
      !tessera_rt_scale_number(scaled->number, scaled->whole, scaled->unit,
                               &count) ||
      (scaled->whole < 0 &&
       double(count) != scaled->number * double(scaled->unit)))
    return std::nullopt;
  return count;
}

std::optional<double> tessera::parseAmount(StringRef text) {
  std::optional<Scaled> scaled = parseScaled(text);
  if (!scaled)
    return std::nullopt;
  return scaled->number * double(scaled->unit);
}
