//===- Npy.h - Tensors as NumPy files ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERPRETER_NPY_H
#define TESSERA_INTERPRETER_NPY_H

#include "tessera/Interpreter/Tensor.h"
#include "llvm/Support/Error.h"

namespace tessera::interp {

/// Writes a tensor as a .npy file of format 1.0, little-endian. f64, f32, f16
/// and integers keep their type (index is i64); bf16 and smaller floats, which
/// NumPy lacks, are written as f32. Fails if the file cannot be written, or an
/// integer's width is not 1, 8, 16, 32 or 64. `isUnsigned`: the file has
/// integers without a sign.
llvm::Error writeNpy(llvm::StringRef path, const Tensor &tensor,
                     bool isUnsigned = false);

/// Reads a tensor with a float, integer or index element type from a .npy file
/// of format 1.0 to 3.0 in C order. The file must have the given shape and the
/// type that `writeNpy` writes; bf16 and smaller floats are rounded from f32.
/// Fails otherwise, with the path.
llvm::Expected<Tensor> readNpy(llvm::StringRef path, const ElementType &type,
                               llvm::ArrayRef<int64_t> shape,
                               bool isUnsigned = false);

} // namespace tessera::interp

#endif // TESSERA_INTERPRETER_NPY_H
