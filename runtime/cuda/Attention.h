//===- Attention.h - Who computes attention on a device ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of attention on a device. One implementation is cuDNN, another
// the runtime's own kernels.
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

  /// For reports: "cudnn 9.19.0".
  virtual std::string name() const = 0;

  /// Makes ready for calls of `desc` with these offsets, which all calls of it
  /// will have: plans are built here, and nothing is built later. `workspace`
  /// is what forward and (where `withBackward`) backward need of working
  /// memory. A message says why this implementation does not have such
  /// attention.
  virtual std::string prepare(const tessera_rt_attention_desc &desc,
                              int64_t qOffset, int64_t kOffset,
                              bool withBackward, int64_t &workspace) = 0;

  /// Whether results in f32 of a call that was prepared have been rounded to
  /// the type of its operands.
  virtual bool rounds(const tessera_rt_attention_desc &) const { return false; }

  virtual std::string forward(Stream stream, const AttentionCall &call,
                              void *out, float *logsumexp, void *workspace) = 0;
  virtual std::string backward(Stream stream, const AttentionCall &call,
                               const void *grad, const void *out,
                               const float *logsumexp, void *dq, void *dk,
                               void *dv, void *workspace) = 0;
};

/// How cuDNN is to be used.
struct CudnnOptions {
  /// Without algorithms whose sums depend on timing.
  bool deterministic = false;
  /// Calls may be recorded in CUDA graphs.
  bool isRecorded = false;
  /// Of working memory, at most.
  int64_t workspaceBytes = int64_t(1) << 30;
};

/// cuDNN's attention. Null with a message when cuDNN cannot be used.
std::unique_ptr<Attention> createCudnnAttention(Device &device,
                                                const CudnnOptions &options,
                                                std::string &error);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_ATTENTION_H
