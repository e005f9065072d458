//===- RowTrial.cpp - Compares a region of ops with one op ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowTrial.h"

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"
#include "tessera/Interpreter/Interpreter.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace tessera;

/// Rows per scale, and rows that hold minus infinity.
static constexpr int64_t kRowsOfScale = 3, kHiddenRows = 4;
/// The most numbers in the rows of a trial.
static constexpr int64_t kMaxNumbers = int64_t(1) << 23;
/// The largest error at which a region counts as equal to an op. Measured:
/// correct candidates have at most 4e-7, the nearest wrong one has 4e-3.
static constexpr double kTolerance = 1e-5;

std::optional<size_t> TrialResult::findEqual() const {
  if (!isCovered)
    return std::nullopt;
  for (auto [i, error] : llvm::enumerate(errors))
    if (error <= kTolerance)
      return i;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

std::optional<double> tessera::getNumber(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)) ||
      !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  return splat.getSplatValue<FloatAttr>().getValueAsDouble();
}

SmallVector<double> tessera::findConstants(const RowRegion &region) {
  SmallVector<double> found;
  for (Operation *op : region.ops)
    for (Value operand : op->getOperands()) {
      std::optional<double> number = getNumber(operand);
      if (!number || !(*number > 0) || !std::isfinite(*number))
        continue;
      char text[32];
      snprintf(text, sizeof(text), "%.6g", *number);
      double rounded = strtod(text, nullptr);
      if (!llvm::is_contained(found, rounded))
        found.push_back(rounded);
    }
  return found;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {

/// Normally distributed numbers, the same on every machine.
class Normal {
public:
  double operator()() {
    double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * M_PI * uniform());
  }
  uint64_t below(uint64_t limit) { return generator() % limit; }

private:
  double uniform() { return double(generator() >> 11) * 0x1p-53; }
  std::mt19937_64 generator{0x7e55e7a};
};

} // namespace

/// The largest finite number of a value's element type, if that is a float.
static double getLargest(Value value) {
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(value.getType()));
  if (!type)
    return INFINITY;
  llvm::APFloat largest = llvm::APFloat::getLargest(type.getFloatSemantics());
  return FloatAttr::getValueAsDouble(largest);
}

namespace {
/// The distributions of the normal rows of a trial.
struct RowKinds {
  /// Deviations of rows around 0, chosen where functions of numbers differ.
  SmallVector<double> scales{1e-2, 1, 10};
  /// Means of rows of deviation 1: a softmax is the same for each mean, unless
  /// all numbers are beyond a bound.
  SmallVector<double> means;

  int64_t count() const {
    return scales.size() * kRowsOfScale + means.size() + /*zeros=*/1;
  }
};
} // namespace

/// Collects the kinds of rows. Skips a bound at the lowest or largest number of
/// the type of the rows: it changes no value of the rows.
static RowKinds findKinds(const RowRegion &region) {
  RowKinds kinds;
  double largest = getLargest(region.x);
  bool hasSoftmax = region.has<nn::SoftmaxOp>() ||
                    (region.has<math::ExpOp>() && region.has<nn::ReduceOp>());
  for (double number : findConstants(region))
    if (number < 1e-2)
      kinds.scales.push_back(std::sqrt(number));
  for (Operation *op : region.ops)
    if (isa<arith::CmpFOp, arith::MaximumFOp, arith::MinimumFOp,
            arith::MaxNumFOp, arith::MinNumFOp, math::ClampFOp>(op))
      for (Value operand : op->getOperands()) {
        double bound = std::abs(getNumber(operand).value_or(0));
        // NaN and infinity are not bounds.
        if (!(bound > 0 && bound < largest))
          continue;
        kinds.scales.append({bound, 4 * bound});
        // Numbers are beyond the bound even if rows are scaled before it.
        if (hasSoftmax)
          kinds.means.append({64 * bound, -64 * bound});
      }
  return kinds;
}

