//===- InterpretExperts.cpp - Mixtures of experts -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements each op as documented in NNExperts.td, in double, rounded once at
// the end.
//
//===----------------------------------------------------------------------===//

#include "Interpretation.h"
#include "NNFunctions.h"
#include "dialects/NN/NN.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

/// True if `a` is larger than `b`; NaN is larger than every number.
static bool isLarger(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && !std::isnan(b);
  return a > b;
}

/// Returns the positions of `scores` from the best to the worst, the first
/// among equals.
static std::vector<int64_t> sortByScore(ArrayRef<double> scores,
                                        bool isSmallest) {
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](int64_t a, int64_t b) {
    return isSmallest ? isLarger(scores[b], scores[a])
                      : isLarger(scores[a], scores[b]);
  });
  return order;
}

/// Returns which elements of a row are in a chosen group.
static std::vector<bool> chooseGroups(nn::TopKOp op, ArrayRef<double> row) {
  if (!op.getGroups())
    return std::vector<bool>(row.size(), true);
  size_t size = row.size() / *op.getGroups();
  std::vector<double> scores;
  for (size_t start = 0; start < row.size(); start += size) {
    ArrayRef<double> group = row.slice(start, size);
    std::vector<int64_t> order = sortByScore(group, /*isSmallest=*/false);
    double score = group[order[0]];
    if (*op.getGroupScore() == nn::GroupScore::Sum2)
      score += group[order[1]];
    scores.push_back(score);
  }
  std::vector<bool> isIn(row.size(), false);
  std::vector<int64_t> best = sortByScore(scores, /*isSmallest=*/false);
  best.resize(*op.getChosenGroups());
  for (int64_t group : best)
    std::fill_n(isIn.begin() + group * size, size, true);
  return isIn;
}

static LogicalResult evaluateTopK(nn::TopKOp op, Evaluation &e) {
  const Tensor &x = e.operand(0);
  Tensor result = e.makeResult();
  int64_t size = x.getShape().back(), k = op.getK(), next = 0;
  for (int64_t start = 0; start < x.getNumElements(); start += size) {
    std::vector<double> row;
    for (int64_t i = 0; i < size; ++i)
      row.push_back(x[start + i].f);
    std::vector<bool> isIn = chooseGroups(op, row);
    std::vector<int64_t> order = sortByScore(row, op.getSmallest());
    llvm::erase_if(order, [&](int64_t i) { return !isIn[i]; });
    for (int64_t i : ArrayRef(order).take_front(k))
      result[next++] = intCell(i);
  }
  return e.yield(std::move(result));
}

