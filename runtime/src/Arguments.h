//===- Arguments.h - Filling arguments, gathering results -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What stands in the arenas before the first step and before each step, and
// what becomes of results.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_ARGUMENTS_H
#define TESSERA_RT_SRC_ARGUMENTS_H

#include "Context.h"
#include "Manifest.h"
#include "Options.h"
#include "Report.h"
#include "Tokens.h"

namespace tessera::rt {

/// Fills this rank's blocks of all arguments that stay: initialised parameters,
/// and whatever is in --inputs. Records a failure for an argument that has no
/// source at all.
Status fillArguments(tessera_rt_context *ctx, const Manifest &manifest,
                     const Options &options, const TokenSource &tokens);

/// Fills this rank's blocks of tokens and labels for a step.
Status fillTokens(tessera_rt_context *ctx, const Manifest &manifest,
                  const Options &options, const TokenSource &tokens,
                  int64_t step);

/// Compares every result with options.compare/NAME.npy. Runs on one rank.
Status compareResults(tessera_rt_context *ctx, const Manifest &manifest,
                      const Options &options,
                      std::vector<Comparison> &comparisons);

/// Writes this rank's share of the results (whole values, read from all arenas)
/// to options.saveOutputs.
Status writeResults(tessera_rt_context *ctx, const Manifest &manifest,
                    const Options &options);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_ARGUMENTS_H
