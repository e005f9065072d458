//===- Rehearsal.h - Lists of pipelines without their work ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A target that runs a program's lists unchanged, with their sends, receives
// and waits, but computes nothing: tasks sleep, and a transfer ends a given
// time after the later of its two posts. So any machine can show the effect of
// a schedule on given times, because sleeping ranks share processors well.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_REHEARSAL_H
#define TESSERA_RT_SRC_REHEARSAL_H

#include "Options.h"
#include "host/HostTarget.h"

namespace tessera::rt {

class RehearsalTarget final : public HostTarget, public DataMover {
public:
  using HostTarget::HostTarget;

  Status open(const Manifest &manifest, const Options &options,
              ProgramStep program) override;
  /// Sleeps while transfers continue.
  Status runTask(tessera_rt_task_fn function, int64_t task, int64_t beside,
                 const int64_t *bases) override;

  double readyAt(int32_t slot, const Operation &op) override;
  Status move(int32_t, Operation &) override { return TESSERA_RT_OK; }
  Status release(int32_t, Operation &) override { return TESSERA_RT_OK; }

  /// Starts messages between two ranks; other collectives are not supported.
  Status start(int32_t slot, Operation &op) override;
  Status finish(int32_t slot) override;

  // Operations that a rehearsal skips.
  Status launch(tessera_rt_kernel_fn, const int64_t *, int64_t,
                int64_t) override {
    return TESSERA_RT_OK;
  }
  Status copyStrided(int64_t, int32_t, const int64_t *, int64_t,
                     const int64_t *, int64_t, const int64_t *) override {
    return TESSERA_RT_OK;
  }
  Status fill(int64_t, int64_t, int64_t, int64_t) override {
    return TESSERA_RT_OK;
  }
  Status beginBlock(const ArenaBlock &, bool) override { return TESSERA_RT_OK; }
  Status endBlock(const ArenaBlock &, bool) override { return TESSERA_RT_OK; }
  Status matmul(const tessera_rt_matmul_desc &, const void *, const void *,
                void *, tessera_rt_kernel_fn, const int64_t *) override {
    return TESSERA_RT_OK;
  }
  Status scaledMatmul(const ScaledMatmul &) override { return TESSERA_RT_OK; }
  Status attention(const AttentionCall &, void *, float *) override {
    return TESSERA_RT_OK;
  }
  Status attentionBackward(const AttentionCall &, const void *, const void *,
                           const float *, void *, void *, void *) override {
    return TESSERA_RT_OK;
  }
  Status embeddingBackward(const tessera_rt_embedding_desc &, const void *,
                           const void *, void *, int64_t) override {
    return TESSERA_RT_OK;
  }
  using HostTarget::move;
  Status move(int64_t, int64_t, int64_t) override { return TESSERA_RT_OK; }

private:
  /// Seconds of a task of one stage: F, B, W, BW.
  double seconds[4] = {};
  double link = 0;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_REHEARSAL_H
