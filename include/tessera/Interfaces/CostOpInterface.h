//===- CostOpInterface.h - What an op computes ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface, its plain data, and the rules for ops that do not implement
// it. What a computation takes on a device is priced elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_COSTOPINTERFACE_H
#define TESSERA_INTERFACES_COSTOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Operation.h"
#include <cstdint>

namespace tessera {

/// What kind of kernel an op is.
enum class CostKind {
  /// No kernel: a constant, a view, a scalar.
  None,
  /// One pass over operands and results; a neighbour of its kind can run in the
  /// same pass.
  Elementwise,
  /// Reduces rows: norms, softmax, losses, reductions.
  RowReduction,
  /// A matmul on the matrix units.
  Matmul,
  /// Attention in one kernel.
  Attention,
  /// Rows of a table.
  Embedding,
  /// The update of a parameter.
  Optimizer,
  /// A collective: priced by the links, not by the device.
  Collective,
};

/// What an op computes.
struct OpCost {
  CostKind kind = CostKind::None;
  /// Floating-point operations, a multiply-add counted as two.
  double flops = 0;
  /// Evaluations of exp, log, tanh and the like, one for each element.
  double functions = 0;
  /// Of a matmul: `batch` times [m, k] x [k, n]. Of attention: batch x heads,
  /// queries, keys, dim.
  int64_t batch = 0, m = 0, n = 0, k = 0;
  /// Bytes of operands that are read; negative: all of them.
  double bytesRead = -1;
  /// The gradient of the op needs none of its operands or results.
  bool linear = false;
  /// Kernels that it is done by, one after the other, where it is a kernel of
  /// its own.
  int kernels = 1;
};

/// Bytes of a value: of its elements, 0 if it is no ranked tensor of static
/// shape.
double getTensorBytes(mlir::Type type);
/// Elements of a ranked tensor of static shape; 0 for other types.
double getTensorElements(mlir::Type type);

/// True for ops of the dialect math that take many instructions for an element
/// (exp, tanh, ...) where no unit of the device computes them.
bool isMathFunction(mlir::Operation *op);

/// The cost of an elementwise op: `flopsEach` for each element of its first
/// result.
OpCost getElementwiseCost(mlir::Operation *op, double flopsEach, bool linear);

/// The cost of attention of q [batch, query, group, head of the group, dim]
/// over k [batch, key, group, dim]: `matmuls` of the size of the scores, 2
/// forward and 5 backward, of each the part that the mask leaves
/// (countAttentionPairs).
OpCost getAttentionCost(mlir::Value q, mlir::Value k, bool causal,
                        std::optional<int64_t> window, double matmuls);

/// Pairs of a query and a key that it sees, of all queries of one head. A
/// causal mask leaves half of all pairs where queries and keys are the same
/// positions, and all for the last of many devices, which have parts of the
/// queries; a window of W leaves W keys to each query but the first W, which
/// see half as many.
double countAttentionPairs(int64_t queries, int64_t keys, bool causal,
                           std::optional<int64_t> window);

/// The cost of any op: its own, or by what else is known of it. Elementwise ops
/// (by trait) compute one operation an element; structured ops (linalg) as many
/// as their body has for each point of their iteration space, a contraction as
/// a matmul; reshapes and constants are free; what else has tensors passes
/// over them once.
OpCost getOpCost(mlir::Operation *op);

} // namespace tessera

#include "tessera/Interfaces/CostOpInterface.h.inc"

#endif // TESSERA_INTERFACES_COSTOPINTERFACE_H
