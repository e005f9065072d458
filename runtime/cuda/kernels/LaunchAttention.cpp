//===- LaunchAttention.cpp - Choice of attention kernels ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bf16 calls with heads of up to 128 elements, a multiple of 8, and a positive
// scale use the matrix units; all others, and those with a bias or a softcap,
// use the plain kernels.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "Params.h"

#include "support/Support.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;
using namespace tessera::rt::cuda;
using namespace tessera::rt::cuda::device;

static int64_t addressOf(const void *memory) {
  return int64_t(reinterpret_cast<uintptr_t>(memory));
}

static int64_t headSize(const tessera_rt_attention_desc &d) {
  return std::max(d.head_dim, d.v_head_dim);
}

bool tessera::rt::cuda::hasMatrixAttention(const tessera_rt_attention_desc &d) {
  // The scale must be positive because the maximum is taken before scaling.
  double scale;
  memcpy(&scale, &d.scale_bits, sizeof(scale));
  return scale > 0 && !d.has_bias && !d.softcap_bits &&
         d.dtype == TESSERA_RT_BF16 && d.head_dim % 8 == 0 &&
         d.v_head_dim % 8 == 0 && headSize(d) <= 128;
}

std::string
tessera::rt::cuda::checkAttention(const tessera_rt_attention_desc &d) {
  int64_t rows = d.q_len * d.per_group;
  int64_t heads = d.batch * d.groups;
  if (headSize(d) <= 256 && std::max(rows, d.kv_len) < (int64_t(1) << 30))
    return "";
  return format("attention on a device expects heads of up to 256 elements and "
                "less than 2^30 rows, but got %lld and %lld of %lld heads",
                (long long)headSize(d), (long long)std::max(rows, d.kv_len),
                (long long)heads);
}

namespace {
/// The split of a call into blocks.
struct Tiling {
  bool matrix;
  int64_t size; // 64, 128 or 256
  int64_t perBlock;
  std::string suffix;

  explicit Tiling(const tessera_rt_attention_desc &d)
      : matrix(hasMatrixAttention(d)), size(headSize(d) <= 64    ? 64
                                            : headSize(d) <= 128 ? 128
                                                                 : 256),
        perBlock(matrix ? tileRows : plainRows) {
    suffix = std::to_string(size);
    if (!matrix)
      suffix = (d.dtype == TESSERA_RT_BF16 ? "bf16_" : "f32_") + suffix;
  }
  std::string name(const char *part) const {
    return (matrix ? "tessera_attention_" : "tessera_attention_plain_") +
           std::string(part) + suffix;
  }
  int32_t threads() const { return matrix ? tileThreads : plainThreads; }
};
} // namespace

/// Bytes of [rows][columns] of f32 with an odd stride.
static int64_t plainBytes(int64_t rows, int64_t columns) {
  return rows * (columns | 1) * 4;
}

static int32_t forwardShared(const tessera_rt_attention_desc &d,
                             const Tiling &k) {
  if (k.matrix)
    return int32_t(4 * tileKeys * k.size * 2);
  return int32_t(
      plainBytes(plainRows, d.head_dim) + plainBytes(plainKeys, d.head_dim) +
      plainBytes(plainKeys, d.v_head_dim) + plainBytes(plainRows, plainKeys));
}

/// Shared memory of either backward kernel: both hold rows of their own and
/// loop over the others.
static int32_t backwardShared(const tessera_rt_attention_desc &d,
                              const Tiling &k) {
  if (k.matrix) {
    int64_t walked = k.size == 64 ? 64 : 32;
    int64_t perQuery = 16;
    return int32_t(2 * tileRows * k.size * 2 + 4 * walked * k.size * 2 +
                   2 * walked * perQuery);
  }
  return int32_t(
      plainBytes(plainRows, d.head_dim) + plainBytes(plainRows, d.v_head_dim) +
      plainBytes(plainKeys, d.head_dim) + plainBytes(plainKeys, d.v_head_dim) +
      2 * plainBytes(plainRows, plainKeys));
}

