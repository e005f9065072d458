//===- Elements.h - Elements of whole values --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies between a rank's block in the host's arena and elements of the whole
// value, in row-major order of its logical shape.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_ELEMENTS_H
#define TESSERA_RT_SRC_ELEMENTS_H

#include "Manifest.h"
#include "ranks/Context.h"

namespace tessera::rt {

/// Some elements of a value, from number `first` on.
struct ElementRange {
  int64_t first = 0, count = 0;
};

/// Copies those elements of `range` that this rank's block has, from `elements`
/// (the range's first) to the block. The padding stays as it is.
void copyToBlock(tessera_rt_context *ctx, const Value &value,
                 const ElementRange &range, const uint8_t *elements);

/// Copies in the other direction.
void copyFromBlock(tessera_rt_context *ctx, const Value &value,
                   const ElementRange &range, uint8_t *elements);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_ELEMENTS_H
