//===- Claims.cpp - An op's claims, checked by evaluation -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Claims.h"
#include "Data.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "tessera/Interfaces/NeutralElements.h"
#include "tessera/Interpreter/Shards.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::claims;
using namespace tessera::interp;

constexpr ReductionKind kKinds[] = {ReductionKind::Sum, ReductionKind::Max,
                                    ReductionKind::Min};
constexpr int kRepetitions = 3;

//===----------------------------------------------------------------------===//
// Data of a sample
//===----------------------------------------------------------------------===//

namespace {
/// The ranges from which floats and integers are drawn.
struct DrawPair {
  Draw floats, integers;
  Draw of(Type type) const {
    return isa<FloatType>(getElementTypeOrSelf(type)) ? floats : integers;
  }
};
} // namespace

static bool isFinite(const RankTensors &tensors) {
  return llvm::all_of(tensors,
                      [](auto &tensor) { return claims::isFinite(*tensor); });
}

static bool isFloat(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

/// Calls `visit` with each way to draw a sample's arguments, until it returns a
/// contradiction.
static Contradiction
forEachDraw(const Sample &sample,
            llvm::function_ref<Contradiction(DrawPair, Generator &)> visit) {
  ArrayRef<Type> types = sample.getFunction().getArgumentTypes();
  bool someFloats = llvm::any_of(types, isFloat);
  bool allFloats = llvm::all_of(types, isFloat);
  Generator generator;
  for (Draw floats : kDraws)
    for (Draw integers : kDraws) {
      bool isRepeated = (allFloats && integers != Draw::Ordinary) ||
                        (!someFloats && floats != Draw::Ordinary);
      for (int i = 0; i < kRepetitions && !isRepeated; ++i)
        if (Contradiction found = visit({floats, integers}, generator))
          return found;
    }
  return std::nullopt;
}

static RankTensors drawArguments(const Sample &sample, DrawPair how,
                                 Generator &generator) {
  RankTensors arguments;
  for (Type type : sample.getFunction().getArgumentTypes())
    arguments.push_back(generator.draw(type, how.of(type)));
  return arguments;
}

bool claims::isDefined(const Sample &sample) {
  Contradiction found = forEachDraw(
      sample, [&](DrawPair how, Generator &generator) -> Contradiction {
        if (sample.evaluate(drawArguments(sample, how, generator)))
          return "yes";
        return std::nullopt;
      });
  return found.has_value();
}

/// The number of the argument that is operand `i`.
static unsigned getArgument(const Sample &sample, unsigned i) {
  return cast<BlockArgument>(sample.getOp()->getOperand(i)).getArgNumber();
}

static std::string show(StringRef what, const RankTensors &tensors) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "  " << what << ':';
  for (const TensorRef &tensor : tensors) {
    os << ' ';
    tensor->print(os);
  }
  os << '\n';
  return text;
}

/// True if sums of exponentials overflow, as they do for large and extreme
/// numbers.
static bool mayOverflow(DrawPair how) {
  return how.floats == Draw::Extreme || how.floats == Draw::Large;
}

/// True if sums of products exceed the range of 8-bit floats and become NaN.
static bool overflows(const Sample &sample, DrawPair how) {
  return how.floats == Draw::Large &&
         llvm::any_of(sample.getFunction().getArgumentTypes(), [](Type type) {
           return isFloat(type) &&
                  getElementTypeOrSelf(type).getIntOrFloatBitWidth() <= 8;
         });
}

//===----------------------------------------------------------------------===//
// Other shapes
//===----------------------------------------------------------------------===//

/// The types of a sample's op along a shard of a factor.
static Sample::Change getChange(const Sample &sample, const ShardingRule &rule,
                                const Shard &shard) {
  ShardingRuleOpInterface op = sample.getOp();
  Sample::Change change;
  for (auto [type, dims] :
       llvm::zip_equal(op->getOperandTypes(), rule.operands))
    change.operands.push_back(getShardType(rule, dims, type, shard));
  for (auto [type, dims] : llvm::zip_equal(op->getResultTypes(), rule.results))
    change.results.push_back(getShardType(rule, dims, type, shard));
  return change;
}

