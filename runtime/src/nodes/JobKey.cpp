//===- JobKey.cpp - The secrets of a job ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See JobKey.h.
//
//===----------------------------------------------------------------------===//

#include "JobKey.h"

#include "data/Folders.h"
#include "support/Support.h"
#include "tessera_key.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tessera::rt;

namespace {
/// Digits of the text of a key.
constexpr size_t keyDigits = 4 * sizeof(JobKey::root);

/// Closes a file when it goes out of scope.
struct KeyFile {
  int file;
  ~KeyFile() {
    if (file >= 0)
      close(file);
  }
};
} // namespace

std::string tessera::rt::drawKey(JobKey &key) {
  static_assert(sizeof(JobKey) == 2 * sizeof(key.root));
  // A call for so few bytes returns all of them.
  if (getrandom(&key, sizeof(key), 0) == ssize_t(sizeof(key)))
    return std::string();
  return std::string("cannot draw random numbers: ") + strerror(errno);
}

std::string tessera::rt::describeKey(const JobKey &key) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t *secret : {key.root, key.member})
    for (size_t i = 0; i < sizeof(key.root); ++i) {
      text += digits[secret[i] >> 4];
      text += digits[secret[i] & 15];
    }
  return text;
}

std::string tessera::rt::parseKey(const std::string &text, JobKey &key) {
  std::string digits = text.substr(0, text.find_last_not_of("\r\n") + 1);
  if (digits.size() != keyDigits)
    return format("expects a key of %zu digits but got %zu characters",
                  keyDigits, digits.size());
  if (digits.find_first_not_of("0123456789abcdef") != std::string::npos)
    return "expects a key of the digits 0 to 9 and a to f but got another "
           "character";
  auto valueOf = [](char digit) {
    return digit <= '9' ? digit - '0' : digit - 'a' + 10;
  };
  for (size_t i = 0; i < keyDigits / 2; ++i) {
    uint8_t *secret = i < sizeof(key.root) ? key.root : key.member;
    secret[i % sizeof(key.root)] =
        uint8_t(valueOf(digits[2 * i]) << 4 | valueOf(digits[2 * i + 1]));
  }
  return std::string();
}

/// Returns an error if others than the owner can use the file.
static std::string checkKeyFile(const struct stat &info,
                                const std::string &path) {
  if (!S_ISREG(info.st_mode))
    return "expects a file with a key but got another kind of file: " + path;
  if (info.st_uid != geteuid())
    return format("expects a key file of user %d but got one of user %d: ",
                  int(geteuid()), int(info.st_uid)) +
           path;
  if (info.st_mode & 077)
    return format("expects a key file that others cannot use (mode 600) but "
                  "got mode %03o: ",
                  unsigned(info.st_mode & 0777)) +
           path;
  return std::string();
}

std::string tessera::rt::readKeyFile(const std::string &path, JobKey &key) {
  // NONBLOCK, because the path may be a pipe.
  KeyFile opened = {
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (opened.file < 0)
    return errno == ELOOP ? "expects a file with a key but got a link: " + path
                          : describeSystemError("open", path);
  struct stat info;
  if (fstat(opened.file, &info) != 0)
    return describeSystemError("read", path);
  if (std::string error = checkKeyFile(info, path); !error.empty())
    return error;
  char text[keyDigits + 16];
  ssize_t bytes = read(opened.file, text, sizeof(text));
  if (bytes < 0)
    return describeSystemError("read", path);
  std::string error = parseKey(std::string(text, size_t(bytes)), key);
  return error.empty() ? error : error + ": " + path;
}

std::string tessera::rt::writeKeyFile(const std::string &path,
                                      const JobKey &key) {
  KeyFile made = {
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (made.file < 0)
    return describeSystemError("make", path);
  std::string text = describeKey(key) + "\n";
  if (write(made.file, text.data(), text.size()) == ssize_t(text.size()) &&
      fsync(made.file) == 0)
    return std::string();
  std::string error = describeSystemError("write", path);
  unlink(path.c_str());
  return error;
}

//===----------------------------------------------------------------------===//
// For tools
//===----------------------------------------------------------------------===//

static thread_local std::string keyMessage;

const char *tessera_rt_key_draw(char text[TESSERA_RT_KEY_DIGITS + 1]) {
  static_assert(TESSERA_RT_KEY_DIGITS == keyDigits);
  JobKey key;
  keyMessage = drawKey(key);
  if (keyMessage.empty())
    memcpy(text, describeKey(key).c_str(), keyDigits + 1);
  return keyMessage.c_str();
}

const char *tessera_rt_key_write(const char *path) {
  JobKey key;
  keyMessage = drawKey(key);
  if (keyMessage.empty())
    keyMessage = writeKeyFile(path, key);
  return keyMessage.c_str();
}
