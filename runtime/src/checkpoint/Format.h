//===- Format.h - The files of a checkpoint ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checkpoint is a folder, step-00000100:
//
//   rank-00000.safetensors    the first box that rank 0 writes of each tensor
//   rank-00000.1.safetensors  the second box of tensors that have one, ...
//   manifest.json             the step, the position in the data, and which
//                             rank holds what of each tensor
//   XXH64SUMS                 the checksums of all other files
//
// The manifest says which boxes each rank writes (dealBoxes), so a reader knows
// the file and the bytes of every element before it opens a file.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_FORMAT_H
#define TESSERA_RT_SRC_FORMAT_H

#include "Boxes.h"

#include <string>
#include <utility>
#include <vector>

namespace tessera::rt {

constexpr const char *checkpointManifestName = "manifest.json";
constexpr const char *checkpointSumsName = "XXH64SUMS";

/// The position of a run.
struct RunPosition {
  /// Steps done so far.
  int64_t step = 0;
  /// The sequence of the data with which the next step begins, and that with
  /// which the run's first step began.
  int64_t dataPosition = 0, dataBegin = 0;
  /// The data (describeData), and the run's seed.
  std::string data;
  uint64_t seed = 0;
};

struct CheckpointManifest {
  RunPosition position;
  /// The program that wrote it. Of `layout` only program, hash, ranks, mesh,
  /// stage axis and arguments (parameters and state) are set.
  Manifest layout;
};

/// The text of manifest.json: `manifest`'s parameters and state.
std::string describeCheckpoint(const Manifest &manifest,
                               const RunPosition &position);

/// Reads it. Returns a message, or nothing.
std::string parseCheckpoint(const std::string &text,
                            CheckpointManifest &checkpoint);

/// A box in a file.
struct FilePart {
  const Value *value = nullptr;
  Box box;
  /// Its first byte, counted from the start of the file.
  int64_t begin = 0;

  int64_t bytes() const;
};

/// A safetensors file of one rank.
struct CheckpointFile {
  std::string name;
  /// The bytes before the elements.
  std::string header;
  std::vector<FilePart> parts;
  /// Bytes of the whole file.
  int64_t bytes = 0;
};

/// Lays out the files of each rank. `values` must outlive them. Returns a
/// message if a rank needs more than maxCheckpointFiles, or nothing.
std::string layoutFiles(const std::vector<const Value *> &values, int ranks,
                        std::vector<std::vector<CheckpointFile>> &files);

/// "dp=2,tp=4"
std::string describeMesh(const Manifest &manifest);

/// The parameters and the state of a program, which checkpoints have.
std::vector<const Value *> stateOf(const Manifest &manifest);

/// Names of files with their checksums.
using FileSums = std::vector<std::pair<std::string, uint64_t>>;

/// The text of XXH64SUMS, which `xxhsum -c` reads.
std::string describeSums(const FileSums &sums);
/// Reads it. Returns a message, or nothing.
std::string parseSums(const std::string &text, FileSums &sums);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_FORMAT_H
