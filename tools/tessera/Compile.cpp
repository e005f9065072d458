//===- Compile.cpp - tessera compile --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options, progress, and input and output files. lib/Phases defines what
// each phase does, lib/Conversion how LLVM dialect becomes an object.
//
//===----------------------------------------------------------------------===//

#include "CheckProgram.h"
#include "Options.h"
#include "PlanOptions.h"
#include "Programs.h"
#include "TimedRuns.h"

#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "tessera/AutoSharding/AutoSharding.h"
#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Collectives/CollectiveReport.h"
#include "tessera/Conversion/Executable.h"
#include "tessera/Conversion/GPUImages.h"
#include "tessera/Cost/MemoryModel.h"
#include "tessera/Registration/Registration.h"
#include "tessera/Report/Table.h"
#include "tessera/Stages/StageTable.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Errors.h"
#include "tessera/Support/TemporaryFile.h"
#include "tessera/Training/WholeParameters.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <cstdlib>

using namespace tessera;
using llvm::StringRef;
using mlir::failed;

namespace {

/// The values of --compile-to.
std::string listLastPhases() {
  std::string phases = listPhases() + ", object, exe";
  llvm::erase(phases, ' ');
  std::replace(phases.begin(), phases.end(), ',', '|');
  return phases;
}

const std::string kLastPhases = listLastPhases();

const OptionSpec kOwnOptions[] = {
    section(Section::Mesh),
    common("the devices, as dp=2,tp=2",
           {"--mesh", "AXES",
            "the devices, as dp=2,tp=2; default: the program's own dist.mesh, "
            "or one device"}),
    common("what to shard, as dp,tp,sp,zero=3, or auto",
           {"--strategy", "LIST",
            "what to shard, as dp,cp,tp,sp,zero=3, with cp=METHOD as of "
            "--cp-method, dp@x+y and tp@z on axes of other names; auto or "
            "pp,auto: shardings are searched; default: the program's own "
            "shardings"}),
    choice(
        "plain|auto",
        {"--sequence-order", "WHAT",
         "auto (default): a sequence that causal attention shares over cp is "
         "stored in zig-zag order, so that all devices have equal work; plain: "
         "as "
         "it is. Results are the same"}),
    section(Section::Target),
    common(
        "host, cuda or cuda-emulated; default: host",
        choice(
            "host|cuda|cuda-emulated",
            {"--target", "NAME",
             "host (default), cuda (kernels for NVIDIA GPUs; needs a CUDA "
             "toolkit, but no GPU) or cuda-emulated (the same kernels on the "
             "host, slowly; needs neither)"})),
    {"--cuda-arch", "LIST",
     "architectures to make machine code for, as 80,90; default: 80,90,100; "
     "PTX of the lowest goes along"},
    common(
        "stop after this phase and print the program",
        choice(
            kLastPhases,
            {"--compile-to", "PHASE",
             "stop after this phase and print the program; object: write the "
             "object file and do not link; default: exe, the executable"})),
    {"--keep-reference", "",
     "with --compile-to partition: print the program before it along, for "
     "tessera-opt --dist-verify-partition"},
    {"--cpu", "NAME",
     "processor to generate code for, by LLVM's name, as x86-64-v3; default: "
     "$TESSERA_CPU, or native, this machine's"},
    choice("shared|apart|watched", {"--memory", "USE",
                                    "shared (default), apart (no memory used "
                                    "twice) or watched (the program "
                                    "checks that nothing is written beyond a "
                                    "tensor or read when it is over; "
                                    "slow)"}),
    {"--runtime-library", "FILE",
     "the runtime to link with; default: libtessera_rt_host.a, or "
     "libtessera_rt_cuda.a, in ../lib/tessera or ../lib seen from this tool"},
    section(Section::Kernels),
    choice("off|auto|on", {"--collective-matmul", "WHAT",
                           "off (default), auto or on: matmuls run in chunks "
                           "beside the all-gather "
                           "before or the reduce-scatter after them, where "
                           "that takes less time on "
                           "the mesh's links; or always"}),
    choice(
        "auto|peers|padded|dense",
        {"--dispatch", "HOW",
         "with experts over devices: peers: a device gets the tokens that "
         "its experts use; padded: as many as --moe-room has room for; dense: "
         "all tokens; auto (default): peers for the host, else padded with "
         "--moe-room. The numbers are the same"}),
    choice("off|on", {"--epilogues", "WHAT",
                      "on (default): matmuls for CUDA take biases, GELU and "
                      "what is added; off: "
                      "kernels do that"}),
    choice("off|on", {"--overlap", "WHAT",
                      "on (default): collectives run beside work; off: each is "
                      "waited for at "
                      "once. The numbers are the same"}),
    {"--overlap-memory", "BYTES",
     "what a device's memory may grow by for that; default: a tenth of it"},
    {"--bucket-bytes", "BYTES",
     "do small collectives as one, of at most so many bytes of a device; 0: "
     "none; default: 25MiB"},
    {"--shared-bytes", "BYTES",
     "keep so many bytes of gathered parameters for a later use rather than "
     "gather them again; default: 0"},
    {"--pad-to-multiple-of", "N",
     "pad the minor dimensions of matmuls, such as a vocabulary of 50257, to a "
     "multiple of N on each device; auto (default): for CUDA, 64 where that "
     "adds at most 1 %, else 8, of 8 bits 16, where it adds at most an eighth; "
     "off"},
    section(Section::Search),
    {"--measure", "K",
     "with --strategy auto: the K fastest candidates by the model are compiled "
     "and run on this machine, in turn, and the fastest program is taken"},
    section(Section::Checks),
    {"--max-bytes", "BYTES", "fail if a device receives more in one call"},
    {"--max-collectives", "N", "fail if there are more in one call"},
    {"--no-full-gather", "", "fail if a device gathers a whole tensor"},
    section(Section::Report),
    common("write what a device receives, and what no work hides",
           {"--dist-report", "FILE",
            "write what a device receives, by kind of collective and axes, and "
            "what of it no work hides: JSON to FILE.json, else text; - is "
            "stdout",
            /*isOutput=*/true}),
    {"--shardings-out", "FILE",
     "write the shardings of weights, inputs and activations after "
     "propagation, as JSON, for a trainer or --shardings; - is stdout",
     /*isOutput=*/true},
    {"--kernel-report", "FILE",
     "with --target cuda: write the registers and spills of each kernel: JSON "
     "to FILE.json, else text; - is stdout",
     /*isOutput=*/true},
    section(Section::Output),
    {"--quiet", "", "no progress on stderr"},
    common("write the executable, or the text of a phase, there",
           {"-o", "FILE",
            "write the executable there (default: the program's name), or the "
            "text of a phase (default: stdout)",
            /*isOutput=*/true}),
};

const CommandSpec kCommand = {
    "compile",
    "PROGRAM.mlir [options]",
    "Compiles a program to an executable of one process per device.",
    "A program that returns a loss becomes its training step. Partitions the\n"
    "program over the mesh, outlines kernels, plans the memory "
    "of\n"
    "a rank, generates code and links it with Tessera's runtime. A program of\n"
    "local functions (dist.local) is partitioned already. Programs for GPUs\n"
    "need a C++ compiler on PATH to link. The executable needs nothing of\n"
    "Tessera, MLIR or LLVM; it starts its ranks itself: see tessera run.",
    withPlanOptions(kOwnOptions, FieldUse::kCompiled),
    "  tessera compile gpt2.mlir --mesh dp=2,tp=2 --strategy dp,tp,sp -o gpt2\n"
    "  tessera compile gpt2.mlir --compile-to=kernels"};

/// Prints "phase  seconds" as phases end.
class Progress {
public:
  explicit Progress(bool quiet) : quiet(quiet) {}
  void done(StringRef phase) {
    auto now = std::chrono::steady_clock::now();
    std::chrono::duration<double> seconds = now - last;
    last = now;
    if (!quiet)
      llvm::errs() << llvm::formatv("{0,-10} {1,8:f3} s\n", phase,
                                    seconds.count());
  }

private:
  bool quiet;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

/// Prints the peak memory of a rank by category, in MB (10^6 bytes). A pipeline
/// has one column per pp rank.
void printMemory(mlir::ModuleOp module, llvm::raw_ostream &os) {
  struct Row {
    StringRef name;
    llvm::SmallVector<int64_t> bytes;
  };
  std::vector<Row> rows;
  size_t columns = 0;
  auto add = [&](size_t row, StringRef name, mlir::Attribute bytes) {
    if (rows.size() <= row)
      rows.push_back({name, {}});
    rows[row].bytes.push_back(mlir::cast<mlir::IntegerAttr>(bytes).getInt());
  };
  for (auto func : module.getOps<mlir::func::FuncOp>()) {
    auto memory =
        func->getAttrOfType<mlir::DictionaryAttr>(rt::RTDialect::kMemoryAttr);
    auto total =
        func->getAttrOfType<mlir::IntegerAttr>(rt::RTDialect::kArenaBytesAttr);
    if (!memory || !total)
      continue;
    ++columns;
    for (auto [i, entry] : llvm::enumerate(memory))
      add(i, entry.getName(), entry.getValue());
    add(memory.size(), "arena", total);
  }
  if (rows.empty())
    return;
  os << "memory per rank at its peak" << (columns > 1 ? ", MB:\n" : ":\n");
  if (columns > 1) {
    os << llvm::formatv("  {0,-16}", "pp rank");
    for (size_t rank = 0; rank < columns; ++rank)
      os << llvm::formatv(" {0,8}", rank);
    os << "\n";
  }
  for (const Row &row : rows) {
    os << llvm::formatv("  {0,-16}", row.name);
    for (int64_t bytes : row.bytes)
      os << llvm::formatv(" {0,8:f2}", bytes / 1e6);
    os << (columns > 1 ? "\n" : " MB\n");
  }
}

/// Warns if the arena of a rank, together with the memory that the driver and
/// the collective library take, does not fit the cluster's device.
llvm::Error warnIfTooLarge(mlir::ModuleOp module, StringRef clusterFile) {
  auto cluster = readClusterSpec(clusterFile);
  if (!cluster)
    return cluster.takeError();
  cost::MemoryConstants constants;
  int64_t devices = 1;
  for (auto mesh : module.getOps<dist::MeshOp>())
    devices *= mesh.getMesh().toMesh().numDevices();
  double context =
      constants.deviceContext + (devices > 1 ? constants.collectiveContext : 0);
  double capacity = cluster->device.memoryBytes.value;
  for (auto func : module.getOps<mlir::func::FuncOp>()) {
    auto arena =
        func->getAttrOfType<mlir::IntegerAttr>(rt::RTDialect::kArenaBytesAttr);
    double bytes = arena ? double(arena.getInt()) + context : 0;
    if (bytes <= capacity || !func->hasAttr(rt::RTDialect::kMemoryAttr))
      continue;
    auto rank =
        func->getAttrOfType<mlir::IntegerAttr>(dist::DistDialect::kPPRankAttr);
    llvm::errs() << llvm::formatv(
        "tessera compile: warning: {0} needs {1:f1} GB, {2:f1} of them for the "
        "device's context{3}, but {4} has {5:f1} GB; see tessera plan\n",
        rank ? llvm::formatv("pp rank {0}", rank.getInt()).str() : "a rank",
        bytes / 1e9, context / 1e9,
        devices > 1 ? " and the collective library" : "", cluster->device.name,
        capacity / 1e9);
  }
  return llvm::Error::success();
}

/// The settings of one compilation.
struct Job {
  std::string input, output, name;
  /// The last phase to run; none: compile to the object, and to the executable
  /// if `isLinked`.
  std::optional<Phase> last;
  bool isLinked = true;
  PipelineOptions pipeline;
  AutoShardingOptions choice;
  ObjectOptions object;
  ImageOptions images;
  std::string kernelReport;
  bool quiet = false;
};

/// Reads the limits and options of communication, and the report's file.
llvm::Error readBudget(const ParsedOptions &parsed, PipelineOptions &pipeline) {
  for (auto [name, limit] :
       {std::pair("--max-bytes", &pipeline.maxBytes),
        std::pair("--bucket-bytes", &pipeline.bucketBytes),
        std::pair("--shared-bytes", &pipeline.sharedBytes),
        std::pair("--overlap-memory", &pipeline.overlapBytes)}) {
    if (!parsed.has(name))
      continue;
    std::optional<int64_t> bytes = parseBytes(parsed.get(name));
    if (!bytes)
      return llvm::createStringError(llvm::Twine(name) +
                                     " expects bytes, as 25MB or 0, but got '" +
                                     parsed.get(name) + "'");
    *limit = *bytes;
  }
  if (parsed.has("--max-collectives")) {
    std::optional<int64_t> count = parseCount(parsed.get("--max-collectives"));
    if (!count)
      return llvm::createStringError(
          "--max-collectives expects an integer of at least 0 but got '" +
          parsed.get("--max-collectives") + "'");
    pipeline.maxCollectives = *count;
  }
  pipeline.noFullGather = parsed.has("--no-full-gather");
  pipeline.collectiveReport = parsed.get("--dist-report").str();
  pipeline.command = parsed.commandLine;
  auto overlap = parsed.getChoice("--overlap", "on");
  if (!overlap)
    return overlap.takeError();
  if (parsed.has("--overlap"))
    pipeline.overlap = *overlap == 1;
  auto rings = parsed.getChoice("--collective-matmul", "off");
  if (!rings)
    return rings.takeError();
  if (parsed.has("--collective-matmul"))
    pipeline.collectiveMatmul = static_cast<CollectiveMatmul>(*rings);
  auto dispatch = parsed.getChoice("--dispatch", "auto");
  if (!dispatch)
    return dispatch.takeError();
  pipeline.dispatch = static_cast<Dispatch>(*dispatch);
  auto epilogues = parsed.getChoice("--epilogues", "on");
  if (!epilogues)
    return epilogues.takeError();
  pipeline.epilogues = *epilogues == 1;
  return llvm::Error::success();
}

/// The first architecture with units for matmuls in 8 bits.
constexpr int kFirstF8Arch = 89;

/// Reads the architecture and the toolkit for the kernels of a GPU.
llvm::Error readImageOptions(const ParsedOptions &parsed, Job &job) {
  bool isCuda = parsed.get("--target") == "cuda";
  for (StringRef name : {"--cuda-arch", "--kernel-report"})
    if (parsed.has(name) && (!isCuda || job.last))
      return llvm::createStringError(
          name + " expects --target cuda and an executable");
  if (!isCuda || job.last)
    return llvm::Error::success();
  if (parsed.has("--cuda-arch")) {
    auto archs = parseArchs(parsed.get("--cuda-arch"));
    if (!archs)
      return archs.takeError();
    job.images.archs = *archs;
    job.pipeline.widenF8 = archs->back() < kFirstF8Arch;
    if (job.pipeline.widenF8 &&
        job.pipeline.layout.plan.plan.precision == Precision::FP8)
      llvm::errs() << "tessera compile: warning: sm_" << archs->back()
                   << " does not multiply in 8 bits: matmuls are done in bf16 "
                      "from operands in 8 bits\n";
  }
  job.kernelReport = parsed.get("--kernel-report").str();
  auto toolkit = findCUDAToolkit();
  if (!toolkit)
    return llvm::createStringError("--target cuda: " +
                                   llvm::toString(toolkit.takeError()));
  job.images.toolkit = *toolkit;
  return llvm::Error::success();
}

/// Reads the number of candidates to measure.
llvm::Error readMeasure(const ParsedOptions &parsed, Job &job) {
  if (!parsed.has("--measure"))
    return llvm::Error::success();
  auto count = parsed.getInteger("--measure", 1);
  if (!count)
    return count.takeError();
  if (!job.pipeline.layout.strategy.isSearched)
    return llvm::createStringError("--measure expects --strategy auto");
  if (parsed.has("--decisions"))
    return llvm::createStringError(
        "expects --measure or --decisions but got both");
  job.choice.numMeasured = **count;
  return llvm::Error::success();
}

/// The program's number of ranks, from the options or the program itself.
int64_t countRanks(mlir::ModuleOp input, const Job &job) {
  if (job.pipeline.layout.mesh)
    return job.pipeline.layout.mesh->numDevices();
  if (job.choice.ranks > 0)
    return job.choice.ranks;
  for (auto mesh : input.getOps<dist::MeshOp>())
    return mesh.getMesh().toMesh().numDevices();
  return 1;
}

/// Fails if this machine has too few GPUs to measure the candidates.
llvm::Error checkMeasure(mlir::ModuleOp input, const Job &job) {
  if (job.choice.numMeasured == 0 || job.pipeline.target != "cuda")
    return llvm::Error::success();
  int64_t gpus = countGPUs(), ranks = countRanks(input, job);
  if (gpus >= ranks)
    return llvm::Error::success();
  return llvm::createStringError(
      "--measure expects a GPU of this machine for each of " +
      llvm::Twine(ranks) + " ranks but got " + llvm::Twine(gpus));
}

/// The processor to generate code for if the command line names none.
StringRef defaultCpu() {
  const char *value = std::getenv("TESSERA_CPU");
  return value && *value ? value : "native";
}

llvm::Expected<Job> readJob(const ParsedOptions &parsed) {
  if (parsed.positional.size() != 1)
    return llvm::createStringError("expects one PROGRAM.mlir but got " +
                                   llvm::Twine(parsed.positional.size()) +
                                   "; see tessera compile --help");
  auto target = parsed.getChoice("--target", "host");
  if (!target)
    return target.takeError();
  auto memory = parsed.getChoice("--memory", "shared");
  if (!memory)
    return memory.takeError();
  Job job;
  job.input = parsed.positional[0].str();
  StringRef phase = parsed.get("--compile-to", "exe");
  job.isLinked = phase == "exe";
  if (phase != "exe" && phase != "object") {
    job.last = parsePhase(phase);
    if (!job.last)
      return llvm::createStringError("--compile-to expects " + listPhases() +
                                     ", object or exe but got '" + phase + "'");
  }
  job.name = llvm::sys::path::stem(job.input).str();
  job.output = parsed.get("-o").str();
  if (!job.last) {
    if (job.output.empty())
      job.output = job.name + (job.isLinked ? "" : ".o");
    if (job.output == "-" || job.output == job.input)
      return llvm::createStringError(
          "-o expects a file for the " +
          StringRef(job.isLinked ? "executable" : "object") + " but got '" +
          job.output + "'");
  }
  if (llvm::Error error = readPipelineOptions(parsed, job.pipeline, job.choice))
    return std::move(error);
  job.pipeline.memory = static_cast<MemoryUse>(*memory);
  job.pipeline.program = job.name;
  if (llvm::Error error = readBudget(parsed, job.pipeline))
    return error;
  job.pipeline.target = parsed.get("--target").str();
  if (llvm::Error error = readImageOptions(parsed, job))
    return error;
  // Work and collectives have an order from phase schedule on.
  if (!job.last || *job.last >= Phase::Schedule)
    job.pipeline.reportPhase = Phase::Schedule;
  job.pipeline.keepReference = parsed.has("--keep-reference");
  if (job.pipeline.keepReference && job.last != Phase::Partition)
    return llvm::createStringError(
        "--keep-reference expects --compile-to=partition");
  job.object.cpu = parsed.get("--cpu", defaultCpu()).str();
  job.quiet = parsed.has("--quiet");
  if (llvm::Error error = readMeasure(parsed, job))
    return std::move(error);
  bool isLinking = (!job.last && job.isLinked) || job.choice.numMeasured > 0;
  std::string tool = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  auto library = findRuntimeLibrary(
      parsed.get("--runtime-library"), llvm::sys::path::parent_path(tool),
      *target == 0 ? "tessera_rt_host" : "tessera_rt_cuda");
  if (library)
    job.object.library = *library;
  else if (isLinking)
    return library.takeError();
  else
    llvm::consumeError(library.takeError());
  return job;
}

/// True if the phase has something to do. A program without a mesh runs on one
/// rank and is not partitioned, but its training step may still be
/// rematerialized and its sizes padded.
bool isNeeded(Phase phase, mlir::ModuleOp module, const Job &job) {
  if (phase != Phase::Input && phase <= Phase::Schedule && isScheduled(module))
    return false;
  if (phase == Phase::Input || phase >= Phase::Kernels)
    return true;
  if (isLocal(module))
    return false;
  if (phase == Phase::Partition &&
      (module->hasAttr(dist::DistDialect::kPlanAttr) || job.pipeline.pads()))
    return true;
  return phase <= Phase::Train || !module.getOps<dist::MeshOp>().empty() ||
         job.pipeline.layout.mesh || !job.pipeline.layout.strategy.isNone();
}

/// A program of phase schedule keeps its target, order and memory; the report
/// of its collectives can still be made.
llvm::Error takeScheduled(mlir::ModuleOp module, const Job &job) {
  auto attr =
      module->getAttrOfType<mlir::StringAttr>(rt::RTDialect::kTargetAttr);
  StringRef target = attr ? attr.getValue() : "host";
  if (!job.pipeline.target.empty() && job.pipeline.target != target)
    return llvm::createStringError("--target expects " + target +
                                   ", for which the program of phase schedule "
                                   "was compiled, but got '" +
                                   job.pipeline.target + "'");
  if (!job.pipeline.collectiveReport.empty() &&
      job.pipeline.reportPhase == Phase::Schedule &&
      failed(reportCollectives(module, job.pipeline.collectiveReport,
                               job.pipeline.command)))
    return llvm::make_error<Reported>();
  return llvm::Error::success();
}

llvm::Error runPhases(mlir::ModuleOp module, Phase first, Phase last,
                      const Job &job, Progress &progress) {
  for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
    auto phase = static_cast<Phase>(i);
    if (!isNeeded(phase, module, job))
      continue;
    if (failed(runPhase(module, phase, job.pipeline)))
      return llvm::make_error<Reported>();
    progress.done(stringifyPhase(phase));
    if (phase == Phase::Partition && !job.quiet)
      printStages(module, llvm::errs());
    if (phase == Phase::Schedule && !job.quiet)
      printMemory(module, llvm::errs());
    if (phase == Phase::Schedule && !job.pipeline.cluster.empty())
      if (llvm::Error error = warnIfTooLarge(module, job.pipeline.cluster))
        return error;
  }
  return llvm::Error::success();
}

/// Compiles the kernels of a GPU to images.
llvm::Error makeImages(mlir::ModuleOp module, const Job &job,
                       Progress &progress) {
  auto uses = addDeviceImages(module, job.images);
  if (!uses)
    return uses.takeError();
  progress.done("images");
  if (job.kernelReport.empty())
    return llvm::Error::success();
  return writeOutput(job.kernelReport, [&](llvm::raw_ostream &os) {
    if (StringRef(job.kernelReport).ends_with(".json"))
      printKernelUseAsJson(*uses, job.pipeline.command, os);
    else
      printKernelUse(*uses, os);
  });
}

/// Writes the object, or links the executable from a temporary object.
llvm::Error makeExecutable(mlir::ModuleOp module, const Job &job,
                           Progress &progress) {
  if (!job.images.toolkit.empty())
    if (llvm::Error error = makeImages(module, job, progress))
      return error;
  if (!job.isLinked) {
    llvm::Error error = writeObject(module, job.object, job.output);
    progress.done("object");
    return error;
  }
  TemporaryFile object;
  if (llvm::Error error = object.create("tessera", "o"))
    return error;
  if (llvm::Error error = writeObject(module, job.object, object.getPath()))
    return error;
  progress.done("object");
  if (llvm::Error error =
          linkExecutable(object.getPath(), job.object.library, job.output))
    return error;
  progress.done("link");
  return llvm::Error::success();
}

/// Seconds of a step of a rank: wall time if each rank has its own device.
/// Ranks of the host share processors, so their processor time is divided by
/// the number of processors that they use.
llvm::Expected<double> timeRank(StringRef program, int64_t ranks, bool isHost,
                                unsigned steps) {
  auto seconds = timeSteps(program, ranks, steps);
  if (!seconds)
    return seconds.takeError();
  return isHost ? seconds->cpu / double(std::min(ranks, countProcessors()))
                : seconds->wall;
}

/// Compiles each candidate to a program.
llvm::Error compileTrials(mlir::ModuleOp input,
                          llvm::ArrayRef<ShardingChoice> candidates, Job job,
                          llvm::MutableArrayRef<TemporaryFile> programs) {
  bool isQuiet = job.quiet;
  job.isLinked = job.quiet = true;
  job.kernelReport.clear();
  job.choice.decisionsOut.clear();
  job.pipeline.collectiveReport.clear();
  job.pipeline.shardingsOut = nullptr;
  Progress none(/*quiet=*/true);
  for (auto [i, candidate] : llvm::enumerate(candidates)) {
    if (llvm::Error error = programs[i].create("tessera-trial", "out"))
      return error;
    job.output = programs[i].getPath().str();
    Module copy = input.clone();
    if (failed(takeShardings(*copy, candidate, job.pipeline, job.choice)))
      return llvm::make_error<Reported>();
    if (llvm::Error error =
            runPhases(*copy, Phase::Train, Phase::LLVM, job, none))
      return error;
    if (llvm::Error error = makeExecutable(*copy, job, none))
      return error;
    if (!isQuiet)
      llvm::errs() << "compiled " << i + 1 << " of " << candidates.size()
                   << ": " << describeChoice(candidate) << "\n";
  }
  return llvm::Error::success();
}

/// Prints one row per candidate, with a star at the fastest.
void printMeasured(llvm::ArrayRef<ShardingChoice> candidates,
                   const Halving &halving) {
  llvm::errs() << "candidates, in microseconds of a step:\n";
  Table table;
  table.addRow({"shardings", "predicted", "measured", "round"});
  for (auto [i, candidate] : llvm::enumerate(candidates))
    table.addRow(
        {describeChoice(candidate) + (i == halving.fastest ? " *" : ""),
         llvm::formatv("{0:f1}", candidate.seconds * 1e6),
         llvm::formatv("{0:f1}", halving.seconds[i] * 1e6),
         std::to_string(halving.rounds[i])});
  table.print(llvm::errs());
}

/// Runs the programs of candidates on this machine; returns the index of the
/// fastest.
llvm::Expected<size_t> measure(mlir::ModuleOp input,
                               llvm::ArrayRef<ShardingChoice> candidates,
                               const Job &job) {
  std::vector<TemporaryFile> programs(candidates.size());
  if (llvm::Error error = compileTrials(input, candidates, job, programs))
    return std::move(error);
  auto run = [&](size_t i, unsigned steps) -> llvm::Expected<double> {
    auto seconds = timeRank(programs[i].getPath(), countRanks(input, job),
                            job.pipeline.target != "cuda", steps);
    if (!seconds)
      return prefixError("--measure: " + describeChoice(candidates[i]) + ": ",
                         seconds.takeError());
    return *seconds;
  };
  auto halving = halve(
      candidates.size(), run, [&](unsigned round, unsigned steps, size_t left) {
        if (!job.quiet)
          llvm::errs() << "round " << round << ": " << left << " programs, "
                       << steps << " steps each\n";
      });
  if (!halving)
    return halving.takeError();
  if (!job.quiet)
    printMeasured(candidates, *halving);
  return halving->fastest;
}

/// Phase plan of a searched strategy: the model decides, or measurements of its
/// best candidates.
llvm::Error choose(mlir::ModuleOp module, const Job &job, Progress &progress) {
  auto found = findShardings(module, job.pipeline, job.choice);
  if (failed(found))
    return llvm::make_error<Reported>();
  size_t taken = 0;
  if (job.choice.numMeasured > 0) {
    auto fastest = measure(module, *found, job);
    if (!fastest)
      return fastest.takeError();
    taken = *fastest;
  }
  const ShardingChoice &choice = (*found)[taken];
  if (failed(takeShardings(module, choice, job.pipeline, job.choice)))
    return llvm::make_error<Reported>();
  progress.done(stringifyPhase(Phase::Plan));
  if (!job.quiet)
    printChoice(choice, llvm::errs());
  return llvm::Error::success();
}

/// Runs all phases up to the last one of the job.
llvm::Error runAllPhases(mlir::ModuleOp module, const Job &job,
                         Progress &progress) {
  if (isScheduled(module))
    if (llvm::Error error = takeScheduled(module, job))
      return error;
  Phase last = job.last.value_or(Phase::LLVM);
  if (!job.pipeline.layout.strategy.isSearched || last == Phase::Input ||
      !isNeeded(Phase::Plan, module, job))
    return runPhases(module, Phase::Input, last, job, progress);
  if (llvm::Error error =
          runPhases(module, Phase::Input, Phase::Input, job, progress))
    return error;
  if (llvm::Error error = choose(module, job, progress))
    return error;
  return runPhases(module, Phase::Train, last, job, progress);
}

llvm::Error compile(const Job &job) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  registerExecutableTranslations(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  // Ops of other dialects come with their rules as text.
  context.allowUnregisteredDialects();
  context.printOpOnDiagnostic(false);
  mlir::ScopedDiagnosticHandler handler(&context, printDiagnostic);
  Progress progress(job.quiet);
  auto module = readModule(job.input, context);
  if (!module)
    return module.takeError();
  if (llvm::Error error = checkMeasure(**module, job))
    return error;
  if (llvm::Error error = checkShardings(**module, job.pipeline, job.last))
    return error;
  if (job.choice.decisions.empty())
    warnIfCopied(**module, job.pipeline);
  if (job.pipeline.layout.strategy.tp && !job.quiet)
    printNote(kCommand.name, describeWholeParameters(**module));
  if (llvm::Error error = runAllPhases(**module, job, progress))
    return error;
  if (!job.last)
    return makeExecutable(**module, job, progress);
  return writeOutput(job.output, [&](llvm::raw_ostream &os) {
    (*module)->print(os);
    os << "\n";
  });
}

} // namespace

const CommandSpec &tessera::getCompileSpec() { return kCommand; }

int tessera::runCompile(Arguments arguments) {
  if (std::optional<int> status = showHelp(kCommand, arguments))
    return *status;
  auto parsed = parseOptions(kCommand, arguments);
  if (!parsed)
    return reportError(kCommand.name, parsed.takeError());
  auto job = readJob(*parsed);
  if (!job)
    return reportError(kCommand.name, job.takeError());
  llvm::Error error = compile(*job);
  if (!error)
    return 0;
  if (error.isA<Reported>()) {
    llvm::consumeError(std::move(error));
    return 1;
  }
  return reportError(kCommand.name, std::move(error));
}
