//===- Help.cpp - The text of --help --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Options.h. The options come from the table, arguments and results from
// the program's manifest.
//
//===----------------------------------------------------------------------===//

#include "OptionTable.h"

#include <algorithm>

using namespace tessera::rt;

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
  constexpr size_t shown = 8;
  std::string text = "\narguments:\n";
  size_t counts[2] = {};
  for (const Value &value : manifest.arguments) {
    bool isLong = value.role == Role::Param || value.role == Role::State;
    if (isLong && ++counts[size_t(value.role)] > shown)
      continue;
    text += format(
        "  %-24s %-7s %s\n", value.name.c_str(), roleName(value.role),
        describeType(value.dtype, value.shape, value.isUnsigned).c_str());
  }
  for (size_t role = 0; role < 2; ++role)
    if (counts[role] > shown)
      text += format("  ... and %zu more of role %s\n", counts[role] - shown,
                     roleName(Role(role)));
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
      text += format(
          "  %-24s %s\n", value.name.c_str(),
          describeType(value.dtype, value.shape, value.isUnsigned).c_str());
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
  for (const OptionSpec &spec : optionTable())
    if (isOffered(spec))
      text += spec.help ? describeOption(spec) : format("\n%s:\n", spec.name);
  text += "\nSIGINT, SIGTERM and SIGHUP end the run after the current step; "
          "state is saved and\nreported as usual. The exit code is 0 after "
          "SIGINT, and 143 after the others if\nsteps are left to do: the job "
          "was preempted. A second signal ends it at once.\n\n"
          "Under torchrun, mpirun or srun the program joins as the rank that "
          "RANK and\nWORLD_SIZE, OMPI_COMM_WORLD_*, PMI_* or SLURM_* name, on "
          "one node or several.\n";
  return text + describeValues(manifest);
}
