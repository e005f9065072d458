//===- LibraryApis.cpp - Functions of loaded libraries --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See CublasLtApi.h and NcclApi.h.
//
//===----------------------------------------------------------------------===//

#include "CublasLtApi.h"
#include "NcclApi.h"

using namespace tessera::rt::cuda;

void lt::Api::bind() {
  library.bind(create, "cublasLtCreate");
  library.bind(destroy, "cublasLtDestroy");
  library.bind(matmul, "cublasLtMatmul");
  library.bind(descCreate, "cublasLtMatmulDescCreate");
  library.bind(descDestroy, "cublasLtMatmulDescDestroy");
  library.bind(descSet, "cublasLtMatmulDescSetAttribute");
  library.bind(layoutCreate, "cublasLtMatrixLayoutCreate");
  library.bind(layoutDestroy, "cublasLtMatrixLayoutDestroy");
  library.bind(layoutSet, "cublasLtMatrixLayoutSetAttribute");
  library.bind(preferenceCreate, "cublasLtMatmulPreferenceCreate");
  library.bind(preferenceDestroy, "cublasLtMatmulPreferenceDestroy");
  library.bind(preferenceSet, "cublasLtMatmulPreferenceSetAttribute");
  library.bind(heuristic, "cublasLtMatmulAlgoGetHeuristic");
  library.bind(check, "cublasLtMatmulAlgoCheck");
  library.bind(statusName, "cublasLtGetStatusName");
}

void nccl::Api::bind() {
  library.bind(getUniqueId, "ncclGetUniqueId");
  library.bind(initRank, "ncclCommInitRankConfig");
  library.bind(split, "ncclCommSplit");
  library.bind(finalize, "ncclCommFinalize");
  library.bind(destroy, "ncclCommDestroy");
  library.bind(abort, "ncclCommAbort");
  library.bind(asyncError, "ncclCommGetAsyncError");
  library.bind(errorString, "ncclGetErrorString");
  library.bind(lastError, "ncclGetLastError");
  library.bind(groupStart, "ncclGroupStart");
  library.bind(groupEnd, "ncclGroupEnd");
  library.bind(allReduce, "ncclAllReduce");
  library.bind(reduceScatter, "ncclReduceScatter");
  library.bind(allGather, "ncclAllGather");
  library.bind(broadcast, "ncclBroadcast");
  library.bind(send, "ncclSend");
  library.bind(receive, "ncclRecv");
}
