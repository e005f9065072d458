//===- ParameterViews.h - Views of parameters -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_PARAMETERVIEWS_H
#define TESSERA_LIB_RAISE_PARAMETERVIEWS_H

#include "mlir/IR/PatternMatch.h"
#include "tessera/Interfaces/Axes.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace tessera {

/// A strided view of a tensor: element (i, j, ...) is the element at offset + i
/// strides[0] + j strides[1] + ... in row-major order.
struct View {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape, strides;

  bool operator==(const View &o) const {
    return offset == o.offset && shape == o.shape && strides == o.strides;
  }
  int64_t size() const;
};

/// The view of all elements.
View makeIdentity(llvm::ArrayRef<int64_t> shape);

/// Applies a reshape, a slice or a transpose to a view; none for other ops, and
/// if the result is not a view.
std::optional<View> applyOp(mlir::Operation *op, const View &view);

/// Whether the views cover each of `elements` elements exactly once.
bool tile(llvm::ArrayRef<View> views, int64_t elements);

/// The sharding of a view of a tensor with this shape and sharding. The axes of
/// each dimension go to the outermost of the view's dimensions that belong to
/// it. `isWhole` is false if some axes do not fit; these dimensions stay open.
Sharding shardView(const Sharding &sharding, llvm::ArrayRef<int64_t> shape,
                   const View &view, bool &isWhole);

/// Patterns that move reshapes and slices of a matmul's result or operand to
/// its weight, also through biases.
void populateMoveViews(mlir::RewritePatternSet &patterns);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_PARAMETERVIEWS_H
