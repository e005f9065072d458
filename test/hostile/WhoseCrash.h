//===- WhoseCrash.h - Crashes of MLIR's reader and others -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A crash of MLIR's own reader is one with no function of this program between
// it and the crash.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_HOSTILE_WHOSECRASH_H
#define TESSERA_TEST_HOSTILE_WHOSECRASH_H

namespace tessera::hostile {

/// How far a child got; in memory that the parent sees.
enum Stage : int { Parsing, Running, Done, InReader };

/// Lets crashes of this process be told apart, also where the stack is full:
/// one of MLIR's reader while `*stage` is Parsing makes it InReader, and goes
/// on to the handler of before, if there is one. The process ends by any other.
void watchCrashes(volatile int *stage);

} // namespace tessera::hostile

#endif // TESSERA_TEST_HOSTILE_WHOSECRASH_H
