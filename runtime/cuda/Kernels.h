//===- Kernels.h - The runtime's own operations on a device -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that the runtime runs on a device in addition to generated kernels
// and libraries. On a CUDA device these are hand-written kernels; on an
// emulated one host code can replace them.
//
// Every function enqueues on a stream and returns a message, or nothing.
// Operands are device addresses; shapes, strides and counts are in elements.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_H
#define TESSERA_RT_CUDA_KERNELS_H

#include "Attention.h"
#include "Device.h"
#include "Epilogue.h"
#include "Experts.h"

namespace tessera::rt::cuda {

/// A strided copy of at most 8 dimensions, of elements of 1, 2, 4 or 8 bytes.
struct StridedCopy {
  int64_t elementSize;
  int32_t rank;
  const int64_t *shape;
  const void *source;
  const int64_t *sourceStrides;
  void *destination;
  const int64_t *destinationStrides;
};

/// destination[o][i] = reduction over s of sources[s][o][i] for i < inner, in
/// ascending s, in at least f32, rounded once. Rows are `sourceStride` apart in
/// a source and `inner` apart in the destination. There are at most 64 sources;
/// the destination may be one of them if the strides are equal.
struct LocalReduction {
  int32_t dtype, reduction;
  const void *const *sources;
  int32_t numSources;
  int64_t outer, inner, sourceStride;
  void *destination;
};

class Kernels : public Attention, public Experts {
public:
  virtual std::string copyStrided(Stream stream, const StridedCopy &copy) = 0;
  /// Fills `count` elements, each with the low bytes of `bits`.
  virtual std::string fill(Stream stream, int64_t elementSize,
                           void *destination, int64_t count, int64_t bits) = 0;
  virtual std::string reduce(Stream stream, const LocalReduction &call) = 0;

  /// See tessera_rt_block_begin and _end. `offset` is the block's offset in the
  /// arena.
  virtual std::string beginBlock(Stream stream, void *block, int64_t offset,
                                 int64_t bytes, bool forget) = 0;
  virtual std::string endBlock(Stream stream, void *block, int64_t offset,
                               int64_t bytes, bool forget) = 0;
  /// Returns the result of endBlock so far: a message about the first block
  /// whose end was overwritten. Waits for the stream.
  virtual std::string blockFault(Stream stream) = 0;

  virtual std::string epilogue(Stream stream, const Epilogue &call) = 0;
  /// Bytes of working memory that the call below needs: at most 16 MiB.
  virtual int64_t reductionWorkspace(const ColumnReduction &call) const = 0;
  virtual std::string reduceColumns(Stream stream, const ColumnReduction &call,
                                    void *workspace) = 0;

  /// Bytes of working memory that the call below needs.
  virtual int64_t
  embeddingWorkspace(const tessera_rt_embedding_desc &desc) const = 0;
  /// See tessera_rt_embedding_backward.
  virtual std::string embeddingBackward(Stream stream,
                                        const tessera_rt_embedding_desc &desc,
                                        const void *grad, const void *ids,
                                        void *result, int64_t offset,
                                        void *workspace) = 0;
};

/// The hand-written kernels, loaded on `device`. Null with a message if they
/// cannot be loaded.
std::unique_ptr<Kernels> createDeviceKernels(Device &device,
                                             std::string &error);

/// Host code that replaces kernels, for an emulated device. It uses the threads
/// of `ctx`, which must outlive it.
std::unique_ptr<Kernels> createHostKernels(Device &device,
                                           tessera_rt_context *ctx);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_KERNELS_H