/// Rows of `size` numbers: per scale, normal rows and one with a large element;
/// per mean, normal rows; one row of zeros; then normal rows with minus
/// infinity in half of the elements, and one row of minus infinity alone.
static interp::Tensor makeRows(Normal &normal, const RowKinds &kinds,
                               int64_t size, Type element) {
  int64_t finite = kinds.count();
  int64_t rows = finite + kHiddenRows;
  interp::Tensor x(interp::ElementType(element), {rows, size});
  for (auto [i, scale] : llvm::enumerate(kinds.scales)) {
    for (int64_t j = 0; j < kRowsOfScale * size; ++j)
      x[i * kRowsOfScale * size + j] = interp::floatCell(scale * normal());
    int64_t large = i * kRowsOfScale * size + normal.below(size);
    x[large] = interp::floatCell(20 * scale);
  }
  int64_t next = kinds.scales.size() * kRowsOfScale * size;
  for (double mean : kinds.means)
    for (int64_t j = 0; j < size; ++j)
      x[next++] = interp::floatCell(mean + normal());
  for (int64_t i = finite * size; i < rows * size; ++i) {
    double number = normal();
    bool isHidden = i >= (rows - 1) * size || normal.below(2) == 0;
    x[i] = interp::floatCell(isHidden ? -INFINITY : number);
  }
  return x;
}

//===----------------------------------------------------------------------===//
// The function of a trial
//===----------------------------------------------------------------------===//

namespace {

/// Builds a function of rows. It returns the results of the region and of the
/// proposals, then two booleans per choice.
class TrialBuilder {
public:
  TrialBuilder(const RowRegion &region, int64_t rows)
      : region(region), context(region.x.getContext()), rows(rows),
        module(ModuleOp::create(UnknownLoc::get(context))),
        builder(module->getBodyRegion()) {}

  /// Fails if an op of the region has no form on two dimensions.
  LogicalResult build(ArrayRef<Proposal> proposals);
  func::FuncOp getFunction() { return function; }

private:
  Type inF64(Type element) {
    return isa<FloatType>(element) ? builder.getF64Type() : element;
  }
  /// The type of a value for all rows, or of one number per row.
  RankedTensorType typeFor(Value value);
  Value lookUp(Value value);
  void cloneOp(Operation *op);
  void addChoice(Operation *op);
  bool isNonNegative(Value value);
  bool computeNonNegative(Value value);

  const RowRegion &region;
  MLIRContext *context;
  int64_t rows;
  OwningOpRef<ModuleOp> module;
  OpBuilder builder;
  func::FuncOp function;
  IRMapping mapping;
  SmallVector<Value> choices;
  llvm::DenseMap<Value, bool> nonNegative;
  /// Terms added to values that pass no gradient: a function that does not
  /// depend on them has the gradient of the op that it equals.
  SmallVector<Value> shifts;
};

} // namespace

RankedTensorType TrialBuilder::typeFor(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape{rows};
  if (type.getRank() == region.rank())
    shape.push_back(region.size());
  return RankedTensorType::get(shape, inF64(type.getElementType()));
}

/// The value of an operand; constants are rebuilt.
Value TrialBuilder::lookUp(Value value) {
  if (Value found = mapping.lookupOrNull(value))
    return found;
  SplatElementsAttr splat;
  matchPattern(value, m_Constant(&splat));
  RankedTensorType type = typeFor(value);
  Attribute element = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(element))
    element = builder.getF64FloatAttr(number.getValueAsDouble());
  return arith::ConstantOp::create(
      builder, value.getLoc(),
      cast<TypedAttr>(Attribute(DenseElementsAttr::get(type, element))));
}

