//===- OptionTable.h - The options of a program -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row an option. The parser, the help and the comparison of ranks are made
// from the rows.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_OPTIONTABLE_H
#define TESSERA_RT_SRC_OPTIONTABLE_H

#include "Options.h"

#include <vector>

namespace tessera::rt {

struct OptionSpec {
  const char *name;
  /// The value's name in the help, or its choices, "text|json"; empty: a flag.
  const char *value = "";
  /// Lines are split at '\n'. Null: the row begins a section of the help.
  const char *help = nullptr;
  /// Takes a value. Returns what it should have been, or nothing when it is
  /// good.
  std::string (*take)(const OptionSpec &spec, const std::string &value,
                      Options &options) = nullptr;
  /// The option's value as text, whether it was given or not. Two spellings of
  /// one value are shown alike.
  std::string (*show)(const OptionSpec &spec, const Options &options) = nullptr;
  /// Of numbers.
  int64_t low = 0, high = 0;
  /// Only for targets with devices.
  bool ofDevices = false;
  /// Only for targets without.
  bool ofHost = false;
  /// Results do not depend on it, so ranks may be given different values. All
  /// other options are compared before the first step.
  bool mayDiffer = false;
};

/// All rows, in the order of the help.
const std::vector<OptionSpec> &optionTable();

/// Whether this library's target has the option.
bool isOffered(const OptionSpec &spec);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_OPTIONTABLE_H
