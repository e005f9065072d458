//===- Phases.h - Phases ------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phases of a program on its way to an executable. The IR after each phase
// is legal, printable and re-parsable, and all that the next phase needs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PHASES_PHASES_H
#define TESSERA_PHASES_PHASES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "tessera/Experts/Dispatch.h"
#include "tessera/Partitioner/Partitioner.h"
#include "tessera/ShardingFile/Passes.h"
#include "tessera/Training/GivenLayout.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace tessera {

/// Phases in order. A phase names the state of the module after its passes.
enum class Phase {
  /// A forward function on tensors of static global shape.
  Input,
  /// + the mesh, seed shardings, and the training plan of a program with a
  /// loss.
  Plan,
  /// The training step replaces the forward function, if there is a plan.
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

/// The use of a rank's memory.
enum class MemoryUse {
  /// Tensors that are not alive at one time share memory.
  Shared,
  /// Every tensor has its own memory.
  Apart,
  /// Shared, and the program checks it: the bytes after a tensor must not
  /// change, and a tensor's content is overwritten when its life ends.
  Watched,
};

/// Whether matmuls run in chunks overlapped with their all-gather or
/// reduce-scatter.
enum class CollectiveMatmul {
  Off,
  /// Only if it takes less time.
  Auto,
  /// Wherever it is possible.
  On,
};

/// The options of a compilation.
struct PipelineOptions : PartitionerOptions {
  /// Minor dimensions of matmuls are padded by their sizes for a GPU, and not
  /// for the host.
  PipelineOptions() { padMultiple = -1; }

  GivenLayout layout;
  /// The file of shardings that seeds the program; null: none.
  std::shared_ptr<const GivenShardings> shardings;
  /// The file of shardings to write; null: none.
  std::shared_ptr<ShardingRecord> shardingsOut;
  /// A cluster file, whose links and device determine times; empty: the
  /// program's own, or equal links.
  std::string cluster;
  /// A program with a loss stays a forward function.
  bool forward = false;
  MemoryUse memory = MemoryUse::Shared;
  /// Largest bytes of small collectives that are merged; 0: no merging.
  int64_t bucketBytes = int64_t(25) << 20;
  /// Output of the report of collectives (reportCollectives); empty: none.
  std::string collectiveReport;
  /// The command line that the report names.
  std::string command;
  /// The target: host, cuda or cuda-emulated; empty: the module's target, or
  /// host.
  std::string target;
  /// Computes f8 matmuls in bf16, for a GPU without units for them.
  bool widenF8 = false;
  /// The phase after which collectives are reported: partition, with every
  /// collective still exposed, or schedule.
  Phase reportPhase = Phase::Partition;
  CollectiveMatmul collectiveMatmul = CollectiveMatmul::Off;
  /// How tokens get to the devices that hold their experts.
  Dispatch dispatch = Dispatch::Auto;
  /// The sequence may be stored in zig-zag order.
  bool ordersSequence = true;
  /// Matmuls of a GPU fuse epilogues; else kernels compute these ops.
  bool epilogues = true;
  /// Collectives overlap with work; else the wait follows each at once.
  bool overlap = true;
  /// Growth of a rank's memory allowed for overlap, in bytes; negative: a
  /// tenth.
  int64_t overlapBytes = -1;
  /// Whether sizes are padded even if no mesh requires it.
  bool pads() const {
    return padMultiple > 0 ||
           (padMultiple < 0 && !target.empty() && target != "host");
  }
  /// After phase partition, keeps the original functions, named by
  /// dist.reference, next to the ones made from them, until phase kernels.
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

/// Runs the passes of one phase and verifies the resulting module. Builds with
/// asserts verify it after each pass too, which takes a quarter of the time of
/// a large program.
mlir::LogicalResult runPhase(mlir::ModuleOp module, Phase phase,
                             const PipelineOptions &options);

/// Adds the passes of all phases up to `last`, from an `input` module.
void buildPhasesUpTo(mlir::OpPassManager &pm, Phase last,
                     const PipelineOptions &options);

} // namespace tessera

#endif // TESSERA_PHASES_PHASES_H
