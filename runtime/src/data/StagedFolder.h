//===- StagedFolder.h - Folders that are replaced as a whole ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder is written beside its path, as PATH.partial, and then takes the
// place of what is there by one rename, so that PATH has all of the former
// files or all of the new ones, whenever a process or the machine dies.
//
//   PATH.partial  files that are being written; after an exchange, the former
//                 ones until they are removed
//   PATH.former   where the file system cannot exchange two folders: what was
//                 at PATH, between the two renames that stand for an exchange
//
// The next save of PATH finds what a dead process left there, and mends it;
// readers look at both paths.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_STAGEDFOLDER_H
#define TESSERA_RT_SRC_STAGEDFOLDER_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::rt {

/// `path` without symbolic links and slashes at its end, as far as it exists.
std::string resolvePath(const std::string &path);

/// Where the files of a folder are written.
std::string stagingPath(const std::string &resolved);

/// Makes a folder and those above it. Returns a message, or nothing.
std::string makeFolders(const std::string &path);

/// Where the folder `path` is whole: where it should be, or at PATH.former.
std::string readablePath(const std::string &path);

class StagedFolder {
public:
  /// What a folder holds: NAME.npy and a manifest, or files of weights.
  enum Kind { State, Weights };

  explicit StagedFolder(Kind kind = State) : kind(kind) {}
  StagedFolder(const StagedFolder &) = delete;
  StagedFolder &operator=(const StagedFolder &) = delete;
  /// Removes what was written, unless it was published.
  ~StagedFolder();

  /// Makes the folder in which files are written, and those above it. Checks
  /// that nobody else writes there, that `bytes` have room, and that what is at
  /// `path` may be replaced: nothing, an empty folder, or a former save.
  /// Returns a message, or nothing.
  std::string open(const std::string &path, int64_t bytes);

  bool isOpen() const { return fd >= 0; }
  /// The final path.
  const std::string &path() const { return target; }

  /// Moves the folder to its path once all files in it are on the disk, and
  /// removes what was there. Returns a message, or nothing.
  std::string publish();

  /// Removes what was written. Returns a message, or nothing.
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
