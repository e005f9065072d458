//===- WholeParameters.h - Parameters that tp does not split ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRAINING_WHOLEPARAMETERS_H
#define TESSERA_TRAINING_WHOLEPARAMETERS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tessera {

/// Describes in one line, with what to do, the matrices among the parameters
/// (`nn.param`) that the strategy `tp` leaves whole on each device, because
/// their `nn.dims` name nothing that it splits. Tables of positions do not
/// count. Empty if these are less than 5 % of the elements of all matrices, if
/// they are all matrices (the strategy itself fails then), or if arguments have
/// shardings.
std::string describeWholeParameters(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_TRAINING_WHOLEPARAMETERS_H
