//===- ReshardPlanner.cpp - Collectives between two shardings -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The planner works on atoms: parts of axes so small that both shardings are
// lists of whole atoms. An atom is in one place at a time: on a dimension,
// partial, or free.
//
//===----------------------------------------------------------------------===//

#include "tessera/Partition/ReshardPlanner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;
using llvm::ArrayRef;
using Kind = ReshardStep::Kind;

llvm::StringRef tessera::stringifyReshardStep(Kind kind) {
  switch (kind) {
  case Kind::Slice:
    return "slice";
  case Kind::ReduceScatter:
    return "reduce_scatter";
  case Kind::AllReduce:
    return "all_reduce";
  case Kind::Permute:
    return "permute";
  case Kind::AllToAll:
    return "all_to_all";
  case Kind::AllGather:
    return "all_gather";
  case Kind::ToPartial:
    return "to_partial";
  }
  return "";
}

int64_t ReshardPlan::elements() const {
  int64_t sum = 0;
  for (const ReshardStep &step : steps)
    sum += step.elements;
  return sum;
}

namespace {

/// The borders at which shardings cut one axis, ascending from 1.
struct AxisBorders {
  llvm::SmallVector<int64_t, 4> borders{1};

  void add(const AxisRef &ref) {
    for (int64_t border : {ref.preSize, ref.end()})
      if (!llvm::is_contained(borders, border))
        borders.push_back(border);
  }
  /// Sorts; true if each border divides the next, so that there are atoms.
  bool nest() {
    llvm::sort(borders);
    for (size_t i = 1; i < borders.size(); ++i)
      if (borders[i] % borders[i - 1] != 0)
        return false;
    return true;
  }
};

void forEachAxis(const Sharding &s,
                 llvm::function_ref<void(const AxisRef &)> f) {
  for (const DimSharding &dim : s.dims)
    llvm::for_each(dim.axes, f);
  llvm::for_each(s.unreduced, f);
}

class Planner {
public:
  Planner(const Mesh &mesh, const Sharding &from, const Sharding &to,
          ArrayRef<int64_t> shape)
      : mesh(mesh), target(to), shape(shape), borders(mesh.sizes.size()) {
    state.dims.resize(from.dims.size());
    for (auto [s, f] : llvm::zip(state.dims, from.dims))
      s.axes = f.axes;
    state.unreduced = from.unreduced;
    state.reduction = from.reduction;
  }

  ReshardPlan run();

private:
  void collapseUnnested();
  AxisList atomsOf(ArrayRef<AxisRef> axes) const;
  bool isFree(const AxisRef &atom) const {
    return !overlapsAny(state.dimAxes(), atom) &&
           !overlapsAny(state.unreduced, atom);
  }
  bool isWanted(const AxisRef &atom) const {
    return llvm::is_contained(targetAtoms, atom);
  }
  int64_t localSize() const;
  bool divides() const;
  void emit(ReshardStep step);
  void removeUnreduced(ArrayRef<AxisRef> atoms);

  void slice();
  void reduce();
  void move();
  void permute(ArrayRef<AxisList> goal);
  void allToAll(ArrayRef<AxisList> goal);
  void gather();
  void gatherWhole(size_t dim, size_t keep);

  const Mesh &mesh;
  const Sharding &target;
  ArrayRef<int64_t> shape;
  std::vector<AxisBorders> borders;
  /// The sharding so far, its axes cut into atoms (but for the axes that
  /// collapseUnnested takes away).
  Sharding state;
  /// The target's dimensions in atoms.
  std::vector<AxisList> goal;
  AxisList targetAtoms;
  ReshardPlan plan;
};

} // namespace

AxisList Planner::atomsOf(ArrayRef<AxisRef> axes) const {
  AxisList atoms;
  for (const AxisRef &ref : axes) {
    ArrayRef<int64_t> cuts = borders[ref.axis].borders;
    for (size_t i = 0; i + 1 < cuts.size(); ++i)
      if (cuts[i] >= ref.preSize && cuts[i + 1] <= ref.end())
        atoms.push_back({ref.axis, cuts[i], cuts[i + 1] / cuts[i]});
  }
  return atoms;
}

int64_t Planner::localSize() const {
  int64_t size = 1;
  for (auto [dim, n] : llvm::zip(state.dims, shape))
    size *= n / numShards(dim.axes);
  return size;
}

