//===- CudaTarget.cpp - Calls of a step on a device -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See CudaTarget.h. The calls note and enqueue work here, and a step becomes a
// graph.
//
//===----------------------------------------------------------------------===//

#include "CudaTarget.h"

#include <algorithm>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

//===----------------------------------------------------------------------===//
// Kernels, copies and fills
//===----------------------------------------------------------------------===//

Status CudaTarget::launch(tessera_rt_kernel_fn, const int64_t *, int64_t,
                          int64_t) {
  return fail(ctx, TESSERA_RT_INVALID,
              "a program for devices launches a kernel of the host");
}

Status CudaTarget::launchDevice(int32_t kernel, const LaunchShape &shape,
                                const int64_t *args, int32_t numArgs) {
  if (kernel < 0 || size_t(kernel) >= generated.size() || shape.grid < 0 ||
      shape.grid > TESSERA_RT_MAX_GRID || shape.block < 1 ||
      shape.block > TESSERA_RT_MAX_BLOCK || shape.sharedBytes < 0 ||
      numArgs < 0)
    return fail(ctx, TESSERA_RT_INVALID,
                format("launch expects one of %zu kernels, a grid below 2^31 "
                       "and blocks of 1 to %d threads, but got kernel %d, "
                       "%lld blocks of %d",
                       generated.size(), TESSERA_RT_MAX_BLOCK, kernel,
                       (long long)shape.grid, shape.block));
  ++noted.launches;
  if (isNoting || shape.grid == 0)
    return TESSERA_RT_OK;
  return check(device->launch(compute, generated[size_t(kernel)], shape, args,
                              numArgs, Parameters::Separate));
}

extern "C" int32_t tessera_rt_launch_device(tessera_rt_context *ctx,
                                            int32_t kernel, const int64_t *args,
                                            int32_t num_args, int64_t grid,
                                            int32_t block,
                                            int32_t shared_bytes) {
  return static_cast<CudaTarget *>(ctx->target.get())
      ->launchDevice(kernel, {grid, block, shared_bytes}, args, num_args);
}

Status CudaTarget::copyStrided(int64_t elementSize, int32_t rank,
                               const int64_t *shape, int64_t from,
                               const int64_t *fromStrides, int64_t to,
                               const int64_t *toStrides) {
  ++noted.calls;
  if (isNoting)
    return TESSERA_RT_OK;
  return check(kernels->copyStrided(compute, {elementSize, rank, shape,
                                              deviceArena + from, fromStrides,
                                              deviceArena + to, toStrides}));
}

Status CudaTarget::fill(int64_t elementSize, int64_t offset, int64_t count,
                        int64_t bits) {
  ++noted.calls;
  if (isNoting || count == 0)
    return TESSERA_RT_OK;
  return check(
      kernels->fill(compute, elementSize, deviceArena + offset, count, bits));
}

Status CudaTarget::readFlag(int64_t offset, int64_t &flag) {
  noted.readsFlags = true;
  if (isNoting) {
    // The flag of an outer loop stays open while an inner one's is read.
    flag = noted.openFlags.insert(offset).second;
    if (!flag)
      noted.openFlags.erase(offset);
    return TESSERA_RT_OK;
  }
  if (Status status = fetchBlocks({{offset, 1}}))
    return status;
  flag = ctx->arena()[offset] != 0;
  return TESSERA_RT_OK;
}

Status CudaTarget::stateFence() {
  // The calls before it only read state; those after it are not enqueued yet.
  // Neither a noting run nor one that is recorded executes anything.
  return isNoting ? TESSERA_RT_OK : awaitStateReader(ctx);
}

Status CudaTarget::beginBlock(const ArenaBlock &block, bool forget) {
  noted.guardsBlocks = true;
  if (isNoting)
    return TESSERA_RT_OK;
  return check(kernels->beginBlock(compute, deviceArena + block.offset,
                                   block.offset, block.bytes, forget));
}

Status CudaTarget::endBlock(const ArenaBlock &block, bool forget) {
  noted.guardsBlocks = true;
  if (isNoting)
    return TESSERA_RT_OK;
  return check(kernels->endBlock(compute, deviceArena + block.offset,
                                 block.offset, block.bytes, forget));
}

//===----------------------------------------------------------------------===//
// Library calls
//===----------------------------------------------------------------------===//

