//===- Toy.h - A dialect that Tessera does not know -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TOY_TOY_H
#define TOY_TOY_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"

// The interface of meanings declares its method by these names.
namespace toy {
using mlir::FailureOr;
using mlir::OpBuilder;
using mlir::SmallVector;
using mlir::Value;
} // namespace toy

#include "ToyDialect.h.inc"

#define GET_OP_CLASSES
#include "ToyOps.h.inc"

namespace toy {

/// Faults that a rule can have. Partitioning then gives wrong programs, which
/// the proof refutes.
enum class Fault {
  None,
  /// The last dimension of toy.l2norm is parallel.
  Parallel,
  /// A device with a part of a row has a summand of toy.row_mean, which divides
  /// by the number of elements there.
  LocalSize,
  /// A device with a part of a row has one of the numbers of which toy.row_sum
  /// is the maximum.
  Max,
};

/// The fault of the rules in this process; a tool sets it before it reads a
/// program.
extern Fault fault;

} // namespace toy

#endif // TOY_TOY_H
