//===- Agreement.h - What ranks must have in common -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that another launcher starts have command lines and files of their own.
// They compare whatever changes results before the first step.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_AGREEMENT_H
#define TESSERA_RT_SRC_AGREEMENT_H

#include "support/Support.h"

#include <string>
#include <vector>

namespace tessera::rt {

/// Something that all ranks must have in common.
struct Fact {
  /// "--seed", "the size of --data".
  std::string name;
  std::string value;
};

/// Compares facts with those of the other ranks: all call it, with the same
/// names in the same order. Rank 0 records the first difference as a failure
/// that names two ranks, the fact and both values.
Status agree(tessera_rt_context *ctx, const std::vector<Fact> &facts);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_AGREEMENT_H