void TrialBuilder::cloneOp(Operation *op) {
  Value result = op->getResult(0);
  Location loc = op->getLoc();
  if (auto broadcast = dyn_cast<nn::BroadcastOp>(op)) {
    Value from = mapping.lookup(broadcast.getX());
    if (llvm::is_contained(region.masks, broadcast.getX())) {
      mapping.map(result, from);
      return;
    }
    bool isVector = llvm::is_contained(region.vectors, broadcast.getX());
    mapping.map(result, nn::BroadcastOp::create(builder, loc, typeFor(result),
                                                from, isVector ? 1 : 0));
    return;
  }
  if (isa<arith::ExtFOp, arith::TruncFOp, dist::ConstraintOp>(op)) {
    mapping.map(result, lookUp(op->getOperand(0)));
    return;
  }
  if (isa<nn::StopGradientOp>(op)) {
    Value x = lookUp(op->getOperand(0));
    mapping.map(result,
                arith::AddFOp::create(builder, loc, x, shifts.pop_back_val()));
    return;
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(lookUp(operand));
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  clone->getResult(0).setType(typeFor(result));
  clone->setDiscardableAttrs(DictionaryAttr::get(context));
  if (auto reduce = dyn_cast<nn::ReduceOp>(clone))
    reduce.setDims(1);
  if (auto softmax = dyn_cast<nn::SoftmaxOp>(clone))
    softmax.setDim(1);
  mapping.map(result, clone->getResult(0));
  addChoice(clone);
}

/// Whether a value is never negative, judged by the ops that compute it. Each
/// value is visited once, as a sum may use one twice.
bool TrialBuilder::isNonNegative(Value value) {
  if (auto known = nonNegative.find(value); known != nonNegative.end())
    return known->second;
  bool result = computeNonNegative(value);
  nonNegative[value] = result;
  return result;
}

bool TrialBuilder::computeNonNegative(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (std::optional<double> number = getNumber(value))
    return *number >= 0;
  if (isa<math::ExpOp, math::SqrtOp, math::AbsFOp, nn::SoftmaxOp>(op))
    return true;
  if (isa<arith::MulFOp>(op) && op->getOperand(0) == op->getOperand(1))
    return true;
  return isa<arith::AddFOp, arith::MulFOp, arith::DivFOp, nn::ReduceOp,
             nn::BroadcastOp>(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isNonNegative(operand); });
}

/// Adds both outcomes of a choice, per number; a tie counts as both. Rounding
/// gives 0 or another number, and a remainder gives the dividend or less.
/// Ignores tests for NaN and infinity, which finite rows cannot take both ways,
/// and the absolute value of a number that is never negative.
void TrialBuilder::addChoice(Operation *op) {
  using arith::CmpFPredicate;
  ElementwiseBuilder b{builder, op->getLoc()};
  auto add = [&](Value first, Value second) {
    choices.append({first, second});
  };
  auto addBool = [&](Value condition) {
    Value all = b.splat(condition, -1);
    add(condition, b.make<arith::XOrIOp>(condition, all));
  };
  auto addOrder = [&](Value l, Value r) {
    add(b.compare(CmpFPredicate::OGE, l, r),
        b.compare(CmpFPredicate::OLE, l, r));
  };
  if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
          arith::MinNumFOp>(op)) {
    addOrder(op->getOperand(0), op->getOperand(1));
  } else if (isa<math::ClampFOp>(op)) {
    addOrder(op->getOperand(0), op->getOperand(1));
    addOrder(op->getOperand(0), op->getOperand(2));
  } else if (isa<math::AbsFOp, math::CopySignOp>(op)) {
    Value x = op->getOperands().back();
    if (!isNonNegative(x))
      addOrder(x, b.splat(x, 0));
  } else if (isa<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
                 math::TruncOp>(op)) {
    addBool(b.compare(CmpFPredicate::OEQ, op->getResult(0),
                      b.splat(op->getResult(0), 0)));
  } else if (isa<arith::RemFOp>(op)) {
    addBool(b.compare(CmpFPredicate::OEQ, op->getResult(0), op->getOperand(0)));
  } else if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    std::optional<double> bound = getNumber(compare.getRhs());
    bool isFinitenessTest = compare.getLhs() == compare.getRhs() ||
                            (bound && !std::isfinite(*bound));
    if (!isFinitenessTest)
      addBool(compare.getResult());
  }
}

