//===- LowerExperts.cpp - Experts to library calls ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library reads and writes rows by expert, [room, width]. So tensors by
// expert are known by their rows, and become tensors only for ops that need
// them.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "tessera/Experts/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tessera {
#define GEN_PASS_DEF_LOWEREXPERTSPASS
#include "tessera/Experts/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

bool tessera::isSameOffset(Value a, Value b) {
  if (a == b)
    return true;
  auto first = a ? a.getDefiningOp<dist::AxisOffsetOp>() : nullptr;
  auto second = b ? b.getDefiningOp<dist::AxisOffsetOp>() : nullptr;
  return first && second &&
         first->getAttrDictionary() == second->getAttrDictionary();
}

namespace {

/// The ids, the rows and the origin of a tensor by expert, or of its rows.
struct ByExpert {
  Value ids, offset;
  /// Its rows, or null.
  Value rows;
  /// The tensor by token whose rows they are, or null.
  Value tokens;
};

class Lowering {
public:
  explicit Lowering(func::FuncOp func) : func(func), b(func.getLoc(), func) {}

  void run() {
    SmallVector<Operation *> ops;
    func.walk([&](Operation *op) {
      if (isa<nn::RoutedOpInterface, nn::TopKOp, nn::ExpertCapacityOp,
              dist::PackRowsOp, dist::UnpackRowsOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      b.setLoc(op->getLoc());
      b.setInsertionPoint(op);
      lower(op);
    }
    for (Operation *op : llvm::reverse(ops)) {
      for (Value result : op->getResults())
        makeWhole(result);
      op->erase();
    }
  }

private:
  void lower(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](nn::TopKOp o) { replace(o.getResult(), lowerTopK(b, o)); })
        .Case([&](nn::ExpertCapacityOp o) {
          replace(o.getResult(), lowerExpertCapacity(b, o));
        })
        .Case([&](nn::ExpertRowsOp o) {
          known[o.getResult()] = {o.getIds(), o.getOffset(), {}, o.getX()};
        })
        .Case([&](nn::ExpertsOp o) { lowerExperts(o); })
        .Case([&](nn::ExpertsBackwardOp o) { lowerBackward(o); })
        .Case([&](nn::ExpertsWeightGradientOp o) { lowerWeightGradient(o); })
        .Case([&](dist::PackRowsOp o) { lowerPack(o); })
        .Case([&](dist::UnpackRowsOp o) {
          ByExpert facts = known.lookup(o.getRows());
          known[o.getValues()] = {
              o.getIds(), o.getOffset(), o.getRows(),
              isBy(facts, o.getIds(), o.getOffset()) ? facts.tokens : Value()};
        });
  }

  void replace(Value value, Value by) { value.replaceAllUsesWith(by); }

  static bool isBy(const ByExpert &facts, Value ids, Value offset) {
    return facts.ids == ids && isSameOffset(facts.offset, offset);
  }

  //===--------------------------------------------------------------------===//
  // Routings
  //===--------------------------------------------------------------------===//

  /// Moves the op of a value, if it is after the insertion point, before it,
  /// after the ops of its operands.
  void moveUp(Value value) {
    Operation *op = value ? value.getDefiningOp() : nullptr;
    if (!op || op->getBlock() != b.getInsertionBlock() ||
        op->isBeforeInBlock(&*b.getInsertionPoint()))
      return;
    for (Value operand : op->getOperands())
      moveUp(operand);
    op->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
    b.setInsertionPointAfter(op);
  }

  /// Returns a routing of these ids with room for `room` rows: an earlier one
  /// of the block, or a new one. `all` is the number of all experts, and
  /// `layer` the number of the layer whose loads it counts, if it does.
  Routing route(Value ids, Value offset, int64_t experts, int64_t room,
                int64_t all, IntegerAttr layer = nullptr) {
    RankedTensorType type = typeOf(ids);
    int64_t choices = type.getShape().back();
    int64_t tokens = 1;
    for (int64_t size : type.getShape().drop_back())
      tokens *= size;
    for (auto &[given, r] : routings)
      if (given == ids && isSameOffset(r.offset, offset) &&
          r.experts == experts && r.room == room &&
          r.routing.getParentBlock() == b.getInsertionBlock()) {
        // Loads may have been counted before the experts read the ids.
        if (layer) {
          auto call = r.routing.getDefiningOp<rt::RouteOp>();
          call.setLayerAttr(layer);
          call.setAll(all);
        }
        moveUp(r.routing);
        return r;
      }
    Value read = castIds(b, ids);
    int64_t count = experts + 1 + room + type.getNumElements();
    Value routing = rt::RouteOp::create(
        b, RankedTensorType::get({count}, b.getI32Type()), read, experts, all,
        room, DenseI64ArrayAttr(), layer, offset);
    Routing made{read, offset, routing, tokens, choices, experts, room};
    routings.push_back({ids, made});
    return made;
  }

