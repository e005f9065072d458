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
  /// Reported memory of the device; allocations beyond it are refused. 0: no
  /// limit.
  int64_t memoryBytes = 0;
  /// 0: work is done when it is enqueued. Otherwise it is done when somebody
  /// waits for it, and the seed draws which of several ready streams continues.
  /// Then only streams and events order work, so that a missing wait gives a
  /// wrong result under some seed. The seed also orders threads and blocks of
  /// kernels.
  uint64_t seed = 0;
};

std::unique_ptr<Device>
createEmulatedDevice(const EmulatedDeviceOptions &options);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_EMULATOR_EMULATEDDEVICE_H
