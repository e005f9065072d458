//===- HoistGathers.h - Hoists gathers out of loops -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter stored in shards is gathered in each micro-batch, though it does
// not change. The first gathers of a micro-batch have no work to overlap with:
// the previous one is over. A loop-carried value has memory of its own during
// the whole loop, so gathering in one micro-batch for the next takes as much
// memory as gathering once before the loop, which moves fewer bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COLLECTIVES_HOISTGATHERS_H
#define TESSERA_LIB_COLLECTIVES_HOISTGATHERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace tessera {

/// Returns the seconds of a function's best order, or nothing if that takes too
/// much memory. May change the function.
using EvaluateOverlap =
    llvm::function_ref<std::optional<double>(mlir::func::FuncOp)>;

/// Moves started gathers of loop-invariant values before the loop if that makes
/// the function faster. Equal gathers in the loop and after it use the result
/// too. Tries the two gathers that save the most exposed time in all runs, with
/// `slack` bytes above the loop's blocking order, if they save at least a
/// thousandth of the loop's time.
void hoistExposedGathers(mlir::func::FuncOp func, int64_t slack,
                         EvaluateOverlap evaluate);

} // namespace tessera

#endif // TESSERA_LIB_COLLECTIVES_HOISTGATHERS_H
