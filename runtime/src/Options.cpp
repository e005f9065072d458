//===- Options.cpp - Command line of a program ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Options.h. One table is the parser and the help.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "Target.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

using namespace tessera::rt;

/// Reads all of `text` as a number in [low, high].
static bool readInteger(const std::string &text, int64_t low, int64_t high,
                        int64_t &value) {
  char *end;
  errno = 0;
  long long number = strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || errno || number < low || number > high)
    return false;
  value = number;
  return true;
}

/// Reads bytes as 1500000, 64K, 300M or 2G (powers of 1000), or 64Ki and so on.
static bool readBytes(const std::string &text, int64_t &value) {
  char *end;
  double number = strtod(text.c_str(), &end);
  static const char units[] = "KMG";
  const char *unit = *end ? strchr(units, *end) : nullptr;
  if (unit) {
    bool binary = end[1] == 'i';
    for (const char *p = units; p <= unit; ++p)
      number *= binary ? 1024 : 1000;
    end += binary ? 2 : 1;
  }
  if (text.empty() || *end || !(number >= 1) || number > 1e18)
    return false;
  value = int64_t(number);
  return true;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
/// Takes the value of an option. Returns what it should have been, or null when
/// it is good.
using Setter = const char *(*)(const std::string &value, Options &options);

struct OptionSpec {
  const char *name;
  /// What stands for the value in the help; empty: a flag.
  const char *value = "";
  /// Lines are cut at '\n'. Null: the row begins a section of the help.
  const char *help = nullptr;
  /// Where the value goes: one of these.
  Setter set = nullptr;
  std::string Options::*text = nullptr;
  bool Options::*flag = nullptr;
  int64_t Options::*number = nullptr;
  /// Of numbers.
  int64_t low = 0;
  /// Only for targets with devices.
  bool ofDevices = false;

  const char *take(const std::string &value, Options &options) const;
};
} // namespace

const char *OptionSpec::take(const std::string &value, Options &options) const {
  if (set)
    return set(value, options);
  if (flag)
    options.*flag = true;
  else if (text)
    options.*text = value;
  else if (!readInteger(value, low, int64_t(1) << 60, options.*number))
    return low ? "a number, at least 1" : "a number, at least 0";
  return nullptr;
}

static constexpr OptionSpec section(const char *title) {
  return OptionSpec{title};
}
static constexpr OptionSpec flag(const char *name, bool Options::*field,
                                 const char *help) {
  return OptionSpec{name, "", help, nullptr, nullptr, field};
}
static constexpr OptionSpec text(const char *name, const char *value,
                                 std::string Options::*field,
                                 const char *help) {
  return OptionSpec{name, value, help, nullptr, field};
}
static constexpr OptionSpec number(const char *name, int64_t Options::*field,
                                   int64_t low, const char *help) {
  return OptionSpec{name, "N", help, nullptr, nullptr, nullptr, field, low};
}
static constexpr OptionSpec special(const char *name, const char *value,
                                    Setter set, const char *help) {
  return OptionSpec{name, value, help, set};
}

static constexpr OptionSpec ofDevices(OptionSpec spec) {
  spec.ofDevices = true;
  return spec;
}

static const char *setTune(const std::string &value, Options &options) {
  options.tune = value == "off"  ? Options::TuneOff
                 : value == "on" ? Options::TuneOn
                                 : Options::TuneCache;
  return value == "off" || value == "cache" || value == "on"
             ? nullptr
             : "off, cache or on";
}

static const char *setSimulateRanks(const std::string &value,
                                    Options &options) {
  int64_t number;
  if (!readInteger(value, 1, 64, number))
    return "a number of ranks from 1 to 64";
  options.simulateRanks = int(number);
  return nullptr;
}

static const char *setRanks(const std::string &value, Options &options) {
  int64_t number;
  if (!readInteger(value, 1, 1024, number))
    return "a number of ranks from 1 to 1024";
  options.ranks = int(number);
  return nullptr;
}

static const char *setThreads(const std::string &value, Options &options) {
  int64_t number;
  if (!readInteger(value, 1, 1024, number))
    return "a number of threads from 1 to 1024";
  options.threads = int(number);
  return nullptr;
}

static const char *setSeed(const std::string &value, Options &options) {
  int64_t number;
  if (!readInteger(value, 0, INT64_MAX, number))
    return "a seed, at least 0";
  options.seed = uint64_t(number);
  return nullptr;
}

static const char *setMemoryLimit(const std::string &value, Options &options) {
  return readBytes(value, options.memoryLimit)
             ? nullptr
             : "bytes, at least 1, such as 500M";
}

