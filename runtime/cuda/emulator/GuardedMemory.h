//===- GuardedMemory.h - Memory that is watched -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Allocations that end where a page begins that nothing may touch, and begin a
// little after such a page. An access beyond them faults at once, whatever code
// does it, and the emulator names kernel, block, thread and allocation.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_EMULATOR_GUARDEDMEMORY_H
#define TESSERA_RT_CUDA_EMULATOR_GUARDEDMEMORY_H

#include <cstddef>
#include <string>

namespace tessera::emu {

/// Memory of `bytes`, filled with 0xFF (as a float of any type: NaN). Its
/// address is a multiple of `alignment` (a power of two, up to a page), so it
/// ends up to alignment - 1 bytes before the page that is watched.
void *allocateGuarded(size_t bytes, size_t alignment = 16);

/// Gives it back. Returns what is wrong: the bytes between the end of the
/// allocation and the watched page were written. Empty when all is well.
std::string freeGuarded(void *memory);

/// "byte 40 of 36 bytes allocated" for an address in or near an allocation;
/// otherwise that it is in none.
std::string describeAddress(const void *address);

} // namespace tessera::emu

#endif // TESSERA_RT_CUDA_EMULATOR_GUARDEDMEMORY_H
