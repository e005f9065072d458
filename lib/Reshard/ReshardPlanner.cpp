//===- ReshardPlanner.cpp - Collectives between two shardings -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts the shortest way between two states to steps, and caches plans.
//
//===----------------------------------------------------------------------===//

#include "tessera/Reshard/ReshardPlanner.h"
#include "ReshardBound.h"
#include "ReshardSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"
#include <limits>
#include <memory>

using namespace tessera;
using llvm::ArrayRef;
using llvm::Twine;
using Kind = ReshardStep::Kind;
using State = ReshardSpace::State;
using Move = ReshardSpace::Move;

llvm::StringRef tessera::stringifyReshardStep(Kind kind) {
  if (std::optional<CollectiveKind> collective = getCollectiveKind(kind))
    return stringifyCollective(*collective);
  return kind == Kind::Slice ? "slice" : "to_partial";
}

std::optional<CollectiveKind> tessera::getCollectiveKind(Kind kind) {
  switch (kind) {
  case Kind::Slice:
  case Kind::ToPartial:
    return std::nullopt;
  case Kind::ReduceScatter:
    return CollectiveKind::ReduceScatter;
  case Kind::AllReduce:
    return CollectiveKind::AllReduce;
  case Kind::Permute:
    return CollectiveKind::Permute;
  case Kind::AllToAll:
    return CollectiveKind::AllToAll;
  case Kind::AllGather:
    return CollectiveKind::AllGather;
  }
  return std::nullopt;
}

int64_t ReshardPlan::elements() const {
  int64_t sum = 0;
  for (const ReshardStep &step : steps)
    sum += step.elements;
  return sum;
}

namespace {

/// Makes the steps of a way.
class StepMaker {
public:
  StepMaker(const Mesh &mesh, const ReshardSpace &space, const State &start,
            ReductionKind reduction, ReshardPlan &plan)
      : mesh(mesh), space(space), state(start), reduction(reduction),
        plan(plan) {
    plan.peakElements = space.getLocalSize(start);
  }

  void run(const ReshardWay &way);
  void addPartial(const Sharding &to);

private:
  void addSlices(ArrayRef<Move> slices, const State &last);
  void addCollective(const Move &move, const State &next);
  void add(ReshardStep step);
  std::vector<int32_t> getBlocks(ArrayRef<AxisRef> axes, const State &s) const;
  llvm::SmallVector<int64_t> getTargets(ArrayRef<AxisRef> axes,
                                        const State &next) const;

  const Mesh &mesh;
  const ReshardSpace &space;
  State state;
  ReductionKind reduction;
  ReshardPlan &plan;
};

} // namespace

void StepMaker::add(ReshardStep step) {
  step.axes = mergeAdjacent(step.axes);
  step.to = space.toSharding(state, reduction);
  plan.time += step.time;
  plan.peakElements = std::max(plan.peakElements, space.getLocalSize(state));
  plan.steps.push_back(std::move(step));
}

/// One step per dimension that a run of slices splits.
void StepMaker::addSlices(ArrayRef<Move> slices, const State &last) {
  for (size_t d = 0; d < state.dims.size(); ++d) {
    ReshardStep step;
    step.dim = space.getTensorDim(d);
    for (const Move &move : slices)
      if (move.dim == d)
        step.axes.append(space.toAxes(move.axes));
    if (step.axes.empty())
      continue;
    state.dims[d] = last.dims[d];
    add(std::move(step));
  }
}

/// Block numbers of the members of device 0's group. A number is a sum of one
/// term per axis, so members need not be computed one by one.
std::vector<int32_t> StepMaker::getBlocks(ArrayRef<AxisRef> axes,
                                          const State &s) const {
  struct Weighted {
    AxisStride axis;
    int64_t weight;
  };
  llvm::SmallVector<Weighted, 12> terms;
  int64_t weight = 1;
  auto addParts = [&](const PartList &list) {
    AxisList refs = space.toAxes(list);
    for (const AxisRef &ref : llvm::reverse(refs)) {
      terms.push_back({mesh.axisStride(ref), weight});
      weight *= ref.size;
    }
  };
  addParts(s.unreduced);
  for (const PartList &dim : s.dims)
    addParts(dim);
  std::vector<int32_t> blocks{0};
  for (const AxisRef &ref : axes) {
    int64_t stride = mesh.axisStride(ref).stride;
    std::vector<int32_t> of(ref.size, 0), all;
    for (int64_t i = 0; i < ref.size; ++i)
      for (const Weighted &w : terms)
        of[i] += i * stride / w.axis.stride % w.axis.size * w.weight;
    all.reserve(blocks.size() * of.size());
    for (int32_t before : blocks)
      for (int32_t here : of)
        all.push_back(before + here);
    blocks = std::move(all);
  }
  return blocks;
}

