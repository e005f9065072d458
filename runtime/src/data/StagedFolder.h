//===- StagedFolder.h - Folders that are replaced as a whole ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder is written next to its path, as PATH.partial, and then replaces the
// folder at PATH by one rename. So PATH has either all of the former files or
// all of the new ones, whenever a process or the machine dies.
//
//   PATH.partial  files that are being written; after an exchange, the former
//                 ones until they are removed
// PATH.former   only if the file system cannot exchange two folders: the former
//                 PATH, between the two renames that replace the exchange
//
// The next save of PATH finds and repairs what a dead process left there.
// Readers look at both paths.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_STAGEDFOLDER_H
#define TESSERA_RT_SRC_STAGEDFOLDER_H

#include <cstdint>
#include <string>

namespace tessera::rt {

/// The path at which the files of a folder are written.
std::string stagingPath(const std::string &resolved);

/// The path at which the folder `path` is complete: its own, or PATH.former.
std::string readablePath(const std::string &path);

class StagedFolder {
public:
  /// Contents of a folder: NAME.npy and a manifest, or files of weights.
  enum Kind { State, Weights };

  explicit StagedFolder(Kind kind = State) : kind(kind) {}
  StagedFolder(const StagedFolder &) = delete;
  StagedFolder &operator=(const StagedFolder &) = delete;
  /// Removes the written files unless they were published.
  ~StagedFolder();

  /// Creates the staging folder and its parents. Checks that nobody else writes
  /// there, that `bytes` have room, and that `path` may be replaced: it must be
  /// missing, an empty folder, or a former save. Returns a message, or nothing.
  std::string open(const std::string &path, int64_t bytes);

  bool isOpen() const { return fd >= 0; }
  /// The final path.
  const std::string &path() const { return target; }

  /// Moves the folder to its path once all files in it are on the disk, and
  /// removes the former folder. Returns a message, or nothing.
  std::string publish();

  /// Removes the written files. Returns a message, or nothing.
  std::string discard();

private:
  std::string replace();
  void close();

  Kind kind;
  std::string target;
  /// The staging folder, locked.
  int fd = -1;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_STAGEDFOLDER_H
