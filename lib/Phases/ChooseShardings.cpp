//===- ChooseShardings.cpp - Chooses searched or named shardings ----------===//
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
// Measurements, if asked for, run the candidates with the smallest makespans,
// and the one with the fastest program is taken.
//
//===----------------------------------------------------------------------===//

#include "ChooseShardings.h"
#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Cluster/MeshChoices.h"
#include "tessera/Collectives/Makespan.h"
#include "tessera/Propagation/Passes.h"
#include "tessera/ShardingSearch/Decisions.h"
#include "tessera/ShardingSearch/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
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

/// If several meshes are searched: the number of meshes whose programs are
/// tried, and the maximum ratio of their networks' time to the fastest one's.
static constexpr size_t kMostMeshes = 3;
static constexpr double kFarAbove = 1.1;
/// The same factor if programs are measured, since the model may err.
static constexpr double kFarAboveMeasured = 1.5;

std::string tessera::describeChoice(const ShardingChoice &choice) {
  std::string on = choice.mesh ? " on " + print(*choice.mesh) : "";
  return (choice.found.solution ? "the search" : print(choice.strategy)) + on;
}

namespace {

/// Strategies that differ in the sharding of state.
struct StrategyFamily {
  /// The strategy without ZeRO.
  Strategy plain;
  /// True if each axis has the role that its name suggests.
  bool isNamed = false;
};

} // namespace

/// The role of an axis.
enum Role { kData, kTensor, kContext, kNumRoles };

/// Returns the strategy in which each of these axes has its role; none if two
/// axes would shard the sequence.
static std::optional<StrategyFamily> assignRoles(ArrayRef<std::string> axes,
                                                 ArrayRef<unsigned> roles) {
  AxisNames names[kNumRoles];
  StrategyFamily family;
  family.isNamed = true;
  for (auto [axis, role] : llvm::zip_equal(axes, roles)) {
    names[role].push_back(axis);
    const char *usual[] = {"dp", "tp", "cp"};
    family.isNamed &= axis == usual[role];
  }
  if (names[kContext].size() > 1)
    return std::nullopt;
  Strategy &strategy = family.plain;
  auto assign = [&](Role role, bool &isUsed, AxisNames &own) {
    isUsed = !names[role].empty();
    if (isUsed)
      own = std::move(names[role]);
  };
  assign(kData, strategy.dp, strategy.dpAxes);
  assign(kTensor, strategy.tp, strategy.tpAxes);
  assign(kContext, strategy.cp, strategy.cpAxes);
  return family;
}

/// Returns the strategies that use all axes of a mesh, whatever their names:
/// each axis shards the batch, heads and ffn, or the sequence. Strategies in
/// which each axis has the role of its name come first.
static std::vector<StrategyFamily> listFamilies(const Mesh &mesh,
                                                bool sharesRoles) {
  AxisNames axes;
  for (unsigned axis = 0; axis < mesh.sizes.size(); ++axis)
    if (mesh.sizes[axis] > 1 && mesh.stageAxis != axis)
      axes.push_back(mesh.names[axis]);
  std::vector<StrategyFamily> all;
  if (axes.empty())
    return all;
  std::vector<unsigned> roles(axes.size(), kData);
  auto advance = [&] {
    for (unsigned &role : llvm::reverse(roles)) {
      if (++role < kNumRoles)
        return true;
      role = kData;
    }
    return false;
  };
  do {
    std::vector<unsigned> distinct = roles;
    llvm::sort(distinct);
    if (!sharesRoles &&
        std::unique(distinct.begin(), distinct.end()) != distinct.end())
      continue;
    if (std::optional<StrategyFamily> family = assignRoles(axes, roles)) {
      all.push_back(*family);
      family->plain.sp = true;
      if (family->plain.tp)
        all.push_back(*family);
    }
  } while (advance());
  llvm::stable_sort(all, [](const StrategyFamily &a, const StrategyFamily &b) {
    return a.isNamed > b.isNamed;
  });
  return all;
}

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

