//===- HostilePrograms.cpp - Programs that nobody would write -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes the programs of the given files at random and runs each through
// passes, phases or the interpreter, in its own process. A program is rejected
// with an error or accepted; a crash, ten seconds of work, or a failure without
// an error is a defect. Crashes of MLIR's own parser, with no function of ours
// between the parser and the crash, are counted separately.
//
//===----------------------------------------------------------------------===//

#include "../Apart/Apart.h"
#include "Mangler.h"
#include "WhoseCrash.h"
#include "dialects/Dist/Dist.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "tessera/Interfaces/Limits.h"
#include "tessera/Interpreter/Verify.h"
#include "tessera/Phases/Phases.h"
#include "tessera/Proof/VerifyPartition.h"
#include "tessera/Registration/Registration.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::hostile;
namespace cl = llvm::cl;

static cl::OptionCategory category("tessera-hostile");
static cl::list<std::string> files(cl::Positional, cl::cat(category),
                                   cl::desc("FILE..."), cl::OneOrMore);
static cl::opt<uint64_t> seed("seed", cl::cat(category), cl::init(0),
                              cl::desc("first number"));
static cl::opt<uint64_t> count("count", cl::cat(category), cl::init(1000),
                               cl::desc("how many programs"));
static cl::opt<unsigned> jobs("jobs", cl::cat(category), cl::init(2),
                              cl::desc("at a time"));
static cl::opt<unsigned> timeout("timeout", cl::cat(category), cl::init(10),
                                 cl::desc("seconds that one may take"));
static cl::opt<unsigned> changes("changes", cl::cat(category), cl::init(4),
                                 cl::desc("the most changes of a program"));
static cl::opt<bool>
    sizes("sizes", cl::cat(category),
          cl::desc("rather than changes at random, one size of "
                   "a program is 0, 1 or 2^32: each in turn"));
static cl::opt<std::string> save("save", cl::cat(category),
                                 cl::desc("a folder for what fails"));

