//===- Pipelines.h - Phases and named pipelines -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phases that a program goes through on its way to an executable. The IR
// at each boundary is legal, printable and re-parsable. Each phase is also a
// named pipeline of tessera-opt and the plugin.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PIPELINES_PIPELINES_H
#define TESSERA_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "tessera/ShardingSearch/ShardingSearch.h"
#include "tessera/Support/PlanFields.h"
#include "tessera/Training/Strategy.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <optional>
#include <string>

namespace tessera {

/// In the order in which they follow each other. A phase names the state that
/// the module is in once its passes have run.
enum class Phase {
  /// A forward function on tensors of static global shape.
  Input,
  /// + the mesh, seed shardings, and how a program with a loss is trained.
  Plan,
  /// The training step in place of the forward function, if there is a plan.
  Train,
  /// Every tensor has a sharding.
  Propagate,
  /// One device's function: local shapes and collectives.
  Partition,
  /// Library-call records and outlined kernels, on tensors.
  Kernels,
  /// Collectives split and ordered; every tensor has an offset.
  Schedule,
  /// Calls of the runtime on offsets; kernels are loops.
  RT,
  /// LLVM dialect.
  LLVM,
};

/// "input", "plan", ...
llvm::StringRef stringifyPhase(Phase phase);
/// The phase of this name.
std::optional<Phase> parsePhase(llvm::StringRef name);
/// All names, separated by commas, for messages.
std::string listPhases();

/// How the memory of a rank is used.
enum class MemoryUse {
  /// Tensors that do not live at one time share memory.
  Shared,
  /// Every tensor has memory of its own.
  Apart,
  /// Shared, and the program watches it: what is after a tensor must not
  /// change, what a tensor held is forgotten when it ends.
  Watched,
};

/// Whether matmuls run in chunks beside their all-gather or reduce-scatter.
enum class CollectiveMatmul {
  Off,
  /// Where it takes less time.
  Auto,
  /// Wherever it can be done.
  On,
};

/// The shardings that a search decided on.
struct ShardingChoice {
  bool isMade = false;
  /// Where the mesh is chosen too.
  std::optional<Mesh> mesh;
  /// A named strategy, or one that is searched.
  Strategy strategy;
  /// What was found; no solution for a named strategy.
  FoundShardings found;
  /// The text of a decision file that a named strategy's shardings are taken
  /// from; empty: they follow from its seeds.
  std::string decisions;
  /// Seconds and bytes of the scheduled program.
  double seconds = 0;
  int64_t arenaBytes = 0;
  /// Candidates that got through the phases.
  unsigned tried = 0;
};

/// One line without its end: "the search on dp=2,tp=2", or the strategy.
std::string describeChoice(const ShardingChoice &choice);

/// One line: where the shardings come from, their time, and the bound of the
/// search.
void printChoice(const ShardingChoice &choice, llvm::raw_ostream &os);

/// Bytes above 0, as 450MB: units are of 10^3, 10^6 and 10^9. An error names
/// the option `name`.
llvm::Expected<int64_t> parseMemoryLimit(llvm::StringRef name,
                                         llvm::StringRef text);

struct PipelineOptions;

/// Compiles the program at phase input with each of the options, in which a
/// choice is made, and runs what comes out. The number of the fastest; an error
/// is reported.
using MeasureChoices = std::function<mlir::FailureOr<size_t>(
    mlir::ModuleOp input, llvm::ArrayRef<PipelineOptions>)>;

/// What a user asks of a compilation.
struct PipelineOptions {
  /// None: the module has a dist.mesh, or is for one device.
  std::optional<Mesh> mesh;
  /// None: the module's own seeds.
  Strategy strategy;
  /// Where the strategy is searched: how, and what was chosen, which the first
  /// phase that needs it writes.
  ShardingSearchOptions search;
  /// Devices of `cluster` for which the mesh is chosen too; 0: it is given.
  int64_t ranks = 0;
  /// Bytes that the arena of a device may have; 0: no limit.
  int64_t memoryLimit = 0;
  /// The text of a decision file that is taken in place of a search, and where
  /// decisions are written; empty: none.
  std::string decisions, decisionsOut;
  /// What `decisions` does not have is searched.
  bool updatesDecisions = false;
  /// Of the candidates of a search, so many of the fastest by the model are
  /// measured by `measure`, which decides; 0: the model does.
  unsigned numMeasured = 0;
  MeasureChoices measure;
  std::shared_ptr<ShardingChoice> choice = std::make_shared<ShardingChoice>();
  /// A cluster file, whose links and device decide what is faster; empty: the
  /// program's own, or equal links.
  std::string cluster;
  /// A program with a loss stays a forward function.
  bool forward = false;
  /// How a program with a loss is trained: the fields that are given.
  GivenPlan plan;
  MemoryUse memory = MemoryUse::Shared;
  /// Limits on what a function communicates, as `dist.budget`; negative: none.
  int64_t maxBytes = -1, maxCollectives = -1;
  bool noFullGather = false;
  /// Bytes of small collectives that are done as one, at most; 0: none are.
  int64_t bucketBytes = int64_t(25) << 20;
  /// Bytes of gathered parameters that may stay for a later use rather than be
  /// gathered again.
  int64_t sharedBytes = 0;
  /// Where the report of collectives goes (reportCollectives); empty: nowhere.
  std::string collectiveReport;
  /// What is compiled for: host, cuda or cuda-emulated; empty: what the module
  /// says, or host.
  std::string target;
  /// Matmuls of f8 are done in bf16: the GPU has no units for them.
  bool widenF8 = false;
  /// After which phase the report of collectives is made: partition, where
  /// every collective is exposed still, or schedule.
  Phase reportPhase = Phase::Partition;
  CollectiveMatmul collectiveMatmul = CollectiveMatmul::Off;
  /// The sequence may be stored in zig-zag order.
  bool ordersSequence = true;
  /// Matmuls of a GPU take a part of what follows; else kernels have it.
  bool epilogues = true;
  /// Collectives run beside work; else each is waited for at once.
  bool overlap = true;
  /// Bytes that a rank's memory may grow by for that; negative: a tenth of it.
  int64_t overlapBytes = -1;
  /// What the minor dimensions of matmuls are padded to a multiple of; 0: they
  /// are not; negative: chosen by their sizes for a GPU, not for the host.
  int64_t padMultiple = -1;
  /// Whether sizes are padded though no mesh asks for it.
  bool pads() const {
    return padMultiple > 0 ||
           (padMultiple < 0 && !target.empty() && target != "host");
  }
  /// After phase partition the functions before it are beside those that
  /// were made of them, named by dist.reference, until phase kernels.
  bool keepReference = false;
  /// Verifies the IR after each pass, too; else after each phase. That takes a
  /// quarter of the time of a large program.
  bool verifyEach = false;
  /// Name of the program in its manifest.
  std::string program = "program";
};

/// Adds the passes of one phase.
void buildPhase(mlir::OpPassManager &pm, Phase phase,
                const PipelineOptions &options);

/// Runs the passes of one phase and verifies the module that they leave.
mlir::LogicalResult runPhase(mlir::ModuleOp module, Phase phase,
                             const PipelineOptions &options);

/// Adds the passes of all phases up to `last`, from an `input` module.
void buildPhasesUpTo(mlir::OpPassManager &pm, Phase last,
                     const PipelineOptions &options);

/// Registers one pipeline a phase (`--tessera-partition`) and `--compile-to`.
void registerPipelines();

} // namespace tessera

#endif // TESSERA_PIPELINES_PIPELINES_H
