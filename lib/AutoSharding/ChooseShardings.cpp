//===- ChooseShardings.cpp - The best of searched and named shardings -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cost network of a search does not model later passes: they delay
// reductions, merge collectives and overlap them with kernels. So the best
// plans of the search and the named strategies go through all phases up to a
// planned arena, and the one with the smallest makespan is taken:
//
//     input --> plan, train --> search --> plan 1 --> ... schedule --> 812 us
//                                      --> plan 2 --> ... schedule --> 805 us
//           --> dp,tp           -----------------> ... schedule --> 840 us
//
// All of it is on copies of the module. Named strategies of a model with many
// equal blocks are tried on models with few of them, and the fastest of these
// is compiled.
//
//===----------------------------------------------------------------------===//

#include "CandidatePrograms.h"
#include "ShortModel.h"
#include "StrategyFamilies.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Cluster/MeshChoices.h"
#include "tessera/Collectives/Makespan.h"
#include "tessera/Partition/Latents.h"
#include "tessera/Propagation/Passes.h"
#include "tessera/ShardingSearch/Decisions.h"
#include "tessera/ShardingSearch/Passes.h"
#include <limits>

using namespace mlir;
using namespace tessera;

/// Meshes whose networks differ by less than this share count as equally fast.
static constexpr double kFasterBy = 1e-3;
/// Relative difference between the times of network and scheduled program above
/// which a remark is emitted.
static constexpr double kMismatch = 0.03;
/// Maximum number of searches until an arena is within the limit, and the
/// maximum share of the last solution's bytes for the next one.
static constexpr unsigned kMostCompilations = 5;
static constexpr double kLessMemory = 0.95;

/// Number of strategy families all of whose members are tried, in addition to
/// the ones after which the axes are named.
static constexpr size_t kMostFamilies = 4;

/// Named strategies of a model of more than kMostBlocks equal blocks are tried
/// on two models, of kFewBlocks of these and of one more.
static constexpr unsigned kMostBlocks = 12, kFewBlocks = 3;

/// If several meshes are searched: the number of meshes whose programs are
/// tried, and the maximum ratio of their networks' time to the fastest one's.
static constexpr size_t kMostMeshes = 3;
static constexpr double kFarAbove = 1.1;
/// The same factor if programs are measured, since the model may err.
static constexpr double kFarAboveMeasured = 1.5;

namespace {

/// The program on a mesh, and the shardings that a search found for it.
struct SearchedMesh {
  /// The mesh, if it is chosen.
  std::optional<Mesh> mesh;
  OwningOpRef<ModuleOp> program;
  std::vector<FoundShardings> found;

  /// Returns the picoseconds of the fastest network.
  int64_t getCost() const {
    int64_t cost = found.front().cost;
    for (const FoundShardings &shardings : found)
      cost = std::min(cost, shardings.cost);
    return cost;
  }
};

class Chooser {
public:
  Chooser(ModuleOp module, const PipelineOptions &phases,
          const AutoShardingOptions &options)
      : module(module), phases(phases), options(options) {
    this->phases.collectiveReport.clear();
    this->phases.shardingsOut = nullptr;
    unsigned blocks = countEqualBlocks(module);
    if (blocks <= kMostBlocks)
      return;
    fewer = shortenModel(module, kFewBlocks);
    more = shortenModel(module, kFewBlocks + 1);
    dropped = blocks - kFewBlocks - 1;
  }

