//===- Options.h - Command line of a program --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options of a compiled program. Text of --help included.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_OPTIONS_H
#define TESSERA_RT_SRC_OPTIONS_H

#include "Manifest.h"

#include <string>

namespace tessera::rt {

struct Options {
  enum Report { Text, JsonLine };
  /// 0: not given.
  int ranks = 0;
  int threads = 0;
  int64_t steps = 1;
  uint64_t seed = 0;
  /// 0: 300 s for the first step, 60 s for others.
  double deadline = 0;
  std::string data, dataFormat, inputs, saveOutputs, compare;
  bool randomData = false;
  Report report = Text;
  bool quiet = false, help = false, printManifest = false;
};

/// Reads the command line; returns false and a message for the first mistake.
bool parseOptions(int argc, char **argv, Options &options, std::string &error);

/// The text of --help.
std::string helpText(const char *program, const Manifest &manifest);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_OPTIONS_H
