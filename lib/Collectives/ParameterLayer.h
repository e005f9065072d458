//===- ParameterLayer.h - The layer of a parameter --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters that are gathered where they are used are gathered layer by layer.
// A layer is the number in the parameters' names.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COLLECTIVES_PARAMETERLAYER_H
#define TESSERA_LIB_COLLECTIVES_PARAMETERLAYER_H

#include "mlir/IR/Value.h"
#include <optional>
#include <string>

namespace tessera {

/// The name of the parameter that `value` is, an argument of a function; null
/// if it is none.
mlir::StringAttr getParameterName(mlir::Value value);

/// "blocks.3" of what is made of a parameter of that block, by ops of which it
/// is the first tensor; "" of one that belongs to no block. Nothing of what is
/// not made of a parameter.
std::optional<std::string> getParameterLayer(mlir::Value value);

} // namespace tessera

#endif // TESSERA_LIB_COLLECTIVES_PARAMETERLAYER_H
