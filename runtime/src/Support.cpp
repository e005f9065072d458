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

#include <climits>
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
struct DTypeInfo {
  const char *name;
  int64_t size;
};
constexpr DTypeInfo dtypes[] = {{"f32", 4}, {"bf16", 2}, {"f16", 2},
                                {"f64", 8}, {"i1", 1},   {"i8", 1},
                                {"i32", 4}, {"i64", 8}};
constexpr int32_t numDTypes = sizeof(dtypes) / sizeof(dtypes[0]);
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
  return dtype >= 0 && dtype < numDTypes ? dtypes[dtype].size : 0;
}

const char *tessera::rt::dtypeName(int32_t dtype) {
  return dtype >= 0 && dtype < numDTypes ? dtypes[dtype].name : "?";
}

int32_t tessera::rt::dtypeFromName(const std::string &name) {
  for (int32_t i = 0; i < numDTypes; ++i)
    if (name == dtypes[i].name)
      return i;
  return -1;
}
