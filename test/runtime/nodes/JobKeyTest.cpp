//===- JobKeyTest.cpp - Tests of the secrets of a job ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TemporaryFolder.h"

#include "runtime/src/nodes/JobKey.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tessera::rt;

static bool areEqual(const JobKey &a, const JobKey &b) {
  return memcmp(&a, &b, sizeof(a)) == 0;
}

TEST(job_key, text_there_and_back) {
  JobKey key, other, read;
  ASSERT_EQ(drawKey(key), "");
  ASSERT_EQ(drawKey(other), "");
  EXPECT_FALSE(areEqual(key, other));
  EXPECT_NE(memcmp(key.root, key.member, sizeof(key.root)), 0);
  std::string text = describeKey(key);
  EXPECT_EQ(text.size(), 128u);
  EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(parseKey(text, read), "");
  EXPECT_TRUE(areEqual(key, read));
  EXPECT_EQ(parseKey(text + "\r\n", read), "");
}

TEST(job_key, digits_are_in_order) {
  JobKey key;
  std::string text(128, '0');
  text.replace(0, 4, "01ff");
  text.replace(64, 2, "a5");
  ASSERT_EQ(parseKey(text, key), "");
  EXPECT_EQ(key.root[0], 1);
  EXPECT_EQ(key.root[1], 255);
  EXPECT_EQ(key.member[0], 0xa5);
  EXPECT_EQ(describeKey(key), text);
}

TEST(job_key, other_texts_are_refused) {
  JobKey key;
  std::string text = std::string(127, '7');
  EXPECT_EQ(parseKey(text, key),
            "expects a key of 128 digits but got 127 characters");
  EXPECT_EQ(parseKey("", key),
            "expects a key of 128 digits but got 0 characters");
  for (const char *last : {"g", "F", " ", "-"})
    EXPECT_EQ(parseKey(text + last, key),
              "expects a key of the digits 0 to 9 and a to f but got another "
              "character");
}

namespace {
class JobKeyFile : public testing::Test {
protected:
  void SetUp() override { unlink(path.c_str()); }

  std::string path = temporary("key");
  JobKey key, read;
};
} // namespace

TEST_F(JobKeyFile, is_the_owners_alone) {
  ASSERT_EQ(drawKey(key), "");
  ASSERT_EQ(writeKeyFile(path, key), "");
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(readKeyFile(path, read), "");
  EXPECT_TRUE(areEqual(key, read));
  EXPECT_EQ(writeKeyFile(path, key), "cannot make '" + path + "': File exists");
}

TEST_F(JobKeyFile, of_another_kind_or_mode_is_refused) {
  ASSERT_EQ(drawKey(key), "");
  ASSERT_EQ(writeKeyFile(path, key), "");
  for (int mode : {0640, 0604, 0610, 0602}) {
    ASSERT_EQ(chmod(path.c_str(), mode_t(mode)), 0);
    char text[8];
    snprintf(text, sizeof(text), "%03o", mode);
    EXPECT_EQ(readKeyFile(path, read),
              "expects a key file that others cannot use (mode 600) but got "
              "mode " +
                  std::string(text) + ": " + path);
  }
  ASSERT_EQ(chmod(path.c_str(), 0400), 0);
  EXPECT_EQ(readKeyFile(path, read), "");
  std::string link = temporary("link"), pipe = temporary("pipe");
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  EXPECT_EQ(readKeyFile(link, read),
            "expects a file with a key but got a link: " + link);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(readKeyFile(pipe, read),
            "expects a file with a key but got another kind of file: " + pipe);
  EXPECT_EQ(readKeyFile(temporary("none"), read),
            "cannot open '" + temporary("none") +
                "': No such file or directory");
}

TEST_F(JobKeyFile, of_another_text_is_refused) {
  std::ofstream(path) << std::string(1000, 'a');
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(readKeyFile(path, read).rfind("expects a key of 128 digits", 0),
            0u);
}
