//===- DeviceKernels.cpp - The hand-written kernels as Kernels ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements Kernels.h with kernels/Launch.h. Faults of watched blocks are
// stored in three integers of device memory.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include "kernels/Launch.h"

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
class DeviceKernels : public Kernels {
public:
  explicit DeviceKernels(Device &device) : kernels(device) {}
  ~DeviceKernels() override { kernels.device.release(fault); }

  std::string open() {
    Device &device = kernels.device;
    Stream stream;
    std::string error = kernels.load();
    if (error.empty())
      error = device.allocate(faultBytes, fault);
    if (error.empty())
      error = device.createStream(false, stream);
    if (error.empty())
      error = device.fillBytes(stream, fault, 0, faultBytes);
    if (error.empty())
      error = device.synchronize(stream);
    if (stream.handle)
      device.destroy(stream);
    return error;
  }

  std::string name() const override { return "tessera"; }

  std::string prepare(const tessera_rt_attention_desc &desc, int64_t, int64_t,
                      bool withBackward, int64_t &workspace) override {
    workspace = withBackward ? attentionBackwardWorkspace(desc) : 0;
    return checkAttention(desc);
  }
  std::string forward(Stream stream, const AttentionCall &call, void *out,
                      float *logsumexp, void *) override {
    return launchAttention(kernels, stream, call.desc, operandsOf(call), out,
                           logsumexp);
  }
  std::string backward(Stream stream, const AttentionCall &call,
                       const void *grad, const void *out,
                       const float *logsumexp, void *dq, void *dk, void *dv,
                       void *workspace) override {
    return launchAttentionBackward(kernels, stream, call.desc, operandsOf(call),
                                   {grad, out, logsumexp, dq, dk, dv},
                                   workspace);
  }

  std::string copyStrided(Stream stream, const StridedCopy &copy) override {
    return launchCopy(kernels, stream, copy.elementSize, copy.rank, copy.shape,
                      copy.source, copy.sourceStrides, copy.destination,
                      copy.destinationStrides);
  }
  std::string fill(Stream stream, int64_t elementSize, void *destination,
                   int64_t count, int64_t bits) override {
    return launchFill(kernels, stream, elementSize, destination, count, bits);
  }
  std::string reduce(Stream stream, const LocalReduction &call) override {
    LocalReduce reduce;
    reduce.dtype = call.dtype;
    reduce.reduction = call.reduction;
    reduce.outer = call.outer;
    reduce.inner = call.inner;
    reduce.sourceStride = call.sourceStride;
    reduce.destinationStride = call.inner;
    reduce.sources.assign(call.sources, call.sources + call.numSources);
    reduce.destinations.push_back(call.destination);
    return launchLocalReduce(kernels, stream, reduce);
  }

  std::string beginBlock(Stream stream, void *block, int64_t, int64_t bytes,
                         bool forget) override {
    return launchBlockBegin(kernels, stream, block, bytes, forget);
  }
  std::string endBlock(Stream stream, void *block, int64_t offset,
                       int64_t bytes, bool forget) override {
    return launchBlockEnd(kernels, stream, block, bytes, offset, forget,
                          static_cast<int64_t *>(fault));
  }
  std::string blockFault(Stream stream) override {
    int64_t found[3] = {};
    std::string error =
        kernels.device.copyOut(stream, found, fault, faultBytes);
    if (error.empty())
      error = kernels.device.synchronize(stream);
    return error.empty() ? describeBlockFault(found) : error;
  }

  std::string epilogue(Stream stream, const Epilogue &call) override {
    return launchEpilogue(kernels, stream, call);
  }
  int64_t reductionWorkspace(const ColumnReduction &call) const override {
    return columnReductionWorkspace(call);
  }
  std::string reduceColumns(Stream stream, const ColumnReduction &call,
                            void *workspace) override {
    return launchColumnReduction(kernels, stream, call, workspace);
  }

  int64_t
  embeddingWorkspace(const tessera_rt_embedding_desc &desc) const override {
    return cuda::embeddingWorkspace(desc);
  }
  std::string embeddingBackward(Stream stream,
                                const tessera_rt_embedding_desc &desc,
                                const void *grad, const void *ids, void *result,
                                int64_t offset, void *workspace) override {
    return launchEmbeddingBackward(kernels, stream, desc, grad, ids, result,
                                   offset, workspace);
  }

  int64_t routeWorkspace(const tessera_rt_route_desc &desc) const override {
    return cuda::routeWorkspace(desc);
  }
  std::string route(Stream stream, const tessera_rt_route_desc &desc,
                    const void *ids, int64_t offset, int32_t *routing,
                    const RoutingCounts &counts, void *workspace) override {
    return launchRoute(kernels, stream, desc, ids, offset, routing, counts,
                       workspace);
  }
  int64_t
  capacityWorkspace(const tessera_rt_capacity_desc &desc) const override {
    return cuda::capacityWorkspace(desc);
  }
  std::string expertCapacity(Stream stream,
                             const tessera_rt_capacity_desc &desc,
                             const void *ids, const void *scores, void *result,
                             void *workspace) override {
    return launchExpertCapacity(kernels, stream, desc, ids, scores, result,
                                workspace);
  }
  int64_t expertsWorkspace(ExpertsCall call,
                           const tessera_rt_experts_desc &desc) const override {
    return cuda::expertsWorkspace(call, desc);
  }
  std::string experts(Stream stream, ExpertsCall call,
                      const tessera_rt_experts_desc &desc,
                      const ExpertTensors &tensors, void *workspace) override {
    return launchExperts(kernels, stream, call, desc, tensors, workspace);
  }

private:
  static AttentionOperands operandsOf(const AttentionCall &call) {
    return {call.q,       call.k,      call.v,   call.qOffset,
            call.kOffset, call.starts, call.bias};
  }

  static constexpr int64_t faultBytes = 3 * sizeof(int64_t);
  BuiltinKernels kernels;
  void *fault = nullptr;
};
} // namespace

std::unique_ptr<Kernels>
tessera::rt::cuda::createDeviceKernels(Device &device, std::string &error) {
  auto kernels = std::make_unique<DeviceKernels>(device);
  error = kernels->open();
  if (!error.empty())
    return nullptr;
  return kernels;
}
