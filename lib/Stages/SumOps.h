//===- SumOps.h - Ops on sums of several pp ranks ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that the splitter makes and that the proof joins again.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_SUMOPS_H
#define TESSERA_LIB_STAGES_SUMOPS_H

#include "mlir/IR/Builders.h"

namespace tessera {

/// True for sums over axes of the mesh and for slices: applied to the terms of
/// a sum, they give the terms of their result on the whole sum. False for a
/// maximum.
bool isLinear(mlir::Operation *op);

/// a + b, of floats or integers.
mlir::Value addValues(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value a, mlir::Value b);

/// A tensor of zeros: the empty sum.
mlir::Value buildZero(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Type type);

/// Removes unused ops without side effects, the last ones first.
void removeDead(mlir::Block &block);

} // namespace tessera

#endif // TESSERA_LIB_STAGES_SUMOPS_H
