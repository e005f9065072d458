//===- OlderLibc.c - Functions that glibc 2.34 lacks ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked into portable tools, for what LLVM's archives call.
//
//===----------------------------------------------------------------------===//

#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

/// Random bits of the system; glibc has it from 2.36 on.
uint32_t arc4random(void) {
  uint32_t bits;
  if (getrandom(&bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
    abort();
  return bits;
}

// From 2.35 on glibc has another hypot, which sets no errno.
__asm__(".symver olderHypot, hypot@GLIBC_2.2.5");
double olderHypot(double x, double y);

double __wrap_hypot(double x, double y) { return olderHypot(x, y); }
