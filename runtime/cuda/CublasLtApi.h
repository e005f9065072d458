//===- CublasLtApi.h - The part of cuBLASLt that is used --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names, numbers and signatures of the cuBLASLt functions that the runtime
// calls, so that it builds without cuBLASLt's headers. A test compares them
// with the headers if these are found.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_CUBLASLTAPI_H
#define TESSERA_RT_CUDA_CUBLASLTAPI_H

#include "Libraries.h"

namespace tessera::rt::cuda::lt {

/// cublasStatus_t
enum Status : int { Success = 0, NotSupported = 15 };
/// cudaDataType
enum DataType : int {
  R32F = 0,
  R64F = 1,
  R16F = 2,
  R16BF = 14,
  R8FE4M3 = 28,
  R8FE5M2 = 29
};
/// cublasComputeType_t
enum ComputeType : int {
  Compute32F = 68,
  Compute64F = 70,
  Compute32FTf32 = 77
};
/// cublasOperation_t
enum Operation : int { OpN = 0, OpT = 1 };
/// cublasLtMatmulDescAttributes_t
enum DescAttribute : int {
  DescTransA = 3,
  DescTransB = 4,
  DescEpilogue = 7,
  DescBiasPointer = 8,
  DescAuxPointer = 11,
  DescAuxLd = 12,
  DescScaleA = 17,
  DescScaleB = 18,
  DescBiasDataType = 26
};
/// cublasLtEpilogue_t
enum Epilogue : int {
  EpilogueDefault = 1,
  EpilogueBias = 4,
  EpilogueGelu = 32,
  EpilogueGeluAux = 160,
  EpilogueGeluBias = 36,
  EpilogueGeluAuxBias = 164,
  EpilogueDGelu = 192,
  EpilogueDGeluBiasGradient = 208,
  EpilogueBiasGradientA = 256,
  EpilogueBiasGradientB = 512
};
/// cublasLtMatrixLayoutAttribute_t
enum LayoutAttribute : int { LayoutBatchCount = 5, LayoutBatchStride = 6 };
/// cublasLtMatmulPreferenceAttributes_t
enum PreferenceAttribute : int {
  PreferenceWorkspaceBytes = 1,
  PreferenceAlignmentA = 5,
  PreferenceAlignmentB = 6,
  PreferenceAlignmentC = 7,
  PreferenceAlignmentD = 8
};

struct HandleT;
struct DescT;
struct LayoutT;
struct PreferenceT;
using Handle = HandleT *;
using Desc = DescT *;
using Layout = LayoutT *;
using Preference = PreferenceT *;

/// cublasLtMatmulAlgo_t. It may be stored, and used again with the same version
/// of the library.
struct Algo {
  uint64_t data[8];
};

/// cublasLtMatmulHeuristicResult_t
struct Heuristic {
  Algo algo;
  size_t workspaceSize;
  int state;
  float wavesCount;
  int reserved[4];
};

/// The functions of a loaded library.
struct Api {
  Library library;
  int (*create)(Handle *);
  int (*destroy)(Handle);
  int (*matmul)(Handle, Desc, const void *alpha, const void *a, Layout,
                const void *b, Layout, const void *beta, const void *c, Layout,
                void *d, Layout, const Algo *, void *workspace,
                size_t workspaceBytes, void *stream);
  int (*descCreate)(Desc *, int computeType, int scaleType);
  int (*descDestroy)(Desc);
  int (*descSet)(Desc, int attribute, const void *value, size_t bytes);
  int (*layoutCreate)(Layout *, int type, uint64_t rows, uint64_t columns,
                      int64_t ld);
  int (*layoutDestroy)(Layout);
  int (*layoutSet)(Layout, int attribute, const void *value, size_t bytes);
  int (*preferenceCreate)(Preference *);
  int (*preferenceDestroy)(Preference);
  int (*preferenceSet)(Preference, int attribute, const void *value,
                       size_t bytes);
  int (*heuristic)(Handle, Desc, Layout, Layout, Layout, Layout, Preference,
                   int requested, Heuristic *, int *returned);
  /// Checks an algorithm for a matmul and computes its requirements.
  int (*check)(Handle, Desc, Layout, Layout, Layout, Layout, const Algo *,
               Heuristic *);
  const char *(*statusName)(int);

  /// Binds all functions; see library.error.
  void bind();
};

} // namespace tessera::rt::cuda::lt

#endif // TESSERA_RT_CUDA_CUBLASLTAPI_H
