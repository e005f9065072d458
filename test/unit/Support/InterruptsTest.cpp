//===- InterruptsTest.cpp - What the library does to its process ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/ChildProcess.h"
#include "tessera/Support/TemporaryFile.h"
#include "gtest/gtest.h"

#include <fstream>
#include <string>

using namespace tessera;

/// Returns the lines of blocked, ignored and handled signals in /proc.
static std::string readSignals() {
  std::ifstream status("/proc/self/status");
  std::string line, signals;
  while (std::getline(status, line))
    if (line.rfind("SigBlk", 0) == 0 || line.rfind("SigIgn", 0) == 0 ||
        line.rfind("SigCgt", 0) == 0)
      signals += line + "\n";
  return signals;
}

TEST(Interrupts, files_and_processes_leave_signals_as_they_are) {
  std::string before = readSignals();
  ASSERT_NE(before.find("SigCgt"), std::string::npos);
  {
    TemporaryFile file;
    llvm::Error error = file.create("some", "txt");
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    EXPECT_EQ(readSignals(), before);
    ChildProcess process;
    error = process.start("/bin/sleep", {"0.01"}, "/dev/null");
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    EXPECT_EQ(readSignals(), before);
    error = process.wait();
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  }
  EXPECT_EQ(readSignals(), before);
}
