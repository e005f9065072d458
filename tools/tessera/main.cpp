//===- main.cpp - The driver: picks the subcommand ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tessera <command> ...`. An error is one line and exit status 1, never a
// stack dump. Interrupts end what the tool started. SIGXFSZ is ignored, so that
// a write beyond the file size limit of the process returns an error.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Options.h"
#include "tessera/Support/Interrupts.h"
#include "tessera/Support/Spelling.h"

#include "llvm/Support/FormatVariadic.h"

#include <csignal>

using namespace tessera;
using llvm::StringRef;

llvm::ArrayRef<Command> tessera::getCommands() {
  static constexpr Command commands[] = {
      {"model", "build the graph of a model from its config.json", runModel,
       getModelSpec},
      {"import", "read a graph of StableHLO", runImport, getImportSpec},
      {"compile", "compile a program to an executable", runCompile,
       getCompileSpec},
      {"verify", "compare a program before and after partitioning", runVerify,
       getVerifySpec},
      {"run", "run a compiled program", runRun, getRunSpec},
      {"checkpoint", "list, show, verify or export checkpoints of a run",
       runCheckpoint, getCheckpointSpec},
      {"key", "make a key for a run on several nodes", runKey, getKeySpec},
      {"plan", "price a model under a layout", runPlan, getPlanSpec},
      {"report", "draw reports and logs as a page, or compare two", runReport,
       getReportSpec},
      {"explain", "explain an idea of distributed training by numbers",
       runExplain, getExplainSpec},
      {"doctor", "show what this machine has to compile and run with",
       runDoctor, getDoctorSpec},
      {"completion", "print a completion script for bash or zsh", runCompletion,
       getCompletionSpec},
  };
  return commands;
}

static void printUsage(llvm::raw_ostream &os) {
  os << "usage: tessera COMMAND [arguments]\n\n"
        "Tessera compiles the graph of a transformer to a program for many "
        "devices.\n\nCommands:\n";
  for (const Command &command : getCommands())
    os << llvm::formatv("  {0,-10} {1}\n", command.name, command.summary);
  os << "\n'tessera COMMAND --help' tells more of each, 'tessera --version' "
        "the version.\n";
}

/// Runs a subcommand. Checks the output that it prints on stdout without
/// writeOutput: lost output is an error.
static int run(const Command &command, Arguments arguments) {
  int status = command.run(arguments);
  llvm::outs().flush();
  std::error_code code = llvm::outs().error();
  // A pending error would end the process with a crash report.
  llvm::outs().clear_error();
  if (!code)
    return status;
  return reportError(command.name,
                     "standard output: cannot be written: " + code.message());
}

int main(int argc, char **argv) {
  std::signal(SIGXFSZ, SIG_IGN);
  cleanUpOnInterrupts();
  llvm::SmallVector<StringRef> arguments(argv + (argc > 0), argv + argc);
  if (arguments.empty()) {
    printUsage(llvm::errs());
    return 1;
  }
  StringRef name = arguments.front();
  bool wantsVersion = name == "--version";
  if (wantsVersion || name == "--help" || name == "-h" || name == "help") {
    llvm::Error error =
        writeOutput("", wantsVersion ? printVersion : printUsage);
    return error ? reportError("", std::move(error)) : 0;
  }
  for (const Command &command : getCommands())
    if (command.name == name)
      return run(command, Arguments(arguments).drop_front());
#ifdef TESSERA_HAS_LLD
  // Not a command for users.
  if (name == "ld.lld")
    return runLinker(Arguments(arguments).drop_front());
#endif

  llvm::SmallVector<StringRef> known;
  for (const Command &command : getCommands())
    known.push_back(command.name);
  return reportError("", "unknown command '" + name + "'" +
                             didYouMean(name, known) + "; see tessera --help");
}