static const char *setDeadline(const std::string &value, Options &options) {
  char *end;
  options.deadline = strtod(value.c_str(), &end);
  return value.empty() || *end || !(options.deadline > 0)
             ? "seconds, more than 0"
             : nullptr;
}

static const char *setDataFormat(const std::string &value, Options &options) {
  options.dataFormat = value;
  return value == "bytes" || value == "u16" || value == "u32"
             ? nullptr
             : "bytes, u16 or u32";
}

static const char *setOnNan(const std::string &value, Options &options) {
  options.onNan = value == "skip" ? Options::Skip : Options::Stop;
  return value == "skip" || value == "stop" ? nullptr : "stop or skip";
}

static const char *setLog(const std::string &value, Options &options) {
  options.log = value == "jsonl" ? Options::JsonLog : Options::TextLog;
  return value == "jsonl" || value == "text" ? nullptr : "text or jsonl";
}

static const char *setReport(const std::string &value, Options &options) {
  options.report = value == "json" ? Options::JsonLine : Options::Text;
  return value == "json" || value == "text" ? nullptr : "text or json";
}

static const OptionSpec specs[] = {
    section("ranks and resources"),
    special("--ranks", "N", setRanks,
            "start N rank processes on this machine; must be what the\n"
            "program was compiled for"),
    special("--threads", "N", setThreads,
            "threads of a rank (default: cores / ranks)"),
    special("--memory-limit", "BYTES", setMemoryLimit,
            "refuse, or end, a run in which a rank needs more than\n"
            "this: 500M, 2G, 512Mi"),
    special("--deadline", "SECONDS", setDeadline,
            "how long a rank may keep the others waiting\n"
            "(300 in the first step, then 60)"),
    section("data"),
    text("--data", "FILE", &Options::data,
         "tokens: the bytes of a text, or a flat file of\n"
         "little-endian ids that ends in .u16 or .u32; sequences\n"
         "follow each other, and after the last comes the first"),
    special("--data-format", "F", setDataFormat,
            "bytes, u16 or u32, whatever the name ends in"),
    number("--data-position", &Options::dataPosition, 0,
           "begin with sequence N of the data (0)"),
    flag("--random-data", &Options::randomData,
         "made-up tokens instead of --data"),
    text("--inputs", "DIR", &Options::inputs,
         "arguments from DIR/NAME.npy, where there is one, instead\n"
         "of their initialiser or --data"),
    special("--seed", "S", setSeed,
            "seed of initial values and made-up tokens (0)"),
    section("steps"),
    number("--steps", &Options::steps, 0,
           "run N steps, each on the next batch (1); 0: fill the\n"
           "arguments, and that is all"),
    special("--on-nan", "stop|skip", setOnNan,
            "what follows a loss that is no finite number: stop, with\n"
            "exit code 1, or undo the step and go on (stop)"),
    number("--eval-every", &Options::evalEvery, 1,
           "the loss on data that is not trained on, before the\n"
           "first step and after every N: the last sequences of\n"
           "--data, or --eval-data"),
    number("--eval-batches", &Options::evalBatches, 1,
           "mean over so many batches (4)"),
    text("--eval-data", "FILE", &Options::evalData,
         "as --data, for --eval-every"),
    ofDevices(section("devices")),
    ofDevices(special("--tune", "off|cache|on", setTune,
                      "how the fastest way to compute each matrix product is\n"
                      "found: what the library thinks; by time in the first\n"
                      "run, kept in a file; by time, anew (cache)")),
    ofDevices(text("--tune-file", "FILE", &Options::tuneFile,
                   "where that is kept (PROGRAM.tune)")),
    ofDevices(flag("--tf32", &Options::tf32,
                   "f32 matrix products with operands rounded to TF32")),
    ofDevices(flag("--deterministic", &Options::deterministic,
                   "no algorithms whose sums depend on timing")),
    ofDevices(flag("--no-graph", &Options::noGraph,
                   "enqueue every step anew instead of replaying a recorded\n"
                   "one")),
    ofDevices(flag("--share-device", &Options::shareDevice,
                   "let several ranks of this machine use one device, for\n"
                   "tests; slow")),
    ofDevices(special("--simulate-ranks", "N", setSimulateRanks,
                      "run all ranks in one process on one device, without\n"
                      "NCCL; N must be what the program was compiled for")),
    section("output"),
    special("--log", "text|jsonl", setLog,
            "a line a step for readers, or one JSON object a step on\n"
            "standard output (text)"),
    special("--report", "text|json", setReport,
            "the report at the end, on standard output (text; json\n"
            "with --log=jsonl)"),
    text("--save-outputs", "DIR", &Options::saveOutputs,
         "write the last step's results to DIR/NAME.npy"),
    text("--save-initial", "DIR", &Options::saveInitial,
         "write parameters and state as they begin to DIR/NAME.npy"),
    text("--save-final", "DIR", &Options::saveFinal,
         "the same as they end; a run with --inputs DIR and the\n"
         "next --data-position goes on from there"),
    text("--compare", "DIR", &Options::compare,
         "report how far the last step's results are from those in\n"
         "DIR/NAME.npy"),
    flag("--manifest", &Options::printManifest,
         "print the program's manifest and stop"),
    flag("--quiet", &Options::quiet, "no lines for readers"),
    flag("--help", &Options::help, "this text"),
};

