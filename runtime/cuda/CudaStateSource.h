//===- CudaStateSource.h - Copies of a device's state -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_CUDASTATESOURCE_H
#define TESSERA_RT_CUDA_CUDASTATESOURCE_H

#include "Device.h"
#include "host/StateSource.h"

struct tessera_rt_context;

namespace tessera::rt::cuda {

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

#endif // TESSERA_RT_CUDA_CUDASTATESOURCE_H
