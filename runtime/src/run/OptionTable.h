//===- OptionTable.h - The options of a program -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row per option. The parser, the help and the comparison of ranks are
// generated from the rows.
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
  /// Takes a value. Returns the expected value on an error, or nothing.
  std::string (*take)(const OptionSpec &spec, const std::string &value,
                      Options &options) = nullptr;
  /// Returns the option's current value as text, whether it was given or not.
  /// Two spellings of one value give the same text.
  std::string (*show)(const OptionSpec &spec, const Options &options) = nullptr;
  /// Range of a number.
  int64_t low = 0, high = 0;
  /// True if only targets with devices have it.
  bool ofDevices = false;
  /// True if only targets without devices have it.
  bool ofHost = false;
  /// True if results do not depend on it, so that ranks may have different
  /// values. All other options are compared before the first step.
  bool mayDiffer = false;
};

/// All rows, in the order of the help.
const std::vector<OptionSpec> &optionTable();

/// True if this library's target has the option.
bool isOffered(const OptionSpec &spec);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_OPTIONTABLE_H
