//===- WhoseCrash.h - Crashes of MLIR's reader and others -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Distinguishes crashes of MLIR's own parser: no function of this program is
// between the parser and the crash.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_HOSTILE_WHOSECRASH_H
#define TESSERA_TEST_HOSTILE_WHOSECRASH_H

namespace tessera::hostile {

/// The progress of a child process, in memory that the parent sees.
enum Stage : int { Parsing, Running, Done, InReader };

/// Installs handlers for crashes of this process, also for a full stack. A
/// crash of MLIR's parser while `*stage` is Parsing sets it to InReader and
/// calls the previous handler, if there is one. Any other crash ends the
/// process.
void watchCrashes(volatile int *stage);

} // namespace tessera::hostile

#endif // TESSERA_TEST_HOSTILE_WHOSECRASH_H
