//===- CudaExperts.cpp - Calls on experts of a step -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See CudaTarget.h. Routings count the uses of experts in device memory, which
// begins each step with zeros and ends it with a copy to the host, so a step
// does not wait.
//
//===----------------------------------------------------------------------===//

#include "CudaTarget.h"

#include <algorithm>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void CudaTarget::noteWorkspace(int64_t bytes) {
  noted.workspace = std::max(noted.workspace, bytes);
}

Status CudaTarget::route(const tessera_rt_route_desc &desc, const void *ids,
                         int64_t offset, int32_t *routing) {
  ++noted.calls;
  if (isNoting) {
    noted.routes = true;
    noteWorkspace(kernels->routeWorkspace(desc));
    return TESSERA_RT_OK;
  }
  RoutingCounts deviceCounts = {};
  deviceCounts.fault = static_cast<RoutingFault *>(counts);
  // The device's table has the layout of the host's.
  if (LayerLoads *loads = findLoads(*ctx, desc))
    deviceCounts.loads = reinterpret_cast<LayerLoads *>(
        static_cast<uint8_t *>(counts) + sizeof(RoutingFault) +
        (reinterpret_cast<uint8_t *>(loads) - hostLoads()));
  return check(kernels->route(compute, desc, ids, offset, routing, deviceCounts,
                              workspace));
}

Status CudaTarget::expertCapacity(const tessera_rt_capacity_desc &desc,
                                  const void *ids, const void *scores,
                                  void *result) {
  ++noted.calls;
  if (isNoting) {
    noteWorkspace(kernels->capacityWorkspace(desc));
    return TESSERA_RT_OK;
  }
  return check(
      kernels->expertCapacity(compute, desc, ids, scores, result, workspace));
}

Status CudaTarget::experts(ExpertsCall call,
                           const tessera_rt_experts_desc &desc,
                           const ExpertTensors &tensors) {
  ++noted.calls;
  if (isNoting) {
    noteWorkspace(kernels->expertsWorkspace(call, desc));
    return TESSERA_RT_OK;
  }
  return check(kernels->experts(compute, call, desc, tensors, workspace));
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

uint8_t *CudaTarget::hostLoads() const {
  return reinterpret_cast<uint8_t *>(ctx->memory.loads(ctx->rank, 0));
}

Status CudaTarget::openCounts() {
  if (!noted.routes)
    return TESSERA_RT_OK;
  countBytes =
      int64_t(sizeof(RoutingFault)) + ctx->memory.tables.bytesOfLoads();
  std::string error = device->allocate(countBytes, counts);
  if (error.empty())
    error = device->allocateHost(countBytes, stagedCounts);
  return check(error);
}

Status CudaTarget::clearCounts() {
  if (!noted.routes)
    return TESSERA_RT_OK;
  return check(device->fillBytes(compute, counts, 0, countBytes));
}

Status CudaTarget::sendCounts() {
  if (!noted.routes)
    return TESSERA_RT_OK;
  return check(device->copyOut(compute, stagedCounts, counts, countBytes));
}

Status CudaTarget::takeCounts() {
  if (!noted.routes || stepsEnqueued == 0)
    return TESSERA_RT_OK;
  const auto &fault = *static_cast<const RoutingFault *>(stagedCounts);
  if (fault.rows)
    return failRouting(ctx, fault.most, fault.offset, fault.rows);
  if (uint8_t *loads = hostLoads())
    memcpy(loads, &fault + 1, size_t(ctx->memory.tables.bytesOfLoads()));
  return TESSERA_RT_OK;
}
