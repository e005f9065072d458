//===- Verifiers.h - Helpers of nn verifiers --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_NN_VERIFIERS_H
#define TESSERA_DIALECTS_NN_VERIFIERS_H

#include "dialects/NN/NN.h"

namespace tessera::nn {

/// The type of `value`, which must be a ranked tensor.
inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Checks that a vector has the size of x's last dimension (label C1).
mlir::LogicalResult verifyNormVector(mlir::Operation *op, llvm::StringRef name,
                                     mlir::Value x, mlir::Value vector);

/// Checks that a value has the shape `expected`; the error cites `label` and
/// `name`.
mlir::LogicalResult verifyShape(mlir::Operation *op, llvm::StringRef label,
                                llvm::StringRef name,
                                llvm::ArrayRef<int64_t> expected,
                                mlir::Value value);

/// Checks that `a` and `b` have the same element type; the error cites `label`.
mlir::LogicalResult verifySameElement(mlir::Operation *op,
                                      llvm::StringRef label, mlir::Value a,
                                      mlir::Value b);

/// Checks the index of rows along the last dimension of `x`: x's shape without
/// that dimension, or with another size of it (label C1).
mlir::LogicalResult verifyIndex(mlir::Operation *op, mlir::RankedTensorType x,
                                mlir::Value index);

/// Checks that a limit of ids, if there is one, is not negative; the error
/// cites `label` and calls it `what`.
mlir::LogicalResult verifyLimit(mlir::Operation *op, llvm::StringRef label,
                                llvm::StringRef what,
                                std::optional<int64_t> limit);

/// Checks a tensor with one number per row of `rows`: its shape without the
/// last dimension, f32 (f64 for f64 rows).
mlir::LogicalResult verifyStat(mlir::Operation *op, llvm::StringRef label,
                               mlir::Value stat, mlir::RankedTensorType rows);

/// Checks that there are no stats, or `count` of them, each as above.
mlir::LogicalResult verifyStats(mlir::Operation *op, llvm::StringRef label,
                                mlir::ValueRange stats, unsigned count,
                                mlir::RankedTensorType rows);

/// Returns a tensor that has a row for each number of attention's stat.
inline mlir::RankedTensorType getStatRows(mlir::RankedTensorType result,
                                          bool hasBias) {
  mlir::RankedTensorType stat = getStatType(result, hasBias);
  llvm::SmallVector<int64_t> shape(stat.getShape());
  shape.push_back(1);
  return result.clone(shape);
}

/// Checks queries, keys, values and result of attention (labels C1 to C4).
mlir::LogicalResult verifyAttention(mlir::Operation *op, mlir::Value query,
                                    mlir::Value key, mlir::Value value,
                                    mlir::Value out);

/// Whether a result has its operand's element type, or f32 with a narrower
/// operand.
bool isSameOrWide(mlir::Value operand, mlir::Value result);

/// Whether products of `element` may be summed in `sum`: that type, or a wider
/// float.
bool isSumOf(mlir::Type element, mlir::Type sum);

/// Checks the starts of documents, which may be null (label C7).
mlir::LogicalResult verifyStarts(mlir::Operation *op, mlir::Value query,
                                 mlir::Value starts);

/// Checks the bias, which may be null, along its dimensions, and the softcap of
/// attention (labels C8 and C9).
mlir::LogicalResult verifyScores(mlir::Operation *op, mlir::Value query,
                                 mlir::Value key, mlir::Value bias,
                                 std::optional<llvm::ArrayRef<int64_t>> dims,
                                 const std::optional<llvm::APFloat> &softcap);

/// Checks the window of attention (label C6).
mlir::LogicalResult verifyWindow(mlir::Operation *op, bool causal,
                                 std::optional<int64_t> window);

} // namespace tessera::nn

#endif // TESSERA_DIALECTS_NN_VERIFIERS_H
