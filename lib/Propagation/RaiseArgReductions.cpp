//===- RaiseArgReductions.cpp - Hand-written searches to nn.arg_reduce ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linalg.generic that carries a value and an index along one loop has no
// reduction that shards could compute separately; nn.arg_reduce has one. Other
// unknown reductions stay as they are, with a remark.
//
//===----------------------------------------------------------------------===//

#include "tessera/Propagation/RaiseArgReductions.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"
#include "tessera/Interfaces/NeutralElements.h"
#include "tessera/Propagation/Passes.h"
#include <cmath>

namespace tessera {
#define GEN_PASS_DEF_RAISEARGREDUCTIONSPASS
#include "tessera/Propagation/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// A search for the first largest or smallest element along a loop.
struct Search {
  nn::ReduceKind kind = nn::ReduceKind::Max;
  unsigned dim = 0;
  /// Output numbers of the value and of the index.
  unsigned value = 0, index = 1;
  /// True if the max or min that combines the values returns NaN for NaN;
  /// otherwise NaN is skipped.
  bool keepsNaN = false;
};

} // namespace

/// The only reduction loop, if the operand has all loops in order and both
/// outputs have all other loops.
static std::optional<unsigned> matchLoops(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 2 ||
      op.getNumReductionLoops() != 1 || !op.hasPureTensorSemantics())
    return std::nullopt;
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  AffineMap all =
      AffineMap::getMultiDimIdentityMap(op.getNumLoops(), op.getContext());
  AffineMap kept = all.dropResult(reduced.front());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (maps[0] != all || maps[1] != kept || maps[2] != kept)
    return std::nullopt;
  return reduced.front();
}

/// Whether `compare` tests that `x` is strictly above or strictly below
/// `running`.
static std::optional<nn::ReduceKind> matchCompare(Value compare, Value x,
                                                  Value running) {
  auto match = [&](Value lhs, Value rhs, bool greater,
                   bool less) -> std::optional<nn::ReduceKind> {
    if (greater == less)
      return std::nullopt;
    if (lhs == x && rhs == running)
      return greater ? nn::ReduceKind::Max : nn::ReduceKind::Min;
    if (lhs == running && rhs == x)
      return less ? nn::ReduceKind::Max : nn::ReduceKind::Min;
    return std::nullopt;
  };
  if (auto op = compare.getDefiningOp<arith::CmpFOp>())
    return match(op.getLhs(), op.getRhs(),
                 op.getPredicate() == arith::CmpFPredicate::OGT,
                 op.getPredicate() == arith::CmpFPredicate::OLT);
  if (auto op = compare.getDefiningOp<arith::CmpIOp>())
    return match(op.getLhs(), op.getRhs(),
                 op.getPredicate() == arith::CmpIPredicate::sgt,
                 op.getPredicate() == arith::CmpIPredicate::slt);
  return std::nullopt;
}

/// True if `value` is a max or min (by `kind`) of `x` and `running`; sets
/// `keepsNaN`.
static bool matchExtremum(Value value, Value x, Value running,
                          nn::ReduceKind kind, bool &keepsNaN) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() != 2)
    return false;
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  if (!(lhs == x && rhs == running) && !(lhs == running && rhs == x))
    return false;
  bool isMax = kind == nn::ReduceKind::Max;
  keepsNaN = isMax ? isa<arith::MaximumFOp>(op) : isa<arith::MinimumFOp>(op);
  return keepsNaN || (isMax ? isa<arith::MaxNumFOp, arith::MaxSIOp>(op)
                            : isa<arith::MinNumFOp, arith::MinSIOp>(op));
}

