//===- StageSplit.cpp - Split points of a local program -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A split before a block of a decoder sends the input of the block. A split
// within the block sends the sum of the input and the output of attention,
// which is as large. At other points more bytes are alive:
//
//     x --+--> norm --> attention --+--> x' --+--> norm --> MLP --+--> x"
//         +-------------------------+         +------------------+
//       1 point      2 values        1 point       2 values
//
//===----------------------------------------------------------------------===//

#include "StageSplit.h"
#include "dialects/RT/RT.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/Interfaces/ModelBlocks.h"
#include "tessera/LocalCollectives/OpRuns.h"
#include <set>

using namespace mlir;
using namespace tessera;
using schedule::SplitPoints;
using schedule::SplitProblem;

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

namespace {
/// The order of the forward, and the bytes alive at each of its points.
class ForwardOrder {
public:
  explicit ForwardOrder(dist::AccumulateOp op);

  SplitCandidates findCandidates() const;

private:
  /// The latest of the points from `begin` to `end` with the fewest bytes.
  size_t findLatest(size_t begin, size_t end) const;
  size_t findMiddle(size_t begin, size_t end) const;

  SmallVector<Operation *> ops;
  /// The first op of each block; the last block ends before the ops from `tail`
  /// on.
  SmallVector<size_t> blockStarts;
  size_t tail = 0;
  /// Bytes alive before each op.
  std::vector<double> alive;
};
} // namespace

ForwardOrder::ForwardOrder(dist::AccumulateOp accumulate) {
  Block &body = accumulate.getBody().front();
  StageAssignment classes(accumulate, {});
  std::vector<unsigned> numbers =
      numberModelBlocks(body, dist::findBackward(body));
  llvm::DenseMap<Operation *, size_t> positions;
  unsigned seen = 0;
  for (auto [op, number] : llvm::zip(body, numbers)) {
    if (classes.getClass(&op) != TaskClass::Forward)
      continue;
    if (number > seen) {
      seen = number;
      blockStarts.push_back(ops.size());
      tail = 0;
    }
    // An op outside of blocks, or a later use of the last block's parameters.
    if (number == 0 && seen > 0 && tail == 0)
      tail = ops.size();
    positions[&op] = ops.size();
    ops.push_back(&op);
  }
  if (tail == 0)
    tail = ops.size();
  std::vector<double> changes(ops.size() + 1, 0);
  for (auto [i, op] : llvm::enumerate(ops))
    for (Value result : op->getResults()) {
      size_t last = i;
      for (Operation *user : result.getUsers())
        if (auto it = positions.find(body.findAncestorOpInBlock(*user));
            it != positions.end())
          last = std::max(last, it->second);
      changes[i + 1] += getTensorBytes(result.getType());
      changes[last + 1 > i + 1 ? last + 1 : i + 1] -=
          getTensorBytes(result.getType());
    }
  double sum = 0;
  for (size_t i = 0; i < ops.size(); ++i)
    alive.push_back(sum += changes[i]);
}

size_t ForwardOrder::findLatest(size_t begin, size_t end) const {
  size_t best = end;
  for (size_t i = end; i-- > begin;)
    if (alive[i] < alive[best])
      best = i;
  return best;
}

/// The point between two others with the fewest bytes; the middle one of equal
/// points. `end` if there is none.
size_t ForwardOrder::findMiddle(size_t begin, size_t end) const {
  auto getDistance = [&](size_t i) {
    size_t twice = 2 * i, middle = begin + end;
    return twice > middle ? twice - middle : middle - twice;
  };
  size_t best = end;
  for (size_t i = begin + 1; i < end; ++i)
    if (best == end || alive[i] < alive[best] ||
        (alive[i] == alive[best] && getDistance(i) < getDistance(best)))
      best = i;
  return best;
}

