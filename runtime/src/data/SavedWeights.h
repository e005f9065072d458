//===- SavedWeights.h - The files of --save-weights -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Saves parameters in the format of published weights: parameters are views of
// tensors, which are in safetensors files of at most 5 GB, with an index if
// there are several files.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_SAVEDWEIGHTS_H
#define TESSERA_RT_SRC_SAVEDWEIGHTS_H

#include "Manifest.h"
#include "Safetensors.h"
#include "ranks/Context.h"

namespace tessera::rt {

/// A tensor that will be written.
struct SavedTensor {
  std::string name;
  int32_t dtype = 0;
  std::vector<int64_t> shape;
  /// A parameter that is a part of its elements, or the slice of that at an
  /// index of its first dimension; -1: all of it.
  struct Part {
    const Value *value;
    int64_t index;
    int64_t elements() const;
  };
  std::vector<Part> parts;
  /// Number of its file, and its first byte there.
  size_t file = 0;
  int64_t begin = 0;

  int64_t bytes() const;
};

/// The contents and layout of files of weights.
class WeightsLayout {
public:
  /// Lays the parameters out in files of at most `fileBytes`, with at least one
  /// tensor each. Returns a message if parameters disagree about a tensor, do
  /// not cover it, or have a type that weights do not have; or nothing.
  std::string plan(const Manifest &manifest,
                   int64_t fileBytes = int64_t(5) * 1000 * 1000 * 1000);

  const std::vector<SavedTensor> &tensors() const { return saved; }
  /// Parameters that are saved.
  const std::vector<const Value *> &values() const { return parameters; }
  /// Bytes of all files.
  int64_t bytes() const;

  /// Creates the files with their headers in a folder and writes the index.
  /// Returns a message, or nothing.
  std::string create(const std::string &folder) const;
  /// Writes the tensors that are dealt to this rank and flushes them to disk.
  /// All arenas must have the saved values.
  std::string write(tessera_rt_context *ctx, const std::string &folder) const;

private:
  std::string fileName(size_t file) const;
  SafetensorsHeader headerOf(size_t file) const;
  std::string describeIndex() const;

  std::vector<SavedTensor> saved;
  std::vector<const Value *> parameters;
  size_t files = 1;
  /// Bytes before the elements, by file.
  std::vector<int64_t> headerBytes;
};

/// True if a save of weights writes files of that name.
bool isWeightsName(const std::string &name);

/// Checks that a run saved this file. Returns an error, or nothing.
std::string checkSavedWeights(const std::string &path);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_SAVEDWEIGHTS_H
