//===- Verify.cpp - tessera verify ----------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options, files and passes around lib/Interpreter's verify; prints the results
// of functions, for tests.
//
//===----------------------------------------------------------------------===//

#include "VerifyData.h"
#include "VerifyDocument.h"
#include "VerifyPairs.h"
#include "tools/tessera/Options.h"
#include "tools/tessera/PlanOptions.h"
#include "tools/tessera/Programs.h"

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "tessera/AutoSharding/AutoSharding.h"
#include "tessera/Interpreter/Verify.h"
#include "tessera/Proof/VerifyPartition.h"
#include "tessera/Registration/Registration.h"
#include "tessera/Stages/StageTable.h"
#include "tessera/Stages/VerifyPipeline.h"
#include "tessera/Witness/Witness.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <chrono>

using namespace tessera;
using namespace tessera::interp;
using llvm::StringRef;
using mlir::failed;

namespace {

constexpr OptionSpec kOwnOptions[] = {
    section(Section::Mesh),
    common("partition for this mesh, as dp=2,tp=4",
           {"--mesh", "AXES",
            "partition for this mesh, as dp=2,tp=4; default: the program's own "
            "dist.mesh and shardings"}),
    common("of pp, dp, cp, tp, sp, zero=N; or auto",
           {"--strategy", "LIST",
            "of pp, dp, cp, tp, sp, zero=N; or auto, pp,auto; default: as "
            "seeded"}),
    choice("plain|auto", {"--sequence-order", "WHAT",
                          "auto (default) or plain: see tessera compile; what "
                          "it is compared with "
                          "is in plain order"}),
    formerly("--pipeline",
             {"--passes", "PASSES",
              "verify the program before and after these passes, in MLIR's "
              "syntax, in place of partitioning it"}),
    common("verify PROGRAM and this one, made of it",
           {"--partitioned", "FILE",
            "verify PROGRAM and this one, which was made of it: of phase "
            "partition, or with --no-proof of kernels or schedule"}),
    common("verify the local functions of files",
           {"--pairs", "",
            "verify each local function of the files against the function that "
            "its dist.reference names; one table"}),
    {"--expect", "FILE",
     "with --pairs: succeed if the answers are those of FILE, rows of "
     "function,answer: proven, refuted, not provable"},
    section(Section::Kernels),
    {"--pad-to-multiple-of", "N",
     "pad the minor dimensions of matmuls to a multiple of N on each device; "
     "off (default)"},
    section(Section::Data),
    {"--function", "NAME", "only this function; default: every public one"},
    common("use N sets of data",
           {"--seeds", "N", "use N sets of data; default: 1"}),
    common("run N times, each with the state of the one before",
           {"--steps", "N",
            "run N times, each with the parameters and state of the one "
            "before; default: 1"}),
    formerly(
        "--data",
        choice(
            "ordinary|extreme",
            {"--values", "KIND",
             "ordinary (default): both signs, zeros, large and small integers; "
             "extreme: NaN, infinities and the largest numbers of 16 bits, "
             "too"})),
    common("take arguments from DIR/NAME.npy",
           {"--inputs", "DIR",
            "take arguments from DIR/NAME.npy, as for tessera run; those "
            "without a file get data as without this"}),
    common("parameters from published weights",
           {"--weights", "PATH",
            "parameters from published weights, as for tessera run: a "
            ".safetensors file, a folder or an index; --inputs goes before "
            "it"}),
    {"--integers", "", "floats are small integers: linear parts are exact"},
    section(Section::Checks),
    common("largest allowed max|a-b| / max|b| of an output",
           {"--tolerance", "X",
            "largest allowed max|a-b| / max|b| of a float output; default: "
            "1e-5 for f32, two roundings of a narrower type, and more where "
            "the program's roundings make more of it"}),
    common("only compare outputs",
           {"--no-proof", "",
            "only compare outputs, as of programs after phase partition, which "
            "have other ops than the original"}),
    section(Section::Output),
    {"--dump", "DIR",
     "write the data to DIR/NAME.npy and what the original computes to "
     "DIR/expected/NAME.npy"},
    {"--json", "",
     "print a document in place of text: outputs, collectives, the proof and "
     "the rules that it trusts"},
    {"--interpret", "",
     "only print what each function computes from the 'interpret.value' (one "
     "for all ranks) or 'interpret.values' (one per rank) of its arguments"},
    {"--progress", "SECONDS",
     "how often a long verification says on stderr how far it is; default: 5"},
    {"--quiet", "", "no progress on stderr"},
};

const CommandSpec kCommand = {
    "verify",
    "PROGRAM.mlir [options]",
    "Interprets a program before and after partitioning and compares them.",
    "Both run on the same data in this process, the partitioned program on "
    "all\n"
    "ranks of its mesh, in lockstep. A program that returns a loss becomes "
    "its\n"
    "training step first. Prints the largest difference of each output and "
    "the\n"
    "collectives by kind, and proves that the partitioned program computes "
    "the\n"
    "original one. A program that deviates is refuted by a witness, arguments\n"
    "that show the difference, or else not provable. Exit status 1 on a\n"
    "mismatch or without a proof.",
    withPlanOptions(kOwnOptions, FieldUse::kCompiled),
    "  tessera verify g.mlir --mesh dp=2,tp=2 --strategy dp,tp,sp\n"
    "  tessera verify annotated.mlir --seeds 3",
    Section::Optimizer,
    "more, the numbers of the optimizer: see docs/plan.md"};

/// Reports on stderr how far a long verification is: the current pass, the op
/// that is interpreted, the function that is proven.
class Progress {
public:
  /// Prints a line after each `interval` in seconds; infinite: none.
  explicit Progress(double interval) : interval(interval) {}

