//===- Builtin.h - The hand-written kernels on a device ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads the kernels of this folder on a device and launches them by name.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_BUILTIN_H
#define TESSERA_RT_CUDA_KERNELS_BUILTIN_H

#include "../Device.h"

#include <map>

namespace tessera::rt::cuda {

/// The kernels of this library: cubins for architectures 80, 90 and 100 and PTX
/// for others if it was built with CUDA, and always functions for the emulated
/// device.
KernelImages builtinImages();

class BuiltinKernels {
public:
  explicit BuiltinKernels(Device &device) : device(device) {}

  /// Loads them. Returns a message, or nothing.
  std::string load();

  /// Enqueues a launch of kernel `name` with `params`, a struct of Params.h.
  template <typename Params>
  std::string launch(Stream stream, const char *name, const LaunchShape &shape,
                     const Params &params) {
    static_assert(sizeof(Params) % sizeof(int64_t) == 0, "64-bit arguments");
    return launchPacked(stream, name, shape,
                        reinterpret_cast<const int64_t *>(&params),
                        int32_t(sizeof(Params) / sizeof(int64_t)));
  }

  /// Number of blocks that fill the device for work of `count` items,
  /// `perBlock` at once in a block; each thread may do several items.
  int64_t gridFor(int64_t count, int64_t perBlock) const;

  Device &device;

private:
  std::string launchPacked(Stream stream, const char *name,
                           const LaunchShape &shape, const int64_t *args,
                           int32_t numArgs);

  Module module;
  std::map<std::string, Kernel> kernels;
};

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_KERNELS_BUILTIN_H
