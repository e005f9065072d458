//===- GuardedMemory.h - Memory between guard pages -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Allocations that end at a guard page without access, and begin shortly after
// such a page. An access beyond them faults at once, whichever code does it,
// and the emulator names kernel, block, thread and allocation.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_EMULATOR_GUARDEDMEMORY_H
#define TESSERA_RT_CUDA_EMULATOR_GUARDEDMEMORY_H

#include <cstddef>
#include <string>

namespace tessera::emu {

/// Allocates `bytes` filled with 0xFF (NaN in any float type). The address is a
/// multiple of `alignment` (a power of two, up to a page), so the memory ends
/// up to alignment - 1 bytes before the guard page.
void *allocateGuarded(size_t bytes, size_t alignment = 16);

/// Frees the memory. Returns an error if the bytes between the end of the
/// allocation and the guard page were written, otherwise an empty text.
std::string freeGuarded(void *memory);

/// Describes an address in or near an allocation ("byte 40 of 36 bytes
/// allocated"), or says that it is in none.
std::string describeAddress(const void *address);

} // namespace tessera::emu

#endif // TESSERA_RT_CUDA_EMULATOR_GUARDEDMEMORY_H
