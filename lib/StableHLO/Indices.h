//===- Indices.h - Rows at run-time indices ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STABLEHLO_INDICES_H
#define TESSERA_LIB_STABLEHLO_INDICES_H

#include "Converter.h"

namespace tessera::stablehlo {

/// `x` of `select(x < 0, x + size, x)`; null for other values.
Value matchWrap(Value value, int64_t size);

/// Whether all elements are known to be in [0, size): constants, and positions
/// in a dimension of at most that size.
bool isInRange(Value index, int64_t size);

/// Clamps `index` to [0, size).
Value clampIndex(GraphBuilder &b, Value index, int64_t size);

/// Casts integers to at least 32 bits, and to 64 bits where they count up to
/// more than 2^31.
Value widenIndex(GraphBuilder &b, Value index, int64_t limit);

/// The numbers 0 to `size` - 1 in the elements of `like`.
Value countTo(GraphBuilder &b, int64_t size, Value like);

/// Fails if `x` has integers, and too many of them for lookUpRows() of `count`
/// out of `rows` rows.
mlir::LogicalResult checkLookUp(const OpConversion &c, Value x, int64_t rows,
                                int64_t count);

/// The rows of a matrix at `ids`, which are in range: an embedding of floats,
/// and a matmul with ones of integers.
Value lookUpRows(GraphBuilder &b, Value table, Value ids);

/// The slices of `x` at `ids`, a list of positions in range, along `dim`.
Value takeRows(GraphBuilder &b, Value x, int64_t dim, Value ids);

/// The elements along `dim` in the reverse order.
Value reverse(GraphBuilder &b, Value x, int64_t dim);

} // namespace tessera::stablehlo

#endif // TESSERA_LIB_STABLEHLO_INDICES_H