static bool isOffered(const OptionSpec &spec) {
  return !spec.ofDevices || targetKind.hasDevices;
}

static const OptionSpec *findSpec(const std::string &name) {
  for (const OptionSpec &spec : specs)
    if (spec.help && name == spec.name && isOffered(spec))
      return &spec;
  return nullptr;
}

/// Checks options against each other. Returns a message, or nothing.
static std::string checkOptions(const Options &options) {
  if (options.randomData && !options.data.empty())
    return "expects --data or --random-data, but got both";
  if (!options.evalData.empty() && options.evalEvery == 0)
    return "--eval-data expects --eval-every";
  if (options.ranks && options.simulateRanks)
    return "expects --ranks or --simulate-ranks, but got both";
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
    const char *expected = isMissing ? "a value" : spec->take(value, options);
    if (expected) {
      error = name + " expects " + expected + ", but got " +
              (isMissing ? "nothing" : "'" + value + "'");
      return false;
    }
  }
  // Nothing but JSON on standard output then.
  if (options.log == Options::JsonLog)
    options.report = Options::JsonLine;
  error = checkOptions(options);
  return error.empty();
}

//===----------------------------------------------------------------------===//
// Help
//===----------------------------------------------------------------------===//

static std::string describeOption(const OptionSpec &spec) {
  std::string left = std::string(spec.name) + " " + spec.value, text;
  std::string help = spec.help;
  for (size_t begin = 0; begin <= help.size();) {
    size_t end = std::min(help.find('\n', begin), help.size());
    text += format("  %-22s %s\n", left.c_str(),
                   help.substr(begin, end - begin).c_str());
    left.clear();
    begin = end + 1;
  }
  return text;
}

static std::string describeValues(const Manifest &manifest) {
  static const char *const roles[] = {"param", "state", "tokens", "labels",
                                      "input"};
  constexpr size_t shown = 8;
  std::string text = "\narguments:\n";
  size_t counts[2] = {};
  for (const Value &value : manifest.arguments) {
    bool isLong = value.role == Role::Param || value.role == Role::State;
    if (isLong && ++counts[size_t(value.role)] > shown)
      continue;
    text +=
        format("  %-24s %-7s %s\n", value.name.c_str(), roles[int(value.role)],
               describeType(value.dtype, value.shape).c_str());
  }
  for (size_t role = 0; role < 2; ++role)
    if (counts[role] > shown)
      text += format("  ... and %zu more of role %s\n", counts[role] - shown,
                     roles[role]);
  text += "results:\n";
  std::vector<bool> isDonated(manifest.results.size());
  for (const Value &value : manifest.arguments)
    if (value.donate >= 0)
      isDonated[size_t(value.donate)] = true;
  size_t donated = 0;
  for (size_t i = 0; i < manifest.results.size(); ++i) {
    const Value &value = manifest.results[i];
    donated += isDonated[i];
    if (!isDonated[i])
      text += format("  %-24s %s\n", value.name.c_str(),
                     describeType(value.dtype, value.shape).c_str());
  }
  if (donated)
    text += format("  and the new value of %zu arguments\n", donated);
  return text;
}

std::string tessera::rt::helpText(const char *program,
                                  const Manifest &manifest) {
  std::string text = format(
      "%s: %s of '%s' for %d rank%s (%.1f MB of memory each)\n\n"
      "usage: %s [options]\n",
      program, manifest.isTraining() ? "the training step" : "the program",
      manifest.program.c_str(), manifest.ranks, manifest.ranks == 1 ? "" : "s",
      double(manifest.arenaBytes) / 1e6, program);
  for (const OptionSpec &spec : specs)
    if (isOffered(spec))
      text += spec.help ? describeOption(spec) : format("\n%s:\n", spec.name);
  text += "\nSIGINT and SIGTERM end the run after the current step, with exit "
          "code 0; a\nsecond one ends it at once.\n\n"
          "Under torchrun, mpirun or srun on one machine the program joins as "
          "the rank\nthat RANK and WORLD_SIZE, OMPI_COMM_WORLD_*, PMI_* or "
          "SLURM_* name.\n";
  return text + describeValues(manifest);
}
