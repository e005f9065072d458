//===- FactorPropagation.cpp - The propagation algorithm ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Propagation with a work list of ops. A visit projects the shardings of an
// op's tensors onto its factors, agrees on axes for each factor, and appends
// the new axes to the tensors; every op of a changed tensor is visited again.
// Axes are only ever appended, so the loop terminates.
//
//===----------------------------------------------------------------------===//

#include "RuleInfo.h"
#include "tessera/Propagation/FactorProjection.h"
#include "tessera/Propagation/PropagationProblem.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include <deque>
#include <set>

using namespace tessera;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

namespace {

/// A tensor of an op, projected onto the op's factors.
struct View {
  unsigned tensor;
  const TensorFactors *dims;
  /// Axes per factor; empty for factors whose dimension is not due yet.
  SmallVector<AxisList, 8> axes;
  /// Dimensions with axes after their factors; no axis can follow these.
  llvm::SmallBitVector hasRest;
  /// True if this tensor takes no new axes for now.
  bool frozen = false;
};

/// Axes that one tensor has for one factor.
struct Claim {
  unsigned factor;
  AxisList axes;
};

class Propagator {
public:
  explicit Propagator(const PropagationProblem &problem);
  PropagationSolution run();

private:
  void indexUsers();
  void runRound();
  void drain();
  void resolveConflicts();
  void pinFactors();
  void keepGivenPins();
  void enqueue(unsigned op);

  SmallVector<View, 4> getViews(const PropagationProblem::Op &op) const;
  bool isHidden(const DimSharding &dim) const {
    return dim.priority.value_or(0) > round;
  }
  void visit(unsigned op);
  bool resolve(unsigned op);
  bool extend(unsigned op, SmallVectorImpl<View> &views, const FactorAxes &axes,
              const PropagationStep &cause);
  AxisList getNewAxes(const ShardingRule &rule, const View &view, unsigned dim,
                      unsigned position, const AxisList &wanted) const;
  void record(unsigned op, unsigned factor, ArrayRef<View> views,
              const View &view, unsigned dim, ArrayRef<AxisRef> added,
              const AxisList &now, PropagationStep cause);

