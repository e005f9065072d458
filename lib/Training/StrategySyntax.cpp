//===- StrategySyntax.cpp - Parses meshes and strategies ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/Limits.h"
#include "tessera/Training/Strategy.h"
#include "llvm/ADT/StringExtras.h"
#include <tuple>

using namespace tessera;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// A name starts with a letter, followed by letters, digits and underscores.
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

/// Reads the axes of `dp@x+y`, after `dp`; no axes for the default name.
static Error parseAxes(StringRef part, StringRef text, AxisNames &axes) {
  if (text.empty())
    return Error::success();
  AxisNames names;
  llvm::SmallVector<StringRef> list;
  text.drop_front().split(list, '+');
  for (StringRef name : list) {
    if (!isName(name) || llvm::is_contained(names, name))
      return createStringError("expects different axes such as dp@x+y in a "
                               "strategy but got " +
                               quoted(part));
    names.push_back(name.str());
  }
  axes = std::move(names);
  return Error::success();
}

/// Reads the method of `cp=METHOD`, after `cp`.
static Error parseContext(StringRef text, Strategy &strategy) {
  if (text.empty())
    return Error::success();
  std::optional<ContextMethod> method = parseContextMethod(text.drop_front());
  if (!method)
    return createStringError("expects " + kContextMethods +
                             " after cp= in a strategy but got " +
                             quoted(text.drop_front()));
  strategy.context = *method;
  return Error::success();
}

/// Reads the number of `ep=N`, after `ep`.
static Error parseExperts(StringRef text, Strategy &strategy) {
  StringRef number = text.starts_with("=") ? text.drop_front() : "";
  if (!number.getAsInteger(10, strategy.ep) && strategy.ep >= 1)
    return Error::success();
  return createStringError("expects ep=N with a number of at least 1 in a "
                           "strategy but got " +
                           quoted(("ep" + text).str()));
}

/// Reads `dp`, `cp` or `tp`, with axes and a method; false for other text.
static Expected<bool> parseRole(StringRef part, Strategy &strategy) {
  StringRef role = part.take_front(2), rest = part.drop_front(role.size());
  if (!rest.empty() && rest.front() != '@' && rest.front() != '=')
    return false;
  StringRef axes = rest.take_until([](char c) { return c == '='; });
  StringRef method = rest.drop_front(axes.size());
  if (!method.empty() && role != "cp")
    return false;
  AxisNames *names = nullptr;
  if (role == "dp") {
    strategy.dp = true;
    names = &strategy.dpAxes;
  } else if (role == "tp") {
    strategy.tp = true;
    names = &strategy.tpAxes;
  } else if (role == "cp") {
    strategy.cp = true;
    names = &strategy.cpAxes;
  } else {
    return false;
  }
  if (Error error = parseAxes(part, axes, *names))
    return std::move(error);
  if (strategy.cpAxes.size() > 1)
    return createStringError("expects one axis of cp in a strategy but got " +
                             quoted(part));
  if (Error error = parseContext(method, strategy))
    return std::move(error);
  return true;
}

