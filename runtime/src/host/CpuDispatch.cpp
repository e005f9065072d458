//===- CpuDispatch.cpp - Choice of the instruction set --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See kernels/CpuKernels.h. The list of sets is in CMakeLists.txt.
//
//===----------------------------------------------------------------------===//

#include "kernels/CpuKernels.h"
#include "support/InstructionSet.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace tessera::rt {
namespace baseline {
extern const CpuKernels table;
} // namespace baseline
#if defined(__x86_64__)
namespace avx2 {
extern const CpuKernels table;
} // namespace avx2
namespace avx512 {
extern const CpuKernels table;
} // namespace avx512
namespace amx {
extern const GemmKernels table;
} // namespace amx
#endif
} // namespace tessera::rt

using namespace tessera::rt;

namespace {
/// Ascending order; amx is avx512 with matrix units for bf16.
enum class Isa { Baseline, Avx2, Avx512, Amx };
constexpr const char *isaNames[] = {"baseline", "avx2", "avx512", "amx"};
constexpr int numIsas = 4;
} // namespace

/// Returns the best set that the processor has and the system grants.
static Isa findBest() {
#if defined(__x86_64__)
  constexpr long requestPermission = 0x1023, tileData = 18;
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2"))
    return Isa::Baseline;
  if (!__builtin_cpu_supports("avx512f") ||
      !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl"))
    return Isa::Avx2;
  bool hasAmx = __builtin_cpu_supports("amx-bf16") &&
                syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return hasAmx ? Isa::Amx : Isa::Avx512;
#else
  return Isa::Baseline;
#endif
}

static Isa best() {
  static const Isa found = findBest();
  return found;
}

/// Returns the set that TESSERA_RT_ISA names: numIsas if it is not set or
/// empty, -1 if the name is unknown.
static int wanted() {
  const char *name = getenv("TESSERA_RT_ISA");
  if (!name || !*name)
    return numIsas;
  for (int i = 0; i < numIsas; ++i)
    if (strcmp(name, isaNames[i]) == 0)
      return i;
  return -1;
}

static Isa chosen() {
  static const Isa isa =
      wanted() < 0 ? best() : std::min(best(), Isa(wanted()));
  return isa;
}

std::string tessera::rt::checkIsa() {
  int isa = wanted();
  if (isa == numIsas || (isa >= 0 && Isa(isa) <= best()))
    return "";
  std::string names;
  for (int i = 0; i <= int(best()); ++i)
    names += std::string(i ? ", " : "") + isaNames[i];
  return std::string("TESSERA_RT_ISA expects one of this processor's "
                     "instruction sets (") +
         names + ") but got '" + getenv("TESSERA_RT_ISA") + "'";
}

const CpuKernels &tessera::rt::cpuKernels() {
#if defined(__x86_64__)
  if (chosen() >= Isa::Avx512)
    return avx512::table;
  if (chosen() == Isa::Avx2)
    return avx2::table;
#endif
  return baseline::table;
}

const GemmKernels &tessera::rt::gemmKernels(int32_t dtype) {
#if defined(__x86_64__)
  if (dtype == TESSERA_RT_BF16 && chosen() == Isa::Amx)
    return amx::table;
#endif
  return cpuKernels().gemm;
}
