//===- FileTensors.h - A program's arguments in a sharding file -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SHARDINGFILE_FILETENSORS_H
#define TESSERA_SHARDINGFILE_FILETENSORS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/ShardingFile/ShardingFile.h"
#include <vector>

namespace tessera {

/// A parameter or an input of a program.
struct FileArgument {
  mlir::BlockArgument argument;
  bool isParameter = false;
  /// Its name in the file: the tensor's of a parameter, or the input's.
  std::string key;
  /// The shape of that tensor, or the input's whole shape.
  llvm::SmallVector<int64_t> shape;
  /// The parameter as a view of that tensor, without axes.
  ShardedView view;
  /// The argument has a first dimension of micro-batches, which a file lacks.
  bool hasMicroBatches = false;
  /// The argument is stored in another shape than its own.
  bool isStoredFlat = false;
};

/// Lists the parameters and inputs of a program's function with parameters, or
/// of its only function. Fails, with an error, if there is no such function, or
/// if an argument is no tensor of static shape.
mlir::FailureOr<std::vector<FileArgument>>
listFileArguments(mlir::ModuleOp module);

/// The sharding with which a program uses an argument, without ZeRO's axes: the
/// axes of each dimension. `isGathered`: parameters are stored sharded further
/// (ZeRO-3), and gathered before their use.
DimAxes getAxesInUse(const FileArgument &argument, const Mesh &mesh,
                     bool isGathered);

} // namespace tessera

#endif // TESSERA_SHARDINGFILE_FILETENSORS_H
