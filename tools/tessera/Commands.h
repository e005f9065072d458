//===- Commands.h - The subcommands of the driver ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One file per subcommand. To add one: declare it here, write <Name>.cpp, add a
// line to the table in main.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_COMMANDS_H
#define TESSERA_TOOLS_COMMANDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tessera {

struct CommandSpec;

/// Arguments after the subcommand's name on the command line. The strings are
/// argv's: they end in a NUL.
using Arguments = llvm::ArrayRef<llvm::StringRef>;

/// Each returns the exit status, 0 on success, and prints one line on an error.
int runModel(Arguments arguments);
int runImport(Arguments arguments);
int runCompile(Arguments arguments);
int runRun(Arguments arguments);
int runVerify(Arguments arguments);
int runPlan(Arguments arguments);
int runCheckpoint(Arguments arguments);
int runKey(Arguments arguments);
int runReport(Arguments arguments);
int runExplain(Arguments arguments);
int runDoctor(Arguments arguments);
int runCompletion(Arguments arguments);
#ifdef TESSERA_HAS_LLD
int runLinker(Arguments arguments);
#endif

/// Their names, texts and options.
const CommandSpec &getModelSpec();
const CommandSpec &getImportSpec();
const CommandSpec &getCompileSpec();
const CommandSpec &getRunSpec();
const CommandSpec &getVerifySpec();
const CommandSpec &getPlanSpec();
const CommandSpec &getCheckpointSpec();
const CommandSpec &getKeySpec();
const CommandSpec &getReportSpec();
const CommandSpec &getExplainSpec();
const CommandSpec &getDoctorSpec();
const CommandSpec &getCompletionSpec();

/// A subcommand, as `tessera --help` shows it.
struct Command {
  llvm::StringRef name;
  llvm::StringRef summary;
  int (*run)(Arguments arguments);
  const CommandSpec &(*getSpec)();
};

/// All subcommands.
llvm::ArrayRef<Command> getCommands();

} // namespace tessera

#endif // TESSERA_TOOLS_COMMANDS_H