  /// Prints the current state if it is time for a line.
  void at(llvm::function_ref<void(llvm::raw_ostream &)> print) {
    auto now = Clock::now();
    if (std::chrono::duration<double>(now - last).count() < interval)
      return;
    last = now;
    llvm::errs() << llvm::formatv(
        "{0,8:f1} s  ", std::chrono::duration<double>(now - start).count());
    print(llvm::errs());
    llvm::errs() << "\n";
  }

  /// Watches the passes and the interpretations of a context.
  void watch(mlir::MLIRContext &context) {
    context.registerActionHandler([this](llvm::function_ref<void()> run,
                                         const mlir::tracing::Action &action) {
      if (auto *pass = llvm::dyn_cast<mlir::PassExecutionAction>(&action)) {
        // A nested pass manager has no name; its passes do.
        if (StringRef name = pass->getPass().getArgument(); !name.empty())
          at([&](llvm::raw_ostream &os) { os << "pass " << name; });
      } else if (llvm::isa<InterpretAction>(action)) {
        at([&](llvm::raw_ostream &os) { action.print(os); });
      }
      run();
    });
  }

private:
  using Clock = std::chrono::steady_clock;
  double interval;
  Clock::time_point start = Clock::now(), last = start;
};

llvm::Expected<double> readInterval(const ParsedOptions &parsed) {
  double interval = 5;
  if (parsed.has("--progress") &&
      (parsed.get("--progress").getAsDouble(interval) || !(interval >= 0)))
    return llvm::createStringError(
        "--progress expects a number of seconds from 0 but got '" +
        parsed.get("--progress") + "'");
  return parsed.has("--quiet") ? std::numeric_limits<double>::infinity()
                               : interval;
}

/// The functions that the options ask for.
llvm::Expected<llvm::SmallVector<mlir::func::FuncOp>>
selectFunctions(mlir::ModuleOp module, const ParsedOptions &options) {
  llvm::SmallVector<mlir::func::FuncOp> functions;
  StringRef name = options.get("--function");
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (name.empty() ? function.isPublic() && !function.isExternal()
                     : function.getName() == name)
      functions.push_back(function);
  if (functions.empty())
    return llvm::createStringError(
        name.empty() ? llvm::Twine("expects a public function with a body")
                     : "expects a function @" + name);
  return functions;
}

//===----------------------------------------------------------------------===//
// --interpret
//===----------------------------------------------------------------------===//

/// Formats "ranks 0-2,5".
std::string printRanks(llvm::ArrayRef<int64_t> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1)
      ++end;
    text += (i ? "," : "") + std::to_string(ranks[i]);
    if (end - i > 1)
      text += "-" + std::to_string(ranks[end - 1]);
    i = end;
  }
  return text;
}

