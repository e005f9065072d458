//===- Document.h - Reports as versioned JSON -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A document is the report of a command, for programs and for pages: sections,
// each with findings and named tables. It is a JSON object, which also has the
// fields that the command writes for programs. share/report/schema.json is its
// schema, docs/file-formats.md describes it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_DOCUMENT_H
#define TESSERA_REPORT_DOCUMENT_H

#include "tessera/Report/Table.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <utility>

namespace tessera {

/// The version that this reader knows. A document with a higher one is refused.
inline constexpr int kDocumentVersion = 1;

/// Columns of tables with more rows are packed: integers for numbers whose text
/// comes back from them.
inline constexpr size_t kMaxPlainRows = 2000;

/// Tables about one subject.
struct DocumentSection {
  /// The drawing that a page makes of it: "plan", "search", "run", ...; a page
  /// shows the tables of a kind that it does not know.
  std::string kind;
  std::string title;
  /// Sentences that follow from the tables, each the heading of a figure (the
  /// first text is its name).
  std::vector<std::pair<std::string, std::string>> findings;
  /// Tables with columns, and their names.
  std::vector<std::pair<std::string, Table>> tables;

  /// The table of a name; null if there is none.
  const Table *find(llvm::StringRef name) const;
};

/// A report of a command.
struct Document {
  std::string title;
  /// The command line that made it.
  std::string command;
  std::vector<DocumentSection> sections;
  /// Further members of the object, for programs.
  llvm::json::Object fields;

  /// The whole object. Texts that are not UTF-8 are repaired.
  llvm::json::Object toJson() const;
  /// Prints the object with a line for each column of a table.
  void print(llvm::raw_ostream &os) const;
};

/// Removes what makes an object a document; the other members stay.
void eraseDocument(llvm::json::Object &object);

/// Reads a document. The error is one line: the file, the key, what is expected
/// there and what there is.
llvm::Expected<Document> parseDocument(llvm::StringRef text,
                                       llvm::StringRef file);

} // namespace tessera

#endif // TESSERA_REPORT_DOCUMENT_H
