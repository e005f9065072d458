//===- ReductionLoops.h - Reductions over other loops -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers for the ways to split a reduction: the same op over split or
// reordered loops, and the sum over its chunks.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_REDUCTIONLOOPS_H
#define TESSERA_CODEGEN_REDUCTIONLOOPS_H

#include "tessera/Codegen/GenericBuilder.h"

namespace tessera {

/// Builds the start of `op` over other loops and operands, with its body.
mlir::linalg::GenericOp
rebuild(mlir::OpBuilder &b, mlir::linalg::GenericOp op, mlir::ValueRange inputs,
        mlir::ValueRange inits, llvm::ArrayRef<mlir::AffineMap> maps,
        llvm::ArrayRef<mlir::utils::IteratorType> iterators);

/// The fill that initializes the accumulator of a result; null if something
/// else does.
mlir::linalg::FillOp getStart(mlir::linalg::GenericOp op, unsigned result);

/// A tensor of `shape` with the initial value of `start`.
mlir::Value fillLike(GenericBuilder &b, mlir::linalg::FillOp start,
                     llvm::ArrayRef<int64_t> shape);

/// The constant `value` with another shape; null if it is not a constant.
/// Needed since a constant has no address in memory that a view could reshape.
mlir::Value reshapeConstant(mlir::OpBuilder &b, mlir::Value value,
                            mlir::RankedTensorType type);

/// `value` with dimension `dim` split into `outer` and the rest.
mlir::Value splitDim(GenericBuilder &b, mlir::Value value, int64_t dim,
                     int64_t outer);

/// The position of loop `loop` among the results of a map; -1 if it is not
/// there.
int64_t findLoop(mlir::AffineMap map, unsigned loop);

/// The same op with its loops in another order: `order[i]` is the loop at
/// position i.
mlir::linalg::GenericOp reorder(GenericBuilder &b, mlir::linalg::GenericOp op,
                                llvm::ArrayRef<unsigned> order);

/// The op that adds one element to accumulator `result` of a reduction and has
/// a neutral element; null if the body has no such op, for example if the
/// element depends on another result's accumulator.
mlir::Operation *getCombiner(mlir::linalg::GenericOp op, unsigned result);

/// Combines `chunks` over their first `count` loops with the combiner of `op`.
mlir::linalg::GenericOp sumChunks(GenericBuilder &b, mlir::linalg::GenericOp op,
                                  mlir::Value chunks, unsigned count);

} // namespace tessera

#endif // TESSERA_CODEGEN_REDUCTIONLOOPS_H
