//===- Launch.h - Launches of the hand-written kernels ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The calls of the C ABI that hand-written kernels execute on a stream.
// Addresses are the device's. Workspaces are aligned to 256 bytes and belong to
// the call until the stream has finished it. The entry points of the C ABI have
// checked the arguments. Every function returns a message, or nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_LAUNCH_H
#define TESSERA_RT_CUDA_KERNELS_LAUNCH_H

#include "Builtin.h"

#include "../Epilogue.h"
#include "../Experts.h"

#include <vector>

namespace tessera::rt::cuda {

/// Fills `count` elements of `elementSize` bytes at `to` with the low bytes of
/// `bits`.
std::string launchFill(BuiltinKernels &kernels, Stream stream,
                       int64_t elementSize, void *to, int64_t count,
                       int64_t bits);

/// Computes to[i] = from[i], bf16, as f32 for i < count. Both are aligned to 16
/// bytes.
std::string launchWiden(BuiltinKernels &kernels, Stream stream,
                        const void *from, void *to, int64_t count);

/// Copies a strided block; strides are in elements of `elementSize` bytes (1,
/// 2, 4 or 8) and may be 0 or negative in the source.
std::string launchCopy(BuiltinKernels &kernels, Stream stream,
                       int64_t elementSize, int32_t rank, const int64_t *shape,
                       const void *from, const int64_t *fromStrides, void *to,
                       const int64_t *toStrides);

/// Watched blocks: see tessera_rt_block_begin. `offset` is for the message.
/// `fault` is three integers of device memory, initially 0, which the first
/// fault fills. describeBlockFault turns them into the host target's message,
/// or nothing without a fault.
std::string launchBlockBegin(BuiltinKernels &kernels, Stream stream,
                             void *block, int64_t bytes, bool forget);
std::string launchBlockEnd(BuiltinKernels &kernels, Stream stream, void *block,
                           int64_t bytes, int64_t offset, bool forget,
                           int64_t *fault);
std::string describeBlockFault(const int64_t fault[3]);

/// See tessera_rt_embedding_backward. A call with more than 2^31 - 1 positions
/// or rows is refused.
int64_t embeddingWorkspace(const tessera_rt_embedding_desc &desc);
std::string launchEmbeddingBackward(BuiltinKernels &kernels, Stream stream,
                                    const tessera_rt_embedding_desc &desc,
                                    const void *grad, const void *ids,
                                    void *result, int64_t offset,
                                    void *workspace);

/// See Experts.h.
int64_t routeWorkspace(const tessera_rt_route_desc &desc);
std::string launchRoute(BuiltinKernels &kernels, Stream stream,
                        const tessera_rt_route_desc &desc, const void *ids,
                        int64_t offset, int32_t *routing,
                        const RoutingCounts &counts, void *workspace);
int64_t capacityWorkspace(const tessera_rt_capacity_desc &desc);
std::string launchExpertCapacity(BuiltinKernels &kernels, Stream stream,
                                 const tessera_rt_capacity_desc &desc,
                                 const void *ids, const void *scores,
                                 void *result, void *workspace);
int64_t expertsWorkspace(ExpertsCall call, const tessera_rt_experts_desc &desc);
std::string launchExperts(BuiltinKernels &kernels, Stream stream,
                          ExpertsCall call, const tessera_rt_experts_desc &desc,
                          const ExpertTensors &tensors, void *workspace);

/// Operands of an attention call; see tessera_rt_attention.
struct AttentionOperands {
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  int64_t queryOffset = 0, keyOffset = 0;
  const int32_t *starts = nullptr;
  const float *bias = nullptr;
};

/// Inputs of the backward (grad, out), and the gradients of the operands.
struct AttentionGradients {
  const void *grad = nullptr, *out = nullptr;
  const float *logsumexp = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
};

/// True if the matrix-unit kernels support the call; the others support any
/// heads up to 256.
bool hasMatrixAttention(const tessera_rt_attention_desc &desc);

/// Returns why the kernels do not support a call, or nothing.
std::string checkAttention(const tessera_rt_attention_desc &desc);

/// See tessera_rt_attention; `logsumexp` may be null.
std::string launchAttention(BuiltinKernels &kernels, Stream stream,
                            const tessera_rt_attention_desc &desc,
                            const AttentionOperands &operands, void *out,
                            float *logsumexp);

/// See tessera_rt_attention_backward.
int64_t attentionBackwardWorkspace(const tessera_rt_attention_desc &desc);
std::string launchAttentionBackward(BuiltinKernels &kernels, Stream stream,
                                    const tessera_rt_attention_desc &desc,
                                    const AttentionOperands &operands,
                                    const AttentionGradients &gradients,
                                    void *workspace);

/// See Epilogue.h. The workspace of a column reduction holds the sums of
/// chunks.
std::string launchEpilogue(BuiltinKernels &kernels, Stream stream,
                           const Epilogue &epilogue);
int64_t columnReductionWorkspace(const ColumnReduction &sums);
std::string launchColumnReduction(BuiltinKernels &kernels, Stream stream,
                                  const ColumnReduction &sums, void *workspace);

/// A reduction over 1 to 64 ranks that one process simulates. For all o < outer
/// and i < inner, every destination[o][i] is the reduction of sources[s][o][i]
/// in ascending s. Rows are `sourceStride` elements apart in sources and
/// `destinationStride` in destinations. A destination may be a source.
struct LocalReduce {
  int32_t dtype = 0, reduction = 0;
  int64_t outer = 1, inner = 0, sourceStride = 0, destinationStride = 0;
  std::vector<const void *> sources;
  std::vector<void *> destinations;
};
std::string launchLocalReduce(BuiltinKernels &kernels, Stream stream,
                              const LocalReduce &reduce);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_KERNELS_LAUNCH_H
