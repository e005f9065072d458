//===- RaiseRope.cpp - Raises rotations of pairs in a row -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//     y[p, i]     = c[p, i] x[p, i] - s[p, i] x[p, i + h]
//     y[p, i + h] = s[p, i] x[p, i] + c[p, i] x[p, i + h]      for i < h
//
// or the same with 2 i and 2 i + 1 in place of i and i + h, in x alone or in x
// and y.
//
//===----------------------------------------------------------------------===//

#include "RaiseRope.h"
#include "EraseUnused.h"
#include "LinearRows.h"
#include "MoveConstraints.h"
#include "tessera/Raise/Evaluate.h"

#include "dialects/NN/NN.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"
#include "tessera/Raise/RotaryTables.h"

#include <map>

using namespace mlir;
using namespace tessera;

namespace {

/// The terms of a pair: first and second are its elements of y.
struct Turn {
  LinearTerm firstOfFirst, secondOfFirst, firstOfSecond, secondOfSecond;
};

/// The turned pairs of a row, and where their elements are.
struct Turns {
  SmallVector<Turn> pairs;
  /// Whether pair i of x, and of y, is (2 i, 2 i + 1); else (i, i + h).
  bool fromNeighbours = false, toNeighbours = false;
};

class RopeRaiser {
public:
  explicit RopeRaiser(Block &block) : block(block) {}

  void run();

private:
  using Frequencies = std::optional<SmallVector<double>>;

  bool raise(Value y);
  Frequencies findFrequencies(ArrayRef<Turn> turns);
  std::optional<double> findFrequency(const Turn &turn);
  std::vector<double> readEntries(const LinearTerm &term, double sign);
  void replace(const LinearRows &rows, const Turns &turns,
               ArrayRef<double> frequencies, const MovedConstraints &moved);
  void reportMiss(const LinearRows &rows, StringRef why);

  Block &block;
  DenseSet<Operation *> erased, reported;
  RowConstants constants;
  /// Known frequencies, keyed by tables and columns.
  std::map<std::vector<uint64_t>, Frequencies> known;
};

} // namespace

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

static const LinearTerm *findTerm(const LinearForm &form, int64_t source) {
  const LinearTerm *found = llvm::find_if(
      form, [&](const LinearTerm &term) { return term.source == source; });
  return found == form.end() ? nullptr : found;
}

/// Whether an element is the sum of two elements, each times entries of a
/// table.
static bool isTurned(const LinearForm &form) {
  return form.size() == 2 && form[0].table && form[1].table &&
         form[0].source != form[1].source;
}

/// The turns of turned forms, whose pairs in x and y are neighbours or not;
/// none if some form has other elements.
static SmallVector<Turn> readTurns(ArrayRef<LinearForm> forms,
                                   bool fromNeighbours, bool toNeighbours) {
  int64_t half = forms.size() / 2;
  auto locate = [&](int64_t pair, bool isSecond, bool areNeighbours) {
    return areNeighbours ? 2 * pair + isSecond : pair + isSecond * half;
  };
  SmallVector<Turn> turns;
  for (int64_t i = 0; i < half; ++i) {
    const LinearForm &first = forms[locate(i, false, toNeighbours)];
    const LinearForm &second = forms[locate(i, true, toNeighbours)];
    int64_t sources[] = {locate(i, false, fromNeighbours),
                         locate(i, true, fromNeighbours)};
    const LinearTerm *terms[] = {
        findTerm(first, sources[0]), findTerm(first, sources[1]),
        findTerm(second, sources[0]), findTerm(second, sources[1])};
    if (llvm::is_contained(terms, nullptr))
      return {};
    turns.push_back({*terms[0], *terms[1], *terms[2], *terms[3]});
  }
  return turns;
}

