//===- CudaKind.cpp - This library runs programs on devices ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaTarget.h"

const tessera::rt::TargetKind tessera::rt::targetKind = {
    "cuda", /*hasDevices=*/true,
    [](tessera_rt_context *ctx) -> std::unique_ptr<Target> {
      return std::make_unique<cuda::CudaTarget>(ctx);
    }};
