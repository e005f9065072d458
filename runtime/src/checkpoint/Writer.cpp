//===- Writer.cpp - Writing a rank's files of a checkpoint ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Writer.h. The ring has the bytes of all files, one file after the other,
// as they are in the files.
//
//===----------------------------------------------------------------------===//

#include "Writer.h"

#include "data/Folders.h"
#include "data/Npy.h"
#include "support/Hash.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace tessera::rt;

//===----------------------------------------------------------------------===//
// The ring
//===----------------------------------------------------------------------===//

void ByteRing::reset() {
  std::lock_guard<std::mutex> guard(mutex);
  written = read = 0;
  isCanceled = false;
}

void ByteRing::cancel() {
  std::lock_guard<std::mutex> guard(mutex);
  isCanceled = true;
  changed.notify_all();
}

int64_t ByteRing::reserve(int64_t most, uint8_t *&room) {
  std::unique_lock<std::mutex> guard(mutex);
  changed.wait(guard, [&] { return isCanceled || written - read < size; });
  if (isCanceled)
    return 0;
  room = memory + written % size;
  return std::min({most, size - (written - read), size - written % size});
}

void ByteRing::put(int64_t bytes) {
  std::lock_guard<std::mutex> guard(mutex);
  written += bytes;
  changed.notify_all();
}

int64_t ByteRing::peek(int64_t most, const uint8_t *&bytes) {
  std::unique_lock<std::mutex> guard(mutex);
  changed.wait(guard, [&] { return isCanceled || written > read; });
  if (isCanceled)
    return 0;
  bytes = memory + read % size;
  return std::min({most, written - read, size - read % size});
}

void ByteRing::take(int64_t bytes) {
  std::lock_guard<std::mutex> guard(mutex);
  read += bytes;
  changed.notify_all();
}

//===----------------------------------------------------------------------===//
// The copier
//===----------------------------------------------------------------------===//

/// True for a block that the next step may write to before its fence.
static bool isEarly(const Value &value) { return value.bytes <= 8; }

CheckpointWriter::CheckpointWriter(const std::vector<CheckpointFile> &files,
                                   const uint8_t *arena,
                                   std::unique_ptr<StateSource> source,
                                   int rank, double patience)
    : files(files), arena(arena), source(std::move(source)), rank(rank),
      mostSeconds(patience), checksums(files.size()) {
  for (const CheckpointFile &file : files)
    total += file.bytes;
}

CheckpointWriter::~CheckpointWriter() {
  cancel();
  end();
}

std::vector<ArenaBlock> CheckpointWriter::earlyBlocks() const {
  std::vector<ArenaBlock> blocks;
  for (const CheckpointFile &file : files)
    for (const FilePart &part : file.parts)
      if (isEarly(*part.value))
        blocks.push_back(part.value->blockOn(rank));
  return blocks;
}

std::string CheckpointWriter::allocate(int64_t bytes) {
  uint8_t *memory = nullptr;
  std::string fault = source->allocate(bytes, memory);
  if (!fault.empty())
    return format("cannot get %lld bytes of memory for checkpoints (%s): "
                  "--checkpoint-memory takes less",
                  (long long)bytes, fault.c_str());
  ring.use(memory, bytes);
  return std::string();
}

void CheckpointWriter::copyBytes(const uint8_t *bytes, int64_t count) {
  while (count > 0) {
    uint8_t *room;
    int64_t some = ring.reserve(count, room);
    if (some == 0)
      return;
    memcpy(room, bytes, size_t(some));
    ring.put(some);
    bytes += some;
    count -= some;
  }
}

std::string CheckpointWriter::copyPart(const FilePart &part) {
  int64_t most = source->pieceBytes();
  int64_t block = part.value->offsetOn(rank);
  int64_t size = dtypeSize(part.value->dtype), count = part.box.elements();
  for (int64_t at = 0; at < count;) {
    uint8_t *room;
    int64_t bytes = ring.reserve(std::min(most, (count - at) * size), room);
    if (bytes == 0)
      return std::string();
    // An element can be at the ring's end and at its start.
    uint8_t element[8];
    int64_t some = std::max<int64_t>(bytes / size, 1);
    uint8_t *to = bytes < size ? element : room;
    std::string fault;
    forEachRun(part.box, at, some, [&](int64_t from, int64_t length) {
      if (fault.empty())
        fault = source->copy(to, block + from * size, length * size);
      to += length * size;
    });
    if (fault.empty())
      fault = source->wait();
    if (!fault.empty())
      return fault;
    if (bytes < size)
      copyBytes(element, size);
    else
      ring.put(some * size);
    at += some;
  }
  return std::string();
}

