//===- Matmul.cpp - Matmuls on a device -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Matmul.h: descriptions of calls, and matmuls by the host's code.
//
//===----------------------------------------------------------------------===//

#include "Matmul.h"

#include "host/HostTarget.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

int64_t tessera::rt::cuda::alignmentOf(const void *address) {
  uint64_t bits = reinterpret_cast<uintptr_t>(address) | 256;
  return int64_t(bits & (~bits + 1));
}

std::vector<int64_t> MatmulCall::key() const {
  const int64_t *fields = reinterpret_cast<const int64_t *>(&desc);
  std::vector<int64_t> key(fields, fields + sizeof(desc) / sizeof(int64_t));
  for (int64_t field : {fusion.kind, fusion.bias_dtype, fusion.aux_ld,
                        int64_t(addend != nullptr), int64_t(bias != nullptr),
                        int64_t(aux != nullptr), dtypeB, alignmentOf(a),
                        alignmentOf(b), alignmentOf(c)})
    key.push_back(field);
  for (const void *address : {addend, static_cast<const void *>(bias),
                              static_cast<const void *>(aux)})
    key.push_back(address ? alignmentOf(address) : 0);
  return key;
}

double MatmulCall::flops() const {
  return 2.0 * double(desc.batch) * double(desc.m) * double(desc.n) *
         double(desc.k);
}

std::string MatmulCall::describe() const {
  static const char *const fusions[] = {"",
                                        " + bias",
                                        " + gelu",
                                        " + gelu gradient",
                                        " + sums of lhs",
                                        " + sums of rhs"};
  std::string text = format(
      "%s[%lld x %lld x %lld x %lld]^%c%c", dtypeName(int32_t(desc.dtype)),
      (long long)desc.batch, (long long)desc.m, (long long)desc.n,
      (long long)desc.k, desc.trans_a ? 't' : 'n', desc.trans_b ? 't' : 'n');
  if (scaleA && dtypeB != desc.dtype)
    text += std::string(" by ") + dtypeName(int32_t(dtypeB));
  if (desc.c_dtype != desc.dtype)
    text += std::string(" to ") + dtypeName(int32_t(desc.c_dtype));
  if (desc.accumulate)
    text += addend ? " added to another" : " added";
  text += fusion.kind >= 0 && fusion.kind < 6 ? fusions[fusion.kind] : "?";
  if (fusion.kind == TESSERA_RT_FUSE_GELU && bias)
    text += " of bias";
  if (fusion.kind == TESSERA_RT_FUSE_GELU && aux)
    text += ", its argument";
  if (fusion.kind == TESSERA_RT_FUSE_GELU_GRADIENT && bias)
    text += ", its sums";
  return text;
}

//===----------------------------------------------------------------------===//
// Work that a library leaves to the runtime
//===----------------------------------------------------------------------===//

MatmulCall tessera::rt::cuda::withoutRest(const MatmulCall &call,
                                          MatmulSplit split) {
  MatmulCall matmul = call;
  if (split != MatmulSplit::Whole)
    matmul.bias = nullptr;
  if (split == MatmulSplit::Apart) {
    matmul.fusion = {};
    matmul.aux = nullptr;
  }
  return matmul;
}

/// The column reduction of a call.
static ColumnReduction sumsOf(const MatmulCall &call) {
  const tessera_rt_matmul_desc &d = call.desc;
  int32_t biasDtype = int32_t(call.fusion.bias_dtype);
  if (call.fusion.kind == TESSERA_RT_FUSE_LHS_SUMS)
    return {int32_t(d.dtype), biasDtype, d.k, d.m, d.lda, call.a, call.bias};
  if (call.fusion.kind == TESSERA_RT_FUSE_RHS_SUMS)
    return {int32_t(d.dtype), biasDtype, d.k, d.n, d.ldb, call.b, call.bias};
  return {int32_t(d.c_dtype), biasDtype, d.m, d.n, d.ldc, call.c, call.bias};
}

