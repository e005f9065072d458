//===- Footprint.h - Memory usage of an interpretation ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_INTERPRETER_FOOTPRINT_H
#define TESSERA_LIB_INTERPRETER_FOOTPRINT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::interp {

/// Returns the peak of the live bytes while a function runs, including its
/// arguments and results. A global value is on one rank, a local one on all
/// devices of its mesh; devices with the same value share it. A callee counts
/// only with the results of each call. Returns infinity if the number does not
/// fit a double.
double estimateBytes(mlir::func::FuncOp function);

/// Returns the bytes of free memory on this machine that this process may use;
/// none if unknown.
std::optional<double> getFreeBytes();

/// Fails, with an error that has both numbers, if a function does not fit in
/// memory. Otherwise it would be killed after a long time.
mlir::LogicalResult checkFits(mlir::func::FuncOp function);

} // namespace tessera::interp

#endif // TESSERA_LIB_INTERPRETER_FOOTPRINT_H
