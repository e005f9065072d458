//===- RaiseRope.cpp - Raises rotations of pairs in a row -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//     y[p, i]     = c[p, i] x[p, i] - s[p, i] x[p, i + h]
//     y[p, i + h] = s[p, i] x[p, i] + c[p, i] x[p, i + h]      for i < h
//
//===----------------------------------------------------------------------===//

#include "RaiseRope.h"
#include "EraseUnused.h"
#include "Evaluate.h"
#include "LinearRows.h"
#include "MoveConstraints.h"

#include "dialects/NN/NN.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"
#include "tessera/Raise/RotaryTables.h"

#include <map>

using namespace mlir;
using namespace tessera;

namespace {

/// The terms of the pair (i, i + h): first is y[i], second is y[i + h].
struct Turn {
  LinearTerm firstOfFirst, secondOfFirst, firstOfSecond, secondOfSecond;
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
  void replace(const LinearRows &rows, ArrayRef<double> frequencies,
               const MovedConstraints &moved);
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

/// The turns of the pairs (i, i + h) if these are the first 2 h elements and
/// the others are unchanged; else none.
static SmallVector<Turn> findTurns(ArrayRef<LinearForm> forms) {
  if (forms.empty() || !isTurned(forms[0]))
    return {};
  int64_t half = std::max(forms[0][0].source, forms[0][1].source);
  if (2 * half > int64_t(forms.size()))
    return {};
  SmallVector<Turn> turns;
  for (int64_t i = 0; i < half; ++i) {
    const LinearForm &first = forms[i], &second = forms[i + half];
    if (!isTurned(first) || !isTurned(second))
      return {};
    const LinearTerm *terms[] = {findTerm(first, i), findTerm(first, i + half),
                                 findTerm(second, i),
                                 findTerm(second, i + half)};
    if (llvm::is_contained(terms, nullptr))
      return {};
    turns.push_back({*terms[0], *terms[1], *terms[2], *terms[3]});
  }
  for (int64_t i = 2 * half, e = forms.size(); i < e; ++i)
    if (forms[i].size() != 1 || forms[i][0].source != i ||
        forms[i][0].scale != 1 || forms[i][0].table)
      return {};
  return turns;
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

void RopeRaiser::replace(const LinearRows &rows, ArrayRef<double> frequencies,
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
      /*interleaved=*/UnitAttr(), /*inverse=*/UnitAttr(), nn::ZigzagAttr());
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
    SmallVector<Turn> turns = findTurns(rows.forms);
    if (turns.empty()) {
      if (!rows.forms.empty() && isTurned(rows.forms[0]))
        why = "other pairs than (i, i + n/2) are turned";
      continue;
    }
    if (Frequencies frequencies = findFrequencies(turns)) {
      dist::ConstraintOp blocking = findConstraint(turns);
      if (auto moved =
              blocking ? std::nullopt : moveConstraints(rows, blocking)) {
        replace(rows, *frequencies, *moved);
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
