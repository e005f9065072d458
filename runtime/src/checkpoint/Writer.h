//===- Writer.h - Writing a rank's files of a checkpoint --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes a rank's parameters and state while the rank trains. A copier thread
// copies them from the program's arena, in host memory or on a device, into a
// ring; a writer thread hashes what is there, writes it and empties the ring.
// The next step waits for the copier before it changes them (its fence), and
// never for the writer, unless the ring is smaller than what is to be copied.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_WRITER_H
#define TESSERA_RT_SRC_WRITER_H

#include "Format.h"
#include "host/StateReader.h"
#include "host/StateSource.h"
#include "host/Target.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tessera::rt {

/// Bytes that one thread puts in and another takes out, in order.
class ByteRing {
public:
  /// Uses memory that outlives it.
  void use(uint8_t *memory, int64_t bytes) {
    this->memory = memory;
    size = bytes;
  }
  int64_t bytes() const { return size; }

  /// Forgets what is there and accepts bytes again.
  void reset();
  /// Ends all waits; put and take then return nothing.
  void cancel();

  /// Waits for room. Returns it, at most `most` bytes; 0: canceled.
  int64_t reserve(int64_t most, uint8_t *&room);
  void put(int64_t bytes);
  /// Waits for bytes. Returns some, at most `most`; 0: canceled.
  int64_t peek(int64_t most, const uint8_t *&bytes);
  void take(int64_t bytes);

private:
  uint8_t *memory = nullptr;
  int64_t size = 0;
  std::mutex mutex;
  std::condition_variable changed;
  /// Bytes put and taken since the reset.
  int64_t written = 0, read = 0;
  bool isCanceled = false;
};

class CheckpointWriter : public StateReader {
public:
  /// Writes `files`, which must outlive it, of a rank. `arena` is the host's.
  /// A write that takes longer than `patience` seconds hangs.
  CheckpointWriter(const std::vector<CheckpointFile> &files,
                   const uint8_t *arena, std::unique_ptr<StateSource> source,
                   int rank, double patience);
  ~CheckpointWriter() override;

  /// Bytes of all files.
  int64_t bytes() const { return total; }
  /// Blocks that `begin` reads from the host's arena: small ones, which a step
  /// may change before its fence.
  std::vector<ArenaBlock> earlyBlocks() const;
  /// Makes the ring. Returns a message, or nothing.
  std::string allocate(int64_t bytes);

  /// Begins to write the files into the folder `partial`, which it makes if
  /// need be. The early blocks are copied before it returns. `finish` runs in
  /// the writer thread once all files are on the disk, and returns a message or
  /// nothing. Steps that run meanwhile, if `isBesideSteps`, come first.
  void begin(const std::string &partial, bool isBesideSteps,
             std::function<std::string()> finish);
  /// True from begin until end.
  bool isBusy() const { return isStarted; }
  bool waitFor(double seconds) override;
  double patience() const override { return mostSeconds; }
  /// True once `finish` has returned, or something failed.
  bool isDone();
  /// Waits until it is done. Returns a message, or nothing.
  std::string end();
  /// Makes a write in progress end soon, as a failure.
  void cancel();

  /// The checksums of the files, in their order, once they are written.
  const std::vector<uint64_t> &sums() const { return checksums; }
  /// Seconds that waits for the copier lasted since begin.
  double secondsWaited() const { return waited; }

private:
  void runCopier();
  std::string copy();
  void copyBytes(const uint8_t *bytes, int64_t count);
  std::string copyPart(const FilePart &part);
  void work(const std::string &partial, bool isBesideSteps);
  std::string write(const std::string &partial);
  std::string writeFile(int folder, const CheckpointFile &file,
                        const std::string &path, uint64_t &sum);

  const std::vector<CheckpointFile> &files;
  const uint8_t *arena;
  std::unique_ptr<StateSource> source;
  int rank;
  double mostSeconds;
  int64_t total = 0;
  ByteRing ring;
  std::function<std::string()> finish;
  std::vector<uint64_t> checksums;
  /// The elements of the early blocks, one block after the other.
  std::vector<uint8_t> early;
  std::thread copier, writer;
  bool isStarted = false;
  double waited = 0;

  std::mutex mutex;
  std::condition_variable changed;
  bool isCopied = false, isWritten = false;
  /// The messages of the two threads.
  std::string copyError, error;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_WRITER_H
