//===- ReductionLoops.h - Reductions over other loops -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the ways to split a reduction share: the same op over split or
// reordered loops, and the sum over its chunks.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_REDUCTIONLOOPS_H
#define TESSERA_CODEGEN_REDUCTIONLOOPS_H

#include "tessera/Codegen/GenericBuilder.h"

namespace tessera {

/// Starts like `op` over other loops and operands, with its body.
mlir::linalg::GenericOp
rebuild(mlir::OpBuilder &b, mlir::linalg::GenericOp op, mlir::ValueRange inputs,
        mlir::ValueRange inits, llvm::ArrayRef<mlir::AffineMap> maps,
        llvm::ArrayRef<mlir::utils::IteratorType> iterators);

/// The fill that starts the sum of a result; null if it starts otherwise.
mlir::linalg::FillOp getStart(mlir::linalg::GenericOp op, unsigned result);

/// A tensor of `shape` that starts with what `start` does.
mlir::Value fillLike(GenericBuilder &b, mlir::linalg::FillOp start,
                     llvm::ArrayRef<int64_t> shape);

/// A constant with the elements of the constant `value`, which has no address
/// in memory that could be seen as another shape; null if it is no constant.
mlir::Value reshapeConstant(mlir::OpBuilder &b, mlir::Value value,
                            mlir::RankedTensorType type);

/// `value` with dimension `dim` split into `outer` and the rest.
mlir::Value splitDim(GenericBuilder &b, mlir::Value value, int64_t dim,
                     int64_t outer);

/// The position of loop `loop` among the results of a map; -1 if it is none.
int64_t findLoop(mlir::AffineMap map, unsigned loop);

/// The same op with its loops in another order: `order[i]` is the loop that
/// comes i-th.
mlir::linalg::GenericOp reorder(GenericBuilder &b, mlir::linalg::GenericOp op,
                                llvm::ArrayRef<unsigned> order);

/// The op that adds one element to accumulator `result` of a reduction, for
/// which there is a neutral element; null if the body is no such thing, as
/// where the element is computed from what another result has so far.
mlir::Operation *getCombiner(mlir::linalg::GenericOp op, unsigned result);

/// Sums of `chunks` over their first `count` loops, as `op` adds.
mlir::linalg::GenericOp sumChunks(GenericBuilder &b, mlir::linalg::GenericOp op,
                                  mlir::Value chunks, unsigned count);

} // namespace tessera

#endif // TESSERA_CODEGEN_REDUCTIONLOOPS_H
