//===- Interrupts.h - Cleanup on signals ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of cleanUpOnInterrupts() that the library itself needs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SUPPORT_INTERRUPTS_H
#define TESSERA_LIB_SUPPORT_INTERRUPTS_H

#include "llvm/ADT/StringRef.h"

#include <csignal>
#include <optional>
#include <sys/types.h>

namespace tessera {

/// Delays the handler while it lives, if there is one: hold one from before a
/// process or a folder is made until the handler knows it.
class InterruptGuard {
public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard &) = delete;
  InterruptGuard &operator=(const InterruptGuard &) = delete;
  ~InterruptGuard();

  /// The signals that this thread blocked before, for the processes that it
  /// starts.
  const sigset_t &getMask() const { return mask; }

private:
  bool isHandled;
  sigset_t mask;
};

/// Registers a process group that the handler ends. Returns its slot in the
/// handler's table; none if the table is full.
std::optional<int> addProcessGroup(pid_t group);
/// Removes a process group from the handler's table. False if the handler has
/// ended it.
bool removeProcessGroup(int slot, pid_t group);

/// Sends SIGTERM to a process group, then SIGKILL, and waits until none of it
/// runs. Async-signal-safe.
void endProcessGroup(pid_t group);

/// Registers a folder of files that the handler removes; none if the path is
/// empty. False if the path is too long.
bool setTemporaryFolder(llvm::StringRef path);
/// Removes a folder with its contents. Async-signal-safe.
void removeFolder(const char *path);

} // namespace tessera

#endif // TESSERA_LIB_SUPPORT_INTERRUPTS_H
