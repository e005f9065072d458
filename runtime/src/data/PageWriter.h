//===- PageWriter.h - Filling shared memory page by page --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A page of shared memory that is written for the first time costs a fault, and
// the system fills it with zeros before. A page that is handed over with its
// contents costs neither (userfaultfd's UFFDIO_COPY). It takes a third less
// time than to make pages first and to write them then.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_PAGEWRITER_H
#define TESSERA_RT_SRC_PAGEWRITER_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera::rt {

/// The system's file of its choice of huge pages for shared memory.
constexpr const char *hugePagesFile =
    "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

/// The contents of a file of the system; nothing where there is none.
std::string readSystemFile(const char *path);

/// Whether shared memory may have huge pages, by the contents of that file.
bool mayHaveHugePages(const std::string &shmemHugePages);

/// Puts pages into memory that this process has mapped. Threads may place pages
/// of different ranges at once.
class PagePlacer {
public:
  /// Opens nothing where `shmemHugePages`, the contents of the system's file of
  /// that choice, lets shared memory have huge pages: faults are fewer then.
  PagePlacer(const std::string &shmemHugePages, int threads);
  /// The same by the system's own file.
  explicit PagePlacer(int threads);
  ~PagePlacer();
  PagePlacer(const PagePlacer &) = delete;
  PagePlacer &operator=(const PagePlacer &) = delete;

  /// Whether the system lets this process place pages.
  bool isOpen() const { return fd >= 0; }

  /// Makes `bytes`, whole pages at `to`, what is at `from`: places those that
  /// are not there and copies the others. No other thread of this process may
  /// touch them meanwhile.
  void place(uint8_t *to, const uint8_t *from, size_t bytes) const;

  static constexpr size_t pageBytes = 4096;
  /// Of a thread's buffer.
  static constexpr size_t bufferBytes = 64 * pageBytes;
  uint8_t *buffer(int thread) { return buffers + size_t(thread) * bufferBytes; }

private:
  int fd = -1;
  /// Of all threads; none if the system has no memory for them, and nothing is
  /// open then. Not on the heap: the system has them back after the load.
  uint8_t *buffers = nullptr;
  size_t bytesOfBuffers;
};

/// Writes bytes that follow each other from an address on. Pages that they fill
/// are placed, the others written. Of two writers one may begin where the other
/// ends.
class PageWriter {
public:
  PageWriter(PagePlacer &placer, int thread, uint8_t *begin);

  /// Where the next bytes go, and how many of them at most.
  uint8_t *next() { return buffer + used; }
  size_t room() const { return PagePlacer::bufferBytes - used; }
  /// So many have been put there.
  void advance(size_t bytes);
  /// Nothing comes after what was put there.
  void finish();

private:
  void flush();

  PagePlacer &placer;
  uint8_t *buffer;
  /// The page at which the buffer begins, how many of its first bytes belong to
  /// the writer before, and how many bytes of the buffer are in use.
  uint8_t *page;
  size_t head, used;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_PAGEWRITER_H
