//===- Options.cpp - Command line of a program ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Options.h.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

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

/// Takes one option that has a value. Returns what the value should have been,
/// or null when it is good.
static const char *takeValue(const std::string &name, const std::string &value,
                             Options &options, bool &known) {
  int64_t number = 0;
  if (name == "--ranks") {
    if (!readInteger(value, 1, 1024, number))
      return "a number of ranks from 1 to 1024";
    options.ranks = int(number);
  } else if (name == "--threads") {
    if (!readInteger(value, 1, 1024, number))
      return "a number of threads from 1 to 1024";
    options.threads = int(number);
  } else if (name == "--steps") {
    if (!readInteger(value, 1, INT64_MAX, number))
      return "a number of steps, at least 1";
    options.steps = number;
  } else if (name == "--seed") {
    if (!readInteger(value, 0, INT64_MAX, number))
      return "a seed, at least 0";
    options.seed = uint64_t(number);
  } else if (name == "--deadline") {
    char *end;
    options.deadline = strtod(value.c_str(), &end);
    if (value.empty() || *end || !(options.deadline > 0))
      return "seconds, more than 0";
  } else if (name == "--data") {
    options.data = value;
  } else if (name == "--data-format") {
    if (value != "bytes" && value != "u16" && value != "u32")
      return "bytes, u16 or u32";
    options.dataFormat = value;
  } else if (name == "--inputs") {
    options.inputs = value;
  } else if (name == "--save-outputs") {
    options.saveOutputs = value;
  } else if (name == "--compare") {
    options.compare = value;
  } else if (name == "--report") {
    if (value != "text" && value != "json")
      return "text or json";
    options.report = value == "json" ? Options::JsonLine : Options::Text;
  } else {
    known = false;
  }
  return nullptr;
}

bool tessera::rt::parseOptions(int argc, char **argv, Options &options,
                               std::string &error) {
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i], value;
    if (name == "--help" || name == "-h")
      options.help = true;
    else if (name == "--manifest")
      options.printManifest = true;
    else if (name == "--quiet")
      options.quiet = true;
    else if (name == "--random-data")
      options.randomData = true;
    else {
      size_t equals = name.find('=');
      bool inline_ = equals != std::string::npos;
      if (inline_) {
        value = name.substr(equals + 1);
        name.resize(equals);
      } else if (i + 1 < argc) {
        value = argv[i + 1];
      }
      bool known = true;
      const char *expected = takeValue(name, value, options, known);
      if (!known) {
        error = "unknown option '" + name + "'; see --help";
        return false;
      }
      if (expected || (!inline_ && i + 1 >= argc)) {
        error = name + " expects " + (expected ? expected : "a value") +
                ", but got " +
                (inline_ || i + 1 < argc ? "'" + value + "'" : "nothing");
        return false;
      }
      i += inline_ ? 0 : 1;
    }
  }
  return true;
}

std::string tessera::rt::helpText(const char *program,
                                  const Manifest &manifest) {
  std::string text = format(
      "%s: the program '%s' for %d rank%s (%.1f MB of memory each)\n\n"
      "usage: %s [options]\n\n"
      "  --ranks N            start N rank processes on this machine; must be "
      "%d\n"
      "  --threads N          threads of a rank (default: cores / ranks)\n"
      "  --data FILE          tokens: the bytes of a text, or a flat file of\n"
      "                       little-endian ids that ends in .u16 or .u32\n"
      "  --data-format F      bytes, u16 or u32, whatever the name ends in\n"
      "  --random-data        made-up tokens instead of --data\n"
      "  --inputs DIR         arguments from DIR/NAME.npy, where there is "
      "one,\n"
      "                       instead of their initialiser or --data\n"
      "  --seed S             seed of initial values and made-up tokens (0)\n"
      "  --steps N            run N steps, each on the next batch (1)\n"
      "  --save-outputs DIR   write the last step's results to DIR/NAME.npy\n"
      "  --compare DIR        report how far the last step's results are from\n"
      "                       those in DIR/NAME.npy\n"
      "  --deadline SECONDS   how long a rank may keep the others waiting\n"
      "                       (300 in the first step, then 60)\n"
      "  --report text|json   the report on standard output (text)\n"
      "  --manifest           print the program's manifest and stop\n"
      "  --quiet              no progress lines\n"
      "  --help               this text\n\n"
      "Under torchrun, mpirun or srun on one machine the program joins as the\n"
      "rank that RANK and WORLD_SIZE, OMPI_COMM_WORLD_*, PMI_* or SLURM_* "
      "name.\n"
      "\narguments:\n",
      program, manifest.program.c_str(), manifest.ranks,
      manifest.ranks == 1 ? "" : "s", double(manifest.arenaBytes) / 1e6,
      program, manifest.ranks);
  static const char *const roles[] = {"param", "tokens", "labels", "input"};
  size_t params = 0;
  for (const Value &value : manifest.arguments) {
    if (value.role == Role::Param && ++params > 8)
      continue;
    text +=
        format("  %-20s %-7s %s\n", value.name.c_str(), roles[int(value.role)],
               describeType(value.dtype, value.shape).c_str());
  }
  if (params > 8)
    text += format("  ... and %zu more params\n", params - 8);
  text += "results:\n";
  for (const Value &value : manifest.results)
    text += format("  %-20s %s\n", value.name.c_str(),
                   describeType(value.dtype, value.shape).c_str());
  return text;
}
