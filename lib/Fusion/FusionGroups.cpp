//===- FusionGroups.cpp - Groups ops into kernels -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// These are the kernels that the compiler makes. A plan prices those of
// lib/Planning/Kernels.cpp; ModelPlanTest.cpp
// (the_derived_backward_is_that_of_the_training_step) compares their bytes.
//
//===----------------------------------------------------------------------===//

#include "tessera/Fusion/FusionGroups.h"
#include "dialects/RT/RT.h"
#include "tessera/Codegen/ColumnReductions.h"
#include "tessera/Codegen/KernelRows.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include <queue>

using namespace mlir;
using namespace tessera;

namespace {

/// A kernel with at least this many rows keeps that many: fewer would leave
/// threads idle.
constexpr int64_t kParallelRows = 64, kParallelRowsOfGPU = 4096;
/// A value that is first read this many ops later is not computed early.
constexpr unsigned kFar = 48;
/// Maximum number of ops in one kernel, and of ops in their bodies: LLVM's
/// register allocation is more than quadratic in a loop's length.
constexpr size_t kMaxOps = 48, kMaxBodyOps = 256;

class Planner {
public:
  explicit Planner(Block &block)
      : block(block),
        onGPU(rt::getTarget(block.getParentOp()) != rt::Target::Host),
        parallelRows(onGPU ? kParallelRowsOfGPU : kParallelRows) {}
  FusionPlan run();

private:
  struct Group {
    SmallVector<linalg::GenericOp> ops;
    /// Row counts that all ops and all values between them allow, ascending.
    SmallVector<int64_t> counts;
    int64_t preferred = 1;
    size_t bodyOps = 0;
    /// Rows that one chunk of a fused column reduction adds; 0 without one.
    int64_t rowsPerSum = 0;
  };

  /// Returns the values that an op reads, also inside its regions.
  SmallVector<Value> readsOf(Operation *op) const;
  SmallVector<int64_t> countsAfterJoining(const Group &group,
                                          linalg::GenericOp op) const;
  static int64_t bestRows(ArrayRef<int64_t> counts, int64_t preferred);
  bool leadsBack(unsigned group, linalg::GenericOp op) const;
  bool wouldWait(unsigned group, linalg::GenericOp op) const;
  bool wouldHold(unsigned group, linalg::GenericOp op) const;
  bool tryJoin(unsigned group, linalg::GenericOp op);
  void place(linalg::GenericOp op);
  SmallVector<unsigned> findNeighbours(linalg::GenericOp op) const;
  SmallVector<linalg::GenericOp> orderOps(const Group &group) const;
  void sort(FusionPlan &plan) const;

  Block &block;
  bool onGPU;
  int64_t parallelRows;
  SmallVector<Group> groups;
  llvm::DenseMap<Operation *, unsigned> groupOf;
  llvm::DenseMap<Operation *, unsigned> position;
  /// For each op that may not be reordered, the previous one.
  llvm::DenseMap<Operation *, Operation *> orderedBefore;
};

} // namespace

