//===- Manifest.h - What a program says of itself ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_MANIFEST_H
#define TESSERA_LIB_CONVERSION_MANIFEST_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Interfaces/Axes.h"

namespace tessera {

/// The mesh of a module; a mesh without axes, of one device, if it has none.
mlir::FailureOr<Mesh> getMeshOrSingle(mlir::ModuleOp module);

/// The manifest in JSON, as runtime/include/tessera_rt.h describes it, of a
/// step function whose tensors have offsets. `results` are the offsets of its
/// results, in bytes.
mlir::FailureOr<std::string> buildManifest(mlir::func::FuncOp step,
                                           const Mesh &mesh,
                                           llvm::ArrayRef<int64_t> results,
                                           llvm::StringRef program);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_MANIFEST_H