std::string tessera::rt::cuda::runRest(Kernels &kernels, Stream stream,
                                       const MatmulCall &call,
                                       MatmulSplit split, void *workspace) {
  const tessera_rt_matmul_desc &d = call.desc;
  int64_t kind = call.fusion.kind;
  if (split == MatmulSplit::Whole || kind == TESSERA_RT_FUSE_NONE)
    return std::string();
  bool isGradient = kind == TESSERA_RT_FUSE_GELU_GRADIENT;
  bool ofOperand =
      kind == TESSERA_RT_FUSE_LHS_SUMS || kind == TESSERA_RT_FUSE_RHS_SUMS;
  std::string error;
  if (split == MatmulSplit::Apart && !ofOperand)
    error = kernels.epilogue(
        stream, {kind, int32_t(d.c_dtype),
                 int32_t(isGradient ? d.c_dtype : call.fusion.bias_dtype), d.m,
                 d.n, d.ldc, call.fusion.aux_ld, call.c,
                 isGradient ? nullptr : call.bias, call.aux});
  if (error.empty() && call.bias && (ofOperand || isGradient))
    error = kernels.reduceColumns(stream, sumsOf(call), workspace);
  return error;
}

//===----------------------------------------------------------------------===//
// Matmuls on the host
//===----------------------------------------------------------------------===//

namespace {
class HostMatmul final : public Matmul {
public:
  HostMatmul(Device &device, Kernels &kernels, tessera_rt_context *ctx)
      : device(device), kernels(kernels), ctx(ctx) {}
  ~HostMatmul() override { device.release(workspace); }

  std::string name() const override { return "host"; }
  bool supports(int32_t dtype, int32_t cDtype) const override {
    return host::multiplies(dtype, cDtype) ||
           (isF8(dtype) &&
            (cDtype == TESSERA_RT_BF16 || cDtype == TESSERA_RT_F32));
  }
  std::string prepare(const std::vector<MatmulCall> &calls) override;
  std::string run(Stream stream, const MatmulCall &call) override;

private:
  Device &device;
  Kernels &kernels;
  tessera_rt_context *ctx;
  void *workspace = nullptr;
  int64_t workspaceBytes = 0;
};
} // namespace

std::string HostMatmul::prepare(const std::vector<MatmulCall> &calls) {
  int64_t bytes = 0;
  for (const MatmulCall &call : calls)
    if (call.bias)
      bytes = std::max(bytes, kernels.reductionWorkspace(sumsOf(call)));
  if (bytes <= workspaceBytes)
    return std::string();
  device.release(workspace);
  workspace = nullptr;
  workspaceBytes = bytes;
  return device.allocate(bytes, workspace);
}

/// Copies the addend into C, row by row.
static void copyAddend(const MatmulCall &call) {
  const tessera_rt_matmul_desc &d = call.desc;
  int64_t size = dtypeSize(int32_t(d.c_dtype));
  for (int64_t row = 0; row < d.m; ++row)
    memcpy(static_cast<uint8_t *>(call.c) + row * d.ldc * size,
           static_cast<const uint8_t *>(call.addend) + row * d.ldc * size,
           size_t(d.n * size));
}

std::string HostMatmul::run(Stream stream, const MatmulCall &call) {
  if (call.scaleA)
    return device.call(stream, [=, ctx = ctx] {
      host::scaledMatmul(ctx, {call.desc, call.dtypeB, call.a, call.b,
                               call.scaleA, call.scaleB, call.c});
    });
  std::string error = device.call(stream, [=, ctx = ctx] {
    if (call.addend)
      copyAddend(call);
    host::matmul(ctx, call.desc, call.a, call.b, call.c, nullptr, nullptr);
  });
  return error.empty()
             ? runRest(kernels, stream, call, MatmulSplit::Apart, workspace)
             : error;
}

std::unique_ptr<Matmul>
tessera::rt::cuda::createHostMatmul(Device &device, Kernels &kernels,
                                    tessera_rt_context *ctx) {
  return std::make_unique<HostMatmul>(device, kernels, ctx);
}
