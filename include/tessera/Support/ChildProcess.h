//===- ChildProcess.h - Programs that Tessera starts ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_CHILDPROCESS_H
#define TESSERA_SUPPORT_CHILDPROCESS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <sys/types.h>

namespace tessera {

/// A child process: a linker, an assembler, a compiled program. It leads a
/// process group of its own, and its temporary files go into the folder of this
/// process (see TemporaryFile). After cleanUpOnInterrupts() an interrupt ends
/// the whole group first, then removes the files.
class ChildProcess {
public:
  ChildProcess() = default;
  ChildProcess(const ChildProcess &) = delete;
  ChildProcess &operator=(const ChildProcess &) = delete;
  /// Ends the process if it has not been waited for.
  ~ChildProcess();

  /// Starts the program at the path `program`; call it once. `arguments` do not
  /// repeat its name. The program reads nothing; stdout and stderr go to the
  /// file `output`. Fails if the program cannot be started.
  llvm::Error start(llvm::StringRef program,
                    llvm::ArrayRef<llvm::StringRef> arguments,
                    llvm::StringRef output);

  /// Waits until the program ends, or kills it after `seconds`. Fails, with the
  /// exit status, the signal or the limit as the message, unless it exits with
  /// 0.
  llvm::Error wait(std::optional<unsigned> seconds = std::nullopt);

  bool isRunning() const { return slot >= 0; }

private:
  pid_t pid = 0;
  /// Slot from which the signal handler reads `pid`; -1 if not running.
  int slot = -1;
};

/// Starts a program and waits for it.
llvm::Error runProgram(llvm::StringRef program,
                       llvm::ArrayRef<llvm::StringRef> arguments,
                       llvm::StringRef output,
                       std::optional<unsigned> seconds = std::nullopt);

} // namespace tessera

#endif // TESSERA_SUPPORT_CHILDPROCESS_H
