//===- HostKernels.cpp - Host code that replaces kernels ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Kernels.h. On an emulated device addresses are the host's, so the host
// target's code replaces the kernels when the stream reaches them.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "host/HostTarget.h"
#include "kernels/CpuKernels.h"
#include "kernels/Gelu.h"

#include <cstring>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
using Extents = std::vector<int64_t>;

class HostKernels final : public Kernels {
public:
  HostKernels(Device &device, tessera_rt_context *ctx)
      : device(device), ctx(ctx) {}

  std::string name() const override { return "host"; }

  std::string copyStrided(Stream stream, const StridedCopy &copy) override;
  std::string fill(Stream stream, int64_t elementSize, void *destination,
                   int64_t count, int64_t bits) override;
  std::string reduce(Stream stream, const LocalReduction &call) override;
  std::string beginBlock(Stream stream, void *block, int64_t offset,
                         int64_t bytes, bool forget) override;
  std::string endBlock(Stream stream, void *block, int64_t offset,
                       int64_t bytes, bool forget) override;
  std::string blockFault(Stream stream) override;
  std::string epilogue(Stream stream, const Epilogue &call) override;
  int64_t reductionWorkspace(const ColumnReduction &) const override {
    return 0;
  }
  std::string reduceColumns(Stream stream, const ColumnReduction &call,
                            void *workspace) override;
  int64_t embeddingWorkspace(const tessera_rt_embedding_desc &) const override {
    return 0;
  }
  std::string embeddingBackward(Stream stream,
                                const tessera_rt_embedding_desc &desc,
                                const void *grad, const void *ids, void *result,
                                int64_t offset, void *workspace) override;

  std::string prepare(const tessera_rt_attention_desc &, int64_t, int64_t, bool,
                      int64_t &workspace) override {
    workspace = 0;
    return std::string();
  }
  std::string forward(Stream stream, const AttentionCall &call, void *out,
                      float *logsumexp, void *workspace) override;
  std::string backward(Stream stream, const AttentionCall &call,
                       const void *grad, const void *out,
                       const float *logsumexp, void *dq, void *dk, void *dv,
                       void *workspace) override;

  int64_t routeWorkspace(const tessera_rt_route_desc &) const override {
    return 0;
  }
  std::string route(Stream stream, const tessera_rt_route_desc &desc,
                    const void *ids, int64_t offset, int32_t *routing,
                    const RoutingCounts &counts, void *workspace) override;
  int64_t capacityWorkspace(const tessera_rt_capacity_desc &) const override {
    return 0;
  }
  std::string expertCapacity(Stream stream,
                             const tessera_rt_capacity_desc &desc,
                             const void *ids, const void *scores, void *result,
                             void *workspace) override;
  int64_t expertsWorkspace(ExpertsCall,
                           const tessera_rt_experts_desc &) const override {
    return 0;
  }
  std::string experts(Stream stream, ExpertsCall call,
                      const tessera_rt_experts_desc &desc,
                      const ExpertTensors &tensors, void *workspace) override;

private:
  Device &device;
  tessera_rt_context *ctx;
  /// The first block with a write after its end.
  std::string fault;
};

/// An attention call that outlives its caller's descriptor.
struct KeptCall {
  tessera_rt_attention_desc desc;
  const void *q, *k, *v;
  int64_t qOffset, kOffset;
  const int32_t *starts;
  const float *bias;

  explicit KeptCall(const AttentionCall &call)
      : desc(call.desc), q(call.q), k(call.k), v(call.v), qOffset(call.qOffset),
        kOffset(call.kOffset), starts(call.starts), bias(call.bias) {}
  AttentionCall get() const {
    return {desc, q, k, v, qOffset, kOffset, starts, bias};
  }
};
} // namespace

std::string HostKernels::copyStrided(Stream stream, const StridedCopy &copy) {
  Extents shape(copy.shape, copy.shape + copy.rank);
  Extents from(copy.sourceStrides, copy.sourceStrides + copy.rank);
  Extents to(copy.destinationStrides, copy.destinationStrides + copy.rank);
  return device.call(stream, [=, ctx = ctx] {
    tessera::rt::copyStrided(
        ctx, copy.elementSize, copy.rank, shape.data(),
        static_cast<const uint8_t *>(copy.source), from.data(),
        static_cast<uint8_t *>(copy.destination), to.data());
  });
}

std::string HostKernels::fill(Stream stream, int64_t elementSize,
                              void *destination, int64_t count, int64_t bits) {
  return device.call(stream, [=, ctx = ctx] {
    host::fill(ctx, elementSize, destination, count, bits);
  });
}

std::string HostKernels::reduce(Stream stream, const LocalReduction &call) {
  std::vector<const uint8_t *> sources;
  for (int32_t i = 0; i < call.numSources; ++i)
    sources.push_back(static_cast<const uint8_t *>(call.sources[i]));
  return device.call(stream, [=] {
    int64_t size = dtypeSize(call.dtype);
    for (int64_t row = 0; row < call.outer; ++row) {
      std::vector<const void *> rows;
      for (const uint8_t *source : sources)
        rows.push_back(source + row * call.sourceStride * size);
      cpuKernels().reduce(
          call.dtype, call.reduction, rows.data(), int(rows.size()),
          static_cast<uint8_t *>(call.destination) + row * call.inner * size,
          call.inner);
    }
  });
}

static constexpr int64_t guardBytes = 64;
static constexpr uint8_t guard = 0xC5;

std::string HostKernels::beginBlock(Stream stream, void *block, int64_t,
                                    int64_t bytes, bool forget) {
  return device.call(stream, [=] {
    uint8_t *begin = static_cast<uint8_t *>(block);
    memset(begin + bytes, guard, guardBytes);
    if (forget)
      memset(begin, 0xFF, size_t(bytes));
  });
}

