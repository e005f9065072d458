//===- NoDeviceKernels.cpp - A library without hand-written kernels -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands for the hand-written kernels where they were not built.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

using namespace tessera::rt::cuda;

std::unique_ptr<Kernels>
tessera::rt::cuda::createDeviceKernels(Device &, std::string &error) {
  error = "Tessera's runtime was built without its kernels for devices";
  return nullptr;
}

std::unique_ptr<Attention>
tessera::rt::cuda::createCudnnAttention(Device &, bool, int64_t,
                                        std::string &error) {
  error = "Tessera's runtime was built without cuDNN's attention";
  return nullptr;
}
