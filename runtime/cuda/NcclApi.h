//===- NcclApi.h - The part of NCCL that is used ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names, numbers and signatures of the NCCL functions that the runtime calls,
// from version 2.28 on, so that it builds without NCCL's headers. A test
// compares them with the headers if these are found.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_NCCLAPI_H
#define TESSERA_RT_CUDA_NCCLAPI_H

#include "Libraries.h"

#include <climits>
#include <cstddef>

namespace tessera::rt::cuda::nccl {

/// ncclResult_t
enum Result : int { Success = 0, InProgress = 7 };
/// ncclDataType_t
enum DataType : int {
  Int8 = 0,
  Uint8 = 1,
  Int32 = 2,
  Int64 = 4,
  Float16 = 6,
  Float32 = 7,
  Float64 = 8,
  Bfloat16 = 9
};
/// ncclRedOp_t
enum Reduction : int { Sum = 0, Max = 2, Min = 3 };

struct CommT;
using Comm = CommT *;

struct UniqueId {
  char internal[128];
};

/// ncclConfig_t as of 2.28. A later library detects missing fields by the size
/// and version. Fields that are not set are "undefined".
struct Config {
  static constexpr int undefined = INT_MIN;

  size_t size = sizeof(Config);
  unsigned int magic = 0xcafebeef;
  unsigned int version = 22809;
  int blocking = undefined;
  int cgaClusterSize = undefined;
  int minCTAs = undefined;
  int maxCTAs = undefined;
  const char *netName = nullptr;
  int splitShare = undefined;
  int trafficClass = undefined;
  const char *commName = nullptr;
  int collnetEnable = undefined;
  int ctaPolicy = undefined;
  int shrinkShare = undefined;
  int nvlsCTAs = undefined;
  int nChannelsPerNetPeer = undefined;
  int nvlinkCentricSched = undefined;
};

/// The functions of a loaded library.
struct Api {
  Library library;
  int (*getUniqueId)(UniqueId *);
  int (*initRank)(Comm *, int ranks, UniqueId, int rank, Config *);
  int (*split)(Comm, int color, int key, Comm *, Config *);
  int (*finalize)(Comm);
  int (*destroy)(Comm);
  int (*abort)(Comm);
  int (*asyncError)(Comm, int *result);
  const char *(*errorString)(int);
  const char *(*lastError)(Comm);
  int (*groupStart)();
  int (*groupEnd)();
  int (*allReduce)(const void *, void *, size_t count, int type, int reduction,
                   Comm, void *stream);
  int (*reduceScatter)(const void *, void *, size_t receiveCount, int type,
                       int reduction, Comm, void *stream);
  int (*allGather)(const void *, void *, size_t sendCount, int type, Comm,
                   void *stream);
  int (*broadcast)(const void *, void *, size_t count, int type, int root, Comm,
                   void *stream);
  int (*send)(const void *, size_t count, int type, int peer, Comm,
              void *stream);
  int (*receive)(void *, size_t count, int type, int peer, Comm, void *stream);

  /// Binds all functions; see library.error.
  void bind();
};

} // namespace tessera::rt::cuda::nccl

#endif // TESSERA_RT_CUDA_NCCLAPI_H
