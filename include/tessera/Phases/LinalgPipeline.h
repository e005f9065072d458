//===- LinalgPipeline.h - From a local program to linalg --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PHASES_LINALGPIPELINE_H
#define TESSERA_PHASES_LINALGPIPELINE_H

#include "mlir/Pass/PassManager.h"

namespace tessera {

/// Adds the passes from a local program, or one without a mesh, to ops of
/// upstream's dialects, collectives and `dist.axis_offset`: for a compiler with
/// a lowering of its own.
void buildToLinalg(mlir::OpPassManager &pm);

/// Registers `--tessera-to-linalg`.
void registerToLinalgPipeline();

} // namespace tessera

#endif // TESSERA_PHASES_LINALGPIPELINE_H
