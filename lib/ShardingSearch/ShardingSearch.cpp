//===- ShardingSearch.cpp - The cheapest shardings of a program -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the network of a program and solves it until all reshards of its
// optimum are planned. Prices start as lower bounds, so an optimum whose prices
// come from plans is an optimum for all prices.
//
//===----------------------------------------------------------------------===//

#include "tessera/ShardingSearch/ShardingSearch.h"
#include "OpPrices.h"
#include "ShardingNetwork.h"
#include "WriteShardings.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Search/Folding.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FileSystem.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

/// Slowdown of kernels that hide a transfer, in percent of the transfer's time.
static constexpr int64_t kOverlapSlowdownPercent = 20;
/// The most solutions that a search returns.
static constexpr size_t kMostFound = 4;
/// The most solves of a network while reshards are planned, on near links and
/// on far links.
static constexpr unsigned kMostRounds = 30, kMostFarRounds = 6;
/// Limits of the solver; nodes of quick solutions, and of the last one.
static constexpr unsigned kSweeps = 60, kQuickNodes = 1, kNodes = 8;
/// Sweeps of min-marginals.
static constexpr unsigned kExplainSweeps = 40;
/// Sweeps that bound solutions with unequal layers.
static constexpr unsigned kBoundSweeps = 30;
/// Gap at which the search ends, for equal layers and for layers that may
/// differ.
static constexpr double kSmallGap = 1e-3;
/// The most multipliers of a memory limit that are tried, and the first
/// multiplier in picoseconds per byte.
static constexpr unsigned kMostMultipliers = 8;
static constexpr double kFirstBytePrice = 0.01;
/// The most changes that are tried to fill the memory.
static constexpr size_t kMostFilled = 256;

/// The axes that shardings may use: all as one unit, and split into two groups
/// of neighbors in each way.
static std::vector<llvm::SmallVector<AxisList, 4>> getUnits(const Mesh &mesh) {
  AxisList axes;
  for (unsigned axis = 0; axis < mesh.sizes.size(); ++axis)
    if (mesh.sizes[axis] > 1 && mesh.stageAxis != axis)
      axes.push_back(mesh.fullAxis(axis));
  std::vector<llvm::SmallVector<AxisList, 4>> all(1);
  if (!axes.empty())
    all.back().push_back(axes);
  ArrayRef<AxisRef> list = axes;
  for (size_t first = 1; first < axes.size(); ++first)
    all.push_back(
        {AxisList(list.take_front(first)), AxisList(list.drop_front(first))});
  return all;
}

/// The number of variables that are not tied to earlier ones.
static size_t countSolved(ArrayRef<unsigned> ties) {
  size_t solved = 0;
  for (auto [variable, tie] : llvm::enumerate(ties))
    solved += variable == tie;
  return solved;
}

/// Keeps the fastest of equal solutions, and the first few of these.
static void keepBest(std::vector<FoundShardings> &found) {
  llvm::stable_sort(found,
                    [](const FoundShardings &a, const FoundShardings &b) {
                      return a.times.overlapped() < b.times.overlapped();
                    });
  auto isSame = [](const FoundShardings &a, const FoundShardings &b) {
    return a.bytes == b.bytes && a.times.kernels == b.times.kernels &&
           a.times.waited == b.times.waited && a.times.beside == b.times.beside;
  };
  found.erase(std::unique(found.begin(), found.end(), isSame), found.end());
  if (found.size() > kMostFound)
    found.resize(kMostFound);
}

namespace {

/// The search of one program.
class Searcher {
public:
  Searcher(ModuleOp module, dist::MeshOp mesh,
           const ShardingSearchOptions &options)
      : module(module), meshOp(mesh), options(options),
        links(getMeshLinks(mesh)), program(module, mesh, constants),
        mesh(mesh.getMesh().toMesh()),
        reshards(this->mesh, links, getWorkRates(module)) {}

