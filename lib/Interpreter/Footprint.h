//===- Footprint.h - What an interpretation needs of memory -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_INTERPRETER_FOOTPRINT_H
#define TESSERA_LIB_INTERPRETER_FOOTPRINT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::interp {

/// Bytes of the values that are alive together at most while a function runs,
/// its arguments and results included: a global one on one rank, a local one on
/// all devices of its mesh, where those that hold one value share it. Callees
/// count as if each call kept what it returns only. Infinite where it does not
/// fit a double.
double estimateBytes(mlir::func::FuncOp function);

/// Bytes of memory that are free on this machine and that this process may use;
/// none if that is not known.
std::optional<double> getFreeBytes();

/// Failure, with an error that says both, if a function does not fit the
/// memory: it would be killed after a long time otherwise.
mlir::LogicalResult checkFits(mlir::func::FuncOp function);

} // namespace tessera::interp

#endif // TESSERA_LIB_INTERPRETER_FOOTPRINT_H
