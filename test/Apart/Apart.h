//===- Apart.h - Work in a process of its own -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns a crash or a hang of the tested code into one finding.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_APART_APART_H
#define TESSERA_TEST_APART_APART_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <new>
#include <sys/mman.h>
#include <sys/types.h>
#include <type_traits>

namespace tessera::test {

/// Limits this process from now on to `seconds` of processor time and ten times
/// as many of wall-clock time, because other work on the machine does not
/// count.
void limitTime(unsigned seconds);

/// Starts a process that ends with the result of `work`. It has a limit of
/// `seconds` (see `limitTime`) and 4 GiB, leaves no core file, and writes
/// nothing to stderr if `isQuiet`.
pid_t startApart(unsigned seconds, bool isQuiet,
                 llvm::function_ref<int()> work);

enum class Ending { Returned, Crashed, Hung };
/// Returns the kind of a status of `wait`. `code` gets the process's result.
Ending getEnding(int status, int &code);

/// An object that this process shares with those that it starts.
template <typename T> T *makeShared() {
  void *memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (memory) T();
}
template <typename T> void freeShared(T *object) {
  munmap(const_cast<std::remove_cv_t<T> *>(object), sizeof(T));
}

} // namespace tessera::test

#endif // TESSERA_TEST_APART_APART_H