std::string HostKernels::endBlock(Stream stream, void *block, int64_t offset,
                                  int64_t bytes, bool forget) {
  return device.call(stream, [=] {
    uint8_t *begin = static_cast<uint8_t *>(block);
    for (int64_t i = bytes; i < bytes + guardBytes; ++i)
      if (begin[i] != guard && fault.empty())
        fault = format("memory after the block of %lld bytes at offset %lld "
                       "was written, at byte %lld of it",
                       (long long)bytes, (long long)offset, (long long)i);
    if (forget)
      memset(begin, 0xFF, size_t(bytes));
  });
}

std::string HostKernels::blockFault(Stream stream) {
  std::string error = device.synchronize(stream);
  return error.empty() ? fault : error;
}

namespace {
/// Storage and computation type of an element.
struct Element {
  int32_t dtype;
  double read(const void *base, int64_t i) const {
    switch (dtype) {
    case TESSERA_RT_BF16:
      return bf16ToFloat(static_cast<const uint16_t *>(base)[i]);
    case TESSERA_RT_F16:
      return double(static_cast<const _Float16 *>(base)[i]);
    case TESSERA_RT_F64:
      return static_cast<const double *>(base)[i];
    default:
      return static_cast<const float *>(base)[i];
    }
  }
  void write(void *base, int64_t i, double value) const {
    if (dtype == TESSERA_RT_BF16)
      static_cast<uint16_t *>(base)[i] = floatToBf16(float(value));
    else if (dtype == TESSERA_RT_F16)
      static_cast<_Float16 *>(base)[i] = _Float16(float(value));
    else if (dtype == TESSERA_RT_F64)
      static_cast<double *>(base)[i] = value;
    else
      static_cast<float *>(base)[i] = float(value);
  }
};
} // namespace

/// Applies the epilogue to one element, in f64.
static void finishElement(const Epilogue &e, int64_t row, int64_t column) {
  Element element{e.dtype};
  int64_t at = row * e.ldc + column, auxAt = row * e.auxLd + column;
  double x = element.read(e.c, at);
  if (e.kind == TESSERA_RT_FUSE_GELU_GRADIENT) {
    x *= device::geluSlope(element.read(e.aux, auxAt));
  } else {
    if (e.bias)
      x += Element{e.biasDtype}.read(e.bias, column);
    if (e.aux)
      element.write(e.aux, auxAt, x);
    if (e.kind == TESSERA_RT_FUSE_GELU)
      x = device::gelu(x);
  }
  element.write(e.c, at, x);
}

std::string HostKernels::epilogue(Stream stream, const Epilogue &call) {
  return device.call(stream, [call] {
    for (int64_t row = 0; row < call.m; ++row)
      for (int64_t column = 0; column < call.n; ++column)
        finishElement(call, row, column);
  });
}

std::string HostKernels::reduceColumns(Stream stream,
                                       const ColumnReduction &call, void *) {
  return device.call(stream, [call] {
    Element from{call.dtype}, to{call.resultDtype};
    std::vector<double> sums(size_t(call.columns), 0);
    for (int64_t row = 0; row < call.rows; ++row)
      for (int64_t column = 0; column < call.columns; ++column)
        sums[size_t(column)] += from.read(call.from, row * call.ld + column);
    for (int64_t column = 0; column < call.columns; ++column)
      to.write(call.result, column, sums[size_t(column)]);
  });
}

std::string HostKernels::embeddingBackward(
    Stream stream, const tessera_rt_embedding_desc &desc, const void *grad,
    const void *ids, void *result, int64_t offset, void *) {
  return device.call(stream, [=, ctx = ctx] {
    host::embeddingBackward(ctx, desc, grad, ids, result, offset);
  });
}

std::string HostKernels::forward(Stream stream, const AttentionCall &call,
                                 void *out, float *logsumexp, void *) {
  return device.call(stream, [=, ctx = ctx, kept = KeptCall(call)] {
    host::attention(ctx, kept.get(), out, logsumexp);
  });
}

std::string HostKernels::backward(Stream stream, const AttentionCall &call,
                                  const void *grad, const void *out,
                                  const float *logsumexp, void *dq, void *dk,
                                  void *dv, void *) {
  return device.call(stream, [=, ctx = ctx, kept = KeptCall(call)] {
    host::attentionBackward(ctx, kept.get(), grad, out, logsumexp, dq, dk, dv);
  });
}

std::string HostKernels::route(Stream stream, const tessera_rt_route_desc &desc,
                               const void *ids, int64_t offset,
                               int32_t *routing, const RoutingCounts &counts,
                               void *) {
  // A fault ends the job, as on the host.
  return device.call(stream, [=, ctx = ctx] {
    host::route(ctx, desc, ids, offset, routing, counts.loads);
  });
}

std::string HostKernels::expertCapacity(Stream stream,
                                        const tessera_rt_capacity_desc &desc,
                                        const void *ids, const void *scores,
                                        void *result, void *) {
  return device.call(stream,
                     [=] { host::expertCapacity(desc, ids, scores, result); });
}

std::string HostKernels::experts(Stream stream, ExpertsCall call,
                                 const tessera_rt_experts_desc &desc,
                                 const ExpertTensors &tensors, void *) {
  return device.call(
      stream, [=, ctx = ctx] { host::experts(ctx, call, desc, tensors); });
}

std::unique_ptr<Kernels>
tessera::rt::cuda::createHostKernels(Device &device, tessera_rt_context *ctx) {
  return std::make_unique<HostKernels>(device, ctx);
}
