//===- PageWriterTest.cpp - Pages placed with their contents --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/data/PageWriter.h"
#include "gtest/gtest.h"

#include <cstring>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace tessera::rt;

namespace {

constexpr size_t kBytes = 3 * PagePlacer::bufferBytes + 5000;

/// Shared memory with two mappings, as two ranks have it.
struct Shared {
  Shared() {
    int fd = memfd_create("test", 0);
    EXPECT_EQ(ftruncate(fd, kBytes), 0);
    own = map(fd);
    other = map(fd);
    close(fd);
  }
  ~Shared() {
    munmap(own, kBytes);
    munmap(other, kBytes);
  }
  static uint8_t *map(int fd) {
    return static_cast<uint8_t *>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  }
  uint8_t *own, *other;
};

std::vector<uint8_t> draw(unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<uint8_t> bytes(kBytes);
  for (uint8_t &byte : bytes)
    byte = uint8_t(generator());
  return bytes;
}

/// Writes bytes [begin, end), at most `step` at a time.
void write(PagePlacer &placer, const Shared &memory,
           const std::vector<uint8_t> &bytes, size_t begin, size_t end,
           size_t step) {
  PageWriter writer(placer, 0, memory.own + begin);
  while (begin < end) {
    size_t some = std::min({step, writer.room(), end - begin});
    memcpy(writer.next(), bytes.data() + begin, some);
    writer.advance(some);
    begin += some;
  }
  writer.finish();
}

/// Expects the drawn bytes from `begin` on, and zeros before.
void expectWritten(const Shared &memory, const std::vector<uint8_t> &bytes,
                   size_t begin, size_t end) {
  for (size_t i = 0; i < kBytes; ++i)
    ASSERT_EQ(memory.other[i], i < begin || i >= end ? 0 : bytes[i]) << i;
  EXPECT_EQ(memcmp(memory.own, memory.other, kBytes), 0);
}

class page_writer : public testing::TestWithParam<const char *> {};

} // namespace

/// Ranges that end within a page, at a page's edge, or at the buffer's.
TEST_P(page_writer, any_range) {
  PagePlacer placer(GetParam(), 1);
  std::vector<uint8_t> bytes = draw(1);
  constexpr size_t page = PagePlacer::pageBytes;
  constexpr size_t buffer = PagePlacer::bufferBytes;
  for (size_t begin : {size_t(0), size_t(4), page - 4, page, page + 8})
    for (size_t end : {page + 8, page + 12, 2 * page, buffer, buffer + page,
                       2 * buffer + 4, kBytes})
      for (size_t step : {size_t(1) << 20, size_t(5000)}) {
        Shared memory;
        write(placer, memory, bytes, begin, end, step);
        expectWritten(memory, bytes, begin, end);
      }
}

/// One writer continues where another ended, in the same page.
TEST_P(page_writer, neighbours) {
  PagePlacer placer(GetParam(), 1);
  std::vector<uint8_t> bytes = draw(2);
  Shared memory;
  write(placer, memory, bytes, 20004, kBytes, 7777);
  write(placer, memory, bytes, 100, 20004, 7777);
  expectWritten(memory, bytes, 100, kBytes);
}

/// Pages that exist already are copied to.
TEST_P(page_writer, touched_pages) {
  PagePlacer placer(GetParam(), 1);
  std::vector<uint8_t> bytes = draw(3);
  Shared memory;
  for (size_t i = 0; i < kBytes; i += 5 * PagePlacer::pageBytes)
    (i % 2 ? memory.own : memory.other)[i] = 1;
  write(placer, memory, bytes, 0, kBytes, 100000);
  expectWritten(memory, bytes, 0, kBytes);
}

INSTANTIATE_TEST_SUITE_P(, page_writer,
                         testing::Values("always advise [never]",
                                         "[always] advise never"));

/// No page is placed if shared memory has huge pages.
TEST(page_placer, huge_pages) {
  EXPECT_FALSE(PagePlacer("always within_size [advise] never", 1).isOpen());
}