bool CudaTarget::multiplies(int64_t dtype, int64_t cDtype) const {
  // Types that cuBLASLt supports; the library is loaded after the noting run.
  if (matmuls)
    return matmuls->supports(int32_t(dtype), int32_t(cDtype));
  return dtype >= TESSERA_RT_F32 && dtype <= TESSERA_RT_F64;
}

Status CudaTarget::matmulCall(const MatmulCall &call) {
  ++noted.calls;
  const tessera_rt_matmul_desc &d = call.desc;
  // There is nothing to add: C becomes zero, or stays.
  if (d.k == 0) {
    if (isNoting || d.accumulate)
      return TESSERA_RT_OK;
    int64_t size = dtypeSize(int32_t(d.c_dtype));
    for (int64_t i = 0; i < d.batch * d.m; ++i) {
      uint8_t *row = static_cast<uint8_t *>(call.c) +
                     (i / d.m * d.stride_c + i % d.m * d.ldc) * size;
      if (Status status = check(kernels->fill(compute, size, row, d.n, 0)))
        return status;
    }
    return TESSERA_RT_OK;
  }
  if (isNoting) {
    noted.matmuls.push_back(call);
    return TESSERA_RT_OK;
  }
  return check(matmuls->run(compute, call));
}

Status CudaTarget::matmul(const tessera_rt_matmul_desc &desc, const void *a,
                          const void *b, void *c, tessera_rt_kernel_fn epilogue,
                          const int64_t *) {
  if (epilogue)
    return fail(ctx, TESSERA_RT_INVALID,
                "a program for devices has an epilogue of the host in a "
                "matmul");
  MatmulCall call;
  call.desc = desc;
  call.a = a;
  call.b = b;
  call.c = c;
  return matmulCall(call);
}

Status CudaTarget::scaledMatmul(const ScaledMatmul &scaled) {
  MatmulCall call;
  call.desc = scaled.desc;
  call.a = scaled.a;
  call.b = scaled.b;
  call.c = scaled.c;
  call.dtypeB = scaled.dtypeB;
  call.scaleA = scaled.scaleA;
  call.scaleB = scaled.scaleB;
  return matmulCall(call);
}

/// True if a call has the operands of its kind, with the expected layout.
static bool hasOperands(const MatmulCall &call) {
  const tessera_rt_matmul_desc &d = call.desc;
  bool isBiasType =
      call.fusion.bias_dtype == d.c_dtype ||
      (call.fusion.bias_dtype == TESSERA_RT_F32 && d.c_dtype != TESSERA_RT_F64);
  if ((call.aux && call.fusion.aux_ld < d.n) || (call.bias && !isBiasType) ||
      (call.addend && !d.accumulate))
    return false;
  switch (call.fusion.kind) {
  case TESSERA_RT_FUSE_NONE:
    return !call.bias && !call.aux;
  case TESSERA_RT_FUSE_BIAS:
    return call.bias && !call.aux;
  case TESSERA_RT_FUSE_GELU:
    return true;
  case TESSERA_RT_FUSE_GELU_GRADIENT:
    return call.aux && !d.accumulate;
  case TESSERA_RT_FUSE_LHS_SUMS:
    return call.bias && !call.aux && d.trans_a;
  case TESSERA_RT_FUSE_RHS_SUMS:
    return call.bias && !call.aux && !d.trans_b;
  default:
    return false;
  }
}

extern "C" int32_t tessera_rt_matmul_fused(
    tessera_rt_context *ctx, const tessera_rt_matmul_desc *desc,
    const tessera_rt_matmul_fusion *fusion, const void *a, const void *b,
    const void *addend, void *c, void *bias, void *aux) {
  const tessera_rt_matmul_desc &d = *desc;
  MatmulCall call{d, *fusion, a,  b, addend == c ? nullptr : addend,
                  c, bias,    aux};
  if (!isValid(d) || !ctx->target->multiplies(d.dtype, d.c_dtype) ||
      d.batch != 1 || !hasOperands(call))
    return fail(ctx, TESSERA_RT_INVALID,
                format("a matmul with epilogue %lld expects one batch "
                       "and the epilogue's operands, but got %s to %s, "
                       "[%lld x %lld x %lld x %lld], ld of aux %lld",
                       (long long)fusion->kind, dtypeName(int32_t(d.dtype)),
                       dtypeName(int32_t(d.c_dtype)), (long long)d.batch,
                       (long long)d.m, (long long)d.n, (long long)d.k,
                       (long long)fusion->aux_ld));
  if (d.m == 0 || d.n == 0)
    return TESSERA_RT_OK;
  if (d.k == 0 && (fusion->kind != TESSERA_RT_FUSE_NONE || call.addend))
    return fail(ctx, TESSERA_RT_INVALID,
                "a matmul with an epilogue expects a depth of at least 1");
  return static_cast<CudaTarget *>(ctx->target.get())->matmulCall(call);
}

