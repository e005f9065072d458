//===- CompareTables.h - Differences of two tables --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_COMPARETABLES_H
#define TESSERA_REPORT_COMPARETABLES_H

#include "tessera/Report/Document.h"

namespace tessera {

/// The section "compare-tables" of the tables of a name in two documents: for
/// each column of numbers a table with the values of both and the difference,
/// the largest first. A row is known by its texts, and by the title of its
/// section if a document has several; a row that one document lacks is 0 there.
/// Rows and columns without a difference are left out.
DocumentSection compareTables(llvm::StringRef table,
                              llvm::ArrayRef<DocumentSection> a,
                              llvm::ArrayRef<DocumentSection> b,
                              llvm::StringRef nameA, llvm::StringRef nameB);

} // namespace tessera

#endif // TESSERA_REPORT_COMPARETABLES_H
