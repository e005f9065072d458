//===- StepTimeTest.cpp - Seconds of a training step ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestWork.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace tessera;
using namespace tessera::cost;

namespace {

TEST(StepTime, causes_sum_to_the_total) {
  ExecutedPlan l = pipelined(4, 8);
  l.dp = 8;
  llvm::cantFail(l.setGlobalBatch(64));
  l.zero = 1;
  StepTime s = price(l);
  EXPECT_GT(s.gradComm, 0);
  EXPECT_GT(s.optimizer, 0);
  EXPECT_NEAR(s.total,
              s.compute + s.memoryBound + s.hostBound + s.layerComm + s.bubble +
                  s.gradComm + s.optimizer + s.fixed + s.stragglers,
              1e-12);
}

TEST(StepTime, state_that_some_devices_shard_is_gathered_from_them) {
  // 64 devices in nodes of 8. If state is sharded over a node, all devices
  // reduce as without ZeRO, and new parameters move inside the node.
  ExecutedPlan l = pipelined(1, 1);
  l.dp = 64;
  l.overlap = false;
  llvm::cantFail(l.setGlobalBatch(64));
  double reduced = price(l).gradComm;
  l.zero = 1;
  double all = price(l).gradComm;
  l.shardRanks = 8;
  EXPECT_GT(price(l).gradComm, reduced);
  EXPECT_LT(price(l).gradComm, 1.25 * reduced);
  l.shardRanks = 64;
  EXPECT_EQ(price(l).gradComm, all);
}

/// Copies of a stage that share no state exchange its gradients: each device
/// the shards that it has. All of them update their copy's state.
TEST(StepTime, two_copies_of_a_stage_exchange_gradients) {
  ExecutedPlan l = pipelined(4, 8);
  l.dp = 8;
  l.schedule = ScheduleKind::DualPipe;
  auto apart = [&] {
    l.gradBuffers = false;
    StepTime step = price(l);
    l.gradBuffers = true;
    StepTime shared = price(l);
    EXPECT_EQ(shared.exchange, 0);
    EXPECT_EQ(step.gradComm, shared.gradComm);
    EXPECT_EQ(step.optimizer, (l.zero ? 2 : 1) * shared.optimizer);
    return step;
  };
  double whole = apart().exchange;
  EXPECT_GT(whole, 0);
  l.zero = 1;
  StepTime s = apart();
  EXPECT_NEAR(s.exchange, whole / 8, 0.02 * whole);
  EXPECT_NEAR(s.total,
              s.compute + s.memoryBound + s.hostBound + s.layerComm + s.bubble +
                  s.gradComm + s.exchange + s.optimizer + s.fixed +
                  s.stragglers,
              1e-12);
  // One device of each copy: nothing else adds up the gradients.
  l.zero = 0;
  l.dp = 1;
  EXPECT_GT(price(l).exchange, 0);
  EXPECT_EQ(price(l).gradComm, 0);
  // A V has one copy of the model, and so has one stage.
  l.schedule = ScheduleKind::DualPipeV;
  EXPECT_EQ(price(l).exchange, 0);
  EXPECT_EQ(price(pipelined(4, 8)).exchange, 0);
}

TEST(StepTime, the_slowest_of_more_devices_is_slower) {
  EXPECT_EQ(stragglerShare(1), 0);
  // The mean maximum of 8, 128 and 2048 normal numbers (Tippett 1925). The
  // asymptotic form is within a fifth of a deviation.
  EXPECT_NEAR(stragglerShare(8), 0.0142, 0.002);
  EXPECT_NEAR(stragglerShare(128), 0.0259, 0.002);
  EXPECT_NEAR(stragglerShare(2048), 0.0345, 0.002);
}

TEST(StepTime, bubbles_follow_the_closed_forms) {
  // 1F1B idles for (p - 1)/m of its work, interleaved chunks for 1/v of that.
  // Fast links make transfers negligible.
  const double fast = 1e13;
  StepTime one = price(pipelined(4, 8), fast);
  EXPECT_NEAR(one.bubble / one.compute, 3.0 / 8, 0.01);
  ExecutedPlan l = pipelined(4, 8);
  l.schedule = ScheduleKind::Interleaved;
  l.vpp = 4;
  StepTime four = price(l, fast);
  EXPECT_NEAR(four.bubble / four.compute, 3.0 / 8 / 4, 0.02);
  EXPECT_NEAR(four.compute, one.compute, 1e-9);
  EXPECT_EQ(price(pipelined(1, 8)).bubble, 0);
}

TEST(StepTime, zero_cuts_the_optimizer) {
  ExecutedPlan l;
  l.precision = Precision::BF16;
  l.dp = 8;
  llvm::cantFail(l.setGlobalBatch(8));
  StepTime whole = price(l);
  l.zero = 1;
  StepTime sharded = price(l);
  EXPECT_NEAR(sharded.optimizer, whole.optimizer / 8, 1e-12);
  l.loraRank = 16;
  // An adapter for each of the model's matmuls of 4096 by 4096.
  EXPECT_NEAR(price(l).optimizer / sharded.optimizer, 16 * 2.0 / 4096, 1e-9);
}

TEST(StepTime, an_optimizer_op_by_op_passes_more_often) {
  ExecutedPlan l;
  l.precision = Precision::BF16;
  l.gradDType = GradDType::F32;
  // r4 r4 of the gradient, r4 w4 of three, w2; or 98 bytes.
  double fused = price(l).optimizer;
  l.fusedOptimizer = false;
  EXPECT_NEAR(price(l).optimizer / fused, 98.0 / 34, 1e-9);
  l.fusedOptimizer = true;
  l.optimizerCopyBytes = 34;
  EXPECT_NEAR(price(l).optimizer / fused, 2, 1e-9);
}

TEST(StepTime, a_plan_may_say_what_belongs_to_no_layer) {
  ExecutedPlan l;
  l.precision = Precision::BF16;
  StepTime step = price(l);
  EXPECT_EQ(step.fixed, 0);
  l.stepFloorMicros = 250;
  EXPECT_NEAR(price(l).total - step.total, 250e-6, 1e-12);
}

TEST(StepTime, recomputation_costs_a_forward) {
  ExecutedPlan l;
  l.precision = Precision::BF16;
  llvm::cantFail(l.setGlobalBatch(4));
  StepTime none = price(l);
  l.recompute = Recompute::Full;
  EXPECT_NEAR(price(l).compute / none.compute, 4.0 / 3, 0.02);
}

TEST(StepTime, overlap_hides_gradients) {
  ExecutedPlan l;
  l.precision = Precision::BF16;
  l.dp = 16;
  llvm::cantFail(l.setGlobalBatch(64));
  StepTime hidden = price(l);
  l.overlap = false;
  EXPECT_GT(price(l).gradComm, 2 * hidden.gradComm);
}

TEST(StepTime, zero_2_scatters_each_micro_batch) {
  ExecutedPlan l;
  l.precision = Precision::BF16;
  l.dp = 16;
  llvm::cantFail(l.setGlobalBatch(16 * 8));
  l.overlap = false;
  l.zero = 1;
  double once = price(l).gradComm;
  l.zero = 2;
  l.scatter = Scatter::Last;
  EXPECT_NEAR(price(l).gradComm, once, 1e-12);
  l.scatter = Scatter::Each;
  // Seven more scatters; they are the larger of ZeRO 1's two collectives.
  EXPECT_GT(price(l).gradComm, 4.5 * once);
  EXPECT_LT(price(l).gradComm, 8 * once);
  // One stage has no rounds.
  l.scatter = Scatter::Round;
  EXPECT_NEAR(price(l).gradComm, once, 1e-12);
}

TEST(StepTime, offloaded_state_goes_over_the_host_link) {
  ExecutedPlan l;
  l.precision = Precision::BF16;
  double near = price(l).optimizer;
  l.offload = Offload::Host;
  double far = price(l).optimizer;
  // 12 bytes of 16 blocks of 4096 x 4096, in both directions, at 50 GB/s.
  EXPECT_NEAR(far, 2 * 12.0 * 16 * 4096 * 4096 / 50e9, 1e-6);
  EXPECT_GT(far, near);
  l.offload = Offload::NVMe;
  EXPECT_NEAR(price(l).optimizer, 10 * far, 1e-6);
}

/// During kernels, both receiving and sending slow a rank; in line, the rank
/// does the two at once.
TEST(StepTime, transfers_beside_kernels_slow_them_twice) {
  ExecutedPlan l = pipelined(4, 16);
  auto priced = [&](double slowdown, bool overlap) {
    l.overlap = overlap;
    Machine machine(cluster(300e9), l, l);
    machine.device.overlapSlowdown = slowdown;
    schedule::PipelinePricer pricer;
    return llvm::cantFail(
               priceStep(priceModel(model(l), machine), l, machine, pricer))
        .total;
  };
  double hidden = priced(0, true), inLine = priced(0, false);
  EXPECT_GT(inLine, 1.01 * hidden);
  EXPECT_NEAR(priced(0.25, true), (hidden + inLine) / 2, 1e-3 * hidden);
  EXPECT_NEAR(priced(0.5, true), inLine, 1e-12);
  EXPECT_NEAR(priced(0.8, true), inLine, 1e-12);
  // One after the other in line; during kernels each slows them.
  l.batchTransfers = false;
  double apart = priced(0, false);
  EXPECT_NEAR(apart - inLine, inLine - hidden, 1e-3 * hidden);
  EXPECT_NEAR(priced(0.25, true), (hidden + inLine) / 2, 1e-3 * hidden);
  EXPECT_NEAR(priced(0.8, true), hidden + 1.6 * (inLine - hidden),
              1e-3 * hidden);
}

/// Registered buffers hold gradients, and the parameters that ZeRO-3 gathers.
TEST(StepTime, registered_buffers_hide_better) {
  for (int64_t zero : {1, 3}) {
    ExecutedPlan l;
    l.dp = 8;
    l.zero = zero;
    l.microBatches = 4;
    ModelWork work = model(l);
    CommWork gather;
    gather.kind = CollectiveKind::AllGather;
    gather.bytes = 2.0 * 4096 * 4096;
    gather.axes = {PlanAxis::DP};
    gather.ranks = 8;
    gather.parameter = gather.overlappable = true;
    if (zero == 3)
      work.kinds[1].add(gather);
    auto priced = [&](bool registered) {
      l.registeredBuffers = registered;
      Machine machine(cluster(300e9), l, l);
      schedule::PipelinePricer pricer;
      return llvm::cantFail(
          priceStep(priceModel(work, machine), l, machine, pricer));
    };
    StepTime usual = priced(false), registered = priced(true);
    double exposed = usual.gradComm + usual.layerComm;
    EXPECT_GT(exposed, 0);
    EXPECT_LT(registered.gradComm + registered.layerComm, exposed);
    EXPECT_EQ(registered.compute, usual.compute);
  }
}

/// The forward and the backward of a rank's two chunks hide each other's
/// collectives.
TEST(StepTime, pairs_hide_collectives) {
  ExecutedPlan l = pipelined(4, 16);
  l.tp = 2;
  auto priced = [&](const char *schedule, bool comm) {
    l.schedule = *parseName<ScheduleKind>(schedule);
    ModelWork work = model(l);
    if (comm) {
      CommWork all;
      all.kind = CollectiveKind::AllToAll;
      all.axes = {PlanAxis::TP};
      all.bytes = 0.3e9;
      all.pass = Pass::Forward;
      work.kinds[1].add(all);
      all.pass = Pass::BackwardInput;
      work.kinds[1].add(all);
    }
    Machine machine(cluster(300e9), l, l);
    schedule::PipelinePricer pricer;
    return llvm::cantFail(
        priceStep(priceModel(work, machine), l, machine, pricer));
  };
  StepTime plain = priced("1f1b", true);
  EXPECT_GT(plain.layerComm, 0.1 * plain.compute);
  for (const char *schedule : {"dualpipe", "dualpipe-v"}) {
    SCOPED_TRACE(schedule);
    StepTime dual = priced(schedule, true);
    // Hidden collectives slow the concurrent kernels.
    EXPECT_NEAR(dual.layerComm, DeviceModel().overlapSlowdown * plain.layerComm,
                1e-3 * plain.layerComm);
    EXPECT_LT(dual.total, plain.total);
    // The busiest rank does as much work in both.
    EXPECT_NEAR(dual.compute, plain.compute, 1e-9);
    EXPECT_GE(dual.bubble, 0);
  }
}

TEST(StepTime, layers_beside_the_blocks_shorten_the_ends) {
  // Three dense layers before 58 blocks, one after; 16 stages.
  std::vector<ModelWork::Run> layers = {
      {0, 1}, {1, 3}, {2, 58}, {3, 1}, {4, 1}};
  ExecutedPlan l;
  l.precision = Precision::BF16;
  l.pp = 16;
  std::vector<int64_t> counts;
  for (const auto &chunk : assignChunks(layers, l))
    for (const ModelWork::Run &run : chunk)
      if (run.kind == 2)
        counts.push_back(run.count);
  EXPECT_EQ(counts.front(), 0);
  EXPECT_EQ(counts.back(), 2);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t(0)), 58);
  EXPECT_EQ(*std::max_element(counts.begin(), counts.end()), 4);
}

