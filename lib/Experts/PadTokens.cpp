//===- PadTokens.cpp - Tokens to experts in blocks of one size ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device numbers the tokens that it has for each other device, and those of
// each other device that it uses. Both come from the ids, so sender and
// receiver agree on the rows of a block without a word between them:
//
//     own tokens     rows of a block: what the other device's experts use
//     all tokens     rows of a block: the other device's that mine use
//
// A dispatch selects rows of own tokens and places them among all; a combine
// selects rows of all and adds them to own ones.
//
//===----------------------------------------------------------------------===//

#include "PadTokens.h"
#include "Lowering.h"
#include "dialects/RT/RT.h"
#include <limits>

using namespace mlir;
using namespace tessera;

static int64_t countTokens(Value ids) {
  int64_t tokens = 1;
  for (int64_t size : typeOf(ids).getShape().drop_back())
    tokens *= size;
  return tokens;
}

//===----------------------------------------------------------------------===//
// Which tokens go where
//===----------------------------------------------------------------------===//

/// Builds the number of the device on `axes`.
static Value findPosition(GenericBuilder &g, const TokenHop &hop,
                          ArrayRef<AxisRef> axes) {
  return dist::AxisOffsetOp::create(
      g, g.getIndexType(), dist::AxesAttr::get(g.getContext(), hop.mesh, axes),
      g.getI64IntegerAttr(1), hop.meshName);
}

/// Builds whether the token of the first loops chooses an expert of `block`.
static Value usesBlock(GenericBuilder &g, const TokenHop &hop, Value ids,
                       Value block) {
  int64_t rank = typeOf(ids).getRank(), choices = typeOf(ids).getShape().back();
  Value first = arith::MulIOp::create(g, block, g.index(hop.experts));
  SmallVector<Value> at;
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    at.push_back(g.loop(dim));
  at.push_back({});
  Value uses = arith::ConstantOp::create(g, g.getBoolAttr(false));
  for (int64_t i = 0; i < choices; ++i) {
    at.back() = g.index(i);
    Value id = arith::IndexCastOp::create(
        g, g.getIndexType(), tensor::ExtractOp::create(g, ids, at));
    // An id before the block, or of no expert, becomes a large number.
    Value isIn = arith::CmpIOp::create(g, arith::CmpIPredicate::ult,
                                       arith::SubIOp::create(g, id, first),
                                       g.index(hop.experts));
    uses = arith::OrIOp::create(g, uses, isIn);
  }
  return uses;
}

/// Builds `device` where `uses`, else -1.
static Value chooseDevice(GenericBuilder &g, Value uses, Value device) {
  Type i32 = g.getI32Type();
  Value none = arith::ConstantOp::create(g, g.getI32IntegerAttr(-1));
  return arith::SelectOp::create(
      g, uses, arith::IndexCastOp::create(g, i32, device), none);
}

/// Builds [tokens..., devices]: the device if its experts use the token.
Value TokenPadder::routeOwn(GenericBuilder &g, const TokenHop &hop, Value ids) {
  SmallVector<int32_t> blocks;
  for (int64_t device : hop.mesh.group(0, hop.axes))
    blocks.push_back(static_cast<int32_t>(hop.mesh.shardIndex(device, hop.at)));
  auto count = static_cast<int64_t>(blocks.size());
  Value table = arith::ConstantOp::create(
      g, DenseElementsAttr::get(RankedTensorType::get({count}, g.getI32Type()),
                                ArrayRef<int32_t>(blocks)));
  Value mine = findPosition(g, hop, hop.at),
        me = findPosition(g, hop, hop.axes);
  auto blockOf = [&](Value device) {
    return arith::IndexCastOp::create(
        g, g.getIndexType(), tensor::ExtractOp::create(g, table, device));
  };
  SmallVector<int64_t> shape(typeOf(ids).getShape());
  shape.back() = count;
  return g.map(shape, g.getI32Type(), {}, [&](ValueRange) {
    Value device = g.loop(shape.size() - 1);
    // Blocks of the group differ from this device's as those of the table do.
    Value block = arith::AddIOp::create(
        g, mine, arith::SubIOp::create(g, blockOf(device), blockOf(me)));
    return chooseDevice(g, usesBlock(g, hop, ids, block), device);
  });
}

