//===- HostTarget.h - Steps on the host's processors ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The calls of a step on the host target. Operands of library calls are at any
// host addresses; operands of copies and collectives are in the rank's host
// arena.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_HOSTTARGET_H
#define TESSERA_RT_SRC_HOSTTARGET_H

#include "Target.h"
#include "ranks/Context.h"

namespace tessera::rt {

namespace host {
void launch(tessera_rt_context *ctx, tessera_rt_kernel_fn fn,
            const int64_t *args, int64_t extent, int64_t grain);
void fill(tessera_rt_context *ctx, int64_t elementSize, void *destination,
          int64_t count, int64_t bits);
Status endBlock(tessera_rt_context *ctx, const ArenaBlock &block, bool forget);
void beginBlock(tessera_rt_context *ctx, const ArenaBlock &block, bool forget);
/// True if operands of `dtype` can be multiplied with results of `cDtype`.
bool multiplies(int64_t dtype, int64_t cDtype);
void matmul(tessera_rt_context *ctx, const tessera_rt_matmul_desc &desc,
            const void *a, const void *b, void *c,
            tessera_rt_kernel_fn epilogue, const int64_t *epilogueArgs);
void scaledMatmul(tessera_rt_context *ctx, const ScaledMatmul &call);
void attention(tessera_rt_context *ctx, const AttentionCall &call, void *out,
               float *logsumexp);
void attentionBackward(tessera_rt_context *ctx, const AttentionCall &call,
                       const void *grad, const void *out,
                       const float *logsumexp, void *dq, void *dk, void *dv);
void embeddingBackward(tessera_rt_context *ctx,
                       const tessera_rt_embedding_desc &desc, const void *grad,
                       const void *ids, void *result, int64_t offset);
/// See tessera_rt_route; adds the rows to `loads`, unless it is null.
Status route(tessera_rt_context *ctx, const tessera_rt_route_desc &desc,
             const void *ids, int64_t offset, int32_t *routing,
             LayerLoads *loads);
void expertCapacity(const tessera_rt_capacity_desc &desc, const void *ids,
                    const void *scores, void *result);
void experts(tessera_rt_context *ctx, ExpertsCall call,
             const tessera_rt_experts_desc &desc, const ExpertTensors &tensors);
/// Completes the operation in `slot`, however the target treats others.
Status finish(tessera_rt_context *ctx, int32_t slot);
/// Only advances operations in flight, until a time of the monotonic clock.
Status idle(tessera_rt_context *ctx, double until);
} // namespace host

class HostTarget : public Target {
public:
  using Target::Target;

  uint8_t *arena() override { return ctx->arena(); }
  bool isSynchronous() const override { return true; }
  Status launch(tessera_rt_kernel_fn fn, const int64_t *args, int64_t extent,
                int64_t grain) override;
  Status copyStrided(int64_t elementSize, int32_t rank, const int64_t *shape,
                     int64_t from, const int64_t *fromStrides, int64_t to,
                     const int64_t *toStrides) override;
  Status fill(int64_t elementSize, int64_t offset, int64_t count,
              int64_t bits) override;
  Status readFlag(int64_t offset, int64_t &flag) override;
  Status stateFence() override;
  Status beginBlock(const ArenaBlock &block, bool forget) override;
  Status endBlock(const ArenaBlock &block, bool forget) override;
  bool multiplies(int64_t dtype, int64_t cDtype) const override {
    return host::multiplies(dtype, cDtype);
  }
  Status matmul(const tessera_rt_matmul_desc &desc, const void *a,
                const void *b, void *c, tessera_rt_kernel_fn epilogue,
                const int64_t *epilogueArgs) override;
  Status scaledMatmul(const ScaledMatmul &call) override;
  Status attention(const AttentionCall &call, void *out,
                   float *logsumexp) override;
  Status attentionBackward(const AttentionCall &call, const void *grad,
                           const void *out, const float *logsumexp, void *dq,
                           void *dk, void *dv) override;
  Status embeddingBackward(const tessera_rt_embedding_desc &desc,
                           const void *grad, const void *ids, void *result,
                           int64_t offset) override;
  Status route(const tessera_rt_route_desc &desc, const void *ids,
               int64_t offset, int32_t *routing) override;
  Status expertCapacity(const tessera_rt_capacity_desc &desc, const void *ids,
                        const void *scores, void *result) override;
  Status experts(ExpertsCall call, const tessera_rt_experts_desc &desc,
                 const ExpertTensors &tensors) override;
  Status start(int32_t slot, Operation &op) override;
  Status finish(int32_t slot) override;

  Status open(const Manifest &, const Options &, ProgramStep program) override {
    this->program = program;
    return TESSERA_RT_OK;
  }
  Status send(const ArenaBlock &) override { return 0; }
  Status createStateSource(std::unique_ptr<StateSource> &source) override;
  Status clear(const ArenaBlock &block) override;
  Status fetch(const std::vector<ArenaBlock> &) override { return 0; }
  Status move(int64_t to, int64_t from, int64_t bytes) override;
  Status step() override { return program(ctx); }

  void measure(MemoryUse &use, const Manifest &manifest,
               bool withArena) override;
  std::string limitMemory(const Manifest &manifest, int64_t bytes) override;
  std::string describeJson() const override;

private:
  ProgramStep program = nullptr;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_HOSTTARGET_H