namespace {

/// A program and the passes that its file runs.
struct Seed {
  std::string name, text;
  std::vector<std::string> pipelines;
  /// True for a source, with ops of dialects that are not registered.
  bool isSource = false;
};

enum Outcome : int { Accepted = 0, Refused = 1, Unparsed = 2, Silent = 3 };

/// One program of the run.
struct Trial {
  uint64_t number = 0;
  std::string name, text, pipeline;
  bool isSource = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// Seeds
//===----------------------------------------------------------------------===//

/// Converts `--name=a=1 b=2` to `name{a=1 b=2}`; none if it names no pass of
/// ours.
static std::optional<std::string> toPipeline(StringRef flag) {
  if (!flag.consume_front("--") && !flag.consume_front("-"))
    return std::nullopt;
  // A substitution of lit, which is a file name.
  if (flag.contains('%'))
    return std::nullopt;
  auto [name, options] = flag.split('=');
  if (!PassInfo::lookup(name) && !PassPipelineInfo::lookup(name))
    return std::nullopt;
  std::string text = name.str();
  options = options.trim("\"'");
  if (!options.empty())
    text += "{" + options.str() + "}";
  return text;
}

/// Splits a command into words; quoted text is one word.
static std::vector<std::string> splitWords(StringRef line) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (char c : line) {
    if (quote ? c == quote : c == '"' || c == '\'')
      quote = quote ? 0 : c;
    else if (c == ' ' && !quote)
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

static std::vector<std::string> readPipelines(StringRef text) {
  std::vector<std::string> pipelines;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    size_t at = line.find("RUN: ");
    if (at == StringRef::npos || !line.contains("tessera-opt"))
      continue;
    std::vector<std::string> passes;
    for (const std::string &word :
         splitWords(line.drop_front(at).split('|').first))
      if (std::optional<std::string> pass = toPipeline(word))
        passes.push_back(*pass);
    if (!passes.empty())
      pipelines.push_back(llvm::join(passes, ","));
  }
  return pipelines;
}

static std::string withoutComments(StringRef text) {
  std::string kept;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines)
    if (!line.ltrim().starts_with("//"))
      kept += line.str() + "\n";
  return kept;
}

static std::vector<Seed> readSeeds() {
  std::vector<Seed> seeds;
  for (const std::string &file : files) {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (!buffer) {
      llvm::errs() << file << ": " << buffer.getError().message() << "\n";
      exit(2);
    }
    StringRef text = (*buffer)->getBuffer();
    std::vector<std::string> pipelines = readPipelines(text);
    bool isSource = text.contains("--allow-unregistered-dialect");
    SmallVector<StringRef> parts;
    text.split(parts, "// -----");
    for (StringRef part : parts) {
      // Large programs take too long.
      std::string program = withoutComments(part);
      if (StringRef(program).contains("func") && program.size() < 20000)
        seeds.push_back({file, program, pipelines, isSource});
    }
  }
  return seeds;
}

//===----------------------------------------------------------------------===//
// One program
//===----------------------------------------------------------------------===//

static const std::vector<std::string> kPhases{
    "compile-to{partition mesh=dp=2,tp=2}",
    "compile-to{partition}",
    "compile-to{kernels}",
    "compile-to{llvm}",
    "compile-to{llvm mesh=dp=2,tp=3 strategy=dp,tp}",
    "compile-to{llvm mesh=dp=3 strategy=dp,zero=2}",
    "compile-to{schedule target=cuda}",
    "tessera-propagate,tessera-partition",
    "tessera-train,tessera-propagate,tessera-partition",
};

static std::string choosePipeline(const Seed &from, Random &random) {
  size_t kind = random.below(10);
  if (kind >= 4 && from.isSource)
    return "tessera-import";
  if (kind < 4 && !from.pipelines.empty())
    return from.pipelines[random.below(from.pipelines.size())];
  return kind < 8 ? kPhases[random.below(kPhases.size())] : "verify";
}

/// True if the interpreter needs only seconds for a program.
static bool isSmall(ModuleOp module) {
  constexpr int64_t kMaxElements = 1 << 22;
  bool allSmall = true;
  auto look = [&](TypeRange types) {
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        allSmall &= tensor.hasStaticShape() && !isTooLarge(tensor.getShape()) &&
                    tensor.getNumElements() <= kMaxElements;
  };
  module.walk([&](Operation *op) { look(op->getResultTypes()); });
  for (auto function : module.getOps<func::FuncOp>())
    look(function.getArgumentTypes());
  return allSmall;
}

/// Runs the steps of `tessera verify` on a program.
static LogicalResult runVerify(ModuleOp module) {
  PassManager before(module->getContext());
  buildPhasesUpTo(before, Phase::Train, PipelineOptions());
  if (failed(before.run(module)))
    return failure();
  if (!isSmall(module))
    return success();
  OwningOpRef<ModuleOp> compiled = module.clone();
  PassManager after(module->getContext());
  buildPhase(after, Phase::Propagate, PipelineOptions());
  buildPhase(after, Phase::Partition, PipelineOptions());
  if (failed(after.run(*compiled)))
    return failure();
  for (auto function : module.getOps<func::FuncOp>()) {
    auto other = compiled->lookupSymbol<func::FuncOp>(function.getName());
    if (function.isExternal() || !other ||
        !other->hasAttr(dist::DistDialect::kLocalAttr))
      continue;
    auto report = interp::verify(function, other, interp::VerifyOptions());
    if (failed(report))
      return failure();
  }
  return success();
}

static Outcome run(const Trial &trial, MLIRContext &context,
                   volatile int *stage) {
  bool hasError = false;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    hasError |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    // Messages are printed too, since that may crash as well.
    (void)diagnostic.str();
    return success();
  });
  context.allowUnregisteredDialects(trial.isSource);
  ParserConfig config(&context);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(trial.text, config);
  if (!module)
    return Unparsed;
  *stage = Running;
  LogicalResult result = failure();
  if (trial.pipeline == "verify") {
    result = runVerify(*module);
  } else {
    PassManager passes(&context, ModuleOp::getOperationName());
    std::string message;
    llvm::raw_string_ostream os(message);
    if (failed(parsePassPipeline(trial.pipeline, passes, os)))
      return Refused;
    result = passes.run(*module);
  }
  std::string printed;
  llvm::raw_string_ostream os(printed);
  if (succeeded(result))
    module->print(os);
  *stage = Done;
  return succeeded(result) ? Accepted : hasError ? Refused : Silent;
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

namespace {

class Runner {
public:
  Runner(std::vector<Seed> seeds, MLIRContext &context);
  int run();

private:
  void start(uint64_t number);
  void finish();
  void note(const Trial &trial, StringRef what);