TEST(StepTime, chunks) {
  std::vector<ModelWork::Run> layers = {{0, 1}, {1, 14}, {2, 1}};
  ExecutedPlan l;
  l.precision = Precision::BF16;
  l.pp = 4;
  auto counts = [&] {
    std::vector<double> result;
    for (const auto &chunk : assignChunks(layers, l))
      for (const ModelWork::Run &run : chunk)
        if (run.kind == 1)
          result.push_back(run.count);
    return result;
  };
  // Both end stages, with the embedding and the head, have a block less.
  EXPECT_EQ(counts(), (std::vector<double>{3, 4, 4, 3}));
  EXPECT_EQ(assignChunks(layers, l).front().front().kind, 0u);
  EXPECT_EQ(assignChunks(layers, l).back().back().kind, 2u);
  l.stageLayers = {5, 4, 4, 1};
  EXPECT_EQ(counts(), l.stageLayers);
}

/// Layers of one kind, 14 blocks, and a head as long as two of them.
PricedModel layersWithHead() {
  PricedModel model;
  for (double seconds : {0.0, 0.01, 0.02}) {
    PricedModel::Kind kind;
    kind.sum.forward = seconds;
    model.kinds.push_back(kind);
  }
  model.layers = {{0, 1}, {1, 14}, {2, 1}};
  return model;
}

