//===- OptionTable.cpp - The options of a program -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See OptionTable.h. A row names the field that it sets; the field's type
// determines how the value is read and shown.
//
//===----------------------------------------------------------------------===//

#include "OptionTable.h"

#include "host/Target.h"
#include "tessera_bytes.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <type_traits>
#include <unistd.h>

using namespace tessera::rt;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

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

/// Splits "a|b|c" into its parts.
static std::vector<std::string> splitChoices(const char *choices) {
  std::vector<std::string> parts(1);
  for (; *choices; ++choices) {
    if (*choices == '|')
      parts.emplace_back();
    else
      parts.back() += *choices;
  }
  return parts;
}

static std::string quote(const std::string &text) {
  return text.empty() ? "nothing" : "'" + text + "'";
}

/// Makes `path` absolute, and resolves symbolic links as far as it exists.
static std::string absolutePath(const std::string &path) {
  char resolved[PATH_MAX];
  if (path.empty() || realpath(path.c_str(), resolved))
    return path.empty() ? path : resolved;
  size_t slash = path.find_last_of('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  if (slash == 0 || folder == path)
    return path;
  return absolutePath(folder) + "/" +
         path.substr(slash == std::string::npos ? 0 : slash + 1);
}

//===----------------------------------------------------------------------===//
// Kinds of rows
//===----------------------------------------------------------------------===//

template <auto Field>
using FieldType =
    std::remove_reference_t<decltype(std::declval<Options &>().*Field)>;

/// Shows numbers and texts unchanged, flags as words, and choices by their
/// names.
template <auto Field>
static std::string show(const OptionSpec &spec, const Options &options) {
  using Type = FieldType<Field>;
  if constexpr (std::is_same_v<Type, std::string>)
    return quote(options.*Field);
  else if constexpr (std::is_same_v<Type, bool>)
    return options.*Field ? "yes" : "no";
  else if constexpr (std::is_enum_v<Type>)
    return splitChoices(spec.value)[size_t(options.*Field)];
  else if constexpr (std::is_floating_point_v<Type>)
    return format("%.17g", double(options.*Field));
  else
    return std::to_string(options.*Field);
}

static constexpr OptionSpec section(const char *title) {
  return OptionSpec{title};
}

template <auto Field>
static constexpr OptionSpec flag(const char *name, const char *help) {
  return {name, "", help,
          [](const OptionSpec &, const std::string &, Options &options) {
            options.*Field = true;
            return std::string();
          },
          show<Field>};
}

template <auto Field>
static std::string takePath(const OptionSpec &spec, const std::string &value,
                            Options &options) {
  options.*Field = value;
  return value.empty() ? std::string("a path") : std::string();
}

template <auto Field>
static std::string takeText(const OptionSpec &spec, const std::string &value,
                            Options &options) {
  options.*Field = value;
  return value.empty() ? std::string("a text") : std::string();
}

/// A file or folder. Its absolute path is shown, because ranks may start in
/// different folders.
template <auto Field>
static constexpr OptionSpec path(const char *name, const char *value,
                                 const char *help) {
  return {name, value, help, takePath<Field>,
          [](const OptionSpec &, const Options &options) {
            return quote(absolutePath(options.*Field));
          }};
}

template <auto Field>
static std::string takeNumber(const OptionSpec &spec, const std::string &value,
                              Options &options) {
  int64_t number;
  if (!readInteger(value, spec.low, spec.high, number))
    return format("a number, at least %lld", (long long)spec.low) +
           (spec.high < (1 << 30)
                ? format(" and at most %lld", (long long)spec.high)
                : std::string());
  options.*Field = FieldType<Field>(number);
  return std::string();
}

template <auto Field>
static constexpr OptionSpec number(const char *name, const char *value,
                                   int64_t low, int64_t high,
                                   const char *help) {
  return {name, value, help, takeNumber<Field>, show<Field>, low, high};
}

/// A number of steps, batches or sequences.
template <auto Field>
static constexpr OptionSpec count(const char *name, int64_t low,
                                  const char *help) {
  return number<Field>(name, "N", low, int64_t(1) << 60, help);
}

template <auto Field>
static std::string takeChoice(const OptionSpec &spec, const std::string &value,
                              Options &options) {
  std::vector<std::string> names = splitChoices(spec.value);
  std::string expected;
  for (size_t i = 0; i < names.size(); ++i) {
    if (value == names[i]) {
      options.*Field = FieldType<Field>(i);
      return std::string();
    }
    expected += (i == 0                  ? ""
                 : i + 1 == names.size() ? " or "
                                         : ", ") +
                names[i];
  }
  return expected;
}

/// One of several words, in the order of the field's enumerators.
template <auto Field>
static constexpr OptionSpec choice(const char *name, const char *choices,
                                   const char *help) {
  return {name, choices, help, takeChoice<Field>, show<Field>};
}

/// An option that `read` parses; `expected` describes its values.
template <auto Field>
static constexpr OptionSpec special(const char *name, const char *value,
                                    decltype(OptionSpec::take) take,
                                    const char *help) {
  return {name, value, help, take, show<Field>};
}

static constexpr OptionSpec ofDevices(OptionSpec spec) {
  spec.ofDevices = true;
  return spec;
}

static constexpr OptionSpec ofHost(OptionSpec spec) {
  spec.ofHost = true;
  return spec;
}

static constexpr OptionSpec mayDiffer(OptionSpec spec) {
  spec.mayDiffer = true;
  return spec;
}

static std::string takeMemoryLimit(const OptionSpec &, const std::string &value,
                                   Options &options) {
  int64_t bytes;
  if (!tessera_rt_read_bytes(value.c_str(), &bytes) || bytes < 1)
    return "bytes, at least 1, such as 500MB";
  options.memoryLimit = bytes;
  return "";
}

static std::string showPosition(const OptionSpec &, const Options &options) {
  return options.dataPosition < 0 ? quote("")
                                  : std::to_string(options.dataPosition);
}

static std::string takeTimeout(const OptionSpec &, const std::string &value,
                               Options &options) {
  char *end;
  double seconds = strtod(value.c_str(), &end);
  if (value.empty() || *end || !(seconds > 0))
    return "seconds, more than 0";
  options.timeouts.setAll(seconds);
  return std::string();
}

static std::string showTimeout(const OptionSpec &, const Options &options) {
  return format("%.17g", options.timeouts.step);
}

static std::string takeDataFormat(const OptionSpec &, const std::string &value,
                                  Options &options) {
  options.dataFormat = value;
  return value == "bytes" || value == "u16" || value == "u32"
             ? ""
             : "bytes, u16 or u32";
}

static std::string takeInterval(const OptionSpec &, const std::string &value,
                                Options &options) {
  static const std::string expected =
      "steps (50), seconds (60s) or auto, more than 0";
  options.checkpointSteps = 0;
  options.checkpointSeconds = 0;
  if (value == "auto")
    return std::string();
  if (value.empty() || value.back() != 's')
    return readInteger(value, 1, int64_t(1) << 60, options.checkpointSteps)
               ? std::string()
               : expected;
  char *end;
  options.checkpointSeconds = strtod(value.c_str(), &end);
  return end == value.c_str() + value.size() - 1 &&
                 options.checkpointSeconds > 0
             ? std::string()
             : expected;
}

static std::string showInterval(const OptionSpec &, const Options &options) {
  if (options.checkpointSteps)
    return std::to_string(options.checkpointSteps);
  return options.checkpointSeconds > 0
             ? format("%.17gs", options.checkpointSeconds)
             : "auto";
}

static std::string takeFailureHours(const OptionSpec &,
                                    const std::string &value,
                                    Options &options) {
  char *end;
  options.deviceHoursToFailure = strtod(value.c_str(), &end);
  return !value.empty() && !*end && options.deviceHoursToFailure > 0
             ? ""
             : "device-hours, more than 0";
}

static std::string takeCheckpointMemory(const OptionSpec &,
                                        const std::string &value,
                                        Options &options) {
  constexpr int64_t least = 64 << 10;
  int64_t bytes;
  if (!tessera_rt_read_bytes(value.c_str(), &bytes) || bytes < least)
    return "bytes, at least 64KiB, such as 500MB";
  options.checkpointMemory = bytes;
  return "";
}

static std::string takeLoad(const OptionSpec &, const std::string &value,
                            Options &options) {
  static const std::string alone = "parameters=";
  options.loadsParametersAlone = value.compare(0, alone.size(), alone) == 0;
  options.load =
      options.loadsParametersAlone ? value.substr(alone.size()) : value;
  return options.load.empty() ? "a path" : "";
}

static std::string showLoad(const OptionSpec &, const Options &options) {
  return (options.loadsParametersAlone ? "parameters=" : "") +
         quote(absolutePath(options.load));
}

/// Parses "3,4".
static std::string takeDescriptors(const OptionSpec &, const std::string &value,
                                   Options &options) {
  size_t comma = value.find(',');
  int64_t socket, memory;
  if (comma == std::string::npos ||
      !readInteger(value.substr(0, comma), 0, INT_MAX, socket) ||
      !readInteger(value.substr(comma + 1), 0, INT_MAX, memory) ||
      socket == memory)
    return "the numbers of two open descriptors, SOCKET,MEMORY";
  options.serve = {int(socket), int(memory)};
  return std::string();
}

static std::string showDescriptors(const OptionSpec &, const Options &options) {
  return options.serve.areGiven()
             ? format("%d,%d", options.serve.socket, options.serve.memory)
             : "nothing";
}

/// Parses "F=20,B=20,W=20,link=5", in any order; link may be left out.
static std::string takeRehearsal(const OptionSpec &, const std::string &value,
                                 Options &options) {
  static const std::string expected =
      "F=MS,B=MS,W=MS,link=MS, milliseconds from 0 to 1e6, each once (link may "
      "be left out)";
  Rehearsal &r = options.rehearsal;
  const struct {
    const char *name;
    double *seconds;
    bool isRequired;
  } fields[] = {{"F", &r.forward, true},
                {"B", &r.inputGrad, true},
                {"W", &r.weightGrad, true},
                {"link", &r.link, false}};
  std::vector<std::string> parts(1);
  for (char c : value)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  r.isAsked = true;
  size_t known = 0;
  for (const auto &field : fields) {
    size_t given = 0;
    for (const std::string &part : parts) {
      size_t equals = part.find('=');
      if (part.substr(0, equals) != field.name)
        continue;
      std::string number =
          equals == std::string::npos ? "" : part.substr(equals + 1);
      char *end;
      *field.seconds = strtod(number.c_str(), &end) * 1e-3;
      if (number.empty() || *end || !(*field.seconds >= 0) ||
          *field.seconds > 1e3)
        return expected;
      ++given;
    }
    if (given > 1 || (field.isRequired && given == 0))
      return expected;
    known += given;
  }
  return known == parts.size() ? std::string() : expected;
}

static std::string showRehearsal(const OptionSpec &, const Options &options) {
  const Rehearsal &r = options.rehearsal;
  return r.isAsked ? format("F=%g,B=%g,W=%g,link=%g ms", r.forward * 1e3,
                            r.inputGrad * 1e3, r.weightGrad * 1e3, r.link * 1e3)
                   : quote("");
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

const std::vector<OptionSpec> &tessera::rt::optionTable() {
  static const std::vector<OptionSpec> table = {
      section("ranks and resources"),
      mayDiffer(number<&Options::ranks>(
          "--ranks", "N", 1, 1024,
          "start N rank processes on this machine; must be what the\n"
          "program was compiled for")),
      mayDiffer(number<&Options::threads>(
          "--threads", "N", 1, 1024,
          "threads per rank (default: cores / ranks)")),
      mayDiffer(special<&Options::memoryLimit>(
          "--memory-limit", "BYTES", takeMemoryLimit,
          "refuse, or end, a run in which a rank needs more than\n"
          "this: 500MB, 2GB, 512MiB")),
      mayDiffer({"--timeout", "SECONDS",
                 "how long a rank may keep the others waiting\n"
                 "(300 in the first step, then 60)",
                 takeTimeout, showTimeout}),
      mayDiffer(number<&Options::restarts>(
          "--restarts", "N", 0, 1 << 20,
          "start all ranks anew when one is lost or a call of the\n"
          "system fails, up to N times in a row (0)")),
      section("several nodes"),
      mayDiffer(number<&Options::localRanks>(
          "--local-ranks", "N", 1, 1024,
          "start the N ranks of this node; a process on each node\n"
          "does so, and its launcher's rank is the node")),
      mayDiffer(number<&Options::node>(
          "--node", "I", 0, 1 << 20,
          "the number of this node, if no launcher says it")),
      mayDiffer(special<&Options::rendezvous>(
          "--rendezvous", "DIR|HOST:PORT", takeText<&Options::rendezvous>,
          "where nodes find each other: a folder that all see (that\n"
          "of --checkpoint), or an address of node 0")),
      mayDiffer(path<&Options::key>(
          "--key", "FILE",
          "with HOST:PORT: the job's key, as tessera key writes it\n"
          "(or its text in TESSERA_KEY)")),
      mayDiffer(special<&Options::interface>(
          "--interface", "NAME", takeText<&Options::interface>,
          "the interface by which other nodes reach this one\n"
          "(where the host's name points)")),
      section("data"),
      path<&Options::data>(
          "--data", "FILE",
          "tokens: the bytes of a text, or a flat file of\n"
          "little-endian ids that ends in .u16 or .u32; sequences\n"
          "follow each other, and after the last comes the first"),
      special<&Options::dataFormat>(
          "--data-format", "F", takeDataFormat,
          "bytes, u16 or u32, whatever the name ends in"),
      {"--data-position", "N", "begin with sequence N of the data (0)",
       takeNumber<&Options::dataPosition>, showPosition, 0, int64_t(1) << 60},
      flag<&Options::randomData>("--random-data",
                                 "made-up tokens instead of --data"),
      path<&Options::inputs>(
          "--inputs", "DIR",
          "parameters and state, and tokens where it has them, from\n"
          "DIR/NAME.npy instead of their initialiser or --data; a\n"
          "missing, extra or misshapen file is an error"),
      path<&Options::weights>(
          "--weights", "PATH",
          "parameters from published weights: a .safetensors file, a\n"
          "folder of them or its index; state begins as without, or\n"
          "from --inputs"),
      flag<&Options::initMissing>(
          "--init-missing",
          "parameters and state that --inputs or --weights does not\n"
          "have begin as without it"),
      number<&Options::seed>("--seed", "S", 0, INT64_MAX,
                             "seed of initial values and made-up tokens (0)"),
      section("steps"),
      count<&Options::steps>(
          "--steps", 0,
          "run N steps, each on the next batch (1), or up to step N\n"
          "with --checkpoint; 0: fill the arguments, and that is all"),
      choice<&Options::onNan>(
          "--on-nan", "stop|skip",
          "what follows a loss that is no finite number: stop, with\n"
          "exit code 1, or go on without the step (stop)"),
      count<&Options::evalEvery>(
          "--eval-every", 1,
          "the loss on data that is not trained on, before the\n"
          "first step and after every N: the last sequences of\n"
          "--data, or --eval-data"),
      count<&Options::evalBatches>("--eval-batches", 1,
                                   "mean over so many batches (4)"),
      path<&Options::evalData>("--eval-data", "FILE",
                               "as --data, for --eval-every"),
      section("checkpoints"),
      path<&Options::checkpoint>(
          "--checkpoint", "DIR",
          "write checkpoints to DIR while the run trains, and go on\n"
          "from the newest there; --steps is then the step to reach.\n"
          "SIGUSR1 asks for one at once"),
      {"--checkpoint-interval", "N|60s|auto",
       "one after every N steps, every 60 seconds, or as often as\n"
       "loses least of the run's time (auto)",
       takeInterval, showInterval},
      special<&Options::deviceHoursToFailure>(
          "--mtbf", "HOURS", takeFailureHours,
          "for auto: device-hours from one failure to the next\n"
          "(50700)"),
      count<&Options::keep>("--keep", 1, "the newest N checkpoints stay (2)"),
      count<&Options::keepEvery>("--keep-every", 1,
                                 "and those after every N steps"),
      special<&Options::checkpointMemory>(
          "--checkpoint-memory", "BYTES", takeCheckpointMemory,
          "size of each rank's host buffer for the checkpoint in\n"
          "flight (all that it writes); a full buffer makes steps\n"
          "wait"),
      count<&Options::checkReplicas>(
          "--check-replicas", 1,
          "every N steps, and before each checkpoint, end the run if\n"
          "ranks differ in what they have replicas of"),
      {"--load", "PATH",
       "begin with the checkpoint PATH, or the newest in that\n"
       "folder, where --checkpoint has none; parameters=PATH:\n"
       "with its parameters alone",
       takeLoad, showLoad},
      ofDevices(section("devices")),
      ofDevices(choice<&Options::tune>(
          "--tune", "off|cache|on",
          "how the fastest way to compute each matmul is\n"
          "found: what the library thinks; by time in the first\n"
          "run, kept in a file; by time, anew (cache)")),
      ofDevices(path<&Options::tuneFile>("--tune-file", "FILE",
                                         "where that is kept (PROGRAM.tune)")),
      ofDevices(flag<&Options::tf32>(
          "--tf32", "f32 matmuls with operands rounded to TF32")),
      ofDevices(flag<&Options::deterministic>(
          "--deterministic", "no algorithms whose sums depend on timing")),
      ofDevices(flag<&Options::noGraph>(
          "--no-graph",
          "enqueue every step anew instead of replaying a recorded\n"
          "one")),
      ofDevices(number<&Options::maxGraphNodes>(
          "--max-graph-nodes", "N", 1, 10000000,
          "do so, too, with a step of more kernels, copies and\n"
          "collectives than these (100000)")),
      ofDevices(flag<&Options::shareDevice>(
          "--share-device",
          "let several ranks use one device, for tests; slow")),
      ofDevices(number<&Options::simulateRanks>(
          "--simulate-ranks", "N", 1, 64,
          "run all ranks in one process on one device, without\n"
          "NCCL; N must be what the program was compiled for")),
      ofHost(section("pipelines")),
      ofHost({"--rehearse", "TIMES",
              "F=20,B=20,W=20,link=5: run the lists of a pipeline and\n"
              "compute nothing; tasks of a p-th of the model sleep so\n"
              "many milliseconds, a transfer ends so many after both\n"
              "sides posted it",
              takeRehearsal, showRehearsal}),
      ofHost(path<&Options::trace>(
          "--trace", "FILE",
          "write the last step's tasks, sends and waits of all pp\n"
          "ranks as a Chrome trace (Perfetto shows it)")),
      section("other programs"),
      {"--serve", "SOCKET,MEMORY",
       "stay, and run a step for each request of the program that\n"
       "started this one and gave it these descriptors\n"
       "(tessera_serve.h); Python's tessera.compile does so",
       takeDescriptors, showDescriptors},
      section("output"),
      mayDiffer(choice<&Options::log>(
          "--log", "text|jsonl",
          "a line per step for readers, or one JSON object per\n"
          "step on standard output (text)")),
      mayDiffer(choice<&Options::report>(
          "--report", "text|json",
          "the report at the end, on standard output (text; json\n"
          "with --log=jsonl)")),
      path<&Options::saveOutputs>(
          "--save-outputs", "DIR",
          "save the last step's results as DIR/NAME.npy"),
      path<&Options::saveInitial>("--save-initial", "DIR",
                                  "save parameters and state as they begin"),
      path<&Options::saveFinal>(
          "--save-final", "DIR",
          "the same as they end; a run with --inputs DIR and the\n"
          "next --data-position goes on from there. DIR is replaced\n"
          "as a whole, once all is written"),
      path<&Options::saveWeights>(
          "--save-weights", "DIR",
          "save the parameters as they end as published weights are,\n"
          "in DIR/model.safetensors, or parts of 5 GB and an index"),
      path<&Options::compare>(
          "--compare", "DIR",
          "report how far the last step's results are from those in\n"
          "DIR/NAME.npy"),
      mayDiffer(flag<&Options::printManifest>(
          "--manifest", "print the program's manifest and stop")),
      mayDiffer(flag<&Options::quiet>("--quiet", "no lines for readers")),
      mayDiffer(flag<&Options::help>("--help", "this text")),
  };
  return table;
}

bool tessera::rt::isOffered(const OptionSpec &spec) {
  return targetKind.hasDevices ? !spec.ofHost : !spec.ofDevices;
}
