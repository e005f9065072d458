//===- Reduce.h - Makes a program smaller -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_REDUCE_H
#define TESSERA_TEST_RANDOM_REDUCE_H

#include "Program.h"

namespace tessera::test {

/// Returns a smaller program for which `isWanted` still holds, as it does for
/// `program`: without results, ops (their values become arguments) and
/// annotations that do not matter.
Program reduce(Program program,
               const std::function<bool(const Program &)> &isWanted);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_REDUCE_H
