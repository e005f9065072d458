//===- PageWriter.cpp - Filling shared memory page by page ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See PageWriter.h.
//
//===----------------------------------------------------------------------===//

#include "PageWriter.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__linux__) && __has_include(<linux/userfaultfd.h>)
#include <linux/userfaultfd.h>
#endif

using namespace tessera::rt;

std::string tessera::rt::readSystemFile(const char *path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool tessera::rt::mayHaveHugePages(const std::string &shmemHugePages) {
  return !shmemHugePages.empty() &&
         shmemHugePages.find("[never]") == std::string::npos &&
         shmemHugePages.find("[deny]") == std::string::npos;
}

PagePlacer::PagePlacer(int threads)
    : PagePlacer(readSystemFile(hugePagesFile), threads) {}

PagePlacer::PagePlacer(const std::string &shmemHugePages, int threads)
    : bytesOfBuffers(size_t(threads) * bufferBytes) {
  void *memory = mmap(nullptr, bytesOfBuffers, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return;
  buffers = static_cast<uint8_t *>(memory);
#if defined(UFFD_USER_MODE_ONLY) && defined(SYS_userfaultfd)
  if (mayHaveHugePages(shmemHugePages) ||
      sysconf(_SC_PAGESIZE) != long(pageBytes))
    return;
  // Faults of the kernel itself are not requested, so that no privilege is
  // needed.
  fd = int(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
  uffdio_api api{};
  api.api = UFFD_API;
  if (fd >= 0 && ioctl(fd, UFFDIO_API, &api) != 0) {
    close(fd);
    fd = -1;
  }
#else
  (void)shmemHugePages;
#endif
}

PagePlacer::~PagePlacer() {
  if (fd >= 0)
    close(fd);
  if (buffers)
    munmap(buffers, bytesOfBuffers);
}

void PagePlacer::place(uint8_t *to, const uint8_t *from, size_t bytes) const {
  size_t placed = 0;
#if defined(UFFD_USER_MODE_ONLY) && defined(SYS_userfaultfd)
  uffdio_register range{};
  range.range.start = reinterpret_cast<uintptr_t>(to);
  range.range.len = bytes;
  range.mode = UFFDIO_REGISTER_MODE_MISSING;
  if (fd >= 0 && bytes > 0 && ioctl(fd, UFFDIO_REGISTER, &range) == 0) {
    while (placed < bytes) {
      uffdio_copy copy{};
      copy.dst = reinterpret_cast<uintptr_t>(to) + placed;
      copy.src = reinterpret_cast<uintptr_t>(from) + placed;
      copy.len = bytes - placed;
      bool isWhole = ioctl(fd, UFFDIO_COPY, &copy) == 0;
      placed += copy.copy > 0 ? size_t(copy.copy) : 0;
      if (!isWhole && copy.copy <= 0 && errno != EAGAIN)
        break;
    }
    ioctl(fd, UFFDIO_UNREGISTER, &range.range);
  }
#endif
  // Copies to pages that exist already or that the system refuses to place.
  memcpy(to + placed, from + placed, bytes - placed);
}

PageWriter::PageWriter(PagePlacer &placer, int thread, uint8_t *begin)
    : placer(placer), buffer(placer.buffer(thread)) {
  head = reinterpret_cast<uintptr_t>(begin) % PagePlacer::pageBytes;
  page = begin - head;
  used = head;
}

void PageWriter::advance(size_t bytes) {
  used += bytes;
  if (used == PagePlacer::bufferBytes)
    flush();
}

/// Writes the contents of the buffer and advances it.
void PageWriter::flush() {
  constexpr size_t size = PagePlacer::pageBytes;
  size_t first = head == 0 ? 0 : std::min(size, used);
  memcpy(page + head, buffer + head, first > head ? first - head : 0);
  size_t whole = std::max(first, used / size * size);
  placer.place(page + first, buffer + first, whole - first);
  memcpy(page + whole, buffer + whole, used - whole);
  page += used;
  head = used = 0;
}

void PageWriter::finish() { flush(); }
