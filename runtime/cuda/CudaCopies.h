//===- CudaCopies.h - Parameters and state to a device and back -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters and state reach a device through two buffers that it reads at full
// speed: one is written while the other is read. Without these, pages of the
// host's arena would be created and freed for the transfer, and read at a
// seventh of the rate (7.9 instead of 55 GB/s on an H200's host, where one
// thread creates pages at 2.3 GB/s). For checkpoints they go the other way, to
// such memory, too.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_CUDACOPIES_H
#define TESSERA_RT_CUDA_CUDACOPIES_H

#include "Device.h"
#include "host/StateSource.h"
#include "host/Target.h"

namespace tessera::rt::cuda {

/// Sends blocks to the device arena of a rank. Earlier work on the device must
/// have finished. All blocks have arrived when it is destroyed.
class CudaPartSender final : public PartSender {
public:
  CudaPartSender(tessera_rt_context *ctx, Device &device, uint8_t *arena)
      : ctx(ctx), device(device), arena(arena) {}
  ~CudaPartSender() override;

  /// Allocates the buffers for an arena of `arenaBytes`. Returns a message, or
  /// nothing.
  std::string open(int64_t arenaBytes);

  int64_t partBytes() const override { return bytes; }
  Status next(uint8_t *&part) override;
  Status send(const ArenaBlock &block) override;

private:
  struct Way {
    void *memory = nullptr;
    Stream stream;
  };
  Way &current() { return ways[number % 2]; }

  tessera_rt_context *ctx;
  Device &device;
  uint8_t *arena;
  int64_t bytes = 0, number = 0;
  Way ways[2];
};

/// Copies parameters and state out of the device arena of a rank, on a stream
/// of its own, straight into memory that the device writes at full speed. The
/// work before a copy must have ended.
class CudaStateSource final : public StateSource {
public:
  CudaStateSource(const tessera_rt_context &ctx, Device &device,
                  const uint8_t *arena)
      : ctx(ctx), device(device), arena(arena) {}
  ~CudaStateSource() override;

  /// Creates the stream. Returns a message, or nothing.
  std::string open();

  std::string allocate(int64_t bytes, uint8_t *&allocated) override;
  std::string enter() override;
  std::string copy(uint8_t *to, int64_t offset, int64_t bytes) override;
  std::string wait() override;
  int64_t pieceBytes() const override;

private:
  const tessera_rt_context &ctx;
  /// The device as the rank's thread and as the copying thread use it.
  Device &device;
  std::unique_ptr<Device> own;
  const uint8_t *arena;
  void *memory = nullptr;
  Stream stream;
  Event end;
};

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_CUDACOPIES_H
