//===- Support.cpp - Status, clock, futex and text helpers ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Support.h.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include "tessera_manifest.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace tessera::rt;

void tessera::rt::futexWait(std::atomic<uint32_t> &word, uint32_t expected,
                            double seconds) {
  timespec limit;
  limit.tv_sec = time_t(seconds);
  limit.tv_nsec = long((seconds - double(limit.tv_sec)) * 1e9);
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}

void tessera::rt::futexWakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

Status tessera::rt::statusOfFailure(const std::string &message) {
  auto isOneOf = [&](std::initializer_list<int> errors) {
    return std::any_of(errors.begin(), errors.end(), [&](int error) {
      return message.find(strerror(error)) != std::string::npos;
    });
  };
  if (isOneOf({ENOSPC, EDQUOT}))
    return TESSERA_RT_FULL;
  bool isSystems = message.rfind("cannot ", 0) == 0 || isOneOf({EIO});
  return !isSystems || isOneOf({ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, EROFS,
                                ELOOP, ENAMETOOLONG, ENOSYS, EOPNOTSUPP})
             ? TESSERA_RT_INVALID
             : TESSERA_RT_SYSTEM;
}

std::string tessera::rt::flushOutput() {
  errno = 0;
  bool isWritten = fflush(stdout) == 0 && !ferror(stdout);
  std::string why = errno ? std::string(": ") + strerror(errno) : "";
  if (!isWritten)
    return "cannot write all of standard output" + why;
  return fflush(stderr) == 0 && !ferror(stderr)
             ? std::string()
             : "cannot write all of standard error";
}

std::string tessera::rt::format(const char *pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  char text[2048];
  int length = vsnprintf(text, sizeof(text), pattern, arguments);
  va_end(arguments);
  if (length < 0)
    return std::string();
  return std::string(text, size_t(length) < sizeof(text) ? size_t(length)
                                                         : sizeof(text) - 1);
}

namespace {
/// Bytes of an element by tessera_rt_dtype.
constexpr int64_t dtypeSizes[] = {4, 2, 2, 8, 1, 1, 4, 8, 1, 1, 2};
constexpr int32_t numDTypes = std::size(tessera::manifest::kDTypes);
static_assert(numDTypes == std::size(dtypeSizes));
} // namespace

std::string tessera::rt::readableBytes(int64_t bytes) {
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
  double number = double(bytes);
  int unit = 0;
  for (; number >= 1000 && unit < 4; ++unit)
    number /= 1000;
  return unit == 0 ? format("%lld B", (long long)bytes)
                   : format("%.2f %s", number, units[unit]);
}

int64_t tessera::rt::dtypeSize(int32_t dtype) {
  return dtype >= 0 && dtype < numDTypes ? dtypeSizes[dtype] : 0;
}

int64_t tessera::rt::accumulatedSize(int32_t dtype) {
  bool isHalf = dtype == TESSERA_RT_BF16 || dtype == TESSERA_RT_F16;
  return dtypeSize(isHalf ? int32_t(TESSERA_RT_F32) : dtype);
}

const char *tessera::rt::dtypeName(int32_t dtype) {
  return dtype >= 0 && dtype < numDTypes ? tessera::manifest::kDTypes[dtype]
                                         : "?";
}

int32_t tessera::rt::dtypeFromName(const std::string &name) {
  for (int32_t i = 0; i < numDTypes; ++i)
    if (name == tessera::manifest::kDTypes[i])
      return i;
  return -1;
}

//===----------------------------------------------------------------------===//
// Numbers of 8 bits
//===----------------------------------------------------------------------===//

namespace {
/// The fraction bits of a type, and how much its exponents are below bf16's.
struct F8Format {
  int fraction, exponent;
  bool hasInfinity;
};
constexpr F8Format f8e4m3 = {3, 120, false}, f8e5m2 = {2, 112, true};

/// Decodes a code to bf16. Subnormal numbers are multiples of the smallest one.
uint16_t decode(const F8Format &format, int code) {
  int magnitude = code & 0x7f, most = (1 << format.fraction) - 1;
  int exponent = magnitude >> format.fraction, fraction = magnitude & most;
  int last = (0x7f >> format.fraction);
  uint16_t sign = uint16_t((code & 0x80) << 8);
  if (exponent == last && (format.hasInfinity || fraction == most))
    return uint16_t(sign |
                    (format.hasInfinity && fraction == 0 ? 0x7f80 : 0x7fc0));
  exponent += format.exponent;
  if (magnitude <= most) {
    if (magnitude == 0)
      return sign;
    ++exponent;
    while (fraction <= most) {
      fraction <<= 1;
      --exponent;
    }
    fraction &= most;
  }
  return uint16_t(sign | exponent << 7 | fraction << (7 - format.fraction));
}

struct F8Codes {
  explicit F8Codes(const F8Format &format) {
    for (int code = 0; code < 256; ++code)
      codes[code] = decode(format, code);
  }
  uint16_t codes[256];
};
} // namespace

const uint16_t *tessera::rt::f8Codes(int32_t dtype) {
  static const F8Codes e4m3(f8e4m3), e5m2(f8e5m2);
  return (dtype == TESSERA_RT_F8E4M3 ? e4m3 : e5m2).codes;
}
