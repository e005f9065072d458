//===- TestWork.h - Layers, a model and a cluster for tests -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_COST_TESTWORK_H
#define TESSERA_TEST_UNIT_COST_TESTWORK_H

#include "tessera/Cost/StepTime.h"
#include "tessera/Cost/TrainingWork.h"
#include "gtest/gtest.h"

namespace tessera::cost {

/// A matmul in bf16 of m rows and k columns with a parameter of n columns.
inline OpWork weightMatmul(int64_t m, int64_t n, int64_t k) {
  OpWork op;
  op.kind = OpClass::Matmul;
  op.weight = true;
  op.matmul = {1, m, n, k};
  op.flops = 2.0 * m * n * k;
  op.bytesRead = 2.0 * (double(m) * k + double(k) * n);
  op.bytesWritten = 2.0 * m * n;
  return op;
}

/// FLOPs of the kernels of one class in one pass.
inline double flopsOf(const LayerWork &layer, OpClass kind, Pass pass) {
  double sum = 0;
  for (const OpWork &op : layer.ops)
    if (op.kind == kind && op.pass == pass)
      sum += op.flops;
  return sum;
}

/// Attention with `heads` heads over a sequence of `seq`; all scores are
/// computed.
inline OpWork attention(int64_t heads, int64_t seq, int64_t dim) {
  OpWork op;
  op.kind = OpClass::Attention;
  op.attentionCore = true;
  op.matmul = {heads, seq, seq, dim};
  op.flops = 4.0 * heads * seq * double(seq) * dim;
  op.bytesRead = 3 * 2.0 * heads * seq * dim;
  op.bytesWritten = 2.0 * heads * seq * dim;
  return op;
}

/// Nodes of 8 devices whose links have `nearBandwidth` in bytes/s, with 25 GB/s
/// to other nodes.
inline ClusterSpec cluster(double nearBandwidth) {
  ClusterSpec spec;
  spec.device.peakFlops = {{"bf16", {300e12, Provenance::Datasheet, ""}}};
  spec.device.memoryBandwidth.value = 2e12;
  spec.device.multiprocessors.value = 100;
  spec.device.constants = {{"step_floor_s", {0, Provenance::Guess, ""}},
                           {"host_launch_s", {0, Provenance::Guess, ""}}};
  spec.host.linkBandwidth.value = 50e9;
  spec.host.diskBandwidth.value = 5e9;
  spec.levels.resize(2);
  spec.levels[0].devices = 8;
  spec.levels[0].latency.value = 1e-6;
  spec.levels[0].bandwidth.value = nearBandwidth;
  spec.levels[0].efficiency.value = 1;
  spec.levels[1].devices = 1024;
  spec.levels[1].latency.value = 5e-6;
  spec.levels[1].bandwidth.value = 25e9;
  spec.levels[1].efficiency.value = 1;
  return spec;
}

/// 16 equal blocks between an embedding and a head that do nothing.
inline ModelWork model(const ExecutedPlan &plan) {
  ModelWork work;
  work.kinds.resize(3);
  work.kinds[0].name = "embedding";
  work.kinds[1].name = "block";
  work.kinds[1].add(weightMatmul(4096, 4096, 4096));
  work.kinds[1].parameters.push_back({"w", 4096.0 * 4096});
  work.kinds[2].name = "head";
  for (LayerWork &kind : work.kinds)
    kind.outputBytes = 2.0 * 4096 * 4096;
  work.layers = {{0, 1}, {1, 16}, {2, 1}};
  buildTrainingWork(work, plan, plan);
  return work;
}

/// The step of `model` on `cluster`; fails the test if there is an error.
inline StepTime price(const ExecutedPlan &plan, double nearBandwidth = 300e9) {
  EXPECT_EQ(llvm::toString(plan.check()), "");
  Machine machine(cluster(nearBandwidth), plan, plan);
  schedule::PipelinePricer pricer;
  llvm::Expected<StepTime> step =
      priceStep(priceModel(model(plan), machine), plan, machine, pricer);
  EXPECT_TRUE(bool(step)) << llvm::toString(step.takeError());
  return step ? *step : StepTime();
}

/// A plan in bf16 with stages.
inline ExecutedPlan pipelined(int64_t stages, int64_t microBatches) {
  ExecutedPlan l;
  l.precision = Precision::BF16;
  l.pp = stages;
  l.microBatches = microBatches;
  return l;
}

} // namespace tessera::cost

#endif // TESSERA_TEST_UNIT_COST_TESTWORK_H
