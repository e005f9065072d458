//===- Interrupts.h - What a signal ends and removes ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SIGTERM, SIGHUP and SIGINT end the processes that this one started, then
// remove its temporary folder, then do what they did before.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SUPPORT_INTERRUPTS_H
#define TESSERA_LIB_SUPPORT_INTERRUPTS_H

#include "llvm/ADT/StringRef.h"

#include <csignal>
#include <optional>
#include <sys/types.h>

namespace tessera {

/// While it lives, the handler waits: to be held from before a process or a
/// folder is made until the handler knows of it. The first one installs the
/// handler.
class InterruptGuard {
public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard &) = delete;
  InterruptGuard &operator=(const InterruptGuard &) = delete;
  ~InterruptGuard();

  /// The signals that this thread blocked before, for what it starts.
  const sigset_t &getMask() const { return mask; }

private:
  sigset_t mask;
};

/// Has the handler end a process group. Returns its slot in the handler's
/// table; none if the table is full.
std::optional<int> addProcessGroup(pid_t group);
/// Takes a process group out of the handler's table. False if the handler has
/// ended it.
bool removeProcessGroup(int slot, pid_t group);

/// Sends SIGTERM to a process group, then SIGKILL, and waits until nothing of
/// it runs. Safe in a handler of signals.
void endProcessGroup(pid_t group);

/// Has the handler remove a folder of files; none if the path is empty. False
/// if the path is too long.
bool setTemporaryFolder(llvm::StringRef path);
/// Removes a folder with all that is in it. Safe in a handler of signals.
void removeFolder(const char *path);

} // namespace tessera

#endif // TESSERA_LIB_SUPPORT_INTERRUPTS_H
