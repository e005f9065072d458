//===- Results.cpp - Gathering results ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Arguments.h. Node 0 has the blocks of all ranks, so one rank assembles a
// whole value by itself; values are dealt to the ranks of node 0 in turn.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "Npy.h"
#include "ShardRuns.h"
#include "nodes/Mirror.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace tessera::rt;

std::vector<uint8_t> tessera::rt::assemble(tessera_rt_context *ctx,
                                           const Value &value) {
  int64_t size = dtypeSize(value.dtype);
  std::vector<uint8_t> whole(size_t(value.elements() * size));
  for (int owner : blockOwners(value, ctx->ranks)) {
    ShardRuns runs(value, owner);
    const uint8_t *block = ctx->memory.arena(owner) + value.offsetOn(owner);
    for (int64_t i = 0; i < runs.size(); ++i) {
      ShardRuns::Run run = runs[i];
      memcpy(whole.data() + run.global * size, block + run.local * size,
             size_t(run.length * size));
    }
  }
  return whole;
}

/// Sends the blocks that this rank owns to node 0.
static Status sendBlocks(tessera_rt_context *ctx,
                         const std::vector<const Value *> &values) {
  for (const Value *value : values) {
    std::vector<int> owners = blockOwners(*value, ctx->ranks);
    if (std::find(owners.begin(), owners.end(), ctx->rank) == owners.end())
      continue;
    ArenaBlock block = value->blockOn(ctx->rank);
    if (Status status =
            ctx->mirror->put(0, ctx->arena() + block.offset, block.bytes))
      return status;
  }
  return ctx->mirror->flush();
}

Status tessera::rt::fetchValues(tessera_rt_context *ctx,
                                const std::vector<const Value *> &values) {
  std::vector<ArenaBlock> blocks;
  for (const Value *value : values)
    if (value->isOn(ctx->rank))
      blocks.push_back(value->blockOn(ctx->rank));
  if (Status status = ctx->target->fetch(blocks))
    return status;
  if (ctx->mirror)
    if (Status status = sendBlocks(ctx, values))
      return status;
  return barrier(ctx, BarrierOutputs);
}

Status tessera::rt::writeValues(tessera_rt_context *ctx,
                                const std::vector<const Value *> &values,
                                const std::string &directory) {
  const Placement &place = ctx->memory.place;
  if (place.node != 0)
    return TESSERA_RT_OK;
  for (size_t i = 0; i < values.size(); ++i) {
    if (int(i % size_t(place.perNode)) != ctx->rank)
      continue;
    const Value &value = *values[i];
    std::vector<uint8_t> whole = assemble(ctx, value);
    std::string error =
        writeNpy(directory + "/" + value.name + ".npy", value.dtype,
                 value.logicalShape, whole.data(), value.isUnsigned);
    if (!error.empty())
      return fail(ctx, statusOfFailure(error), error);
  }
  return TESSERA_RT_OK;
}

double tessera::rt::readElement(int32_t dtype, bool isUnsigned,
                                const uint8_t *data, int64_t index) {
  auto load = [&](auto zero) {
    memcpy(&zero, data + index * int64_t(sizeof(zero)), sizeof(zero));
    return zero;
  };
  auto loadInteger = [&](auto zero) {
    using Unsigned = std::make_unsigned_t<decltype(zero)>;
    zero = load(zero);
    return isUnsigned ? double(Unsigned(zero)) : double(zero);
  };
  switch (dtype) {
  case TESSERA_RT_F32:
    return load(float());
  case TESSERA_RT_F64:
    return load(double());
  case TESSERA_RT_BF16:
    return bf16ToFloat(load(uint16_t()));
  case TESSERA_RT_F16:
    return double(load(_Float16()));
  case TESSERA_RT_I32:
    return loadInteger(int32_t());
  case TESSERA_RT_I64:
    return loadInteger(int64_t());
  case TESSERA_RT_I8:
    return loadInteger(int8_t());
  case TESSERA_RT_I16:
    return loadInteger(int16_t());
  default:
    return load(uint8_t());
  }
}

Status tessera::rt::compareResults(tessera_rt_context *ctx,
                                   const Manifest &manifest,
                                   const Options &options,
                                   std::vector<Comparison> &comparisons) {
  for (const Value &value : manifest.results) {
    std::string path = options.compare + "/" + value.name + ".npy";
    NpyArray theirs;
    std::string error = theirs.open(path);
    if (error.empty() && theirs.shape != value.logicalShape)
      error = "expects the shape of result '" + value.name + "' in '" + path +
              "' but got another";
    if (!error.empty())
      return fail(ctx, TESSERA_RT_INVALID, error);
    std::vector<uint8_t> ours = assemble(ctx, value);
    Comparison comparison{value.name};
    for (int64_t i = 0, e = value.elements(); i < e; ++i) {
      double a = readElement(value.dtype, value.isUnsigned, ours.data(), i);
      double b =
          readElement(theirs.dtype, theirs.isUnsigned, theirs.elements, i);
      if (std::isnan(a) && std::isnan(b))
        continue;
      double difference = a == b ? 0 : std::fabs(a - b);
      if (std::isnan(difference))
        difference = HUGE_VAL;
      comparison.difference = std::fmax(comparison.difference, difference);
      comparison.magnitude = std::fmax(comparison.magnitude, std::fabs(b));
    }
    comparisons.push_back(comparison);
  }
  return TESSERA_RT_OK;
}
