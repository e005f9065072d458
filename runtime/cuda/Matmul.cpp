//===- Matmul.cpp - Matrix products on a device ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Matmul.h: what calls are, and products by the host's code.
//
//===----------------------------------------------------------------------===//

#include "Matmul.h"

#include "HostTarget.h"

#include <cmath>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

int64_t tessera::rt::cuda::alignmentOf(const void *address) {
  uint64_t bits = reinterpret_cast<uintptr_t>(address) | 256;
  return int64_t(bits & (~bits + 1));
}

std::vector<int64_t> MatmulCall::key() const {
  const int64_t *words = reinterpret_cast<const int64_t *>(&desc);
  std::vector<int64_t> key(words, words + sizeof(desc) / sizeof(int64_t));
  for (int64_t word : {fusion.kind, fusion.bias_dtype, fusion.aux_ld,
                       int64_t(addend != nullptr), int64_t(bias != nullptr),
                       int64_t(aux != nullptr), alignmentOf(a), alignmentOf(b),
                       alignmentOf(c)})
    key.push_back(word);
  for (const void *place : {addend, static_cast<const void *>(bias),
                            static_cast<const void *>(aux)})
    key.push_back(place ? alignmentOf(place) : 0);
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
// By the host
//===----------------------------------------------------------------------===//

namespace {
class HostMatmul final : public Matmul {
public:
  HostMatmul(Device &device, tessera_rt_context *ctx)
      : device(device), ctx(ctx) {}

  std::string name() const override { return "host"; }
  bool supports(int32_t dtype, int32_t cDtype) const override {
    return host::multiplies(dtype, cDtype);
  }
  std::string prepare(const std::vector<MatmulCall> &calls) override;
  std::string run(Stream stream, const MatmulCall &call) override;

private:
  Device &device;
  tessera_rt_context *ctx;
};
} // namespace

std::string HostMatmul::prepare(const std::vector<MatmulCall> &calls) {
  for (const MatmulCall &call : calls)
    if (call.fusion.kind != TESSERA_RT_FUSE_NONE)
      return "an emulated device has no product like " + call.describe();
  return std::string();
}

std::string HostMatmul::run(Stream stream, const MatmulCall &call) {
  return device.call(stream, [=, ctx = ctx] {
    host::matmul(ctx, call.desc, call.a, call.b, call.c, nullptr, nullptr);
  });
}

std::unique_ptr<Matmul>
tessera::rt::cuda::createHostMatmul(Device &device, tessera_rt_context *ctx) {
  return std::make_unique<HostMatmul>(device, ctx);
}