static AttentionParams paramsOf(const tessera_rt_attention_desc &d,
                                const AttentionOperands &operands) {
  AttentionParams params = {};
  params.q = addressOf(operands.q);
  params.k = addressOf(operands.k);
  params.v = addressOf(operands.v);
  params.starts = addressOf(operands.starts);
  params.bias = addressOf(operands.bias);
  params.biasBatch = d.bias_batch;
  params.biasQuery = d.bias_query;
  params.biasGroup = d.bias_group;
  params.biasHead = d.bias_head;
  params.softcapBits = d.softcap_bits;
  params.batch = d.batch;
  params.queryLength = d.q_len;
  params.keyLength = d.kv_len;
  params.groups = d.groups;
  params.perGroup = d.per_group;
  params.headDim = d.head_dim;
  params.valueDim = d.v_head_dim;
  params.causal = d.causal;
  params.window = d.window;
  params.scaleBits = d.scale_bits;
  params.keySize = d.key_size;
  params.wide = d.result_dtype == TESSERA_RT_F32;
  params.queryOffset = operands.queryOffset;
  params.keyOffset = operands.keyOffset;
  return params;
}

std::string
tessera::rt::cuda::launchAttention(BuiltinKernels &kernels, Stream stream,
                                   const tessera_rt_attention_desc &desc,
                                   const AttentionOperands &operands, void *out,
                                   float *logsumexp) {
  const tessera_rt_attention_desc &d = desc;
  int64_t heads = d.batch * d.groups, rows = d.q_len * d.per_group;
  std::string error = checkAttention(d);
  if (!error.empty() || heads == 0 || rows == 0 || d.v_head_dim == 0)
    return error;
  Tiling k(d);
  AttentionParams params = paramsOf(d, operands);
  params.out = addressOf(out);
  params.logsumexp = addressOf(logsumexp);
  params.tiles = (rows + k.perBlock - 1) / k.perBlock;
  return kernels.launch(
      stream, k.name("").c_str(),
      {heads * params.tiles, k.threads(), forwardShared(d, k)}, params);
}

int64_t tessera::rt::cuda::attentionBackwardWorkspace(
    const tessera_rt_attention_desc &d) {
  return d.batch * d.q_len * d.groups * d.per_group * int64_t(sizeof(float));
}

std::string tessera::rt::cuda::launchAttentionBackward(
    BuiltinKernels &kernels, Stream stream,
    const tessera_rt_attention_desc &desc, const AttentionOperands &operands,
    const AttentionGradients &gradients, void *workspace) {
  const tessera_rt_attention_desc &d = desc;
  int64_t heads = d.batch * d.groups, rows = d.q_len * d.per_group;
  std::string error = checkAttention(d);
  if (!error.empty() || heads == 0 || rows == 0 || d.kv_len == 0)
    return error;
  Tiling k(d);
  AttentionParams params = paramsOf(d, operands);
  params.grad = addressOf(gradients.grad);
  params.out = addressOf(gradients.out);
  params.logsumexp = addressOf(gradients.logsumexp);
  params.dq = addressOf(gradients.dq);
  params.dk = addressOf(gradients.dk);
  params.dv = addressOf(gradients.dv);
  params.delta = addressOf(workspace);
  error =
      kernels.launch(stream,
                     d.dtype == TESSERA_RT_BF16 ? "tessera_attention_delta_bf16"
                                                : "tessera_attention_delta_f32",
                     {kernels.gridFor(heads * rows, 8), 256, 0}, params);
  int32_t shared = backwardShared(d, k);
  if (error.empty()) {
    params.tiles = (d.kv_len + k.perBlock - 1) / k.perBlock;
    error = kernels.launch(stream, k.name("dkv_").c_str(),
                           {heads * params.tiles, k.threads(), shared}, params);
  }
  if (error.empty()) {
    params.tiles = (rows + k.perBlock - 1) / k.perBlock;
    error = kernels.launch(stream, k.name("dq_").c_str(),
                           {heads * params.tiles, k.threads(), shared}, params);
  }
  return error;
}