/// Builds [tokens..., 1]: the device that has the token, if this one uses it.
Value TokenPadder::routeAll(GenericBuilder &g, const TokenHop &hop, Value ids) {
  Value mine = findPosition(g, hop, hop.at);
  SmallVector<int64_t> shape(typeOf(ids).getShape());
  int64_t each = shape[hop.dim] / numShards(hop.axes);
  shape.back() = 1;
  return g.map(shape, g.getI32Type(), {}, [&](ValueRange) {
    Value device = arith::DivUIOp::create(g, g.loop(hop.dim), g.index(each));
    return chooseDevice(g, usesBlock(g, hop, ids, mine), device);
  });
}

const TokenPadder::Rows &TokenPadder::findRows(const TokenHop &hop, Value ids,
                                               bool isOwn) {
  Attribute key =
      b.getArrayAttr({dist::AxesAttr::get(b.getContext(), hop.mesh, hop.axes),
                      dist::AxesAttr::get(b.getContext(), hop.mesh, hop.at),
                      b.getI64IntegerAttr(hop.experts),
                      b.getI64IntegerAttr(hop.dim), b.getBoolAttr(isOwn)});
  for (const auto &rows : known)
    if (rows->ids == ids && rows->hop == key)
      return *rows;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(ids);
  GenericBuilder g(ids.getLoc(), b);
  Value entries = isOwn ? routeOwn(g, hop, ids) : routeAll(g, hop, ids);
  int64_t devices = numShards(hop.axes), choices = isOwn ? devices : 1;
  int64_t room = typeOf(entries).getNumElements();
  Value routing = rt::RouteOp::create(
      g, RankedTensorType::get({devices + 1 + 2 * room}, g.getI32Type()),
      entries, devices, devices, room,
      g.getDenseI64ArrayAttr({hop.room, hop.even}), hop.layer, Value());
  Value rowOf = tensor::ExtractSliceOp::create(
      g, RankedTensorType::get({room}, g.getI32Type()), routing,
      ArrayRef<OpFoldResult>{g.getIndexAttr(devices + 1 + room)},
      ArrayRef<OpFoldResult>{g.getIndexAttr(room)},
      ArrayRef<OpFoldResult>{g.getIndexAttr(1)});
  known.push_back(std::make_unique<Rows>(
      Rows{ids, routing, rowOf, countTokens(ids), choices, devices, key}));
  return *known.back();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Moves the insertion point after an op of its block.
static void continueAfter(OpBuilder &b, Operation *op) {
  Block::iterator at = b.getInsertionPoint();
  if (op->getBlock() == b.getInsertionBlock() && at != op->getBlock()->end() &&
      !op->isBeforeInBlock(&*at))
    b.setInsertionPointAfter(op);
}

/// Selects rows of the tokens for each device and sends them. The result
/// [devices * room, width] has the rows from each device.
Value TokenPadder::exchange(const TokenHop &hop, const Rows &rows,
                            const Rows &received, Value tokens) {
  // Other tokens of the same ids may have made these.
  continueAfter(b, rows.rowOf.getDefiningOp());
  continueAfter(b, received.rowOf.getDefiningOp());
  GenericBuilder g(tokens.getLoc(), b);
  Value flat = mergeTokens(g, tokens, 1);
  Type element = typeOf(flat).getElementType();
  int64_t width = typeOf(flat).getDimSize(1), devices = rows.devices;
  Value sent = g.map({devices, hop.room, width}, element, {}, [&](ValueRange) {
    Value device = g.loop(0);
    Value row =
        arith::AddIOp::create(g, readIndex(g, rows.routing, device), g.loop(1));
    Value end = readIndex(g, rows.routing,
                          arith::AddIOp::create(g, device, g.index(1)));
    Value isRow = arith::CmpIOp::create(g, arith::CmpIPredicate::ult, row, end);
    row = arith::SelectOp::create(g, isRow, row, g.index(0));
    Value choice = readIndex(
        g, rows.routing, arith::AddIOp::create(g, row, g.index(devices + 1)));
    Value isChoice = arith::AndIOp::create(
        g, isRow,
        arith::CmpIOp::create(g, arith::CmpIPredicate::sge, choice,
                              g.index(0)));
    choice = arith::SelectOp::create(g, isChoice, choice, g.index(0));
    Value token = arith::DivUIOp::create(g, choice, g.index(rows.choices));
    Value read = tensor::ExtractOp::create(g, flat, {token, g.loop(2)});
    return arith::SelectOp::create(g, isChoice, read, g.constant(element, 0));
  });
  Type got = RankedTensorType::get({1, devices * hop.room, width}, element);
  Value blocks = dist::AllToAllOp::create(
      g, got, sent, g.getI64IntegerAttr(1), g.getI64IntegerAttr(0),
      dist::AxesAttr::get(g.getContext(), hop.mesh, hop.axes), hop.meshName,
      dist::ShardingAttr(), dist::ShardingAttr());
  return mergeTokens(g, blocks, 1);
}

/// Builds the element of `received` for row `row` of a routing, which `device`
/// sent: 0 without a row (-1), NaN if there is no room for it.
static Value readRow(GenericBuilder &g, const TokenHop &hop, Value routing,
                     Value received, Value row, Value device) {
  Type element = typeOf(received).getElementType();
  row = arith::IndexCastOp::create(g, g.getIndexType(), row);
  Value isRow =
      arith::CmpIOp::create(g, arith::CmpIPredicate::sge, row, g.index(0));
  Value number = arith::SubIOp::create(g, row, readIndex(g, routing, device));
  Value fits = arith::CmpIOp::create(g, arith::CmpIPredicate::ult, number,
                                     g.index(hop.room));
  Value isRead = arith::AndIOp::create(g, isRow, fits);
  Value at = arith::AddIOp::create(
      g, arith::MulIOp::create(g, device, g.index(hop.room)), number);
  at = arith::SelectOp::create(g, isRead, at, g.index(0));
  Value read =
      tensor::ExtractOp::create(g, received, ValueRange{at, g.loop(1)});
  Value none = arith::SelectOp::create(
      g, isRow, g.constant(element, std::numeric_limits<double>::quiet_NaN()),
      g.constant(element, 0));
  return arith::SelectOp::create(g, isRead, read, none);
}

Value TokenPadder::dispatch(const TokenHop &hop, Value tokens, Value own,
                            Value all) {
  const Rows &sent = findRows(hop, own, /*isOwn=*/true),
             &rows = findRows(hop, all, /*isOwn=*/false);
  Value received = exchange(hop, sent, rows, tokens);
  GenericBuilder g(tokens.getLoc(), b);
  SmallVector<int64_t> shape(typeOf(tokens).getShape());
  int64_t each = shape[hop.dim], inner = 1;
  shape[hop.dim] *= rows.devices;
  for (int64_t size : ArrayRef(shape).drop_front(hop.dim + 1).drop_back())
    inner *= size;
  Type element = typeOf(received).getElementType();
  Value flat = g.map(
      {rows.tokens, shape.back()}, element, {{rows.rowOf, g.leading(2, 1)}},
      [&](ValueRange v) {
        Value device = arith::RemUIOp::create(
            g, arith::DivUIOp::create(g, g.loop(0), g.index(inner * each)),
            g.index(rows.devices));
        return readRow(g, hop, rows.routing, received, v[0], device);
      });
  return splitTokens(g, flat, typeOf(tokens).clone(shape), 1);
}

Value TokenPadder::combine(const TokenHop &hop, Value sums, Value own,
                           Value all) {
  const Rows &sent = findRows(hop, all, /*isOwn=*/false),
             &rows = findRows(hop, own, /*isOwn=*/true);
  Value received = exchange(hop, sent, rows, sums);
  GenericBuilder g(sums.getLoc(), b);
  SmallVector<int64_t> shape(typeOf(sums).getShape());
  shape[hop.dim] /= rows.devices;
  Type element = typeOf(received).getElementType();
  SmallVector<int64_t> byDevice{rows.tokens, rows.devices};
  Value rowOf = tensor::ExpandShapeOp::create(
      g, typeOf(rows.rowOf).clone(byDevice), rows.rowOf,
      SmallVector<ReassociationIndices>{{0, 1}});
  Value flat = g.reduce(
      Combiner::Sum, {rows.tokens, shape.back(), rows.devices}, g.leading(3, 2),
      getWideType(element), {{rowOf, g.project(3, {0, 2})}}, [&](ValueRange v) {
        return g.widen(
            readRow(g, hop, rows.routing, received, v[0], g.loop(2)));
      });
  flat = g.castTensor(flat, element);
  return splitTokens(g, flat, typeOf(sums).clone(shape), 1);
}
