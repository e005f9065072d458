//===- Dist.td - Meshes, shardings and communication -------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DIST_DIST_TD
#define TESSERA_DIALECTS_DIST_DIST_TD

include "dialects/Dist/DistAttrs.td"
include "dialects/Dist/DistPlan.td"
include "dialects/Dist/DistOps.td"
include "dialects/Dist/DistCollectives.td"
include "dialects/Dist/DistMatmul.td"
include "dialects/Dist/DistAttention.td"
include "dialects/Dist/DistExperts.td"
include "dialects/Dist/DistForeign.td"
include "dialects/Dist/DistPipeline.td"

#endif // TESSERA_DIALECTS_DIST_DIST_TD