/// The turns of pairs if these are the first elements and the others are
/// unchanged; else none.
static Turns findTurns(ArrayRef<LinearForm> forms) {
  ArrayRef<LinearForm> turned = forms.take_while(isTurned);
  if (turned.size() % 2 != 0)
    return {};
  for (int64_t i = turned.size(), e = forms.size(); i < e; ++i)
    if (forms[i].size() != 1 || forms[i][0].source != i ||
        forms[i][0].scale != 1 || forms[i][0].table)
      return {};
  constexpr std::pair<bool, bool> kLayouts[] = {
      {false, false}, {true, true}, {true, false}};
  for (auto [from, to] : kLayouts)
    if (SmallVector<Turn> pairs = readTurns(turned, from, to); !pairs.empty())
      return {std::move(pairs), from, to};
  return {};
}

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

/// The entries of a term at all positions, times `sign`.
std::vector<double> RopeRaiser::readEntries(const LinearTerm &term,
                                            double sign) {
  interp::TensorRef table = constants.evaluate(term.table);
  std::vector<double> entries;
  if (!table)
    return entries;
  int64_t rows =
      *llvm::find_if(table->getShape(), [](int64_t size) { return size != 1; });
  int64_t columns = table->getNumElements() / rows;
  for (int64_t row = 0; row < rows; ++row)
    entries.push_back(sign * term.scale *
                      (*table)[row * columns + term.column].f);
  return entries;
}

std::optional<double> RopeRaiser::findFrequency(const Turn &turn) {
  auto elementOf = [](const LinearTerm &term) {
    return cast<RankedTensorType>(term.table.getType()).getElementType();
  };
  std::vector<double> cosines = readEntries(turn.firstOfFirst, 1);
  std::vector<double> sines = readEntries(turn.firstOfSecond, 1);
  if (cosines.empty() || cosines.size() != sines.size() ||
      elementOf(turn.firstOfFirst) != elementOf(turn.firstOfSecond) ||
      cosines != readEntries(turn.secondOfSecond, 1) ||
      sines != readEntries(turn.secondOfFirst, -1))
    return std::nullopt;
  auto element = cast<FloatType>(elementOf(turn.firstOfFirst));
  return tessera::findFrequency(cosines, sines, element.getFloatSemantics());
}

