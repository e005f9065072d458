//===- Limits.h - Limits on meshes and tensors ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_LIMITS_H
#define TESSERA_INTERFACES_LIMITS_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace tessera {

/// The most devices of a mesh, since some tables have an entry for every
/// device.
constexpr int64_t kMaxDevices = 1 << 20;

/// The widest head whose positions may be rotated, since its frequencies are a
/// constant of the program.
constexpr int64_t kMaxRotatedWidth = 1 << 20;

/// The most elements of a tensor. It keeps the bytes of padded tensors, and
/// sums of them, from overflowing.
constexpr int64_t kMaxElements = int64_t(1) << 48;

/// The largest padded dimension for which the search of shardings considers a
/// sharding, in percent of the dimension.
constexpr int64_t kMaxPaddedPercent = 125;

/// True if a shape has more than kMaxElements elements.
inline bool isTooLarge(llvm::ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (size > 0 && elements > kMaxElements / size)
      return true;
    elements *= size > 0 ? size : 1;
  }
  return false;
}

} // namespace tessera

#endif // TESSERA_INTERFACES_LIMITS_H
