//===- Inputs.h - The folder of --inputs ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files with the initial values of arguments. The folder is listed once and
// held open, so that a run reads the files of one state even if another run
// replaces the folder meanwhile.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_INPUTS_H
#define TESSERA_RT_SRC_INPUTS_H

#include "Manifest.h"
#include "Npy.h"
#include "SavedState.h"
#include "support/ThreadPool.h"

#include <set>

namespace tessera::rt {

class InputFolder {
public:
  InputFolder() = default;
  InputFolder(const InputFolder &) = delete;
  InputFolder &operator=(const InputFolder &) = delete;
  ~InputFolder();

  /// Lists the folder and reads its manifest if it has one. Returns a message,
  /// or nothing.
  std::string open(const std::string &path);
  bool isOpen() const { return fd >= 0; }

  /// The state that a run saved there; null if there is no manifest.
  const SavedState *state() const { return hasState ? &saved : nullptr; }

  /// Identifies these files, for a comparison between ranks.
  std::string fingerprint() const;

  /// Returns the file of an argument, NAME.npy. The copy of a parameter without
  /// a file of its own uses the parameter's file. Empty if there is no file.
  std::string fileOf(const Value &value) const;

  /// Maps a file. Returns a message, or nothing.
  std::string load(const std::string &fileName, NpyArray &array) const;

  /// Compares names, types, shapes and ids of the files with the program's
  /// arguments. Returns a message that lists all files that are missing, extra,
  /// misshapen or out of range, or nothing. With `initMissing`, missing files
  /// are not an error.
  std::string check(const Manifest &manifest, bool initMissing) const;

  /// Compares this rank's share of the files with the checksums that they were
  /// saved with. Returns a message, or nothing.
  std::string verify(ThreadPool &pool, int rank, int ranks) const;

private:
  void checkSaved(std::vector<std::string> &faults) const;
  void checkArguments(const Manifest &manifest, bool initMissing,
                      std::vector<std::string> &faults) const;
  void checkExtra(const Manifest &manifest,
                  std::vector<std::string> &faults) const;

  std::string path;
  int fd = -1;
  /// Names of files that end in ".npy".
  std::set<std::string> names;
  bool hasState = false;
  SavedState saved;
  uint64_t manifestHash = 0;
};

/// Checks that an argument can be read from a file of that type and shape: the
/// argument's own, or f32 for types that NumPy lacks or that are rounded from
/// it. Returns the expected and the found type, or nothing.
std::string checkArray(const Value &value, const NpyArray &array);

/// Looks for ids that the argument must not hold, in a file of its type and
/// shape. Returns the expected ids and the first element that differs, or
/// nothing.
std::string checkIds(const Value &value, const NpyArray &array);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_INPUTS_H