/// The search that the body does: `select(x > running, position, index)`, and
/// the same select, or a max, of the values.
static std::optional<Search> matchBody(linalg::GenericOp op, unsigned dim) {
  Block *body = op.getBody();
  Value x = body->getArgument(0);
  Operation *yield = body->getTerminator();
  for (unsigned value : {0u, 1u}) {
    Search search{nn::ReduceKind::Max, dim, value, 1 - value};
    Value running = body->getArgument(1 + search.value);
    Value at = body->getArgument(1 + search.index);
    auto select =
        yield->getOperand(search.index).getDefiningOp<arith::SelectOp>();
    if (!select || select.getFalseValue() != at)
      continue;
    auto cast = select.getTrueValue().getDefiningOp<arith::IndexCastOp>();
    auto position =
        cast ? cast.getIn().getDefiningOp<linalg::IndexOp>() : nullptr;
    std::optional<nn::ReduceKind> kind =
        matchCompare(select.getCondition(), x, running);
    if (!position || position.getDim() != dim || !kind)
      continue;
    search.kind = *kind;
    Value best = yield->getOperand(search.value);
    auto same = best.getDefiningOp<arith::SelectOp>();
    if (same && same.getCondition() == select.getCondition() &&
        same.getTrueValue() == x && same.getFalseValue() == running)
      return search;
    if (matchExtremum(best, x, running, *kind, search.keepsNaN))
      return search;
  }
  return std::nullopt;
}

/// The one element of a constant or filled tensor.
static Attribute getSplat(Value value) {
  if (Value filled = getFilledScalar(value.getDefiningOp()))
    value = filled;
  Attribute attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return {};
  if (auto dense = dyn_cast<DenseElementsAttr>(attr))
    return dense.isSplat() ? dense.getSplatValue<Attribute>() : Attribute();
  return attr;
}

/// True if the initial values do not change the result: no element is worse
/// than an infinity of the wrong sign, and the first of equal elements is
/// element 0.
static bool startsNeutral(const Search &search, Value value, Value index) {
  auto kind = static_cast<ReductionKind>(search.kind);
  Attribute first = getSplat(index);
  auto number = dyn_cast_or_null<IntegerAttr>(first);
  return number && number.getValue().isZero() &&
         getSplat(value) ==
             getNeutralElement(getElementTypeOrSelf(value.getType()), kind);
}

/// Elements of `x` before the first NaN along `dim`, and `passed` from there
/// on; and whether each search meets a NaN.
static std::pair<Value, Value> passFromNaN(ElementwiseBuilder &b, Value x,
                                           unsigned dim, Value passed,
                                           Type valueType, Type indexType) {
  Value isNaN = b.compare(arith::CmpFPredicate::UNO, x, x);
  Value marks = b.select(isNaN, b.splat(x, 1), b.splat(x, 0));
  auto first = nn::ArgReduceOp::create(b.b, b.loc, valueType, indexType,
                                       nn::ReduceKind::Max, marks, dim);
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<int64_t> others;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != dim)
      others.push_back(i);
  Type element = getElementTypeOrSelf(indexType);
  RankedTensorType indices = type.clone(element);
  Value line =
      b.make<nn::IotaOp>(RankedTensorType::get({type.getDimSize(dim)}, element),
                         Value(), nn::ZigzagAttr());
  Value index = b.make<nn::BroadcastOp>(indices, line, ArrayRef<int64_t>{dim});
  Value end = b.make<nn::BroadcastOp>(indices, first.getIndex(), others);
  Value hasNaN = b.compare(arith::CmpFPredicate::OGT, first.getValue(),
                           b.splat(first.getValue(), 0));
  Value none = b.compare(
      arith::CmpFPredicate::OEQ,
      b.make<nn::BroadcastOp>(type, first.getValue(), others), b.splat(x, 0));
  Value before = b.make<arith::CmpIOp>(arith::CmpIPredicate::slt, index, end);
  return {b.select(b.make<arith::OrIOp>(none, before), x, passed), hasNaN};
}

