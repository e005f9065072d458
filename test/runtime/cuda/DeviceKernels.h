//===- DeviceKernels.h - The kernels on an emulated device ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code shared by the tests of kernels: a device with the kernels loaded, and
// blocks of its memory that end at a guard page.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RUNTIME_CUDA_DEVICEKERNELS_H
#define TESSERA_TEST_RUNTIME_CUDA_DEVICEKERNELS_H

#include "runtime/cuda/emulator/EmulatedDevice.h"
#include "runtime/cuda/emulator/GuardedMemory.h"
#include "runtime/cuda/kernels/Launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tessera::rt::cuda {

/// A stream of an emulated device, with the order of the seed.
class DeviceKernels {
public:
  explicit DeviceKernels(uint64_t seed)
      : device(createEmulatedDevice(EmulatedDeviceOptions{0, seed})),
        kernels(*device) {
    EXPECT_EQ(kernels.load(), "");
    EXPECT_EQ(device->createStream(false, stream), "");
  }
  ~DeviceKernels() { EXPECT_EQ(device->destroy(stream), ""); }

  /// Waits for all launches; `error` is the message of the last one.
  void finish(const std::string &error) {
    ASSERT_EQ(error, "");
    ASSERT_EQ(device->synchronize(stream), "");
  }

  std::unique_ptr<Device> device;
  BuiltinKernels kernels;
  Stream stream;
};

/// Memory of `count` elements before a guard page, initially NaN.
template <typename T> class DeviceBlock {
public:
  explicit DeviceBlock(size_t count, size_t alignment = 16)
      : count(count), memory(static_cast<T *>(tessera::emu::allocateGuarded(
                          count * sizeof(T), alignment))) {}
  DeviceBlock(const std::vector<T> &values, size_t alignment = 16)
      : DeviceBlock(values.size(), alignment) {
    std::copy(values.begin(), values.end(), memory);
  }
  DeviceBlock(const DeviceBlock &) = delete;
  ~DeviceBlock() { EXPECT_EQ(tessera::emu::freeGuarded(memory), ""); }

  T *data() { return memory; }
  std::vector<T> values() const {
    return std::vector<T>(memory, memory + count);
  }

private:
  size_t count;
  T *memory;
};

} // namespace tessera::rt::cuda

#endif // TESSERA_TEST_RUNTIME_CUDA_DEVICEKERNELS_H