  FailureOr<std::vector<FoundShardings>> run();
  /// Runs the search and writes the first solution into the module.
  FailureOr<FoundShardings> runAndWrite();

private:
  LogicalResult checkProgram();
  llvm::Error searchWith(const llvm::SmallVector<AxisList, 4> &units,
                         int64_t hiddenPercent);
  llvm::Expected<search::NetworkSolution>
  solveWithin(const NetworkOptions &network,
              const search::NetworkSolution &unlimited);
  llvm::Expected<std::unique_ptr<ShardingNetwork>>
  makeNetwork(const NetworkOptions &network);
  llvm::Expected<search::NetworkSolution> solve(ShardingNetwork &network);
  llvm::Expected<search::NetworkSolution> solveFolded(ShardingNetwork &network,
                                                      ArrayRef<unsigned> ties);
  llvm::Error explain(const ShardingNetwork &network, ArrayRef<unsigned> states,
                      std::vector<int64_t> &more) const;
  llvm::Error finishSpace(size_t first);
  void offerWithin(ShardingNetwork &free, ArrayRef<unsigned> states,
                   search::NetworkSolution &best) const;
  void mixLayers(ShardingNetwork &free, ArrayRef<unsigned> above,
                 ArrayRef<unsigned> below, search::NetworkSolution &best) const;
  void fillMemory(ShardingNetwork &free, ArrayRef<unsigned> above,
                  search::NetworkSolution &best) const;
  std::vector<std::vector<unsigned>>
  getIncumbents(const ShardingNetwork &network) const;
  search::Messages getMessages(const ShardingNetwork &network) const;
  llvm::Error writeDump(const ShardingNetwork &network,
                        const search::NetworkSolution &solution);

  ModuleOp module;
  dist::MeshOp meshOp;
  const ShardingSearchOptions &options;
  MeshLinks links;
  DenseSet<Operation *> constants;
  ProgramReader program;
  RepeatedBlocks blocks;
  Mesh mesh;
  ReshardPrices reshards;
  std::unique_ptr<OpPrices> ops;
  OpPricer pricer;
  std::vector<FoundShardings> found;
  /// The networks so far, and their solutions.
  struct Solved {
    std::unique_ptr<ShardingNetwork> network;
    std::vector<unsigned> states;
    /// Messages of the network with equal layers merged.
    search::Messages messages;
  };
  std::vector<Solved> solved;
};

} // namespace

/// Makes a network, from one with the same groups of axes if there is one.
llvm::Expected<std::unique_ptr<ShardingNetwork>>
Searcher::makeNetwork(const NetworkOptions &network) {
  for (const Solved &other : solved)
    if (other.network->getOptions().units == network.units)
      return other.network->copyWith(network);
  auto made = std::make_unique<ShardingNetwork>(program.problem, reshards,
                                                pricer, network);
  if (llvm::Error error = made->build())
    return std::move(error);
  return made;
}

/// Initial assignments: only the seeds sharded, and earlier solutions with
/// other groups of axes or another price of hidden transfers.
std::vector<std::vector<unsigned>>
Searcher::getIncumbents(const ShardingNetwork &network) const {
  std::vector<std::vector<unsigned>> all(
      1, std::vector<unsigned>(network.network.variables.size(), 0));
  for (const Solved &other : solved)
    all.push_back(network.translate(*other.network, other.states));
  llvm::erase_if(all, [&](ArrayRef<unsigned> states) {
    return states.empty() ||
           network.network.evaluate(states) >= search::kInfinite;
  });
  return all;
}

/// The messages of the last network with the same groups of axes.
search::Messages Searcher::getMessages(const ShardingNetwork &network) const {
  for (const Solved &other : llvm::reverse(solved))
    if (other.network->getOptions().units == network.getOptions().units)
      return other.messages;
  return {};
}

