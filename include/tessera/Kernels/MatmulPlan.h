//===- MatmulPlan.h - An einsum as one library call -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library multiplies matrices: a batch of [m, k] times [k, n], each stored by
// rows or by columns. An einsum has letters in any order. Each letter belongs
// to one of four groups: batch (in both operands and the result), rows (left
// and result), columns (right and result), contracted (both operands). If the
// letters of a group are contiguous and in one order in every tensor, the group
// is one dimension with one stride. A tensor where this fails, or where neither
// matrix dimension is contiguous, is copied into another order of letters.
//
// Plain C++: no IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_KERNELS_MATMULPLAN_H
#define TESSERA_KERNELS_MATMULPLAN_H

#include "tessera/Linalg/Einsum.h"
#include <optional>

namespace tessera {

/// The matmul that computes an einsum. A tensor with an order is copied:
/// operands into that order before the matmul, the result from it after.
struct MatmulPlan {
  /// The matmul multiplies rhs and lhs, in this order (the result is stored by
  /// columns).
  bool swapped = false;
  std::optional<Einsum::Letters> lhsOrder, rhsOrder, resultOrder;
  int64_t batch = 1, m = 1, n = 1, k = 1;
  /// Leading dimensions and batch strides; a and b are the operands after the
  /// swap.
  int64_t lda = 1, ldb = 1, ldc = 1;
  int64_t strideA = 0, strideB = 0, strideC = 0;
  bool transA = false, transB = false;
  /// Number of elements that copies move.
  int64_t copied = 0;
};

/// The plan that copies the fewest elements. The einsum must pass check().
MatmulPlan planMatmul(const Einsum &einsum);

} // namespace tessera

#endif // TESSERA_KERNELS_MATMULPLAN_H
