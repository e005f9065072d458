//===- PlanLines.h - A program's plan for readers ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_PLANLINES_H
#define TESSERA_LIB_CONVERSION_PLANLINES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Interfaces/Axes.h"

namespace tessera {

/// A rank's traffic per step over one set of axes.
struct PlannedTraffic {
  /// "dp" or "dp,tp".
  std::string axes;
  /// Bytes that one rank receives, by bandwidth-optimal algorithms.
  int64_t bytes = 0;
  /// Collectives such as "all_gather" and their counts, in alphabetic order.
  std::vector<std::pair<std::string, int64_t>> calls;
};

/// Returns the communication of one step of a scheduled function, by axes in
/// the order of their first use. The bodies of loops and the tasks of a
/// pipeline count as often as they run.
std::vector<PlannedTraffic> planTraffic(mlir::func::FuncOp step,
                                        const Mesh &mesh);

/// Returns the schedule of a step function's module: a name, or its file.
std::string getScheduleName(mlir::func::FuncOp step);

/// Returns the lines that the runtime prints before the first step, at most
/// six: the mesh and the training options, its pipeline, parameters, memory,
/// communication, optimizer. Memory and communication are for the pp rank with
/// the largest arena.
std::vector<std::string> describePlan(llvm::ArrayRef<mlir::func::FuncOp> steps,
                                      const Mesh &mesh);

/// Returns the size of the arena of a step function, in bytes.
int64_t getArenaBytes(mlir::func::FuncOp step);

/// Returns the step function with the largest arena, the first of several.
mlir::func::FuncOp getLargest(llvm::ArrayRef<mlir::func::FuncOp> steps);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_PLANLINES_H
