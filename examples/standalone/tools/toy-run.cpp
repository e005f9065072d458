//===- toy-run.cpp - A compiler of programs with toy ops ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Partitions a program, or the training step of a program with a loss, proves
// it, compares it with the original in the interpreter, and links an
// executable.
//
//===----------------------------------------------------------------------===//

#include "Toy.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "tessera/Conversion/Executable.h"
#include "tessera/Interpreter/Verify.h"
#include "tessera/Phases/Phases.h"
#include "tessera/Registration/Registration.h"
#include "tessera/Support/TemporaryFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace tessera;

static llvm::cl::opt<std::string> input(llvm::cl::Positional,
                                        llvm::cl::desc("PROGRAM.mlir"),
                                        llvm::cl::Required);
static llvm::cl::opt<std::string> mesh("mesh", llvm::cl::desc("as dp=2,tp=2"),
                                       llvm::cl::Required);
static llvm::cl::opt<std::string>
    strategy("strategy", llvm::cl::desc("as dp,tp,zero=3"), llvm::cl::Required);
static llvm::cl::opt<std::string>
    training("training", llvm::cl::desc("fields of a plan, as optimizer=sgd"));
static llvm::cl::opt<std::string> output("o", llvm::cl::desc("the executable"));

static int fail(llvm::Error error) {
  llvm::errs() << "toy-run: " << llvm::toString(std::move(error)) << '\n';
  return 1;
}

/// Reads the layout of the options.
static llvm::Expected<PipelineOptions> makeOptions() {
  PipelineOptions options;
  llvm::Expected<Mesh> devices = parseMesh(mesh);
  if (!devices)
    return devices.takeError();
  options.layout.mesh = std::move(*devices);
  llvm::Expected<Strategy> given = parseStrategy(strategy);
  if (!given)
    return given.takeError();
  options.layout.strategy = std::move(*given);
  if (!training.empty())
    if (llvm::Error error = options.layout.plan.parse(training))
      return std::move(error);
  if (llvm::Error error = options.layout.complete())
    return std::move(error);
  options.verifyEach = true;
  return options;
}

static LogicalResult runPhases(ModuleOp module, Phase first, Phase last,
                               const PipelineOptions &options) {
  for (int phase = int(first); phase <= int(last); ++phase)
    if (failed(runPhase(module, Phase(phase), options)))
      return failure();
  return success();
}

/// Compares the first function of two modules on drawn data.
static bool compare(ModuleOp original, ModuleOp partitioned) {
  auto function = *original.getOps<func::FuncOp>().begin();
  auto local = partitioned.lookupSymbol<func::FuncOp>(function.getName());
  auto report = interp::verify(function, local, {});
  if (failed(report))
    return false;
  interp::printReport(*report, llvm::outs());
  return report->ok();
}

/// Compiles a partitioned module and links it.
static llvm::Error link(ModuleOp module, const PipelineOptions &options) {
  if (failed(runPhases(module, Phase::Kernels, Phase::LLVM, options)))
    return llvm::createStringError("expects a program that can be compiled");
  auto library = findRuntimeLibrary(TOY_RUNTIME, "");
  if (!library)
    return library.takeError();
  TemporaryFile object;
  if (llvm::Error error = object.create("toy", "o"))
    return error;
  if (llvm::Error error = writeObject(module, {}, object.getPath()))
    return error;
  return linkExecutable(object.getPath(), *library, output);
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv, "Toy compiler\n");
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  DialectRegistry registry;
  registerDialects(registry);
  registerExecutableTranslations(registry);
  registry.insert<toy::ToyDialect>();
  MLIRContext context(registry);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  auto module = parseSourceFile<ModuleOp>(input, sources, &context);
  if (!module)
    return 1;
  llvm::Expected<PipelineOptions> options = makeOptions();
  if (!options)
    return fail(options.takeError());
  // The plan seeds the program; a program with a loss becomes its step.
  if (failed(runPhases(*module, Phase::Input, Phase::Train, *options)))
    return 1;
  OwningOpRef<ModuleOp> original = module->clone();
  if (failed(
          runPhases(*module, Phase::Propagate, Phase::Partition, *options)) ||
      !compare(*original, *module))
    return 1;
  if (!output.empty())
    if (llvm::Error error = link(*module, *options))
      return fail(std::move(error));
  return 0;
}