/// Solves until all reshards of the optimum are planned. Planning only raises
/// costs, so bounds stay valid. Solves quickly until a solution costs what was
/// estimated; the last solve has the full limits.
llvm::Expected<search::NetworkSolution>
Searcher::solveFolded(ShardingNetwork &network, ArrayRef<unsigned> ties) {
  std::vector<std::vector<unsigned>> incumbents = getIncumbents(network);
  search::NetworkSolution best;
  search::Messages messages = getMessages(network);
  bool isQuick = true;
  unsigned rounds = reshards.hasFarLinks() ? kMostFarRounds : kMostRounds;
  for (unsigned round = 0; round < rounds; ++round) {
    search::SolveLimits limits;
    limits.sweeps = kSweeps;
    limits.nodes = isQuick ? kQuickNodes : kNodes;
    search::FoldedNetwork folded(network.network, ties);
    std::vector<std::vector<unsigned>> equal;
    for (ArrayRef<unsigned> states : incumbents)
      if (auto of = folded.fold(states); !of.empty())
        equal.push_back(std::move(of));
    auto solution = search::solve(folded.network, limits, equal, messages);
    if (!solution)
      return solution.takeError();
    messages = std::move(solution->messages);
    solution->states = folded.unfold(solution->states);
    network.planReshards(solution->states);
    int64_t bound = std::max(best.bound, solution->bound);
    // Planning may have raised the cost of an earlier solution.
    if (!best.states.empty())
      best.cost = network.network.evaluate(best.states);
    int64_t cost = network.network.evaluate(solution->states);
    bool isTrue = cost == solution->cost;
    solution->cost = cost;
    if (solution->cost < best.cost || best.states.empty())
      best = std::move(*solution);
    best.bound = std::min(bound, best.cost);
    if (best.gap() <= kSmallGap || bound > options.ceiling ||
        (isTrue && !isQuick))
      break;
    isQuick = !isTrue;
    if (best.cost < search::kInfinite)
      incumbents.assign(1, best.states);
  }
  best.messages = std::move(messages);
  return best;
}

/// The best solution with equal layers, or a better one, with a bound for all
/// solutions.
llvm::Expected<search::NetworkSolution>
Searcher::solve(ShardingNetwork &network) {
  std::vector<unsigned> ties = network.getTies(blocks);
  auto best = solveFolded(network, ties);
  search::FoldedNetwork folded(network.network, ties);
  if (!best ||
      folded.network.variables.size() == network.network.variables.size())
    return best;
  best->bound = 0;
  search::SolveLimits limits;
  limits.sweeps = kBoundSweeps;
  limits.gap = kSmallGap;
  search::NetworkSolution bounded =
      search::boundUnfolded(network.network, folded, *best, limits);
  if (bounded.cost < best->cost) {
    network.planReshards(bounded.states);
    bounded.cost = network.network.evaluate(bounded.states);
  }
  if (bounded.cost < best->cost)
    best->states = std::move(bounded.states);
  best->cost = std::min(best->cost, bounded.cost);
  best->bound = std::min(best->cost, bounded.bound);
  return best;
}

/// Writes the network under a name that describes its solution.
llvm::Error Searcher::writeDump(const ShardingNetwork &network,
                                const search::NetworkSolution &solution) {
  if (options.dump.empty())
    return llvm::Error::success();
  std::error_code code;
  llvm::raw_fd_ostream os(options.dump, code);
  if (code)
    return llvm::createStringError("cannot write " + options.dump + ": " +
                                   code.message());
  network.network.writeCfn(os, "tessera_cost_" + std::to_string(solution.cost) +
                                   "_bound_" + std::to_string(solution.bound));
  return llvm::Error::success();
}

/// Takes an assignment that is within the limit and cheaper than `best`.
void Searcher::offerWithin(ShardingNetwork &free, ArrayRef<unsigned> states,
                           search::NetworkSolution &best) const {
  if (free.getLiveBytes(states) > options.memoryLimit ||
      free.network.evaluate(states) >= best.cost)
    return;
  free.planReshards(states);
  if (int64_t cost = free.network.evaluate(states); cost < best.cost) {
    best.states = states.vec();
    best.cost = cost;
  }
}

