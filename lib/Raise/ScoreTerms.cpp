//===- ScoreTerms.cpp - Ops between scores and their softmax --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreTerms.h"
#include "RowTrial.h"
#include "TensorTypes.h"

#include "dialects/Dist/Dist.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"

#include <cmath>

using namespace mlir;
using namespace tessera;

/// A number of at most this absorbs every product that is added to it in f32.
static constexpr double kAbsorbs = -1e30;
/// The most ops of a chain, and of the values that are added to it.
static constexpr size_t kMaxSteps = 32, kMaxOutside = 256;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Whether a value depends on a parameter of its function, or on a value that
/// this cannot be told of.
static bool isTrained(Value value) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  size_t visited = 0;
  options.filter = [&](Operation *) { return ++visited <= kMaxOutside; };
  SmallVector<Value> inputs{value};
  if (value.getDefiningOp()) {
    if (failed(getBackwardSlice(value, &slice, options)) ||
        visited > kMaxOutside)
      return true;
    inputs.clear();
    for (Operation *op : slice)
      llvm::append_range(inputs, op->getOperands());
  }
  return llvm::any_of(inputs, [](Value input) {
    auto argument = dyn_cast<BlockArgument>(input);
    if (!argument)
      return false;
    auto func =
        dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    return !func ||
           func.getArgAttr(argument.getArgNumber(), nn::NNDialect::kParamAttr);
  });
}

namespace {

/// Follows a chain from the weights to the products.
class ChainReader {
public:
  bool read(Value weights);
  ScoreTerms take() { return terms; }
  /// Whether the keys whose weights are zeros have been found hidden.
  bool hidesAll() { return !shows || terms.hides; }

private:
  bool follow(Value value);
  bool step(Operation *op);
  bool readAdded(Operation *op);
  bool readSelect(arith::SelectOp op);
  bool readScaled(Operation *op);
  bool readSinks(Value &value);
  bool readShift(Value &value);
  bool descend(Operation *op, unsigned operand) {
    terms.ops.push_back(op);
    return follow(op->getOperand(operand));
  }
  bool isOutside(Value value) const {
    return getNumber(value) || !isTrained(value);
  }

  ScoreTerms terms;
  bool isCut = false;
  /// The dimensions that are merged while there is a column of sinks.
  SmallVector<ReassociationIndices> merged;
  /// Selects weights, or zeros for keys that the first step must hide.
  arith::SelectOp shows;
};

} // namespace

/// Whether a slice drops the last column of a tensor, and nothing else.
static bool dropsColumn(tensor::ExtractSliceOp slice) {
  RankedTensorType from = slice.getSourceType(), to = slice.getType();
  int64_t last = from.getRank() - 1;
  if (to.getRank() != from.getRank() || !slice.hasUnitStride() ||
      !slice.hasZeroOffset() ||
      to.getShape().drop_back() != from.getShape().drop_back())
    return false;
  return to.getDimSize(last) + 1 == from.getDimSize(last);
}

bool ChainReader::read(Value weights) {
  Value value = weights;
  while (Operation *op = value.getDefiningOp()) {
    if (!value.hasOneUse())
      return false;
    terms.ops.push_back(op);
    // The shardings of merged or longer rows are not those of scores.
    bool isScores = !isCut && merged.empty();
    if (isa<arith::ExtFOp, arith::TruncFOp>(op) ||
        (isa<dist::ConstraintOp>(op) && isScores)) {
      value = op->getOperand(0);
    } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      if (isCut || !dropsColumn(slice))
        return false;
      isCut = true;
      value = slice.getSource();
    } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
      if (isCut || !merged.empty())
        return false;
      merged = expand.getReassociationIndices();
      value = expand.getSrc();
    } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
      if (shows || getNumber(select.getFalseValue()) != 0.0)
        return false;
      shows = select;
      value = select.getTrueValue();
    } else if (auto softmax = dyn_cast<nn::SoftmaxOp>(op)) {
      value = softmax.getX();
      return static_cast<int64_t>(softmax.getDim()) ==
                 softmax.getType().getRank() - 1 &&
             (isCut ? readSinks(value) : merged.empty()) && follow(value);
    } else {
      return false;
    }
  }
  return false;
}

