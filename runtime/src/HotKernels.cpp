//===-- HotKernels.cpp - Choice of the instruction set --------------------===//
//
// Part of the Tessera Project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See kernels/HotKernels.h. The list of sets is in CMakeLists.txt.
//
//===----------------------------------------------------------------------===//

#include "kernels/HotKernels.h"

#include <cstdlib>
#include <cstring>

namespace tessera::rt {
namespace baseline {
extern const HotKernels table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const HotKernels table;
}
namespace avx512 {
extern const HotKernels table;
}
#endif
} // namespace tessera::rt

using namespace tessera::rt;

static const HotKernels &choose() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const char *wanted = getenv("TESSERA_RT_ISA");
  bool only2 = wanted && strcmp(wanted, "avx2") == 0;
  bool onlyBase = wanted && strcmp(wanted, "baseline") == 0;
  if (!onlyBase && !only2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
    return avx512::table;
  if (!onlyBase && __builtin_cpu_supports("avx2") &&
      __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    return avx2::table;
#endif
  return baseline::table;
}

const HotKernels &tessera::rt::hotKernels() {
  static const HotKernels &kernels = choose();
  return kernels;
}
