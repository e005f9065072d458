//===- Scratch.cpp - Reused working memory --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Scratch.h.
//
//===----------------------------------------------------------------------===//

#include "Scratch.h"

#include <cstdio>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

using namespace tessera::rt;

ScratchBuffer::~ScratchBuffer() {
  if (memory)
    munmap(memory, capacity);
}

void *ScratchBuffer::get(size_t bytes) {
  if (bytes <= capacity)
    return memory;
  if (memory)
    munmap(memory, capacity);
  constexpr size_t granule = size_t(2) << 20;
  capacity = (bytes + bytes / 8 + granule - 1) / granule * granule;
  memory = mmap(nullptr, capacity, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    // The process cannot continue; the launcher reports its exit.
    if (std::new_handler handler = std::get_new_handler())
      handler();
    fprintf(stderr, "tessera: error: no memory for %zu bytes of scratch\n",
            capacity);
    _Exit(1);
  }
  madvise(memory, capacity, MADV_HUGEPAGE);
  return memory;
}
