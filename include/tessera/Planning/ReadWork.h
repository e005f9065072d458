//===- ReadWork.h - From a partitioned program to its work ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the records of Work.h off the forward function of one device. Ops
// describe their work through CostOpInterface; this code decides what runs in
// one kernel, as a compiler for the device would.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_READWORK_H
#define TESSERA_PLANNING_READWORK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Cost/Work.h"
#include <optional>

namespace tessera {

/// Returns the layers of a forward function in local form, as the importer
/// names them (ModelBuilder.h): the ops before the blocks, each block, the ops
/// after them; in this order, with the work of the forward pass, the tensors
/// that a backward pass would need, and the parameters.
///
/// * A run of elementwise ops between two other kernels is one kernel.
/// * A linear run that only finishes a matmul (its bias) is the matmul's
///   epilogue and costs nothing.
/// * Matmuls with one left operand and different parameters are one matmul.
/// * Gathers of a layer's parameters are one collective that overlaps with
///   kernels.
///
/// Collectives keep the program's mesh axes that a plan has. `eager`: each
/// elementwise op is a kernel of its own and keeps its operands.
/// `keepGathered`: activations that are gathered for a matmul are kept
/// gathered.
std::vector<cost::LayerWork> readForwardWork(mlir::func::FuncOp func,
                                             bool eager = false,
                                             bool keepGathered = false);

/// The forward and backward of one micro-batch of a training step in local
/// form, all layers in one record; tests compare the derived backward with it.
/// None if the function has no dist.accumulate.
std::optional<cost::LayerWork> readStepWork(mlir::func::FuncOp func);

} // namespace tessera

#endif // TESSERA_PLANNING_READWORK_H
