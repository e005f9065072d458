//===- HotKernels.cpp - Choice of the instruction set ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
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
#include <sys/syscall.h>
#include <unistd.h>

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
namespace amx {
extern const GemmKernels table;
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

#if defined(__x86_64__)
/// Whether bf16 matrix units exist and the system lets this process use them.
static bool enableAmx() {
  constexpr long requestPermission = 0x1023, tileData = 18;
  return &hotKernels() == &avx512::table &&
         __builtin_cpu_supports("amx-bf16") &&
         syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}
#endif

const GemmKernels &tessera::rt::gemmKernels(int32_t dtype) {
#if defined(__x86_64__)
  static const bool hasAmx = enableAmx();
  if (dtype == TESSERA_RT_BF16 && hasAmx)
    return amx::table;
#endif
  return hotKernels().gemm;
}
