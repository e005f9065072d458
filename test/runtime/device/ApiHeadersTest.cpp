//===- ApiHeadersTest.cpp - Our declarations and the real headers ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares, at compile time, the runtime's declarations of cuBLASLt and NCCL
// with their headers, if these were found. Names of types may differ; values of
// constants, sizes and kinds of parameters may not.
//
//===----------------------------------------------------------------------===//

#include "SameDeclarations.h"

#include "runtime/cuda/CublasLtApi.h"
#include "runtime/cuda/NcclApi.h"

#include <cstddef>
#include <gtest/gtest.h>

#if defined(TESSERA_HAS_CUBLASLT_HEADER)
#include <cublasLt.h>
#endif
#if defined(TESSERA_HAS_NCCL_HEADER)
#include <nccl.h>
#endif

using namespace tessera::rt::cuda;

TEST(api_headers, cublaslt) {
#if defined(TESSERA_HAS_CUBLASLT_HEADER)
  SAME_NUMBER(lt::Success, CUBLAS_STATUS_SUCCESS);
  SAME_NUMBER(lt::NotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
  SAME_NUMBER(lt::R32F, CUDA_R_32F);
  SAME_NUMBER(lt::R64F, CUDA_R_64F);
  SAME_NUMBER(lt::R16F, CUDA_R_16F);
  SAME_NUMBER(lt::R16BF, CUDA_R_16BF);
  SAME_NUMBER(lt::R8FE4M3, CUDA_R_8F_E4M3);
  SAME_NUMBER(lt::R8FE5M2, CUDA_R_8F_E5M2);
  SAME_NUMBER(lt::Compute32F, CUBLAS_COMPUTE_32F);
  SAME_NUMBER(lt::Compute64F, CUBLAS_COMPUTE_64F);
  SAME_NUMBER(lt::Compute32FTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
  SAME_NUMBER(lt::OpN, CUBLAS_OP_N);
  SAME_NUMBER(lt::OpT, CUBLAS_OP_T);
  SAME_NUMBER(lt::DescTransA, CUBLASLT_MATMUL_DESC_TRANSA);
  SAME_NUMBER(lt::DescTransB, CUBLASLT_MATMUL_DESC_TRANSB);
  SAME_NUMBER(lt::DescEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
  SAME_NUMBER(lt::DescBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  SAME_NUMBER(lt::DescAuxPointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
  SAME_NUMBER(lt::DescAuxLd, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
  SAME_NUMBER(lt::DescScaleA, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
  SAME_NUMBER(lt::DescScaleB, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
  SAME_NUMBER(lt::DescBiasDataType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
  SAME_NUMBER(lt::EpilogueDefault, CUBLASLT_EPILOGUE_DEFAULT);
  SAME_NUMBER(lt::EpilogueBias, CUBLASLT_EPILOGUE_BIAS);
  SAME_NUMBER(lt::EpilogueGelu, CUBLASLT_EPILOGUE_GELU);
  SAME_NUMBER(lt::EpilogueGeluAux, CUBLASLT_EPILOGUE_GELU_AUX);
  SAME_NUMBER(lt::EpilogueGeluBias, CUBLASLT_EPILOGUE_GELU_BIAS);
  SAME_NUMBER(lt::EpilogueGeluAuxBias, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  SAME_NUMBER(lt::EpilogueDGelu, CUBLASLT_EPILOGUE_DGELU);
  SAME_NUMBER(lt::EpilogueDGeluBiasGradient, CUBLASLT_EPILOGUE_DGELU_BGRAD);
  SAME_NUMBER(lt::EpilogueBiasGradientA, CUBLASLT_EPILOGUE_BGRADA);
  SAME_NUMBER(lt::EpilogueBiasGradientB, CUBLASLT_EPILOGUE_BGRADB);
  SAME_NUMBER(lt::LayoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  SAME_NUMBER(lt::LayoutBatchStride,
              CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  SAME_NUMBER(lt::PreferenceWorkspaceBytes,
              CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  SAME_NUMBER(lt::PreferenceAlignmentA,
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  SAME_NUMBER(lt::PreferenceAlignmentB,
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
  SAME_NUMBER(lt::PreferenceAlignmentC,
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
  SAME_NUMBER(lt::PreferenceAlignmentD,
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  static_assert(sizeof(lt::Algo) == sizeof(cublasLtMatmulAlgo_t));
  static_assert(sizeof(lt::Heuristic) ==
                sizeof(cublasLtMatmulHeuristicResult_t));
  static_assert(offsetof(lt::Heuristic, workspaceSize) ==
                offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  static_assert(offsetof(lt::Heuristic, state) ==
                offsetof(cublasLtMatmulHeuristicResult_t, state));
  SAME_FUNCTION(lt, create, cublasLtCreate);
  SAME_FUNCTION(lt, destroy, cublasLtDestroy);
  SAME_FUNCTION(lt, matmul, cublasLtMatmul);
  SAME_FUNCTION(lt, descCreate, cublasLtMatmulDescCreate);
  SAME_FUNCTION(lt, descDestroy, cublasLtMatmulDescDestroy);
  SAME_FUNCTION(lt, descSet, cublasLtMatmulDescSetAttribute);
  SAME_FUNCTION(lt, layoutCreate, cublasLtMatrixLayoutCreate);
  SAME_FUNCTION(lt, layoutDestroy, cublasLtMatrixLayoutDestroy);
  SAME_FUNCTION(lt, layoutSet, cublasLtMatrixLayoutSetAttribute);
  SAME_FUNCTION(lt, preferenceCreate, cublasLtMatmulPreferenceCreate);
  SAME_FUNCTION(lt, preferenceDestroy, cublasLtMatmulPreferenceDestroy);
  SAME_FUNCTION(lt, preferenceSet, cublasLtMatmulPreferenceSetAttribute);
  SAME_FUNCTION(lt, heuristic, cublasLtMatmulAlgoGetHeuristic);
  SAME_FUNCTION(lt, check, cublasLtMatmulAlgoCheck);
  SAME_FUNCTION(lt, statusName, cublasLtGetStatusName);
#else
  GTEST_SKIP() << "cublasLt.h was not found; see TESSERA_CUBLASLT_INCLUDE";
#endif
}

TEST(api_headers, nccl) {
#if defined(TESSERA_HAS_NCCL_HEADER)
  SAME_NUMBER(nccl::Success, ncclSuccess);
  SAME_NUMBER(nccl::InProgress, ncclInProgress);
  SAME_NUMBER(nccl::Int8, ncclInt8);
  SAME_NUMBER(nccl::Uint8, ncclUint8);
  SAME_NUMBER(nccl::Int32, ncclInt32);
  SAME_NUMBER(nccl::Int64, ncclInt64);
  SAME_NUMBER(nccl::Float16, ncclFloat16);
  SAME_NUMBER(nccl::Float32, ncclFloat32);
  SAME_NUMBER(nccl::Float64, ncclFloat64);
  SAME_NUMBER(nccl::Bfloat16, ncclBfloat16);
  SAME_NUMBER(nccl::Sum, ncclSum);
  SAME_NUMBER(nccl::Max, ncclMax);
  SAME_NUMBER(nccl::Min, ncclMin);
  static_assert(sizeof(nccl::UniqueId) == sizeof(ncclUniqueId));
  static_assert(sizeof(nccl::Config) <= sizeof(ncclConfig_t));
  static_assert(nccl::Config::undefined == NCCL_CONFIG_UNDEF_INT);
  static_assert(offsetof(nccl::Config, blocking) ==
                offsetof(ncclConfig_t, blocking));
  static_assert(offsetof(nccl::Config, netName) ==
                offsetof(ncclConfig_t, netName));
  static_assert(offsetof(nccl::Config, commName) ==
                offsetof(ncclConfig_t, commName));
  static_assert(offsetof(nccl::Config, nvlinkCentricSched) ==
                offsetof(ncclConfig_t, nvlinkCentricSched));
  ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(nccl::Config().magic, theirs.magic);
  SAME_FUNCTION(nccl, getUniqueId, ncclGetUniqueId);
  SAME_FUNCTION(nccl, initRank, ncclCommInitRankConfig);
  SAME_FUNCTION(nccl, split, ncclCommSplit);
  SAME_FUNCTION(nccl, finalize, ncclCommFinalize);
  SAME_FUNCTION(nccl, destroy, ncclCommDestroy);
  SAME_FUNCTION(nccl, abort, ncclCommAbort);
  SAME_FUNCTION(nccl, asyncError, ncclCommGetAsyncError);
  SAME_FUNCTION(nccl, errorString, ncclGetErrorString);
  SAME_FUNCTION(nccl, lastError, ncclGetLastError);
  SAME_FUNCTION(nccl, groupStart, ncclGroupStart);
  SAME_FUNCTION(nccl, groupEnd, ncclGroupEnd);
  SAME_FUNCTION(nccl, allReduce, ncclAllReduce);
  SAME_FUNCTION(nccl, reduceScatter, ncclReduceScatter);
  SAME_FUNCTION(nccl, allGather, ncclAllGather);
  SAME_FUNCTION(nccl, broadcast, ncclBroadcast);
  SAME_FUNCTION(nccl, send, ncclSend);
  SAME_FUNCTION(nccl, receive, ncclRecv);
#else
  GTEST_SKIP() << "nccl.h was not found; see TESSERA_NCCL_INCLUDE";
#endif
}
