//===- Arguments.h - Filling arguments, gathering results -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fills the arenas before the first step and before each step, and reads the
// results.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_ARGUMENTS_H
#define TESSERA_RT_SRC_ARGUMENTS_H

#include "Manifest.h"
#include "Tokens.h"
#include "ranks/Context.h"
#include "run/Options.h"
#include "run/Report.h"

namespace tessera::rt {

/// Fills this rank's blocks of all arguments that persist between steps:
/// initialized parameters and everything in --weights and --inputs. Records a
/// failure for an argument that has no source.
Status fillArguments(tessera_rt_context *ctx, const Manifest &manifest,
                     const Options &options, const RunData &data);

/// The tokens and labels that have no file in --inputs.
std::vector<const Value *> dataArguments(const Manifest &manifest,
                                         const InputFolder &inputs);

/// Fills this rank's blocks of tokens and labels.
Status fillTokens(tessera_rt_context *ctx, const Manifest &manifest,
                  const InputFolder &inputs, const Batch &batch);

/// Sets all arguments of the role control that this rank has: no value is below
/// a limit of -infinity, and all finite ones are below +infinity.
Status setLimits(tessera_rt_context *ctx, const Manifest &manifest,
                 float limit);

/// Returns element `index` of an array, widened.
double readElement(int32_t dtype, bool isUnsigned, const uint8_t *data,
                   int64_t index);

/// Compares every result with options.compare/NAME.npy. Runs on one rank.
Status compareResults(tessera_rt_context *ctx, const Manifest &manifest,
                      const Options &options,
                      std::vector<Comparison> &comparisons);

/// Makes all ranks' blocks of these values readable on node 0.
Status fetchValues(tessera_rt_context *ctx,
                   const std::vector<const Value *> &values);

/// Assembles a value in its logical shape from all arenas, on node 0.
std::vector<uint8_t> assemble(tessera_rt_context *ctx, const Value &value);

/// Writes this rank's share of `values` (whole, read from all arenas) to
/// directory/NAME.npy.
Status writeValues(tessera_rt_context *ctx,
                   const std::vector<const Value *> &values,
                   const std::string &directory);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_ARGUMENTS_H