  FailureOr<std::vector<ShardingChoice>> run();

private:
  FailureOr<std::vector<ShardingChoice>> takeDecisions();
  FailureOr<std::vector<FoundShardings>>
  searchCopy(ModuleOp program, const ShardingSearchOptions &search);
  LogicalResult searchOn(SearchedMesh &on, const ShardingSearchOptions &search);
  FailureOr<std::vector<Mesh>> getMeshes();
  FailureOr<std::vector<SearchedMesh>> searchMeshes();
  LogicalResult searchAll(std::vector<SearchedMesh> &searched);
  void tryWithin(const SearchedMesh &on);
  void tryMeshes(ArrayRef<SearchedMesh> searched);
  std::optional<int64_t> tryFound(const SearchedMesh &on,
                                  ArrayRef<FoundShardings> found);
  void tryNamed(const SearchedMesh &on);
  void trySharded(const SearchedMesh &on, Strategy strategy);
  std::optional<ShardingChoice>
  tryExperts(const SearchedMesh &on, const Mesh &mesh, const Strategy &plain);
  FailureOr<ShardingChoice> compile(ModuleOp model,
                                    const ShardingChoice &candidate,
                                    const PipelineOptions &trial,
                                    std::string &error);
  FailureOr<ShardingChoice> estimate(const ShardingChoice &candidate,
                                     std::string &error);
  void compileFastest();
  std::optional<ShardingChoice> tryOne(const ShardingChoice &candidate,
                                       bool estimates = false);
  std::optional<ShardingChoice> tryStrategy(const SearchedMesh &on,
                                            const Strategy &strategy);
  std::vector<ShardingChoice> rank();
  LogicalResult write(ShardingChoice &choice, ArrayRef<SearchedMesh> searched);
  void remarkOnMismatch(const ShardingChoice &searched);
  bool fits(const ShardingChoice &made) const {
    return options.memoryLimit == 0 || made.arenaBytes <= options.memoryLimit;
  }

  ModuleOp module;
  /// Models with few of the equal blocks, one apart, and the number of blocks
  /// that `more` lacks; null where each program is compiled as it is.
  OwningOpRef<ModuleOp> fewer, more;
  int64_t dropped = 0;
  PipelineOptions phases;
  const AutoShardingOptions &options;
  /// Bytes of the smallest arena of a candidate.
  int64_t least = std::numeric_limits<int64_t>::max();
  /// Seconds of the fastest candidate on the last mesh that was tried.
  double fastest = 0;
  /// All candidates within the limit.
  std::vector<ShardingChoice> within;
};

} // namespace

/// Returns the bytes of the largest arena of a module.
static int64_t getArenaBytes(ModuleOp module) {
  int64_t most = 0;
  for (auto func : module.getOps<func::FuncOp>())
    if (auto bytes =
            func->getAttrOfType<IntegerAttr>(rt::RTDialect::kArenaBytesAttr))
      most = std::max(most, bytes.getInt());
  return most;
}

/// Compiles a candidate through all phases. Fails, with the first error in
/// `error`, if a phase fails.
FailureOr<ShardingChoice> Chooser::compile(ModuleOp model,
                                           const ShardingChoice &candidate,
                                           const PipelineOptions &trial,
                                           std::string &error) {
  ScopedDiagnosticHandler silence(module.getContext(), [&](Diagnostic &found) {
    if (error.empty() && found.getSeverity() == DiagnosticSeverity::Error)
      error = found.str();
    return success();
  });
  auto program = prepareStep(model, getPhases(candidate, trial));
  if (failed(program))
    return failure();
  PassManager pm(module.getContext());
  pm.enableVerifier(trial.verifyEach);
  if (candidate.found.solution)
    pm.addPass(createSearchShardingsPass(candidate.found));
  for (Phase phase :
       {Phase::Propagate, Phase::Partition, Phase::Kernels, Phase::Schedule})
    buildPhase(pm, phase, trial);
  if (failed(pm.run(**program)))
    return failure();
  ShardingChoice made = candidate;
  made.seconds = getMakespan(**program);
  made.arenaBytes = getArenaBytes(**program);
  return made;
}

/// Returns what compile() would of the whole model: time and arena grow by as
/// much with each block.
FailureOr<ShardingChoice> Chooser::estimate(const ShardingChoice &candidate,
                                            std::string &error) {
  auto few = compile(*fewer, candidate, phases, error);
  if (failed(few))
    return failure();
  auto made = compile(*more, candidate, phases, error);
  if (failed(made))
    return failure();
  made->seconds += double(dropped) * (made->seconds - few->seconds);
  made->arenaBytes += dropped * (made->arenaBytes - few->arenaBytes);
  made->isEstimated = true;
  return made;
}

/// Compiles the fastest candidates until as many as are asked for are not
/// estimated. Candidates that do not get through, or are above the limit, are
/// dropped.
void Chooser::compileFastest() {
  auto isFaster = [](const ShardingChoice &a, const ShardingChoice &b) {
    return a.seconds < b.seconds;
  };
  for (size_t i = 0; i < std::min<size_t>(within.size(),
                                          std::max(options.numMeasured, 1u));) {
    std::stable_sort(within.begin() + i, within.end(), isFaster);
    if (!within[i].isEstimated) {
      ++i;
      continue;
    }
    ShardingChoice candidate = within[i];
    candidate.isEstimated = false;
    within.erase(within.begin() + i);
    tryOne(candidate);
  }
}