class ChooseShardingsPass
    : public PassWrapper<ChooseShardingsPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChooseShardingsPass)

  explicit ChooseShardingsPass(const PipelineOptions &options)
      : options(options) {
    this->options.collectiveReport.clear();
  }

  StringRef getName() const override { return "ChooseShardingsPass"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    PipelineOptions any = options;
    any.strategy = Strategy();
    OpPassManager pm(ModuleOp::getOperationName());
    buildPhasesUpTo(pm, options.numMeasured > 0 ? Phase::LLVM : Phase::Schedule,
                    any);
    pm.addPass(createSearchShardingsPass());
    pm.getDependentDialects(registry);
  }
  void runOnOperation() override;

private:
  FailureOr<OwningOpRef<ModuleOp>> prepare(const std::optional<Mesh> &mesh,
                                           const Strategy &strategy);
  LogicalResult takeDecisions();
  LogicalResult updateNamed();
  LogicalResult choose();
  FailureOr<std::vector<FoundShardings>>
  searchCopy(ModuleOp program, const ShardingSearchOptions &search);
  LogicalResult searchOn(SearchedMesh &on, const ShardingSearchOptions &search);
  FailureOr<std::vector<Mesh>> getMeshes();
  FailureOr<std::vector<SearchedMesh>> searchMeshes();
  LogicalResult searchAll(std::vector<SearchedMesh> &searched);
  void tryWithin(const SearchedMesh &on);
  void tryMeshes(ArrayRef<SearchedMesh> searched);
  LogicalResult printNamed(llvm::raw_ostream &os);
  LogicalResult printTaken(ArrayRef<SearchedMesh> searched,
                           llvm::raw_ostream &os);
  LogicalResult writeDecisions(ArrayRef<SearchedMesh> searched);
  std::optional<int64_t> tryFound(const SearchedMesh &on,
                                  ArrayRef<FoundShardings> found);
  void tryNamed(const SearchedMesh &on);
  FailureOr<ShardingChoice> compile(const ShardingChoice &candidate,
                                    const PipelineOptions &trial,
                                    std::string &error);
  std::optional<ShardingChoice> tryOne(const ShardingChoice &candidate);
  std::optional<ShardingChoice> tryStrategy(const SearchedMesh &on,
                                            const Strategy &strategy);
  PipelineOptions getTrialOptions(const ShardingChoice &candidate) const;
  LogicalResult measure();
  void remarkOnMismatch(const ShardingChoice &searched);
  bool fits(const ShardingChoice &made) const {
    return options.memoryLimit == 0 || made.arenaBytes <= options.memoryLimit;
  }

  PipelineOptions options;
  /// True if remarks are enabled.
  bool explains = false;
  /// Bytes of the smallest arena of a candidate.
  int64_t least = std::numeric_limits<int64_t>::max();
  /// Seconds of the fastest candidate on the last mesh that was tried.
  double fastest = 0;
  /// The fastest searched shardings that are within the limit.
  ShardingChoice fastestSearched;
  /// All candidates within the limit, if some are measured.
  std::vector<ShardingChoice> within;
};

/// Runs passes that depend on the result of an earlier pass.
class ChosenPass : public PassWrapper<ChosenPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChosenPass)

  explicit ChosenPass(std::function<void(OpPassManager &)> build)
      : build(std::move(build)) {}

  StringRef getName() const override { return "ChosenPass"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager pm(ModuleOp::getOperationName());
    build(pm);
    pm.getDependentDialects(registry);
  }
  void runOnOperation() override {
    OpPassManager pm(ModuleOp::getOperationName());
    build(pm);
    if (failed(runPipeline(pm, getOperation())))
      signalPassFailure();
  }

private:
  std::function<void(OpPassManager &)> build;
};

} // namespace

PipelineOptions
ChooseShardingsPass::getTrialOptions(const ShardingChoice &candidate) const {
  PipelineOptions trial = options;
  trial.choice = std::make_shared<ShardingChoice>(candidate);
  trial.choice->isMade = true;
  trial.ranks = 0;
  trial.numMeasured = 0;
  trial.measure = nullptr;
  return trial;
}