LogicalResult TrialBuilder::build(ArrayRef<Proposal> proposals) {
  SmallVector<Type> types{typeFor(region.x)};
  for (Value vector : region.vectors)
    types.push_back(RankedTensorType::get(
        region.size(),
        inF64(cast<RankedTensorType>(vector.getType()).getElementType())));
  for (Value index : region.indices)
    types.push_back(RankedTensorType::get(
        rows, cast<RankedTensorType>(index.getType()).getElementType()));
  for (Operation *op : region.ops)
    if (isa<nn::StopGradientOp>(op))
      types.push_back(typeFor(op->getResult(0)));
  for (Value mask : region.masks)
    types.push_back(RankedTensorType::get(
        {rows, region.size()},
        inF64(cast<RankedTensorType>(mask.getType()).getElementType())));
  function = func::FuncOp::create(builder, module->getLoc(), "trial",
                                  builder.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  RowInputs inputs{entry->getArgument(0), {}, {}, {}};
  mapping.map(region.x, inputs.x);
  auto next = entry->args_begin() + 1;
  auto enter = [&](ArrayRef<Value> outside, SmallVectorImpl<Value> &inside) {
    for (Value value : outside) {
      inside.push_back(*next);
      mapping.map(value, *next++);
    }
  };
  enter(region.vectors, inputs.vectors);
  enter(region.indices, inputs.indices);
  for (Operation *op : region.ops)
    if (isa<nn::StopGradientOp>(op))
      shifts.push_back(*next++);
  std::reverse(shifts.begin(), shifts.end());
  enter(region.masks, inputs.masks);
  for (Operation *op : region.ops)
    cloneOp(op);
  SmallVector<Value> results{mapping.lookup(region.y)};
  for (const Proposal &proposal : proposals)
    results.push_back(proposal.build(builder, module->getLoc(), inputs));
  for (Value result : results)
    if (result.getType() != results[0].getType())
      return failure();
  results.append(choices);
  func::ReturnOp::create(builder, module->getLoc(), results);
  function.setType(
      builder.getFunctionType(types, TypeRange(ValueRange(results))));
  return success();
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// The numbers per row in a tensor of rows.
static int64_t rowSize(const interp::Tensor &tensor) {
  return tensor.getNumElements() / tensor.getShape()[0];
}

/// Whether all numbers of a row are finite in each of the tensors.
static bool isFinite(ArrayRef<interp::TensorRef> tensors, int64_t row) {
  return llvm::all_of(tensors, [&](const interp::TensorRef &tensor) {
    int64_t size = rowSize(*tensor);
    for (int64_t i = row * size; i < (row + 1) * size; ++i)
      if (!std::isfinite((*tensor)[i].f))
        return false;
    return true;
  });
}

/// The largest error in a row of `a`, relative to `b`.
static double findError(const interp::Tensor &a, const interp::Tensor &b,
                        int64_t row) {
  int64_t size = rowSize(a);
  double squares = 0, worst = 0;
  for (int64_t i = row * size; i < (row + 1) * size; ++i)
    squares += b[i].f * b[i].f;
  double root = std::sqrt(squares / size);
  for (int64_t i = row * size; i < (row + 1) * size; ++i) {
    double difference = std::abs(a[i].f - b[i].f);
    if (difference > 0)
      worst = std::max(worst, difference / (std::abs(b[i].f) + 0.1 * root));
  }
  return worst;
}

/// Whether two tensors are equal in a row, including NaN and infinity.
static bool isSame(const interp::Tensor &a, const interp::Tensor &b,
                   int64_t row) {
  int64_t size = rowSize(a);
  for (int64_t i = row * size; i < (row + 1) * size; ++i) {
    double left = a[i].f, right = b[i].f;
    bool isEqual =
        std::isfinite(left) && std::isfinite(right)
            ? std::abs(left - right) <= kTolerance
            : left == right || (std::isnan(left) && std::isnan(right));
    if (!isEqual)
      return false;
  }
  return true;
}

/// Whether a boolean is true anywhere in the rows.
static bool isTrueSomewhere(const interp::Tensor &tensor,
                            ArrayRef<int64_t> rows) {
  int64_t size = rowSize(tensor);
  return llvm::any_of(rows, [&](int64_t row) {
    for (int64_t i = row * size; i < (row + 1) * size; ++i)
      if (tensor[i].i != 0)
        return true;
    return false;
  });
}

/// Evaluates a trial's results: region, then proposals, then choices.
static TrialResult judge(ArrayRef<interp::TensorRef> results,
                         ArrayRef<Proposal> proposals, int64_t rows) {
  ArrayRef<interp::TensorRef> values = results.take_front(1 + proposals.size());
  SmallVector<int64_t> finite;
  for (int64_t row = 0; row < rows - kHiddenRows; ++row)
    if (isFinite(values, row))
      finite.push_back(row);
  TrialResult result;
  for (auto [proposal, proposed] :
       llvm::zip_equal(proposals, values.drop_front())) {
    double worst = finite.empty() ? INFINITY : 0;
    for (int64_t row : finite)
      worst = std::max(worst, findError(*values[0], *proposed, row));
    for (int64_t row = rows - kHiddenRows; row < rows; ++row)
      if (proposal.takesHidden && !isSame(*values[0], *proposed, row))
        worst = INFINITY;
    result.errors.push_back(worst);
  }
  result.isCovered = llvm::all_of(results.drop_front(values.size()),
                                  [&](const interp::TensorRef &outcome) {
                                    return isTrueSomewhere(*outcome, finite);
                                  });
  return result;
}

/// Makes the arguments after the rows: normal vectors, random indices and
/// masks.
static interp::TensorRef makeArgument(Normal &normal, Type type,
                                      const RowRegion &region,
                                      const MaskNumbers *mask) {
  interp::Tensor tensor(type);
  bool isFloat = tensor.getElementType().isFloat();
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    double number = normal();
    if (mask) {
      // The first two elements of a row differ.
      int64_t column = i % region.size();
      bool isSecond = column < 2 ? column == 1 : number > 0;
      number = isSecond ? mask->second : mask->first;
    }
    tensor[i] = isFloat ? interp::floatCell(number)
                : mask  ? interp::intCell(number != 0)
                        : interp::intCell(normal.below(region.size()));
  }
  return std::make_shared<interp::Tensor>(std::move(tensor));
}

std::optional<TrialResult> tessera::tryProposals(const RowRegion &region,
                                                 ArrayRef<Proposal> proposals,
                                                 ArrayRef<MaskNumbers> masks) {
  assert(masks.size() == region.masks.size() && "expects numbers of each mask");
  Normal normal;
  Type f64 = Float64Type::get(region.x.getContext());
  RowKinds kinds = findKinds(region);
  if (region.size() == 0 ||
      region.size() > kMaxNumbers / (kinds.count() + kHiddenRows))
    return std::nullopt;
  interp::Tensor x = makeRows(normal, kinds, region.size(), f64);
  int64_t rows = x.getShape()[0];
  TrialBuilder trial(region, rows);
  if (failed(trial.build(proposals)))
    return std::nullopt;
  func::FuncOp function = trial.getFunction();
  interp::RankTensors arguments{std::make_shared<interp::Tensor>(std::move(x))};
  size_t firstMask = function.getNumArguments() - masks.size();
  for (size_t i = 1; i < function.getNumArguments(); ++i)
    arguments.push_back(
        makeArgument(normal, function.getArgumentTypes()[i], region,
                     i < firstMask ? nullptr : &masks[i - firstMask]));
  ScopedDiagnosticHandler silence(region.x.getContext(), [](Diagnostic &) {});
  auto interpreted = interp::interpret(function, {arguments});
  if (failed(interpreted))
    return std::nullopt;
  return judge(interpreted->front(), proposals, rows);
}
