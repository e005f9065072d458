//===- Manifest.h - A program's description of itself -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The manifest of a program, read and checked.
// The format is documented in tessera_manifest.h.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_MANIFEST_H
#define TESSERA_RT_SRC_MANIFEST_H

#include "host/Target.h"
#include "ranks/Operation.h"
#include "support/Json.h"

#include <cmath>
#include <string>
#include <vector>

namespace tessera::rt {

enum class Role {
  Param,
  State,
  Tokens,
  Labels,
  Starts,
  Input,
  Control,
  Result
};

/// The name of an argument's role.
const char *roleName(Role role);

/// The initial values of an argument.
struct Initialiser {
  enum Kind { None, Zeros, Ones, Constant, Normal, Uniform } kind = None;
  /// Constant: value. Normal: mean and deviation. Uniform: low and high.
  double first = 0, second = 0;
};

/// A parameter as a view of a tensor in files of weights: its element (i, j,
/// ...) is element offset + i strides[0] + j strides[1] + ... of the tensor, in
/// row-major order. With a `*` in the name there is a tensor for each i, and
/// its stride is 0.
struct Source {
  std::string tensor;
  std::vector<int64_t> shape;
  int64_t offset = 0;
  /// Strides by dimension of the logical shape.
  std::vector<int64_t> strides;

  bool hasTensors() const { return tensor.find('*') != std::string::npos; }
  /// The names of the tensors of a parameter of this logical shape, by i.
  std::vector<std::string>
  names(const std::vector<int64_t> &logicalShape) const;
};

/// An argument or result.
struct Value {
  std::string name;
  Role role = Role::Result;
  int32_t dtype = 0;
  /// Files have the integers of this type without a sign.
  bool isUnsigned = false;
  std::vector<int64_t> shape, paddedShape, localShape;
  /// The shape in files, and the number of tiles by dimension. Files have the
  /// same elements, in the same order except for tiles; no tiles means one.
  std::vector<int64_t> logicalShape, tiles;
  /// The stored order of each dimension's chunks; empty: their original order.
  std::vector<std::vector<int64_t>> order;
  std::vector<std::vector<StridedAxis>> sharding;
  /// Offset in the arena of each pp rank, -1 on ranks without the value.
  std::vector<int64_t> offsets{0};
  int64_t bytes = 0;
  /// Ids of an argument are at least 0 and less than this; 0: any integers.
  int64_t vocab = 0;
  /// An id that is allowed in addition to the vocabulary.
  int64_t ignored = 0;
  /// Starts: the id that ends a document.
  int64_t eod = 0;
  /// Labels: their distance from the row, in tokens: 0 or 1.
  int64_t shift = 1;
  Initialiser init;
  /// Parameters: the default is the tensor of their own name and logical shape.
  Source source;
  /// State: the parameter whose numbers it starts with, or empty.
  std::string of;
  /// Arguments: the result that replaces it after a step, or -1.
  int64_t donate = -1;

  int64_t elements() const;
  int64_t localElements() const;
  /// True if a rank has a block of the value; the block's offset.
  bool isOn(int rank) const { return offsetOn(rank) >= 0; }
  int64_t offsetOn(int rank) const {
    return offsets[size_t(getBlockIndex(&stageAxis, 1, rank))];
  }
  ArenaBlock blockOn(int rank) const { return {offsetOn(rank), bytes}; }
  /// The manifest's stage axis.
  StridedAxis stageAxis;
};

/// Facts about a pipeline's lists.
struct PipelineFacts {
  std::string schedule;
  /// Stages that a micro-batch passes; 0: there is no pipeline.
  int64_t stages = 0;
  int64_t microBatches = 0;
  /// Entries of the longest list.
  int64_t entries = 0;
  /// Idle fraction of 1; NaN: the compiler predicts none.
  double bubble = std::nan("");
};

/// The layers of experts whose loads a run reports.
struct ExpertFacts {
  /// Number of layers; 0: there are none.
  int64_t layers = 0;
  /// Experts of the layer that has most.
  int64_t most = 0;
};

struct Manifest {
  std::string program, hash;
  /// The target of the program: "host" or "cuda".
  std::string target = "host";
  int ranks = 0;
  /// Bytes of the largest arena of all pp ranks.
  int64_t arenaBytes = 0;
  std::vector<MeshAxis> mesh;
  /// Stage axis of a pipeline; of size 1 otherwise.
  StridedAxis stageAxis;
  PipelineFacts pipeline;
  ExpertFacts experts;
  std::vector<std::string> plan;
  /// Bytes at the peak of a step, by what they hold.
  std::vector<std::pair<std::string, int64_t>> memory;
  std::vector<Value> arguments, results;

  /// True if a step changes arguments.
  bool isTraining() const;
  /// True if the run can make a step leave all arguments as they were: it has
  /// limits to set, and learns of such a step.
  bool hasLimits() const;
  /// True if the step scales its loss, so that gradients may overflow at times.
  bool scalesLoss() const;
  /// The result of that name if it has one element, or null.
  const Value *findScalar(const char *name) const;
};

inline bool isData(const Value &value) {
  return value.role == Role::Tokens || value.role == Role::Labels ||
         value.role == Role::Starts;
}

/// Reads a manifest. Returns false and a message if it is not valid.
bool parseManifest(const char *text, Manifest &manifest, std::string &error);

/// Reads ranks, mesh and stage axis of a JSON object with a manifest's members,
/// and the arguments in its member `values`. Returns a message, or nothing.
std::string readLayout(const Json &json, const char *values,
                       Manifest &manifest);

/// "[4, 16]"
std::string describeShape(const std::vector<int64_t> &shape);

/// The name of a type in files: that of the dtype, or "u8" for an unsigned i8.
std::string fileTypeName(int32_t dtype, bool isUnsigned);

/// "f32[4, 16]"
std::string describeType(int32_t dtype, const std::vector<int64_t> &shape,
                         bool isUnsigned = false);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_MANIFEST_H