SplitCandidates ForwardOrder::findCandidates() const {
  // The points before the blocks and after the last one.
  SmallVector<size_t> points;
  for (size_t start : blockStarts)
    points.push_back(
        start == 0 ? 0
                   : findLatest(points.empty() ? 1 : points.back() + 1, start));
  if (points.empty())
    return {};
  bool hasTail = tail < ops.size();
  points.push_back(hasTail ? findLatest(points.back() + 1, tail) : ops.size());
  SplitCandidates found;
  found.blocks = static_cast<int64_t>(blockStarts.size());
  SmallVector<SplitCandidate> &candidates = found.points;
  for (size_t block = 0; block + 1 < points.size(); ++block) {
    // There may be no ops before the first block.
    if (blockStarts[block] > 0)
      candidates.push_back({ops[points[block]], double(block)});
    size_t middle = findMiddle(points[block], points[block + 1]);
    if (middle != points[block + 1])
      candidates.push_back({ops[middle], double(block) + 0.5});
  }
  if (hasTail)
    candidates.push_back({ops[points.back()], double(found.blocks)});
  return found;
}

SplitCandidates tessera::findSplitCandidates(dist::AccumulateOp op) {
  return ForwardOrder(op).findCandidates();
}

//===----------------------------------------------------------------------===//
// Seconds
//===----------------------------------------------------------------------===//

/// True if the op runs in one kernel with neighbours of its kind.
static bool fuses(Operation *op) {
  CostKind kind = getOpCost(op).kind;
  return kind == CostKind::Elementwise || kind == CostKind::RowReduction;
}

WorkRates tessera::getTargetRates(Operation *op) {
  return findWorkRates(op).value_or(
      rt::getTarget(op) == rt::Target::Host ? kCoreRates : kGpuRates);
}

static double getOpSeconds(Operation *op, const WorkRates &rates) {
  if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op);
      collective && collective.getCollectiveKind()) {
    dist::MeshOp mesh = dist::lookupMesh(op, collective.getMeshAttr());
    Mesh plain = mesh.getMesh().toMesh();
    return getCollectiveTime(getMeshLinks(mesh), plain,
                             *collective.getCollectiveKind(),
                             getTensorBytes(op->getOperand(0).getType()),
                             collective.getAxes().toAxes(plain));
  }
  double bytes = getWorkBytes(op, rates);
  if (!fuses(op))
    return bytes / rates.bytesPerSecond;
  // Values in registers are neither written nor read.
  for (Value operand : op->getOperands())
    if (Operation *def = operand.getDefiningOp();
        def && def->getBlock() == op->getBlock() && fuses(def))
      bytes -= getTensorBytes(operand.getType());
  for (Value result : op->getResults())
    if (llvm::all_of(result.getUsers(), [&](Operation *user) {
          return user->getBlock() == op->getBlock() && fuses(user);
        }))
      bytes -= getTensorBytes(result.getType());
  return std::max(bytes, 0.0) / rates.bytesPerSecond;
}

double tessera::getTaskSeconds(Operation *op, const WorkRates &rates) {
  return sumOverRuns(
      op, [&](Operation *inner) { return getOpSeconds(inner, rates); });
}

/// Adds the time of an op to a task of a segment, and the time of the ops on
/// parameters alone that it uses, once per task.
namespace {
class TimeSum {
public:
  TimeSum(const StageAssignment &assignment, const WorkRates &rates,
          SplitProblem &problem)
      : assignment(assignment), rates(rates), problem(problem) {}

  void add(Operation *op) {
    bool isForward = assignment.getClass(op) == TaskClass::Forward;
    add(op, assignment.getStage(op),
        isForward                     ? 0
        : assignment.isWeightGrad(op) ? 2
                                      : 1);
  }

private:
  void add(Operation *op, int segment, int task) {
    schedule::ChunkTimes &times = problem.segments[segment];
    (task == 0   ? times.forward
     : task == 1 ? times.inputGrad
                 : times.weightGrad) += getTaskSeconds(op, rates);
    forEachUsedValue(op, [&](Value value) {
      Operation *def = value.getDefiningOp();
      if (def && def->getBlock() == op->getBlock() &&
          assignment.getClass(def) == TaskClass::Parameter &&
          cloned.insert({def, segment, task}).second)
        add(def, segment, task);
    });
  }

