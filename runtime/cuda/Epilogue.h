//===- Epilogue.h - Separate epilogues of a matmul --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Epilogues that the runtime's own kernels run if a library does not run them
// within a matmul. Sizes and leading dimensions are in elements; addresses are
// the device's.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_EPILOGUE_H
#define TESSERA_RT_CUDA_EPILOGUE_H

#include <cstdint>

namespace tessera::rt::cuda {

/// Applies TESSERA_RT_FUSE_BIAS, _GELU or _GELU_GRADIENT in place to a matmul's
/// result `c`, [m, n] of `dtype`. `bias`, of `biasDtype`, may be null for
/// _GELU, and so may `aux`. The arithmetic is in f32, or in f64 if `dtype` is
/// F64.
struct Epilogue {
  int64_t kind = 0;
  int32_t dtype = 0, biasDtype = 0;
  int64_t m = 0, n = 0, ldc = 0, auxLd = 0;
  void *c = nullptr;
  const void *bias = nullptr;
  void *aux = nullptr;
};

/// result[j] = the sum over i < rows of from[i][j], in f32, or in f64 if
/// `dtype` is F64; `resultDtype` is `dtype` or F32. The order of additions
/// depends only on the sizes.
struct ColumnReduction {
  int32_t dtype = 0, resultDtype = 0;
  int64_t rows = 0, columns = 0, ld = 0;
  const void *from = nullptr;
  void *result = nullptr;
};

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_EPILOGUE_H
