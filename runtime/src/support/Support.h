//===- Support.h - Status, clock, futex and text helpers --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small helpers for every part of the runtime. They know nothing about ranks.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_SUPPORT_H
#define TESSERA_RT_SRC_SUPPORT_H

#include "tessera_rt.h"

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>

namespace tessera::rt {

/// A status code of the C ABI; 0 is success.
using Status = int32_t;

/// Seconds of a monotonic clock.
inline double monotonicSeconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

/// CPU seconds that all threads of this process have used.
inline double processCpuSeconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

/// Sleeps until `word` is woken, if it still holds `expected`, for at most
/// `seconds`. May return early without a reason, as futexes do.
void futexWait(std::atomic<uint32_t> &word, uint32_t expected, double seconds);

/// Wakes every sleeper on `word`, in any process.
void futexWakeAll(std::atomic<uint32_t> &word);

/// Tells the core that this is a spin loop.
inline void spinPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// printf into a std::string.
std::string format(const char *pattern, ...)
    __attribute__((format(printf, 1, 2)));

/// Flushes standard output and standard error. Returns a message if any output
/// of the process was lost, or nothing.
std::string flushOutput();

/// The status of a failure by its message: TESSERA_RT_FULL if it says that a
/// disk or a quota is full. A message that begins with "cannot" is about a
/// system call: TESSERA_RT_INVALID if a path cannot be used or its file system
/// does not offer the call, else TESSERA_RT_SYSTEM, as is every error of input
/// and output. Others ("expects ...") are TESSERA_RT_INVALID.
Status statusOfFailure(const std::string &message);

/// Bytes as "12.34 MB" (10^6).
std::string readableBytes(int64_t bytes);

/// Bytes of one element of a tessera_rt_dtype; 0 for an unknown one.
int64_t dtypeSize(int32_t dtype);

/// Bytes of an element of a sum that is not complete: f32 for bf16 and f16.
int64_t accumulatedSize(int32_t dtype);

/// "f32" and so on; "?" for an unknown one.
const char *dtypeName(int32_t dtype);

/// The dtype with that name, or -1.
int32_t dtypeFromName(const std::string &name);

/// True for the 8-bit floating-point types.
inline bool isF8(int64_t dtype) {
  return dtype == TESSERA_RT_F8E4M3 || dtype == TESSERA_RT_F8E5M2;
}

/// The 256 numbers of such a type as bf16, which represents each exactly.
const uint16_t *f8Codes(int32_t dtype);

inline float bf16ToFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  __builtin_memcpy(&value, &wide, 4);
  return value;
}

/// Rounds to nearest, ties to even; NaN stays NaN.
inline uint16_t floatToBf16(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return value != value ? uint16_t((bits >> 16) | 0x40) : uint16_t(rounded);
}

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_SUPPORT_H
