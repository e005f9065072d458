//===- Start.c - The entry of programs that no driver links ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of a program that glibc's crt1.o and libc_nonshared.a have, for a
// glibc that runs the initializers of programs itself (2.34 or newer).
//
//===----------------------------------------------------------------------===//

#include <stddef.h>

#if !defined(__x86_64__) || !defined(__linux__)
#error "expects Linux on x86-64"
#endif

int main(int argc, char **argv, char **environment);
int __libc_start_main(int (*)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void),
                      void (*loaderFini)(void), void *stackEnd);
int __cxa_atexit(void (*function)(void *), void *argument, void *object);
extern void *__dso_handle;

int atexit(void (*function)(void)) {
  return __cxa_atexit((void (*)(void *))(void *)function, NULL, __dso_handle);
}

/// Called with the stack that the system gives a process: the number of its
/// arguments, then the arguments.
__attribute__((used, noreturn)) static void start(long *stack,
                                                  void (*loaderFini)(void)) {
  __libc_start_main(main, (int)stack[0], (char **)(stack + 1), NULL, NULL,
                    loaderFini, stack);
  __builtin_trap();
}

// The loader leaves its function for the program's end in rdx. The stack has to
// be aligned at a call.
__asm__(".text\n"
        ".globl _start\n"
        ".type _start, @function\n"
        "_start:\n"
        "  xorl %ebp, %ebp\n"
        "  movq %rsp, %rdi\n"
        "  movq %rdx, %rsi\n"
        "  andq $-16, %rsp\n"
        "  call start\n"
        "  hlt\n"
        ".size _start, . - _start\n");
