//===- LaunchExperts.cpp - Launches of the MLPs of experts ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launches of Grouped.cu. Grids are for as many rows as there is room for.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "Params.h"

#include "support/Support.h"

#include <algorithm>

using namespace tessera::rt;
using namespace tessera::rt::cuda;
using namespace tessera::rt::cuda::device;

static int64_t addressOf(const void *memory) {
  return int64_t(reinterpret_cast<uintptr_t>(memory));
}

static int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

namespace {
/// Tiles of `columns` columns of two sets each, or of one.
int64_t columnTiles(int64_t columns, bool pair) {
  return divideUp(columns, groupedColumns * (pair ? 1 : 2));
}

/// The working memory of a call: the hidden rows, or the terms of the gradients
/// of gates, then wide rows.
struct Workspace {
  int64_t narrow, rows, bytes;

  Workspace(ExpertsCall call, const tessera_rt_experts_desc &d, int64_t base) {
    int64_t wide = d.dtype == TESSERA_RT_F64 ? 8 : 4, at = base;
    auto take = [&](int64_t size) {
      int64_t part = at;
      at += divideUp(size, 256) * 256;
      return part;
    };
    bool isBackward = call == ExpertsCall::Backward;
    narrow = take(isBackward ? d.room * columnTiles(d.ffn, false) * wide
                             : d.room * d.ffn * dtypeSize(int32_t(d.dtype)));
    rows = take(call == ExpertsCall::Forward ? d.room * d.out * wide
                : isBackward                 ? d.room * d.in * wide
                                             : 0);
    bytes = at - base;
  }
};

/// The launches of one call.
class Launches {
public:
  Launches(BuiltinKernels &kernels, Stream stream, ExpertsCall call,
           const tessera_rt_experts_desc &d, const ExpertTensors &t,
           void *workspace)
      : kernels(kernels), stream(stream), d(d), t(t),
        memory(call, d, addressOf(workspace)) {}

  std::string forward();
  std::string backward();
  std::string weightGradient();

private:
  /// True if matrix units can compute the call.
  bool usesMatrices() const {
    int64_t all = d.in | d.ffn | d.out;
    bool isNarrow = d.dtype == TESSERA_RT_BF16 || d.dtype == TESSERA_RT_F16;
    for (const void *tensor :
         {t.x, t.grad, t.wGate, t.wUp, t.wDown, static_cast<const void *>(t.y),
          static_cast<const void *>(t.g), static_cast<const void *>(t.u),
          static_cast<const void *>(t.dg), static_cast<const void *>(t.du),
          static_cast<const void *>(t.dwGate),
          static_cast<const void *>(t.dwUp),
          static_cast<const void *>(t.dwDown)})
      all |= addressOf(tensor) / 2;
    return isNarrow && all % 8 == 0;
  }

  GroupedParams common() const {
    GroupedParams p = {};
    p.routing = addressOf(t.routing);
    p.experts = d.experts;
    p.choices = d.choices;
    p.room = d.room;
    p.passes = 1;
    p.activation = d.activation;
    p.gates = addressOf(t.gates);
    p.g = addressOf(t.g);
    p.u = addressOf(t.u);
    p.dg = addressOf(t.dg);
    p.du = addressOf(t.du);
    return p;
  }

  std::string launchMatmul(const char *name, GroupedParams p,
                           bool ofWeights = false);
  std::string launchWeights(GroupedParams p) {
    return launchMatmul("weights", p, /*ofWeights=*/true);
  }
  std::string combine(int64_t width, void *result, int64_t partials);
  const char *typeName() const { return dtypeName(int32_t(d.dtype)); }

  BuiltinKernels &kernels;
  Stream stream;
  const tessera_rt_experts_desc &d;
  const ExpertTensors &t;
  Workspace memory;
};
} // namespace

std::string Launches::launchMatmul(const char *name, GroupedParams p,
                                   bool ofWeights) {
  bool isMatrix = usesMatrices();
  p.columnTiles = columnTiles(p.columns, p.pair);
  // See GroupedBlock.h: at most room / 64 + experts slots have rows.
  p.slots = ofWeights ? d.experts * divideUp(p.leftWidth, groupedRows)
                      : d.room / groupedRows + d.experts;
  int64_t wide = d.dtype == TESSERA_RT_F64 ? 8 : 4;
  int64_t result = 2 * groupedRows * (groupedColumns + 4) * wide;
  int64_t operands = isMatrix
                         ? groupedStages * 3 * groupedRows * groupedColumns * 2
                         : 3 * plainDepth * (groupedRows + 4) * wide;
  LaunchShape shape{p.slots * p.columnTiles, groupedThreads,
                    int32_t(groupedHeader + std::max(result, operands))};
  return kernels.launch(stream,
                        format("tessera_grouped_%s%s_%s",
                               isMatrix ? "matrix_" : "", name, typeName())
                            .c_str(),
                        shape, p);
}