Attention &CudaTarget::attentionFor(const AttentionUse &use) {
  bool isOwn = !cudnn || std::find(ownAttentions.begin(), ownAttentions.end(),
                                   use) != ownAttentions.end();
  return isOwn ? *kernels : *cudnn;
}

Status CudaTarget::attention(const AttentionCall &call, void *out,
                             float *logsumexp) {
  AttentionUse use{call.desc, call.qOffset, call.kOffset, false};
  ++noted.calls;
  if (isNoting) {
    noted.attentions.push_back(use);
    return TESSERA_RT_OK;
  }
  Attention &attention = attentionFor(use);
  return check(attention.forward(compute, call, out, logsumexp, workspace));
}

Status CudaTarget::attentionBackward(const AttentionCall &call,
                                     const void *grad, const void *out,
                                     const float *logsumexp, void *dq, void *dk,
                                     void *dv) {
  AttentionUse use{call.desc, call.qOffset, call.kOffset, true};
  ++noted.calls;
  if (isNoting) {
    noted.attentions.push_back(use);
    return TESSERA_RT_OK;
  }
  Attention &attention = attentionFor(use);
  return check(attention.backward(compute, call, grad, out, logsumexp, dq, dk,
                                  dv, workspace));
}

Status CudaTarget::embeddingBackward(const tessera_rt_embedding_desc &desc,
                                     const void *grad, const void *ids,
                                     void *result, int64_t offset) {
  ++noted.calls;
  if (isNoting) {
    noteWorkspace(kernels->embeddingWorkspace(desc));
    return TESSERA_RT_OK;
  }
  return check(kernels->embeddingBackward(compute, desc, grad, ids, result,
                                          offset, workspace));
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Status CudaTarget::start(int32_t slot, Operation &op) {
  op.stage = Stage::Matching;
  op.header.op = int32_t(op.kind);
  op.header.groupHash = op.group->hash;
  snprintf(op.header.axes, sizeof(op.header.axes), "%s",
           op.group->name.c_str());
  if (isNoting) {
    noted.collectives.push_back(op);
    return TESSERA_RT_OK;
  }
  RankBlock &block = ctx->block();
  block.last = op.header;
  block.posted.fetch_add(1, std::memory_order_relaxed);
  return communication->start(slot, op);
}

Status CudaTarget::finish(int32_t slot) {
  Operation &op = ctx->operations[slot];
  Status status = isNoting ? TESSERA_RT_OK : communication->finish(slot, op);
  ctx->operations[slot].stage = Stage::Free;
  return status;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Status CudaTarget::captureStep() {
  if (Status status = check(device->beginCapture(compute)))
    return status;
  // Each collective is waited for, which joins its stream.
  Status status = program(ctx);
  // Ends the recording in any case.
  std::string error = device->endCapture(compute, graph);
  if (status)
    return status;
  if (error.empty())
    error = device->graphSize(graph, graphNodes);
  return check(error);
}

Status CudaTarget::enqueueStep() {
  // The first step touches all memory, so it is not recorded. A graph would not
  // wait for a reader of the state that has not ended.
  bool isRead = !ctx->stateReader || ctx->stateReader->waitFor(0);
  if (stepsEnqueued == 0 || !usesGraph || !isRead)
    return program(ctx);
  if (!graph.handle)
    if (Status status = captureStep())
      return status;
  return check(device->launchGraph(compute, graph));
}

Status CudaTarget::step() {
  ctx->block().stepsBegun.fetch_add(1);
  int64_t before = device->numAllocations();
  if (Status status = clearCounts())
    return status;
  if (Status status = enqueueStep())
    return status;
  if (Status status = sendCounts())
    return status;
  if (++stepsEnqueued > 2)
    lateAllocations += device->numAllocations() - before;
  if (!communication->countsTraffic())
    for (const Operation &op : noted.collectives)
      countTraffic(ctx, op, 1, receivedBytes(op));
  return TESSERA_RT_OK;
}
