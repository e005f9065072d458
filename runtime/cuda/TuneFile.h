//===- TuneFile.h - File of chosen algorithms -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file next to a program that stores the fastest algorithm for each matmul.
// It is valid for one version of the library on one kind of device. A file for
// anything else is ignored, and so is a changed file, which its checksum
// detects.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_TUNEFILE_H
#define TESSERA_RT_CUDA_TUNEFILE_H

#include "CublasLtApi.h"

#include <map>
#include <string>
#include <vector>

namespace tessera::rt::cuda {

/// Properties on which the choices depend.
struct TuneSubject {
  /// The library's own version number.
  int64_t libraryVersion = 0;
  std::string device;
  int64_t multiprocessors = 0;
  bool tf32 = false;

  bool operator==(const TuneSubject &other) const {
    return libraryVersion == other.libraryVersion && device == other.device &&
           multiprocessors == other.multiprocessors && tf32 == other.tf32;
  }
  /// Describes it, such as "version 130100 on NVIDIA H200 (132
  /// multiprocessors)".
  std::string describe() const;
};

struct TuneEntry {
  lt::Algo algo = {};
  int64_t workspaceBytes = 0;
  /// MatmulSplit: the part of the epilogue that the algorithm does.
  int64_t split = 0;
  /// Seconds of one matmul with its epilogue, and the best seconds with each
  /// split; 0 if that was not timed.
  double seconds = 0;
  double bySplit[3] = {};
  /// Description for readers.
  std::string what;
};

struct TuneFile {
  TuneSubject subject;
  /// Entries by MatmulCall::key.
  std::map<std::vector<int64_t>, TuneEntry> entries;

  /// Reads a file. Returns why it cannot be used ("absent" if it does not
  /// exist), or nothing. A failure leaves the entries unchanged.
  std::string read(const std::string &path);
  /// Writes a temporary file and renames it, so that the file is either
  /// complete or unchanged. Returns a message, or nothing.
  std::string write(const std::string &path) const;

  std::string text() const;
  std::string parse(const std::string &text);
};

/// The error of read if there is no file.
extern const char *const tuneFileAbsent;

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_TUNEFILE_H