/// Prints one line for each set of ranks that hold the same result.
void printResult(unsigned index, llvm::ArrayRef<RankTensors> results) {
  std::vector<bool> done(results.size(), false);
  for (size_t rank = 0; rank < results.size(); ++rank) {
    if (done[rank])
      continue;
    llvm::SmallVector<int64_t> same;
    for (size_t other = rank; other < results.size(); ++other)
      if (results[other][index]->sameAs(*results[rank][index])) {
        same.push_back(other);
        done[other] = true;
      }
    llvm::outs() << "  result" << index;
    if (results.size() > 1)
      llvm::outs() << ", " << printRanks(same);
    llvm::outs() << ": ";
    results[rank][index]->print(llvm::outs());
    llvm::outs() << "\n";
  }
}

/// The value of argument `i` of a rank.
TensorRef readArgument(mlir::func::FuncOp function, unsigned i, int64_t rank) {
  if (mlir::Attribute value = function.getArgAttr(i, "interpret.value"))
    return fromAttribute(value);
  auto values =
      function.getArgAttrOfType<mlir::ArrayAttr>(i, "interpret.values");
  if (!values || rank >= static_cast<int64_t>(values.size()))
    return nullptr;
  return fromAttribute(values[rank]);
}

llvm::Error interpretAndPrint(mlir::func::FuncOp function) {
  auto mesh = getMeshOf(function);
  if (failed(mesh))
    return llvm::make_error<Reported>();
  std::vector<RankTensors> arguments(mesh->numDevices());
  for (auto [rank, tensors] : llvm::enumerate(arguments))
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      tensors.push_back(readArgument(function, i, rank));
      if (!tensors.back())
        return llvm::createStringError(llvm::formatv(
            "@{0}: expects argument {1} to have 'interpret.value', or "
            "'interpret.values' for {2} ranks",
            function.getName(), i, arguments.size()));
    }
  auto results = interpret(function, arguments);
  if (failed(results))
    return llvm::make_error<Reported>();
  llvm::outs() << "@" << function.getName() << "\n";
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    printResult(i, *results);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// Adds the passes of --passes.
llvm::Error parsePasses(mlir::PassManager &passes,
                        const ParsedOptions &options) {
  std::string message;
  llvm::raw_string_ostream os(message);
  StringRef pipeline = options.get("--passes");
  if (pipeline.consume_front("builtin.module(") && !pipeline.consume_back(")"))
    return llvm::createStringError("--passes: expects ')' at the end");
  if (failed(mlir::parsePassPipeline(pipeline, passes, os)))
    return llvm::createStringError("--passes: " +
                                   StringRef(message).trim().split('\n').first);
  return llvm::Error::success();
}

llvm::Error runPasses(mlir::ModuleOp module, const ParsedOptions &options,
                      const PipelineOptions &phases) {
  // The pass manager is for modules explicitly: a manager of any op would apply
  // `builtin.module(...)` to modules inside this one, and run nothing.
  mlir::PassManager passes(module->getContext(),
                           mlir::ModuleOp::getOperationName());
  if (options.has("--passes")) {
    if (llvm::Error error = parsePasses(passes, options))
      return error;
  } else {
    buildPhase(passes, Phase::Propagate, phases);
    buildPhase(passes, Phase::Partition, phases);
  }
  if (failed(passes.run(module)))
    return llvm::make_error<Reported>();
  return llvm::Error::success();
}

/// Runs the phases of a program before its partitioning: mesh, seeds, and the
/// training step of a program with a loss.
llvm::Error prepare(mlir::ModuleOp module, const ParsedOptions &options,
                    PipelineOptions &phases, bool inPlainOrder = false) {
  if (options.has("--partitioned") || options.has("--passes"))
    return llvm::Error::success();
  AutoShardingOptions search;
  if (llvm::Error error = readPipelineOptions(options, phases, search))
    return error;
  phases.ordersSequence &= !inPlainOrder;
  if (failed(runPhase(module, Phase::Input, phases)))
    return llvm::make_error<Reported>();
  std::optional<ShardingChoice> choice;
  if (phases.layout.strategy.isSearched) {
    auto chosen = chooseShardings(module, phases, search);
    if (failed(chosen))
      return llvm::make_error<Reported>();
    choice = std::move(*chosen);
  } else if (failed(runPhase(module, Phase::Plan, phases))) {
    return llvm::make_error<Reported>();
  }
  if (failed(runPhase(module, Phase::Train, phases)))
    return llvm::make_error<Reported>();
  if (choice && !options.has("--quiet"))
    printChoice(*choice, llvm::errs());
  return llvm::Error::success();
}