  const StageAssignment &assignment;
  WorkRates rates;
  SplitProblem &problem;
  /// Only looked up.
  std::set<std::tuple<Operation *, int, int>> cloned;
};
} // namespace

SplitProblem tessera::makeSplitProblem(dist::AccumulateOp op,
                                       ArrayRef<SplitCandidate> candidates,
                                       int stages) {
  StageAssignment assignment(
      op, llvm::map_to_vector(candidates,
                              [](const SplitCandidate &c) { return c.op; }));
  SplitProblem problem;
  problem.stages = stages;
  problem.segments.resize(candidates.size() + 1);
  problem.points.resize(candidates.size());
  TimeSum times(assignment, getTargetRates(op), problem);
  // Additions of terms of several stages leave the micro-batch.
  llvm::SmallPtrSet<Operation *, 8> additions;
  for (Value yielded : op.getBody().front().getTerminator()->getOperands())
    (void)assignment.getTerms(yielded, additions);
  for (Operation &inner : op.getBody().front().without_terminator()) {
    TaskClass kind = assignment.getClass(&inner);
    if ((kind != TaskClass::Forward && kind != TaskClass::Backward) ||
        additions.contains(&inner))
      continue;
    times.add(&inner);
    // The segments that use the result in the same pass.
    int from = assignment.getStage(&inner), to = from;
    for (Value result : inner.getResults()) {
      to = from;
      for (Operation *user : result.getUsers()) {
        Operation *here = op.getBody().front().findAncestorOpInBlock(*user);
        if (here->hasTrait<OpTrait::IsTerminator>() ||
            additions.contains(here) || assignment.getClass(here) != kind)
          continue;
        int stage = assignment.getStage(here);
        to = kind == TaskClass::Forward ? std::max(to, stage)
                                        : std::min(to, stage);
      }
      double bytes = getTensorBytes(result.getType());
      for (int i = from; i < to; ++i)
        problem.points[i].activation += bytes;
      for (int i = to; i < from; ++i)
        problem.points[i].gradient += bytes;
    }
  }
  return problem;
}

//===----------------------------------------------------------------------===//
// Blocks of stages
//===----------------------------------------------------------------------===//

std::vector<double> tessera::getStageLayers(const SplitCandidates &candidates,
                                            const SplitPoints &points) {
  std::vector<double> layers;
  double before = 0;
  for (int point : points) {
    layers.push_back(candidates.points[point - 1].blocks - before);
    before = candidates.points[point - 1].blocks;
  }
  layers.push_back(double(candidates.blocks) - before);
  return layers;
}

static std::string printBlocks(double blocks) {
  auto whole = static_cast<int64_t>(blocks);
  return std::to_string(whole) + (double(whole) == blocks ? "" : ".5");
}

llvm::Expected<SplitPoints>
tessera::findSplitPoints(const SplitCandidates &candidates,
                         ArrayRef<double> layers) {
  SplitPoints points;
  double before = 0;
  for (auto [stage, blocks] : llvm::enumerate(layers.drop_back())) {
    before += blocks;
    const auto *found =
        llvm::find_if(candidates.points, [&](const SplitCandidate &candidate) {
          return candidate.blocks == before;
        });
    int number = static_cast<int>(found - candidates.points.begin()) + 1;
    if (found == candidates.points.end() ||
        (!points.empty() && number <= points.back()))
      return llvm::createStringError(
          "stage-layers: expects a point of the model after " +
          printBlocks(before) + " blocks to begin stage " +
          llvm::Twine(stage + 1) + ", and after more than begin stage " +
          llvm::Twine(stage) + ", but got none");
    points.push_back(number);
  }
  return points;
}