/// Tries a candidate, and keeps it if it is within the limit. With `estimates`
/// programs of few blocks tell the time of many. Returns none if a phase fails.
std::optional<ShardingChoice> Chooser::tryOne(const ShardingChoice &candidate,
                                              bool estimates) {
  std::string error;
  FailureOr<ShardingChoice> made =
      estimates && fewer && more ? estimate(candidate, error)
                                 : compile(module, candidate, phases, error);
  if (failed(made)) {
    remark::missed(
        module.getLoc(),
        remark::RemarkOpts::name("TriedShardings").category("propagation"))
        << remark::add("shardings of {0} do not get through the phases: {1}",
                       describeChoice(candidate), error);
    return std::nullopt;
  }
  least = std::min(least, made->arenaBytes);
  fastest = fastest == 0 ? made->seconds : std::min(fastest, made->seconds);
  remark::analysis(
      module.getLoc(),
      remark::RemarkOpts::name("TriedShardings").category("propagation"))
      << remark::add("shardings of {0}{1}", describeChoice(*made),
                     made->isEstimated ? ", by few blocks" : "")
      << remark::metric("us", made->seconds * 1e6)
      << remark::metric("arenaBytes", made->arenaBytes)
      << remark::metric("kernelUs", double(made->found.times.kernels) * 1e-6)
      << remark::metric("waitedUs", double(made->found.times.waited) * 1e-6)
      << remark::metric("besideUs", double(made->found.times.beside) * 1e-6);
  if (fits(*made))
    within.push_back(*made);
  return *made;
}

/// Tries the shardings of a search and returns the bytes of the smallest arena.
std::optional<int64_t> Chooser::tryFound(const SearchedMesh &on,
                                         ArrayRef<FoundShardings> found) {
  std::optional<int64_t> smallest;
  for (const FoundShardings &shardings : found) {
    ShardingChoice candidate;
    candidate.mesh = on.mesh;
    candidate.strategy = phases.layout.strategy;
    candidate.found = shardings;
    std::optional<ShardingChoice> made = tryOne(candidate);
    if (made && (!smallest || made->arenaBytes < *smallest))
      smallest = made->arenaBytes;
  }
  return smallest;
}

std::optional<ShardingChoice> Chooser::tryStrategy(const SearchedMesh &on,
                                                   const Strategy &strategy) {
  ShardingChoice candidate;
  candidate.mesh = on.mesh;
  candidate.strategy = strategy;
  return tryOne(candidate, /*estimates=*/true);
}

/// Returns the largest number of experts that tokens of a program go to; 0
/// without experts.
static int64_t countExperts(ModuleOp module) {
  int64_t most = 0;
  module.walk([&](nn::ExpertsOp op) {
    most = std::max<int64_t>(most, op.getExperts());
  });
  return most;
}

/// True if keys and values of an attention follow from latents. A strategy that
/// gathers these puts constraints into the forward, so that `cp=auto`, which
/// chooses when there is a backward, does not compare it.
static bool hasLatents(ModuleOp module) {
  return llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp func) {
    return !func.isExternal() && !findLatents(func).empty();
  });
}

/// Tries a strategy with its experts sharded in all ways; returns the fastest.
std::optional<ShardingChoice> Chooser::tryExperts(const SearchedMesh &on,
                                                  const Mesh &mesh,
                                                  const Strategy &plain) {
  std::optional<ShardingChoice> best;
  for (const Strategy &strategy :
       listExpertStrategies(plain, mesh, countExperts(module)))
    if (auto made = tryStrategy(on, strategy);
        made && (!best || made->seconds < best->seconds))
      best = made;
  return best;
}

/// Tries a strategy with its state sharded in all ways.
void Chooser::trySharded(const SearchedMesh &on, Strategy strategy) {
  for (int zero : {1, 2, 3}) {
    // Gradients are sharded only between micro-batches.
    if (zero == 2 && phases.layout.plan.plan.microBatches <= 1)
      continue;
    strategy.zero = zero;
    tryStrategy(on, strategy);
  }
}

