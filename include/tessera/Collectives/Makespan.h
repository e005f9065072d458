//===- Makespan.h - Seconds of a scheduled program --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COLLECTIVES_MAKESPAN_H
#define TESSERA_COLLECTIVES_MAKESPAN_H

#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// Seconds of a call of the slowest function of a module at phase schedule, in
/// its current order, with kernels and collectives overlapped
/// (OverlapSchedule.h).
double getMakespan(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_COLLECTIVES_MAKESPAN_H