/// Reads a difference to a number for each row, which a softmax does not see:
/// the largest score, computed by ops that have no other use.
bool ChainReader::readShift(Value &value) {
  auto shift = value.getDefiningOp<arith::SubFOp>();
  auto row = shift ? shift.getRhs().getDefiningOp<nn::BroadcastOp>()
                   : nn::BroadcastOp();
  int64_t rank = typeOf(value).getRank();
  if (!row || !value.hasOneUse() ||
      !llvm::equal(row.getDims(), llvm::seq<int64_t>(0, rank - 1)))
    return false;
  Value scores = shift.getLhs();
  llvm::SetVector<Operation *> inside;
  inside.insert(shift);
  inside.insert(row);
  for (size_t i = 1; i < inside.size() && inside.size() < kMaxSteps; ++i)
    for (Value operand : inside[i]->getOperands())
      if (Operation *op = operand.getDefiningOp();
          op && operand != scores && !matchPattern(operand, m_Constant()))
        inside.insert(op);
  auto isInside = [&](Operation *user) { return inside.contains(user); };
  if (!llvm::all_of(scores.getUsers(), isInside))
    return false;
  for (Operation *op : inside.getArrayRef().drop_front())
    if (!isPure(op) || !llvm::all_of(op->getUsers(), isInside))
      return false;
  terms.ops.push_back(shift);
  value = scores;
  return true;
}

/// Reads a column that is concatenated to scores, one number for each head.
bool ChainReader::readSinks(Value &value) {
  bool isShifted = false;
  while (Operation *op = value.getDefiningOp()) {
    if (isa<arith::ExtFOp, arith::TruncFOp>(op) && value.hasOneUse()) {
      terms.ops.push_back(op);
      value = op->getOperand(0);
    } else if (!isShifted && readShift(value)) {
      isShifted = true;
    } else {
      break;
    }
  }
  auto concat = value.getDefiningOp<tensor::ConcatOp>();
  if (!concat || !(isShifted || value.hasOneUse()) ||
      concat.getInputs().size() != 2)
    return false;
  terms.ops.push_back(concat);
  value = concat.getInputs()[0];
  if (!merged.empty()) {
    auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
    if (!collapse || !value.hasOneUse() ||
        collapse.getReassociationIndices() != merged)
      return false;
    terms.ops.push_back(collapse);
    value = collapse.getSrc();
  }
  auto column = concat.getInputs()[1].getDefiningOp<nn::BroadcastOp>();
  if (!column || column.getType().getShape().back() != 1)
    return false;
  // The dimensions of one element may be broadcast, too.
  Value sinks = column.getX();
  SmallVector<int64_t> dims(column.getDims());
  while (typeOf(sinks).getRank() > 1) {
    auto expand = sinks.getDefiningOp<tensor::ExpandShapeOp>();
    if (!expand || expand.getSrcType().getRank() != 1)
      return false;
    ArrayRef<int64_t> shape = typeOf(sinks).getShape();
    auto *whole = llvm::find_if(shape, [](int64_t size) { return size != 1; });
    if (whole == shape.end() || *whole != expand.getSrcType().getDimSize(0))
      return false;
    dims = {dims[whole - shape.begin()]};
    sinks = expand.getSrc();
  }
  if (typeOf(sinks).getRank() != 1)
    return false;
  terms.sinks = sinks;
  if (merged.empty())
    terms.sinksDims = dims;
  else
    llvm::append_range(terms.sinksDims, merged[dims[0]]);
  return true;
}

bool ChainReader::follow(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !value.hasOneUse() || terms.ops.size() > kMaxSteps)
    return false;
  if (auto products = dyn_cast<nn::EinsumOp>(op)) {
    terms.products = products;
    return products.getScales().empty();
  }
  size_t ops = terms.ops.size(), steps = terms.steps.size();
  if (step(op))
    return true;
  terms.ops.truncate(ops);
  terms.steps.truncate(steps);
  return false;
}

bool ChainReader::step(Operation *op) {
  if (isa<arith::ExtFOp, arith::TruncFOp, dist::ConstraintOp>(op))
    return descend(op, 0);
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return readAdded(op);
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return readSelect(select);
  if (isa<arith::MulFOp, arith::DivFOp>(op))
    return readScaled(op);
  // A bound that no other number than a hidden one passes.
  if (!isa<arith::MaximumFOp, arith::MaxNumFOp>(op) || terms.softcap != 0)
    return false;
  for (unsigned number : {0, 1})
    if (std::optional<double> bound = getNumber(op->getOperand(1 - number));
        bound && *bound <= kAbsorbs) {
      terms.replaces |= std::isfinite(*bound);
      terms.steps.push_back({op, number});
      return descend(op, number);
    }
  return false;
}