/// True if a function takes a sequence in another order.
bool isOrdered(mlir::ModuleOp module) {
  bool found = false;
  module.walk([&](mlir::func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      found |= bool(function.getArgAttr(i, nn::NNDialect::kOrderAttr));
  });
  return found;
}

/// The least tolerance of the outputs of a program that computes in a narrower
/// type than theirs: the tolerance of that type. Results of fp8 matmuls have 16
/// bits.
double getPlannedTolerance(mlir::ModuleOp module) {
  auto plan =
      module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr);
  if (!plan || plan.getPlan().precision == Precision::F32)
    return 0;
  mlir::Builder builder(module.getContext());
  bool isF16 = plan.getPlan().precision == Precision::F16;
  return defaultTolerance(ElementType(isF16 ? mlir::Type(builder.getF16Type())
                                            : builder.getBF16Type()));
}

/// Returns the compiled program of `original`.
llvm::Expected<Module> makeCompiled(mlir::ModuleOp original,
                                    const ParsedOptions &options,
                                    const PipelineOptions &phases) {
  if (options.has("--partitioned"))
    return readModule(options.get("--partitioned"), *original.getContext());
  Module compiled = original.clone();
  if (llvm::Error error = runPasses(*compiled, options, phases))
    return std::move(error);
  if (!options.has("--quiet"))
    printStages(*compiled, llvm::errs());
  return compiled;
}

/// Fails if two options conflict, such as --partitioned and --passes.
llvm::Error checkConflicts(const ParsedOptions &options) {
  constexpr std::pair<StringRef, StringRef> kConflicts[] = {
      {"--partitioned", "--passes"},   {"--partitioned", "--mesh"},
      {"--partitioned", "--strategy"}, {"--partitioned", "--plan"},
      {"--partitioned", "--cluster"},  {"--passes", "--mesh"},
      {"--passes", "--strategy"},      {"--passes", "--plan"},
      {"--passes", "--cluster"},       {"--partitioned", "--shardings"},
      {"--passes", "--shardings"}};
  for (auto [a, b] : kConflicts)
    if (options.has(a) && options.has(b))
      return llvm::createStringError("expects " + a + " or " + b +
                                     " but got both");
  return llvm::Error::success();
}

/// Formats "dp=2, tp=2".
std::string printMesh(const Mesh &mesh) {
  std::string text;
  for (auto [name, size] : llvm::zip_equal(mesh.names, mesh.sizes))
    text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(size);
  return text;
}

/// Proves the partitioned function equivalent, without any data. Returns
/// "proven", or "deviates" after an error at the op at fault.
StringRef prove(mlir::func::FuncOp original, mlir::func::FuncOp compiled,
                const Mesh &mesh, Progress &progress) {
  progress.at(
      [&](llvm::raw_ostream &os) { os << "proving @" << compiled.getName(); });
  if (isPipelineFunction(compiled)) {
    auto program = readPipelineProgram(compiled);
    bool proven =
        succeeded(program) && succeeded(verifyPipeline(*program, original));
    return proven ? "proven" : "deviates";
  }
  bool proven = succeeded(verifyPartition(compiled, mesh, original).report());
  return proven ? "proven" : "deviates";
}

/// Decides about a program that deviates from its original: "refuted" if
/// arguments show a difference, which it describes, else "not provable".
StringRef judge(mlir::func::FuncOp original, mlir::func::FuncOp compiled,
                const VerifyOptions &options, FunctionVerdict &verdict,
                Progress &progress) {
  progress.at([&](llvm::raw_ostream &os) {
    os << "searching a witness against @" << compiled.getName();
  });
  if (!verdict.isCompared)
    return "not provable";
  // A report of several sets of data has the results of one and the arguments
  // of another.
  const VerifyReport *known = verdict.seeds == 1 ? &verdict.report : nullptr;
  std::optional<Witness> witness =
      findWitness(original, compiled, options, known);
  if (!witness)
    return "not provable";
  verdict.witness = describeWitness(*witness);
  return "refuted";
}

/// The function that `original` was compiled to; for a pipeline program the
/// function of pp rank 0. Null if there is none.
mlir::func::FuncOp findCompiled(mlir::ModuleOp module,
                                mlir::func::FuncOp original) {
  auto reference =
      mlir::FlatSymbolRefAttr::get(original.getContext(), original.getName());
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (isPipelineFunction(function) &&
        function->getAttr(dist::DistDialect::kReferenceAttr) == reference)
      return function;
  return module.lookupSymbol<mlir::func::FuncOp>(original.getName());
}

