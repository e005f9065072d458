//===- Agreement.h - Agreement of ranks before a run ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that another launcher starts have their own command lines and files.
// Before the first step they compare everything that changes results.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_AGREEMENT_H
#define TESSERA_RT_SRC_AGREEMENT_H

#include "support/Support.h"

#include <string>
#include <vector>

namespace tessera::rt {

/// A fact on which all ranks must agree.
struct Fact {
  /// "--seed", "the size of --data".
  std::string name;
  std::string value;
};

/// Compares the facts of all ranks: all call it, with the same names in the
/// same order. Rank 0 records the first difference as a failure that names two
/// ranks, the fact and both values.
Status agree(tessera_rt_context *ctx, const std::vector<Fact> &facts);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_AGREEMENT_H
