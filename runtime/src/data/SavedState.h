//===- SavedState.h - The manifest of a saved state -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// manifest.json of a folder that a run saved: the list of its files and the
// position of the run. It is written after all files, so a folder with a
// manifest is complete.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_SAVEDSTATE_H
#define TESSERA_RT_SRC_SAVEDSTATE_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::rt {

struct Value;
class ThreadPool;

constexpr const char *stateManifestName = "manifest.json";

/// NAME.npy of a saved folder.
struct SavedFile {
  /// Name of the argument or result.
  std::string name;
  /// The program's type; bf16 is in a file of f32.
  std::string dtype;
  std::vector<int64_t> shape;
  /// Bytes of the whole file.
  int64_t bytes = 0;
  /// XXH64 of the whole file.
  uint64_t checksum = 0;
};

struct SavedState {
  /// "state" (parameters and state) or "results".
  std::string kind;
  /// Name and hash of the program that saved it, and its ranks.
  std::string program, hash;
  int64_t ranks = 0;
  /// Steps done so far, including the steps of the states that it began with.
  int64_t step = 0;
  /// The sequence of the data with which the next step begins, and the data.
  int64_t dataPosition = 0;
  std::string data;
  std::vector<SavedFile> files;

  /// True if a file of that name, "w.npy", is in the state.
  bool hasFile(const std::string &fileName) const;
};

/// The text of a manifest.
std::string describeState(const SavedState &state);

/// Writes the manifest of a folder that has the files of `values`, which are
/// read back for their checksums. All fields of `state` but the files are set.
/// Returns a message, or nothing.
std::string writeStateManifest(const std::string &folder,
                               const std::vector<const Value *> &values,
                               ThreadPool &pool, SavedState state);

/// Reads the text of a manifest. Returns a message, or nothing.
std::string parseState(const std::string &text, SavedState &state);

/// Reads the manifest at `path`. Returns a message that names it, or nothing.
std::string readStateManifest(const std::string &path, SavedState &state);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_SAVEDSTATE_H