std::string CheckpointWriter::copy() {
  std::string fault = source->enter();
  const uint8_t *next = early.data();
  for (const CheckpointFile &file : files) {
    copyBytes(reinterpret_cast<const uint8_t *>(file.header.data()),
              int64_t(file.header.size()));
    for (const FilePart &part : file.parts) {
      if (!fault.empty())
        return fault;
      if (!isEarly(*part.value)) {
        fault = copyPart(part);
        continue;
      }
      copyBytes(next, part.bytes());
      next += part.bytes();
    }
  }
  return fault;
}

void CheckpointWriter::runCopier() {
  std::string fault = copy();
  if (!fault.empty())
    ring.cancel();
  std::lock_guard<std::mutex> guard(mutex);
  copyError = fault;
  isCopied = true;
  changed.notify_all();
}

//===----------------------------------------------------------------------===//
// The writer
//===----------------------------------------------------------------------===//

std::string CheckpointWriter::writeFile(int folder, const CheckpointFile &file,
                                        const std::string &path,
                                        uint64_t &sum) {
  // Pages of this size are still in a cache when they are written.
  constexpr int64_t most = 1 << 20, flushed = 16 << 20;
  int64_t started = 0;
  int fd = openat(folder, file.name.c_str(),
                  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0)
    return describeSystemError("make", path);
  Hasher hasher;
  std::string fault;
  for (int64_t left = file.bytes; left > 0 && fault.empty();) {
    const uint8_t *bytes;
    int64_t some = ring.peek(std::min(most, left), bytes);
    if (some == 0) {
      fault = "the run ends";
      break;
    }
    hasher.add(bytes, size_t(some));
    if (!writeAll(fd, bytes, size_t(some)))
      fault = describeSystemError("write", path);
    ring.take(some);
    left -= some;
    // The disk begins now; else it would wait for the sync.
    if (file.bytes - left - started >= flushed) {
      sync_file_range(fd, started, flushed, SYNC_FILE_RANGE_WRITE);
      started += flushed;
    }
  }
  if (fault.empty() && fsync(fd) != 0)
    fault = describeSystemError("sync", path);
  if (close(fd) != 0 && fault.empty())
    fault = describeSystemError("close", path);
  sum = hasher.value();
  return fault;
}

std::string CheckpointWriter::write(const std::string &partial) {
  if (mkdir(partial.c_str(), 0777) != 0 && errno != EEXIST)
    return describeSystemError("make the directory", partial);
  int folder = open(partial.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return describeSystemError("open the directory", partial);
  std::string fault;
  for (size_t i = 0; i < files.size() && fault.empty(); ++i)
    fault = writeFile(folder, files[i], partial + "/" + files[i].name,
                      checksums[i]);
  if (fault.empty() && fsync(folder) != 0 && errno != EINVAL)
    fault = describeSystemError("sync the directory", partial);
  close(folder);
  return fault.empty() ? finish() : fault;
}

void CheckpointWriter::work(const std::string &partial, bool isBesideSteps) {
  // No step waits for this thread if the ring has room for all; then the steps
  // and the copier come first where there are too few processors.
  if (isBesideSteps && ring.bytes() >= total)
    setpriority(PRIO_PROCESS, id_t(syscall(SYS_gettid)), 19);
  std::string fault = write(partial);
  if (!fault.empty())
    ring.cancel();
  std::lock_guard<std::mutex> guard(mutex);
  error = fault;
  isWritten = true;
  changed.notify_all();
}

void CheckpointWriter::begin(const std::string &partial, bool isBesideSteps,
                             std::function<std::string()> atEnd) {
  finish = std::move(atEnd);
  ring.reset();
  early.clear();
  for (const CheckpointFile &file : files)
    for (const FilePart &part : file.parts)
      if (isEarly(*part.value)) {
        size_t used = early.size();
        early.resize(used + size_t(part.bytes()));
        copyBox(part.box, dtypeSize(part.value->dtype),
                arena + part.value->offsetOn(rank), early.data() + used);
      }
  isCopied = isWritten = false;
  copyError.clear();
  error.clear();
  waited = 0;
  isStarted = true;
  copier = std::thread([this] { runCopier(); });
  writer = std::thread(
      [this, partial, isBesideSteps] { work(partial, isBesideSteps); });
}

bool CheckpointWriter::waitFor(double seconds) {
  double begin = monotonicSeconds();
  std::unique_lock<std::mutex> guard(mutex);
  changed.wait_for(guard, std::chrono::duration<double>(seconds),
                   [&] { return isCopied; });
  waited += monotonicSeconds() - begin;
  return isCopied;
}

bool CheckpointWriter::isDone() {
  std::lock_guard<std::mutex> guard(mutex);
  return isWritten;
}

void CheckpointWriter::cancel() {
  if (isStarted)
    ring.cancel();
}

std::string CheckpointWriter::end() {
  if (!isStarted)
    return std::string();
  copier.join();
  writer.join();
  isStarted = false;
  return copyError.empty() ? error : copyError;
}
