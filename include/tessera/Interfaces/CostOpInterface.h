//===- CostOpInterface.h - The work of an op --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface, its plain data, and the rules for ops that do not implement
// it. The time of a computation on a device is computed elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_COSTOPINTERFACE_H
#define TESSERA_INTERFACES_COSTOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Operation.h"
#include <cstdint>

namespace tessera {

/// The kind of kernel that an op is.
enum class CostKind {
  /// No kernel: a constant, a view, a scalar.
  None,
  /// One pass over operands and results; a neighbouring op of this kind can run
  /// in the same pass.
  Elementwise,
  /// Reduces rows: norms, softmax, losses, reductions.
  RowReduction,
  /// A matmul on the matrix units.
  Matmul,
  /// Matmuls of the rows of each expert with its own matrices.
  GroupedMatmul,
  /// Attention in one kernel.
  Attention,
  /// Reads or writes rows of a table.
  Embedding,
  /// The update of a parameter.
  Optimizer,
  /// A collective: priced by the links, not by the device.
  Collective,
};

/// The work of an op.
struct OpCost {
  CostKind kind = CostKind::None;
  /// Floating-point operations; a multiply-add counts as two.
  double flops = 0;
  /// Evaluations of exp, log, tanh and the like, one per element.
  double functions = 0;
  /// Sizes of a matmul: `batch` times [m, k] x [k, n]; or of attention: batch x
  /// heads, queries, keys, dim.
  int64_t batch = 0, m = 0, n = 0, k = 0;
  /// Bytes of operands that the op reads; negative: all of them.
  double bytesRead = -1;
  /// Bytes of results that the op writes; negative: all of them.
  double bytesWritten = -1;
  /// The gradient of the op needs none of its operands or results.
  bool linear = false;
  /// Number of kernels, one after the other, if it runs on its own.
  int kernels = 1;
};

/// Bytes of a value's elements; 0 unless it is a ranked tensor of static shape.
double getTensorBytes(mlir::Type type);
/// Elements of a ranked tensor of static shape; 0 for other types.
double getTensorElements(mlir::Type type);

/// True for ops of the math dialect that take many instructions per element
/// (exp, tanh, ...) unless a unit of the device computes them.
bool isMathFunction(mlir::Operation *op);

/// The cost of an elementwise op: `flopsEach` for each element of its first
/// result.
OpCost getElementwiseCost(mlir::Operation *op, double flopsEach, bool linear);

/// The cost of attention of q [batch, query, group, head of the group, dim]
/// over k [batch, key, group, dim]: `matmuls` of the size of the scores (2
/// forward, 5 backward), each reduced to the part that the mask leaves
/// (countAttentionPairs).
OpCost getAttentionCost(mlir::Value q, mlir::Value k, bool causal,
                        std::optional<int64_t> window, double matmuls);

/// The work of calls on experts: matmuls of the rows of tokens that go to the
/// held ones. Tokens are spread evenly over all experts, so those that are held
/// get their share of all choices.
struct ExpertWork {
  double rows, in, ffn, out;
  /// Bytes of the three weights, and of an element of a row.
  double weightBytes, elementBytes;

  /// The forward, whose result has `resultBytes` bytes.
  OpCost getForward(double resultBytes, bool savesStats) const;
  /// The gradients of x, of gates and of the stats; dx has `dxBytes` bytes.
  OpCost getBackward(double dxBytes) const;
  /// The gradients of the weights.
  OpCost getWeightGradient() const;

private:
  /// Reads and writes `read` and `written` elements of each row.
  OpCost getCost(double read, double written) const;
};

/// Pairs of a query and a key visible to it, over all queries of one head. A
/// causal mask leaves half of all pairs if queries and keys are the same
/// positions, and all pairs for the last of many devices that share the
/// queries. A window of W leaves W keys to each query except the first W, which
/// see half as many.
double countAttentionPairs(int64_t queries, int64_t keys, bool causal,
                           std::optional<int64_t> window);

/// The cost of any op: its own, or an estimate. Elementwise ops (by trait)
/// compute one operation per element; structured ops (linalg) as many as their
/// body has for each point of their iteration space, a contraction as a matmul;
/// reshapes and constants are free; other ops with tensors pass over them once.
OpCost getOpCost(mlir::Operation *op);

} // namespace tessera

#include "tessera/Interfaces/CostOpInterface.h.inc"

#endif // TESSERA_INTERFACES_COSTOPINTERFACE_H
