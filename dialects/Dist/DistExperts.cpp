//===- DistExperts.cpp - Rows by expert, and tokens that are sent ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveVerifier.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

//===----------------------------------------------------------------------===//
// Dispatch and combine
//===----------------------------------------------------------------------===//

double dist::getShareOfTokens(int64_t choices, int64_t experts, int64_t all) {
  double none = 1;
  for (int64_t i = 0; i < choices && i < all; ++i)
    none *= double(std::max<int64_t>(all - experts - i, 0)) / double(all - i);
  return 1 - none;
}

template <typename Op> static double getShareSentOf(Op op) {
  int64_t choices =
      cast<RankedTensorType>(op.getIds().getType()).getShape().back();
  return getShareOfTokens(choices, op.getExperts(), op.getAll());
}

template <typename Op> static LogicalResult verifyTokens(Op op) {
  if (failed(verifyCollective(op)) ||
      failed(verifyAxes(op, op.getAt(), op.getMeshAttr(), "(C1)")))
    return failure();
  if (op.getFromAttr())
    return op.emitOpError("(C2) expects the local form");
  auto ids = cast<RankedTensorType>(op.getIds().getType());
  auto result = cast<RankedTensorType>(op.getResult().getType());
  if (ids.getRank() < 2 || !isa<FloatType>(result.getElementType()) ||
      !(ids.getElementType().isInteger(32) ||
        ids.getElementType().isInteger(64)) ||
      ids.getShape().drop_back() != result.getShape().drop_back())
    return op.emitOpError(
               "(C3) expects floats by token and ids, i32 or i64, of "
               "the result's tokens but got ")
           << result << " and " << ids;
  if (op.getExperts() < 1 || op.getAll() < 1)
    return op.emitOpError("(C4) expects blocks of 1 expert at least but got ")
           << op.getExperts() << " of " << op.getAll();
  return success();
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyTokens(*this);
}
llvm::Expected<Sharding> DispatchOp::applyTo(const Mesh &, const Sharding &) {
  return llvm::createStringError("tokens are sent by their ids");
}
RankedTensorType DispatchOp::getLocalResultType(RankedTensorType operand,
                                                int64_t groupSize) {
  return resizeDim(operand, getDim(), groupSize, 1);
}
double DispatchOp::getShareSent() { return getShareSentOf(*this); }

LogicalResult CombineOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyTokens(*this);
}
llvm::Expected<Sharding> CombineOp::applyTo(const Mesh &, const Sharding &) {
  return llvm::createStringError("tokens are sent by their ids");
}
RankedTensorType CombineOp::getLocalResultType(RankedTensorType operand,
                                               int64_t groupSize) {
  return resizeDim(operand, getDim(), 1, groupSize);
}
double CombineOp::getShareSent() { return getShareSentOf(*this); }

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

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
