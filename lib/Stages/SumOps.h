//===- SumOps.h - Ops on sums of several pp ranks ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the splitter makes and the proof joins again.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_SUMOPS_H
#define TESSERA_LIB_STAGES_SUMOPS_H

#include "mlir/IR/Builders.h"

namespace tessera {

/// True for sums over axes of the mesh and for slices: applied to the parts of
/// a sum, they give the parts of what they give of the whole sum. Not so a
/// maximum.
bool isLinear(mlir::Operation *op);

/// a + b, of floats or integers.
mlir::Value addValues(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value a, mlir::Value b);

/// The sum of nothing.
mlir::Value buildZero(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Type type);

/// Removes ops without use and effect, the last ones first.
void removeDead(mlir::Block &block);

} // namespace tessera

#endif // TESSERA_LIB_STAGES_SUMOPS_H
