//===- Interrupts.cpp - Cleanup on signals --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The handler calls only async-signal-safe functions: no allocation, no locks,
// and system calls instead of opendir and readdir.
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Interrupts.h"
#include "Interrupts.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tessera;
using llvm::StringRef;

namespace {

constexpr std::array kSignals = {SIGTERM, SIGHUP, SIGINT};

/// The state that the handler reads.
struct State {
  std::atomic<bool> isInstalled = false;
  /// The number of live guards.
  std::atomic<int> guards = 0;
  /// The running process groups: more than one command starts at a time.
  std::array<std::atomic<pid_t>, 64> groups = {};
  /// The temporary folder, if `hasFolder`.
  char folder[PATH_MAX] = {};
  std::atomic<bool> hasFolder = false;
  /// The handlers before this one.
  std::array<struct sigaction, kSignals.size()> previous = {};
};

State state;

void sleepForMilliseconds(long count) {
  timespec pause = {count / 1000, count % 1000 * 1000000};
  nanosleep(&pause, nullptr);
}

} // namespace

//===----------------------------------------------------------------------===//
// The handler
//===----------------------------------------------------------------------===//

void tessera::endProcessGroup(pid_t group) {
  kill(-group, SIGTERM);
  // The leader may first end processes and remove files of its own.
  for (int i = 0; i < 1000 && waitpid(group, nullptr, WNOHANG) == 0; ++i)
    sleepForMilliseconds(1);
  // Processes that the leader started may outlive it for a moment.
  for (int i = 0; i < 100 && kill(-group, SIGKILL) == 0; ++i) {
    waitpid(group, nullptr, WNOHANG);
    sleepForMilliseconds(1);
  }
}

/// Removes the contents of an open folder: files, and folders of killed
/// processes.
static void removeContents(int folder, int depth) {
  alignas(dirent64) char entries[4096];
  long bytes;
  while ((bytes = syscall(SYS_getdents64, folder, entries, sizeof(entries))) >
         0)
    for (long at = 0; at < bytes;) {
      auto *entry = reinterpret_cast<dirent64 *>(entries + at);
      at += entry->d_reclen;
      StringRef name = entry->d_name;
      if (name == "." || name == ".." ||
          unlinkat(folder, entry->d_name, 0) == 0 || depth == 0)
        continue;
      int inner = openat(folder, entry->d_name,
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (inner < 0)
        continue;
      removeContents(inner, depth - 1);
      close(inner);
      unlinkat(folder, entry->d_name, AT_REMOVEDIR);
    }
}

void tessera::removeFolder(const char *path) {
  // Another thread may write at the same time.
  for (int i = 0; i < 100 && rmdir(path) != 0; ++i) {
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
      return;
    removeContents(folder, /*depth=*/4);
    close(folder);
  }
}

static void handleSignal(int number, siginfo_t *info, void *context) {
  int error = errno;
  // A guard of this thread blocks the signal: these belong to others.
  for (int i = 0; i < 2000 && state.guards.load() > 0; ++i)
    sleepForMilliseconds(1);
  for (std::atomic<pid_t> &group : state.groups)
    if (pid_t pid = group.exchange(0))
      endProcessGroup(pid);
  if (state.hasFolder.load())
    removeFolder(state.folder);
  errno = error;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] != number)
      continue;
    const struct sigaction &action = state.previous[i];
    if (action.sa_flags & SA_SIGINFO)
      return action.sa_sigaction(number, info, context);
    if (action.sa_handler != SIG_DFL)
      return action.sa_handler(number);
    signal(number, SIG_DFL);
    raise(number);
  }
}

static void installHandler() {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (sigaction(kSignals[i], nullptr, &state.previous[i]) != 0)
      continue;
    // nohup
    bool isIgnored = !(state.previous[i].sa_flags & SA_SIGINFO) &&
                     state.previous[i].sa_handler == SIG_IGN;
    if (isIgnored)
      continue;
    struct sigaction action = {};
    action.sa_sigaction = handleSignal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int number : kSignals)
      sigaddset(&action.sa_mask, number);
    sigaction(kSignals[i], &action, nullptr);
  }
}

//===----------------------------------------------------------------------===//
// What it is told
//===----------------------------------------------------------------------===//

void tessera::cleanUpOnInterrupts() {
  if (!state.isInstalled.exchange(true))
    installHandler();
}

InterruptGuard::InterruptGuard() : isHandled(state.isInstalled) {
  sigset_t blocked;
  sigemptyset(&blocked);
  if (isHandled)
    for (int number : kSignals)
      sigaddset(&blocked, number);
  pthread_sigmask(SIG_BLOCK, &blocked, &mask);
  ++state.guards;
}

InterruptGuard::~InterruptGuard() {
  --state.guards;
  if (isHandled)
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

std::optional<int> tessera::addProcessGroup(pid_t group) {
  for (size_t i = 0; i < state.groups.size(); ++i) {
    pid_t none = 0;
    if (state.groups[i].compare_exchange_strong(none, group))
      return i;
  }
  return std::nullopt;
}

bool tessera::removeProcessGroup(int slot, pid_t group) {
  return state.groups[slot].compare_exchange_strong(group, 0);
}

bool tessera::setTemporaryFolder(llvm::StringRef path) {
  state.hasFolder.store(false);
  if (path.size() >= sizeof(state.folder))
    return false;
  std::memcpy(state.folder, path.data(), path.size());
  state.folder[path.size()] = 0;
  state.hasFolder.store(!path.empty());
  return true;
}
