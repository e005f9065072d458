//===- Fiber.h - Flows of control on stacks of their own --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the emulator runs the threads of a block on: hundreds of flows of
// control on one thread of the operating system, which switch only where they
// say so. x86-64 and AArch64.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_EMULATOR_FIBER_H
#define TESSERA_RT_CUDA_EMULATOR_FIBER_H

#include <cstddef>

namespace tessera::emu {

/// A suspended flow of control: its stack pointer.
using FiberState = void *;

/// Suspends the running flow into `from` and goes on with `to`.
void switchFiber(FiberState *from, FiberState to);

/// A stack with a page before it that nothing may touch.
class FiberStack {
public:
  FiberStack();
  ~FiberStack();
  FiberStack(FiberStack &&other) : base(other.base) { other.base = nullptr; }
  FiberStack(const FiberStack &) = delete;
  FiberStack &operator=(const FiberStack &) = delete;

  /// A flow that calls `entry` when it is first gone on with; `entry` must not
  /// return. What ran on the stack before is forgotten.
  FiberState start(void (*entry)()) const;

  /// Whether the address is in the page before the stack.
  bool overflowsAt(const void *address) const;

private:
  char *base;
};

} // namespace tessera::emu

#endif // TESSERA_RT_CUDA_EMULATOR_FIBER_H
