//===- MemoryUsage.h - Memory that a process really has ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the system says of a rank's memory, and a limit on it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_MEMORYUSAGE_H
#define TESSERA_RT_SRC_MEMORYUSAGE_H

#include "data/Manifest.h"
#include "ranks/Context.h"

namespace tessera::rt {

/// Bytes of private pages in memory: heap, stacks and the like.
int64_t privateResidentBytes();

/// Bytes of the shared mapping [base, base + bytes) that are in memory, whoever
/// touched them. `base` is the start of a page.
int64_t sharedResidentBytes(uint8_t *base, int64_t bytes);

/// Looks at this rank's memory and leaves it in `use`. Pages of the arena stay
/// once they are touched, so `withArena` is for the first steps.
void measureMemory(tessera_rt_context *ctx, MemoryUse &use,
                   const Manifest &manifest, bool withArena);

/// Lets this process have `limit` bytes: the arena of the plan, all of it, and
/// the rest for private memory, of which the system refuses more. A refusal is
/// recorded as a failure of the job and ends the process. Returns a message, or
/// nothing.
std::string limitMemory(tessera_rt_context *ctx, const Manifest &manifest,
                        int64_t limit);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_MEMORYUSAGE_H
