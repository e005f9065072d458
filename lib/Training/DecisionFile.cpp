//===- DecisionFile.cpp - The head of a decision file ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Training/DecisionFile.h"
#include "dialects/Dist/Dist.h"
#include "tessera/Support/Json.h"

using namespace mlir;
using namespace tessera;
using llvm::json::Object;

static constexpr int64_t kDecisionVersion = 2;
static constexpr llvm::StringLiteral kDecisionMagic = "decisions";

Object tessera::makeDecisionFile(const Strategy &strategy) {
  return Object{{"tessera", kDecisionMagic},
                {"version", kDecisionVersion},
                {"strategy", print(strategy)}};
}

bool tessera::isDecisionFile(const Object &file) {
  return file.getString("tessera") == StringRef(kDecisionMagic);
}

llvm::Error tessera::checkDecisionFile(const Object &file) {
  auto fail = [&](const llvm::Twine &expected, StringRef key) {
    const llvm::json::Value *value = file.get(key);
    std::string text;
    llvm::raw_string_ostream os(text);
    if (value)
      os << *value;
    return llvm::createStringError(expected + " but got " +
                                   (value ? text : "no \"" + key + "\""));
  };
  if (!isDecisionFile(file))
    return fail("expects a decision file, {\"tessera\": \"decisions\", ...},",
                "tessera");
  if (file.getInteger("version") != kDecisionVersion)
    return llvm::createStringError(
        "expects version " + llvm::Twine(kDecisionVersion) +
        " of decision files but got another: write it anew");
  return llvm::Error::success();
}

llvm::Expected<Object> tessera::readDecisionFile(StringRef text) {
  auto value = parseJson(text);
  if (!value)
    return value.takeError();
  Object none, *file = value->getAsObject();
  if (llvm::Error error = checkDecisionFile(file ? *file : none))
    return error;
  return std::move(*file);
}

llvm::Expected<Strategy> tessera::readDecidedStrategy(StringRef text) {
  auto file = readDecisionFile(text);
  if (!file)
    return file.takeError();
  std::optional<StringRef> strategy = file->getString("strategy");
  if (!strategy)
    return llvm::createStringError("expects a strategy in a decision file");
  return parseStrategy(*strategy);
}

FailureOr<bool> tessera::isSearched(ModuleOp module) {
  auto decisions =
      module->getAttrOfType<StringAttr>(dist::DistDialect::kDecisionsAttr);
  if (!decisions)
    return false;
  auto strategy = readDecidedStrategy(decisions.getValue());
  if (!strategy)
    return module.emitError("decisions: ")
           << llvm::toString(strategy.takeError());
  return strategy->isSearched;
}