/// Builds the value and index of `op` with nn.arg_reduce and a comparison with
/// the initial values. Null values if this is not possible.
static std::pair<Value, Value> raise(OpBuilder &builder, linalg::GenericOp op,
                                     const Search &search) {
  ElementwiseBuilder b{builder, op.getLoc()};
  Value x = op.getInputs().front();
  Value value = op.getOutputs()[search.value];
  Value index = op.getOutputs()[search.index];
  auto type = cast<RankedTensorType>(x.getType());
  bool isFloat = isa<FloatType>(type.getElementType());
  bool neutral = startsNeutral(search, value, index);
  auto start = dyn_cast_or_null<FloatAttr>(getSplat(value));
  if (search.keepsNaN && !neutral && (!start || start.getValue().isNaN()))
    return {};
  // A running value of NaN compares false with every element, so the elements
  // after the first NaN are not searched.
  Value hasNaN;
  if (isFloat) {
    auto kind = static_cast<ReductionKind>(search.kind);
    Value passed = b.make<arith::ConstantOp>(SplatElementsAttr::get(
        type, Attribute(getNeutralElement(type.getElementType(), kind))));
    if (search.keepsNaN)
      std::tie(x, hasNaN) = passFromNaN(b, x, search.dim, passed,
                                        value.getType(), index.getType());
    else
      x = b.select(b.compare(arith::CmpFPredicate::UNO, x, x), passed, x);
  }
  auto found =
      nn::ArgReduceOp::create(builder, op.getLoc(), value.getType(),
                              index.getType(), search.kind, x, search.dim);
  auto withNaN = [&](Value best) {
    return hasNaN ? b.select(hasNaN, b.splat(best, NAN), best) : best;
  };
  if (neutral)
    return {withNaN(found.getValue()), found.getIndex()};
  bool isMax = search.kind == nn::ReduceKind::Max;
  Value better;
  if (!isFloat)
    better = b.make<arith::CmpIOp>(isMax ? arith::CmpIPredicate::sgt
                                         : arith::CmpIPredicate::slt,
                                   found.getValue(), value);
  else
    better =
        b.compare(isMax ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT,
                  found.getValue(), value);
  return {withNaN(b.select(better, found.getValue(), value)),
          b.select(better, found.getIndex(), index)};
}

/// True if all positions along the loop fit into the type of the yielded index,
/// as the op requires.
static bool fits(linalg::GenericOp op, const Search &search) {
  Value x = op.getInputs().front();
  int64_t size = cast<RankedTensorType>(x.getType()).getDimSize(search.dim);
  auto element = dyn_cast<IntegerType>(
      getElementTypeOrSelf(op.getOutputs()[search.index]));
  if (!element || !element.isSignless() || size < 1)
    return false;
  return element.getWidth() >= 64 ||
         size - 1 <= llvm::maxIntN(element.getWidth());
}

FailureOr<SmallVector<Value>> tessera::raiseArgReduction(OpBuilder &builder,
                                                         linalg::GenericOp op) {
  std::optional<unsigned> dim = matchLoops(op);
  std::optional<Search> search = dim ? matchBody(op, *dim) : std::nullopt;
  if (!search || !fits(op, *search))
    return failure();
  auto [value, index] = raise(builder, op, *search);
  if (!value)
    return failure();
  SmallVector<Value> values(2);
  values[search->value] = value;
  values[search->index] = index;
  return values;
}

/// Remarks that each device computes the whole of an unknown reduction.
static void remarkOnUnknown(linalg::LinalgOp op) {
  ShardingRule rule = getShardingRule(op);
  for (auto [loop, type] : llvm::enumerate(op.getIteratorTypesArray()))
    if (type == utils::IteratorType::reduction &&
        rule.factors[loop].kind == FactorKind::Replicated)
      remark::missed(
          op.getLoc(),
          remark::RemarkOpts::name("UnknownReduction").category("propagation"))
          << remark::add("{0} reduces a loop of {1} in a way that is no sum, "
                         "max or min nor a search for one: each device does "
                         "all of it",
                         op->getName().getStringRef().str(),
                         rule.factors[loop].size);
}

namespace {
struct RaiseArgReductionsPass
    : tessera::impl::RaiseArgReductionsPassBase<RaiseArgReductionsPass> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops)
      if (!raiseOp(op))
        remarkOnUnknown(op);
  }

  static bool raiseOp(linalg::LinalgOp linalgOp) {
    auto op = dyn_cast<linalg::GenericOp>(linalgOp.getOperation());
    if (!op)
      return false;
    OpBuilder builder(op);
    FailureOr<SmallVector<Value>> values = raiseArgReduction(builder, op);
    if (failed(values))
      return false;
    // Moves the shardings of the old results to the new values.
    for (auto [result, by] : llvm::zip(op.getResults(), *values)) {
      if (dist::ShardingAttr sharding = dist::getSharding(result))
        dist::setSharding(by, sharding);
      result.replaceAllUsesWith(by);
    }
    op.erase();
    return true;
  }
};
} // namespace