bool Planner::divides() const {
  return llvm::all_of(llvm::zip(state.dims, shape), [](auto pair) {
    auto [dim, n] = pair;
    return n % numShards(dim.axes) == 0;
  });
}

void Planner::emit(ReshardStep step) {
  step.axes = mergeAdjacent(step.axes);
  step.to = state;
  for (DimSharding &dim : step.to.dims)
    dim.axes = mergeAdjacent(dim.axes);
  step.to.unreduced = mergeAdjacent(step.to.unreduced);
  if (!divides() && plan.error.empty())
    plan.error = "a dimension does not divide";
  plan.steps.push_back(std::move(step));
}

void Planner::removeUnreduced(ArrayRef<AxisRef> atoms) {
  llvm::erase_if(state.unreduced, [&](const AxisRef &a) {
    return llvm::is_contained(atoms, a);
  });
}

/// Makes every dimension that is cut by an axis whose borders do not nest free
/// of it, and reduces over it. The target then takes it by slices.
void Planner::collapseUnnested() {
  llvm::SmallVector<unsigned> unnested;
  for (unsigned axis = 0; axis < borders.size(); ++axis)
    if (!borders[axis].nest())
      unnested.push_back(axis);
  if (unnested.empty())
    return;
  plan.gatheredWhole = true;
  auto isUnnested = [&](const AxisRef &a) {
    return llvm::is_contained(unnested, a.axis);
  };
  AxisList partial;
  llvm::copy_if(state.unreduced, std::back_inserter(partial), isUnnested);
  if (!partial.empty()) {
    int64_t n = numShards(partial), size = localSize();
    removeUnreduced(partial);
    emit({Kind::AllReduce,
          partial,
          0,
          0,
          {},
          {},
          static_cast<int64_t>(llvm::divideCeil(2 * (n - 1) * size, n))});
  }
  for (size_t d = 0; d < state.dims.size(); ++d) {
    auto *first = llvm::find_if(state.dims[d].axes, isUnnested);
    if (first != state.dims[d].axes.end())
      gatherWhole(d, first - state.dims[d].axes.begin());
  }
  for (unsigned axis : unnested)
    borders[axis] = AxisBorders();
  auto addBack = [&](const AxisRef &a) {
    if (isUnnested(a))
      borders[a.axis].add(a);
  };
  forEachAxis(state, addBack);
  forEachAxis(target, addBack);
  for (unsigned axis : unnested)
    if (!borders[axis].nest())
      plan.error = "parts of axis \"" + mesh.names[axis] + "\" do not nest";
}

/// Gathers all but the first `keep` axes of a dimension.
void Planner::gatherWhole(size_t dim, size_t keep) {
  AxisList &axes = state.dims[dim].axes;
  AxisList gathered(axes.begin() + keep, axes.end());
  if (gathered.empty())
    return;
  int64_t size = localSize();
  axes.resize(keep);
  emit({Kind::AllGather,
        gathered,
        static_cast<int64_t>(dim),
        0,
        {},
        {},
        (numShards(gathered) - 1) * size});
}

void Planner::slice() {
  for (size_t d = 0; d < state.dims.size(); ++d) {
    AxisList free;
    llvm::copy_if(goal[d], std::back_inserter(free),
                  [&](const AxisRef &a) { return isFree(a); });
    if (free.empty())
      continue;
    state.dims[d].axes.append(free);
    emit({Kind::Slice, free, static_cast<int64_t>(d), 0, {}, {}, 0});
  }
}

void Planner::reduce() {
  AxisList kept = atomsOf(target.unreduced);
  for (size_t d = 0; d < state.dims.size(); ++d) {
    AxisList scattered;
    llvm::copy_if(goal[d], std::back_inserter(scattered),
                  [&](const AxisRef &a) {
                    return llvm::is_contained(state.unreduced, a);
                  });
    if (scattered.empty())
      continue;
    int64_t size = localSize(), n = numShards(scattered);
    removeUnreduced(scattered);
    state.dims[d].axes.append(scattered);
    emit({Kind::ReduceScatter,
          scattered,
          static_cast<int64_t>(d),
          0,
          {},
          {},
          size / n * (n - 1)});
  }
  AxisList rest;
  llvm::copy_if(state.unreduced, std::back_inserter(rest),
                [&](const AxisRef &a) { return !llvm::is_contained(kept, a); });
  if (rest.empty())
    return;
  removeUnreduced(rest);
  int64_t size = localSize(), n = numShards(rest);
  emit({Kind::AllReduce,
        rest,
        0,
        0,
        {},
        {},
        static_cast<int64_t>(llvm::divideCeil(2 * (n - 1) * size, n))});
}

