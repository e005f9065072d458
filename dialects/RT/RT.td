//===- RT.td - Kernels, library calls, the arena -----------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_RT_RT_TD
#define TESSERA_DIALECTS_RT_RT_TD

include "dialects/RT/RTTensorOps.td"
include "dialects/RT/RTCallOps.td"
include "dialects/RT/RTExperts.td"
include "dialects/RT/RTPipeline.td"

#endif // TESSERA_DIALECTS_RT_RT_TD
