//===- Einsum.h - An einsum with numbers for letters ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain C++: no IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LINALG_EINSUM_H
#define TESSERA_LINALG_EINSUM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace tessera {

/// Letters are numbers; each tensor lists its dimensions' letters.
struct Einsum {
  using Letters = llvm::SmallVector<unsigned, 6>;
  Letters lhs, rhs, result;
  /// Size of each letter.
  llvm::SmallVector<int64_t, 8> sizes;

  /// Product of the sizes of `letters`; 1 for none.
  int64_t size(llvm::ArrayRef<unsigned> letters) const;
  /// Fails if a letter occurs twice in a tensor, or in one tensor only.
  llvm::Error check() const;
};

} // namespace tessera

#endif // TESSERA_LINALG_EINSUM_H