std::string Launches::combine(int64_t width, void *result, int64_t partials) {
  CombineParams p = {};
  p.routing = addressOf(t.routing);
  p.experts = d.experts;
  p.room = d.room;
  p.tokens = d.tokens;
  p.choices = d.choices;
  p.rows = memory.rows;
  p.width = width;
  p.result = addressOf(result);
  p.partials = partials;
  p.columnTiles = columnTiles(d.ffn, false);
  p.dgates = addressOf(t.dgates);
  return kernels.launch(
      stream, format("tessera_experts_combine_%s", typeName()).c_str(),
      {d.tokens ? kernels.gridFor(d.tokens, 1) : 0, 128,
       int32_t(d.choices * 4)},
      p);
}

std::string Launches::forward() {
  GroupedParams hidden = common();
  hidden.left[0] = addressOf(t.x);
  hidden.gathersLeft = 1;
  hidden.right[0] = addressOf(t.wGate);
  hidden.right[1] = addressOf(t.wUp);
  hidden.pair = 1;
  hidden.leftWidth = hidden.depth = d.in;
  hidden.columns = d.ffn;
  hidden.h = memory.narrow;
  GroupedParams rows = common();
  rows.left[0] = memory.narrow;
  rows.right[0] = addressOf(t.wDown);
  rows.leftWidth = rows.depth = d.ffn;
  rows.columns = d.out;
  rows.result[0] = memory.rows;
  std::string error = launchMatmul("hidden", hidden);
  if (error.empty())
    error = launchMatmul("rows", rows);
  return error.empty() ? combine(d.out, t.y, 0) : error;
}

std::string Launches::backward() {
  GroupedParams hidden = common();
  hidden.left[0] = addressOf(t.grad);
  hidden.gathersLeft = 1;
  hidden.right[0] = addressOf(t.wDown);
  hidden.leftWidth = hidden.depth = d.out;
  hidden.columns = d.ffn;
  hidden.partials = memory.narrow;
  GroupedParams rows = common();
  rows.left[0] = addressOf(t.dg);
  rows.left[1] = addressOf(t.du);
  rows.right[0] = addressOf(t.wGate);
  rows.right[1] = addressOf(t.wUp);
  rows.passes = 2;
  rows.leftWidth = rows.depth = d.ffn;
  rows.columns = d.in;
  rows.result[0] = memory.rows;
  std::string error = launchMatmul("hidden_backward", hidden);
  if (error.empty())
    error = launchMatmul("rows_backward", rows);
  return error.empty() ? combine(d.in, t.dx, memory.narrow) : error;
}

std::string Launches::weightGradient() {
  GroupedParams hidden = common();
  hidden.columns = d.ffn;
  hidden.h = memory.narrow;
  GroupedParams first = common();
  first.resultIsF32 = d.result_dtype == TESSERA_RT_F32;
  GroupedParams down = first;
  first.left[0] = addressOf(t.x);
  first.gathersLeft = !d.x_in_rows;
  first.right[0] = addressOf(t.dg);
  first.right[1] = addressOf(t.du);
  first.pair = 1;
  first.leftWidth = d.in;
  first.columns = d.ffn;
  first.result[0] = addressOf(t.dwGate);
  first.result[1] = addressOf(t.dwUp);
  down.left[0] = memory.narrow;
  down.right[0] = addressOf(t.grad);
  down.gathersRight = !d.grad_in_rows;
  down.leftWidth = d.ffn;
  down.columns = d.out;
  down.result[0] = addressOf(t.dwDown);
  int64_t work = d.room * d.ffn * dtypeSize(int32_t(d.dtype)) / 16;
  std::string error = kernels.launch(
      stream, format("tessera_experts_activate_%s", typeName()).c_str(),
      {kernels.gridFor(work, 256), 256, 0}, hidden);
  if (error.empty())
    error = launchWeights(first);
  return error.empty() ? launchWeights(down) : error;
}

int64_t
tessera::rt::cuda::expertsWorkspace(ExpertsCall call,
                                    const tessera_rt_experts_desc &desc) {
  return Workspace(call, desc, 0).bytes;
}

std::string tessera::rt::cuda::launchExperts(
    BuiltinKernels &kernels, Stream stream, ExpertsCall call,
    const tessera_rt_experts_desc &desc, const ExpertTensors &tensors,
    void *workspace) {
  Launches launches(kernels, stream, call, desc, tensors, workspace);
  switch (call) {
  case ExpertsCall::Forward:
    return launches.forward();
  case ExpertsCall::Backward:
    return launches.backward();
  case ExpertsCall::WeightGradient:
    return launches.weightGradient();
  }
  return "an unknown call on experts";
}