/// Mixes two solutions with equal layers, between which no multiplier finds
/// another: one exceeds the limit, one is below. Some layers take the first,
/// the others the second.
void Searcher::mixLayers(ShardingNetwork &free, ArrayRef<unsigned> above,
                         ArrayRef<unsigned> below,
                         search::NetworkSolution &best) const {
  std::vector<int> layers = free.getLayers(blocks);
  for (bool isFirst : {true, false})
    for (int count = 1; count < blocks.numLayers; ++count) {
      std::vector<unsigned> states;
      for (auto [layer, holding, sparing] :
           llvm::zip_equal(layers, above, below))
        states.push_back((layer < count) == isFirst ? holding : sparing);
      offerWithin(free, states, best);
    }
}

/// Variables in which two assignments differ, grouped by shared edges; in order
/// of their first ones.
static std::vector<std::vector<unsigned>>
findDifferences(const search::CostNetwork &network, ArrayRef<unsigned> a,
                ArrayRef<unsigned> b) {
  llvm::IntEqClasses together(a.size());
  auto differs = [&](unsigned variable) { return a[variable] != b[variable]; };
  for (const search::CostNetwork::Edge &edge : network.edges)
    if (differs(edge.first) && differs(edge.second))
      together.join(edge.first, edge.second);
  llvm::MapVector<unsigned, std::vector<unsigned>> groups;
  for (unsigned variable = 0; variable < a.size(); ++variable)
    if (differs(variable))
      groups[together.findLeader(variable)].push_back(variable);
  std::vector<std::vector<unsigned>> all;
  for (auto &[leader, group] : groups)
    all.push_back(std::move(group));
  return all;
}

/// Changes more groups of variables to the states of `above` while memory
/// allows.
void Searcher::fillMemory(ShardingNetwork &free, ArrayRef<unsigned> above,
                          search::NetworkSolution &best) const {
  auto differences = findDifferences(free.network, best.states, above);
  differences.resize(std::min(differences.size(), kMostFilled));
  for (const std::vector<unsigned> &group : differences) {
    std::vector<unsigned> states = best.states;
    for (unsigned variable : group)
      states[variable] = above[variable];
    offerWithin(free, states, best);
  }
}

/// The best solution within the memory limit, by Lagrangian relaxation (Everett
/// 1963) with bisection of the multiplier. Every solution within the limit
/// costs at least the optimum with a multiplier, minus the multiplier times the
/// limit.
llvm::Expected<search::NetworkSolution>
Searcher::solveWithin(const NetworkOptions &plain,
                      const search::NetworkSolution &unlimited) {
  auto unpriced = makeNetwork(plain);
  if (!unpriced)
    return unpriced.takeError();
  ShardingNetwork &free = **unpriced;
  search::NetworkSolution best, smallest;
  int64_t bound = unlimited.bound, least = free.getLiveBytes(unlimited.states);
  if (least <= options.memoryLimit)
    return unlimited;
  std::vector<unsigned> above = unlimited.states, below;
  double low = 0, high = 0;
  for (unsigned round = 0; round < kMostMultipliers; ++round) {
    NetworkOptions priced = plain;
    priced.bytePrice =
        high == 0 ? kFirstBytePrice * std::pow(8, round) : (low + high) / 2;
    std::unique_ptr<ShardingNetwork> network = free.copyWith(priced);
    auto solution = solve(*network);
    if (!solution)
      return solution.takeError();
    int64_t bytes = network->getLiveBytes(solution->states);
    (bytes > options.memoryLimit ? above : below) = solution->states;
    if (bytes < least) {
      least = bytes;
      smallest = *solution;
    }
    bound = std::max(bound, solution->bound -
                                static_cast<int64_t>(
                                    priced.bytePrice *
                                    static_cast<double>(options.memoryLimit)));
    if (bytes > options.memoryLimit) {
      low = priced.bytePrice;
      continue;
    }
    high = priced.bytePrice;
    offerWithin(free, solution->states, best);
  }
  if (!below.empty()) {
    mixLayers(free, above, below, best);
    fillMemory(free, above, best);
  }
  if (best.states.empty() && options.takesLeast && !smallest.states.empty()) {
    best = std::move(smallest);
    free.planReshards(best.states);
    best.cost = free.network.evaluate(best.states);
  }
  if (best.states.empty())
    return llvm::createStringError(
        "expects a memory limit of at least " + llvm::Twine(least) +
        " bytes, the least that a device holds, but got " +
        llvm::Twine(options.memoryLimit));
  best.bound = std::min(bound, best.cost);
  return best;
}

