//===- Trace.h - The last step as a Chrome trace ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the actions of each rank's list as JSON in the trace event format,
// which chrome://tracing and Perfetto show. Each pp rank is a process, with a
// thread for each of its ranks. Tasks, sends and waits are slices, and an arrow
// leads from each send to the task that waited for it. Times are microseconds
// since the first entry.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_TRACE_H
#define TESSERA_RT_SRC_TRACE_H

#include "PipelineReport.h"

#include <cstdio>

namespace tessera::rt {

class TraceFile {
public:
  ~TraceFile();
  /// Creates the file. Returns a message, or nothing.
  std::string open(const std::string &path);
  /// Fills and closes it. Returns a message, or nothing.
  std::string write(const Stamps &stamps, const StridedAxis &stageAxis);

private:
  std::string path;
  FILE *file = nullptr;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_TRACE_H
