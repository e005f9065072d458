//===- Fiber.cpp - Switching between stacks -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A switch saves only the registers that a called function must preserve. It
// needs no system call, unlike swapcontext.
//
//===----------------------------------------------------------------------===//

#include "Fiber.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

extern "C" void tessera_emu_switch(void **from, void *to);

#if defined(__x86_64__)
// The stack, from its top: r15 r14 r13 r12 rbx rbp, return address.
asm(R"(
.text
.globl tessera_emu_switch
.type tessera_emu_switch, @function
tessera_emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tessera_emu_switch, .-tessera_emu_switch
)");
static constexpr int savedWords = 7, returnWord = 6;
#elif defined(__aarch64__)
// The stack, from its top: x19 .. x28, x29, x30 (the return address), d8 ..
// d15.
asm(R"(
.text
.globl tessera_emu_switch
.type tessera_emu_switch, %function
tessera_emu_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size tessera_emu_switch, .-tessera_emu_switch
)");
static constexpr int savedWords = 20, returnWord = 11;
#else
#error "the emulator knows x86-64 and AArch64"
#endif

using namespace tessera::emu;

static constexpr size_t guardBytes = 64 << 10;
static constexpr size_t stackBytes = 128 << 10;

void tessera::emu::switchFiber(FiberState *from, FiberState to) {
  tessera_emu_switch(from, to);
}

FiberStack::FiberStack() {
  void *memory = mmap(nullptr, guardBytes + stackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, guardBytes, PROT_NONE) != 0) {
    perror("emulator: a stack");
    abort();
  }
  base = static_cast<char *>(memory);
}

FiberStack::~FiberStack() {
  if (base)
    munmap(base, guardBytes + stackBytes);
}

FiberState FiberStack::start(void (*entry)()) const {
  auto *top = reinterpret_cast<uintptr_t *>(base + guardBytes + stackBytes);
  // At an entry, the stack pointer is 8 bytes off a multiple of 16 on x86-64,
  // where a call has pushed the return address, and at a multiple on AArch64.
  uintptr_t *words = top - savedWords - (savedWords % 2 ? 1 : 0);
  for (int i = 0; i < savedWords; ++i)
    words[i] = 0;
  words[returnWord] = reinterpret_cast<uintptr_t>(entry);
  return words;
}

bool FiberStack::overflowsAt(const void *address) const {
  auto *byte = static_cast<const char *>(address);
  return byte >= base && byte < base + guardBytes;
}
