//===- ParserGuard.h - Crashes of MLIR's parser -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's own parser crashes on some malformed texts that no check of the text
// finds first. After a crash its memory cannot be freed, so the process ends,
// as after any other error, with one line and exit status 1.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_COMMON_PARSERGUARD_H
#define TESSERA_TOOLS_COMMON_PARSERGUARD_H

#include "llvm/ADT/StringRef.h"
#include <array>
#include <csignal>

namespace tessera {

/// While it lives, a crash of this process, stack overflow included, prints the
/// error "PATH: error: expects a module that MLIR's parser takes, which
/// crashed" to stderr and exits with status 1. Only one may exist at a time,
/// around a parse alone.
class ParserGuard {
public:
  explicit ParserGuard(llvm::StringRef path);
  ~ParserGuard();
  ParserGuard(const ParserGuard &) = delete;
  ParserGuard &operator=(const ParserGuard &) = delete;

private:
  static constexpr std::array<int, 5> kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL,
                                               SIGABRT};
  std::array<struct sigaction, kSignals.size()> before;
  stack_t stackBefore;
};

} // namespace tessera

#endif // TESSERA_TOOLS_COMMON_PARSERGUARD_H