/// True if a function has ops of the RT dialect, which come after the phase
/// that is proven.
bool hasRecords(mlir::func::FuncOp function) {
  auto walked = function.walk([](mlir::Operation *op) {
    return mlir::isa_and_nonnull<rt::RTDialect>(op->getDialect())
               ? mlir::WalkResult::interrupt()
               : mlir::WalkResult::advance();
  });
  return walked.wasInterrupted();
}

/// Verifies one function with every seed and keeps the worst error of each
/// output; a function with an op that nothing can compute is only proven.
/// Prints the verdict as text if it `prints`. `plain` is the original with the
/// sequence in plain order.
llvm::Expected<FunctionVerdict>
verifyFunction(mlir::func::FuncOp plain, mlir::func::FuncOp original,
               mlir::func::FuncOp compiled, VerifyOptions options,
               int64_t seeds, StringRef dumpDirectory, bool proves, bool prints,
               Progress &progress) {
  FunctionVerdict verdict;
  verdict.name = original.getName().str();
  verdict.trustedRules = listTrustedRules(original);
  verdict.isCompared = verdict.trustedRules.empty();
  if (!verdict.isCompared && !proves)
    return llvm::createStringError(
        "--no-proof expects ops that say what they compute but got " +
        verdict.trustedRules.front());
  verdict.seeds = verdict.isCompared ? seeds : 1;
  for (int64_t seed = 0; verdict.isCompared && seed < seeds; ++seed) {
    options.inputs.seed = seed;
    auto report = verify(plain, compiled, options);
    if (failed(report))
      return llvm::make_error<Reported>();
    if (seed == 0 && !dumpDirectory.empty())
      if (llvm::Error error = writeData(original, *report, dumpDirectory))
        return std::move(error);
    if (seed == 0)
      verdict.report = std::move(*report);
    else
      verdict.report.keepWorse(*report);
  }
  auto mesh = getMeshOf(compiled);
  if (failed(mesh))
    return llvm::make_error<Reported>();
  bool isLocal = compiled->hasAttr(dist::DistDialect::kLocalAttr);
  if (isLocal) {
    verdict.ranks = mesh->numDevices();
    verdict.mesh = printMesh(*mesh);
  }
  if (prints) {
    llvm::outs() << verdict.getTitle() << "\n";
    if (verdict.isCompared)
      printReport(verdict.report, llvm::outs());
    else
      llvm::outs() << "  outputs are not compared: nothing says what "
                   << llvm::join(verdict.trustedRules, ", ") << " computes\n";
    llvm::outs().flush();
  }
  if (!isLocal || !proves)
    return verdict;
  verdict.proof = prove(original, compiled, *mesh, progress);
  if (verdict.proof == "deviates")
    verdict.proof = judge(plain, compiled, options, verdict, progress);
  if (prints && verdict.proof != "proven")
    llvm::outs() << "  " << verdict.proof << "\n";
  if (prints && !verdict.witness.empty())
    llvm::outs() << "  witness: " << verdict.witness << "\n";
  if (prints && verdict.proof == "proven")
    llvm::outs() << (isPipelineFunction(compiled) ? "  pipeline"
                                                  : "  partition")
                 << " proven" << describeTrust(original) << '\n';
  return verdict;
}

/// Returns the first error that `run` reports, with its place, in place of
/// printing it.
std::string takeError(mlir::MLIRContext &context,
                      llvm::function_ref<void()> run) {
  std::string text;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        if (!text.empty() ||
            diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
          return mlir::success();
        if (auto place = diagnostic.getLocation()
                             ->findInstanceOf<mlir::FileLineColLoc>())
          text = llvm::formatv(
              "{0}:{1}: ",
              llvm::sys::path::filename(place.getFilename().getValue()),
              place.getLine());
        text += diagnostic.str();
        return mlir::success();
      });
  run();
  return text;
}

