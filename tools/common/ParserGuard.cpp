//===- ParserGuard.cpp - Crashes of MLIR's parser -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParserGuard.h"

#include <cstdlib>
#include <string>
#include <unistd.h>

using namespace tessera;

/// The message of the handler, which must not allocate.
static std::string message;
/// The stack of the handler: the regular stack may have overflowed.
static char handlerStack[1 << 16];

static void endProcess(int) {
  // A failure to write to stderr cannot be reported.
  ssize_t written = write(STDERR_FILENO, message.data(), message.size());
  (void)written;
  _exit(EXIT_FAILURE);
}

ParserGuard::ParserGuard(llvm::StringRef path) {
  message = (path == "-" ? "<stdin>" : path).str() +
            ": error: expects a module that MLIR's parser takes, which "
            "crashed\n";
  stack_t stack = {};
  stack.ss_sp = handlerStack;
  stack.ss_size = sizeof(handlerStack);
  sigaltstack(&stack, &stackBefore);
  struct sigaction action = {};
  action.sa_handler = endProcess;
  action.sa_flags = SA_ONSTACK;
  for (size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i], &action, &before[i]);
}

ParserGuard::~ParserGuard() {
  for (size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i], &before[i], nullptr);
  sigaltstack(&stackBefore, nullptr);
}