/// The frequency of each turn; none if some turn has none. Equal tables are
/// read once.
RopeRaiser::Frequencies RopeRaiser::findFrequencies(ArrayRef<Turn> turns) {
  std::vector<uint64_t> key;
  for (const Turn &turn : turns)
    for (const LinearTerm &term : {turn.firstOfFirst, turn.secondOfFirst,
                                   turn.firstOfSecond, turn.secondOfSecond}) {
      key.push_back(reinterpret_cast<uintptr_t>(term.table.getImpl()));
      key.push_back(term.column);
      key.push_back(llvm::bit_cast<uint64_t>(term.scale));
    }
  auto [entry, isNew] = known.try_emplace(key);
  Frequencies &frequencies = entry->second;
  if (!isNew)
    return frequencies;
  SmallVector<double> found;
  for (const Turn &turn : turns) {
    std::optional<double> frequency = findFrequency(turn);
    if (!frequency)
      return frequencies;
    found.push_back(*frequency);
  }
  frequencies = std::move(found);
  return frequencies;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Moves the second elements of pairs of neighbours, which are the first
/// `width` elements, after the first ones.
static Value separateNeighbours(OpBuilder &b, Location loc, Value x,
                                int64_t width) {
  auto type = cast<RankedTensorType>(x.getType());
  int64_t last = type.getRank() - 1, all = type.getDimSize(last);
  auto slice = [&](int64_t offset, int64_t size, int64_t stride) -> Value {
    SmallVector<int64_t> offsets(last + 1, 0), strides(last + 1, 1);
    SmallVector<int64_t> sizes(type.getShape());
    offsets[last] = offset;
    sizes[last] = size;
    strides[last] = stride;
    return tensor::ExtractSliceOp::create(
        b, loc, type.clone(sizes), x, ValueRange(), ValueRange(), ValueRange(),
        offsets, sizes, strides);
  };
  SmallVector<Value> parts{slice(0, width / 2, 2), slice(1, width / 2, 2)};
  if (width != all)
    parts.push_back(slice(width, all - width, 1));
  return tensor::ConcatOp::create(b, loc, last, parts);
}

void RopeRaiser::replace(const LinearRows &rows, const Turns &turns,
                         ArrayRef<double> frequencies,
                         const MovedConstraints &moved) {
  Operation *last = rows.ops.back();
  OpBuilder builder(last);
  auto type = cast<RankedTensorType>(rows.x.getType());
  int64_t width = 2 * frequencies.size();
  IntegerAttr widthAttr;
  if (width != type.getShape().back())
    widthAttr = builder.getI64IntegerAttr(width);
  Value raised = nn::RopeOp::create(
      builder, last->getLoc(), type, rows.x, /*offset=*/Value(),
      builder.getI64IntegerAttr(rows.positionDim), /*theta=*/FloatAttr(),
      /*scaling=*/nn::RopeScalingAttr(),
      builder.getDenseF64ArrayAttr(frequencies), widthAttr,
      /*interleaved=*/turns.fromNeighbours ? builder.getUnitAttr() : UnitAttr(),
      /*inverse=*/UnitAttr(), nn::ZigzagAttr());
  if (turns.fromNeighbours != turns.toNeighbours)
    raised = separateNeighbours(builder, last->getLoc(), raised, width);
  raised = ElementwiseBuilder{builder, last->getLoc()}.cast(
      raised, getElementTypeOrSelf(rows.y.getType()));
  Value y = rows.y;
  y.replaceAllUsesWith(constrain(builder, last->getLoc(), raised, moved.y));
  eraseUnused(rows.ops, erased);
  remark::passed(raised.getLoc(),
                 remark::RemarkOpts::name("Raised").category("import"))
      << remark::add("nn.rope");
}

void RopeRaiser::reportMiss(const LinearRows &rows, StringRef why) {
  if (reported.contains(rows.ops.back()))
    return;
  reported.insert(rows.ops.begin(), rows.ops.end());
  remark::missed(rows.y.getLoc(),
                 remark::RemarkOpts::name("NotRaised").category("import"))
      << remark::add("nn.rope: {0}", why);
}

/// A constraint on a table that is no longer read; null if there is none.
static dist::ConstraintOp findConstraint(ArrayRef<Turn> turns) {
  for (const Turn &turn : turns)
    for (Value table : {turn.firstOfFirst.table, turn.firstOfSecond.table})
      if (dist::ConstraintOp found = tessera::findConstraint(table))
        return found;
  return {};
}

/// Replaces the largest region of y that is a rotation.
bool RopeRaiser::raise(Value y) {
  StringRef why;
  std::vector<LinearRows> regions = findLinearRows(y, constants);
  for (const LinearRows &rows : llvm::reverse(regions)) {
    Turns turns = findTurns(rows.forms);
    if (turns.pairs.empty()) {
      if (!rows.forms.empty() && isTurned(rows.forms[0]))
        why = "other pairs than (i, i + n/2) or (2i, 2i + 1) are turned";
      continue;
    }
    if (Frequencies frequencies = findFrequencies(turns.pairs)) {
      dist::ConstraintOp blocking = findConstraint(turns.pairs);
      if (auto moved =
              blocking ? std::nullopt : moveConstraints(rows, blocking)) {
        replace(rows, turns, *frequencies, *moved);
        return true;
      }
      if (reported.insert(blocking).second)
        reportBlocked(blocking, "rope");
      continue;
    }
    why = "tables of other numbers than cosines and sines of positions";
  }
  if (!why.empty())
    reportMiss(regions.front(), why);
  return false;
}

void RopeRaiser::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : llvm::reverse(block))
    ops.push_back(&op);
  for (Operation *op : ops)
    if (!erased.contains(op) && op->getNumResults() == 1 &&
        !isa<dist::ConstraintOp>(op))
      raise(op->getResult(0));
}

void tessera::raiseRope(Block &block) { RopeRaiser(block).run(); }
