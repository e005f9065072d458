//===- StateSource.cpp - Copies of state in host memory -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See StateSource.h.
//
//===----------------------------------------------------------------------===//

#include "StateSource.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

using namespace tessera::rt;

namespace {
class HostStateSource final : public StateSource {
public:
  explicit HostStateSource(const uint8_t *arena) : arena(arena) {}
  ~HostStateSource() override {
    if (memory)
      munmap(memory, size_t(size));
  }

  std::string allocate(int64_t bytes, uint8_t *&allocated) override {
    void *address = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED)
      return strerror(errno);
    size = bytes;
    allocated = memory = static_cast<uint8_t *>(address);
    // Faults would take most of the time of a first copy.
    madvise(memory, size_t(size), MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
    madvise(memory, size_t(size), MADV_POPULATE_WRITE);
#endif
    return std::string();
  }

  std::string enter() override { return std::string(); }

  std::string copy(uint8_t *to, int64_t offset, int64_t bytes) override {
    memcpy(to, arena + offset, size_t(bytes));
    return std::string();
  }

  std::string wait() override { return std::string(); }

  // Short enough for the writer to begin soon and for a cache.
  int64_t pieceBytes() const override { return 1 << 20; }

private:
  const uint8_t *arena;
  uint8_t *memory = nullptr;
  int64_t size = 0;
};
} // namespace

std::unique_ptr<StateSource>
tessera::rt::createHostStateSource(const uint8_t *arena) {
  return std::make_unique<HostStateSource>(arena);
}
