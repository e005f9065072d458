//===- WireTypes.h - Element types of collectives on the wire ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COLLECTIVELISTS_WIRETYPES_H
#define TESSERA_LIB_COLLECTIVELISTS_WIRETYPES_H

#include "mlir/IR/Types.h"

namespace tessera {

/// Returns the type in which a collective, which may reduce its elements, sends
/// them; null if the runtime supports their own type. See WidenCollectives.cpp.
mlir::Type getWireType(mlir::Type element, bool reduces);

} // namespace tessera

#endif // TESSERA_LIB_COLLECTIVELISTS_WIRETYPES_H
