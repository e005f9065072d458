//===- Reader.h - Reading a checkpoint --------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checkpoint that is opened for reading. Ranks of any mesh read the parts
// that their blocks need; files are mapped when a part of them is first read.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_READER_H
#define TESSERA_RT_SRC_READER_H

#include "Format.h"
#include "data/Npy.h"
#include "support/ThreadPool.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tessera::rt {

/// True if an argument takes its value from a checkpoint of which a run takes
/// all, or parameters alone; then copies of parameters in a wider type, too.
bool isTaken(const Value &value, bool parametersAlone);

class CheckpointReader {
public:
  /// Opens the folder of one step and checks that its manifest is as it was
  /// written and that it has exactly the files that the manifest implies.
  /// Returns a message, or nothing. `isForeign` says whether what is wrong is
  /// no damage: the folder was written by another version.
  std::string open(const std::string &path, bool &isForeign);
  bool isOpen() const { return fd >= 0; }

  CheckpointReader() = default;
  CheckpointReader(const CheckpointReader &) = delete;
  CheckpointReader &operator=(const CheckpointReader &) = delete;
  ~CheckpointReader();

  const std::string &path() const { return folder; }
  const CheckpointManifest &manifest() const { return checkpoint; }
  /// Names and bytes of all files but the checksums.
  int64_t bytes() const;
  /// Identifies the checkpoint, for a comparison between ranks.
  std::string fingerprint() const;

  /// Compares the bytes of each file with those that the manifest implies.
  /// Returns a message that names the first that differs, or nothing.
  std::string checkSizes() const;

  /// Compares every `parts`-th file, from file `part` on, with its checksum and
  /// its header. Returns a message that names the first that differs, or
  /// nothing.
  std::string verify(ThreadPool &pool, int part, int parts) const;

  /// Compares the tensors with those that a program takes. Returns a message
  /// with all that differ, or nothing.
  std::string check(const Manifest &manifest, bool parametersAlone) const;

  /// The tensor of that name; null if there is none.
  const Value *find(const std::string &name) const;

  /// Copies `count` elements of a tensor from element `first` of its row-major
  /// order on. Returns a message if a file cannot be read, or nothing.
  std::string read(const Value &tensor, int64_t first, int64_t count,
                   uint8_t *out) const;

private:
  /// A box of a tensor in a file.
  struct Place {
    const FilePart *part;
    size_t file;
  };
  std::string openFile(size_t file, const MappedFile *&mapped) const;
  std::string checkNames() const;
  std::string readManifest(bool &isForeign);

  std::string folder;
  int fd = -1;
  CheckpointManifest checkpoint;
  FileSums sums;
  uint64_t sumOfSums = 0;
  std::vector<CheckpointFile> files;
  /// The places of a tensor's boxes, in ascending order of their offsets.
  std::map<const Value *, std::vector<Place>> places;
  std::map<std::string, const Value *> tensors;

  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<MappedFile>> mapped;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_READER_H