/// Maps each sender to its receiver. A member that holds the block that it
/// needs keeps it; the others send in ascending order. From [{x, y}] to
/// [{y, x}], with two devices each:
///
///     member   0  1  2  3
///     held     0  1  2  3
///     due      0  2  1  3
///     targets  0  2  1  3    1 and 2 swap their blocks
llvm::SmallVector<int64_t> StepMaker::getTargets(ArrayRef<AxisRef> axes,
                                                 const State &next) const {
  std::vector<int32_t> held = getBlocks(axes, state),
                       due = getBlocks(axes, next);
  auto n = static_cast<int32_t>(held.size());
  // The members that wait for a block: the first of each block, and the next
  // ones.
  std::vector<int32_t> first(*llvm::max_element(due) + 1, -1), after(n, -1);
  for (int32_t i = n; i-- > 0;)
    if (held[i] != due[i]) {
      after[i] = first[due[i]];
      first[due[i]] = i;
    }
  llvm::SmallVector<int64_t> targets(n);
  for (int32_t i = 0; i < n; ++i) {
    targets[i] = i;
    if (held[i] == due[i])
      continue;
    int32_t &receiver = first[held[i]];
    assert(receiver >= 0 && "a block with no receiver");
    targets[i] = receiver;
    receiver = after[receiver];
  }
  return targets;
}

void StepMaker::addCollective(const Move &move, const State &next) {
  ReshardStep step;
  step.kind = move.kind;
  step.axes = space.toAxes(move.axes);
  step.dim = space.getTensorDim(move.dim);
  step.splitDim = space.getTensorDim(move.splitDim);
  step.time = move.time;
  if (move.kind == Kind::Permute) {
    step.axes = space.getPermuteAxes(state, next);
    step.targets = getTargets(mergeAdjacent(step.axes), next);
  }
  step.elements =
      getBytesReceived(*getCollectiveKind(move.kind), space.getLocalSize(state),
                       numShards(step.axes));
  state = next;
  add(std::move(step));
}

void StepMaker::run(const ReshardWay &way) {
  ArrayRef<Move> moves = way.moves;
  for (size_t i = 0; i < moves.size();) {
    size_t end = i;
    while (end < moves.size() && moves[end].kind == Kind::Slice)
      ++end;
    if (end == i) {
      addCollective(moves[i], way.states[i]);
      ++i;
      continue;
    }
    addSlices(moves.slice(i, end - i), way.states[end - 1]);
    i = end;
  }
}

/// Adds the parts that are partial in the target but not yet in the state.
void StepMaker::addPartial(const Sharding &to) {
  std::optional<AxisList> added =
      subtractAxes(to.unreduced, space.toAxes(state.unreduced));
  if (!added || added->empty())
    return;
  ReshardStep step;
  step.kind = Kind::ToPartial;
  step.axes = *added;
  reduction = to.reduction;
  state.unreduced = space.toState(to).unreduced;
  add(std::move(step));
}

/// Fails if there can be no plan.
static llvm::Error check(const Sharding &from, const Sharding &to,
                         ArrayRef<int64_t> shape) {
  if (!from.unreduced.empty() && !to.unreduced.empty() &&
      from.reduction != to.reduction)
    return llvm::createStringError(
        "expects a value partial by " + stringifyReduction(from.reduction) +
        " to stay so, but got " + stringifyReduction(to.reduction));
  for (const Sharding *sharding : {&from, &to})
    for (auto [i, dim, size] : llvm::enumerate(sharding->dims, shape))
      if (int64_t shards = numShards(dim.axes); size % shards != 0)
        return llvm::createStringError(
            "expects " + Twine(shards) + " shards to divide dimension " +
            Twine(i) + ", but got " + Twine(size) + " elements");
  return llvm::Error::success();
}

/// The most moves of a search before it settles for the best way so far.
static constexpr size_t kMaxMoves = 500000, kMaxFinerMoves = 20000;
/// The most parts of axes for which finer splits are tried.
static constexpr size_t kMaxFinerAtoms = 7;

namespace {

/// A space and the best way through it so far.
struct Attempt {
  std::unique_ptr<ReshardSpace> space;
  ReshardWay way;
};

/// Searches ways of one tensor in increasingly fine spaces.
class WayFinder {
public:
  using Cuts = ReshardSpace::Cuts;

  WayFinder(const Mesh &mesh, const MeshLinks &links, const Sharding &from,
            const Sharding &to, ArrayRef<int64_t> shape, int64_t elementBytes,
            const BannedStep *banned)
      : mesh(mesh), links(links), from(from), to(to), shape(shape),
        elementBytes(elementBytes) {
    options.banned = banned;
  }

  /// If `capped`, allows no value larger than the ends.
  Attempt run(bool capped);

private:
  bool isShortest(const Attempt &attempt) const;
  void search(Attempt &attempt, Cuts cuts);

  const Mesh &mesh;
  const MeshLinks &links;
  const Sharding &from, &to;
  ArrayRef<int64_t> shape;
  int64_t elementBytes;
  ReshardSearchOptions options;
  bool capped = true;
};

} // namespace

/// Whether no way through any space is shorter than the known one.
bool WayFinder::isShortest(const Attempt &attempt) const {
  State goal = attempt.space->toState(to);
  ReshardBound bound(*attempt.space, goal);
  return bound.get(attempt.space->toState(from)).time >= options.limit;
}

