//===- Attention.cpp - By cuDNN, or by our own kernels --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaTarget.h"

using namespace tessera::rt;
using namespace tessera::rt::cuda;

/// Uses cuDNN for the calls that it supports, and the runtime's own kernels for
/// the others.
Status CudaTarget::openAttention(const Options &options) {
  std::string missing, firstRefusal;
  int rounded = 0;
  if (!noted.attentions.empty() && !device->isEmulated())
    cudnn = createCudnnAttention(
        *device,
        {.deterministic = options.deterministic, .isRecorded = usesGraph},
        missing);
  for (const AttentionUse &use : noted.attentions) {
    int64_t needed = 0;
    auto prepare = [&](Attention &attention) {
      return attention.prepare(use.desc, use.qOffset, use.kOffset,
                               use.isBackward, needed);
    };
    std::string refusal = cudnn ? prepare(*cudnn) : missing;
    if (!cudnn || !refusal.empty()) {
      if (ownAttentions.empty())
        firstRefusal = refusal;
      ownAttentions.push_back(use);
      std::string error = prepare(*kernels);
      if (!error.empty())
        return check(kernels->name() +
                     " cannot be used for attention: " + error);
    }
    rounded += attentionFor(use).rounds(use.desc);
    noteWorkspace(needed);
  }
  size_t own = ownAttentions.size(), all = noted.attentions.size();
  if (own == all)
    cudnn.reset();
  if (own > 0 && !device->isEmulated())
    remark((cudnn ? format("%zu of %zu calls of ", own, all) : "") +
           "attention by the runtime's own kernels: " + firstRefusal);
  if (rounded > 0)
    remark(format("the results of %d calls of attention, which are f32, are "
                  "rounded to the type of their operands by ",
                  rounded) +
           cudnn->name());
  return TESSERA_RT_OK;
}
