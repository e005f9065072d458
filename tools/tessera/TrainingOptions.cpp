//===- TrainingOptions.cpp - Options of training
//---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingOptions.h"
#include "tessera/Training/TrainingPlan.h"

#include <deque>

using namespace tessera;
using llvm::StringRef;

llvm::ArrayRef<OptionSpec>
tessera::withTrainingOptions(llvm::ArrayRef<OptionSpec> own, size_t numBehind) {
  // Rows hold references to their names.
  static std::deque<std::string> names;
  static std::deque<std::vector<OptionSpec>> tables;
  std::vector<OptionSpec> &rows = tables.emplace_back();
  rows.assign(own.begin(), own.end() - numBehind);
  rows.push_back({"--forward", "",
                  "leave a program with a loss as it is; by default its\n"
                  "training step is built, from these:"});
  for (const PlanSetting &setting : getPlanSettings()) {
    names.push_back("--" + setting.name.str());
    rows.push_back({names.back(), setting.value, setting.help});
  }
  rows.insert(rows.end(), own.end() - numBehind, own.end());
  return rows;
}

static llvm::Error readPadding(const ParsedOptions &parsed,
                               PipelineOptions &options) {
  constexpr llvm::StringLiteral name = "--pad-to-multiple-of";
  StringRef text = parsed.get(name, "auto");
  if (text == "auto")
    return llvm::Error::success();
  options.padMultiple = 0;
  if (text != "off" &&
      (text.getAsInteger(10, options.padMultiple) || options.padMultiple < 1))
    return llvm::createStringError(
        name + " expects auto, off or an integer of at least 1 but got '" +
        text + "'");
  return llvm::Error::success();
}

llvm::Error tessera::readPipelineOptions(const ParsedOptions &parsed,
                                         PipelineOptions &options) {
  options.mesh = parsed.get("--mesh").str();
  options.strategy = parsed.get("--strategy").str();
  options.forward = parsed.has("--forward");
  for (const PlanSetting &setting : getPlanSettings()) {
    std::string name = "--" + setting.name.str();
    if (!parsed.has(name))
      continue;
    if (options.forward)
      return llvm::createStringError("expects --forward or " + name +
                                     " but got both");
    StringRef value = parsed.get(name);
    if (value.contains(','))
      return llvm::createStringError(name + " expects no ',' but got '" +
                                     value + "'");
    options.training += (options.training.empty() ? "" : ",") +
                        setting.name.str() + "=" + value.str();
  }
  return readPadding(parsed, options);
}
