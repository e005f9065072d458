//===- Frameworks.h - What frameworks fix where rows are silent -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts of training frameworks that decide time or memory and that a table of
// measurements does not repeat in each row. They go by the framework's name,
// never by a row; docs/cost.md lists them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_BENCH_VALIDATE_FRAMEWORKS_H
#define TESSERA_BENCH_VALIDATE_FRAMEWORKS_H

#include "PlanRow.h"

namespace tessera::validate {

/// Sets what a framework's models have in common; the config's sizes are read,
/// but for the vocabulary.
void applyFrameworkModel(const RowFields &f, ModelConfig &config);

/// Sets how the framework runs the row's model and plan, and what it
/// measures.
void applyFrameworkLayout(const RowFields &f, PlanRow &row);

} // namespace tessera::validate

#endif // TESSERA_BENCH_VALIDATE_FRAMEWORKS_H
