//===- NoCudnnAttention.cpp - A library without cuDNN's attention ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces CudnnAttention.cpp if its headers were not found.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

using namespace tessera::rt::cuda;

std::unique_ptr<Attention>
tessera::rt::cuda::createCudnnAttention(Device &, const CudnnOptions &,
                                        std::string &error) {
  error = "Tessera's runtime was built without the headers of cuDNN's frontend";
  return nullptr;
}
