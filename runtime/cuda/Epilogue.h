//===- Epilogue.h - What follows a matmul, apart ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime's own kernels do where a library does not do it within a
// matmul. Sizes and leading dimensions are in elements, addresses the
// device's.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_EPILOGUE_H
#define TESSERA_RT_CUDA_EPILOGUE_H

#include <cstdint>

namespace tessera::rt::cuda {

/// What TESSERA_RT_FUSE_BIAS, _GELU and _GELU_GRADIENT say of a matmul that
/// is in `c`, in its place: [m, n] of `dtype`. `bias`, of `biasDtype`, may be
/// null for _GELU, and so may `aux`. In f32, or in f64 where `dtype` is F64.
struct Epilogue {
  int64_t kind = 0;
  int32_t dtype = 0, biasDtype = 0;
  int64_t m = 0, n = 0, ldc = 0, auxLd = 0;
  void *c = nullptr;
  const void *bias = nullptr;
  void *aux = nullptr;
};

/// result[j] = the sum over i < rows of from[i][j], in f32, or in f64 where
/// `dtype` is F64; `resultDtype` is `dtype` or F32. The order of additions
/// follows from the sizes.
struct ColumnReduction {
  int32_t dtype = 0, resultDtype = 0;
  int64_t rows = 0, columns = 0, ld = 0;
  const void *from = nullptr;
  void *result = nullptr;
};

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_EPILOGUE_H
