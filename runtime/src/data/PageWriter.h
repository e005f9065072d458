//===- PageWriter.h - Filling shared memory page by page --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first write to a page of shared memory costs a fault, and the system
// first fills the page with zeros. Placing a page together with its contents
// costs neither (userfaultfd's UFFDIO_COPY). It takes a third less time than
// creating the pages first and writing them afterwards.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_PAGEWRITER_H
#define TESSERA_RT_SRC_PAGEWRITER_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera::rt {

/// The system's file with the setting of huge pages for shared memory.
constexpr const char *hugePagesFile =
    "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

/// The contents of a system file; empty if there is no such file.
std::string readSystemFile(const char *path);

/// True if that file's contents let shared memory have huge pages.
bool mayHaveHugePages(const std::string &shmemHugePages);

/// Places pages in memory that this process has mapped. Threads may place pages
/// of different ranges concurrently.
class PagePlacer {
public:
  /// Opens nothing if `shmemHugePages`, the contents of that file, lets shared
  /// memory have huge pages, because then there are fewer faults.
  PagePlacer(const std::string &shmemHugePages, int threads);
  /// Uses the contents of the system's own file.
  explicit PagePlacer(int threads);
  ~PagePlacer();
  PagePlacer(const PagePlacer &) = delete;
  PagePlacer &operator=(const PagePlacer &) = delete;

  /// True if the system lets this process place pages.
  bool isOpen() const { return fd >= 0; }

  /// Sets `bytes` of memory, whole pages at `to`, to the contents of `from`:
  /// places the missing pages and copies to the others. No other thread of this
  /// process may touch them meanwhile.
  void place(uint8_t *to, const uint8_t *from, size_t bytes) const;

  static constexpr size_t pageBytes = 4096;
  /// Bytes of a thread's buffer.
  static constexpr size_t bufferBytes = 64 * pageBytes;
  uint8_t *buffer(int thread) { return buffers + size_t(thread) * bufferBytes; }

private:
  int fd = -1;
  /// Buffers of all threads. Null if the system has no memory for them; then
  /// the placer is not open. They are not on the heap, so that the memory is
  /// released after the load.
  uint8_t *buffers = nullptr;
  size_t bytesOfBuffers;
};

/// Writes consecutive bytes from an address on. Full pages are placed, partial
/// ones are copied. One writer may begin where another ends.
class PageWriter {
public:
  PageWriter(PagePlacer &placer, int thread, uint8_t *begin);

  /// The address for the next bytes, and the room there.
  uint8_t *next() { return buffer + used; }
  size_t room() const { return PagePlacer::bufferBytes - used; }
  /// Records that `bytes` bytes were written at next().
  void advance(size_t bytes);
  /// Writes the last bytes.
  void finish();

private:
  void flush();

  PagePlacer &placer;
  uint8_t *buffer;
  /// The page at which the buffer begins, the number of its first bytes that
  /// belong to the writer before, and the number of bytes in use.
  uint8_t *page;
  size_t head, used;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_PAGEWRITER_H
