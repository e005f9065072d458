//===- SourceNames.cpp - Names of arguments and results -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SourceNames.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tessera::stablehlo;

/// The longest name of a parameter: it becomes a file name.
static constexpr size_t kMaxName = 240;

std::string tessera::stablehlo::getSpelling(Location loc, unsigned index) {
  if (auto name = loc->findInstanceOf<NameLoc>())
    if (!name.getName().getValue().empty())
      return name.getName().str();
  return "arg" + std::to_string(index);
}

/// Joins the words of `p['blocks'][0].w` by dots.
static std::string joinWords(StringRef spelled) {
  std::string name;
  bool startsWord = false;
  for (char c : spelled) {
    bool isPart = llvm::isAlnum(c) || c == '_' || c == '-';
    if (isPart && startsWord && !name.empty())
      name += '.';
    startsWord = !isPart;
    if (isPart)
      name += c;
  }
  return name;
}

SmallVector<std::string>
tessera::stablehlo::makeNames(ArrayRef<std::string> spelled) {
  SmallVector<std::string> whole;
  llvm::StringMap<int> uses;
  auto leafOf = [](StringRef name) {
    return name.contains('.') ? name.split('.').second : name;
  };
  for (StringRef text : spelled) {
    whole.push_back(joinWords(text).substr(0, kMaxName));
    ++uses[leafOf(whole.back())];
  }
  SmallVector<std::string> names;
  llvm::StringMap<int> taken;
  for (StringRef name : whole) {
    StringRef leaf = leafOf(name);
    std::string chosen = (uses[leaf] == 1 ? leaf : name).str();
    std::string unique = chosen.empty() ? "value" : chosen;
    while (!taken.try_emplace(unique).second)
      unique = chosen + "." + std::to_string(++taken[chosen]);
    names.push_back(unique);
  }
  return names;
}
