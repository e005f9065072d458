//===- Main.cpp - The main of compiled programs ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the command line and the manifest, and starts or joins the job. It is a
// separate object in the library, so that a program with its own main can link
// the rest.
//
//===----------------------------------------------------------------------===//

#include "ranks/Launcher.h"
#include "support/InstructionSet.h"

#include <csignal>

using namespace tessera::rt;

static int refuse(const std::string &text) {
  fprintf(stderr, "tessera: error: %s\n", text.c_str());
  return 1;
}

/// Prints the one text that the user asked for.
static int print(const std::string &text) {
  fputs(text.c_str(), stdout);
  std::string error = flushOutput();
  return error.empty() ? 0 : refuse(error);
}

int main(int argc, char **argv) {
  // A write beyond the process's file size limit returns an error instead.
  signal(SIGXFSZ, SIG_IGN);
  Options options;
  Manifest manifest;
  std::string error;
  if (!parseOptions(argc, argv, options, error))
    return refuse(error);
  if (options.printManifest)
    return print(std::string(tessera_program_manifest) + "\n");
  if (!parseManifest(tessera_program_manifest, manifest, error))
    return refuse("the program's manifest is not valid: " + error);
  // The runtime of "cuda" also runs "cuda-emulated".
  if (manifest.target.substr(0, manifest.target.find('-')) != targetKind.name)
    return refuse(format("the program is for the target %s, but it was linked "
                         "with the runtime of the target %s",
                         manifest.target.c_str(), targetKind.name));
  bool needsLists = options.rehearsal.isAsked || !options.trace.empty();
  if (needsLists && manifest.pipeline.stages == 0)
    return refuse(
        std::string(options.trace.empty() ? "--rehearse" : "--trace") +
        " expects a pipeline program, but this one has no lists of "
        "tasks");
  if (options.help)
    return print(helpText(argv[0], manifest));
  error = checkIsa();
  if (!error.empty())
    return refuse(error);
  if (options.ranks != 0 && options.ranks != manifest.ranks)
    return refuse(format("--ranks %d, but this program was compiled for %d",
                         options.ranks, manifest.ranks));
  if (options.simulateRanks && options.simulateRanks != manifest.ranks)
    return refuse(format("--simulate-ranks %d, but this program was compiled "
                         "for %d",
                         options.simulateRanks, manifest.ranks));
  if (options.simulateRanks)
    return simulateRanks(manifest, options, runRank);
  Environment environment;
  // Ranks of a program that serves another are of no job of an engine.
  if (!options.serve.areGiven())
    error = readEnvironment(environment);
  if (!error.empty())
    return refuse(error);
  Placement place;
  error = findPlacement(environment, options, manifest.ranks, place);
  if (error.empty() && place.isAcrossNodes() && options.rehearsal.isAsked)
    error = "--rehearse expects all ranks on one node";
  if (!error.empty())
    return refuse(error);
  if (!environment.family || options.localRanks)
    return launchRanks(manifest, options, runRank, place, environment.job);
  if (options.restarts)
    return refuse(format("--restarts expects ranks that this command starts, "
                         "but %s starts them: let it start them anew after "
                         "exit code %d",
                         environment.family, exitMayRestart));
  return joinRanks(environment, place, manifest, options, runRank);
}
