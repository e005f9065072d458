//===- RandomPrograms.cpp - Programs drawn at random, judged --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws a program for each seed, partitions it, and compares the interpreter's
// results before and after with a separate evaluation (Number.h, Program.h)
// that shares no code with the compiler. Programs run in child processes, many
// in each, so that a crash is one finding.
//
//===----------------------------------------------------------------------===//

#include "../Apart/Apart.h"
#include "Executables.h"
#include "Generator.h"
#include "Reduce.h"
#include "Trial.h"
#include "mlir/IR/DialectRegistry.h"
#include "tessera/Registration/Registration.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <sys/wait.h>
#include <unistd.h>

using namespace tessera;
using namespace tessera::test;
namespace cl = llvm::cl;

static cl::OptionCategory category("tessera-random");
static cl::opt<uint64_t> seed("seed", cl::cat(category), cl::init(0),
                              cl::desc("the first seed"));
static cl::opt<uint64_t> programs("programs", cl::cat(category), cl::init(1000),
                                  cl::desc("how many programs"));
static cl::opt<unsigned> jobs("jobs", cl::cat(category), cl::init(1),
                              cl::desc("at a time"));
static cl::opt<unsigned> timeout("timeout", cl::cat(category), cl::init(20),
                                 cl::desc("seconds that one program may take"));
static cl::opt<unsigned> commandTimeout(
    "command-timeout", cl::cat(category), cl::init(300),
    cl::desc("seconds that compiling or running one executable may take"));
static cl::opt<uint64_t> executables(
    "executables", cl::cat(category), cl::init(0),
    cl::desc("how many of them become executables, for host and for "
             "cuda-emulated"));
static cl::opt<std::string>
    folder("folder", cl::cat(category), cl::init("tessera-random.files"),
           cl::desc("where executables and their data are put"));
static cl::opt<bool> print("print", cl::cat(category),
                           cl::desc("only print the program of --seed"));
static cl::opt<bool>
    reduces("reduce", cl::cat(category),
            cl::desc("print the smallest program that ends as that of "
                     "--seed does"));
static cl::opt<bool> verbose("verbose", cl::cat(category),
                             cl::desc("print every program that is refused"));

namespace {

/// The report of a child, in memory that the parent sees.
struct Shared {
  volatile uint64_t current;
  uint64_t counts[kNumOutcomes];
  uint64_t judged, total;
  uint64_t executables;
};

/// Seeds from `next` to `end`, for one process.
struct Chunk {
  uint64_t next = 0, end = 0;
  Shared *shared = nullptr;
  int pipe = -1;
};

class Runner {
public:
  explicit Runner(mlir::MLIRContext &context) : context(context) {}
  int run();

private:
  void start(Chunk chunk);
  void work(const Chunk &chunk, int output);
  void finish();
  TrialResult tryProgram(uint64_t number);
  void note(Outcome outcome, uint64_t seed, const std::string &message);
  int report();

  mlir::MLIRContext &context;
  std::map<pid_t, Chunk> children;
  std::vector<uint64_t> counts = std::vector<uint64_t>(kNumOutcomes, 0);
  uint64_t judged = 0, total = 0, made = 0;
  uint64_t *numExecutables = nullptr;
  std::map<std::string, uint64_t> messages;
  /// Maps each message to the first seed with it.
  std::map<std::string, uint64_t> examples;
};

} // namespace

/// Removes names, numbers and types from a message, which leaves its rule.
static std::string generalize(llvm::StringRef message) {
  std::string general;
  for (size_t i = 0; i < message.size(); ++i) {
    bool starts = llvm::isDigit(message[i]);
    if (!starts) {
      general += message[i];
      continue;
    }
    while (i + 1 < message.size() &&
           (llvm::isDigit(message[i + 1]) || message[i + 1] == 'x'))
      ++i;
    general += '#';
  }
  return general.substr(0, 160);
}

/// Judges a program, and if it is selected also its executables.
TrialResult Runner::tryProgram(uint64_t number) {
  Program program = drawProgram(number);
  TrialResult result = test::run(program, number, context);
  uint64_t every =
      executables ? std::max<uint64_t>(programs / executables, 1) : 0;
  if (!every || number % every || result.outcome != Outcome::Right ||
      !mayBeExecutable(program))
    return result;
  for (const char *target : {"host", "cuda-emulated"}) {
    std::string path = folder + "/" + std::to_string(number) + "." + target;
    TrialResult made =
        runExecutable(program, number, target, path, commandTimeout, context);
    if (made.outcome == Outcome::Right) {
      // A folder that cannot be removed does no harm.
      (void)llvm::sys::fs::remove_directories(path);
      ++*numExecutables;
      continue;
    }
    made.message = std::string(target) + ": " + made.message;
    return made;
  }
  return result;
}

/// Writes one line per program: outcome, seed, message.
void Runner::work(const Chunk &chunk, int output) {
  numExecutables = &chunk.shared->executables;
  for (uint64_t each = chunk.next; each < chunk.end; ++each) {
    chunk.shared->current = each;
    limitTime(timeout);
    TrialResult result = tryProgram(each);
    ++chunk.shared->counts[static_cast<int>(result.outcome)];
    chunk.shared->judged += result.judged;
    chunk.shared->total += result.total;
    if (result.outcome == Outcome::Right)
      continue;
    std::string message =
        llvm::StringRef(result.message).split('\n').first.str();
    std::string line = std::to_string(static_cast<int>(result.outcome)) + " " +
                       std::to_string(each) + " " + message + "\n";
    if (write(output, line.data(), line.size()) < 0)
      _exit(2);
  }
}

