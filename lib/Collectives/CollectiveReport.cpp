//===- CollectiveReport.cpp - Reports the communication of a local program ===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Collectives/CollectiveReport.h"
#include "OverlapBuilder.h"
#include "tessera/Collectives/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <map>

namespace tessera {
#define GEN_PASS_DEF_REPORTCOLLECTIVESPASS
#include "tessera/Collectives/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Collectives of a function
//===----------------------------------------------------------------------===//

std::vector<CollectiveUse>
tessera::getExposedCollectives(FunctionOpInterface func) {
  std::vector<CollectiveUse> uses = getCollectives(func);
  llvm::DenseMap<Operation *, double> exposed = getExposedShares(func);
  for (CollectiveUse &use : uses)
    if (auto it = exposed.find(use.op->getParentOp()); it != exposed.end())
      use.exposed = it->second;
  return uses;
}

std::vector<CollectiveRow> tessera::summarize(ArrayRef<CollectiveUse> uses) {
  // Rows are sorted by kind and first use, so the order does not depend on the
  // names of axes.
  llvm::MapVector<StringRef, size_t> firstUse;
  for (const CollectiveUse &use : uses)
    firstUse.insert({use.axes, firstUse.size()});
  std::map<std::pair<int, size_t>, CollectiveRow> rows;
  for (const CollectiveUse &use : uses) {
    CollectiveRow &row =
        rows[{static_cast<int>(use.kind), firstUse.lookup(use.axes)}];
    row.name = stringifyCollective(use.kind);
    row.axes = use.axes;
    row.count += use.count;
    row.bytes += use.count * use.bytes;
    row.exposedBytes +=
        std::llround(static_cast<double>(use.count * use.bytes) * use.exposed);
    row.time += static_cast<double>(use.count) * use.time;
  }
  std::vector<CollectiveRow> out;
  for (auto &entry : rows)
    out.push_back(std::move(entry.second));
  return out;
}

static CollectiveRow getTotal(ArrayRef<CollectiveRow> rows) {
  CollectiveRow total{};
  for (const CollectiveRow &row : rows) {
    total.count += row.count;
    total.bytes += row.bytes;
    total.exposedBytes += std::max<int64_t>(row.exposedBytes, 0);
    total.time += row.time;
  }
  return total;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

void tessera::printCollectives(raw_ostream &os, StringRef function,
                               ArrayRef<CollectiveRow> rows,
                               const AttentionPairs &pairs) {
  os << '@' << function << ": what a device receives in one call\n";
  os << llvm::formatv("  {0,-16} {1,-20} {2,7} {3,16} {4,16} {5,12}\n",
                      "collective", "axes", "count", "bytes", "exposed bytes",
                      "us");
  auto print = [&](StringRef name, const CollectiveRow &row) {
    std::string exposed = row.exposedBytes == CollectiveRow::kUnknown
                              ? "-"
                              : std::to_string(row.exposedBytes);
    os << llvm::formatv("  {0,-16} {1,-20} {2,7} {3,16} {4,16} {5,12:F2}\n",
                        name, row.axes, row.count, row.bytes, exposed,
                        row.time * 1e6);
  };
  for (const CollectiveRow &row : rows)
    print(row.name, row);
  print("total", getTotal(rows));
  if (pairs)
    os << llvm::formatv("  attention: {0} to {1} pairs of query and key on a "
                        "device, of a sequence and a head\n",
                        pairs->first, pairs->second);
}

static llvm::json::Object toObject(const CollectiveRow &row) {
  llvm::json::Object object{{"count", row.count}, {"bytes", row.bytes}};
  if (row.exposedBytes != CollectiveRow::kUnknown)
    object["exposed_bytes"] = row.exposedBytes;
  object["seconds"] = row.time;
  return object;
}

llvm::json::Value tessera::toJson(StringRef function,
                                  ArrayRef<CollectiveRow> rows,
                                  const AttentionPairs &pairs) {
  llvm::json::Array list;
  for (const CollectiveRow &row : rows) {
    llvm::json::Object entry = toObject(row);
    entry["kind"] = row.name;
    entry["axes"] = row.axes;
    list.push_back(std::move(entry));
  }
  llvm::json::Object report{{"function", function},
                            {"collectives", std::move(list)},
                            {"total", toObject(getTotal(rows))}};
  if (pairs)
    report["attention_pairs"] = llvm::json::Array{pairs->first, pairs->second};
  return report;
}

/// The bytes of each row that are exposed and hidden, for a figure. Bytes of
/// which that is not known have a column of their own if there are any.
static Table shareTable(ArrayRef<CollectiveRow> rows) {
  auto isKnown = [](const CollectiveRow &row) {
    return row.exposedBytes != CollectiveRow::kUnknown;
  };
  bool areKnown = llvm::all_of(rows, isKnown);
  std::vector<Table::Column> columns{
      "collective", {"exposed", "bytes", 0}, {"hidden", "bytes", 0}};
  if (!areKnown)
    columns.emplace_back("exposed or hidden", "bytes", 0);
  columns.emplace_back("total", "bytes", 0);
  Table table(std::move(columns));
  for (const CollectiveRow &row : rows) {
    int64_t exposed = isKnown(row) ? row.exposedBytes : 0;
    int64_t hidden = isKnown(row) ? row.bytes - row.exposedBytes : 0;
    std::vector<Table::Cell> cells{row.name + " " + row.axes, exposed, hidden};
    if (!areKnown)
      cells.emplace_back(row.bytes - exposed - hidden);
    cells.emplace_back(row.bytes);
    table.addRow(std::move(cells));
  }
  return table;
}

DocumentSection tessera::makeCollectiveSection(StringRef function,
                                               ArrayRef<CollectiveRow> rows,
                                               const AttentionPairs &pairs) {
  CollectiveRow total = getTotal(rows);
  DocumentSection section;
  section.kind = "collectives";
  section.title = ("@" + function).str();
  section.findings.emplace_back(
      "verdict",
      llvm::formatv("In one call of @{0} a device receives {1} bytes in {2:F2} "
                    "us of collectives",
                    function, groupedText(double(total.bytes)),
                    total.time * 1e6));
  Table table({"collective",
               "axes",
               {"count", "", 0},
               {"bytes", "bytes", 0},
               {"exposed bytes", "bytes", 0},
               {"us", "us", 2}});
  table.alignLeft(1);
  for (const CollectiveRow &row : rows)
    table.addRow({row.name, row.axes, row.count, row.bytes,
                  row.exposedBytes == CollectiveRow::kUnknown
                      ? Table::Cell("-")
                      : Table::Cell(row.exposedBytes),
                  row.time * 1e6});
  section.tables.emplace_back("collectives", std::move(table));
  section.tables.emplace_back("received", shareTable(rows));
  if (pairs) {
    Table attention({{"fewest pairs of a device", "", 0},
                     {"most pairs of a device", "", 0}});
    attention.addRow({pairs->first, pairs->second});
    section.tables.emplace_back("attention", std::move(attention));
  }
  return section;
}

/// Prints the document of all functions. A single one has its fields beside the
/// sections; of several, each has an object with them.
static void printDocument(Document document, llvm::json::Array functions,
                          llvm::raw_ostream &os) {
  document.title = "collectives";
  if (functions.size() == 1)
    document.fields = std::move(*functions.front().getAsObject());
  else
    document.fields["functions"] = std::move(functions);
  document.print(os);
}

LogicalResult tessera::reportCollectives(ModuleOp module, StringRef path,
                                         StringRef command) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error, llvm::sys::fs::OF_Text);
  if (error)
    return module.emitError("report: cannot write '")
           << path << "': " << error.message();
  bool isJson = path.ends_with(".json");
  Document document;
  document.command = command.str();
  llvm::json::Array functions;
  for (auto func : module.getOps<FunctionOpInterface>()) {
    if (!func->hasAttr(dist::DistDialect::kLocalAttr) || func.isExternal())
      continue;
    std::vector<CollectiveRow> rows = summarize(getExposedCollectives(func));
    llvm::append_range(rows, getPipelineTransfers(func));
    AttentionPairs pairs;
    if (auto attr = func->getAttrOfType<DenseI64ArrayAttr>(
            dist::DistDialect::kPairsAttr))
      pairs = {attr[0], attr[1]};
    if (!isJson) {
      printCollectives(os, func.getName(), rows, pairs);
      continue;
    }
    functions.push_back(toJson(func.getName(), rows, pairs));
    document.sections.push_back(
        makeCollectiveSection(func.getName(), rows, pairs));
  }
  if (isJson)
    printDocument(std::move(document), std::move(functions), os);
  return success();
}

namespace {
struct ReportCollectivesPass
    : tessera::impl::ReportCollectivesPassBase<ReportCollectivesPass> {
  using ReportCollectivesPassBase::ReportCollectivesPassBase;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(reportCollectives(getOperation(), output, command)))
      signalPassFailure();
  }
};
} // namespace
