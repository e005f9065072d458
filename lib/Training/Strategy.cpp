//===- Strategy.cpp - Meshes and strategies as a person writes them -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Training/Strategy.h"
#include "tessera/Interfaces/Limits.h"
#include "llvm/ADT/StringExtras.h"
#include <tuple>

using namespace tessera;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// Starts with a letter, goes on with letters, digits and underscores.
static bool isName(StringRef text) {
  return !text.empty() && llvm::isAlpha(text.front()) &&
         llvm::all_of(text,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

static std::string quoted(StringRef text) { return "'" + text.str() + "'"; }

Expected<Mesh> tessera::parseMesh(StringRef text) {
  Mesh mesh;
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',');
  int64_t devices = 1;
  for (StringRef part : parts) {
    auto [name, sizeText] = part.split('=');
    int64_t size = 0;
    if (!isName(name) || sizeText.getAsInteger(10, size))
      return createStringError("expects a mesh such as dp=2,tp=4 but got " +
                               (parts.size() == 1
                                    ? quoted(text)
                                    : quoted(part) + " in " + quoted(text)));
    if (size < 1)
      return createStringError("expects mesh axes of size at least 1 but got " +
                               std::to_string(size) + " for " + quoted(name));
    if (mesh.find(name))
      return createStringError("expects each mesh axis once but got " +
                               quoted(name) + " twice");
    if (size > kMaxDevices / devices)
      return createStringError("expects a mesh of at most " +
                               std::to_string(kMaxDevices) +
                               " devices but got " + quoted(text));
    devices *= size;
    mesh.names.push_back(name.str());
    mesh.sizes.push_back(size);
  }
  return mesh;
}

/// Reads `cp` or `cp=METHOD`.
static Error parseContext(StringRef part, Strategy &strategy) {
  strategy.cp = true;
  if (!part.consume_front("cp="))
    return Error::success();
  std::optional<ContextMethod> method = parseContextMethod(part);
  if (!method)
    return createStringError("expects " + kContextMethods +
                             " after cp= in a strategy but got " +
                             quoted(part));
  strategy.context = *method;
  return Error::success();
}

Expected<Strategy> tessera::parseStrategy(StringRef text) {
  Strategy strategy;
  if (text.empty() || text == "none")
    return strategy;
  llvm::SmallVector<StringRef> parts, seen;
  text.split(parts, ',');
  for (StringRef part : parts) {
    StringRef name = part.split('=').first;
    if (llvm::is_contained(seen, name))
      return createStringError("expects each item of a strategy once but got " +
                               quoted(name) + " twice");
    seen.push_back(name);
    if (part == "pp")
      strategy.pp = true;
    else if (part == "auto")
      strategy.isSearched = true;
    else if (part == "dp")
      strategy.dp = true;
    else if (name == "cp") {
      if (llvm::Error error = parseContext(part, strategy))
        return std::move(error);
    } else if (part == "tp")
      strategy.tp = true;
    else if (part == "sp")
      strategy.sp = true;
    else if (name == "zero" && part.size() == 6 && part[5] >= '0' &&
             part[5] <= '3')
      strategy.zero = part[5] - '0';
    else
      return createStringError(
          "expects pp, dp, cp, tp, sp, zero=0 to zero=3 or auto in a strategy "
          "but got " +
          quoted(part));
  }
  if (strategy.isSearched && !strategy.isUnseeded())
    return createStringError("expects auto alone or beside pp in a strategy "
                             "but got " +
                             quoted(text));
  return strategy;
}

std::string tessera::print(const Mesh &mesh) {
  std::string text;
  for (size_t i = 0; i < mesh.names.size(); ++i)
    text +=
        (i ? "," : "") + mesh.names[i] + "=" + std::to_string(mesh.sizes[i]);
  return text;
}

std::string tessera::print(const Strategy &strategy) {
  std::string text;
  auto add = [&](bool isUsed, const std::string &part) {
    if (isUsed)
      text += (text.empty() ? "" : ",") + part;
  };
  add(strategy.pp, "pp");
  add(strategy.dp, "dp");
  bool isAuto = strategy.context == ContextMethod();
  add(strategy.cp, "cp" + (isAuto ? "" : "=" + strategy.context.getName()));
  add(strategy.tp, "tp");
  add(strategy.sp, "sp");
  add(strategy.zero > 0, "zero=" + std::to_string(strategy.zero));
  add(strategy.isSearched, "auto");
  return text.empty() ? "none" : text;
}

Error tessera::checkStrategy(const Strategy &strategy, const Mesh &mesh) {
  if (strategy.isNone())
    return Error::success();
  const std::tuple<std::string, bool, StringRef> needs[] = {
      {"pp", strategy.pp, "pp"},
      {"dp", strategy.dp, "dp"},
      {"cp", strategy.cp, "cp"},
      {"tp", strategy.tp, "tp"},
      {"sp", strategy.sp, "tp"},
      {"zero=" + std::to_string(strategy.zero),
       strategy.zero > 0 && !strategy.cp, "dp"}};
  for (const auto &[part, isUsed, axis] : needs)
    if (isUsed && !mesh.find(axis))
      return createStringError("strategy " + quoted(part) +
                               " expects an axis " + quoted(axis) +
                               " but got mesh " + quoted(print(mesh)));
  for (size_t i = 0; i < mesh.names.size(); ++i) {
    bool used =
        strategy.isSearched || (mesh.names[i] == "pp" && strategy.pp) ||
        (mesh.names[i] == "dp" && (strategy.dp || strategy.zero == 3)) ||
        (mesh.names[i] == "cp" && strategy.cp) ||
        (mesh.names[i] == "tp" && (strategy.tp || strategy.sp));
    if (!used && mesh.sizes[i] > 1)
      return createStringError(
          "expects a strategy that uses every axis but got none for " +
          quoted(mesh.names[i]) + " of mesh " + quoted(print(mesh)));
  }
  if (strategy.cp && strategy.sp && !strategy.tp)
    return createStringError("strategy 'sp' beside 'cp' expects 'tp' too but "
                             "got " +
                             quoted(print(strategy)));
  int64_t shared = strategy.context.headDevices;
  if (strategy.cp && shared && mesh.sizes[*mesh.find("cp")] % shared != 0)
    return createStringError(
        "strategy " + quoted("cp=" + strategy.context.getName()) +
        " expects a divisor of axis 'cp' but got mesh " + quoted(print(mesh)));
  return Error::success();
}
