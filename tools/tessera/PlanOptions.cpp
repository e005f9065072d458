//===- PlanOptions.cpp - Options of a plan --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanOptions.h"

#include <deque>

using namespace tessera;
using llvm::StringRef;

/// Breaks a paragraph into lines of at most `width`.
static std::string wrap(StringRef text, size_t width) {
  std::string lines;
  size_t used = 0;
  llvm::SmallVector<StringRef> words;
  text.split(words, ' ');
  for (StringRef word : words) {
    bool fits = used == 0 || used + 1 + word.size() <= width;
    if (used)
      lines += fits ? ' ' : '\n';
    used = (fits && used ? used + 1 : 0) + word.size();
    lines += word;
  }
  return lines;
}

llvm::ArrayRef<OptionSpec>
tessera::withPlanOptions(llvm::ArrayRef<OptionSpec> own, size_t numAfter,
                         PlanField::Use use) {
  // Rows hold references to their texts.
  static std::deque<std::string> texts;
  static std::deque<std::vector<OptionSpec>> tables;
  std::vector<OptionSpec> &rows = tables.emplace_back();
  rows.assign(own.begin(), own.end() - numAfter);
  for (const PlanField &field : getPlanFields()) {
    if (!(field.uses & use))
      continue;
    StringRef name = texts.emplace_back(field.getOption());
    StringRef help = texts.emplace_back(wrap(field.getHelp(), 58));
    rows.push_back({name, field.value, help});
  }
  rows.insert(rows.end(), own.end() - numAfter, own.end());
  return rows;
}

llvm::Error tessera::readPlanOptions(const ParsedOptions &parsed,
                                     PlanField::Use use, GivenPlan &given) {
  for (const PlanField &field : getPlanFields()) {
    std::string option = field.getOption();
    if (!(field.uses & use) || !parsed.has(option))
      continue;
    bool isFlag = field.value.empty();
    StringRef text = parsed.get(option);
    if (isFlag)
      text = field.print(Plan()) == "true" ? "false" : "true";
    if (llvm::Error error = given.set(field.name, text))
      return llvm::createStringError("--" + llvm::toString(std::move(error)));
  }
  return llvm::Error::success();
}
