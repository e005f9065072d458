//===- Programs.h - Running whole programs in tests -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starts a hand-written program through a shell, and captures its output.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RUNTIME_PROGRAMS_H
#define TESSERA_TEST_RUNTIME_PROGRAMS_H

#include "TemporaryFolder.h"
#include "runtime/src/data/Npy.h"
#include "runtime/src/ranks/Control.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace tessera::rt {

struct Outcome {
  int status = -1;
  std::string out, err;
};

inline std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)),
                     std::istreambuf_iterator<char>());
}

/// Writes a file of the test.
inline std::string writeText(const std::string &name,
                             const std::string &content) {
  std::string path = temporary(name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

/// Path of the file that the ranks of another launcher's job join.
inline std::string meetingPathOf(const std::string &job) {
  return format("/dev/shm/tessera-%d-%016llx", int(geteuid()),
                (unsigned long long)hashBytes(job.data(), job.size()));
}

/// Runs `program` through a shell: `before` sets variables.
inline Outcome runProgram(const std::string &program,
                          const std::string &arguments,
                          const std::string &before = "") {
  std::string out = temporary("out"), err = temporary("err");
  std::string command = "( " + before + " " + program + " " + arguments +
                        "\n) >" + out + " 2>" + err;
  // Makes this process the parent of orphans, so that they are found.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int status = system(command.c_str());
  Outcome outcome;
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.out = readFile(out);
  outcome.err = readFile(err);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  return outcome;
}

inline std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// Expects that exit status and one line of error with that text.
inline void expectError(const Outcome &outcome, const char *text,
                        int status = 1) {
  EXPECT_EQ(outcome.status, status);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1)
      << outcome.err;
  EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
}

inline std::vector<float> floatsOf(const NpyArray &array) {
  int64_t count = 1;
  for (int64_t extent : array.shape)
    count *= extent;
  std::vector<float> values(static_cast<size_t>(count));
  memcpy(values.data(), array.elements, size_t(count) * 4);
  return values;
}

} // namespace tessera::rt

#endif // TESSERA_TEST_RUNTIME_PROGRAMS_H