static LogicalResult evaluateExpertCapacity(nn::ExpertCapacityOp op,
                                            Evaluation &e) {
  const Tensor &ids = e.operand(0), &scores = e.operand(1);
  ArrayRef<int64_t> shape = ids.getShape();
  int64_t k = shape.back(), tokens = shape[shape.size() - 2];
  Tensor result = ids;
  // The choices of one expert in one sequence, in the order of positions.
  std::vector<int64_t> choices;
  for (int64_t start = 0; start < ids.getNumElements(); start += tokens * k) {
    std::vector<int64_t> tokenAt(tokens);
    for (int64_t t = 0; t < tokens; ++t)
      tokenAt[op.getOrder() ? op.getOrderAttr().getPosition(t) : t] = t;
    for (int64_t expert = 0; expert < static_cast<int64_t>(op.getExperts());
         ++expert) {
      choices.clear();
      std::vector<double> values;
      for (int64_t token : tokenAt)
        for (int64_t i = start + token * k; i < start + (token + 1) * k; ++i)
          if (ids[i].i == expert) {
            choices.push_back(i);
            values.push_back(scores[i].f);
          }
      std::vector<int64_t> order = sortByScore(values, /*isSmallest=*/false);
      for (size_t i = op.getCapacity(); i < order.size(); ++i)
        result[choices[order[i]]] = intCell(-1);
    }
  }
  return e.yield(std::move(result));
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

namespace {
/// Activation of a gated MLP, and its derivative.
struct ActivationPair {
  double (*value)(double);
  double (*slope)(double);

  explicit ActivationPair(nn::Activation kind) {
    static constexpr std::pair<double (*)(double), double (*)(double)> all[] = {
        {silu, siluDerivative},
        {geluErf, geluErfDerivative},
        {geluTanh, geluTanhDerivative}};
    std::tie(value, slope) = all[static_cast<size_t>(kind)];
  }
};

/// One token's use of one held expert.
struct Use {
  int64_t token, expert;
  /// Sum of the gates of its choices of this expert; 0 without gates.
  double gate = 0;
};
} // namespace

/// Returns the uses of `experts` experts from `offset` on, by token. `gates`
/// may be null.
static std::vector<Use> getUses(const Tensor &ids, const Tensor *gates,
                                int64_t experts, int64_t offset) {
  std::vector<Use> uses;
  int64_t k = ids.getShape().back();
  for (int64_t token = 0; k && token < ids.getNumElements() / k; ++token) {
    size_t first = uses.size();
    for (int64_t i = token * k; i < (token + 1) * k; ++i) {
      int64_t expert = ids[i].i - offset;
      if (expert < 0 || expert >= experts)
        continue;
      auto it = std::find_if(uses.begin() + first, uses.end(),
                             [&](Use &use) { return use.expert == expert; });
      if (it == uses.end())
        it = uses.insert(it, {token, expert});
      it->gate += gates ? (*gates)[i].f : 0;
    }
  }
  return uses;
}

/// Matrices of experts, [experts, rows, columns].
namespace {
struct Matrices {
  const Cell *cells;
  int64_t rows, columns;

  explicit Matrices(const Tensor &tensor)
      : cells(tensor.data()), rows(tensor.getShape()[1]),
        columns(tensor.getShape()[2]) {}
  /// Returns row * matrix `expert`.
  std::vector<double> multiply(const Cell *row, int64_t expert) const {
    std::vector<double> result(columns, 0.0);
    const Cell *cell = cells + expert * rows * columns;
    for (int64_t i = 0; i < rows; ++i)
      for (double &sum : result)
        sum += row[i].f * (cell++)->f;
    return result;
  }
  /// Adds row * transpose of matrix `expert` to `sums`.
  void addTransposed(ArrayRef<double> row, int64_t expert, Cell *sums) const {
    const Cell *cell = cells + expert * rows * columns;
    for (int64_t i = 0; i < rows; ++i)
      for (double factor : row)
        sums[i].f += factor * (cell++)->f;
  }
};
} // namespace

static LogicalResult evaluateExpertRows(nn::ExpertRowsOp op, Evaluation &e) {
  const Tensor &x = e.operand(0);
  Tensor result = e.makeResult();
  int64_t width = x.getShape().back();
  int64_t experts = result.getShape()[result.getRank() - 2];
  for (const Use &use : getUses(e.operand(1), /*gates=*/nullptr, experts,
                                e.getIndex(op.getOffset())))
    std::copy_n(x.data() + use.token * width, width,
                result.data() + (use.token * experts + use.expert) * width);
  return e.yield(std::move(result));
}

static LogicalResult evaluateExperts(nn::ExpertsOp op, Evaluation &e) {
  const Tensor &x = e.operand(0);
  Matrices gate(e.operand(3)), up(e.operand(4)), down(e.operand(5));
  ActivationPair activation(op.getActivation());
  int64_t experts = e.operand(4).getShape()[0];
  Tensor y = e.makeResult();
  std::vector<Tensor> stats;
  for (unsigned i = 1; i < op->getNumResults(); ++i)
    stats.push_back(e.makeResult(i));
  for (const Use &use : getUses(e.operand(1), &e.operand(2), experts,
                                e.getIndex(op.getOffset()))) {
    const Cell *row = x.data() + use.token * up.rows;
    std::vector<double> g = gate.multiply(row, use.expert);
    std::vector<double> u = up.multiply(row, use.expert);
    std::vector<Cell> h;
    for (auto [a, b] : llvm::zip_equal(g, u))
      h.push_back(floatCell(use.gate * activation.value(a) * b));
    std::vector<double> part = down.multiply(h.data(), use.expert);
    for (auto [j, value] : llvm::enumerate(part))
      y[use.token * down.columns + j].f += value;
    if (stats.empty())
      continue;
    int64_t at = (use.token * experts + use.expert) * up.columns;
    for (int64_t j = 0; j < up.columns; ++j) {
      stats[0][at + j] = floatCell(g[j]);
      stats[1][at + j] = floatCell(u[j]);
    }
  }
  (void)e.yieldRounded(std::move(y));
  for (Tensor &stat : stats)
    (void)e.yieldRounded(std::move(stat));
  return success();
}

static LogicalResult evaluateExpertsBackward(nn::ExpertsBackwardOp op,
                                             Evaluation &e) {
  const Tensor &grad = e.operand(0), &ids = e.operand(1), &g = e.operand(6),
               &u = e.operand(7);
  Matrices gate(e.operand(3)), up(e.operand(4)), down(e.operand(5));
  ActivationPair activation(op.getActivation());
  int64_t experts = e.operand(4).getShape()[0], k = ids.getShape().back();
  int64_t ffn = up.columns, offset = e.getIndex(op.getOffset());
  Tensor dx = e.makeResult(0), dgates = e.makeResult(1),
         dgate = e.makeResult(2), dup = e.makeResult(3);
  for (const Use &use : getUses(ids, &e.operand(2), experts, offset)) {
    std::vector<Cell> dh(ffn);
    std::vector<double> rowGrad;
    for (int64_t j = 0; j < down.columns; ++j)
      rowGrad.push_back(grad[use.token * down.columns + j].f);
    down.addTransposed(rowGrad, use.expert, dh.data());
    int64_t at = (use.token * experts + use.expert) * ffn;
    std::vector<double> dg(ffn), du(ffn);
    double gateGrad = 0;
    for (int64_t j = 0; j < ffn; ++j) {
      double value = activation.value(g[at + j].f);
      double factor = use.gate * dh[j].f;
      dg[j] = factor * u[at + j].f * activation.slope(g[at + j].f);
      du[j] = factor * value;
      gateGrad += dh[j].f * value * u[at + j].f;
      dgate[at + j] = floatCell(dg[j]);
      dup[at + j] = floatCell(du[j]);
    }
    gate.addTransposed(dg, use.expert, dx.data() + use.token * up.rows);
    up.addTransposed(du, use.expert, dx.data() + use.token * up.rows);
    for (int64_t i = use.token * k; i < (use.token + 1) * k; ++i)
      if (ids[i].i - offset == use.expert)
        dgates[i] = floatCell(gateGrad);
  }
  for (Tensor *result : {&dx, &dgates, &dgate, &dup})
    (void)e.yieldRounded(std::move(*result));
  return success();
}

/// Adds the outer product of two rows to a matrix.
static void addOuter(Cell *matrix, ArrayRef<Cell> rows,
                     ArrayRef<Cell> columns) {
  for (const Cell &row : rows)
    for (const Cell &column : columns)
      (matrix++)->f += row.f * column.f;
}

static LogicalResult
evaluateExpertsWeightGradient(nn::ExpertsWeightGradientOp op, Evaluation &e) {
  const Tensor &rows = e.operand(0), &gradRows = e.operand(1),
               &g = e.operand(4), &u = e.operand(5), &dgate = e.operand(6),
               &dup = e.operand(7);
  ActivationPair activation(op.getActivation());
  int64_t experts = rows.getShape()[rows.getRank() - 2];
  int64_t in = rows.getShape().back(), out = gradRows.getShape().back();
  int64_t ffn = u.getShape().back();
  Tensor dGate = e.makeResult(0), dUp = e.makeResult(1),
         dDown = e.makeResult(2);
  for (const Use &use : getUses(e.operand(2), &e.operand(3), experts,
                                e.getIndex(op.getOffset()))) {
    int64_t at = use.token * experts + use.expert;
    ArrayRef<Cell> row(rows.data() + at * in, in);
    addOuter(dGate.data() + use.expert * in * ffn, row,
             {dgate.data() + at * ffn, size_t(ffn)});
    addOuter(dUp.data() + use.expert * in * ffn, row,
             {dup.data() + at * ffn, size_t(ffn)});
    std::vector<Cell> h;
    for (int64_t j = at * ffn; j < (at + 1) * ffn; ++j)
      h.push_back(floatCell(use.gate * activation.value(g[j].f) * u[j].f));
    addOuter(dDown.data() + use.expert * ffn * out, h,
             {gradRows.data() + at * out, size_t(out)});
  }
  for (Tensor *result : {&dGate, &dUp, &dDown})
    (void)e.yieldRounded(std::move(*result));
  return success();
}

void tessera::interp::addExpertHandlers(Registry &r) {
  r.addLocal<nn::ExpertCapacityOp, evaluateExpertCapacity>();
  r.addLocal<nn::ExpertRowsOp, evaluateExpertRows>();
  r.addLocal<nn::ExpertsBackwardOp, evaluateExpertsBackward>();
  r.addLocal<nn::ExpertsOp, evaluateExperts>();
  r.addLocal<nn::ExpertsWeightGradientOp, evaluateExpertsWeightGradient>();
  r.addLocal<nn::TopKOp, evaluateTopK>();
}
