//===- Options.cpp - Command line of a program ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Options.h. Reads the command line with the table of OptionTable.cpp.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "OptionTable.h"

using namespace tessera::rt;

static const OptionSpec *findSpec(const std::string &name) {
  for (const OptionSpec &spec : optionTable())
    if (spec.help && name == spec.name && isOffered(spec))
      return &spec;
  return nullptr;
}

/// Checks the options of checkpoints against each other.
static std::string checkCheckpoints(const Options &options) {
  const std::pair<const char *, bool> needed[] = {
      {"--checkpoint-interval",
       options.checkpointSteps || options.checkpointSeconds > 0},
      {"--checkpoint-memory", options.checkpointMemory != 0},
      {"--keep", options.keep != Options().keep},
      {"--keep-every", options.keepEvery != 0},
      {"--mtbf",
       options.deviceHoursToFailure != Options().deviceHoursToFailure}};
  for (auto [name, isGiven] : needed)
    if (isGiven && options.checkpoint.empty())
      return std::string(name) + " expects --checkpoint DIR";
  if (options.load.empty())
    return std::string();
  if (!options.weights.empty())
    return "expects parameters from --load or from --weights, but got both";
  return options.inputs.empty()
             ? ""
             : "expects state from --load or from --inputs, but got both";
}

/// Finds an option that requests leave no meaning. Returns a message, or
/// nothing.
static std::string checkServed(const Options &options) {
  static const char *const refused[] = {
      "--restarts",    "--local-ranks", "--node",          "--rendezvous",
      "--key",         "--interface",   "--data",          "--data-format",
      "--random-data", "--eval-data",   "--data-position", "--eval-every",
      "--steps",       "--on-nan",      "--save-outputs",  "--save-initial",
      "--save-final",  "--compare",     "--save-weights",  "--checkpoint",
      "--rehearse",    "--trace",       "--check-replicas"};
  for (const char *name : refused) {
    const OptionSpec *spec = findSpec(name);
    if (spec && spec->show(*spec, options) != spec->show(*spec, Options()))
      return std::string("--serve runs steps on request, so it expects no ") +
             name;
  }
  return options.simulateRanks
             ? "--serve expects ranks that are processes, but "
               "--simulate-ranks makes them threads"
             : "";
}

/// Checks options against each other. Returns a message, or nothing.
static std::string checkOptions(const Options &options) {
  if (options.randomData && !options.data.empty())
    return "expects --data or --random-data, but got both";
  if (!options.evalData.empty() && options.evalEvery == 0)
    return "--eval-data expects --eval-every";
  if (options.initMissing && options.inputs.empty() && options.weights.empty())
    return "--init-missing expects --inputs or --weights";
  std::string error = checkCheckpoints(options);
  if (!error.empty())
    return error;
  if (options.serve.areGiven())
    error = checkServed(options);
  if (!error.empty())
    return error;
  if (options.ranks && options.simulateRanks)
    return "expects --ranks or --simulate-ranks, but got both";
  if (options.localRanks && options.simulateRanks)
    return "expects --local-ranks or --simulate-ranks, but got both";
  if (options.restarts && options.simulateRanks)
    return "--restarts expects ranks that are processes, but --simulate-ranks "
           "makes them threads";
  if (!options.trace.empty() && options.steps == 0)
    return "--trace expects at least one step";
  const std::pair<const char *, bool> ofResults[] = {
      {"--save-outputs", !options.saveOutputs.empty()},
      {"--save-initial", !options.saveInitial.empty()},
      {"--save-final", !options.saveFinal.empty()},
      {"--save-weights", !options.saveWeights.empty()},
      {"--checkpoint", !options.checkpoint.empty()},
      {"--load", !options.load.empty()},
      {"--compare", !options.compare.empty()},
      {"--eval-every", options.evalEvery != 0}};
  for (auto [name, isGiven] : ofResults)
    if (options.rehearsal.isAsked && isGiven)
      return std::string("--rehearse computes nothing, so it expects no ") +
             name;
  return std::string();
}

bool tessera::rt::parseOptions(int argc, char **argv, Options &options,
                               std::string &error) {
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i], value;
    size_t equals = name.find('=');
    bool isInline = equals != std::string::npos;
    if (isInline) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    const OptionSpec *spec = findSpec(name == "-h" ? "--help" : name);
    if (!spec) {
      error = "unknown option '" + name + "'; see --help";
      return false;
    }
    bool isFlag = !*spec->value, isMissing = false;
    if (isFlag && isInline) {
      error = name + " takes no value";
      return false;
    }
    if (!isFlag && !isInline) {
      isMissing = i + 1 >= argc;
      value = isMissing ? "" : argv[++i];
    }
    std::string expected =
        isMissing ? "a value" : spec->take(*spec, value, options);
    if (!expected.empty()) {
      error = name + " expects " + expected + ", but got " +
              (isMissing ? "nothing" : "'" + value + "'");
      return false;
    }
  }
  // A JSON log lets standard output have nothing but JSON.
  if (options.log == Options::JsonLog)
    options.report = Options::JsonLine;
  error = checkOptions(options);
  return error.empty();
}

std::vector<Fact> tessera::rt::comparedOptions(const Options &options) {
  std::vector<Fact> facts;
  for (const OptionSpec &spec : optionTable())
    if (spec.help && isOffered(spec) && !spec.mayDiffer)
      facts.push_back({spec.name, spec.show(spec, options)});
  return facts;
}