/// True if the op may not be reordered with others of its kind: it has effects,
/// or communicates, itself or in its regions.
static bool isOrdered(Operation *op) {
  if (isa<linalg::GenericOp>(op))
    return false;
  if (!isMemoryEffectFree(op))
    return true;
  return op
      ->walk([](Operation *inner) {
        return inner->getName().getDialectNamespace() == "dist"
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

SmallVector<Value> Planner::readsOf(Operation *op) const {
  llvm::SetVector<Value> values;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (operand.getParentBlock() == &block)
        values.insert(operand);
  });
  return values.takeVector();
}

/// Returns the largest count that is not above the preferred one.
int64_t Planner::bestRows(ArrayRef<int64_t> counts, int64_t preferred) {
  int64_t best = counts.front();
  for (int64_t count : counts)
    if (count <= preferred)
      best = count;
  return best;
}

SmallVector<int64_t> Planner::countsAfterJoining(const Group &group,
                                                 linalg::GenericOp op) const {
  SmallVector<int64_t> own = getRowCounts(op), kept;
  for (int64_t rows : group.counts) {
    if (!llvm::is_contained(own, rows))
      continue;
    unsigned loops = *getRowLoops(op, rows);
    bool aligned = llvm::all_of(group.ops, [&](linalg::GenericOp producer) {
      for (Value value : producer->getResults()) {
        // A value read at computed positions must be whole in memory.
        if (readsByIndex(op, value))
          return false;
        for (OpOperand &operand : op->getOpOperands())
          if (operand.get() == value &&
              (getRowLoops(producer, rows) != loops ||
               !staysInRow(op.getMatchingIndexingMap(&operand), loops)))
            return false;
      }
      return true;
    });
    if (aligned)
      kept.push_back(rows);
  }
  return kept;
}

/// True if `op` depends, through ops outside the group, on a value computed
/// inside the group, or must come after an op that does.
bool Planner::leadsBack(unsigned group, linalg::GenericOp op) const {
  unsigned first = position.lookup(groups[group].ops.front());
  llvm::SmallPtrSet<Operation *, 32> seen;
  SmallVector<Operation *> work;
  auto visit = [&](Operation *reader) {
    for (Value value : readsOf(reader))
      if (Operation *def = value.getDefiningOp())
        if (seen.insert(def).second)
          work.push_back(def);
    Operation *before = orderedBefore.lookup(reader);
    if (before && seen.insert(before).second)
      work.push_back(before);
  };
  for (Value value : readsOf(op))
    if (Operation *def = value.getDefiningOp()) {
      auto it = groupOf.find(def);
      if ((it == groupOf.end() || it->second != group) &&
          seen.insert(def).second)
        work.push_back(def);
    }
  while (!work.empty()) {
    Operation *def = work.pop_back_val();
    auto it = groupOf.find(def);
    if (it != groupOf.end() && it->second == group)
      return true;
    if (it == groupOf.end()) {
      if (position.lookup(def) >= first)
        visit(def);
      continue;
    }
    // A kernel runs as a whole: all its operands come before all its results.
    const Group &other = groups[it->second];
    if (position.lookup(other.ops.back()) >= first)
      for (linalg::GenericOp member : other.ops)
        visit(member);
  }
  return false;
}

/// True if the result of `op` would live for long, because others read the
/// group's values well before anything reads it. So recomputations of the
/// backward stay out of kernels of the forward.
bool Planner::wouldWait(unsigned number, linalg::GenericOp op) const {
  auto firstReader = [&](Operation *maker, bool outside) {
    unsigned first = position.lookup(block.getTerminator());
    for (Operation *user : maker->getUsers()) {
      Operation *reader = block.findAncestorOpInBlock(*user);
      auto it = groupOf.find(reader);
      if (!outside || it == groupOf.end() || it->second != number)
        first = std::min(first, position.lookup(reader));
    }
    return first;
  };
  unsigned forced = position.lookup(op);
  for (linalg::GenericOp member : groups[number].ops)
    forced = std::min(forced, firstReader(member, /*outside=*/true));
  return forced < position.lookup(op) &&
         firstReader(op, /*outside=*/false) > forced + kFar;
}

/// True if joining `op` delays the group so far that values it reads for the
/// last time live long, with more bytes than its results. An example is the
/// gradient shard that is added to a sum whose norm is computed at the end.
bool Planner::wouldHold(unsigned number, linalg::GenericOp op) const {
  const Group &group = groups[number];
  if (position.lookup(op) <= position.lookup(group.ops.back()) + kFar)
    return false;
  auto isIn = [&](Operation *user) {
    auto it = groupOf.find(block.findAncestorOpInBlock(*user));
    return it != groupOf.end() && it->second == number;
  };
  auto bytes = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type ? rt::getTensorBytes(type) : 0;
  };
  int64_t ends = 0, made = 0;
  llvm::SmallPtrSet<Value, 8> seen;
  for (linalg::GenericOp member : group.ops) {
    for (Value value : readsOf(member)) {
      Operation *def = value.getDefiningOp();
      if (def && !groupOf.count(def) && !isa<tensor::EmptyOp>(def) &&
          seen.insert(value).second && llvm::all_of(value.getUsers(), isIn))
        ends += bytes(value);
    }
    for (Value value : member->getResults())
      if (!llvm::all_of(value.getUsers(), isIn))
        made += bytes(value);
  }
  return ends > made;
}

bool Planner::tryJoin(unsigned number, linalg::GenericOp op) {
  Group &group = groups[number];
  size_t bodyOps = group.bodyOps + op.getBody()->getOperations().size();
  if (group.ops.size() >= kMaxOps || bodyOps > kMaxBodyOps)
    return false;
  std::optional<FusedColumnReduction> sum = getFusedColumnReduction(op);
  if (sum && group.rowsPerSum && group.rowsPerSum != sum->rowsPerSum)
    return false;
  SmallVector<int64_t> counts = countsAfterJoining(group, op);
  if (counts.empty())
    return false;
  int64_t preferred = std::max(group.preferred, getPreferredRows(op, onGPU));
  int64_t before =
      std::max(bestRows(group.counts, group.preferred),
               bestRows(getRowCounts(op), getPreferredRows(op, onGPU)));
  if (bestRows(counts, preferred) < std::min(before, parallelRows))
    return false;
  if (wouldWait(number, op) || wouldHold(number, op) || leadsBack(number, op))
    return false;
  group.ops.push_back(op);
  group.counts = counts;
  group.preferred = preferred;
  group.bodyOps = bodyOps;
  if (sum)
    group.rowsPerSum = sum->rowsPerSum;
  groupOf[op] = number;
  return true;
}

