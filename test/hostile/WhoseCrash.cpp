//===- WhoseCrash.cpp - Crashes of MLIR's reader and others ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See WhoseCrash.h.
//
//===----------------------------------------------------------------------===//

#include "WhoseCrash.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <csignal>
#include <dlfcn.h>
#include <execinfo.h>
#include <iterator>

using namespace tessera::hostile;
using llvm::StringRef;

static volatile int *crashStage = nullptr;
static void *frames[512];
/// The signals, and their previous handlers.
static constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static struct sigaction before[std::size(kSignals)];

/// True if an address is in this program. The dialects are, MLIR's parser is in
/// a library.
static bool isInProgram(void *address) {
  Dl_info here, info;
  return dladdr(reinterpret_cast<void *>(&isInProgram), &here) &&
         dladdr(address, &info) && info.dli_fbase == here.dli_fbase;
}

/// True if an address is in MLIR's parser: a member function, or its entry
/// point for files.
static bool isInParser(void *address) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_sname)
    return false;
  StringRef name(info.dli_sname);
  return name.starts_with("_ZN4mlir6detail6Parser") ||
         name.starts_with("_ZN4mlir18parseAsmSourceFile");
}

/// Records a crash if no function of this program was called by the parser
/// before it: a dialect that parses any attribute gets the crashes of MLIR's
/// parser in it.
static void onCrash(int number) {
  // The first two frames are this handler and the signal's trampoline.
  int count = backtrace(frames, std::size(frames));
  bool inParser = false;
  for (int i = 2; i < count && !isInProgram(frames[i]); ++i)
    inParser |= isInParser(frames[i]);
  bool isOurs = count == std::size(frames) || !inParser;
  struct sigaction *last = nullptr;
  if (*crashStage == Parsing && !isOurs) {
    *crashStage = InReader;
    last = &before[llvm::find(kSignals, number) - kSignals];
  }
  if (last && last->sa_handler != SIG_DFL)
    return last->sa_handler(number);
  signal(number, SIG_DFL);
  raise(number);
}

void tessera::hostile::watchCrashes(volatile int *stage) {
  crashStage = stage;
  // A first call loads the libraries that backtrace needs.
  backtrace(frames, std::size(frames));
  static char memory[1 << 16];
  stack_t stack{memory, 0, sizeof(memory)};
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = onCrash;
  action.sa_flags = SA_ONSTACK;
  for (size_t i = 0; i < std::size(kSignals); ++i)
    sigaction(kSignals[i], &action, &before[i]);
}