/// Lowers `more` to the additional cost of the best assignments in which an op
/// runs differently, from min-marginals of the network with equal layers merged
/// or, if a solution has none, of the full network.
llvm::Error Searcher::explain(const ShardingNetwork &network,
                              ArrayRef<unsigned> states,
                              std::vector<int64_t> &more) const {
  std::vector<unsigned> ties = network.getTies(blocks);
  if (search::FoldedNetwork(network.network, ties).fold(states).empty())
    for (auto [variable, tie] : llvm::enumerate(ties))
      tie = variable;
  search::FoldedNetwork folded(network.network, ties);
  search::NetworkSolution known;
  known.states = folded.fold(states);
  known.cost = folded.network.evaluate(known.states);
  search::SolveLimits limits;
  limits.sweeps = kExplainSweeps;
  auto marginals = search::minMarginals(folded.network, known, limits);
  if (!marginals)
    return marginals.takeError();
  for (auto [op, least] : llvm::enumerate(more)) {
    unsigned variable = folded.variables[network.getVariable(op)];
    for (auto [state, marginal] : llvm::enumerate((*marginals)[variable]))
      if (marginal.cost < search::kInfinite &&
          !network.runsAlike(op, state, known.states[variable]))
        least =
            std::min(least, std::max<int64_t>(0, marginal.cost - known.cost));
  }
  return llvm::Error::success();
}

/// Searches that differ only in the groups of axes cover one space: its bound
/// is the least one, and an alternative of an op may come from any of them.
llvm::Error Searcher::finishSpace(size_t first) {
  int64_t bound = search::kInfinite;
  for (size_t i = first; i < found.size(); ++i)
    bound = std::min(bound, found[i].bound);
  for (size_t i = first; i < found.size(); ++i) {
    found[i].bound = bound;
    // A memory limit excludes states that the network has.
    if (!options.explains || options.memoryLimit > 0)
      continue;
    auto explained = std::make_shared<ShardingSolution>(*found[i].solution);
    explained->more.assign(explained->ops.size(), search::kInfinite);
    for (size_t j = first; j < found.size(); ++j) {
      std::vector<unsigned> states =
          solved[j].network->translate(*solved[i].network, solved[i].states);
      if (states.empty())
        continue;
      if (llvm::Error error =
              explain(*solved[j].network, states, explained->more))
        return error;
    }
    found[i].solution = explained;
  }
  return llvm::Error::success();
}

/// Fails if no op of the program has a rule that allows sharding.
LogicalResult Searcher::checkProgram() {
  const ShardingProblem &problem = program.problem;
  for (auto [number, op] : llvm::enumerate(problem.ops))
    if (program.isOwn(number) &&
        llvm::any_of(problem.rules[op.rule].factors, [](const Factor &factor) {
          return factor.kind != FactorKind::Replicated;
        }))
      return success();
  return module.emitError(
      "search: expects an op that can be sharded but the program has none");
}

