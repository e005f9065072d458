//===- Lines.h - A tensor along one dimension -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_INTERPRETER_LINES_H
#define TESSERA_LIB_INTERPRETER_LINES_H

#include "tessera/Interpreter/Tensor.h"
#include "llvm/ADT/STLExtras.h"

namespace tessera::interp {

/// The elements of a tensor along one dimension: `count` lines of `size`
/// elements, `stride` apart.
struct Lines {
  int64_t count, size, stride;

  Lines(llvm::ArrayRef<int64_t> shape, int64_t dim) {
    size = shape[dim];
    stride = stridesOf(shape)[dim];
    count = 1;
    for (auto [d, n] : llvm::enumerate(shape))
      if (static_cast<int64_t>(d) != dim)
        count *= n;
  }
  /// Returns the first element of line `i`.
  int64_t start(int64_t i) const {
    return i / stride * stride * size + i % stride;
  }
};

} // namespace tessera::interp

#endif // TESSERA_LIB_INTERPRETER_LINES_H
