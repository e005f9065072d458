//===- JobKey.h - The secrets of a job --------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A job on several nodes has one key, which every node gets from a file or a
// variable. It is what the root's door proves itself with, and what it asks of
// all others. Knowing the key is all that a node needs to take part.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_JOBKEY_H
#define TESSERA_RT_SRC_JOBKEY_H

#include <cstdint>
#include <string>

namespace tessera::rt {

/// The secrets of a job: secret keys of Curve25519, of its root and of all
/// others. Text: 128 lower-case hexadecimal digits, the root's first.
struct JobKey {
  uint8_t root[32] = {}, member[32] = {};
};

/// Draws a key with the system's random numbers. Returns an error or nothing.
std::string drawKey(JobKey &key);

/// The text of a key.
std::string describeKey(const JobKey &key);

/// Reads the text of a key, which may end with line breaks. The error does not
/// repeat the text.
std::string parseKey(const std::string &text, JobKey &key);

/// Reads a key file. An error if it is a link or no regular file, if it is
/// another user's, or if others may read or write it (mode & 077).
std::string readKeyFile(const std::string &path, JobKey &key);

/// Writes a new key file of mode 0600. An error if the path exists.
std::string writeKeyFile(const std::string &path, const JobKey &key);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_JOBKEY_H
