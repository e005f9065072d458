//===- RowLoops.cpp - Rows by expert as loops -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves rows between tensors by token, by expert and by row where no library
// call reads or writes the rows. A routing (rt.route) holds the first row of
// each expert, the choice of each row and the row of each choice.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace tessera;

/// Groups the first `count` of `rank` dimensions; the others stay alone.
static SmallVector<ReassociationIndices> groupFirst(int64_t rank,
                                                    int64_t count) {
  SmallVector<ReassociationIndices> groups(1);
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim < count)
      groups.front().push_back(dim);
    else
      groups.push_back({dim});
  return groups;
}

Value tessera::mergeTokens(GenericBuilder &b, Value tensor, int64_t kept) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t rank = type.getRank(), merged = rank - kept, tokens = 1;
  if (merged == 1)
    return tensor;
  for (int64_t size : type.getShape().take_front(merged))
    tokens *= size;
  SmallVector<int64_t> shape{tokens};
  llvm::append_range(shape, type.getShape().take_back(kept));
  if (merged == 0)
    return tensor::ExpandShapeOp::create(b, type.clone(shape), tensor,
                                         groupFirst(rank + 1, 2));
  return tensor::CollapseShapeOp::create(b, type.clone(shape), tensor,
                                         groupFirst(rank, merged));
}

Value tessera::splitTokens(GenericBuilder &b, Value tensor,
                           RankedTensorType type, int64_t kept) {
  int64_t rank = type.getRank(), merged = rank - kept;
  if (merged == 1)
    return tensor;
  if (merged == 0)
    return tensor::CollapseShapeOp::create(b, type, tensor,
                                           groupFirst(rank + 1, 2));
  return tensor::ExpandShapeOp::create(b, type, tensor,
                                       groupFirst(rank, merged));
}

Value tessera::readIndex(GenericBuilder &b, Value vector, Value position) {
  Value read = tensor::ExtractOp::create(b, vector, position);
  return arith::IndexCastOp::create(b, b.getIndexType(), read);
}

static Value compare(GenericBuilder &b, arith::CmpIPredicate predicate, Value x,
                     int64_t y) {
  return arith::CmpIOp::create(b, predicate, x, b.index(y));
}

/// Builds rows [room, width]: `read` builds an element from the number of a
/// choice and from the token that makes it; further rows are 0.
static Value
buildRows(GenericBuilder &b, const Routing &r, int64_t width, Type element,
          llvm::function_ref<Value(Value choice, Value token)> read) {
  return b.map({r.room, width}, element, {}, [&](ValueRange) {
    Value choice =
        readIndex(b, r.routing, b.position(0, b.index(r.experts + 1)));
    Value isUsed = compare(b, arith::CmpIPredicate::sge, choice, 0);
    choice = arith::SelectOp::create(b, isUsed, choice, b.index(0));
    Value token = arith::DivUIOp::create(b, choice, b.index(r.choices));
    return arith::SelectOp::create(b, isUsed, read(choice, token),
                                   b.constant(element, 0));
  });
}

Value tessera::gatherTokens(GenericBuilder &b, const Routing &r, Value tokens) {
  Value flat = mergeTokens(b, tokens, 1);
  auto type = cast<RankedTensorType>(flat.getType());
  return buildRows(
      b, r, type.getDimSize(1), type.getElementType(), [&](Value, Value token) {
        return tensor::ExtractOp::create(b, flat, ValueRange{token, b.loop(1)});
      });
}

Value tessera::packRows(GenericBuilder &b, const Routing &r, Value values) {
  Value flat = mergeTokens(b, values, 2);
  Value ids = mergeTokens(b, r.ids, 1);
  auto type = cast<RankedTensorType>(flat.getType());
  return buildRows(
      b, r, type.getDimSize(2), type.getElementType(),
      [&](Value choice, Value token) -> Value {
        Value nth = arith::RemUIOp::create(b, choice, b.index(r.choices));
        Value read = tensor::ExtractOp::create(b, ids, ValueRange{token, nth});
        Value expert = arith::IndexCastOp::create(b, b.getIndexType(), read);
        if (r.offset)
          expert = arith::SubIOp::create(b, expert, r.offset);
        // An unused row reads the first choice, of any expert.
        Value isHeld = compare(b, arith::CmpIPredicate::ult, expert, r.experts);
        expert = arith::SelectOp::create(b, isHeld, expert, b.index(0));
        return tensor::ExtractOp::create(b, flat,
                                         ValueRange{token, expert, b.loop(1)});
      });
}

Value tessera::unpackRows(GenericBuilder &b, const Routing &r, Value rows,
                          RankedTensorType type) {
  Value ids = mergeTokens(b, r.ids, 1);
  SmallVector<int64_t> shape{r.tokens, r.experts, type.getShape().back()};
  Type element = type.getElementType();
  Value flat = b.map(shape, element, {}, [&](ValueRange) {
    Value result = b.constant(element, 0), token = b.loop(0);
    Value expert = b.position(1, r.offset);
    for (int64_t i = 0; i < r.choices; ++i) {
      Value id =
          tensor::ExtractOp::create(b, ids, ValueRange{token, b.index(i)});
      id = arith::IndexCastOp::create(b, b.getIndexType(), id);
      Value goes =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, id, expert);
      Value choice = arith::AddIOp::create(
          b, arith::MulIOp::create(b, token, b.index(r.choices)), b.index(i));
      Value row = readIndex(
          b, r.routing,
          arith::AddIOp::create(b, choice, b.index(r.experts + 1 + r.room)));
      row = arith::SelectOp::create(b, goes, row, b.index(0));
      Value read =
          tensor::ExtractOp::create(b, rows, ValueRange{row, b.loop(2)});
      result = arith::SelectOp::create(b, goes, read, result);
    }
    return result;
  });
  return splitTokens(b, flat, type, 2);
}
