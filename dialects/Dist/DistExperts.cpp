//===- DistExperts.cpp - Verifiers of rows by expert ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace tessera::dist;

template <typename Op> static LogicalResult verifyRows(Op op) {
  auto values = cast<RankedTensorType>(op.getValues().getType());
  auto ids = cast<RankedTensorType>(op.getIds().getType());
  auto rows = cast<RankedTensorType>(op.getRows().getType());
  bool isByExpert =
      ids.getRank() >= 1 && isa<IntegerType>(ids.getElementType()) &&
      values.getRank() == ids.getRank() + 1 &&
      values.getShape().drop_back(2) == ids.getShape().drop_back();
  if (!isByExpert)
    return op.emitOpError("(C1) expects integers for each token and values of "
                          "these tokens by expert but got ")
           << ids << " and " << values;
  if (rows.getRank() != 2 || rows.getDimSize(1) != values.getShape().back() ||
      rows.getElementType() != values.getElementType())
    return op.emitOpError("(C2) expects rows of ")
           << values.getShape().back() << " " << values.getElementType()
           << " but got " << rows;
  return success();
}

LogicalResult PackRowsOp::verify() { return verifyRows(*this); }
LogicalResult UnpackRowsOp::verify() { return verifyRows(*this); }
