//===- Weights.h - The files of --weights -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Published weights that parameters begin with: safetensors files, mapped and
// never read as a whole. A rank copies the elements of its own blocks.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_WEIGHTS_H
#define TESSERA_RT_SRC_WEIGHTS_H

#include "Manifest.h"
#include "Npy.h"
#include "Safetensors.h"

#include <deque>
#include <map>

namespace tessera::rt {

/// A tensor in a mapped file.
struct WeightTensor {
  /// -1 for a type that weights do not have.
  int32_t dtype = -1;
  std::string type;
  std::vector<int64_t> shape;
  const uint8_t *elements = nullptr;
};

class WeightFiles {
public:
  /// Maps a file, or those that an index (model.safetensors.index.json) or a
  /// folder names: by its index, else model.safetensors, else every
  /// .safetensors file in it. Returns a message, or nothing.
  std::string open(const std::string &path);
  bool isOpen() const { return !files.empty(); }

  /// Finds the tensor of each parameter, and compares type and shape. All names
  /// may have one prefix more or less than the program's ("transformer.").
  /// Returns a message that lists all tensors that are missing or misshapen, or
  /// nothing. With `initMissing` none are missing.
  std::string bind(const Manifest &manifest, bool initMissing);

  /// After bind: the tensor that an argument begins with, a parameter or the
  /// master copy of one; null where it begins otherwise.
  const WeightTensor *find(const Value &value) const;
  /// Its view of that tensor.
  const Source &sourceOf(const Value &value) const;

  /// After bind: what a reader has to know, such as tensors that no parameter
  /// has. Empty: nothing.
  const std::vector<std::string> &remarks() const { return notes; }

  /// What tells these files from others, for a comparison of ranks.
  std::string fingerprint() const;

private:
  std::string openFile(const std::string &path);
  std::string openFolder(const std::string &folder);
  std::string openIndex(const std::string &path);
  bool choosePrefix();
  const WeightTensor *findTensor(const std::string &name) const;
  void noteUnused();
  /// A message where the files have a head that the program ties to its table,
  /// with other numbers; or nothing. After the tensors of parameters are found.
  std::string checkTiedHead() const;

  std::string path;
  /// A deque: mapped files stay where they are.
  std::deque<MappedFile> files;
  std::map<std::string, WeightTensor> tensors;
  uint64_t hash = 0;
  /// After bind, by the parameter's name.
  std::map<std::string, Source> sources;
  /// Added to a name of the program, or taken from it.
  std::string added, removed;
  std::vector<std::string> notes;
};

/// Copies elements [first, first + count) of a parameter, in row-major order of
/// its logical shape, to `out`, an array of the parameter's type.
void readElements(const WeightTensor &tensor, const Source &source,
                  const std::vector<int64_t> &logicalShape, int32_t dtype,
                  int64_t first, int64_t count, uint8_t *out);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_WEIGHTS_H
