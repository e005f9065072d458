//===- ShardingFile.h - Shardings of a program as a file --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sharding file has a mesh, what else decides a trainer's layout, and the
// shardings of the tensors of weight files, of inputs and around modules:
//
//     {"tessera": "shardings", "version": 1, "mesh": {"dp": 2, "tp": 4},
//      "plan": {"zero": 2}, "strategy": "dp,tp,zero=2",
//      "tensors": {"q.weight": {"shape": [64, 64], "axes": [["tp"], []]}}}
//
// This header has the file as a value, its text, and the layout that it gives.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SHARDINGFILE_SHARDINGFILE_H
#define TESSERA_SHARDINGFILE_SHARDINGFILE_H

#include "tessera/Interfaces/Axes.h"
#include "tessera/Plan/PlanFields.h"
#include "tessera/Training/GivenLayout.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>

namespace tessera {

/// The axes of each dimension of a tensor.
using DimAxes = llvm::SmallVector<AxisList, 4>;

/// A parameter as a view of a file's tensor.
struct ShardedView {
  /// The argument's name.
  std::string name;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape, strides;
  /// In use, without what ZeRO adds.
  DimAxes axes;
  /// The sharding came from propagation, and not from a seed.
  bool isPropagated = false;
};

/// A tensor of a weights file: the axes of its dimensions, or where they do not
/// say it, views. A tensor that was read has only what the file says.
struct ShardedTensor {
  llvm::SmallVector<int64_t> shape;
  std::optional<DimAxes> axes;
  bool isPropagated = false;
  std::vector<ShardedView> views;
};

/// An input of the program.
struct ShardedInput {
  std::optional<llvm::SmallVector<int64_t>> shape;
  DimAxes axes;
  bool isPropagated = false;
};

/// A module with one matmul or lookup: its activations.
struct ShardedModule {
  DimAxes input, output;
  /// Axes over which the op's result is a partial sum before it has the
  /// sharding `output`.
  AxisList outputPartial;
};

/// The content of a sharding file.
struct ShardingFile {
  Mesh mesh;
  /// None: the file names no strategy.
  std::optional<Strategy> strategy;
  /// The fields of a plan that decide a layout; the mesh has the others.
  GivenPlan plan;
  /// The text of a decision file; empty: no search decided.
  std::string decisions;
  std::map<std::string, ShardedTensor> tensors;
  std::map<std::string, ShardedInput> inputs;
  std::map<std::string, ShardedModule> modules;
};

/// Parses the text of a sharding file and checks it: known keys and axes, axes
/// used once, and as many lists of axes as dimensions. The error names the
/// place in the file.
llvm::Expected<ShardingFile> parseShardingFile(llvm::StringRef text);

/// Prints a file that parseShardingFile() reads back.
void printShardingFile(const ShardingFile &file, llvm::raw_ostream &os);

/// Copies the fields of a plan that a sharding file has and that do not have
/// their default.
void setLayoutFields(GivenPlan &to, const Plan &from);

/// A file that a program is compiled with.
struct GivenShardings {
  /// The file's name, for messages.
  std::string path;
  ShardingFile file;
  /// The file's own strategy or decisions are used: they repeat what led to
  /// propagated shardings, which are then no seeds.
  bool hasOwnStrategy = false;
};

/// Completes a layout with the mesh of a file and, if the layout has no
/// strategy of its own, with the strategy and plan of the file. The layout's
/// plan is complete afterwards. Fails if a mesh is given that differs.
llvm::Error takeLayout(GivenShardings &shardings, GivenLayout &layout);

} // namespace tessera

#endif // TESSERA_SHARDINGFILE_SHARDINGFILE_H
