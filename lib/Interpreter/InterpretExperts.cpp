//===- InterpretExperts.cpp - Mixtures of experts -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements each op as documented in NNExperts.td, RTExperts.td and
// DistExperts.td, in double, rounded once at the end.
//
//===----------------------------------------------------------------------===//

#include "Interpretation.h"
#include "NNFunctions.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include <array>
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

/// Drops choices beyond the capacity; `order` may be null.
static LogicalResult dropChoices(int64_t experts, size_t capacity,
                                 nn::ZigzagAttr order, Evaluation &e) {
  const Tensor &ids = e.operand(0), &scores = e.operand(1);
  ArrayRef<int64_t> shape = ids.getShape();
  int64_t k = shape.back(), tokens = shape[shape.size() - 2];
  Tensor result = ids;
  // The choices of one expert in one sequence, in the order of positions.
  std::vector<int64_t> choices;
  for (int64_t start = 0; start < ids.getNumElements(); start += tokens * k) {
    std::vector<int64_t> tokenAt(tokens);
    for (int64_t t = 0; t < tokens; ++t)
      tokenAt[order ? order.getPosition(t) : t] = t;
    for (int64_t expert = 0; expert < experts; ++expert) {
      choices.clear();
      std::vector<double> values;
      for (int64_t token : tokenAt)
        for (int64_t i = start + token * k; i < start + (token + 1) * k; ++i)
          if (ids[i].i == expert) {
            choices.push_back(i);
            values.push_back(scores[i].f);
          }
      std::vector<int64_t> best = sortByScore(values, /*isSmallest=*/false);
      for (size_t i = capacity; i < best.size(); ++i)
        result[choices[best[i]]] = intCell(-1);
    }
  }
  return e.yield(std::move(result));
}

static LogicalResult evaluateExpertCapacity(nn::ExpertCapacityOp op,
                                            Evaluation &e) {
  return dropChoices(op.getExperts(), op.getCapacity(), op.getOrderAttr(), e);
}

static LogicalResult evaluateCapacityCall(rt::ExpertCapacityOp op,
                                          Evaluation &e) {
  nn::ZigzagAttr order;
  if (op.getOrder())
    order = nn::ZigzagAttr::get(op.getContext(), (*op.getOrder())[0],
                                (*op.getOrder())[1]);
  return dropChoices(op.getExperts(), op.getCapacity(), order, e);
}

static LogicalResult evaluateRoute(rt::RouteOp op, Evaluation &e) {
  const Tensor &ids = e.operand(0);
  Tensor result = e.makeResult();
  int64_t offset = e.getIndex(op.getOffset());
  int64_t experts = op.getExperts(), room = op.getRoom(), row = 0;
  int64_t choiceAt = experts + 1, rowAt = choiceAt + room;
  for (int64_t i = choiceAt; i < result.getNumElements(); ++i)
    result[i] = intCell(-1);
  for (int64_t expert = 0; expert < experts; ++expert) {
    for (int64_t i = 0; i < ids.getNumElements(); ++i) {
      if (ids[i].i - offset != expert)
        continue;
      if (row == room)
        return op.emitOpError("expects room for all rows but has it for ")
               << room;
      result[choiceAt + row] = intCell(i);
      result[rowAt + i] = intCell(row++);
    }
    result[expert + 1] = intCell(row);
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
  /// The row in tensors by expert, or in tensors of rows.
  int64_t row;
  /// Sum of the gates of its choices of this expert; 0 without gates.
  double gate = 0;
  /// Its choices of this expert.
  SmallVector<int64_t, 1> choices = {};
};
using Uses = std::vector<Use>;
} // namespace

/// Returns the uses of `experts` experts from `offset` on, by token. `gates`
/// may be null.
static Uses getUses(const Tensor &ids, const Tensor *gates, int64_t experts,
                    int64_t offset) {
  Uses uses;
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
        it = uses.insert(it, {token, expert, token * experts + expert});
      it->gate += gates ? (*gates)[i].f : 0;
      it->choices.push_back(i);
    }
  }
  return uses;
}

/// Returns the rows of a routing to `experts` experts, as rt.route documents
/// it. `gates` may be null; a token has `choices` choices.
static Uses getRows(const Tensor &routing, const Tensor *gates, int64_t choices,
                    int64_t experts) {
  Uses uses;
  for (int64_t expert = 0; expert < experts; ++expert)
    for (int64_t row = routing[expert].i; row < routing[expert + 1].i; ++row) {
      int64_t choice = routing[experts + 1 + row].i;
      uses.push_back({choice / choices,
                      expert,
                      row,
                      gates ? (*gates)[choice].f : 0,
                      {choice}});
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
                result.data() + use.row * width);
  return e.yield(std::move(result));
}