void Runner::start(Chunk chunk) {
  int ends[2];
  if (pipe(ends) != 0)
    exit(2);
  if (!chunk.shared)
    chunk.shared = makeShared<Shared>();
  pid_t pid = startApart(timeout, /*isQuiet=*/!verbose, [&] {
    work(chunk, ends[1]);
    return 0;
  });
  close(ends[1]);
  chunk.pipe = ends[0];
  children[pid] = chunk;
}

void Runner::note(Outcome outcome, uint64_t seed, const std::string &message) {
  if (isDefect(outcome) || verbose) {
    llvm::outs() << stringify(outcome) << ": seed " << seed
                 << (message.empty() ? "" : ": ") << message << "\n";
    llvm::outs().flush();
    return;
  }
  std::string general =
      std::string(stringify(outcome)) + ": " + generalize(message);
  ++messages[general];
  examples.try_emplace(general, seed);
}

/// Reads the remaining lines of one child, then its exit status.
void Runner::finish() {
  auto it = children.begin();
  auto [pid, chunk] = *it;
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(chunk.pipe, buffer, sizeof(buffer))) > 0;)
    text.append(buffer, n);
  close(chunk.pipe);
  int status = 0;
  waitpid(pid, &status, 0);
  children.erase(it);
  llvm::StringRef rest = text;
  while (!rest.empty()) {
    auto [line, next] = rest.split('\n');
    auto [outcome, tail] = line.split(' ');
    auto [number, message] = tail.split(' ');
    note(static_cast<Outcome>(std::stoi(outcome.str())),
         std::stoull(number.str()), message.str());
    rest = next;
  }
  int code = 0;
  Ending ending = getEnding(status, code);
  if (ending != Ending::Returned || code != 0) {
    Outcome outcome = ending == Ending::Hung ? Outcome::Hang : Outcome::Crash;
    ++chunk.shared->counts[static_cast<int>(outcome)];
    note(outcome, chunk.shared->current, "");
    chunk.next = chunk.shared->current + 1;
    if (chunk.next < chunk.end)
      return start(chunk);
  }
  for (int i = 0; i < kNumOutcomes; ++i)
    counts[i] += chunk.shared->counts[i];
  judged += chunk.shared->judged;
  total += chunk.shared->total;
  made += chunk.shared->executables;
  freeShared(chunk.shared);
}

int Runner::report() {
  uint64_t defects = 0;
  llvm::outs() << programs << " programs from seed " << seed << "\n";
  for (int i = 0; i < kNumOutcomes; ++i) {
    Outcome outcome = static_cast<Outcome>(i);
    defects += isDefect(outcome) ? counts[i] : 0;
    llvm::outs() << "  " << stringify(outcome) << ": " << counts[i] << "\n";
  }
  std::vector<std::pair<uint64_t, std::string>> rules;
  for (auto &[message, number] : messages)
    rules.push_back({number, message});
  std::sort(rules.rbegin(), rules.rend());
  for (auto &[number, message] : rules)
    llvm::outs() << "  " << number << " of " << message << " (seed "
                 << examples[message] << ")\n";
  if (executables)
    llvm::outs() << "  " << made << " executables are right\n";
  llvm::outs() << "  " << (total ? 100 * judged / total : 0)
               << " % of the elements judged\n"
               << "  print a program: tessera-random --print --seed SEED\n";
  return defects != 0;
}

int Runner::run() {
  constexpr uint64_t kChunk = 250;
  for (uint64_t first = 0; first < programs; first += kChunk) {
    while (children.size() >= jobs)
      finish();
    Chunk chunk;
    chunk.next = seed + first;
    chunk.end = seed + std::min<uint64_t>(programs, first + kChunk);
    start(chunk);
  }
  while (!children.empty())
    finish();
  return report();
}

//===----------------------------------------------------------------------===//
// One program made smaller
//===----------------------------------------------------------------------===//

/// Runs a program in a child process; returns its outcome and rule.
static std::string runApart(const Program &program,
                            mlir::MLIRContext &context) {
  int ends[2];
  if (pipe(ends) != 0)
    exit(2);
  pid_t pid = startApart(timeout, /*isQuiet=*/true, [&] {
    TrialResult result = test::run(program, seed, context);
    bool differs = result.outcome == Outcome::WrongButProven ||
                   result.outcome == Outcome::OriginalWrong;
    std::string text =
        stringify(result.outcome) + (differs ? "" : generalize(result.message));
    return static_cast<int>(write(ends[1], text.data(), text.size()) < 0);
  });
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0;)
    text.append(buffer, n);
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  return text;
}

static void printReduced(mlir::MLIRContext &context) {
  Program program = drawProgram(seed);
  std::string end = runApart(program, context);
  program = reduce(program, [&](const Program &smaller) {
    return runApart(smaller, context) == end;
  });
  llvm::outs() << "// " << (end.empty() ? "crash or hang" : end) << "\n"
               << program.print();
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "programs drawn at random, and judged\n");
  if (print) {
    llvm::outs() << drawProgram(seed).print();
    return 0;
  }
  mlir::DialectRegistry registry;
  registerDialects(registry);
  registerPasses();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  if (reduces) {
    printReduced(context);
    return 0;
  }
  return Runner(context).run();
}