Expected<Strategy> tessera::parseStrategy(StringRef text) {
  Strategy strategy;
  if (text.empty() || text == "none")
    return strategy;
  llvm::SmallVector<StringRef> parts, seen;
  text.split(parts, ',');
  for (StringRef part : parts) {
    StringRef name =
        part.take_until([](char c) { return c == '=' || c == '@'; });
    if (llvm::is_contained(seen, name))
      return createStringError("expects each item of a strategy once but got " +
                               quoted(name) + " twice");
    seen.push_back(name);
    if (part == "pp")
      strategy.pp = true;
    else if (part == "auto")
      strategy.isSearched = true;
    else if (part == "sp")
      strategy.sp = true;
    else if (part == "etp")
      strategy.etp = true;
    else if (name == "ep") {
      if (Error error = parseExperts(part.drop_front(2), strategy))
        return std::move(error);
    } else if (name == "zero" && part.size() == 6 && part[5] >= '0' &&
               part[5] <= '3')
      strategy.zero = part[5] - '0';
    else {
      Expected<bool> isRole = parseRole(part, strategy);
      if (!isRole)
        return isRole.takeError();
      if (!*isRole)
        return createStringError(
            "expects pp, dp, cp, tp, sp, ep=N, etp, zero=0 to zero=3 or auto "
            "in a strategy but got " +
            quoted(part));
    }
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
  auto at = [](const AxisNames &axes, StringRef role) {
    return role.str() +
           (axes == AxisNames{role.str()} ? "" : "@" + llvm::join(axes, "+"));
  };
  add(strategy.dp, at(strategy.dpAxes, "dp"));
  bool isAuto = strategy.context == ContextMethod();
  add(strategy.cp, at(strategy.cpAxes, "cp") +
                       (isAuto ? "" : "=" + strategy.context.getName()));
  add(strategy.tp, at(strategy.tpAxes, "tp"));
  add(strategy.sp, "sp");
  add(strategy.ep > 1, "ep=" + std::to_string(strategy.ep));
  add(strategy.etp, "etp");
  add(strategy.zero > 0, "zero=" + std::to_string(strategy.zero));
  add(strategy.isSearched, "auto");
  return text.empty() ? "none" : text;
}

AxisList tessera::getAxes(llvm::ArrayRef<std::string> names, const Mesh &mesh) {
  AxisList axes;
  for (const std::string &name : names)
    if (std::optional<unsigned> axis = mesh.find(name);
        axis && mesh.sizes[*axis] > 1)
      axes.push_back(mesh.fullAxis(*axis));
  return axes;
}

std::optional<AxisList> tessera::getExpertAxes(const Strategy &strategy,
                                               const Mesh &mesh) {
  const std::pair<bool, const AxisNames &> roles[] = {
      {strategy.dp, strategy.dpAxes},
      {strategy.cp, strategy.cpAxes},
      {strategy.tp && !strategy.etp, strategy.tpAxes}};
  AxisNames names;
  for (const std::string &name : mesh.names)
    for (const auto &[isUsed, axes] : roles)
      if (isUsed && llvm::is_contained(axes, name))
        names.push_back(name);
  AxisList axes = getAxes(names, mesh);
  int64_t devices = numShards(axes);
  if (devices % strategy.ep != 0)
    return std::nullopt;
  auto parts = splitAt(axes, devices / strategy.ep);
  if (!parts)
    return std::nullopt;
  return parts->second;
}

/// Checks that experts fit the axes of a strategy.
static Error checkExperts(const Strategy &strategy, const Mesh &mesh) {
  if (strategy.etp && (!strategy.tp || strategy.ep == 1))
    return createStringError("strategy 'etp' expects 'tp' and 'ep=N' too but "
                             "got " +
                             quoted(print(strategy)));
  if (getExpertAxes(strategy, mesh))
    return Error::success();
  return createStringError("strategy 'ep=" + std::to_string(strategy.ep) +
                           "' expects a number of innermost devices of " +
                           (strategy.etp ? "dp and cp" : "dp, cp and tp") +
                           " but got mesh " + quoted(print(mesh)));
}

/// Finds the axes that each role uses; fails if one is missing or used twice.
static Error findUsedAxes(const Strategy &strategy, const Mesh &mesh,
                          llvm::SmallVectorImpl<StringRef> &used) {
  const AxisNames ofStages{"pp"};
  const std::tuple<std::string, bool, const AxisNames &> needs[] = {
      {"pp", strategy.pp, ofStages},
      {"dp", strategy.dp, strategy.dpAxes},
      {"cp", strategy.cp, strategy.cpAxes},
      {"tp", strategy.tp, strategy.tpAxes},
      {"sp", strategy.sp && !strategy.tp, strategy.tpAxes}};
  auto missesAxis = [&](StringRef part, StringRef axis) {
    return createStringError("strategy " + quoted(part) + " expects an axis " +
                             quoted(axis) + " but got mesh " +
                             quoted(print(mesh)));
  };
  for (const auto &[part, isUsed, axes] : needs)
    for (const std::string &axis : axes) {
      if (!isUsed)
        continue;
      if (!mesh.find(axis))
        return missesAxis(part, axis);
      if (llvm::is_contained(used, axis))
        return createStringError("expects a strategy that uses each axis once "
                                 "but got " +
                                 quoted(axis) + " twice in " +
                                 quoted(print(strategy)));
      used.push_back(axis);
    }
  if (strategy.dp || strategy.zero == 0)
    return Error::success();
  for (const std::string &axis : strategy.dpAxes)
    if (!mesh.find(axis)) {
      if (!strategy.cp)
        return missesAxis("zero=" + std::to_string(strategy.zero), axis);
    } else if (strategy.zero == 3 && !llvm::is_contained(used, axis)) {
      used.push_back(axis);
    }
  return Error::success();
}

Error tessera::checkStrategy(const Strategy &strategy, const Mesh &mesh) {
  if (strategy.isNone())
    return Error::success();
  llvm::SmallVector<StringRef> used;
  if (Error error = findUsedAxes(strategy, mesh, used))
    return error;
  for (size_t i = 0; i < mesh.names.size(); ++i)
    if (!strategy.isSearched && mesh.sizes[i] > 1 &&
        !llvm::is_contained(used, mesh.names[i]))
      return createStringError(
          "expects a strategy that uses every axis but got none for " +
          quoted(mesh.names[i]) + " of mesh " + quoted(print(mesh)));
  if (Error error = checkExperts(strategy, mesh))
    return error;
  if (strategy.cp && strategy.sp && !strategy.tp)
    return createStringError("strategy 'sp' beside 'cp' expects 'tp' too but "
                             "got " +
                             quoted(print(strategy)));
  int64_t shared = strategy.context.headDevices;
  if (strategy.cp && shared &&
      mesh.sizes[*mesh.find(strategy.cpAxes.front())] % shared != 0)
    return createStringError(
        "strategy " + quoted("cp=" + strategy.context.getName()) +
        " expects a divisor of axis " + quoted(strategy.cpAxes.front()) +
        " but got mesh " + quoted(print(mesh)));
  return Error::success();
}
