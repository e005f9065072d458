//===- Experts.h - Calls on experts of a device -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of mixtures of experts on a device. The number of rows that an
// expert has is known on the device alone: every call is enqueued for the rows
// that there is room for.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_EXPERTS_H
#define TESSERA_RT_CUDA_EXPERTS_H

#include "Device.h"
#include "host/Target.h"

namespace tessera::rt::cuda {

/// The first routing of a step that has more rows than different ids can have,
/// `most`; all 0 if there is none.
struct RoutingFault {
  int64_t rows, most, offset;
};

/// Device addresses of a routing's counts. `loads` may be null.
struct RoutingCounts {
  LayerLoads *loads;
  RoutingFault *fault;
};

/// Functions return a message, or nothing. Operands are device addresses; a
/// workspace has the bytes that the function before asks for.
class Experts {
public:
  virtual ~Experts() = default;

  virtual int64_t routeWorkspace(const tessera_rt_route_desc &desc) const = 0;
  /// See tessera_rt_route. More rows than different ids can have are a fault.
  virtual std::string route(Stream stream, const tessera_rt_route_desc &desc,
                            const void *ids, int64_t offset, int32_t *routing,
                            const RoutingCounts &counts, void *workspace) = 0;

  virtual int64_t
  capacityWorkspace(const tessera_rt_capacity_desc &desc) const = 0;
  /// See tessera_rt_expert_capacity.
  virtual std::string expertCapacity(Stream stream,
                                     const tessera_rt_capacity_desc &desc,
                                     const void *ids, const void *scores,
                                     void *result, void *workspace) = 0;

  virtual int64_t
  expertsWorkspace(ExpertsCall call,
                   const tessera_rt_experts_desc &desc) const = 0;
  virtual std::string experts(Stream stream, ExpertsCall call,
                              const tessera_rt_experts_desc &desc,
                              const ExpertTensors &tensors,
                              void *workspace) = 0;
};

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_EXPERTS_H
