//===- Fiber.h - Threads on their own stacks --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fibers run the threads of a block in the emulator: hundreds of flows of
// control on one thread of the operating system, which switch only at explicit
// calls. For x86-64 and AArch64.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_EMULATOR_FIBER_H
#define TESSERA_RT_CUDA_EMULATOR_FIBER_H

#include <cstddef>

namespace tessera::emu {

/// A suspended flow of control: its stack pointer.
using FiberState = void *;

/// Suspends the running flow into `from` and continues `to`.
void switchFiber(FiberState *from, FiberState to);

/// A stack with a guard page before it.
class FiberStack {
public:
  FiberStack();
  ~FiberStack();
  FiberStack(FiberStack &&other) : base(other.base) { other.base = nullptr; }
  FiberStack(const FiberStack &) = delete;
  FiberStack &operator=(const FiberStack &) = delete;

  /// Returns a flow that calls `entry` when it is first continued; `entry` must
  /// not return. A previous flow on the stack is discarded.
  FiberState start(void (*entry)()) const;

  /// True if the address is in the page before the stack.
  bool overflowsAt(const void *address) const;

private:
  char *base;
};

} // namespace tessera::emu

#endif // TESSERA_RT_CUDA_EMULATOR_FIBER_H
