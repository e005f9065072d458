//===- Manifest.h - The manifest of a program -------------------*- C++ -*-===//
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

/// Returns the mesh of a module, or a mesh of one device without axes if it has
/// none.
mlir::FailureOr<Mesh> getMeshOrSingle(mlir::ModuleOp module);

/// Returns the manifest as JSON (see runtime/include/tessera_rt.h) for step
/// functions whose tensors have offsets: one, or one per pp rank of a pipeline.
/// `results` are the offsets of their results, in bytes.
mlir::FailureOr<std::string>
buildManifest(llvm::ArrayRef<mlir::func::FuncOp> steps, const Mesh &mesh,
              llvm::ArrayRef<llvm::SmallVector<int64_t>> results,
              llvm::StringRef program);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_MANIFEST_H