/// Tries one strategy of each family. Then tries the other members of the
/// fastest families, of the one after which the axes are named, and (for ZeRO
/// 3) of those above the limit: sharded experts, and sharded state of the plain
/// strategy and of the one with the fastest experts. If the mesh is chosen,
/// each axis gets a different role: another mesh has two axes with one role as
/// one axis.
void Chooser::tryNamed(const SearchedMesh &on) {
  std::optional<Mesh> mesh = on.mesh ? on.mesh : phases.layout.mesh;
  if (phases.layout.strategy.pp || options.updatesDecisions || !mesh)
    return;
  struct Tried {
    StrategyFamily family;
    ShardingChoice made;
  };
  std::vector<Tried> tried;
  for (const StrategyFamily &family :
       listFamilies(*mesh, /*sharesRoles=*/!on.mesh, hasLatents(module)))
    if (auto made = tryStrategy(on, family.plain))
      tried.push_back({family, *made});
  llvm::stable_sort(tried, [](const Tried &a, const Tried &b) {
    return a.made.seconds < b.made.seconds;
  });
  for (auto [rank, each] : llvm::enumerate(tried)) {
    Strategy plain = each.family.plain;
    bool triesAll = rank < kMostFamilies || each.family.isNamed;
    std::optional<ShardingChoice> experts;
    if (triesAll)
      experts = tryExperts(on, *mesh, plain);
    if (!plain.dp && !plain.cp)
      continue;
    if (triesAll) {
      trySharded(on, plain);
      if (experts)
        trySharded(on, experts->strategy);
    } else if (!fits(each.made)) {
      plain.zero = 3;
      tryStrategy(on, plain);
    }
  }
}

/// Emits a remark if the network's time differs much from the time of a program
/// without the optimizations that the network does not model (overlap and
/// buckets): then the choice may be bad.
void Chooser::remarkOnMismatch(const ShardingChoice &searched) {
  if (!searched.found.solution || !options.search.explains)
    return;
  PipelineOptions plain = phases;
  plain.overlap = false;
  plain.bucketBytes = 0;
  plain.collectiveMatmul = CollectiveMatmul::Off;
  std::string error;
  FailureOr<ShardingChoice> made = compile(module, searched, plain, error);
  if (failed(made))
    return;
  double predicted = double(searched.found.times.blocking()) * 1e-12;
  if (std::abs(made->seconds / predicted - 1) <= kMismatch)
    return;
  remark::analysis(
      module.getLoc(),
      remark::RemarkOpts::name("SearchMismatch").category("propagation"))
      << remark::add("the search and the program differ")
      << remark::metric("searchedUs", predicted * 1e6)
      << remark::metric("programUs", made->seconds * 1e6);
}

