//===- PartSender.h - Sending blocks to a device ----------------*- C++ -*-===//
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
// thread creates pages at 2.3 GB/s).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_PARTSENDER_H
#define TESSERA_RT_CUDA_PARTSENDER_H

#include "Device.h"
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

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_PARTSENDER_H