/// Takes the same shard of each argument.
static RankTensors takeShards(const Sample &sample, const ShardingRule &rule,
                              const RankTensors &arguments,
                              const Shard &shard) {
  RankTensors shards;
  for (auto [i, operand] : llvm::enumerate(sample.getOp()->getOperands()))
    if (sample.isArgument(i))
      shards.push_back(takeShard(rule, rule.operands[i],
                                 arguments[getArgument(sample, i)], shard));
  return shards;
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

namespace {
/// Runs a sample's op on the two shards of a factor.
class ShardedSample {
public:
  ShardedSample(const Sample &sample, unsigned factor)
      : sample(sample), rule(sample.getOp().getShardingRule()), factor(factor) {
    int64_t size = rule.factors[factor].size;
    shards = {{factor, 0, 1}, {factor, 1, size - 1}};
    for (const Shard &shard : shards) {
      Sample::Change change = getChange(sample, rule, shard);
      auto setOffset = [&](ShardingRuleOpInterface op, OpBuilder &builder) {
        if (rule.factors[factor].positional)
          op.setPositionOffset(factor, arith::ConstantIndexOp::create(
                                           builder, op->getLoc(), shard.begin));
      };
      change.after = setOffset;
      ops.push_back(sample.change(change));
    }
  }
  bool exists() const {
    return llvm::all_of(ops, [](auto &op) { return op.has_value(); }) &&
           !hasOtherInits();
  }
  Contradiction compare(const RankTensors &arguments, bool anyInfinite) const;

private:
  bool isReduced(unsigned result) const {
    return rule.isReducedIn(factor, result);
  }
  bool hasOtherInits() const;
  void setInits(RankTensors &tensors) const;

  const Sample &sample;
  ShardingRule rule;
  unsigned factor;
  std::vector<Shard> shards;
  std::vector<std::optional<Sample>> ops;
};
} // namespace

/// True if the op starts its reduction with a non-neutral constant, which would
/// be an argument on the first device.
bool ShardedSample::hasOtherInits() const {
  auto op =
      dyn_cast<DestinationStyleOpInterface>(sample.getOp().getOperation());
  if (!op || rule.factors[factor].kind != FactorKind::Reduction)
    return false;
  return llvm::any_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
    return !sample.isArgument(init.getOperandNumber()) &&
           !isNeutral(init.get(), rule.factors[factor].reduction);
  });
}

/// Makes the initial value of the op's reduction count only on the first
/// device.
void ShardedSample::setInits(RankTensors &tensors) const {
  auto op =
      dyn_cast<DestinationStyleOpInterface>(sample.getOp().getOperation());
  if (!op || rule.factors[factor].kind != FactorKind::Reduction)
    return;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    unsigned i = init.getOperandNumber();
    if (!sample.isArgument(i) || hasFactor(rule.operands[i], factor))
      continue;
    TensorRef &tensor = tensors[getArgument(sample, i)];
    tensor = fill(init.get().getType(),
                  neutralElement(tensor->getElementType(),
                                 rule.factors[factor].reduction));
  }
}

Contradiction ShardedSample::compare(const RankTensors &arguments,
                                     bool anyInfinite) const {
  std::optional<RankTensors> whole = sample.evaluate(arguments);
  if (!whole)
    return std::nullopt;
  std::vector<RankTensors> partial(whole->size());
  for (auto [i, shard] : llvm::enumerate(shards)) {
    RankTensors tensors = takeShards(sample, rule, arguments, shard);
    if (i != 0)
      setInits(tensors);
    std::optional<RankTensors> results = ops[i]->evaluate(tensors);
    if (!results)
      return "is not defined on a shard\n" + show("arguments", arguments);
    for (auto [r, result] : llvm::enumerate(*results)) {
      partial[r].push_back(result);
      TensorRef part = takeShard(rule, rule.results[r], (*whole)[r], shard);
      Closeness how{getMagnitude(*part), anyInfinite};
      if (!isReduced(r) && !areClose(*part, *result, how))
        return show("arguments", arguments) + show("shard", tensors) +
               show("expected", {part}) + show("but got", {result});
    }
  }
  for (auto [r, results] : llvm::enumerate(partial)) {
    if (!isReduced(r))
      continue;
    Tensor reduced = reduceTensors(results, rule.factors[factor].reduction);
    Closeness how{getMagnitude(*(*whole)[r]), anyInfinite};
    for (const TensorRef &result : results)
      how.scale += getMagnitude(*result);
    if (!areClose(*(*whole)[r], reduced, how))
      return show("arguments", arguments) + show("expected", {(*whole)[r]}) +
             show("but got partial results", results);
  }
  return std::nullopt;
}