/// Returns the training step, whose shardings are searched or propagated.
FailureOr<OwningOpRef<ModuleOp>>
ChooseShardingsPass::prepare(const std::optional<Mesh> &mesh,
                             const Strategy &strategy) {
  OwningOpRef<ModuleOp> copy = getOperation().clone();
  ShardingChoice searched;
  searched.mesh = mesh;
  searched.strategy = strategy;
  PipelineOptions trial = getTrialOptions(searched);
  PassManager pm(&getContext());
  buildPhase(pm, Phase::Plan, trial);
  buildPhase(pm, Phase::Train, trial);
  pm.addPass(createPrepareRegionsPass());
  pm.addPass(createRaiseArgReductionsPass());
  if (failed(pm.run(*copy)) ||
      (options.updatesDecisions &&
       failed(replayDecisions(*copy, options.decisions, /*isPartial=*/true))))
    return failure();
  return copy;
}

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
FailureOr<ShardingChoice>
ChooseShardingsPass::compile(const ShardingChoice &candidate,
                             const PipelineOptions &trial, std::string &error) {
  ScopedDiagnosticHandler silence(&getContext(), [&](Diagnostic &found) {
    if (error.empty() && found.getSeverity() == DiagnosticSeverity::Error)
      error = found.str();
    return success();
  });
  OwningOpRef<ModuleOp> copy = getOperation().clone();
  PassManager pm(&getContext());
  pm.enableVerifier(trial.verifyEach);
  for (Phase phase : {Phase::Plan, Phase::Train, Phase::Propagate,
                      Phase::Partition, Phase::Kernels, Phase::Schedule})
    buildPhase(pm, phase, trial);
  if (failed(pm.run(*copy)))
    return failure();
  ShardingChoice made = candidate;
  made.isMade = true;
  made.seconds = getMakespan(*copy);
  made.arenaBytes = getArenaBytes(*copy);
  return made;
}

/// Tries a candidate, and takes it if it is the fastest so far and within the
/// limit. Returns none if a phase fails.
std::optional<ShardingChoice>
ChooseShardingsPass::tryOne(const ShardingChoice &candidate) {
  std::string error;
  FailureOr<ShardingChoice> made =
      compile(candidate, getTrialOptions(candidate), error);
  if (failed(made)) {
    remark::missed(
        getOperation().getLoc(),
        remark::RemarkOpts::name("TriedShardings").category("propagation"))
        << remark::add("shardings of {0} do not get through the phases: {1}",
                       describeChoice(candidate), error);
    return std::nullopt;
  }
  least = std::min(least, made->arenaBytes);
  fastest = fastest == 0 ? made->seconds : std::min(fastest, made->seconds);
  remark::analysis(
      getOperation().getLoc(),
      remark::RemarkOpts::name("TriedShardings").category("propagation"))
      << remark::add("shardings of {0}", describeChoice(*made))
      << remark::metric("us", made->seconds * 1e6)
      << remark::metric("arenaBytes", made->arenaBytes)
      << remark::metric("kernelUs", double(made->found.times.kernels) * 1e-6)
      << remark::metric("waitedUs", double(made->found.times.waited) * 1e-6)
      << remark::metric("besideUs", double(made->found.times.beside) * 1e-6);
  if (!fits(*made))
    return *made;
  if (options.numMeasured > 0)
    within.push_back(*made);
  if (made->found.solution &&
      (!fastestSearched.isMade || made->seconds < fastestSearched.seconds))
    fastestSearched = *made;
  ShardingChoice &best = *options.choice;
  unsigned tried = best.tried + 1;
  if (!best.isMade || made->seconds < best.seconds)
    best = *made;
  best.tried = tried;
  return *made;
}

/// Tries the shardings of a search and returns the bytes of the smallest arena.
std::optional<int64_t>
ChooseShardingsPass::tryFound(const SearchedMesh &on,
                              ArrayRef<FoundShardings> found) {
  std::optional<int64_t> smallest;
  for (const FoundShardings &shardings : found) {
    ShardingChoice candidate;
    candidate.mesh = on.mesh;
    candidate.strategy = options.strategy;
    candidate.found = shardings;
    std::optional<ShardingChoice> made = tryOne(candidate);
    if (made && (!smallest || made->arenaBytes < *smallest))
      smallest = made->arenaBytes;
  }
  return smallest;
}