/// Computes y and, if there are results for them, both products before the
/// activation. Operands are x, ids or a routing, gates and the weights.
static LogicalResult computeExperts(ActivationPair activation, const Uses &uses,
                                    Evaluation &e) {
  const Tensor &x = e.operand(0);
  Matrices gate(e.operand(3)), up(e.operand(4)), down(e.operand(5));
  Tensor y = e.makeResult();
  std::vector<Tensor> stats;
  for (unsigned i = 1; i < e.op->getNumResults(); ++i)
    stats.push_back(e.makeResult(i));
  for (const Use &use : uses) {
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
    int64_t at = use.row * up.columns;
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

/// Computes dx, dgates and the gradients of both products. Operands are grad,
/// ids or a routing, gates, the weights, and both products.
static LogicalResult computeBackward(ActivationPair activation,
                                     const Uses &uses, Evaluation &e) {
  const Tensor &grad = e.operand(0), &g = e.operand(6), &u = e.operand(7);
  Matrices gate(e.operand(3)), up(e.operand(4)), down(e.operand(5));
  int64_t ffn = up.columns;
  Tensor dx = e.makeResult(0), dgates = e.makeResult(1),
         dgate = e.makeResult(2), dup = e.makeResult(3);
  for (const Use &use : uses) {
    std::vector<Cell> dh(ffn);
    std::vector<double> rowGrad;
    for (int64_t j = 0; j < down.columns; ++j)
      rowGrad.push_back(grad[use.token * down.columns + j].f);
    down.addTransposed(rowGrad, use.expert, dh.data());
    int64_t at = use.row * ffn;
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
    for (int64_t choice : use.choices)
      dgates[choice] = floatCell(gateGrad);
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

/// Computes the gradients of the weights. Operands are x, grad, two others, and
/// both products with their gradients. The rows of x and grad are those of the
/// token if `byToken` says so.
static LogicalResult computeWeightGradient(ActivationPair activation,
                                           const Uses &uses,
                                           std::array<bool, 2> byToken,
                                           Evaluation &e) {
  const Tensor &x = e.operand(0), &grad = e.operand(1), &g = e.operand(4),
               &u = e.operand(5), &dgate = e.operand(6), &dup = e.operand(7);
  int64_t in = x.getShape().back(), out = grad.getShape().back();
  int64_t ffn = u.getShape().back();
  Tensor dGate = e.makeResult(0), dUp = e.makeResult(1),
         dDown = e.makeResult(2);
  for (const Use &use : uses) {
    int64_t at = use.row * ffn;
    ArrayRef<Cell> row(x.data() + (byToken[0] ? use.token : use.row) * in, in);
    ArrayRef<Cell> gradRow(
        grad.data() + (byToken[1] ? use.token : use.row) * out, out);
    addOuter(dGate.data() + use.expert * in * ffn, row,
             {dgate.data() + at, size_t(ffn)});
    addOuter(dUp.data() + use.expert * in * ffn, row,
             {dup.data() + at, size_t(ffn)});
    std::vector<Cell> h;
    for (int64_t j = at; j < at + ffn; ++j)
      h.push_back(floatCell(use.gate * activation.value(g[j].f) * u[j].f));
    addOuter(dDown.data() + use.expert * ffn * out, h, gradRow);
  }
  for (Tensor *result : {&dGate, &dUp, &dDown})
    (void)e.yieldRounded(std::move(*result));
  return success();
}

static LogicalResult evaluateExperts(nn::ExpertsOp op, Evaluation &e) {
  return computeExperts(ActivationPair(op.getActivation()),
                        getUses(e.operand(1), &e.operand(2),
                                e.operand(4).getShape()[0],
                                e.getIndex(op.getOffset())),
                        e);
}

static LogicalResult evaluateExpertsBackward(nn::ExpertsBackwardOp op,
                                             Evaluation &e) {
  return computeBackward(ActivationPair(op.getActivation()),
                         getUses(e.operand(1), &e.operand(2),
                                 e.operand(4).getShape()[0],
                                 e.getIndex(op.getOffset())),
                         e);
}

static LogicalResult
evaluateExpertsWeightGradient(nn::ExpertsWeightGradientOp op, Evaluation &e) {
  const Tensor &rows = e.operand(0);
  return computeWeightGradient(ActivationPair(op.getActivation()),
                               getUses(e.operand(2), &e.operand(3),
                                       rows.getShape()[rows.getRank() - 2],
                                       e.getIndex(op.getOffset())),
                               {false, false}, e);
}

//===----------------------------------------------------------------------===//
// Calls on rows
//===----------------------------------------------------------------------===//

template <typename Op>
static Uses getUses(Op op, const Tensor &routing, const Tensor &gates) {
  SmallVector<int64_t> sizes = op.getSizes();
  return getRows(routing, &gates, /*choices=*/sizes[1], /*experts=*/sizes[2]);
}

static nn::Activation activationOf(rt::Activation kind) {
  return static_cast<nn::Activation>(kind);
}

static LogicalResult evaluateExpertsCall(rt::ExpertsOp op, Evaluation &e) {
  return computeExperts(ActivationPair(activationOf(op.getActivation())),
                        getUses(op, e.operand(1), e.operand(2)), e);
}

static LogicalResult evaluateBackwardCall(rt::ExpertsBackwardOp op,
                                          Evaluation &e) {
  return computeBackward(ActivationPair(activationOf(op.getActivation())),
                         getUses(op, e.operand(1), e.operand(2)), e);
}

static LogicalResult evaluateWeightGradientCall(rt::ExpertsWeightGradientOp op,
                                                Evaluation &e) {
  return computeWeightGradient(ActivationPair(activationOf(op.getActivation())),
                               getUses(op, e.operand(2), e.operand(3)),
                               {!op.getXInRows(), !op.getGradInRows()}, e);
}

/// Returns the uses in the order of packed rows, by expert, then by token, with
/// `row` the row in the tensor by expert. Fails if there are more than rows.
static FailureOr<Uses> getPackedUses(Operation *op, Value values, Value rows,
                                     Value offset, Evaluation &e) {
  auto type = cast<RankedTensorType>(values.getType());
  Uses uses = getUses(e.operand(1), /*gates=*/nullptr,
                      type.getDimSize(type.getRank() - 2), e.getIndex(offset));
  llvm::stable_sort(
      uses, [](const Use &a, const Use &b) { return a.expert < b.expert; });
  int64_t room = cast<RankedTensorType>(rows.getType()).getDimSize(0);
  if (static_cast<int64_t>(uses.size()) > room)
    return op->emitOpError("expects room for ")
           << uses.size() << " rows but has it for " << room;
  return uses;
}

/// Copies each used row of a tensor by expert to its place among the packed
/// rows, or back.
template <typename Op>
static LogicalResult copyUsedRows(Op op, bool packs, Evaluation &e) {
  FailureOr<Uses> uses =
      getPackedUses(op, op.getValues(), op.getRows(), op.getOffset(), e);
  if (failed(uses))
    return failure();
  Tensor result = e.makeResult();
  int64_t width = result.getShape().back();
  for (auto [number, use] : llvm::enumerate(*uses)) {
    int64_t packed = number, from = packs ? use.row : packed;
    int64_t to = packs ? packed : use.row;
    std::copy_n(e.operand(0).data() + from * width, width,
                result.data() + to * width);
  }
  return e.yield(std::move(result));
}

static LogicalResult evaluatePackRows(dist::PackRowsOp op, Evaluation &e) {
  return copyUsedRows(op, /*packs=*/true, e);
}

static LogicalResult evaluateUnpackRows(dist::UnpackRowsOp op, Evaluation &e) {
  return copyUsedRows(op, /*packs=*/false, e);
}

void tessera::interp::addExpertHandlers(Registry &r) {
  r.addLocal<dist::PackRowsOp, evaluatePackRows>();
  r.addLocal<dist::UnpackRowsOp, evaluateUnpackRows>();
  r.addLocal<nn::ExpertCapacityOp, evaluateExpertCapacity>();
  r.addLocal<nn::ExpertRowsOp, evaluateExpertRows>();
  r.addLocal<nn::ExpertsBackwardOp, evaluateExpertsBackward>();
  r.addLocal<nn::ExpertsOp, evaluateExperts>();
  r.addLocal<nn::ExpertsWeightGradientOp, evaluateExpertsWeightGradient>();
  r.addLocal<nn::TopKOp, evaluateTopK>();
  r.addLocal<rt::ExpertCapacityOp, evaluateCapacityCall>();
  r.addLocal<rt::ExpertsBackwardOp, evaluateBackwardCall>();
  r.addLocal<rt::ExpertsOp, evaluateExpertsCall>();
  r.addLocal<rt::ExpertsWeightGradientOp, evaluateWeightGradientCall>();
  r.addLocal<rt::RouteOp, evaluateRoute>();
}
