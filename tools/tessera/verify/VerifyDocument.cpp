//===- VerifyDocument.cpp - The report of a verification ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyDocument.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace tessera;
namespace json = llvm::json;

/// The text of a type.
static std::string print(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// A difference or bound, infinite where numbers and NaN meet.
static json::Value toJson(double difference) {
  return std::isfinite(difference) ? json::Value(difference)
                                   : json::Value("inf");
}

std::string FunctionVerdict::getTitle() const {
  std::string title = "@" + name + ": ";
  title += mesh.empty() ? "one rank"
                        : llvm::formatv("{0} ranks ({1})", ranks, mesh).str();
  if (seeds != 1)
    title += ", worst of " + std::to_string(seeds) + " sets of data";
  return title;
}

static DocumentSection makeSection(const FunctionVerdict &verdict) {
  Table outputs(std::vector<Table::Column>{"output", "type", "difference",
                                           "bound", "ok"});
  for (const interp::OutputComparison &output : verdict.report.outputs)
    outputs.addRow({output.name, print(output.type),
                    Table::Cell(interp::printDifference(output.difference),
                                output.difference),
                    Table::Cell(interp::printDifference(output.tolerance),
                                output.tolerance),
                    output.ok() ? "yes" : "NO"});
  Table collectives(std::vector<Table::Column>{
      "collective", {"count", "", 0}, {"bytes per rank", "B", 0}});
  for (auto &[name, entry] : verdict.report.statistics.collectives)
    collectives.addRow({name.str(), double(entry.count), double(entry.bytes)});
  return {"verify",
          verdict.getTitle(),
          {},
          {{"outputs", outputs}, {"collectives", collectives}}};
}

static json::Object toJson(const FunctionVerdict &verdict) {
  json::Array outputs, rules;
  for (const interp::OutputComparison &output : verdict.report.outputs)
    outputs.push_back(json::Object{{"name", output.name},
                                   {"type", print(output.type)},
                                   {"difference", toJson(output.difference)},
                                   {"bound", toJson(output.tolerance)},
                                   {"ok", output.ok()}});
  for (const std::string &rule : verdict.trustedRules)
    rules.push_back(rule);
  return json::Object{{"name", verdict.name},
                      {"ranks", verdict.ranks},
                      {"mesh", verdict.mesh},
                      {"seeds", verdict.seeds},
                      {"outputs", std::move(outputs)},
                      {"proof", verdict.proof},
                      {"witness", verdict.witness},
                      {"reason", verdict.reason},
                      {"trusted_rules", std::move(rules)},
                      {"compared", verdict.isCompared},
                      {"ok", verdict.ok()}};
}

Document tessera::makeVerifyDocument(llvm::ArrayRef<FunctionVerdict> verdicts,
                                     llvm::StringRef program,
                                     llvm::StringRef command) {
  Document document{program.str(), command.str(), {}, {}};
  json::Array functions;
  for (const FunctionVerdict &verdict : verdicts) {
    document.sections.push_back(makeSection(verdict));
    functions.push_back(toJson(verdict));
  }
  document.fields["functions"] = std::move(functions);
  document.fields["ok"] = llvm::all_of(
      verdicts, [](const FunctionVerdict &verdict) { return verdict.ok(); });
  return document;
}
