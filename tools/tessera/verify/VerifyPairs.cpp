//===- VerifyPairs.cpp - Local functions and their references -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyPairs.h"

#include "dialects/Dist/Dist.h"
#include "tessera/Report/Table.h"
#include "tessera/Support/Spelling.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace tessera;
using llvm::StringRef;

llvm::Expected<std::vector<LocalPair>> tessera::findPairs(mlir::ModuleOp module,
                                                          StringRef path) {
  std::vector<LocalPair> pairs;
  for (auto local : module.getOps<mlir::func::FuncOp>()) {
    if (!local->hasAttr(dist::DistDialect::kLocalAttr))
      continue;
    auto name = local->getAttrOfType<mlir::FlatSymbolRefAttr>(
        dist::DistDialect::kReferenceAttr);
    auto reference =
        name ? module.lookupSymbol<mlir::func::FuncOp>(name.getValue())
             : nullptr;
    if (!reference || reference->hasAttr(dist::DistDialect::kLocalAttr))
      return llvm::createStringError(
          path + ": expects @" + local.getName() +
          " to name a global function of the file by dist.reference");
    pairs.push_back({local, reference});
  }
  if (pairs.empty())
    return llvm::createStringError(
        path + ": expects a function with dist.local and dist.reference");
  return pairs;
}

void tessera::printPairs(llvm::ArrayRef<FunctionVerdict> verdicts,
                         llvm::raw_ostream &os) {
  Table table(std::vector<Table::Column>{"function", "mesh", "data", "proof"});
  for (size_t column : {1, 2, 3})
    table.alignLeft(column);
  for (const FunctionVerdict &verdict : verdicts)
    table.addRow({verdict.name, verdict.mesh,
                  !verdict.isCompared   ? "not compared"
                  : verdict.report.ok() ? "equal"
                                        : "differs",
                  verdict.proof.str()});
  table.print(os);
  for (const FunctionVerdict &verdict : verdicts) {
    if (verdict.proof == "proven")
      continue;
    os << "@" << verdict.name << ": " << verdict.reason << "\n";
    if (!verdict.witness.empty())
      os << "  witness: " << verdict.witness << "\n";
  }
}

llvm::Expected<std::vector<std::string>>
tessera::compareAnswers(llvm::ArrayRef<FunctionVerdict> verdicts,
                        StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return llvm::createStringError(
        path + ": cannot be read: " + file.getError().message());
  llvm::StringMap<StringRef> expected;
  llvm::SmallVector<StringRef> lines, names;
  (*file)->getBuffer().split(lines, '\n');
  for (const FunctionVerdict &verdict : verdicts)
    names.push_back(verdict.name);
  for (auto [number, line] : llvm::enumerate(lines)) {
    line = line.trim();
    if (line.empty() || line.starts_with("#") ||
        (number == 0 && line.starts_with("function,")))
      continue;
    auto [name, answer] = line.split(',');
    auto fail = [&](const llvm::Twine &text) {
      return llvm::createStringError(path + ":" + llvm::Twine(number + 1) +
                                     ": " + text);
    };
    if (answer != "proven" && answer != "refuted" && answer != "not provable")
      return fail("expects NAME,proven, NAME,refuted or NAME,not provable but "
                  "got '" +
                  line + "'");
    if (!llvm::is_contained(names, name))
      return fail("expects a local function of the files but got '" + name +
                  "'" + didYouMean(name, names));
    if (!expected.insert({name, answer}).second)
      return fail("expects one row for '" + name + "' but got two");
  }
  std::vector<std::string> differences;
  for (const FunctionVerdict &verdict : verdicts) {
    auto row = expected.find(verdict.name);
    if (row == expected.end())
      return llvm::createStringError(path + ": expects a row for '" +
                                     verdict.name + "'");
    if (verdict.proof == "proven" && !verdict.report.ok())
      differences.push_back("@" + verdict.name +
                            ": is proven, but its results differ");
    if (row->second != verdict.proof)
      differences.push_back(llvm::formatv("@{0}: expects {1} but got {2}",
                                          verdict.name, row->second,
                                          verdict.proof));
  }
  return differences;
}