/// Compares a local function with its reference, and proves it.
FunctionVerdict verifyPair(LocalPair pair, const VerifyOptions &options,
                           int64_t seeds, Progress &progress) {
  FunctionVerdict verdict;
  std::string reason = takeError(*pair.local.getContext(), [&] {
    auto judged = verifyFunction(pair.reference, pair.reference, pair.local,
                                 options, seeds, /*dumpDirectory=*/"",
                                 /*proves=*/true, /*prints=*/false, progress);
    if (judged) {
      verdict = std::move(*judged);
    } else {
      // It has been reported, as a diagnostic.
      llvm::consumeError(judged.takeError());
      verdict.isCompared = false;
      verdict.proof = "not provable";
    }
  });
  verdict.name = pair.local.getName().str();
  verdict.reason = std::move(reason);
  return verdict;
}

/// Reads the settings of comparisons, and the number of sets of data.
llvm::Expected<std::pair<VerifyOptions, int64_t>>
readOptions(const ParsedOptions &parsed) {
  VerifyOptions options;
  auto seeds = parsed.getInteger("--seeds", 1);
  if (!seeds)
    return seeds.takeError();
  auto steps = parsed.getInteger("--steps", 1);
  if (!steps)
    return steps.takeError();
  options.steps = steps->value_or(1);
  options.inputs.integers = parsed.has("--integers");
  auto data = parsed.getChoice("--values", "ordinary");
  if (!data)
    return data.takeError();
  if (*data == 1)
    options.inputs.floats = FloatData::Extreme;
  if (parsed.has("--tolerance")) {
    double tolerance;
    if (parsed.get("--tolerance").getAsDouble(tolerance) || !(tolerance >= 0))
      return llvm::createStringError(
          "--tolerance expects a number from 0 but got '" +
          parsed.get("--tolerance") + "'");
    options.tolerance = tolerance;
  }
  return std::pair(options, seeds->value_or(1));
}

llvm::Expected<bool> compare(mlir::ModuleOp original,
                             const ParsedOptions &parsed, Progress &progress) {
  auto read = readOptions(parsed);
  if (!read)
    return read.takeError();
  auto &[options, seeds] = *read;
  if (llvm::Error error = checkConflicts(parsed))
    return std::move(error);
  Module plain = original.clone();
  PipelineOptions phases, plainPhases;
  if (llvm::Error error = prepare(original, parsed, phases))
    return std::move(error);
  if (!isOrdered(original))
    plain = nullptr;
  else if (llvm::Error error =
               prepare(*plain, parsed, plainPhases, /*inPlainOrder=*/true))
    return std::move(error);
  options.leastTolerance = getPlannedTolerance(original);
  auto functions = selectFunctions(original, parsed);
  if (!functions)
    return functions.takeError();
  for (StringRef option : {"--dump", "--inputs", "--weights"})
    if (parsed.has(option) && functions->size() > 1)
      return llvm::createStringError(option + " expects one function but got " +
                                     llvm::Twine(functions->size()) +
                                     "; choose it by --function");
  if (parsed.has("--inputs")) {
    auto given = readInputs(functions->front(), parsed.get("--inputs"));
    if (!given)
      return given.takeError();
    options.given = std::move(*given);
  }
  if (parsed.has("--weights")) {
    options.given.resize(functions->front().getNumArguments());
    if (llvm::Error error = readWeights(functions->front(),
                                        parsed.get("--weights"), options.given))
      return std::move(error);
  }
  auto compiled = makeCompiled(original, parsed, phases);
  if (!compiled)
    return compiled.takeError();
  std::vector<FunctionVerdict> verdicts;
  for (mlir::func::FuncOp function : *functions) {
    mlir::func::FuncOp other = findCompiled(**compiled, function);
    if (!other)
      return llvm::createStringError(
          "expects a function @" + function.getName() +
          " in the partitioned program, of phase partition or, without stages, "
          "up to phase schedule");
    if (!parsed.has("--no-proof") && hasRecords(other))
      return llvm::createStringError(
          "expects --no-proof with @" + function.getName() +
          " of phase kernels or schedule: what is proven is phase partition");
    // Comparing a program with itself would show nothing.
    if (!parsed.has("--passes") &&
        !other->hasAttr(dist::DistDialect::kLocalAttr))
      return llvm::createStringError("expects @" + function.getName() +
                                     " to be partitioned, with dist.local");
    auto reference =
        plain ? plain->lookupSymbol<mlir::func::FuncOp>(function.getName())
              : function;
    auto verdict = verifyFunction(
        reference, function, other, options, seeds, parsed.get("--dump"),
        !parsed.has("--no-proof"), !parsed.has("--json"), progress);
    if (!verdict)
      return verdict.takeError();
    verdicts.push_back(std::move(*verdict));
  }
  if (parsed.has("--json"))
    makeVerifyDocument(verdicts,
                       llvm::sys::path::filename(parsed.positional[0]),
                       parsed.commandLine)
        .print(llvm::outs());
  return llvm::all_of(
      verdicts, [](const FunctionVerdict &verdict) { return verdict.ok(); });
}

