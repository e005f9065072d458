//===- EmulatedDevice.h - A device on the processor -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options of the emulated device, for tests.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_EMULATOR_EMULATEDDEVICE_H
#define TESSERA_RT_CUDA_EMULATOR_EMULATEDDEVICE_H

#include "../Device.h"

namespace tessera::rt::cuda {

struct EmulatedDeviceOptions {
  /// What the device claims to have; allocations beyond it are refused. 0: no
  /// limit.
  int64_t memoryBytes = 0;
  /// 0: work is done when it is enqueued. Otherwise it is done when somebody
  /// waits for it, and whenever several streams could go on the seed draws
  /// which one does: only what streams and events order is in order, so that a
  /// missing wait shows as a wrong result under some seed. It orders threads
  /// and blocks of kernels too.
  uint64_t seed = 0;
};

std::unique_ptr<Device>
createEmulatedDevice(const EmulatedDeviceOptions &options);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_EMULATOR_EMULATEDDEVICE_H