/// Searches shardings on a copy. Reports an error only for a search without a
/// limit.
FailureOr<std::vector<FoundShardings>>
Chooser::searchCopy(ModuleOp program, const ShardingSearchOptions &search) {
  std::optional<ScopedDiagnosticHandler> silence;
  if (search.memoryLimit > 0)
    silence.emplace(module.getContext(),
                    [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> copy = program.clone();
  return searchShardings(*copy, search);
}

LogicalResult Chooser::searchOn(SearchedMesh &on,
                                const ShardingSearchOptions &search) {
  ShardingChoice searched;
  searched.mesh = on.mesh;
  searched.strategy = phases.layout.strategy;
  auto program = prepareStep(module, getPhases(searched, phases));
  if (failed(program) || (options.updatesDecisions &&
                          failed(replayDecisions(**program, options.decisions,
                                                 /*isPartial=*/true))))
    return failure();
  on.program = std::move(*program);
  auto found = searchCopy(*on.program, search);
  if (failed(found))
    return failure();
  on.found = std::move(*found);
  return success();
}

/// Returns the meshes to choose from.
FailureOr<std::vector<Mesh>> Chooser::getMeshes() {
  if (!module.getOps<dist::MeshOp>().empty())
    return module.emitError(
        "search: expects a program without a dist.mesh, since one is chosen");
  llvm::Expected<ClusterSpec> cluster = readClusterSpec(phases.cluster);
  if (!cluster)
    return module.emitError(llvm::toString(cluster.takeError()));
  if (llvm::Error error = cluster->checkSize(options.ranks))
    return module.emitError(phases.cluster + ": ")
           << llvm::toString(std::move(error));
  return listMeshes(*cluster, options.ranks);
}

/// Searches all meshes and sorts them, the fastest first. A search ends early
/// if even the lower bound of a mesh is far above the best one.
LogicalResult Chooser::searchAll(std::vector<SearchedMesh> &searched) {
  auto meshes = getMeshes();
  if (failed(meshes))
    return failure();
  std::string error;
  ShardingSearchOptions search = options.search;
  for (const Mesh &mesh : *meshes) {
    ScopedDiagnosticHandler silence(
        module.getContext(), [&](Diagnostic &found) {
          if (error.empty() && found.getSeverity() == DiagnosticSeverity::Error)
            error = found.str();
          return success();
        });
    SearchedMesh on;
    on.mesh = mesh;
    if (failed(searchOn(on, search)))
      continue;
    double farAbove = options.numMeasured > 0 ? kFarAboveMeasured : kFarAbove;
    search.ceiling = std::min(
        search.ceiling, static_cast<int64_t>(double(on.getCost()) * farAbove));
    searched.push_back(std::move(on));
  }
  if (searched.empty())
    return module.emitError("no mesh of ")
           << options.ranks << " devices: " << error;
  llvm::stable_sort(searched, [](const SearchedMesh &a, const SearchedMesh &b) {
    return a.getCost() < b.getCost();
  });
  return success();
}

FailureOr<std::vector<SearchedMesh>> Chooser::searchMeshes() {
  std::vector<SearchedMesh> searched;
  if (options.ranks > 0) {
    if (failed(searchAll(searched)))
      return failure();
  } else if (failed(searchOn(searched.emplace_back(), options.search))) {
    return failure();
  }
  return std::move(searched);
}

/// Tries the search's shardings. The network counts only part of an arena's
/// bytes, so its limit is lowered until an arena fits. Then tries named
/// strategies, which may fit and be faster.
void Chooser::tryWithin(const SearchedMesh &on) {
  ShardingSearchOptions search = options.search;
  search.takesLeast = true;
  std::vector<FoundShardings> found = on.found;
  std::optional<int64_t> arena = tryFound(on, found);
  for (unsigned round = 1; round < kMostCompilations; ++round) {
    if (options.memoryLimit == 0 || !arena || *arena <= options.memoryLimit)
      break;
    double share = double(options.memoryLimit) / double(*arena);
    search.memoryLimit = static_cast<int64_t>(double(found.front().bytes) *
                                              std::min(share, kLessMemory));
    auto smaller = searchCopy(*on.program, search);
    if (failed(smaller) || smaller->front().bytes >= found.front().bytes)
      break;
    found = std::move(*smaller);
    arena = tryFound(on, found);
  }
  tryNamed(on);
}

static void remarkOnMesh(ModuleOp module, const SearchedMesh &on,
                         double scheduled) {
  auto remark = remark::analysis(
      module.getLoc(),
      remark::RemarkOpts::name("TriedMesh").category("propagation"));
  if (!remark)
    return;
  remark << remark::add("mesh {0}{1}", print(*on.mesh),
                        scheduled > 0 ? "" : ", whose program is not tried")
         << remark::metric("searchedUs", double(on.getCost()) * 1e-6)
         << remark::metric("usAtLeast", double(on.found.front().bound) * 1e-6);
  if (scheduled > 0)
    remark << remark::metric("scheduledUs", scheduled * 1e6);
}

/// Tries the programs of the meshes with the fastest networks, and of others as
/// long as none has worked. Meshes with equally fast networks count as one, and
/// all of them are tried: they may have the same shardings, with two axes as
/// one, but also others, with other programs.
void Chooser::tryMeshes(ArrayRef<SearchedMesh> searched) {
  double limit = double(searched.front().getCost()) *
                 (options.numMeasured > 0 ? kFarAboveMeasured : kFarAbove);
  double last = 0;
  size_t tried = 0;
  for (const SearchedMesh &on : searched) {
    auto cost = double(on.getCost());
    bool isNew = cost > last * (1 + kFasterBy);
    fastest = 0;
    if (!isNew || within.empty() ||
        (tried < std::max<size_t>(kMostMeshes, options.numMeasured) &&
         cost <= limit)) {
      last = isNew ? cost : last;
      tried += isNew;
      tryWithin(on);
    }
    if (on.mesh)
      remarkOnMesh(module, on, fastest);
  }
}

/// Returns the choice that a decision file is of. If the file is updated, a
/// named strategy gives the program its shardings anew.
FailureOr<std::vector<ShardingChoice>> Chooser::takeDecisions() {
  auto strategy = readDecidedStrategy(options.decisions);
  if (!strategy)
    return module.emitError("decisions: ")
           << llvm::toString(strategy.takeError());
  ShardingChoice choice;
  choice.strategy = strategy->isSearched ? phases.layout.strategy : *strategy;
  choice.decisions = options.decisions;
  if (options.updatesDecisions && !strategy->isSearched) {
    auto text = describeNamed(module, getPhases(choice, phases),
                              /*known=*/options.decisions);
    if (failed(text))
      return failure();
    choice.decisions = *text;
  }
  return std::vector<ShardingChoice>{choice};
}

/// Returns the fastest candidates. Of candidates with equal makespan and arena,
/// whose programs are most likely equal, only the first is worth a measurement.
std::vector<ShardingChoice> Chooser::rank() {
  std::vector<ShardingChoice> best;
  auto isKnown = [&](const ShardingChoice &candidate) {
    return llvm::any_of(best, [&](const ShardingChoice &other) {
      return other.seconds == candidate.seconds &&
             other.arenaBytes == candidate.arenaBytes;
    });
  };
  llvm::stable_sort(within,
                    [](const ShardingChoice &a, const ShardingChoice &b) {
                      return a.seconds < b.seconds;
                    });
  for (const ShardingChoice &candidate : within)
    if (best.size() < std::max(options.numMeasured, 1u) && !isKnown(candidate))
      best.push_back(candidate);
  for (ShardingChoice &choice : best)
    choice.tried = within.size();
  return best;
}

/// Writes searched shardings into their program, with remarks, and from there
/// into the choice.
LogicalResult Chooser::write(ShardingChoice &choice,
                             ArrayRef<SearchedMesh> searched) {
  if (!choice.found.solution)
    return success();
  const auto *on = llvm::find_if(searched, [&](const SearchedMesh &on) {
    return !choice.mesh || print(*on.mesh) == print(*choice.mesh);
  });
  OwningOpRef<ModuleOp> program = (*on->program).clone();
  PassManager pm(module.getContext());
  pm.addPass(createSearchShardingsPass(choice.found));
  if (failed(pm.run(*program)))
    return failure();
  llvm::raw_string_ostream os(choice.decisions);
  printDecisions(*program, choice.found, os);
  return success();
}

FailureOr<std::vector<ShardingChoice>> Chooser::run() {
  if (!options.decisions.empty()) {
    auto taken = takeDecisions();
    if (failed(taken) || !options.updatesDecisions ||
        !taken->front().strategy.isSearched)
      return taken;
  }
  auto searched = searchMeshes();
  if (failed(searched))
    return failure();
  tryMeshes(*searched);
  if (within.empty() && options.memoryLimit > 0 &&
      least != std::numeric_limits<int64_t>::max())
    return module.emitError("search: expects a memory limit of at least ")
           << least << " bytes, the smallest arena that was found, but got "
           << options.memoryLimit;
  compileFastest();
  std::vector<ShardingChoice> best = rank();
  if (best.empty()) {
    // Later phases then report the error at its location.
    ShardingChoice &none = best.emplace_back();
    none.mesh = searched->front().mesh;
    none.strategy = phases.layout.strategy;
    none.found = searched->front().found.front();
  }
  auto fastestSearched = llvm::find_if(within, [](const ShardingChoice &made) {
    return made.found.solution != nullptr;
  });
  remarkOnMismatch(fastestSearched == within.end() ? best.front()
                                                   : *fastestSearched);
  for (ShardingChoice &choice : best)
    if (failed(write(choice, *searched)))
      return failure();
  return best;
}

FailureOr<std::vector<ShardingChoice>>
tessera::findShardings(ModuleOp module, const PipelineOptions &phases,
                       const AutoShardingOptions &options) {
  return Chooser(module, phases, options).run();
}