std::optional<ShardingChoice>
ChooseShardingsPass::tryStrategy(const SearchedMesh &on,
                                 const Strategy &strategy) {
  ShardingChoice candidate;
  candidate.mesh = on.mesh;
  candidate.strategy = strategy;
  return tryOne(candidate);
}

/// Tries one strategy of each family. Then tries the other members of the
/// fastest families, of the one after which the axes are named, and (for ZeRO
/// 3) of those above the limit. If the mesh is chosen, each axis gets a
/// different role: another mesh has two axes with one role as one axis.
void ChooseShardingsPass::tryNamed(const SearchedMesh &on) {
  std::optional<Mesh> mesh = on.mesh ? on.mesh : options.mesh;
  if (options.strategy.pp || options.updatesDecisions || !mesh)
    return;
  struct Tried {
    StrategyFamily family;
    ShardingChoice made;
  };
  std::vector<Tried> tried;
  for (const StrategyFamily &family :
       listFamilies(*mesh, /*sharesRoles=*/!on.mesh))
    if (auto made = tryStrategy(on, family.plain))
      tried.push_back({family, *made});
  llvm::stable_sort(tried, [](const Tried &a, const Tried &b) {
    return a.made.seconds < b.made.seconds;
  });
  bool accumulates = options.plan.plan.microBatches > 1;
  for (auto [rank, each] : llvm::enumerate(tried)) {
    Strategy strategy = each.family.plain;
    if (!strategy.dp && !strategy.cp)
      continue;
    bool triesAll = rank < kMostFamilies || each.family.isNamed;
    for (int zero : {1, 2, 3}) {
      // Gradients are sharded only between micro-batches.
      if ((zero == 2 && !accumulates) ||
          (!triesAll && (zero != 3 || fits(each.made))))
        continue;
      strategy.zero = zero;
      tryStrategy(on, strategy);
    }
  }
}

/// Emits a remark if the network's time differs much from the time of a program
/// without the optimizations that the network does not model (overlap and
/// buckets): then the choice may be bad.
void ChooseShardingsPass::remarkOnMismatch(const ShardingChoice &searched) {
  if (!searched.found.solution || !explains)
    return;
  PipelineOptions plain = getTrialOptions(searched);
  plain.overlap = false;
  plain.bucketBytes = 0;
  plain.collectiveMatmul = CollectiveMatmul::Off;
  std::string error;
  FailureOr<ShardingChoice> made = compile(searched, plain, error);
  if (failed(made))
    return;
  double predicted = double(searched.found.times.blocking()) * 1e-12;
  if (std::abs(made->seconds / predicted - 1) <= kMismatch)
    return;
  remark::analysis(
      getOperation().getLoc(),
      remark::RemarkOpts::name("SearchMismatch").category("propagation"))
      << remark::add("the search and the program differ")
      << remark::metric("searchedUs", predicted * 1e6)
      << remark::metric("programUs", made->seconds * 1e6);
}