  /// The room of the most rows that these ids can have.
  static int64_t mostRows(Value ids, int64_t experts) {
    RankedTensorType type = typeOf(ids);
    int64_t choices = type.getShape().back();
    return choices
               ? type.getNumElements() / choices * std::min(choices, experts)
               : 0;
  }

  //===--------------------------------------------------------------------===//
  // Rows
  //===--------------------------------------------------------------------===//

  /// Returns the rows of a tensor by expert, [r.room, width].
  Value rowsOf(Value values, Value ids, const Routing &r) {
    ByExpert facts = known.lookup(values);
    if (!isBy(facts, ids, r.offset))
      return packRows(b, r, values);
    if (facts.rows && typeOf(facts.rows).getDimSize(0) == r.room)
      return facts.rows;
    return facts.tokens ? gatherTokens(b, r, facts.tokens)
                        : packRows(b, r, values);
  }

  void lowerPack(dist::PackRowsOp op) {
    RankedTensorType type = typeOf(op.getValues());
    int64_t experts = type.getDimSize(type.getRank() - 2);
    Routing r = route(op.getIds(), op.getOffset(), experts,
                      typeOf(op.getRows()).getDimSize(0), experts);
    Value rows = rowsOf(op.getValues(), op.getIds(), r);
    ByExpert facts = known.lookup(op.getValues());
    if (isBy(facts, op.getIds(), op.getOffset()) && facts.tokens)
      known[rows] = {op.getIds(), op.getOffset(), {}, facts.tokens};
    replace(op.getRows(), rows);
  }

  /// Builds the tensor by expert that an op still reads.
  void makeWhole(Value values) {
    auto facts = known.find(values);
    if (values.use_empty() || facts == known.end())
      return;
    ByExpert by = facts->second;
    RankedTensorType type = typeOf(values);
    b.setLoc(values.getLoc());
    b.setInsertionPointAfterValue(values);
    int64_t experts = type.getDimSize(type.getRank() - 2);
    int64_t room =
        by.rows ? typeOf(by.rows).getDimSize(0) : mostRows(by.ids, experts);
    Routing r = route(by.ids, by.offset, experts, room, experts);
    Value rows = by.rows ? by.rows : gatherTokens(b, r, by.tokens);
    replace(values, unpackRows(b, r, rows, type));
  }

  //===--------------------------------------------------------------------===//
  // Experts
  //===--------------------------------------------------------------------===//

  static rt::Activation activationOf(nn::Activation kind) {
    switch (kind) {
    case nn::Activation::Silu:
      return rt::Activation::Silu;
    case nn::Activation::GeluErf:
      return rt::Activation::GeluErf;
    case nn::Activation::GeluTanh:
      return rt::Activation::GeluTanh;
    }
    llvm_unreachable("unknown activation");
  }

  /// The room of the rows of `values`, a tensor by expert that is read; none if
  /// these are not known.
  std::optional<int64_t> roomOf(Value values) const {
    Value rows = known.lookup(values).rows;
    return rows ? std::optional(typeOf(rows).getDimSize(0)) : std::nullopt;
  }

  /// The room that an op packs the rows of `values` to; the most if none does.
  static int64_t packedRoom(ValueRange stats, Value ids, int64_t experts) {
    for (Value values : stats)
      for (Operation *user : values.getUsers())
        if (auto pack = dyn_cast<dist::PackRowsOp>(user))
          return typeOf(pack.getRows()).getDimSize(0);
    return mostRows(ids, experts);
  }

