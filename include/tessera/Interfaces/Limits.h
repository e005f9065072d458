//===- Limits.h - How large a mesh and a tensor may be ----------*- C++ -*-===//
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

/// The most devices that a mesh may have: tables of all devices are made for
/// it.
constexpr int64_t kMaxDevices = 1 << 20;

/// The widest head whose positions may be rotated: its frequencies are a
/// constant of the program.
constexpr int64_t kMaxRotatedWidth = 1 << 20;

/// The most elements of a tensor. Bytes must not overflow, of padded tensors
/// and of sums of them neither.
constexpr int64_t kMaxElements = int64_t(1) << 48;

/// Whether a shape has more elements than that.
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
