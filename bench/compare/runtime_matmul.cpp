//===- runtime_matmul.cpp - Time of tessera_rt_matmul ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints one JSON line per shape: {"name", "seconds", "gflops"}.
// runtime_matmul.py compares it with a peer. Usage: runtime_matmul THREADS
// DTYPE M N K TRANS_B [REPEATS]
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include "runtime/src/kernels/CpuKernels.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace tessera::rt;

int main(int argc, char **argv) {
  if (argc < 7) {
    fprintf(stderr, "usage: runtime_matmul THREADS f32|bf16 M N K TRANS_B "
                    "[REPEATS]\n");
    return 1;
  }
  int threads = atoi(argv[1]);
  int32_t dtype = dtypeFromName(argv[2]);
  int64_t m = atoll(argv[3]), n = atoll(argv[4]), k = atoll(argv[5]);
  bool transB = atoi(argv[6]);
  int repeats = argc > 7 ? atoi(argv[7]) : 10;
  SingleRank rank(threads, (m * k + n * k + m * n) * 4 + 4096);
  float *a = reinterpret_cast<float *>(rank.arena());
  float *b = a + m * k, *c = b + n * k;
  cpuKernels().normal(1, 0, m * k, 0, 1, a);
  cpuKernels().normal(2, 0, n * k, 0, 1, b);
  if (dtype == TESSERA_RT_BF16) {
    cpuKernels().f32ToBf16(a, reinterpret_cast<uint16_t *>(a), m * k);
    cpuKernels().f32ToBf16(b, reinterpret_cast<uint16_t *>(b), n * k);
  }
  tessera_rt_matmul_desc desc = {};
  desc.dtype = desc.c_dtype = dtype;
  desc.batch = 1;
  desc.m = m;
  desc.n = n;
  desc.k = k;
  desc.lda = k;
  desc.ldb = transB ? k : n;
  desc.ldc = n;
  desc.trans_b = transB;
  std::vector<double> times;
  for (int i = 0; i < repeats + 2; ++i) {
    double begin = monotonicSeconds();
    if (tessera_rt_matmul(rank, &desc, a, b, c, nullptr, nullptr))
      return 1;
    if (i >= 2)
      times.push_back(monotonicSeconds() - begin);
  }
  std::sort(times.begin(), times.end());
  double best = times.front(), median = times[times.size() / 2];
  printf("{\"name\": \"matmul %s m=%lld n=%lld k=%lld%s\", \"threads\": %d, "
         "\"best_ms\": %.3f, \"median_ms\": %.3f, \"gflops\": %.1f}\n",
         argv[2], (long long)m, (long long)n, (long long)k,
         transB ? " transposed" : "", threads, best * 1e3, median * 1e3,
         2e-9 * double(m) * double(n) * double(k) / best);
  return 0;
}
