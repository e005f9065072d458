//===- ParameterLayer.h - The layer of a parameter --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters that are gathered before their use are gathered layer by layer. A
// layer is the number in the parameters' names.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COLLECTIVES_PARAMETERLAYER_H
#define TESSERA_LIB_COLLECTIVES_PARAMETERLAYER_H

#include "mlir/IR/Value.h"
#include <optional>
#include <string>

namespace tessera {

/// Returns the name of the parameter if `value` is one, an argument of a
/// function; null otherwise.
mlir::StringAttr getParameterName(mlir::Value value);

/// Returns the layer, such as "blocks.3", of the parameter that `value` is
/// computed from, following first operands; "" if that parameter is in no
/// block, and nothing if there is no parameter.
std::optional<std::string> getParameterLayer(mlir::Value value);

} // namespace tessera

#endif // TESSERA_LIB_COLLECTIVES_PARAMETERLAYER_H
