//===- SplitLetters.h - Matmuls with split dimensions -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dimension of 48 that is split into 4 x 12 has two letters in a matmul.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_SPLITLETTERS_H
#define TESSERA_LIB_RAISE_SPLITLETTERS_H

#include "dialects/NN/NN.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

namespace tessera {

/// Split dimensions: the sizes that each dimension is split into.
using Split = llvm::SmallVector<llvm::SmallVector<int64_t>>;

/// The sizes of each group of dimensions of a shape.
inline Split readSplit(llvm::ArrayRef<mlir::ReassociationIndices> groups,
                       llvm::ArrayRef<int64_t> shape) {
  Split split;
  for (const mlir::ReassociationIndices &group : groups) {
    split.emplace_back();
    for (int64_t dim : group)
      split.back().push_back(shape[dim]);
  }
  return split;
}

/// The split of a tensor's dimensions before they were merged.
inline Split readSplit(mlir::tensor::CollapseShapeOp merged) {
  return readSplit(merged.getReassociationIndices(),
                   merged.getSrcType().getShape());
}

/// The dimensions of a split, flat and in groups.
struct SplitShape {
  explicit SplitShape(const Split &split) {
    for (llvm::ArrayRef<int64_t> sizes : split) {
      groups.emplace_back();
      for (int64_t size : sizes) {
        groups.back().push_back(shape.size());
        shape.push_back(size);
      }
    }
  }
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<mlir::ReassociationIndices> groups;
};

/// Splits the dimensions of a tensor.
inline mlir::Value buildSplit(mlir::OpBuilder &b, mlir::Location loc,
                              mlir::Value x, const Split &split) {
  SplitShape whole(split);
  auto type =
      mlir::cast<mlir::RankedTensorType>(x.getType()).clone(whole.shape);
  return type == x.getType() ? x
                             : mlir::tensor::ExpandShapeOp::create(
                                   b, loc, type, x, whole.groups);
}

/// The letters of a matmul; some are split into several.
class SplitLetters {
public:
  explicit SplitLetters(nn::EinsumOp op)
      : used((op.getLetters().lhs + op.getLetters().rhs).str()) {}

  /// Splits a letter into one per size; false if no letters are left.
  bool split(char letter, llvm::ArrayRef<int64_t> sizes) {
    std::string all(1, letter);
    for (size_t i = 1; i < sizes.size(); ++i) {
      char next = 'a';
      while (llvm::StringRef(used).contains(next))
        ++next;
      if (!llvm::isAlpha(next))
        return false;
      used += next;
      all += next;
    }
    parts[letter] = {all, llvm::SmallVector<int64_t>(sizes)};
    return true;
  }
  std::string apply(llvm::StringRef letters) const {
    std::string result;
    for (char letter : letters) {
      auto found = parts.find(letter);
      result +=
          found == parts.end() ? std::string(1, letter) : found->second.first;
    }
    return result;
  }
  /// The split of dimensions with these letters and sizes.
  Split sizesOf(llvm::StringRef letters, llvm::ArrayRef<int64_t> shape) const {
    Split split;
    for (auto [letter, size] : llvm::zip_equal(letters, shape)) {
      auto found = parts.find(letter);
      split.push_back(found == parts.end() ? llvm::SmallVector<int64_t>{size}
                                           : found->second.second);
    }
    return split;
  }

private:
  std::string used;
  std::map<char, std::pair<std::string, llvm::SmallVector<int64_t>>> parts;
};

/// Builds a matmul of `left` and `right` with split letters to replace `op`,
/// and merges split dimensions of its result.
mlir::Value buildSplitEinsum(mlir::OpBuilder &b, nn::EinsumOp op,
                             const SplitLetters &parts, mlir::Value left,
                             mlir::Value right);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_SPLITLETTERS_H
