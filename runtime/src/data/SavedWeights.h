//===- SavedWeights.h - The files of --save-weights -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters as published weights are: the tensors that the parameters are
// views of, in safetensors files of at most 5 GB, with an index where there are
// several.
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
  /// The parameters that are its elements.
  std::vector<const Value *> parts;
  /// Number of its file, and its first byte there.
  size_t file = 0;
  int64_t begin = 0;

  int64_t bytes() const;
};

/// What files of weights hold, and where.
class WeightsLayout {
public:
  /// Lays the parameters out in files of at most `fileBytes`, a tensor at
  /// least. Returns a message where parameters disagree about a tensor, leave
  /// some of it out, or have a type that weights do not have; or nothing.
  std::string plan(const Manifest &manifest,
                   int64_t fileBytes = int64_t(5) * 1000 * 1000 * 1000);

  const std::vector<SavedTensor> &tensors() const { return saved; }
  /// Parameters that are saved.
  const std::vector<const Value *> &values() const { return parameters; }
  /// Of all files.
  int64_t bytes() const;

  /// Makes the files with their headers in a folder; writes the index. Returns
  /// a message, or nothing.
  std::string create(const std::string &folder) const;
  /// Writes the tensors that are dealt to this rank, and sees to it that they
  /// are on the disk. All arenas have what is saved.
  std::string write(tessera_rt_context *ctx, const std::string &folder) const;

private:
  std::string fileName(size_t file) const;
  SafetensorsHeader headerOf(size_t file) const;
  std::string describeIndex() const;

  std::vector<SavedTensor> saved;
  std::vector<const Value *> parameters;
  size_t files = 1;
  /// By file: bytes before its elements.
  std::vector<int64_t> headerBytes;
};

/// Whether a file of that name is one that a save of weights writes.
bool isWeightsName(const std::string &name);

/// Whether a file is one that a run saved. Returns what is wrong, or nothing.
std::string checkSavedWeights(const std::string &path);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_SAVEDWEIGHTS_H
