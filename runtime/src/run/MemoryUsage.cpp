//===- MemoryUsage.cpp - Resident memory of a process ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See MemoryUsage.h. Formats: proc(5), mincore(2), setrlimit(2) of Linux.
//
//===----------------------------------------------------------------------===//

#include "MemoryUsage.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace tessera::rt;

/// The fields of /proc/self/statm, in pages.
namespace {
struct Statm {
  long long size = 0, resident = 0, shared = 0, text = 0, library = 0, data = 0;
};
} // namespace

static bool readStatm(Statm &statm) {
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file)
    return false;
  int fields = fscanf(file, "%lld %lld %lld %lld %lld %lld", &statm.size,
                      &statm.resident, &statm.shared, &statm.text,
                      &statm.library, &statm.data);
  fclose(file);
  return fields == 6;
}

int64_t tessera::rt::privateResidentBytes() {
  Statm statm;
  if (!readStatm(statm))
    return 0;
  return int64_t(statm.resident - statm.shared) * sysconf(_SC_PAGESIZE);
}

int64_t tessera::rt::sharedResidentBytes(uint8_t *base, int64_t bytes) {
  int64_t page = sysconf(_SC_PAGESIZE), resident = 0;
  constexpr int64_t pagesAtOnce = 4096;
  unsigned char isIn[pagesAtOnce];
  for (int64_t begin = 0; begin < bytes; begin += pagesAtOnce * page) {
    int64_t length = std::min(pagesAtOnce * page, bytes - begin);
    int64_t pages = (length + page - 1) / page;
    if (mincore(base + begin, size_t(length), isIn) != 0)
      return resident;
    resident += std::count_if(isIn, isIn + pages,
                              [](unsigned char c) { return c & 1; }) *
                page;
  }
  return resident;
}

void tessera::rt::measureMemory(tessera_rt_context *ctx, MemoryUse &use,
                                const Manifest &manifest, bool withArena) {
  // Keeps the peak over the steps; steps keep what they allocate.
  use.privateBytes = std::max(use.privateBytes, privateResidentBytes());
  use.scratchBytes = int64_t(ctx->scratch.bytes());
  if (withArena)
    use.arenaBytes = sharedResidentBytes(ctx->arena(), manifest.arenaBytes);
}

/// State for the new handler, which takes no arguments.
static tessera_rt_context *limited = nullptr;
static int64_t limitedTo = 0;
/// Memory for the text of the failure.
static char *reserve = nullptr;

static void onNoMemory() {
  std::set_new_handler(nullptr);
  delete[] reserve;
  fail(limited, TESSERA_RT_INVALID,
       format("needs more than the %lld bytes of --memory-limit",
              (long long)limitedTo));
  _exit(1);
}

std::string tessera::rt::limitMemory(tessera_rt_context *ctx,
                                     const Manifest &manifest, int64_t limit) {
  Statm statm;
  if (limit == 0)
    return std::string();
  if (!readStatm(statm))
    return "cannot read /proc/self/statm, which --memory-limit needs";
  int64_t rest = limit - manifest.arenaBytes - privateResidentBytes();
  if (rest < 0)
    return format("needs %lld bytes, %lld of them for the arena of its plan, "
                  "but --memory-limit gives %lld",
                  (long long)(limit - rest), (long long)manifest.arenaBytes,
                  (long long)limit);
  // Memory that is mapped but not yet touched (stacks of threads) does not
  // count.
  rlim_t data = rlim_t(statm.data) * rlim_t(sysconf(_SC_PAGESIZE));
  rlimit bound = {data + rlim_t(rest), data + rlim_t(rest)};
  if (setrlimit(RLIMIT_DATA, &bound) != 0)
    return std::string("cannot limit memory: ") + strerror(errno);
  limited = ctx;
  limitedTo = limit;
  reserve = new char[64 << 10];
  std::set_new_handler(onNoMemory);
  return std::string();
}
