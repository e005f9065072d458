//===- ReduceProgram.h - A smaller program with the same fault --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_REDUCEPROGRAM_H
#define TESSERA_TOOLS_REDUCEPROGRAM_H

namespace tessera {

/// Registers `--reduce-program`, which replaces results of ops by zeros and
/// drops results, arguments and functions while a test finds the program
/// interesting.
void registerReduceProgramPass();

} // namespace tessera

#endif // TESSERA_TOOLS_REDUCEPROGRAM_H
