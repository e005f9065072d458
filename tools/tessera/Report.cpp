//===- Report.cpp - tessera report ----------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws what other commands and programs wrote. lib/Report reads and draws it.
//
//===----------------------------------------------------------------------===//

#include "PlanOptions.h"

#include "tessera/Cost/PlanReport.h"
#include "tessera/Report/CompareTables.h"
#include "tessera/Report/Page.h"
#include "tessera/Report/RunLog.h"
#include "tessera/Support/Json.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace tessera;
using llvm::StringRef;

namespace {

const OptionSpec kOptions[] = {
    {"--json", "", "write a document, not a page"},
    choice("auto|on|off|ascii",
           {"--picture", "WHEN",
            "on or ascii: print pictures of text, not a page"}),
    {"-o", "FILE", "write there (default: stdout)", /*isOutput=*/true},
};

const CommandSpec kCommand = {
    "report",
    "FILE... [options]",
    "Draws reports and logs as one page of figures.",
    "FILE is a report of --json, --dist-report F.json or --kernel-report "
    "F.json,\n"
    "or the log that a program writes with --log=jsonl. The page is one file "
    "that\n"
    "opens in a browser without a network. Two files of one kind are compared; "
    "of\n"
    "several files each is drawn.",
    kOptions,
    "  tessera report a.json -o a.html\n"
    "  tessera report a.json b.json -o difference.html\n"
    "  tessera report run.jsonl -o run.html"};

/// Reads a document, or a log as one.
llvm::Expected<Document> readFile(StringRef path) {
  if (llvm::sys::fs::is_directory(path))
    return llvm::createStringError(path + ": expects a file but got a folder");
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer)
    return llvm::createStringError("cannot read " + path + ": " +
                                   buffer.getError().message());
  StringRef text = (*buffer)->getBuffer();
  // The first line of a log is an event.
  auto [first, rest] = text.ltrim().split('\n');
  auto value = parseJson(first);
  bool isLog =
      value && value->getAsObject() && value->getAsObject()->get("event");
  llvm::consumeError(value.takeError());
  if (!isLog)
    return parseDocument(text, path);
  auto section = readRunLog(text, path);
  if (!section)
    return section.takeError();
  Document document;
  document.title = path.str();
  document.sections.push_back(std::move(*section));
  return document;
}

/// The kind of a document's first section.
StringRef kindOf(const Document &document) {
  return document.sections.empty() ? StringRef("nothing")
                                   : StringRef(document.sections.front().kind);
}

/// The sections of two documents of one kind: their comparison, then both.
llvm::Expected<std::vector<DocumentSection>> compareDocuments(const Document &a,
                                                              const Document &b,
                                                              StringRef nameA,
                                                              StringRef nameB) {
  if (kindOf(a) != kindOf(b))
    return llvm::createStringError(
        nameB + ": kind: expects a report of kind '" + kindOf(a) + "', as " +
        nameA + " is, but got '" + kindOf(b) + "'");
  std::vector<DocumentSection> sections;
  if (kindOf(a) == "plan") {
    auto section = cost::compare(a.fields, b.fields, nameA, nameB);
    if (!section)
      return section.takeError();
    sections.push_back(std::move(*section));
  } else if (kindOf(a) == "run") {
    sections.push_back(
        compareRuns(a.sections.front(), b.sections.front(), nameA, nameB));
  } else if (kindOf(a) == "collectives" || kindOf(a) == "kernels") {
    sections.push_back(
        compareTables(kindOf(a), a.sections, b.sections, nameA, nameB));
  }
  return sections;
}

/// Prints the pictures of all sections.
llvm::Error printAll(const ParsedOptions &parsed, const Document &document) {
  auto style = readPictureOption(parsed, parsed.get("-o"));
  if (!style)
    return style.takeError();
  return writeOutput(parsed.get("-o"), [&](llvm::raw_ostream &os) {
    for (const DocumentSection &section : document.sections) {
      for (const auto &[figure, text] : section.findings)
        if (figure == "verdict")
          os << plainText(text) << "\n";
      if (*style)
        printPictures(section, **style, os);
    }
  });
}

llvm::Error run(const ParsedOptions &parsed) {
  if (parsed.positional.empty())
    return llvm::createStringError(
        "expects a report or a log but got none; see tessera report --help");
  std::vector<Document> documents;
  for (StringRef path : parsed.positional) {
    auto document = readFile(path);
    if (!document)
      return document.takeError();
    documents.push_back(std::move(*document));
  }
  Document all;
  all.title = documents.front().title;
  all.command =
      documents.size() == 1 ? documents.front().command : parsed.commandLine;
  if (documents.size() == 2) {
    auto sections = compareDocuments(
        documents[0], documents[1], parsed.positional[0], parsed.positional[1]);
    if (!sections)
      return sections.takeError();
    all.sections = std::move(*sections);
  }
  for (Document &document : documents)
    for (DocumentSection &section : document.sections)
      all.sections.push_back(std::move(section));
  if (documents.size() == 1)
    all.fields = std::move(documents.front().fields);
  if (parsed.has("--json"))
    return writeOutput(parsed.get("-o"),
                       [&](llvm::raw_ostream &os) { all.print(os); });
  if (parsed.has("--picture"))
    return printAll(parsed, all);
  auto page = makePage(all);
  if (!page)
    return page.takeError();
  return writeOutput(parsed.get("-o"),
                     [&](llvm::raw_ostream &os) { os << *page; });
}

} // namespace

const CommandSpec &tessera::getReportSpec() { return kCommand; }

int tessera::runReport(Arguments arguments) {
  if (std::optional<int> status = showHelp(kCommand, arguments))
    return *status;
  llvm::Expected<ParsedOptions> parsed = parseOptions(kCommand, arguments);
  if (!parsed)
    return reportError(kCommand.name, parsed.takeError());
  if (llvm::Error error = run(*parsed))
    return reportError(kCommand.name, std::move(error));
  return 0;
}