/// Brings every wanted atom to its dimension and place, with the unwanted ones
/// as the minor ones of the dimension where they are.
void Planner::move() {
  std::vector<AxisList> arranged = goal;
  bool sameCounts = true;
  for (size_t d = 0; d < state.dims.size(); ++d) {
    llvm::copy_if(state.dims[d].axes, std::back_inserter(arranged[d]),
                  [&](const AxisRef &a) { return !isWanted(a); });
    sameCounts &= numShards(arranged[d]) == numShards(state.dims[d].axes);
  }
  if (!sameCounts)
    allToAll(arranged);
  permute(arranged);
}

/// Moves every atom to the dimension that it has in `arranged`; the order in
/// the dimension may still differ.
void Planner::allToAll(ArrayRef<AxisList> arranged) {
  size_t rank = state.dims.size();
  // Atoms that leave a dimension, by where they go; first bring them to the
  // minor side, the last to leave most major.
  std::vector<std::vector<AxisList>> leaving(rank, std::vector<AxisList>(rank));
  std::vector<AxisList> before(rank);
  for (size_t d = 0; d < rank; ++d) {
    for (const AxisRef &atom : state.dims[d].axes) {
      if (llvm::is_contained(arranged[d], atom)) {
        before[d].push_back(atom);
        continue;
      }
      for (size_t to = 0; to < rank; ++to)
        if (llvm::is_contained(arranged[to], atom))
          leaving[d][to].push_back(atom);
    }
    // In the order that the destination wants.
    for (size_t to = rank; to-- > 0;) {
      llvm::sort(leaving[d][to], [&](const AxisRef &a, const AxisRef &b) {
        return llvm::find(arranged[to], a) < llvm::find(arranged[to], b);
      });
      before[d].append(leaving[d][to]);
    }
  }
  permute(before);
  std::vector<std::pair<size_t, size_t>> moves;
  for (size_t d = 0; d < rank; ++d)
    for (size_t to = 0; to < rank; ++to)
      if (!leaving[d][to].empty())
        moves.push_back({d, to});
  while (!moves.empty()) {
    // A move whose atoms are the minor ones of their dimension now.
    auto it = llvm::find_if(moves, [&](const std::pair<size_t, size_t> &m) {
      const AxisList &atoms = leaving[m.first][m.second];
      ArrayRef<AxisRef> now = state.dims[m.first].axes;
      return now.size() >= atoms.size() &&
             now.take_back(atoms.size()) == ArrayRef<AxisRef>(atoms) &&
             shape[m.second] % (numShards(state.dims[m.second].axes) *
                                numShards(atoms)) ==
                 0;
    });
    if (it == moves.end()) {
      // Something has arrived behind atoms that must leave: bring those to the
      // minor side again.
      size_t d = moves.front().first, to = moves.front().second;
      std::vector<AxisList> again;
      for (const DimSharding &dim : state.dims)
        again.push_back(dim.axes);
      llvm::erase_if(again[d], [&](const AxisRef &a) {
        return llvm::is_contained(leaving[d][to], a);
      });
      again[d].append(leaving[d][to]);
      if (again[d] == state.dims[d].axes) {
        plan.error = "a dimension does not divide";
        return;
      }
      permute(again);
      continue;
    }
    size_t d = it->first, to = it->second;
    AxisList atoms = leaving[d][to];
    int64_t n = numShards(atoms);
    state.dims[d].axes.resize(state.dims[d].axes.size() - atoms.size());
    state.dims[to].axes.append(atoms);
    int64_t size = localSize();
    moves.erase(it);
    emit({Kind::AllToAll,
          atoms,
          static_cast<int64_t>(d),
          static_cast<int64_t>(to),
          {},
          {},
          size / n * (n - 1)});
  }
}

