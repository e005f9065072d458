//===- Shardings.h - Draws a mesh and annotations ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_SHARDINGS_H
#define TESSERA_TEST_RANDOM_SHARDINGS_H

#include "Program.h"
#include "Random.h"

namespace tessera::test {

/// Gives a program a mesh, and shardings to some of its arguments, results and
/// ops: open and closed, uneven, with sub-axes, priorities and `replicated`
/// axes. With `anyParts` axes are split at any factor, else at 2.
void drawShardings(Random &random, Program &program, bool anyParts);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_SHARDINGS_H