/// Solves with hidden transfers counted at this percentage of their time.
llvm::Error Searcher::searchWith(const llvm::SmallVector<AxisList, 4> &units,
                                 int64_t hiddenPercent) {
  NetworkOptions counted;
  counted.units = units;
  counted.hiddenPercent = hiddenPercent;
  auto network = makeNetwork(counted);
  if (!network)
    return network.takeError();
  auto solution = solve(**network);
  if (solution && options.memoryLimit > 0)
    solution = solveWithin(counted, *solution);
  if (!solution)
    return solution.takeError();
  ShardingNetwork &made = **network;
  auto shardings =
      std::make_shared<ShardingSolution>(made.getSolution(solution->states));
  found.push_back(
      {shardings, solution->cost, solution->bound,
       made.getLiveBytes(solution->states), made.getTimes(solution->states),
       made.network.variables.size(), countSolved(made.getTies(blocks))});
  // The last one has the most axes separate.
  llvm::Error error = writeDump(made, *solution);
  solved.push_back({std::move(*network), std::move(solution->states),
                    std::move(solution->messages)});
  return error;
}

FailureOr<std::vector<FoundShardings>> Searcher::run() {
  ConstantCopies copies;
  copies.split(module);
  constants = copies.getAll();
  if (failed(program.read()) || failed(checkProgram()))
    return failure();
  blocks = options.foldsLayers ? findRepeatedBlocks(program.problem)
                               : RepeatedBlocks(program.problem);
  ops = std::make_unique<OpPrices>(module, program, reshards);
  pricer = [this](unsigned op, const RunState &state) {
    return ops->price(op, state);
  };
  // Seeds may need separate axes.
  std::string error;
  for (int64_t percent : {kOverlapSlowdownPercent, int64_t(100)}) {
    if (!found.empty() &&
        llvm::all_of(found, [&](const FoundShardings &shardings) {
          return shardings.bound > options.ceiling;
        }))
      break;
    size_t first = found.size();
    for (const auto &units : getUnits(mesh))
      if (llvm::Error failed = searchWith(units, percent)) {
        std::string text = llvm::toString(std::move(failed));
        error = error.empty() ? text : error;
      }
    if (llvm::Error failed = finishSpace(first))
      return module.emitError("search: ") << llvm::toString(std::move(failed));
  }
  if (found.empty())
    return module.emitError("search: expects seeds and constraints that can "
                            "hold together: ")
           << error;
  keepBest(found);
  return std::move(found);
}

FailureOr<FoundShardings> Searcher::runAndWrite() {
  FailureOr<std::vector<FoundShardings>> all = run();
  if (failed(all))
    return failure();
  writeShardings(program, *all->front().solution, meshOp);
  return all->front();
}

FailureOr<std::vector<FoundShardings>>
tessera::searchShardings(ModuleOp module,
                         const ShardingSearchOptions &options) {
  FailureOr<dist::MeshOp> mesh = dist::getOnlyMesh(module);
  if (failed(mesh))
    return failure();
  return Searcher(module, *mesh, options).run();
}

FailureOr<FoundShardings>
tessera::searchAndApplyShardings(ModuleOp module,
                                 const ShardingSearchOptions &options) {
  FailureOr<dist::MeshOp> mesh = dist::getOnlyMesh(module);
  if (failed(mesh))
    return failure();
  return Searcher(module, *mesh, options).runAndWrite();
}

LogicalResult tessera::applyShardings(ModuleOp module,
                                      const FoundShardings &found) {
  FailureOr<dist::MeshOp> mesh = dist::getOnlyMesh(module);
  if (failed(mesh))
    return failure();
  ConstantCopies copies;
  copies.split(module);
  DenseSet<Operation *> constants = copies.getAll();
  ProgramReader program(module, *mesh, constants);
  if (failed(program.read()))
    return failure();
  if (program.problem.ops.size() != found.solution->ops.size() ||
      program.problem.tensors.size() != found.solution->tensors.size())
    return module.emitError("search: expects a program of ")
           << found.solution->ops.size() << " ops and "
           << found.solution->tensors.size() << " tensors but got "
           << program.problem.ops.size() << " and "
           << program.problem.tensors.size();
  writeShardings(program, *found.solution, *mesh);
  return success();
}
