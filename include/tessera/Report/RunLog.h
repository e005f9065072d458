//===- RunLog.h - The log of a run as tables --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program writes its log with --log=jsonl as an object a line. Steps and
// evaluations become tables; other events are left out.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_RUNLOG_H
#define TESSERA_REPORT_RUNLOG_H

#include "tessera/Report/Document.h"

namespace tessera {

/// The section "run" of a log. A last line that is incomplete, as of a run that
/// died, is left out, and so are steps that were undone. The error is one line:
/// the file, the line, the key, what is expected there and what there is.
llvm::Expected<DocumentSection> readRunLog(llvm::StringRef text,
                                           llvm::StringRef file);

/// The section "compare-runs" of two sections "run": a table for each number
/// that both have, with the values of both by step.
DocumentSection compareRuns(const DocumentSection &a, const DocumentSection &b,
                            llvm::StringRef nameA, llvm::StringRef nameB);

} // namespace tessera

#endif // TESSERA_REPORT_RUNLOG_H