/// Searches shardings on a copy. Reports an error only for a search without a
/// limit.
FailureOr<std::vector<FoundShardings>>
ChooseShardingsPass::searchCopy(ModuleOp program,
                                const ShardingSearchOptions &search) {
  std::optional<ScopedDiagnosticHandler> silence;
  if (search.memoryLimit > 0)
    silence.emplace(&getContext(), [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> copy = program.clone();
  ShardingSearchOptions explained = search;
  explained.explains = explains;
  return searchShardings(*copy, explained);
}

LogicalResult
ChooseShardingsPass::searchOn(SearchedMesh &on,
                              const ShardingSearchOptions &search) {
  auto program = prepare(on.mesh, options.strategy);
  if (failed(program))
    return failure();
  on.program = std::move(*program);
  auto found = searchCopy(*on.program, search);
  if (failed(found))
    return failure();
  on.found = std::move(*found);
  return success();
}

/// Returns the meshes to choose from.
FailureOr<std::vector<Mesh>> ChooseShardingsPass::getMeshes() {
  if (!getOperation().getOps<dist::MeshOp>().empty())
    return getOperation().emitError(
        "search: expects a program without a dist.mesh, since one is chosen");
  llvm::Expected<ClusterSpec> cluster = readClusterSpec(options.cluster);
  if (!cluster)
    return getOperation().emitError(llvm::toString(cluster.takeError()));
  if (llvm::Error error = cluster->checkSize(options.ranks))
    return getOperation().emitError(options.cluster + ": ")
           << llvm::toString(std::move(error));
  return listMeshes(*cluster, options.ranks);
}

/// Searches all meshes and sorts them, the fastest first. A search ends early
/// if even the lower bound of a mesh is far above the best one.
LogicalResult
ChooseShardingsPass::searchAll(std::vector<SearchedMesh> &searched) {
  auto meshes = getMeshes();
  if (failed(meshes))
    return failure();
  std::string error;
  ShardingSearchOptions search = options.search;
  for (const Mesh &mesh : *meshes) {
    ScopedDiagnosticHandler silence(&getContext(), [&](Diagnostic &found) {
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
    return getOperation().emitError("no mesh of ")
           << options.ranks << " devices: " << error;
  llvm::stable_sort(searched, [](const SearchedMesh &a, const SearchedMesh &b) {
    return a.getCost() < b.getCost();
  });
  return success();
}

FailureOr<std::vector<SearchedMesh>> ChooseShardingsPass::searchMeshes() {
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
void ChooseShardingsPass::tryWithin(const SearchedMesh &on) {
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

/// Measures programs to decide. Of candidates with equal makespan and arena,
/// whose programs are most likely equal, only the first is measured.
LogicalResult ChooseShardingsPass::measure() {
  llvm::stable_sort(within,
                    [](const ShardingChoice &a, const ShardingChoice &b) {
                      return a.seconds < b.seconds;
                    });
  std::vector<PipelineOptions> trials;
  std::vector<ShardingChoice> candidates;
  for (ShardingChoice &candidate : within) {
    if (candidates.size() == options.numMeasured)
      break;
    bool isKnown = llvm::any_of(candidates, [&](const ShardingChoice &other) {
      return other.seconds == candidate.seconds &&
             other.arenaBytes == candidate.arenaBytes;
    });
    if (isKnown)
      continue;
    candidate.tried = options.choice->tried;
    trials.push_back(getTrialOptions(candidate));
    candidates.push_back(candidate);
  }
  if (trials.empty())
    return success();
  FailureOr<size_t> fastest = options.measure(getOperation(), trials);
  if (failed(fastest))
    return failure();
  *options.choice = candidates[*fastest];
  return success();
}

/// Tries the programs of the meshes with the fastest networks, and of others as
/// long as none has worked. Meshes with equally fast networks count as one, and
/// all of them are tried: they may have the same shardings, with two axes as
/// one, but also others, with other programs.
void ChooseShardingsPass::tryMeshes(ArrayRef<SearchedMesh> searched) {
  double limit = double(searched.front().getCost()) *
                 (options.numMeasured > 0 ? kFarAboveMeasured : kFarAbove);
  double last = 0;
  size_t tried = 0;
  for (const SearchedMesh &on : searched) {
    auto cost = double(on.getCost());
    bool isNew = cost > last * (1 + kFasterBy);
    fastest = 0;
    if (!isNew || !options.choice->isMade ||
        (tried < std::max<size_t>(kMostMeshes, options.numMeasured) &&
         cost <= limit)) {
      last = isNew ? cost : last;
      tried += isNew;
      tryWithin(on);
    }
    if (on.mesh)
      remarkOnMesh(getOperation(), on, fastest);
  }
}

/// Reads the choice from a decision file.
LogicalResult ChooseShardingsPass::takeDecisions() {
  auto strategy = readDecidedStrategy(options.decisions);
  if (strategy) {
    options.choice->strategy = *strategy;
    options.choice->isMade = true;
    options.choice->decisions = options.decisions;
    return success();
  }
  return getOperation().emitError("decisions: ")
         << llvm::toString(strategy.takeError());
}

/// Prints the shardings from propagation under the chosen named strategy.
LogicalResult ChooseShardingsPass::printNamed(llvm::raw_ostream &os) {
  const ShardingChoice &choice = *options.choice;
  auto program = prepare(choice.mesh, choice.strategy);
  PropagationOptions propagation;
  propagation.keepsCopies = true;
  if (failed(program) || failed(propagateShardings(**program, propagation)))
    return failure();
  printDecisions(**program, choice.strategy, os);
  return success();
}

/// Updates the decision file of a named strategy for a changed program.
LogicalResult ChooseShardingsPass::updateNamed() {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (failed(printNamed(os)))
    return failure();
  options.choice->decisions = text;
  return writeDecisions({});
}

LogicalResult
ChooseShardingsPass::writeDecisions(ArrayRef<SearchedMesh> searched) {
  std::error_code code;
  llvm::raw_fd_ostream os(options.decisionsOut, code);
  if (code)
    return getOperation().emitError("decisions: cannot write ")
           << options.decisionsOut << ": " << code.message();
  return printTaken(searched, os);
}

LogicalResult ChooseShardingsPass::printTaken(ArrayRef<SearchedMesh> searched,
                                              llvm::raw_ostream &os) {
  const ShardingChoice &choice = *options.choice;
  if (!choice.found.solution)
    return printNamed(os);
  for (const SearchedMesh &on : searched)
    if (!choice.mesh || print(*on.mesh) == print(*choice.mesh)) {
      if (failed(applyShardings(*on.program, choice.found)))
        return failure();
      printDecisions(*on.program, choice.found, os);
    }
  return success();
}

LogicalResult ChooseShardingsPass::choose() {
  if (!options.decisions.empty() && failed(takeDecisions()))
    return failure();
  bool isNamed = !options.choice->strategy.isSearched;
  if (!options.decisions.empty() && (isNamed || !options.updatesDecisions))
    return options.updatesDecisions ? updateNamed() : success();
  options.choice->isMade = false;
  auto searched = searchMeshes();
  if (failed(searched))
    return failure();
  tryMeshes(*searched);
  if (!options.choice->isMade && options.memoryLimit > 0 &&
      least != std::numeric_limits<int64_t>::max())
    return getOperation().emitError(
               "search: expects a memory limit of at least ")
           << least << " bytes, the smallest arena that was found, but got "
           << options.memoryLimit;
  if (!options.choice->isMade) {
    // Later phases then report the error at its location.
    options.choice->mesh = searched->front().mesh;
    options.choice->strategy = options.strategy;
    options.choice->found = searched->front().found.front();
    options.choice->isMade = true;
  }
  if (options.numMeasured > 0 && failed(measure()))
    return failure();
  remarkOnMismatch(fastestSearched.isMade ? fastestSearched : *options.choice);
  return options.decisionsOut.empty() ? success() : writeDecisions(*searched);
}

void ChooseShardingsPass::runOnOperation() {
  if (options.choice->isMade)
    return;
  // Creates a remark to find out whether remarks are enabled.
  auto remark = remark::passed(
      getOperation().getLoc(),
      remark::RemarkOpts::name("ChosenShardings").category("propagation"));
  explains = bool(remark);
  if (failed(choose())) {
    remark << remark::add("no shardings");
    return signalPassFailure();
  }
  remark << remark::add("shardings of {0}", describeChoice(*options.choice))
         << remark::metric("us", options.choice->seconds * 1e6)
         << remark::metric("tried", options.choice->tried);
}

std::unique_ptr<Pass>
tessera::createChooseShardingsPass(const PipelineOptions &options) {
  return std::make_unique<ChooseShardingsPass>(options);
}

std::unique_ptr<Pass>
tessera::createChosenPass(std::function<void(OpPassManager &)> build) {
  return std::make_unique<ChosenPass>(std::move(build));
}

void tessera::printChoice(const ShardingChoice &choice, llvm::raw_ostream &os) {
  if (!choice.isMade)
    return;
  os << llvm::formatv("shardings of {0}: {1:f2} us, best of {2} tried",
                      describeChoice(choice), choice.seconds * 1e6,
                      choice.tried);
  if (choice.found.solution && choice.seconds > 0) {
    double network = double(choice.found.cost) * 1e-12;
    double apart = network / choice.seconds - 1;
    os << llvm::formatv(
        "; its network {0:f2} us, {1:f1} % {2} the program's; "
        "at least {3:f2} us, gap {4:f2} % of the network",
        network * 1e6, std::abs(apart) * 100, apart < 0 ? "below" : "above",
        double(choice.found.bound) * 1e-6, choice.found.gap() * 100);
  }
  os << "\n";
}
