//===- HostKind.cpp - This library runs programs on the host --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostTarget.h"

const tessera::rt::TargetKind tessera::rt::targetKind = {
    "host", /*hasDevices=*/false,
    [](tessera_rt_context *ctx) -> std::unique_ptr<Target> {
      return std::make_unique<HostTarget>(ctx);
    }};
