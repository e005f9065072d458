//===- HostileImports.cpp - Sources that nobody would write ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes modules of the given files at random, whatever their size, and
// imports each as tessera import does, in its own process. A module is rejected
// with one error or accepted, and an accepted module is parsed again; a crash,
// a report of a sanitizer, a minute of work, or a failure without an error or
// with several is a defect. A crash of MLIR's own parser is a defect, too,
// unless ParserGuard turns it into an error. The program links the import
// libraries only, so that it builds in minutes under a sanitizer.
//
//===----------------------------------------------------------------------===//

#include "../Apart/Apart.h"
#include "Mangler.h"
#include "WhoseCrash.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "tessera/Interfaces/Passes.h"
#include "tessera/Phases/ImportPipeline.h"
#include "tessera/Support/ModuleText.h"
#include "tools/common/ParserGuard.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>
#include <sys/wait.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::hostile;
namespace cl = llvm::cl;

/// MLIR's libraries are not instrumented: memory that this program's inlined
/// code of their allocators poisons is not unpoisoned by the libraries' code.
extern "C" const char *__asan_default_options();
const char *__asan_default_options() { return "allow_user_poisoning=0"; }

static cl::OptionCategory category("tessera-hostile-imports");
static cl::list<std::string> files(cl::Positional, cl::cat(category),
                                   cl::desc("FILE..."), cl::OneOrMore);
static cl::opt<uint64_t> seed("seed", cl::cat(category), cl::init(0),
                              cl::desc("first number"));
static cl::opt<uint64_t> count("count", cl::cat(category), cl::init(1000),
                               cl::desc("how many modules"));
static cl::opt<unsigned> jobs("jobs", cl::cat(category), cl::init(2),
                              cl::desc("at a time"));
static cl::opt<unsigned> changes("changes", cl::cat(category), cl::init(4),
                                 cl::desc("the most changes of a module"));
static cl::opt<std::string> save("save", cl::cat(category),
                                 cl::desc("a folder for what fails"));

namespace {

/// Exit statuses of a process that tries a module; sanitizers use others.
enum Outcome : int {
  Accepted = 10,
  Refused,
  Unparsed,
  Silent,
  Wordy,
  Unreadable
};

/// A module of a file, or the module that it was imported to.
struct Source {
  std::string name, text;
};

class Runner {
public:
  Runner(std::vector<Source> sources, const DialectRegistry &registry);
  int run();

private:
  void start(uint64_t number);
  void finish();

  std::vector<Source> sources;
  const DialectRegistry &registry;
  std::unique_ptr<Mangler> mangler;
  struct Child {
    uint64_t number;
    Source module;
    volatile int *stage;
  };
  std::map<pid_t, Child> children;
  std::map<std::string, uint64_t> outcomes;
  uint64_t defects = 0;
};

} // namespace

static std::vector<Source> readSources() {
  std::vector<Source> sources;
  for (const std::string &file : files) {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (!buffer) {
      llvm::errs() << file << ": " << buffer.getError().message() << "\n";
      exit(2);
    }
    SmallVector<StringRef> parts;
    (*buffer)->getBuffer().split(parts, "// -----");
    for (StringRef part : parts)
      if (part.contains("func"))
        sources.push_back({file, part.str()});
  }
  return sources;
}

static Outcome importModule(StringRef text, const DialectRegistry &registry,
                            volatile int *stage) {
  if (llvm::Error error = checkModuleText("module", text)) {
    llvm::consumeError(std::move(error));
    return Unparsed;
  }
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  context.printOpOnDiagnostic(false);
  int errors = 0;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
    // Messages are printed too, since that may crash as well.
    (void)diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module;
  {
    ParserGuard guard("module");
    watchCrashes(stage);
    module = parseSourceString<ModuleOp>(text, &context);
  }
  if (!module)
    return Unparsed;
  *stage = Running;
  PassManager pm(&context);
  buildImport(pm, ImportOptions());
  if (failed(pm.run(*module)))
    return errors == 0 ? Silent : errors > 1 ? Wordy : Refused;
  std::string printed;
  llvm::raw_string_ostream os(printed);
  module->print(os);
  bool isReadable = bool(parseSourceString<ModuleOp>(printed, &context));
  return isReadable ? Accepted : Unreadable;
}

Runner::Runner(std::vector<Source> given, const DialectRegistry &registry)
    : sources(std::move(given)), registry(registry) {
  std::vector<std::string> donors;
  for (const Source &each : sources)
    donors.push_back(each.text);
  mangler = std::make_unique<Mangler>(std::move(donors));
}

void Runner::start(uint64_t number) {
  Random random(number);
  const Source &from = sources[random.below(sources.size())];
  Child child{number,
              {from.name, mangler->mangle(from.text, changes, random)},
              test::makeShared<volatile int>()};
  *child.stage = Parsing;
  pid_t pid = test::startApart(/*seconds=*/60, /*isQuiet=*/true, [&] {
    return importModule(child.module.text, registry, child.stage);
  });
  children[pid] = std::move(child);
}

void Runner::finish() {
  int status = 0, code = 0;
  auto it = children.find(wait(&status));
  if (it == children.end())
    return;
  auto [number, module, stage] = std::move(it->second);
  children.erase(it);
  bool inReader = *stage == InReader;
  test::freeShared(stage);
  static const char *names[] = {
      "accepted",           "refused",
      "not parsed",         "refused without an error",
      "refused by several", "accepted but not readable"};
  test::Ending ending = test::getEnding(status, code);
  bool isReturned = ending == test::Ending::Returned;
  bool isKnown = isReturned && code >= Accepted && code <= Unreadable;
  bool isGuarded = isReturned && inReader && code == EXIT_FAILURE;
  std::string name = isKnown     ? names[code - Accepted]
                     : isGuarded ? "refused, since MLIR's parser crashes"
                     : inReader  ? "crash of MLIR's parser"
                     : ending == test::Ending::Hung ? "hang"
                                                    : "crash";
  ++outcomes[name];
  if (isKnown && code <= Unparsed)
    return;
  defects += !isGuarded;
  llvm::outs() << name << ": number " << number << ", from " << module.name
               << "\n";
  llvm::outs().flush();
  if (save.empty())
    return;
  std::error_code error = llvm::sys::fs::create_directories(save);
  llvm::raw_fd_ostream os((Twine(save) + "/" + Twine(number) + ".mlir").str(),
                          error);
  os << module.text;
}

int Runner::run() {
  llvm::outs() << sources.size() << " modules of " << files.size()
               << " files\n";
  if (sources.empty()) {
    llvm::errs() << "expects files with functions\n";
    return 1;
  }
  llvm::outs().flush();
  uint64_t next = seed, end = seed + count;
  while (next != end || !children.empty())
    if (next != end && children.size() < jobs)
      start(next++);
    else
      finish();
  for (auto &[name, times] : outcomes)
    llvm::outs() << name << ": " << times << "\n";
  llvm::outs() << defects << " defects in " << count << " modules\n";
  return defects != 0;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "sources that nobody would write\n");
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                  math::MathDialect, scf::SCFDialect, tensor::TensorDialect,
                  dist::DistDialect, nn::NNDialect>();
  registerUpstreamShardingRules(registry);
  return Runner(readSources(), registry).run();
}
