//===- Executables.h - Programs as executables ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_EXECUTABLES_H
#define TESSERA_TEST_RANDOM_EXECUTABLES_H

#include "Trial.h"

namespace tessera::test {

/// False for a program that cannot be compiled to an executable: one with
/// scalar arguments or results.
bool mayBeExecutable(const Program &program);

/// Compiles a program with the `tessera` next to this tool for host or
/// cuda-emulated, runs it on the ranks of its mesh and judges its results.
/// Files are left in `folder`, which is created. A command that takes longer
/// than `seconds` is a hang. Commands use this process's alarm.
TrialResult runExecutable(const Program &program, uint64_t seed,
                          const std::string &target, const std::string &folder,
                          unsigned seconds, mlir::MLIRContext &context);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_EXECUTABLES_H