/// Reorders axes by one permute, where each dimension keeps its number of
/// shards. Only the axes between the first and the last difference of each
/// dimension span the groups.
void Planner::permute(ArrayRef<AxisList> wanted) {
  struct Change {
    AxisList old, now;
  };
  llvm::SmallVector<Change, 4> changes;
  AxisList members;
  for (size_t d = 0; d < state.dims.size(); ++d) {
    ArrayRef<AxisRef> old = state.dims[d].axes, now = wanted[d];
    while (!old.empty() && !now.empty() && old.front() == now.front()) {
      old = old.drop_front();
      now = now.drop_front();
    }
    while (!old.empty() && !now.empty() && old.back() == now.back()) {
      old = old.drop_back();
      now = now.drop_back();
    }
    if (old.empty())
      continue;
    members.append(old.begin(), old.end());
    changes.push_back({AxisList(old), AxisList(now)});
  }
  if (changes.empty())
    return;
  llvm::sort(members);
  // Member i of a group has the digits of i over `members`.
  int64_t n = numShards(members);
  auto digitOf = [&](int64_t member, const AxisRef &atom) {
    for (const AxisRef &m : llvm::reverse(members)) {
      if (m == atom)
        return member % m.size;
      member /= m.size;
    }
    return int64_t(0);
  };
  llvm::SmallVector<int64_t> targets;
  for (int64_t sender = 0; sender < n; ++sender) {
    llvm::SmallVector<std::pair<AxisRef, int64_t>> digits;
    for (const Change &change : changes) {
      int64_t index = 0;
      for (const AxisRef &atom : change.old)
        index = index * atom.size + digitOf(sender, atom);
      for (const AxisRef &atom : llvm::reverse(change.now)) {
        digits.push_back({atom, index % atom.size});
        index /= atom.size;
      }
    }
    int64_t receiver = 0;
    for (const AxisRef &m : members) {
      auto *it = llvm::find_if(digits, [&](auto &p) { return p.first == m; });
      receiver = receiver * m.size + it->second;
    }
    targets.push_back(receiver);
  }
  for (size_t d = 0; d < state.dims.size(); ++d)
    state.dims[d].axes = wanted[d];
  emit({Kind::Permute, members, 0, 0, std::move(targets), {}, localSize()});
}

void Planner::gather() {
  for (size_t d = 0; d < state.dims.size(); ++d)
    gatherWhole(d, goal[d].size());
}

ReshardPlan Planner::run() {
  auto addBorder = [&](const AxisRef &a) { borders[a.axis].add(a); };
  forEachAxis(state, addBorder);
  forEachAxis(target, addBorder);
  if (!state.unreduced.empty() && !target.unreduced.empty() &&
      state.reduction != target.reduction) {
    plan.error = "a value partial by one reduction and wanted by another";
    return plan;
  }
  collapseUnnested();
  if (!plan.error.empty())
    return plan;
  for (DimSharding &dim : state.dims)
    dim.axes = atomsOf(dim.axes);
  state.unreduced = atomsOf(state.unreduced);
  for (const DimSharding &dim : target.dims) {
    goal.push_back(atomsOf(dim.axes));
    targetAtoms.append(goal.back());
  }
  slice();
  reduce();
  move();
  gather();
  AxisList added;
  for (const AxisRef &atom : atomsOf(target.unreduced))
    if (!llvm::is_contained(state.unreduced, atom))
      added.push_back(atom);
  if (!added.empty()) {
    state.unreduced.append(added);
    state.reduction = target.reduction;
    emit({Kind::ToPartial, added, 0, 0, {}, {}, 0});
  }
  return plan;
}

/// Everything reduced and gathered, then sliced: for shapes that no shard in
/// between divides.
static ReshardPlan planWhole(const Mesh &mesh, const Sharding &from,
                             const Sharding &to, ArrayRef<int64_t> shape) {
  Sharding whole = Sharding::replicatedOf(from.rank());
  ReshardPlan plan = Planner(mesh, from, whole, shape).run();
  ReshardPlan slices = Planner(mesh, whole, to, shape).run();
  llvm::append_range(plan.steps, slices.steps);
  if (plan.error.empty())
    plan.error = slices.error;
  plan.gatheredWhole = true;
  return plan;
}

ReshardPlan tessera::planReshard(const Mesh &mesh, const Sharding &from,
                                 const Sharding &to, ArrayRef<int64_t> shape) {
  ReshardPlan plan = Planner(mesh, from, to, shape).run();
  if (plan.error.empty())
    return plan;
  ReshardPlan whole = planWhole(mesh, from, to, shape);
  return whole.error.empty() ? whole : plan;
}