bool ChainReader::readAdded(Operation *op) {
  unsigned last = isa<arith::AddFOp>(op) ? 1 : 0;
  for (unsigned number = 0; number <= last; ++number) {
    if (terms.softcap != 0 || !isOutside(op->getOperand(1 - number)))
      continue;
    size_t ops = terms.ops.size(), steps = terms.steps.size();
    terms.steps.push_back({op, number});
    if (descend(op, number))
      return true;
    terms.ops.truncate(ops);
    terms.steps.truncate(steps);
  }
  return false;
}

bool ChainReader::readSelect(arith::SelectOp op) {
  std::optional<double> hidden = getNumber(op.getFalseValue());
  if (shows && terms.steps.empty() && hidden && *hidden <= kAbsorbs &&
      op.getCondition() == shows.getCondition() &&
      isOutside(op.getCondition())) {
    terms.hides = op;
    terms.steps.push_back({op, 1});
    return descend(op, 1);
  }
  for (unsigned number : {1, 2}) {
    std::optional<double> other = getNumber(op->getOperand(3 - number));
    if (!other || !isOutside(op.getCondition()) || terms.softcap != 0)
      continue;
    terms.replaces |= std::isfinite(*other);
    terms.steps.push_back({op, number});
    return descend(op, number);
  }
  return false;
}

/// Reads a positive factor or divisor, or a softcap: a tanh, scaled.
bool ChainReader::readScaled(Operation *op) {
  bool divides = isa<arith::DivFOp>(op);
  for (unsigned number = 0; number < (divides ? 1 : 2); ++number) {
    std::optional<double> factor = getNumber(op->getOperand(1 - number));
    if (!factor || !(*factor > 0) || !std::isfinite(*factor))
      continue;
    double scale = divides ? 1 / *factor : *factor;
    auto tanh = op->getOperand(number).getDefiningOp<math::TanhOp>();
    if (!tanh) {
      terms.scale *= scale;
      terms.steps.push_back({op, number});
      return descend(op, number);
    }
    if (terms.softcap != 0 || !tanh->hasOneUse())
      return false;
    // m tanh(s x) is a cap of m on m s x.
    terms.softcap = terms.scale * scale;
    terms.scale = terms.softcap;
    terms.ops.append({op, tanh});
    return follow(tanh.getOperand());
  }
  return false;
}

std::optional<ScoreTerms> tessera::readScoreTerms(Value weights) {
  ChainReader reader;
  if (!reader.read(weights) || !reader.hidesAll())
    return std::nullopt;
  ScoreTerms terms = reader.take();
  // Rounding to a type that is narrower than both ends is another function.
  auto width = [](Value value) {
    return typeOf(value).getElementTypeBitWidth();
  };
  unsigned least = std::min(width(weights), width(terms.products));
  if (llvm::any_of(terms.ops, [&](Operation *op) {
        return width(op->getResult(0)) < least;
      }))
    return std::nullopt;
  return terms;
}

//===----------------------------------------------------------------------===//
// The bias
//===----------------------------------------------------------------------===//

/// Whether an op acts on each element, so that it may run before a broadcast.
static bool isPointwise(Operation *op) {
  return op && op->getNumResults() == 1 && isPure(op) &&
         op->hasTrait<OpTrait::Elementwise>() &&
         llvm::all_of(op->getOperandTypes(),
                      [](Type type) { return isa<RankedTensorType>(type); });
}

static bool isSplat(Value value) {
  SplatElementsAttr splat;
  return matchPattern(value, m_Constant(&splat));
}

/// Adds the dimensions along which a value differs.
static void addDims(Value value, std::vector<bool> &dims, size_t &budget) {
  if (isSplat(value))
    return;
  if (auto broadcast = value.getDefiningOp<nn::BroadcastOp>()) {
    for (auto [dim, size] : llvm::zip_equal(
             broadcast.getDims(), typeOf(broadcast.getX()).getShape()))
      dims[dim] = true;
    return;
  }
  Operation *op = value.getDefiningOp();
  if (isPointwise(op) && budget > 0) {
    --budget;
    for (Value operand : op->getOperands())
      addDims(operand, dims, budget);
    return;
  }
  dims.assign(dims.size(), true);
}