  std::vector<Seed> seeds;
  /// All programs of --sizes, each with its seed.
  std::vector<std::pair<const Seed *, std::string>> resized;
  MLIRContext &context;
  std::unique_ptr<Mangler> mangler;
  struct Child {
    Trial trial;
    volatile int *stage;
  };
  std::map<pid_t, Child> children;
  std::map<std::string, uint64_t> outcomes;
  uint64_t defects = 0;
};

} // namespace

Runner::Runner(std::vector<Seed> given, MLIRContext &context)
    : seeds(std::move(given)), context(context) {
  std::vector<std::string> donors;
  for (const Seed &each : seeds)
    donors.push_back(each.text);
  mangler = std::make_unique<Mangler>(std::move(donors));
  if (!sizes)
    return;
  for (const Seed &each : seeds)
    for (std::string &text : changeSizes(each.text))
      resized.emplace_back(&each, std::move(text));
}

void Runner::start(uint64_t number) {
  Random random(number);
  Child child;
  if (sizes) {
    auto &[from, text] = resized[number % resized.size()];
    child.trial = {number, from->name, text, choosePipeline(*from, random),
                   from->isSource};
  } else {
    const Seed &from = seeds[random.below(seeds.size())];
    child.trial = {number, from.name,
                   mangler->mangle(from.text, changes, random),
                   choosePipeline(from, random), from.isSource};
  }
  child.stage = test::makeShared<volatile int>();
  *child.stage = Parsing;
  pid_t pid = test::startApart(timeout, /*isQuiet=*/true, [&] {
    watchCrashes(child.stage);
    return ::run(child.trial, context, child.stage);
  });
  children[pid] = std::move(child);
}

void Runner::note(const Trial &trial, StringRef what) {
  ++defects;
  llvm::outs() << what << ": number " << trial.number << ", from " << trial.name
               << ", " << trial.pipeline << "\n";
  llvm::outs().flush();
  if (save.empty())
    return;
  std::error_code error = llvm::sys::fs::create_directories(save);
  llvm::raw_fd_ostream os((Twine(save) + "/" + what.split(' ').first + "_" +
                           Twine(trial.number) + ".mlir")
                              .str(),
                          error);
  if (error) {
    llvm::errs() << save << ": " << error.message() << "\n";
    return;
  }
  os << "// " << what << ": " << trial.pipeline << "\n// " << trial.name << "\n"
     << trial.text;
}

void Runner::finish() {
  int status = 0;
  pid_t pid = wait(&status);
  auto it = children.find(pid);
  if (it == children.end())
    return;
  Child child = std::move(it->second);
  children.erase(it);
  bool inParser = *child.stage == Parsing, inReader = *child.stage == InReader;
  test::freeShared(child.stage);
  static const char *names[] = {"accepted", "refused", "not parsed",
                                "refused without an error"};
  int code = 0;
  test::Ending ending = test::getEnding(status, code);
  if (ending == test::Ending::Returned && code <= Silent) {
    ++outcomes[names[code]];
    if (code == Silent)
      note(child.trial, "silent failure");
    return;
  }
  if (inReader) {
    ++outcomes["crashes of MLIR's reader"];
    return;
  }
  bool hangs = ending == test::Ending::Hung;
  ++outcomes[hangs ? "hangs" : inParser ? "crashes in the parser" : "crashes"];
  note(child.trial, hangs ? "hang" : inParser ? "parser crash" : "crash");
}

int Runner::run() {
  llvm::outs() << seeds.size() << " programs of " << files.size() << " files\n";
  if (sizes)
    llvm::outs() << resized.size() << " programs of other sizes\n";
  if (seeds.empty() || (sizes && resized.empty())) {
    llvm::errs() << "expects files with programs of tessera-opt\n";
    return 1;
  }
  llvm::outs().flush();
  for (uint64_t i = 0; i < count; ++i) {
    while (children.size() >= jobs)
      finish();
    start(seed + i);
  }
  while (!children.empty())
    finish();
  for (auto &[name, number] : outcomes)
    llvm::outs() << name << ": " << number << "\n";
  llvm::outs() << defects << " defects in " << count << " programs\n";
  return defects != 0;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "programs that nobody would write\n");
  DialectRegistry registry;
  registerDialects(registry);
  registerPasses();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  return Runner(readSeeds(), context).run();
}