TEST(StepTime, splits_by_time_what_the_plan_leaves_to_it) {
  ExecutedPlan l = pipelined(4, 8);
  Machine machine(cluster(300e9), l, l);
  schedule::PipelinePricer pricer;
  PricedModel model = layersWithHead();
  auto split = [&] {
    return llvm::cantFail(splitByTime(model, l, machine, pricer)).stageLayers;
  };
  EXPECT_EQ(split(), (std::vector<double>{4, 4, 4, 2}));
  // Given splits, even splits, or no stages.
  l.stageLayers = {5, 4, 4, 1};
  EXPECT_EQ(split(), l.stageLayers);
  l.stageLayers.clear();
  l.evenStages = true;
  EXPECT_TRUE(split().empty());
  l.evenStages = false;
  // There are too few blocks for the stages between the ends.
  model.layers[1].count = 0.5;
  EXPECT_TRUE(split().empty());
  l.pp = 1;
  model.layers[1].count = 14;
  EXPECT_TRUE(split().empty());
  // An error of the schedule.
  l.pp = 4;
  l.schedule = ScheduleKind::DualPipe;
  l.microBatches = 3;
  EXPECT_FALSE(
      llvm::toString(splitByTime(model, l, machine, pricer).takeError())
          .empty());
}

/// Gradients of no block take no time.
TEST(StepTime, chunks_without_a_block) {
  ExecutedPlan l = pipelined(4, 8);
  l.dp = 8;
  l.zero = 1;
  l.stageLayers = {0, 8, 8, 0};
  StepTime step = price(l);
  EXPECT_GT(step.total, 0);
  EXPECT_EQ(step.busiest, 1u);
  l.stageLayers = {16, 0, 0, 0};
  EXPECT_GT(price(l).total, step.total);
}

} // namespace
