//===- TuneFileTest.cpp - File of chosen algorithms -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/TuneFile.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tessera::rt::cuda;

static TuneFile example() {
  TuneFile file;
  file.subject = {130100, "NVIDIA \"H200\"", 132, true};
  for (int64_t i = 0; i < 3; ++i) {
    TuneEntry entry;
    for (size_t word = 0; word < 8; ++word)
      entry.algo.data[word] = 0xfedcba9876543210ull + uint64_t(i) * 7 + word;
    entry.workspaceBytes = i << 20;
    entry.seconds = 1.5e-6 * double(i + 1);
    entry.split = i;
    entry.bySplit[i] = entry.seconds;
    entry.what = "bf16[1 x 2 x 3 x 4]^nt";
    file.entries[{i, -5, int64_t(1) << 40}] = entry;
  }
  return file;
}

static std::string temporaryPath(const char *name) {
  return testing::TempDir() + "tessera-tune-" + std::to_string(getpid()) + "-" +
         name;
}

TEST(tune_file, is_read_as_it_was_written) {
  std::string path = temporaryPath("whole");
  TuneFile written = example(), read;
  ASSERT_EQ(written.write(path), "");
  ASSERT_EQ(read.read(path), "");
  EXPECT_TRUE(read.subject == written.subject);
  EXPECT_EQ(read.text(), written.text());
  EXPECT_EQ(read.entries.size(), 3u);
  unlink(path.c_str());
  EXPECT_EQ(read.read(path), tuneFileAbsent);
}

TEST(tune_file, any_change_is_found) {
  std::string text = example().text();
  for (size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] ^= 1;
    TuneFile file;
    std::string error = file.parse(changed);
    // The last line break is not part of the contents.
    EXPECT_TRUE(at + 1 == text.size() || !error.empty()) << "byte " << at;
    EXPECT_TRUE(file.entries.empty() || error.empty());
  }
  for (size_t length = 0; length + 1 < text.size(); ++length) {
    TuneFile file;
    EXPECT_NE(file.parse(text.substr(0, length)), "") << length << " bytes";
  }
}

TEST(tune_file, a_full_disk_leaves_the_old_file) {
  std::string path = temporaryPath("full");
  TuneFile old;
  old.subject = example().subject;
  ASSERT_EQ(old.write(path), "");
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{64, 64};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(example().write(path).find("too large") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  TuneFile read;
  EXPECT_EQ(read.read(path), "");
  EXPECT_TRUE(read.entries.empty());
  // No temporary file is left.
  EXPECT_NE(access((path + "." + std::to_string(child)).c_str(), F_OK), 0);
  unlink(path.c_str());
}
