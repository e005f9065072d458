//===- WindowDim.h - Windows along a dimension ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain C++: no IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_WINDOWDIM_H
#define TESSERA_INTERFACES_WINDOWDIM_H

#include <cstdint>
#include <optional>

namespace tessera {

/// The windows of a convolution along one dimension. Tap t of window p is at
/// position p * stride + t * dilation of x'. This is x with `xDilation` - 1
/// zeros between any two neighbours, then `low` zeros before and `high` zeros
/// after them; of a negative number, as many elements less.
struct WindowDim {
  /// Number of elements of x, and of taps.
  int64_t size, taps;
  int64_t stride = 1, low = 0, high = 0, dilation = 1, xDilation = 1;

  /// Returns the number of positions from the first tap to the last.
  int64_t getReach() const { return taps ? (taps - 1) * dilation + 1 : 0; }
  /// Returns the number of elements of x with zeros between them.
  int64_t getDilatedSize() const {
    return size ? (size - 1) * xDilation + 1 : 0;
  }
  /// Returns the number of elements of x'; not positive if there are none.
  int64_t getPaddedSize() const { return getDilatedSize() + low + high; }
  /// Returns the number of windows inside x'.
  int64_t getNumWindows() const {
    int64_t room = getPaddedSize() - getReach();
    return taps == 0 || room < 0 ? 0 : room / stride + 1;
  }
  /// Returns the element of x that tap `tap` of window `window` reads; none if
  /// it reads a zero.
  std::optional<int64_t> findElement(int64_t window, int64_t tap) const {
    int64_t at = window * stride + tap * dilation - low;
    if (at < 0 || at >= getDilatedSize() || at % xDilation != 0)
      return std::nullopt;
    return at / xDilation;
  }
  /// Sets `high` so that there are `count` windows, the last at the end of x'.
  void setNumWindows(int64_t count) {
    high = (count - 1) * stride + getReach() - getDilatedSize() - low;
  }
};

} // namespace tessera

#endif // TESSERA_INTERFACES_WINDOWDIM_H
