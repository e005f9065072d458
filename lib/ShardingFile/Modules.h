//===- Modules.h - Activations around a source's modules --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SHARDINGFILE_MODULES_H
#define TESSERA_SHARDINGFILE_MODULES_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/ShardingFile/ShardingFile.h"

namespace tessera {

/// The shardings of input and output of each module of the source that has one
/// op with a matrix of its own: linear layers and embeddings. Locations name
/// modules: a location "module:layers.0.q". Dimensions are the source's: those
/// of the input that are not summed over, in order, then the features as one
/// dimension. Modules whose features have no such axes are left out.
std::map<std::string, ShardedModule> findModules(mlir::ModuleOp module,
                                                 const Mesh &mesh);

} // namespace tessera

#endif // TESSERA_SHARDINGFILE_MODULES_H
