//===- Lookup.h - Elements that are read by index ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_LINALG_LOOKUP_H
#define TESSERA_LIB_LINALG_LOOKUP_H

#include "tessera/Codegen/GenericBuilder.h"

namespace tessera {

/// An element that is read by index.
struct Lookup {
  /// The position in the tensor; 0 if `inside` is false.
  mlir::Value position;
  /// True if the index is an element of this tensor.
  mlir::Value inside;
  /// True if it is an element of the tensor across all devices.
  mlir::Value isKnown;
};

/// Builds the position of `id - offset` in a dimension of `size`. Without an
/// offset the position is `id`. Ids are valid below `limit`; without a limit
/// all are.
Lookup lookUp(GenericBuilder &b, mlir::Value id, mlir::Value offset,
              int64_t size, std::optional<int64_t> limit);

/// Builds the result of a lookup: `read` if the index is in this tensor, 0 if
/// it is on another device, and NaN if it is invalid.
mlir::Value chooseRead(GenericBuilder &b, const Lookup &lookup,
                       mlir::Value read);

} // namespace tessera

#endif // TESSERA_LIB_LINALG_LOOKUP_H
