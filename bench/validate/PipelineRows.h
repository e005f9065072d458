//===- PipelineRows.h - Bubbles of profiled pipelines -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_BENCH_VALIDATE_PIPELINEROWS_H
#define TESSERA_BENCH_VALIDATE_PIPELINEROWS_H

#include "Csv.h"
#include "Scores.h"
#include <map>

namespace tessera::validate {

/// Maps rows to the measured idle share of a pipeline and the share of the
/// simulated schedule with the profiled times of its stages (forward, input
/// gradient, weight gradient, transfer). A row of times has itself as its
/// sample. No constant of a device is involved.
std::map<size_t, Sample> scoreBubbles(const Table &table);

} // namespace tessera::validate

#endif // TESSERA_BENCH_VALIDATE_PIPELINEROWS_H
