//===- TuneFile.h - Chosen ways to compute, kept ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file beside a program that keeps which algorithm was the fastest for each
// matmul. It is good for one version of the library on one kind of
// device; whatever else it says is of no use, and neither is a file that was
// changed: it has a checksum.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_TUNEFILE_H
#define TESSERA_RT_CUDA_TUNEFILE_H

#include "CublasLtApi.h"

#include <map>
#include <string>
#include <vector>

namespace tessera::rt::cuda {

/// What the choices depend on.
struct TuneSubject {
  /// The library's own number of its version.
  int64_t libraryVersion = 0;
  std::string device;
  int64_t multiprocessors = 0;
  bool tf32 = false;

  bool operator==(const TuneSubject &other) const {
    return libraryVersion == other.libraryVersion && device == other.device &&
           multiprocessors == other.multiprocessors && tf32 == other.tf32;
  }
  /// "version 130100 on NVIDIA H200 (132 multiprocessors)"
  std::string describe() const;
};

struct TuneEntry {
  lt::Algo algo = {};
  int64_t workspaceBytes = 0;
  /// MatmulSplit: how much of what follows the matmul is the algorithm's.
  int64_t split = 0;
  /// Of one matmul with what follows it, and the best by each split; 0 where
  /// that was not timed.
  double seconds = 0;
  double bySplit[3] = {};
  /// For readers.
  std::string what;
};

struct TuneFile {
  TuneSubject subject;
  /// By MatmulCall::key.
  std::map<std::vector<int64_t>, TuneEntry> entries;

  /// Reads a file. Returns why it cannot be used (it is not there: "absent"),
  /// or nothing. Entries are left as they were on failure.
  std::string read(const std::string &path);
  /// Writes to a temporary file, then renames it: the file is whole or as it
  /// was. Returns a message, or nothing.
  std::string write(const std::string &path) const;

  std::string text() const;
  std::string parse(const std::string &text);
};

/// What read returns when there is no file.
extern const char *const tuneFileAbsent;

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_TUNEFILE_H
