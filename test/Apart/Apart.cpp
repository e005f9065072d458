//===- Apart.cpp - Work in a process of its own ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Apart.h"
#include <csignal>
#include <cstdio>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tessera::test;

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

void tessera::test::limitTime(unsigned seconds) {
  itimerval limit{};
  limit.it_value.tv_sec = seconds;
  setitimer(ITIMER_PROF, &limit, nullptr);
  alarm(10 * seconds);
}

pid_t tessera::test::startApart(unsigned seconds, bool isQuiet,
                                llvm::function_ref<int()> work) {
  pid_t pid = fork();
  if (pid != 0)
    return pid;
  // AddressSanitizer reserves terabytes of addresses.
#if !__has_feature(address_sanitizer)
  rlimit memory{rlim_t(4) << 30, rlim_t(4) << 30};
  setrlimit(RLIMIT_AS, &memory);
#endif
  rlimit core{0, 0};
  setrlimit(RLIMIT_CORE, &core);
  limitTime(seconds);
  // Exits with status 127, which is no result of `work`.
  if (isQuiet && !freopen("/dev/null", "w", stderr))
    _exit(127);
  _exit(work());
}

Ending tessera::test::getEnding(int status, int &code) {
  if (WIFEXITED(status)) {
    code = WEXITSTATUS(status);
    return Ending::Returned;
  }
  int signal = WTERMSIG(status);
  return signal == SIGALRM || signal == SIGPROF ? Ending::Hung
                                                : Ending::Crashed;
}