/// Returns groups that read a tensor of `op` element by element, if both reduce
/// or one of them has a fused column reduction.
SmallVector<unsigned> Planner::findNeighbours(linalg::GenericOp op) const {
  SmallVector<unsigned> found;
  bool isSum = getFusedColumnReduction(op).has_value();
  for (OpOperand *operand : op.getDpsInputOperands())
    for (Operation *user : operand->get().getUsers()) {
      auto other = dyn_cast<linalg::GenericOp>(user);
      auto it = other ? groupOf.find(user) : groupOf.end();
      if (it == groupOf.end() || llvm::is_contained(found, it->second))
        continue;
      bool fits = isSum || groups[it->second].rowsPerSum ||
                  (op.getNumReductionLoops() && other.getNumReductionLoops());
      if (fits && readsSameRows(op, other))
        found.push_back(it->second);
    }
  llvm::sort(found, std::greater<unsigned>());
  return found;
}

/// Puts fused column reductions as early as possible: their operands may be
/// overwritten.
SmallVector<linalg::GenericOp> Planner::orderOps(const Group &group) const {
  SmallVector<linalg::GenericOp> ordered;
  for (linalg::GenericOp op : group.ops) {
    auto position = ordered.end();
    if (getFusedColumnReduction(op)) {
      auto reads = [&](linalg::GenericOp other) {
        return llvm::any_of(op->getOperands(), [&](Value value) {
          return value.getDefiningOp() == other;
        });
      };
      while (position != ordered.begin() && !reads(*std::prev(position)))
        --position;
    }
    ordered.insert(position, op);
  }
  return ordered;
}

void Planner::place(linalg::GenericOp op) {
  // The last producer is the most likely one to be in a cache.
  SmallVector<unsigned> candidates;
  for (Value value : readsOf(op))
    if (Operation *def = value.getDefiningOp()) {
      auto it = groupOf.find(def);
      if (it != groupOf.end() && !llvm::is_contained(candidates, it->second))
        candidates.push_back(it->second);
    }
  llvm::sort(candidates, std::greater<unsigned>());
  for (unsigned group : candidates)
    if (tryJoin(group, op))
      return;
  if (onGPU)
    for (unsigned group : findNeighbours(op))
      if (!llvm::is_contained(candidates, group) && tryJoin(group, op))
        return;
  std::optional<FusedColumnReduction> sum = getFusedColumnReduction(op);
  groupOf[op] = groups.size();
  groups.push_back({{op},
                    getRowCounts(op),
                    getPreferredRows(op, onGPU),
                    op.getBody()->getOperations().size(),
                    sum ? sum->rowsPerSum : 0});
}

/// Sorts operands first, and otherwise by each unit's last op, so that
/// collectives keep their order and values are computed late.
void Planner::sort(FusionPlan &plan) const {
  struct Node {
    FusionPlan::Unit unit = {};
    unsigned key = 0, missing = 0;
    SmallVector<unsigned> users = {};
  };
  SmallVector<Node> nodes;
  llvm::DenseMap<Operation *, unsigned> nodeOf;
  for (auto [number, group] : llvm::enumerate(groups)) {
    for (linalg::GenericOp op : group.ops)
      nodeOf[op] = nodes.size();
    nodes.push_back(
        {{nullptr, unsigned(number)}, position.lookup(group.ops.back())});
  }
  SmallVector<std::pair<unsigned, unsigned>> edges;
  for (Operation &op : block.without_terminator()) {
    if (!groupOf.count(&op)) {
      nodeOf[&op] = nodes.size();
      nodes.push_back({{&op, 0}, position.lookup(&op)});
    }
    unsigned node = nodeOf[&op];
    for (Value value : readsOf(&op))
      if (Operation *def = value.getDefiningOp())
        if (def != &op && nodeOf.count(def) && nodeOf[def] != node)
          edges.push_back({nodeOf[def], node});
    if (Operation *before = orderedBefore.lookup(&op))
      edges.push_back({nodeOf[before], node});
  }
  for (auto [from, to] : edges) {
    nodes[from].users.push_back(to);
    ++nodes[to].missing;
  }
  using Entry = std::pair<unsigned, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  for (auto [number, node] : llvm::enumerate(nodes))
    if (!node.missing)
      ready.push({node.key, number});
  while (!ready.empty()) {
    unsigned number = ready.top().second;
    ready.pop();
    plan.order.push_back(nodes[number].unit);
    for (unsigned user : nodes[number].users)
      if (--nodes[user].missing == 0)
        ready.push({nodes[user].key, user});
  }
  assert(plan.order.size() == nodes.size() && "fusion made a cycle");
}

FusionPlan Planner::run() {
  unsigned count = 0;
  Operation *ordered = nullptr;
  for (Operation &op : block) {
    position[&op] = count++;
    if (!isOrdered(&op))
      continue;
    orderedBefore[&op] = ordered;
    ordered = &op;
  }
  for (Operation &op : block)
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      place(generic);
  FusionPlan plan;
  for (const Group &group : groups)
    plan.groups.push_back(
        {orderOps(group), bestRows(group.counts, group.preferred)});
  sort(plan);
  return plan;
}

FusionPlan tessera::planFusion(Block &block) { return Planner(block).run(); }
