//===- RepeatedBlocks.cpp - Equal layers of a program ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RepeatedBlocks.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <numeric>
#include <set>

using namespace tessera;

/// How many steps around an op the others must look equal.
static constexpr unsigned kSteps = 2;
/// The least share of the best run's savings that a run must save: shorter ones
/// are repetitions within a layer.
static constexpr size_t kLeastShare = 16;
/// The most uses of a tensor that belongs to one or two layers.
static constexpr size_t kMostVoters = 16;

namespace {

using Key = std::vector<int64_t>;

/// A range of ops in which each op from `begin + period` on equals the op one
/// period earlier.
struct Run {
  unsigned begin = 0, end = 0, period = 1;
  /// Layer of its copy c: shift + sign * c.
  int sign = 1, shift = 0;
  /// Ops that equal an earlier one.
  size_t countSaved() const { return end - begin - period; }
  int getCopy(unsigned op) const {
    return static_cast<int>((op - begin) / period);
  }
  int getLayer(unsigned op) const { return shift + sign * getCopy(op); }
};

class BlockFinder {
public:
  explicit BlockFinder(const ShardingProblem &problem)
      : problem(problem), users(problem.tensors.size()),
        runOf(problem.ops.size(), ShardingProblem::kNone), blocks(problem) {}

  RepeatedBlocks run();

private:
  void findUsers();
  void colorOps();
  std::vector<unsigned> getPeriods() const;
  Run findBestRun(llvm::ArrayRef<unsigned> periods) const;
  void findRuns();
  void tieOps();
  void tieTensors();
  void alignRun(unsigned run);
  void numberLayers();
  void spreadLayers();

  const ShardingProblem &problem;
  /// The op and port of each use of a tensor.
  std::vector<std::vector<std::pair<unsigned, unsigned>>> users;
  /// Equal for ops that look equal.
  std::vector<unsigned> colors;
  std::vector<Run> runs;
  std::vector<unsigned> runOf;
  RepeatedBlocks blocks;
};

/// Numbers keys in order of appearance.
class Numbering {
public:
  unsigned number(const Key &key) {
    return numbers.try_emplace(key, numbers.size()).first->second;
  }

private:
  std::map<Key, unsigned> numbers;
};

} // namespace

RepeatedBlocks::RepeatedBlocks(const ShardingProblem &problem)
    : ops(problem.ops.size()), tensors(problem.tensors.size()),
      layers(problem.ops.size()) {
  std::iota(ops.begin(), ops.end(), 0u);
  std::iota(tensors.begin(), tensors.end(), 0u);
}

void BlockFinder::findUsers() {
  for (auto [i, op] : llvm::enumerate(problem.ops))
    for (auto [p, port] : llvm::enumerate(op.ports))
      if (port.tensor != ShardingProblem::kNone)
        users[port.tensor].push_back({i, p});
}

static void addAxes(Key &key, const AxisList &axes) {
  for (const AxisRef &axis : axes)
    key.insert(key.end(), {axis.axis, axis.preSize, axis.size});
  key.push_back(-1);
}

std::vector<int64_t>
tessera::describeTensor(const ShardingProblem::Tensor &tensor) {
  Key key(tensor.shape.begin(), tensor.shape.end());
  key.insert(key.end(), {-1, tensor.elementBytes, tensor.isStored,
                         tensor.isArgument, tensor.isSum});
  for (const DimSharding &dim : tensor.seed.dims) {
    key.push_back(dim.open);
    addAxes(key, dim.axes);
  }
  addAxes(key, tensor.seed.replicated);
  addAxes(key, tensor.seed.unreduced);
  for (unsigned dim : tensor.exactDims.set_bits())
    key.push_back(dim);
  return key;
}

/// Color refinement (Weisfeiler and Leman 1968), a few rounds: an op gets a new
/// color from the colors of its tensors, a tensor from the set of its users'
/// colors. With more rounds, the ends of the program would influence all
/// colors.
void BlockFinder::colorOps() {
  Numbering ofTensors;
  std::vector<unsigned> plain, tensors;
  for (const ShardingProblem::Tensor &tensor : problem.tensors)
    plain.push_back(ofTensors.number(describeTensor(tensor)));
  tensors = plain;
  for (const ShardingProblem::Op &op : problem.ops)
    colors.push_back(op.kind);
  for (unsigned step = 0; step <= kSteps; ++step) {
    Numbering numbering;
    std::vector<unsigned> next;
    for (auto [op, color] : llvm::zip_equal(problem.ops, colors)) {
      Key key{color, op.trips};
      for (const ShardingProblem::Port &port : op.ports)
        key.push_back(
            port.tensor == ShardingProblem::kNone ? -1 : tensors[port.tensor]);
      next.push_back(numbering.number(key));
    }
    colors = std::move(next);
    Numbering tensorNumbering;
    for (unsigned t = 0; t < tensors.size(); ++t) {
      std::set<std::pair<unsigned, unsigned>> seen;
      for (auto [op, port] : users[t])
        seen.insert({colors[op], port});
      Key key{plain[t]};
      for (auto [color, port] : seen)
        key.insert(key.end(), {color, port});
      tensors[t] = tensorNumbering.number(key);
    }
  }
}

