//===- TrainingWorkTest.cpp - The work of a training step -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestWork.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::cost;

namespace {

TEST(TrainingWork, a_matmul_gives_two) {
  LayerWork layer;
  layer.add(weightMatmul(512, 256, 128));
  appendBackward(layer, Recompute::Full, 4, /*frozen=*/false);
  ASSERT_EQ(layer.ops.size(), 4u);
  EXPECT_EQ(layer.ops[1].pass, Pass::Recompute);
  EXPECT_EQ(layer.ops[2].pass, Pass::BackwardInput);
  EXPECT_EQ(layer.ops[2].matmul, (MatmulDims{1, 512, 128, 256}));
  EXPECT_EQ(layer.ops[3].pass, Pass::BackwardWeight);
  EXPECT_EQ(layer.ops[3].matmul, (MatmulDims{1, 128, 256, 512}));
  // An f32 sum is read with the operands, and written once the tiles are done.
  EXPECT_EQ(layer.ops[3].bytesRead,
            2.0 * (512 * 128 + 512 * 256) + 4 * 128 * 256);
  EXPECT_EQ(layer.ops[3].bytesWritten, 0);
  EXPECT_EQ(layer.ops[3].epilogueBytes, 4.0 * 128 * 256);
  EXPECT_EQ(layer.modelFlops, 3 * layer.ops[0].flops);
}

/// 16-bit gradients of a micro-batch, with their sum in f32.
TEST(TrainingWork, gradients_summed_apart_are_read_again) {
  LayerWork layer;
  layer.add(weightMatmul(512, 256, 128));
  ExecutedPlan plan;
  plan.gradDType = GradDType::Both;
  appendBackward(layer, Recompute::None, makeGradientSums(plan, plan),
                 /*frozen=*/false);
  ASSERT_EQ(layer.ops.size(), 4u);
  EXPECT_EQ(layer.ops[2].epilogueBytes, 2.0 * 128 * 256);
  EXPECT_EQ(layer.ops[3].pass, Pass::BackwardWeight);
  // A cast, r2 w4, and a sum, r4 r4 w4.
  EXPECT_EQ(layer.ops[3].bytesRead, 10.0 * 128 * 256);
  EXPECT_EQ(layer.ops[3].bytesWritten, 8.0 * 128 * 256);
}

/// If the sum has the gradients' type, the first micro-batch's gradient is the
/// sum.
TEST(TrainingWork, kernels_of_their_own_add_gradients) {
  ExecutedPlan plan;
  plan.precision = Precision::BF16;
  plan.sumsApart = true;
  auto bytesOf = [&](GradDType type, int64_t microBatches) {
    plan.gradDType = type;
    plan.microBatches = microBatches;
    LayerWork layer;
    layer.add(weightMatmul(512, 256, 128));
    appendBackward(layer, Recompute::None, makeGradientSums(plan, plan),
                   /*frozen=*/false);
    // The matmul writes the gradients' own type.
    EXPECT_EQ(layer.ops[2].epilogueBytes, 2.0 * 128 * 256);
    EXPECT_EQ(layer.ops[2].bytesRead, 2.0 * (512 * 128 + 512 * 256));
    const OpWork &last = layer.ops.back();
    return last.name == "gradient_sum"
               ? (last.bytesRead + last.bytesWritten) / (128 * 256)
               : 0;
  };
  EXPECT_EQ(bytesOf(GradDType::BF16, 1), 0);
  EXPECT_EQ(bytesOf(GradDType::BF16, 4), 0.75 * (2 + 2 + 2));
  EXPECT_EQ(bytesOf(GradDType::F32, 4), 2 + 4 + 4);
}

TEST(TrainingWork, frozen_parameters_have_no_gradient) {
  LayerWork layer;
  layer.add(weightMatmul(512, 256, 128));
  appendBackward(layer, Recompute::None, 4, /*frozen=*/true);
  EXPECT_EQ(layer.flops(Pass::BackwardWeight), 0);
  EXPECT_EQ(layer.flops(Pass::BackwardInput), layer.ops[0].flops);
}

/// The shard from which a matmul's operand was gathered is kept, so that it is
/// gathered again for the parameter's gradient.
TEST(TrainingWork, gathered_activations_are_gathered_again) {
  auto gathers = [](Recompute recompute, bool frozen, bool again) {
    LayerWork layer;
    CommWork gather;
    gather.kind = CollectiveKind::AllGather;
    gather.axes = {PlanAxis::TP};
    gather.bytes = 100;
    layer.add(gather);
    layer.add(weightMatmul(512, 256, 128));
    appendBackward(layer, recompute, 4, frozen, again);
    int64_t count = 0;
    for (const CommWork &comm : layer.comms)
      if (comm.kind == CollectiveKind::AllGather &&
          comm.pass != Pass::Forward) {
        EXPECT_EQ(comm.bytes, 100);
        bool isAgain = comm.pass == Pass::BackwardInput;
        EXPECT_EQ(comm.overlappable, isAgain);
        EXPECT_EQ(comm.beside == CommWork::Beside::LastMatmul, isAgain);
        ++count;
      }
    return count;
  };
  EXPECT_EQ(gathers(Recompute::None, false, false), 0);
  EXPECT_EQ(gathers(Recompute::None, false, true), 1);
  // One gather for the recomputation, and one for the gradient.
  EXPECT_EQ(gathers(Recompute::Full, false, true), 2);
  EXPECT_EQ(gathers(Recompute::Matmuls, false, true), 1);
  // No gather is needed without a gradient of the parameter.
  EXPECT_EQ(gathers(Recompute::None, true, true), 0);
}

TEST(TrainingWork, parameters_and_gradients_travel_in_their_types) {
  // Bytes of the gather and of the scatter of 1000 parameters of a block.
  auto moved = [](Precision precision, GradDType type,
                  int64_t weightBytes = 0) {
    ModelWork model;
    model.kinds.resize(1);
    model.kinds[0].name = "block";
    CommWork gather;
    gather.kind = CollectiveKind::AllGather;
    gather.bytes = (precision == Precision::F32 ? 4.0 : 2.0) * 1000;
    gather.axes = {PlanAxis::DP};
    gather.parameter = true;
    model.kinds[0].add(gather);
    ExecutedPlan plan;
    plan.precision = precision;
    plan.gradDType = type;
    plan.weightBytes = weightBytes;
    buildTrainingWork(model, plan, plan);
    const std::vector<CommWork> &comms = model.kinds[0].comms;
    EXPECT_EQ(comms.size(), 3u); // forward; backward: again, and its dual
    return std::pair(comms[1].bytes / 1000, comms[2].bytes / 1000);
  };
  EXPECT_EQ(moved(Precision::F32, GradDType::F32), std::pair(4.0, 4.0));
  EXPECT_EQ(moved(Precision::BF16, GradDType::F32), std::pair(2.0, 4.0));
  EXPECT_EQ(moved(Precision::BF16, GradDType::BF16), std::pair(2.0, 2.0));
  EXPECT_EQ(moved(Precision::FP8Current, GradDType::F32), std::pair(1.0, 4.0));
  EXPECT_EQ(moved(Precision::FP8, GradDType::BF16), std::pair(1.0, 2.0));
  // Ranks cast after the gather if each row has a scale.
  EXPECT_EQ(moved(Precision::FP8Row, GradDType::BF16), std::pair(2.0, 2.0));
  // Copies that are kept in 8 bits are what is gathered.
  EXPECT_EQ(moved(Precision::FP8Block, GradDType::F32, 1), std::pair(1.0, 4.0));
  EXPECT_EQ(moved(Precision::FP8, GradDType::F32, 2), std::pair(2.0, 4.0));
}

/// The gradient of a norm's scale, or of a bias, is summed from tensors that
/// the layer already has.
TEST(TrainingWork, gradients_of_vectors_are_sums) {
  LayerWork layer;
  OpWork norm;
  norm.kind = OpClass::RowReduction;
  norm.parameterSum = 1000;
  layer.add(norm);
  LayerWork frozen = layer;
  appendBackward(layer, Recompute::None, 4, /*frozen=*/false);
  ASSERT_EQ(layer.ops.size(), 3u);
  EXPECT_EQ(layer.ops[1].name, "parameter_sum");
  EXPECT_EQ(layer.ops[1].bytesRead, 1000);
  EXPECT_EQ(layer.ops[2].pass, Pass::BackwardInput);
  appendBackward(frozen, Recompute::None, 4, /*frozen=*/true);
  EXPECT_EQ(frozen.ops.size(), 2u);
}

} // namespace
