//===- Weights.h - The files of --weights -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Published weights from which parameters start: safetensors files, mapped and
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

/// The tensors that a parameter is a view of: one, or one for each index of its
/// first dimension.
struct WeightView {
  Source source;
  std::vector<std::string> names;
  std::vector<const WeightTensor *> tensors;
};

class WeightFiles {
public:
  /// Maps a file, or the files of an index (model.safetensors.index.json) or a
  /// folder. A folder's files are its index's, else model.safetensors,
  /// else every .safetensors file in it. Returns a message, or nothing.
  std::string open(const std::string &path);
  bool isOpen() const { return !files.empty(); }

  /// Finds the tensor of each parameter, and compares type and shape. All names
  /// may have one prefix more or less than the program's ("transformer.").
  /// Returns a message that lists all tensors that are missing or misshapen, or
  /// nothing. With `initMissing`, missing tensors are not an error.
  std::string bind(const Manifest &manifest, bool initMissing);

  /// After bind: the view with which an argument (a parameter or its master
  /// copy) starts; null if it has none.
  const WeightView *find(const Value &value) const;

  /// After bind: remarks for readers, such as tensors that no parameter has.
  const std::vector<std::string> &remarks() const { return notes; }

  /// Identifies these files, for a comparison between ranks.
  std::string fingerprint() const;

private:
  std::string openFile(const std::string &path);
  std::string openFolder(const std::string &folder);
  std::string openIndex(const std::string &path);
  bool choosePrefix();
  /// Finds the tensors of a parameter; `faults` gets messages.
  void bind(const std::string &parameter, WeightView &view, bool initMissing,
            std::vector<std::string> &faults);
  const WeightTensor *findTensor(const std::string &name) const;
  void noteUnused();
  /// Returns a message if the files have a head with other numbers than the
  /// table to which the program ties it, or nothing. Call it after the tensors
  /// of parameters are found.
  std::string checkTiedHead() const;

  std::string path;
  /// A deque, so that mapped files are never moved.
  std::deque<MappedFile> files;
  std::map<std::string, WeightTensor> tensors;
  uint64_t hash = 0;
  /// Filled by bind, by the parameter's name.
  std::map<std::string, WeightView> views;
  /// Prefix added to a name of the program, or removed from it.
  std::string added, removed;
  std::vector<std::string> notes;
};

/// Copies elements [first, first + count) of a parameter, in row-major order of
/// its logical shape, to `out`, an array of the parameter's type.
void readElements(const WeightView &view,
                  const std::vector<int64_t> &logicalShape, int32_t dtype,
                  int64_t first, int64_t count, uint8_t *out);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_WEIGHTS_H