/// Falls back to a greedy way if the shortest is not found in time.
void WayFinder::search(Attempt &attempt, Cuts cuts) {
  bool isFirst = !attempt.way.found;
  options.limit = isFirst ? std::numeric_limits<double>::infinity()
                          : attempt.way.length * (1 - 1e-9);
  if (!isFirst && isShortest(attempt))
    return;
  auto space = std::make_unique<ReshardSpace>(mesh, links, from, to, shape,
                                              elementBytes, cuts);
  if (!space->isValid() ||
      (attempt.space && space->getNumParts() == attempt.space->getNumParts()))
    return;
  if (attempt.way.found && space->getNumAtoms() > kMaxFinerAtoms)
    return;
  State start = space->toState(from), goal = space->toState(to);
  if (capped)
    options.cap =
        std::max(space->getLocalSize(start), space->getLocalSize(goal));
  options.maxMoves = isFirst ? kMaxMoves : kMaxFinerMoves;
  ReshardWay way = findWay(*space, start, goal, options);
  if (isFirst && !way.found && !way.complete) {
    options.greed = 4;
    options.maxMoves = std::numeric_limits<size_t>::max();
    way = findWay(*space, start, goal, options);
    options.greed = 1;
  }
  if (!way.found)
    return;
  attempt.way = std::move(way);
  attempt.space = std::move(space);
}

Attempt WayFinder::run(bool capped) {
  this->capped = capped;
  options.cap = std::numeric_limits<int64_t>::max();
  options.limit = std::numeric_limits<double>::infinity();
  Attempt attempt;
  search(attempt, Cuts::OfEnds);
  // A final single collective is no slower than its finer splits. Exceptions
  // are a permute, which may have smaller blocks, and a long ring.
  ArrayRef<Move> moves = attempt.way.moves;
  bool isOne = !moves.empty() && moves.back().kind != Kind::Permute &&
               !attempt.space->mayTakeApart() &&
               llvm::all_of(moves.drop_back(), [](const Move &move) {
                 return move.kind == Kind::Slice;
               });
  if (!isOne)
    search(attempt, Cuts::Useful);
  if (!attempt.way.found && capped)
    search(attempt, Cuts::All);
  return attempt;
}

ReshardPlan tessera::planReshard(const Mesh &mesh, const MeshLinks &links,
                                 const Sharding &from, const Sharding &to,
                                 ArrayRef<int64_t> shape, int64_t elementBytes,
                                 const BannedStep *banned) {
  ReshardPlan plan;
  if (llvm::Error error = check(from, to, shape)) {
    plan.error = llvm::toString(std::move(error));
    return plan;
  }
  WayFinder finder(mesh, links, from, to, shape, elementBytes, banned);
  for (bool capped : {true, false}) {
    Attempt attempt = finder.run(capped);
    if (!attempt.way.found)
      continue;
    plan.exceedsEnds = !capped;
    plan.exact = attempt.way.complete;
    StepMaker maker(mesh, *attempt.space, attempt.space->toState(from),
                    from.reduction, plan);
    maker.run(attempt.way);
    maker.addPartial(to);
    return plan;
  }
  plan.error = banned ? "no other way" : "too many parts of axes";
  return plan;
}

double tessera::getLeastReshardTime(const Mesh &mesh, const MeshLinks &links,
                                    const Sharding &from, const Sharding &to,
                                    ArrayRef<int64_t> shape,
                                    int64_t elementBytes) {
  ReshardSpace space(mesh, links, from, to, shape, elementBytes,
                     ReshardSpace::Cuts::OfEnds);
  if (!space.isValid())
    return 0;
  State goal = space.toState(to);
  return ReshardBound(space, goal).get(space.toState(from)).time;
}

//===----------------------------------------------------------------------===//
// Plans that are kept
//===----------------------------------------------------------------------===//

static void addToKey(std::string &key, int64_t number) {
  key.append(reinterpret_cast<const char *>(&number), sizeof(number));
}

static void addToKey(std::string &key, ArrayRef<AxisRef> axes) {
  addToKey(key, axes.size());
  for (const AxisRef &ref : axes) {
    addToKey(key, ref.axis);
    addToKey(key, ref.preSize);
    addToKey(key, ref.size);
  }
}

static void addToKey(std::string &key, const Sharding &sharding) {
  for (const DimSharding &dim : sharding.dims)
    addToKey(key, dim.axes);
  addToKey(key, sharding.unreduced);
  addToKey(key, static_cast<int64_t>(sharding.reduction));
}

const ReshardPlan &ReshardPlanner::plan(const Sharding &from,
                                        const Sharding &to,
                                        ArrayRef<int64_t> shape,
                                        int64_t elementBytes) {
  key.clear();
  addToKey(key, elementBytes);
  for (int64_t n : shape)
    addToKey(key, n);
  addToKey(key, from);
  addToKey(key, to);
  auto [it, isNew] = plans.try_emplace(key);
  if (isNew)
    it->second = planReshard(mesh, links, from, to, shape, elementBytes);
  return it->second;
}
