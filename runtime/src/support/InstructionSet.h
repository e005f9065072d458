//===- InstructionSet.h - The user's choice of inner loops ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TESSERA_RT_ISA in the environment chooses a less capable set than the
// processor's best (see kernels/CpuKernels.h), for tests: baseline, avx2,
// avx512 (without matrix units) or amx.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_INSTRUCTIONSET_H
#define TESSERA_RT_SRC_INSTRUCTIONSET_H

#include <string>

namespace tessera::rt {

/// Returns a message if TESSERA_RT_ISA names no set of this processor; else
/// nothing.
std::string checkIsa();

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_INSTRUCTIONSET_H
