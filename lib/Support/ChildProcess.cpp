//===- ChildProcess.cpp - Programs that Tessera starts --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/ChildProcess.h"
#include "Interrupts.h"
#include "TemporaryFolder.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Program.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>
#include <vector>

using namespace tessera;
using llvm::Error;
using llvm::StringRef;

/// Converts a list to C's form.
static std::vector<char *> makePointers(std::vector<std::string> &words) {
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The environment of this process with another folder for temporary files.
static std::vector<std::string> makeEnvironment(StringRef folder) {
  std::vector<std::string> variables = {("TMPDIR=" + folder).str()};
  for (char **variable = environ; *variable; ++variable)
    if (!StringRef(*variable).starts_with("TMPDIR="))
      variables.push_back(*variable);
  return variables;
}

/// Starts a process that leads a group. Returns an error number, or 0.
static int spawn(std::vector<std::string> words,
                 std::vector<std::string> variables, const char *output,
                 const sigset_t &mask, pid_t &pid) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  auto clean = llvm::scope_exit([&] {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  });
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
                                   0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output,
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &mask);
  return posix_spawn(&pid, words.front().c_str(), &files, &attributes,
                     makePointers(words).data(),
                     makePointers(variables).data());
}

ChildProcess::~ChildProcess() {
  if (!isRunning())
    return;
  if (removeProcessGroup(slot, pid))
    endProcessGroup(pid);
  leaveTemporaryFolder();
}

Error ChildProcess::start(StringRef program,
                          llvm::ArrayRef<StringRef> arguments,
                          StringRef output) {
  auto folder = useTemporaryFolder();
  if (!folder)
    return folder.takeError();
  std::vector<std::string> words = {program.str()};
  for (StringRef argument : arguments)
    words.push_back(argument.str());
  std::error_code code;
  {
    InterruptGuard guard;
    if (int number = spawn(std::move(words), makeEnvironment(*folder),
                           output.str().c_str(), guard.getMask(), pid)) {
      code = std::error_code(number, std::generic_category());
    } else if (auto added = addProcessGroup(pid)) {
      slot = *added;
      return Error::success();
    } else {
      endProcessGroup(pid);
      code = std::make_error_code(std::errc::resource_unavailable_try_again);
    }
  }
  leaveTemporaryFolder();
  return llvm::createStringError(program +
                                 " cannot be started: " + code.message());
}

Error ChildProcess::wait(std::optional<unsigned> seconds) {
  llvm::sys::ProcessInfo process;
  process.Pid = process.Process = pid;
  std::string message;
  llvm::sys::ProcessInfo done = llvm::sys::Wait(process, seconds, &message);
  // Ends the processes that a killed leader has started.
  if (removeProcessGroup(slot, pid) && done.ReturnCode < 0)
    endProcessGroup(pid);
  slot = -1;
  leaveTemporaryFolder();
  if (done.ReturnCode == 0)
    return Error::success();
  if (message.empty())
    message = "exit status " + std::to_string(done.ReturnCode);
  return llvm::createStringError(message);
}

Error tessera::runProgram(StringRef program,
                          llvm::ArrayRef<StringRef> arguments, StringRef output,
                          std::optional<unsigned> seconds) {
  ChildProcess process;
  if (Error error = process.start(program, arguments, output))
    return error;
  return process.wait(seconds);
}
