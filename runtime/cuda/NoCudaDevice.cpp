//===- NoCudaDevice.cpp - A library that was built without CUDA -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces CudaDevice.cpp if the build has no CUDA toolkit.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

using namespace tessera::rt::cuda;

static const char *const withoutCuda =
    "Tessera's runtime was built without CUDA's toolkit, so it has no devices "
    "but emulated ones";

std::unique_ptr<Device>
tessera::rt::cuda::createCudaDevice(int, std::string &error) {
  error = withoutCuda;
  return nullptr;
}

int tessera::rt::cuda::countCudaDevices(std::string &error) {
  error = withoutCuda;
  return 0;
}