/// The distances between an op and the next one that looks equal.
std::vector<unsigned> BlockFinder::getPeriods() const {
  std::set<unsigned> periods;
  std::map<unsigned, unsigned> last;
  for (auto [op, color] : llvm::enumerate(colors)) {
    auto [it, isNew] = last.try_emplace(color, op);
    if (!isNew)
      periods.insert(op - it->second);
    it->second = op;
  }
  return {periods.begin(), periods.end()};
}

/// The run that saves most among ops outside of runs; the one with the shortest
/// period among equal ones.
Run BlockFinder::findBestRun(llvm::ArrayRef<unsigned> periods) const {
  Run best{0, 1, 1};
  unsigned count = colors.size();
  for (unsigned period : periods) {
    unsigned begin = 0;
    for (unsigned op = 0; op + period < count; ++op) {
      if (runOf[op] != ShardingProblem::kNone ||
          runOf[op + period] != ShardingProblem::kNone ||
          colors[op] != colors[op + period]) {
        begin = op + 1;
        continue;
      }
      Run run{begin, op + period + 1, period};
      if (run.countSaved() >= period && run.countSaved() > best.countSaved())
        best = run;
    }
  }
  return best;
}

void BlockFinder::findRuns() {
  std::vector<unsigned> periods = getPeriods();
  while (true) {
    Run run = findBestRun(periods);
    size_t saved = run.countSaved();
    if (saved == 0 ||
        (!runs.empty() && saved * kLeastShare < runs.front().countSaved()))
      return;
    std::fill(runOf.begin() + run.begin, runOf.begin() + run.end, runs.size());
    runs.push_back(run);
  }
}

void BlockFinder::tieOps() {
  for (const Run &run : runs)
    for (unsigned op = run.begin + run.period; op < run.end; ++op)
      blocks.ops[op] = blocks.ops[op - run.period];
}

/// Ties tensors if the ops that use them are tied.
void BlockFinder::tieTensors() {
  std::map<Key, unsigned> first;
  for (auto [t, tensor] : llvm::enumerate(problem.tensors)) {
    Key key = describeTensor(tensor);
    key.push_back(-2);
    for (auto [op, port] : users[t])
      key.insert(key.end(), {blocks.ops[op], port});
    blocks.tensors[t] = first.try_emplace(key, t).first->second;
  }
}

/// Finds the layers of a run's copies from the layers of earlier runs: most
/// tensors between two runs belong to one layer. The first copy of the backward
/// is the last layer.
void BlockFinder::alignRun(unsigned number) {
  Run &mine = runs[number];
  std::map<std::pair<int, int>, unsigned> votes;
  for (const auto &at : users) {
    // Skips tensors that many layers share.
    if (at.size() > kMostVoters)
      continue;
    for (auto [op, port] : at)
      for (auto [other, otherPort] : at)
        if (runOf[op] == number && runOf[other] < number)
          for (int sign : {1, -1})
            ++votes[{sign, runs[runOf[other]].getLayer(other) -
                               sign * mine.getCopy(op)}];
  }
  unsigned most = 0;
  for (auto [way, count] : votes)
    if (count > most) {
      most = count;
      std::tie(mine.sign, mine.shift) = way;
    }
}

/// Gives ops outside of runs the layer of the nearest op in a run.
void BlockFinder::spreadLayers() {
  std::vector<bool> isKnown;
  std::vector<unsigned> front;
  for (auto [op, run] : llvm::enumerate(runOf)) {
    isKnown.push_back(run != ShardingProblem::kNone);
    if (run != ShardingProblem::kNone)
      front.push_back(op);
  }
  while (!front.empty()) {
    std::vector<unsigned> next;
    for (unsigned op : front)
      for (const ShardingProblem::Port &port : problem.ops[op].ports) {
        if (port.tensor == ShardingProblem::kNone)
          continue;
        for (auto [other, index] : users[port.tensor])
          if (!isKnown[other]) {
            isKnown[other] = true;
            blocks.layers[other] = blocks.layers[op];
            next.push_back(other);
          }
      }
    front = std::move(next);
  }
}

void BlockFinder::numberLayers() {
  if (runs.empty())
    return;
  for (unsigned run = 1; run < runs.size(); ++run)
    alignRun(run);
  int least = 0, most = 0;
  for (auto [op, run] : llvm::enumerate(runOf))
    if (run != ShardingProblem::kNone) {
      blocks.layers[op] = runs[run].getLayer(op);
      least = std::min(least, blocks.layers[op]);
      most = std::max(most, blocks.layers[op]);
    }
  spreadLayers();
  for (int &layer : blocks.layers)
    layer -= least;
  blocks.numLayers = most - least + 1;
}

RepeatedBlocks BlockFinder::run() {
  findUsers();
  colorOps();
  findRuns();
  tieOps();
  tieTensors();
  numberLayers();
  return std::move(blocks);
}

RepeatedBlocks tessera::findRepeatedBlocks(const ShardingProblem &problem) {
  return BlockFinder(problem).run();
}