Contradiction claims::checkFactor(const Sample &sample, unsigned factor) {
  ShardingRule rule = sample.getOp().getShardingRule();
  const Factor &info = rule.factors[factor];
  bool isPlain =
      info.kind == FactorKind::Parallel || info.kind == FactorKind::Reduction;
  if (!isPlain || info.size < 2)
    return std::nullopt;
  ShardedSample sharded(sample, factor);
  if (!sharded.exists())
    return std::nullopt;
  bool isSum = info.kind == FactorKind::Reduction &&
               info.reduction == ReductionKind::Sum;
  return forEachDraw(
      sample, [&](DrawPair how, Generator &generator) -> Contradiction {
        if (isSum && overflows(sample, how))
          return std::nullopt;
        return sharded.compare(drawArguments(sample, how, generator),
                               isSum && mayOverflow(how));
      });
}

//===----------------------------------------------------------------------===//
// Linearity
//===----------------------------------------------------------------------===//

Contradiction claims::checkLinearity(const Sample &sample, ReductionKind kind,
                                     const llvm::SmallBitVector &partial) {
  constexpr int kDevices = 3;
  bool isSum = kind == ReductionKind::Sum;
  bool lastIsEmpty = false;
  return forEachDraw(
      sample, [&](DrawPair how, Generator &generator) -> Contradiction {
        if (isSum && overflows(sample, how))
          return std::nullopt;
        lastIsEmpty = !lastIsEmpty;
        RankTensors whole = drawArguments(sample, how, generator);
        std::vector<RankTensors> devices(kDevices, whole);
        for (unsigned i : partial.set_bits()) {
          unsigned argument = getArgument(sample, i);
          Type type = sample.getOp()->getOperand(i).getType();
          RankTensors values;
          for (int d = 0; d < kDevices; ++d) {
            bool isEmpty = lastIsEmpty && d + 1 == kDevices;
            ElementType element(getElementTypeOrSelf(type));
            values.push_back(isEmpty ? fill(type, neutralElement(element, kind))
                                     : generator.draw(type, how.of(type)));
            devices[d][argument] = values.back();
          }
          whole[argument] =
              std::make_shared<Tensor>(reduceTensors(values, kind));
        }
        std::optional<RankTensors> expected = sample.evaluate(whole);
        if (!expected)
          return std::nullopt;
        std::vector<RankTensors> results(expected->size());
        for (const RankTensors &arguments : devices) {
          std::optional<RankTensors> made = sample.evaluate(arguments);
          if (!made)
            return "is not defined on partial values\n" +
                   show("arguments", arguments);
          for (auto [r, tensor] : llvm::enumerate(*made))
            results[r].push_back(tensor);
        }
        for (auto [r, tensors] : llvm::enumerate(results)) {
          Closeness close;
          // In a body, finite numbers may give an infinite factor.
          close.anyInfinite = isSum && (mayOverflow(how) ||
                                        sample.getOp()->getNumRegions() != 0);
          for (const TensorRef &tensor : tensors)
            close.scale += isSum ? getMagnitude(*tensor) : 0;
          Tensor reduced = reduceTensors(tensors, kind);
          if (areClose(*(*expected)[r], reduced, close))
            continue;
          std::string text = show("whole arguments", whole);
          for (const RankTensors &arguments : devices)
            text += show("partial arguments", arguments);
          return text + show("expected", {(*expected)[r]}) +
                 show("but got partial results", tensors);
        }
        return std::nullopt;
      });
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

namespace {
/// A sample's op with two more elements along a factor.
class PaddedSample {
public:
  PaddedSample(const Sample &sample, unsigned factor, bool tells)
      : sample(sample), rule(sample.getOp().getShardingRule()), factor(factor),
        size(rule.factors[factor].size) {
    Sample::Change change = getChange(sample, rule, getShard());
    auto tell = [&](ShardingRuleOpInterface op) {
      informed = op.absorbPadding(factor, size);
    };
    if (tells)
      change.before = tell;
    op = sample.change(change);
    // An operand computed from constants cannot be masked.
    for (auto [i, dims] : llvm::enumerate(rule.operands))
      isPaddable &= !hasFactor(dims, factor) || sample.isArgument(i);
  }
  bool exists() const { return op && isPaddable; }
  bool wasInformed() const { return informed; }

  /// Compares with a version padded with values of `beyond`.
  Contradiction compare(const RankTensors &arguments,
                        llvm::function_ref<Cell(const ElementType &)> beyond,
                        bool anyInfinite) const;
  /// Checks that results with the factor have zeros in the padding if operands
  /// do.
  Contradiction checkZeros(const RankTensors &arguments) const;

private:
  Shard getShard(int64_t begin = 0) const {
    return {factor, begin, size + 2 - begin};
  }
  RankTensors pad(const RankTensors &arguments,
                  llvm::function_ref<Cell(const ElementType &)> beyond) const;

  const Sample &sample;
  ShardingRule rule;
  unsigned factor;
  int64_t size;
  bool informed = false, isPaddable = true;
  std::optional<Sample> op;
};
} // namespace

RankTensors
PaddedSample::pad(const RankTensors &arguments,
                  llvm::function_ref<Cell(const ElementType &)> beyond) const {
  RankTensors padded;
  for (auto [i, operand] : llvm::enumerate(sample.getOp()->getOperands())) {
    if (!sample.isArgument(i))
      continue;
    const TensorRef &tensor = arguments[getArgument(sample, i)];
    auto fillCell = [&] { return beyond(tensor->getElementType()); };
    Shard shard = getShard();
    shard.beyond = fillCell;
    padded.push_back(takeShard(rule, rule.operands[i], tensor, shard));
  }
  return padded;
}

Contradiction
PaddedSample::compare(const RankTensors &arguments,
                      llvm::function_ref<Cell(const ElementType &)> beyond,
                      bool anyInfinite) const {
  std::optional<RankTensors> whole = sample.evaluate(arguments);
  if (!whole)
    return std::nullopt;
  RankTensors padded = pad(arguments, beyond);
  std::optional<RankTensors> results = op->evaluate(padded);
  // Elements that the op is told to ignore may be outside its domain.
  if (!results && informed)
    return std::nullopt;
  if (!results)
    return "is not defined on padding\n" + show("padded", padded);
  ShardingRule paddedRule = rule;
  paddedRule.factors[factor].size = size + 2;
  for (auto [i, result] : llvm::enumerate(*results)) {
    TensorRef part =
        takeShard(paddedRule, rule.results[i], result, {factor, 0, size});
    Closeness how{getMagnitude(*(*whole)[i]), anyInfinite};
    if (!areClose(*(*whole)[i], *part, how))
      return show("padded", padded) + show("expected", {(*whole)[i]}) +
             show("but got", {part});
  }
  return std::nullopt;
}

Contradiction PaddedSample::checkZeros(const RankTensors &arguments) const {
  RankTensors padded = pad(arguments, [](auto &) { return intCell(0); });
  std::optional<RankTensors> results = op->evaluate(padded);
  std::optional<RankTensors> whole = sample.evaluate(arguments);
  // An infinity among the true elements turns zeros into NaN.
  bool overflows = isFinite(arguments) && whole && !isFinite(*whole);
  if (!results || overflows)
    return std::nullopt;
  ShardingRule paddedRule = rule;
  paddedRule.factors[factor].size = size + 2;
  for (auto [i, result] : llvm::enumerate(*results)) {
    if (!hasFactor(rule.results[i], factor))
      continue;
    TensorRef beyond =
        takeShard(paddedRule, rule.results[i], result, {factor, size, 2});
    if (!isZero(*beyond))
      return show("padded", padded) + show("expected zeros but got", {beyond});
  }
  return std::nullopt;
}

/// Draws operands: any numbers for those with the factor, finite for the
/// others.
static RankTensors drawFinite(const Sample &sample, const ShardingRule &rule,
                              unsigned factor, DrawPair how,
                              Generator &generator) {
  RankTensors arguments;
  for (auto [i, operand] : llvm::enumerate(sample.getOp()->getOperands())) {
    if (!sample.isArgument(i))
      continue;
    Type type = operand.getType();
    Draw draw = how.of(type);
    if (draw == Draw::Extreme && isFloat(type) &&
        !hasFactor(rule.operands[i], factor))
      draw = Draw::Zeros;
    arguments.push_back(generator.draw(type, draw));
  }
  return arguments;
}

Contradiction claims::checkZeros(const Sample &sample, unsigned factor) {
  ShardingRule rule = sample.getOp().getShardingRule();
  const Factor &info = rule.factors[factor];
  PaddedSample padded(sample, factor, /*tells=*/false);
  if (info.kind == FactorKind::Replicated || !padded.exists())
    return std::nullopt;
  bool isSum = info.kind == FactorKind::Reduction &&
               info.reduction == ReductionKind::Sum;
  return forEachDraw(
      sample, [&](DrawPair how, Generator &generator) -> Contradiction {
        RankTensors arguments =
            drawFinite(sample, rule, factor, how, generator);
        auto zero = [](const ElementType &) { return intCell(0); };
        if (isSum || info.kind == FactorKind::Parallel)
          if (Contradiction found =
                  padded.compare(arguments, zero, isSum && mayOverflow(how)))
            return found;
        return padded.checkZeros(arguments);
      });
}

Contradiction claims::checkPadding(const Sample &sample, unsigned factor) {
  ShardingRule rule = sample.getOp().getShardingRule();
  const Factor &info = rule.factors[factor];
  PaddedSample padded(sample, factor, /*tells=*/true);
  bool isReduction = info.kind == FactorKind::Reduction;
  if (info.kind == FactorKind::Replicated || !padded.exists() ||
      (!isReduction && !padded.wasInformed()))
    return std::nullopt;
  return forEachDraw(
      sample, [&](DrawPair how, Generator &generator) -> Contradiction {
        RankTensors arguments = drawArguments(sample, how, generator);
        auto beyond = [&](const ElementType &type) {
          return padded.wasInformed()
                     ? generator.drawCell(type, how.of(type.getType()))
                     : neutralElement(type, info.reduction);
        };
        if (Contradiction found = padded.compare(
                arguments, beyond, !padded.wasInformed() && mayOverflow(how)))
          return found;
        if (padded.wasInformed() && isFinite(*arguments.front()))
          return padded.checkZeros(
              drawFinite(sample, rule, factor, how, generator));
        return std::nullopt;
      });
}

//===----------------------------------------------------------------------===//
// All claims
//===----------------------------------------------------------------------===//

Contradiction claims::checkDecomposition(const Sample &sample) {
  ShardingRule rule = sample.getOp().getShardingRule();
  llvm::SmallBitVector own(rule.factors.size());
  for (auto [i, factor] : llvm::enumerate(rule.factors))
    own[i] = factor.kind == FactorKind::Decomposed;
  if (own.none())
    return std::nullopt;
  std::optional<Sample> parts = sample.decompose(own);
  if (!parts)
    return "has a reduction of its own but cannot be decomposed\n";
  return forEachDraw(
      sample, [&](DrawPair how, Generator &generator) -> Contradiction {
        if (mayOverflow(how))
          return std::nullopt;
        RankTensors arguments = drawArguments(sample, how, generator);
        std::optional<RankTensors> whole = sample.evaluate(arguments);
        if (!whole)
          return std::nullopt;
        std::optional<RankTensors> results = parts->evaluate(arguments);
        if (!results)
          return "is not defined when decomposed\n" +
                 show("arguments", arguments);
        for (auto [expected, result] : llvm::zip_equal(*whole, *results))
          if (!areClose(*expected, *result, {getMagnitude(*expected), false}))
            return show("arguments", arguments) + show("expected", {expected}) +
                   show("but got", {result});
        return std::nullopt;
      });
}

/// Bits of the operands that have `factor`.
static llvm::SmallBitVector
getHaving(const Sample &sample, const ShardingRule &rule, unsigned factor) {
  llvm::SmallBitVector having(sample.getOp()->getNumOperands());
  for (auto [i, dims] : llvm::enumerate(rule.operands))
    having[i] = hasFactor(dims, factor);
  return having;
}

std::vector<std::string> claims::checkClaims(const Sample &sample) {
  std::vector<std::string> found;
  auto note = [&](const Twine &claim, const Contradiction &why) {
    if (why)
      found.push_back(sample.describe() + "claims " + claim.str() + ":\n" +
                      *why);
  };
  ShardingRuleOpInterface op = sample.getOp();
  ShardingRule rule = op.getShardingRule();
  for (unsigned f = 0; f < rule.factors.size(); ++f) {
    std::string name;
    llvm::raw_string_ostream os(name);
    rule.printName(os, f);
    os << " in ";
    rule.print(os);
    note("factor " + name, checkFactor(sample, f));
    note("padding of " + name, checkPadding(sample, f));
    if (keepsZeros(op, getHaving(sample, rule, f)))
      note("to keep zeros along " + name, checkZeros(sample, f));
  }
  SmallVector<unsigned> tensors;
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes()))
    if (isa<RankedTensorType>(type) && sample.isArgument(i))
      tensors.push_back(i);
  for (unsigned set = 1; set < 1u << tensors.size(); ++set) {
    llvm::SmallBitVector partial(op->getNumOperands());
    std::string names;
    for (auto [bit, i] : llvm::enumerate(tensors))
      if (set >> bit & 1) {
        partial.set(i);
        names += " " + std::to_string(i);
      }
    for (ReductionKind kind : kKinds)
      if (op.commutesWithReduction(kind, partial))
        note("to commute with a " + stringifyReduction(kind) + " of operands" +
                 names,
             checkLinearity(sample, kind, partial));
  }
  note("to be made of other ops", checkDecomposition(sample));
  return found;
}
