//===- GuardedMemory.cpp - Allocations between pages without access -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each allocation is one mapping: page without access, data, page without
// access. A signal handler calls nothing here.
//
//===----------------------------------------------------------------------===//

#include "GuardedMemory.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

using namespace tessera::emu;

static constexpr unsigned char slackByte = 0xA7;

namespace {
struct Allocation {
  char *mapping;
  size_t mappedBytes, bytes;
};
} // namespace

/// Allocations by address, for lookups only. Used under `lock()`.
static std::map<uintptr_t, Allocation> &allocations() {
  static std::map<uintptr_t, Allocation> all;
  return all;
}
static std::mutex &lock() {
  static std::mutex one;
  return one;
}

static size_t pageBytes() { return size_t(sysconf(_SC_PAGESIZE)); }

void *tessera::emu::allocateGuarded(size_t bytes, size_t alignment) {
  size_t page = pageBytes();
  size_t aligned = (bytes + alignment - 1) / alignment * alignment;
  size_t body = (aligned + page - 1) / page * page;
  size_t mapped = body + 2 * page;
  void *memory = mmap(nullptr, mapped, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  char *mapping = static_cast<char *>(memory);
  if (body && mprotect(mapping + page, body, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping, mapped);
    return nullptr;
  }
  char *data = mapping + page + body - aligned;
  memset(mapping + page, slackByte, body);
  memset(data, 0xFF, bytes);
  std::lock_guard<std::mutex> guard(lock());
  allocations()[reinterpret_cast<uintptr_t>(data)] = {mapping, mapped, bytes};
  return data;
}

std::string tessera::emu::freeGuarded(void *memory) {
  Allocation a;
  {
    std::lock_guard<std::mutex> guard(lock());
    auto found = allocations().find(reinterpret_cast<uintptr_t>(memory));
    if (found == allocations().end())
      return memory ? "free of an address that no allocation has" : "";
    a = found->second;
  }
  auto *data = static_cast<unsigned char *>(memory);
  auto *first = reinterpret_cast<unsigned char *>(a.mapping) + pageBytes();
  auto *last = reinterpret_cast<unsigned char *>(a.mapping) + a.mappedBytes -
               pageBytes();
  std::string error;
  for (unsigned char *byte = first; byte < last && error.empty(); ++byte) {
    bool inside = byte >= data && byte < data + a.bytes;
    if (!inside && *byte != slackByte)
      error = "a write at " + describeAddress(byte);
  }
  std::lock_guard<std::mutex> guard(lock());
  munmap(a.mapping, a.mappedBytes);
  allocations().erase(reinterpret_cast<uintptr_t>(memory));
  return error;
}

std::string tessera::emu::describeAddress(const void *address) {
  auto at = reinterpret_cast<uintptr_t>(address);
  std::lock_guard<std::mutex> guard(lock());
  for (const auto &entry : allocations()) {
    const Allocation &a = entry.second;
    auto mapping = reinterpret_cast<uintptr_t>(a.mapping);
    if (at < mapping || at >= mapping + a.mappedBytes)
      continue;
    char text[96];
    snprintf(text, sizeof(text), "byte %lld of %zu bytes allocated",
             (long long)(at - entry.first), a.bytes);
    return text;
  }
  char text[96];
  snprintf(text, sizeof(text), "address %p, which is in no allocation",
           address);
  return text;
}