/// Verifies each local function of several files against its reference.
/// Returns true if all are proven, or have the answers of --expect.
llvm::Expected<bool> verifyPairs(const ParsedOptions &parsed,
                                 mlir::MLIRContext &context,
                                 Progress &progress) {
  for (StringRef option :
       {"--partitioned", "--passes", "--mesh", "--strategy", "--plan",
        "--cluster", "--function", "--dump", "--inputs", "--weights",
        "--no-proof", "--interpret"})
    if (parsed.has(option))
      return llvm::createStringError("expects --pairs or " + option +
                                     " but got both");
  auto read = readOptions(parsed);
  if (!read)
    return read.takeError();
  auto &[options, seeds] = *read;
  std::vector<FunctionVerdict> verdicts;
  for (StringRef path : parsed.positional) {
    auto module = readModule(path, context);
    if (!module)
      return module.takeError();
    auto pairs = findPairs(**module, path);
    if (!pairs)
      return pairs.takeError();
    for (LocalPair pair : *pairs)
      verdicts.push_back(verifyPair(pair, options, seeds, progress));
  }
  std::vector<std::string> differences;
  if (parsed.has("--expect")) {
    auto compared = compareAnswers(verdicts, parsed.get("--expect"));
    if (!compared)
      return compared.takeError();
    differences = std::move(*compared);
  }
  if (parsed.has("--json"))
    makeVerifyDocument(verdicts, "pairs", parsed.commandLine)
        .print(llvm::outs());
  else
    printPairs(verdicts, llvm::outs());
  if (!differences.empty())
    return llvm::createStringError(llvm::join(differences, "; "));
  return parsed.has("--expect") ||
         llvm::all_of(verdicts, [](const FunctionVerdict &verdict) {
           return verdict.ok();
         });
}

/// Returns true if everything compares equal.
llvm::Expected<bool> run(const ParsedOptions &parsed) {
  bool isOfPairs = parsed.has("--pairs");
  if (parsed.positional.empty() ||
      (!isOfPairs && parsed.positional.size() != 1))
    return llvm::createStringError("expects one PROGRAM.mlir but got " +
                                   llvm::Twine(parsed.positional.size()) +
                                   "; see tessera verify --help");
  if (parsed.has("--expect") && !isOfPairs)
    return llvm::createStringError("--expect expects --pairs");
  auto interval = readInterval(parsed);
  if (!interval)
    return interval.takeError();
  mlir::DialectRegistry registry;
  registerDialects(registry);
  registerPasses();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  // Ops of other dialects come with their rules as text.
  context.allowUnregisteredDialects();
  context.printOpOnDiagnostic(false);
  mlir::ScopedDiagnosticHandler handler(&context, printDiagnostic);
  Progress progress(*interval);
  progress.watch(context);
  if (isOfPairs)
    return verifyPairs(parsed, context, progress);
  auto module = readModule(parsed.positional[0], context);
  if (!module)
    return module.takeError();
  if (!parsed.has("--interpret"))
    return compare(**module, parsed, progress);
  auto functions = selectFunctions(**module, parsed);
  if (!functions)
    return functions.takeError();
  for (mlir::func::FuncOp function : *functions)
    if (llvm::Error error = interpretAndPrint(function))
      return std::move(error);
  return true;
}

} // namespace

const CommandSpec &tessera::getVerifySpec() { return kCommand; }

int tessera::runVerify(Arguments arguments) {
  if (std::optional<int> status = showHelp(kCommand, arguments))
    return *status;
  auto parsed = parseOptions(kCommand, arguments);
  if (!parsed)
    return reportError(kCommand.name, parsed.takeError());
  auto good = run(*parsed);
  llvm::outs().flush();
  if (!good) {
    llvm::Error error = good.takeError();
    if (error.isA<Reported>()) {
      llvm::consumeError(std::move(error));
      return 1;
    }
    return reportError(kCommand.name, std::move(error));
  }
  if (*good)
    return 0;
  return reportError(kCommand.name, "an output differs by more than its bound, "
                                    "or the program is not proven");
}
