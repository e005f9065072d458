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

/// The manifest in JSON, as runtime/include/tessera_rt.h describes it, of step
/// functions whose tensors have offsets: one, or those of a pipeline by pp
/// rank. `results` are the offsets of their results, in bytes.
mlir::FailureOr<std::string>
buildManifest(llvm::ArrayRef<mlir::func::FuncOp> steps, const Mesh &mesh,
              llvm::ArrayRef<llvm::SmallVector<int64_t>> results,
              llvm::StringRef program);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_MANIFEST_H