  void lowerExperts(nn::ExpertsOp op) {
    RankedTensorType up = typeOf(op.getWUp());
    Value ids = op.getIds();
    int64_t experts = up.getDimSize(0);
    // An op that is repeated for the backward does not count again.
    IntegerAttr layer;
    if (!op->hasAttr(dist::DistDialect::kRecomputeAttr))
      layer = op->getAttrOfType<IntegerAttr>(dist::DistDialect::kLayerAttr);
    Routing r =
        route(ids, op.getOffset(), experts,
              packedRoom(op.getStats(), ids, experts), op.getExperts(), layer);
    SmallVector<Type> rows(op.getStats().size(),
                           up.clone({r.room, up.getDimSize(2)}));
    auto call = rt::ExpertsOp::create(
        b, op.getType(0), rows, activationOf(op.getActivation()),
        op.getExperts(), op.getX(), r.routing, op.getGates(), op.getWGate(),
        op.getWUp(), op.getWDown());
    replace(op.getResult(), call.getResult());
    for (auto [values, made] : llvm::zip_equal(op.getStats(), call.getRows()))
      known[values] = {ids, op.getOffset(), made, {}};
  }

  void lowerBackward(nn::ExpertsBackwardOp op) {
    RankedTensorType up = typeOf(op.getWUp());
    Value ids = op.getIds();
    int64_t experts = up.getDimSize(0);
    Routing r = route(ids, op.getOffset(), experts,
                      roomOf(op.getUpStat()).value_or(mostRows(ids, experts)),
                      op.getExperts());
    Type rows = up.clone({r.room, up.getDimSize(2)});
    auto call = rt::ExpertsBackwardOp::create(
        b, op.getDx().getType(), op.getDgates().getType(), rows, rows,
        activationOf(op.getActivation()), op.getExperts(), op.getGrad(),
        r.routing, op.getGates(), op.getWGate(), op.getWUp(), op.getWDown(),
        rowsOf(op.getGateStat(), ids, r), rowsOf(op.getUpStat(), ids, r));
    replace(op.getDx(), call.getDx());
    replace(op.getDgates(), call.getDgates());
    known[op.getDgate()] = {ids, op.getOffset(), call.getDgate(), {}};
    known[op.getDup()] = {ids, op.getOffset(), call.getDup(), {}};
  }

  /// Returns a tensor by expert as the library reads it: the tensor by token
  /// whose rows it holds, or its rows. The flag says which.
  std::pair<Value, bool> readRows(Value values, Value ids, const Routing &r) {
    ByExpert facts = known.lookup(values);
    if (isBy(facts, ids, r.offset) && facts.tokens)
      return {facts.tokens, false};
    return {rowsOf(values, ids, r), true};
  }

  void lowerWeightGradient(nn::ExpertsWeightGradientOp op) {
    Value ids = op.getIds();
    int64_t experts = typeOf(op.getDwUp()).getDimSize(0);
    Routing r = route(ids, op.getOffset(), experts,
                      roomOf(op.getUpStat()).value_or(mostRows(ids, experts)),
                      op.getExperts());
    auto [x, xInRows] = readRows(op.getRows(), ids, r);
    auto [grad, gradInRows] = readRows(op.getGradRows(), ids, r);
    auto call = rt::ExpertsWeightGradientOp::create(
        b, op->getResultTypes(), activationOf(op.getActivation()),
        op.getExperts(), x, grad, r.routing, op.getGates(),
        rowsOf(op.getGateStat(), ids, r), rowsOf(op.getUpStat(), ids, r),
        rowsOf(op.getDgate(), ids, r), rowsOf(op.getDup(), ids, r), xInRows,
        gradInRows);
    for (auto [value, by] :
         llvm::zip_equal(op->getResults(), call->getResults()))
      replace(value, by);
  }

  func::FuncOp func;
  GenericBuilder b;
  llvm::DenseMap<Value, ByExpert> known;
  SmallVector<std::pair<Value, Routing>> routings;
};

struct LowerExpertsPass
    : tessera::impl::LowerExpertsPassBase<LowerExpertsPass> {
  void runOnOperation() override {
    if (!getOperation().isExternal() &&
        !getOperation()->hasAttr(rt::RTDialect::kKernelAttr))
      Lowering(getOperation()).run();
  }
};

} // namespace