  const PropagationProblem &problem;
  PropagationSolution solution;
  std::vector<RuleInfo> ruleInfos;
  /// The ops of each tensor, in program order.
  std::vector<SmallVector<unsigned, 4>> users;
  std::deque<unsigned> queue;
  std::vector<bool> queued;
  /// Ops where conservative propagation stopped at a conflict; ops that pass
  /// shardings through come first.
  std::set<std::pair<bool, unsigned>> conflicts;
  /// The axes of each op's factors that all rounds so far agree on.
  std::vector<FactorAxes> agreed;
  /// The user priority of this round.
  int64_t round = 0;
  /// Visits contracting ops, and goes backward through broadcasts too.
  bool allOps = false;
};

Propagator::Propagator(const PropagationProblem &problem) : problem(problem) {
  for (auto [i, tensor] : llvm::enumerate(problem.tensors)) {
    solution.shardings.push_back(tensor.seed);
    auto &steps = solution.steps.emplace_back();
    for (auto [d, dim] : llvm::enumerate(tensor.seed.dims))
      for (const AxisRef &axis : dim.axes) {
        PropagationStep step;
        step.dim = d;
        step.axis = axis;
        step.from = step.origin = i;
        steps.push_back(step);
      }
  }
  queued.resize(problem.ops.size());
  solution.pinned.resize(problem.ops.size());
  indexUsers();
  ruleInfos = classifyRules(problem.rules);
}

void Propagator::indexUsers() {
  users.resize(problem.tensors.size());
  auto add = [&](unsigned tensor, unsigned op) {
    if (tensor != PropagationProblem::kNone &&
        (users[tensor].empty() || users[tensor].back() != op))
      users[tensor].push_back(op);
  };
  for (auto [i, op] : llvm::enumerate(problem.ops)) {
    for (unsigned t : op.operands)
      add(t, i);
    for (unsigned t : op.results)
      add(t, i);
  }
}

PropagationSolution Propagator::run() {
  std::set<int64_t> rounds{0};
  for (const PropagationProblem::Tensor &tensor : problem.tensors)
    for (const DimSharding &dim : tensor.seed.dims)
      rounds.insert(dim.priority.value_or(0));
  if (rounds.size() > 1)
    agreed.resize(problem.ops.size());
  for (int64_t next : rounds) {
    round = next;
    runRound();
    if (rounds.size() > 1)
      pinFactors();
  }
  keepGivenPins();
  for (Sharding &sharding : solution.shardings) {
    sharding.replicated.clear();
    for (DimSharding &dim : sharding.dims) {
      dim.open = false;
      dim.priority.reset();
    }
  }
  return std::move(solution);
}

void Propagator::runRound() {
  for (bool all : {false, true}) {
    allOps = all;
    for (unsigned i = 0; i < problem.ops.size(); ++i)
      enqueue(i);
    drain();
  }
  resolveConflicts();
}

void Propagator::enqueue(unsigned op) {
  if (queued[op] || (!allOps && ruleInfos[problem.ops[op].rule].contracting))
    return;
  queued[op] = true;
  queue.push_back(op);
}

void Propagator::drain() {
  while (!queue.empty()) {
    unsigned op = queue.front();
    queue.pop_front();
    queued[op] = false;
    visit(op);
  }
}

/// Propagates the result of one conflict before it resolves the next.
void Propagator::resolveConflicts() {
  while (!conflicts.empty()) {
    unsigned op = conflicts.begin()->second;
    conflicts.erase(conflicts.begin());
    if (resolve(op))
      drain();
  }
}

SmallVector<View, 4>
Propagator::getViews(const PropagationProblem::Op &op) const {
  const ShardingRule &rule = problem.rules[op.rule];
  const RuleInfo &info = ruleInfos[op.rule];
  SmallVector<View, 4> views;
  auto add = [&](unsigned tensor, const TensorFactors &dims, bool frozen) {
    if (tensor == PropagationProblem::kNone || dims.empty())
      return;
    View &view = views.emplace_back();
    view.tensor = tensor;
    view.dims = &dims;
    view.frozen = frozen;
    view.axes.resize(rule.factors.size());
    view.hasRest.resize(dims.size());
    for (auto [d, dim] : llvm::enumerate(solution.shardings[tensor].dims)) {
      if (isHidden(dim) || dim.axes.empty())
        continue;
      SmallVector<int64_t, 2> sizes;
      for (unsigned f : dims[d])
        sizes.push_back(rule.factors[f].size);
      DimProjection projection = projectDim(dim.axes, sizes);
      view.hasRest[d] = !projection.rest.empty();
      for (auto [f, axes] : llvm::zip(dims[d], projection.factors))
        if (rule.factors[f].kind != FactorKind::Replicated)
          view.axes[f] = std::move(axes);
    }
  };
  for (auto [i, tensor] : llvm::enumerate(op.operands))
    add(tensor, rule.operands[i], !allOps && info.broadcast[i]);
  for (auto [i, tensor] : llvm::enumerate(op.results))
    add(tensor, rule.results[i], false);
  return views;
}

/// Collects the axes per factor that all tensors can agree on. False if tensors
/// or factors want conflicting axes.
bool agree(const ShardingRule &rule, ArrayRef<View> views, FactorAxes &axes) {
  bool all = true;
  for (unsigned f = 0; f < rule.factors.size(); ++f) {
    for (const View &view : views)
      if (numShards(view.axes[f]) > numShards(axes[f]))
        axes[f] = view.axes[f];
    for (const View &view : views) {
      if (isPrefix(view.axes[f], axes[f]) || isPrefix(axes[f], view.axes[f]))
        continue;
      axes[f] = commonPrefix(axes[f], view.axes[f]);
      all = false;
    }
  }
  for (unsigned f = 0; f < rule.factors.size(); ++f) {
    if (axes[f].empty())
      continue;
    AxisList others;
    for (const View &view : views)
      for (unsigned g = 0; g < rule.factors.size(); ++g)
        if (g != f)
          llvm::append_range(others, view.axes[g]);
    AxisList free = prefixWithout(axes[f], others);
    all &= free == axes[f];
    axes[f] = std::move(free);
  }
  return all;
}

/// True if some tensor has an axis to pass on.
bool hasAxes(ArrayRef<View> views) {
  return llvm::any_of(views, [](const View &view) {
    return llvm::any_of(view.axes,
                        [](const AxisList &axes) { return !axes.empty(); });
  });
}

void Propagator::visit(unsigned op) {
  ++solution.numVisits;
  const PropagationProblem::Op &node = problem.ops[op];
  const ShardingRule &rule = problem.rules[node.rule];
  SmallVector<View, 4> views = getViews(node);
  if (!hasAxes(views))
    return;
  FactorAxes axes(rule.factors.size());
  if (!agree(rule, views, axes))
    conflicts.insert({ruleInfos[node.rule].contracting, op});
  extend(op, views, axes, PropagationStep());
}

//===----------------------------------------------------------------------===//
// Appending axes to tensors
//===----------------------------------------------------------------------===//

/// The axes of `wanted` that the factor at `position` of `dim` can take in
/// addition to those that it has.
AxisList Propagator::getNewAxes(const ShardingRule &rule, const View &view,
                                unsigned dim, unsigned position,
                                const AxisList &wanted) const {
  const DimFactors &factors = (*view.dims)[dim];
  unsigned f = factors[position];
  const AxisList &now = view.axes[f];
  if (rule.factors[f].size == 1 || numShards(wanted) <= numShards(now) ||
      !isPrefix(now, wanted))
    return {};
  // Axes of a dimension go major to minor: no axes may follow, and the axes of
  // the factors before must split these into single elements.
  for (auto [i, other] : llvm::enumerate(factors))
    if (i < position ? !isFullyCut(view.axes[other], rule.factors[other].size)
                     : i > position && !view.axes[other].empty())
      return {};
  const Sharding &sharding = solution.shardings[view.tensor];
  AxisList used = sharding.dimAxes();
  llvm::append_range(used, sharding.replicated);
  llvm::append_range(used, sharding.unreduced);
  AxisList added = prefixWithout(dropPrefix(now, wanted), used);
  int64_t shards = numShards(now);
  if (position > 0)
    added = exactPrefix(added, rule.factors[f].size / shards);
  else if (problem.tensors[view.tensor].isExact(dim))
    added = rule.factors[f].size % shards == 0
                ? exactPrefix(added, rule.factors[f].size / shards)
                : AxisList();
  return added;
}

void Propagator::record(unsigned op, unsigned factor, ArrayRef<View> views,
                        const View &view, unsigned dim, ArrayRef<AxisRef> added,
                        const AxisList &now, PropagationStep cause) {
  cause.op = op;
  cause.factor = factor;
  cause.dim = dim;
  for (const View &other : views)
    if (&other != &view && isPrefix(now, other.axes[factor])) {
      cause.from = other.tensor;
      break;
    }
  for (const AxisRef &axis : added) {
    cause.axis = axis;
    cause.origin = cause.from;
    for (const PropagationStep &step : solution.steps[cause.from])
      if (step.axis.overlaps(axis))
        cause.origin = step.origin;
    solution.steps[view.tensor].push_back(cause);
  }
}

/// Gives each tensor the axes of the factors that it can take. True if a tensor
/// changed.
bool Propagator::extend(unsigned op, SmallVectorImpl<View> &views,
                        const FactorAxes &axes, const PropagationStep &cause) {
  const ShardingRule &rule = problem.rules[problem.ops[op].rule];
  // A tensor that occurs twice is extended through one view at a time: the axes
  // of its other view are stale then, and the op is visited again.
  llvm::SmallDenseSet<unsigned, 4> changedTensors;
  for (View &view : views) {
    if (view.frozen || changedTensors.contains(view.tensor))
      continue;
    Sharding &sharding = solution.shardings[view.tensor];
    bool changed = false;
    for (auto [d, dim] : llvm::enumerate(sharding.dims)) {
      if (!dim.open || isHidden(dim) || view.hasRest[d])
        continue;
      for (auto [k, f] : llvm::enumerate((*view.dims)[d])) {
        AxisList added = getNewAxes(rule, view, d, k, axes[f]);
        if (added.empty())
          continue;
        llvm::append_range(view.axes[f], added);
        view.axes[f] = mergeAdjacent(view.axes[f]);
        llvm::append_range(dim.axes, added);
        dim.axes = mergeAdjacent(dim.axes);
        record(op, f, views, view, d, added, view.axes[f], cause);
        changed = true;
      }
    }
    if (!changed)
      continue;
    changedTensors.insert(view.tensor);
    for (unsigned user : users[view.tensor])
      enqueue(user);
  }
  return !changedTensors.empty();
}

//===----------------------------------------------------------------------===//
// Conflicts
//===----------------------------------------------------------------------===//

/// The claims of an op's tensors, in operand order, each once.
SmallVector<Claim, 8> getClaims(ArrayRef<View> views) {
  SmallVector<Claim, 8> claims;
  for (const View &view : views)
    for (unsigned f = 0; f < view.axes.size(); ++f) {
      const AxisList &axes = view.axes[f];
      if (!axes.empty() && llvm::none_of(claims, [&](const Claim &c) {
            return c.factor == f && c.axes == axes;
          }))
        claims.push_back({f, axes});
    }
  return claims;
}

/// Adds the axes of a claim that do not contradict the axes so far.
void grant(FactorAxes &axes, const Claim &claim) {
  AxisList others;
  for (auto [g, list] : llvm::enumerate(axes))
    if (g != claim.factor)
      llvm::append_range(others, list);
  AxisList &mine = axes[claim.factor];
  AxisList free = prefixWithout(claim.axes, others);
  if (isPrefix(mine, free))
    mine = std::move(free);
}

/// Tries each claim first, the others after it in operand order, and takes the
/// cheapest outcome; the first one of equal cost.
bool Propagator::resolve(unsigned op) {
  const PropagationProblem::Op &node = problem.ops[op];
  const ShardingRule &rule = problem.rules[node.rule];
  SmallVector<View, 4> views = getViews(node);
  SmallVector<Claim, 8> claims = getClaims(views);

  SmallVector<const Sharding *, 4> operands, results;
  SmallVector<int64_t, 4> operandBytes, resultBytes;
  auto addTensor = [&](unsigned id, auto &shardings, auto &bytes) {
    bool none = id == PropagationProblem::kNone;
    shardings.push_back(none ? nullptr : &solution.shardings[id]);
    bytes.push_back(none ? 0 : problem.tensors[id].bytes);
  };
  for (unsigned id : node.operands)
    addTensor(id, operands, operandBytes);
  for (unsigned id : node.results)
    addTensor(id, results, resultBytes);

  SmallVector<FactorAxes, 4> outcomes;
  SmallVector<double, 4> costs;
  for (const Claim &first : claims) {
    FactorAxes axes(rule.factors.size());
    grant(axes, first);
    for (const Claim &other : claims)
      grant(axes, other);
    if (llvm::is_contained(outcomes, axes))
      continue;
    costs.push_back(getOpCost(rule, axes, operands, operandBytes, results,
                              resultBytes, problem.transferCost));
    outcomes.push_back(std::move(axes));
  }
  if (outcomes.empty())
    return false;
  // Takes the first of the costs that are equal up to rounding.
  double least = *std::min_element(costs.begin(), costs.end());
  size_t best = 0;
  while (costs[best] > least * (1 + 1e-9))
    ++best;
  PropagationStep cause;
  cause.byCost = outcomes.size() > 1;
  cause.cost = cause.otherCost = costs[best];
  costs.erase(costs.begin() + best);
  if (!costs.empty())
    cause.otherCost = *std::min_element(costs.begin(), costs.end());
  return extend(op, views, outcomes[best], cause);
}

/// Records the axes that the tensors of each op agree on after this round. Pins
/// the axes that earlier rounds agreed on if the tensors no longer agree.
void Propagator::pinFactors() {
  for (auto [i, op] : llvm::enumerate(problem.ops)) {
    SmallVector<View, 4> views = getViews(op);
    FactorAxes axes = agreed[i];
    axes.resize(problem.rules[op.rule].factors.size());
    SmallVector<Claim, 8> claims = getClaims(views);
    for (const Claim &claim : claims)
      grant(axes, claim);
    bool all = llvm::all_of(claims, [&](const Claim &claim) {
      return isPrefix(claim.axes, axes[claim.factor]);
    });
    if (all)
      agreed[i] = std::move(axes);
    else
      solution.pinned[i] = agreed[i];
  }
}

/// Keeps pins given as input on their factors; keeps pins of earlier rounds
/// only where they use other axes.
void Propagator::keepGivenPins() {
  for (auto [op, pinned] : llvm::zip(problem.ops, solution.pinned)) {
    if (op.pinned.empty())
      continue;
    AxisList given;
    for (const AxisList &axes : op.pinned)
      given.append(axes);
    pinned.resize(op.pinned.size());
    for (auto [axes, own] : llvm::zip_equal(pinned, op.pinned))
      axes = own.empty() ? prefixWithout(axes, given) : own;
  }
}

} // namespace

PropagationSolution tessera::propagate(const PropagationProblem &problem) {
  return Propagator(problem).run();
}
