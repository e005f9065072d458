//===- HoistGathers.h - Gathers before a loop, not in it --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter that rests in shards is gathered in each micro-batch, though it
// stays the same. The first gathers of a micro-batch have nothing to run
// beside: the one before is over. What a loop carries has memory of its own
// from its begin to its end, so gathering in one micro-batch for the next takes
// as much memory as gathering once before the loop, which moves less.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COLLECTIVES_HOISTGATHERS_H
#define TESSERA_LIB_COLLECTIVES_HOISTGATHERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace tessera {

/// Seconds of a function's best order; nothing if that takes too much memory.
/// May change the function.
using EvaluateOverlap =
    llvm::function_ref<std::optional<double>(mlir::func::FuncOp)>;

/// Moves started gathers of what does not change in a loop to before it, where
/// that makes the function shorter. Equal ones in the loop and after it use
/// the result too. Tried are those two that are exposed longest in all runs,
/// with `slack` bytes above the loop's blocking order, if that is a thousandth
/// of the loop's time.
void hoistExposedGathers(mlir::func::FuncOp func, int64_t slack,
                         EvaluateOverlap evaluate);

} // namespace tessera

#endif // TESSERA_LIB_COLLECTIVES_HOISTGATHERS_H