/// The operands of a step that are outside of the chain.
static SmallVector<Value> getOutside(Operation *op, unsigned number) {
  SmallVector<Value> others;
  for (OpOperand &operand : op->getOpOperands())
    if (operand.getOperandNumber() != number)
      others.push_back(operand.get());
  return others;
}

SmallVector<int64_t> ScoreTerms::getBiasDims() {
  std::vector<bool> differs(products.getType().getRank());
  size_t budget = kMaxOutside;
  bool hasBias = false;
  for (auto [op, number] : steps) {
    hasBias |= isa<arith::AddFOp, arith::SubFOp, arith::SelectOp>(op);
    for (Value value : getOutside(op, number))
      addDims(value, differs, budget);
  }
  SmallVector<int64_t> dims;
  differs.back() = true;
  for (int64_t dim = 0; hasBias && dim < int64_t(differs.size()); ++dim)
    if (differs[dim])
      dims.push_back(dim);
  return dims;
}

namespace {
/// Builds values that are repeated along some dimensions without these.
class NarrowBuilder {
public:
  NarrowBuilder(OpBuilder &b, RankedTensorType whole, ArrayRef<int64_t> dims)
      : b(b), whole(whole), dims(dims) {
    for (int64_t dim : dims)
      shape.push_back(whole.getDimSize(dim));
  }

  Value build(Value value) {
    if (Value known = built.lookup(value))
      return known;
    return built[value] = make(value);
  }
  RankedTensorType typeOf(Type element) const {
    return RankedTensorType::get(shape, element);
  }
  /// Clones an elementwise op with narrow operands.
  Value clone(Operation *op, ValueRange operands) {
    Operation *copy = b.clone(*op);
    copy->setOperands(operands);
    copy->getResult(0).setType(typeOf(getElementTypeOrSelf(op->getResult(0))));
    copy->setDiscardableAttrs(DictionaryAttr::get(b.getContext()));
    return copy->getResult(0);
  }

private:
  Value make(Value value) {
    Type element = getElementTypeOrSelf(value);
    SplatElementsAttr splat;
    if (matchPattern(value, m_Constant(&splat)))
      return arith::ConstantOp::create(
          b, value.getLoc(),
          DenseElementsAttr::get(typeOf(element),
                                 splat.getSplatValue<Attribute>()));
    if (static_cast<int64_t>(dims.size()) == whole.getRank())
      return value;
    if (auto broadcast = value.getDefiningOp<nn::BroadcastOp>()) {
      SmallVector<int64_t> places;
      for (int64_t dim : broadcast.getDims())
        places.push_back(llvm::find(dims, dim) - dims.begin());
      if (places.size() == dims.size())
        return broadcast.getX();
      return nn::BroadcastOp::create(b, value.getLoc(), typeOf(element),
                                     broadcast.getX(), places);
    }
    Operation *op = value.getDefiningOp();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(build(operand));
    return clone(op, operands);
  }

  OpBuilder &b;
  RankedTensorType whole;
  ArrayRef<int64_t> dims;
  SmallVector<int64_t> shape;
  DenseMap<Value, Value> built;
};
} // namespace

Value ScoreTerms::buildBias(OpBuilder &b, ArrayRef<int64_t> dims) {
  NarrowBuilder narrow(b, products.getType(), dims);
  Location loc = products.getLoc();
  ElementwiseBuilder e{b, loc};
  Value bias;
  for (auto [op, number] : llvm::reverse(steps)) {
    Type element = getElementTypeOrSelf(op->getResult(0));
    bool adds = isa<arith::AddFOp, arith::SubFOp, arith::SelectOp>(op);
    if (!bias && !adds)
      continue;
    bias = bias ? e.cast(bias, element) : e.splatOf(narrow.typeOf(element), 0);
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands())
      operands.push_back(operand.getOperandNumber() == number
                             ? bias
                             : narrow.build(operand.get()));
    if (op == hides)
      operands[2] = e.splat(bias, -INFINITY);
    bias = narrow.clone(op, operands);
  }
  return bias;
}
