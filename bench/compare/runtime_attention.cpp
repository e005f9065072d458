//===- runtime_attention.cpp - Time of tessera_rt_attention ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints one JSON line. runtime_attention.py compares it with a peer.
// Usage: runtime_attention THREADS f32|bf16 B S T G R K CAUSAL [REPEATS]
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include "runtime/src/kernels/CpuKernels.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace tessera::rt;

int main(int argc, char **argv) {
  if (argc < 10) {
    fprintf(stderr, "usage: runtime_attention THREADS f32|bf16 B S T G R K "
                    "CAUSAL [REPEATS]\n");
    return 1;
  }
  tessera_rt_attention_desc d = {};
  d.dtype = d.result_dtype = dtypeFromName(argv[2]);
  int64_t *fields[] = {&d.batch,     &d.q_len,    &d.kv_len, &d.groups,
                       &d.per_group, &d.head_dim, &d.causal};
  for (int i = 0; i < 7; ++i)
    *fields[i] = atoll(argv[3 + i]);
  d.v_head_dim = d.head_dim;
  double scale = 1 / std::sqrt(double(d.head_dim));
  memcpy(&d.scale_bits, &scale, 8);
  int repeats = argc > 10 ? atoi(argv[10]) : 20;
  int64_t queries = d.batch * d.q_len * d.groups * d.per_group * d.head_dim;
  int64_t keys = d.batch * d.kv_len * d.groups * d.head_dim;
  SingleRank rank(atoi(argv[1]), (2 * queries + 2 * keys) * 4 + 4096);
  float *q = reinterpret_cast<float *>(rank.arena());
  float *k = q + queries, *v = k + keys, *out = v + keys;
  cpuKernels().normal(1, 0, queries + 2 * keys, 0, 1, q);
  if (d.dtype == TESSERA_RT_BF16)
    for (float *base : {q, k, v})
      cpuKernels().f32ToBf16(base, reinterpret_cast<uint16_t *>(base),
                             base == q ? queries : keys);
  std::vector<double> times;
  for (int i = 0; i < repeats + 2; ++i) {
    double begin = monotonicSeconds();
    if (tessera_rt_attention(rank, &d, /*starts=*/nullptr,
                             /*bias=*/nullptr, q, k, v, out, nullptr,
                             d.kv_len - d.q_len, 0))
      return 1;
    if (i >= 2)
      times.push_back(monotonicSeconds() - begin);
  }
  std::sort(times.begin(), times.end());
  printf("{\"name\": \"attention %s B=%s S=%s T=%s G=%s R=%s K=%s%s\", "
         "\"threads\": %s, \"best_ms\": %.3f, \"median_ms\": %.3f}\n",
         argv[2], argv[3], argv[4], argv[5], argv[6], argv[7], argv[8],
         d.causal ? " causal" : "", argv[1], times[0] * 1e3,
         times[times.size() / 2] * 1e3);
  return 0;
}
