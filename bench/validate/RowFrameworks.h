//===- RowFrameworks.h - What frameworks fix where rows are silent -*- C++
//-*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which preset a table's framework is, and facts of the runs that it was
// published with which are no settings of a plan. They go by the framework's
// name, never by a row; docs/scores.md lists them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_BENCH_VALIDATE_ROWFRAMEWORKS_H
#define TESSERA_BENCH_VALIDATE_ROWFRAMEWORKS_H

#include "PlanRow.h"

namespace tessera::validate {

/// Sets the common properties of a framework's models; the config has sizes but
/// no vocabulary yet.
void applyFrameworkModel(const RowFields &f, ModelConfig &config);

/// Sets how the framework runs the row's model and plan, and what it measures.
/// `own` has the fields that the row itself gives.
void applyFrameworkLayout(const RowFields &f,
                          const cost::GivenExecutedPlan &own, PlanRow &row);

} // namespace tessera::validate

#endif // TESSERA_BENCH_VALIDATE_ROWFRAMEWORKS_H
