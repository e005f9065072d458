//===- Compilers.h - Differences between compilers --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two features of loops and vectors for which clang and GCC differ.
// Releases are built by clang, for whose code the loops are tuned; GCC gives
// the same results.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_KERNELS_COMPILERS_H
#define TESSERA_RT_SRC_KERNELS_COMPILERS_H

/// Unrolls the following loop, which has a constant number of iterations.
#if defined(__clang__)
#define TESSERA_RT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TESSERA_RT_UNROLL _Pragma("GCC unroll 64")
#endif

namespace tessera::rt::TESSERA_RT_ISA {

/// Rounds each element of an f32 vector to an integer, ties to even. |x| is at
/// most 2^22.
template <typename Vector> inline Vector roundEven(Vector x) {
#if defined(__clang__)
  return __builtin_elementwise_roundeven(x);
#else
  // At 1.5 * 2^23 the last bit of an f32 has the value 1, so the addition
  // rounds.
  constexpr float ones = 0x1.8p23f;
  return (x + ones) - ones;
#endif
}

} // namespace tessera::rt::TESSERA_RT_ISA

#endif // TESSERA_RT_SRC_KERNELS_COMPILERS_H
