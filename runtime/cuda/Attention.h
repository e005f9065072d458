//===- Attention.h - Implementations of device attention --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of attention on a device. One implementation is cuDNN, another
// one the runtime's own kernels.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_ATTENTION_H
#define TESSERA_RT_CUDA_ATTENTION_H

#include "Device.h"
#include "host/Target.h"

namespace tessera::rt::cuda {

/// Functions return a message, or nothing. Operands are device addresses.
class Attention {
public:
  virtual ~Attention() = default;

  /// The name in reports: "cudnn 9.19.0".
  virtual std::string name() const = 0;

  /// Prepares calls of `desc` with these offsets, which all its calls will
  /// have. Plans are built here and never later. `workspace` is the working
  /// memory that the forward and (if `withBackward`) the backward need. Returns
  /// a message if this implementation does not support such attention.
  virtual std::string prepare(const tessera_rt_attention_desc &desc,
                              int64_t qOffset, int64_t kOffset,
                              bool withBackward, int64_t &workspace) = 0;

  /// True if the f32 results of a prepared call have been rounded to the type
  /// of its operands.
  virtual bool rounds(const tessera_rt_attention_desc &) const { return false; }

  virtual std::string forward(Stream stream, const AttentionCall &call,
                              void *out, float *logsumexp, void *workspace) = 0;
  virtual std::string backward(Stream stream, const AttentionCall &call,
                               const void *grad, const void *out,
                               const float *logsumexp, void *dq, void *dk,
                               void *dv, void *workspace) = 0;
};

/// Options of cuDNN.
struct CudnnOptions {
  /// True to exclude algorithms whose sums depend on timing.
  bool deterministic = false;
  /// True if calls may be recorded in CUDA graphs.
  bool isRecorded = false;
  /// Limit of the working memory.
  int64_t workspaceBytes = int64_t(1) << 30;
};

/// Creates cuDNN's attention. Null with a message if cuDNN cannot be used.
std::unique_ptr<Attention> createCudnnAttention(Device &device,
                                                const CudnnOptions &options,
                                                std::string &error);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_ATTENTION_H
