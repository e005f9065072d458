//===- MemoryUsage.h - Resident memory of a process -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The system's view of a rank's memory, and a limit on it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_MEMORYUSAGE_H
#define TESSERA_RT_SRC_MEMORYUSAGE_H

#include "data/Manifest.h"
#include "ranks/Context.h"

namespace tessera::rt {

/// Resident bytes of private pages: heap, stacks and the like.
int64_t privateResidentBytes();

/// Resident bytes of the shared mapping [base, base + bytes), whichever process
/// touched them. `base` is the start of a page.
int64_t sharedResidentBytes(uint8_t *base, int64_t bytes);

/// Measures this rank's memory into `use`. Pages of the arena stay resident
/// once touched, so `withArena` is needed for the first steps only.
void measureMemory(tessera_rt_context *ctx, MemoryUse &use,
                   const Manifest &manifest, bool withArena);

/// Limits this process to `limit` bytes: the whole arena of the plan, and the
/// rest for private memory. If the system refuses more private memory, that is
/// recorded as a failure of the job and ends the process. Returns a message, or
/// nothing.
std::string limitMemory(tessera_rt_context *ctx, const Manifest &manifest,
                        int64_t limit);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_MEMORYUSAGE_H
