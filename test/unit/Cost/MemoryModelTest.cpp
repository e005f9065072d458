//===- MemoryModelTest.cpp - Bytes of a device by category ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/MemoryModel.h"
#include "tessera/Cost/StepTime.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::cost;

namespace {

/// A layer that keeps 10 bytes, 4 of them of the attention core, and has an
/// output of 2.
LayerWork makeLayer(const char *name, double parameters) {
  LayerWork layer;
  layer.name = name;
  layer.parameters.push_back({"w", parameters});
  layer.saved = {{"x", 6, false}, {"scores", 4, true}};
  layer.outputBytes = 2;
  layer.workspaceBytes = 1;
  return layer;
}

/// Blocks of one micro-batch on one device, without margins.
class Memory : public testing::Test {
protected:
  Memory() {
    plan.precision = Precision::BF16;
    plan.gradDType = GradDType::BF16;
    constants = {0, 0, 0};
  }
  void addBlocks(int64_t count, double parameters = 100) {
    ModelWork::Run run{work.kinds.size(), double(count)};
    work.kinds.push_back(makeLayer("block", parameters));
    work.layers.push_back(run);
  }
  /// Marks the blocks as recomputed, as buildTrainingWork() does.
  void recompute(Recompute policy) {
    plan.recompute = policy;
    OpWork op;
    op.pass = Pass::Recompute;
    for (LayerWork &layer : work.kinds)
      if (layer.name == "block")
        layer.add(op);
  }
  std::vector<StageMemory> stages() {
    EXPECT_EQ(llvm::toString(plan.check()), "");
    return MemoryModel(work).stages(assignChunks(work.layers, plan), plan, plan,
                                    pricer, constants);
  }
  void setPipeline(const char *schedule, int64_t pp, int64_t microBatches,
                   int64_t vpp = 1) {
    plan.schedule = *parseName<ScheduleKind>(schedule);
    plan.pp = pp;
    plan.vpp = vpp;
    plan.microBatches = microBatches;
  }

  ModelWork work;
  ExecutedPlan plan;
  MemoryConstants constants;
  tessera::schedule::PipelinePricer pricer;
};

TEST_F(Memory, one_device) {
  addBlocks(3);
  MemoryBytes bytes = stages()[0].bytes;
  EXPECT_EQ(bytes.parameters, 600);
  EXPECT_EQ(bytes.gradients, 600);
  EXPECT_EQ(bytes.optimizer, 3600);
  EXPECT_EQ(bytes.activations, 30);
  EXPECT_EQ(bytes.gathered, 0);
  EXPECT_EQ(bytes.communication, 0);
  // A layer's temporaries and the gradient of its output.
  EXPECT_EQ(bytes.workspace, 1 + 2);
  EXPECT_EQ(bytes.allocated(), 4833);
  double sum = 0;
  for (auto [name, category] : bytes.categories())
    sum += category;
  EXPECT_EQ(sum, bytes.total());
}

/// The gradients of an op's operands exist together with its result's gradient.
TEST_F(Memory, an_op_has_gradients_of_operands_and_result) {
  addBlocks(3);
  auto workspace = [&](OpWork op) {
    op.pass = Pass::Forward;
    work.kinds[0].ops.assign(1, op);
    return stages()[0].bytes.workspace;
  };
  // SwiGLU reads two tensors and writes one.
  OpWork op;
  op.bytesRead = 20;
  op.bytesWritten = 10;
  EXPECT_EQ(workspace(op), 30 + 2);
  // Each of three consecutive kernels has a third of that.
  op.kernels = 3;
  EXPECT_EQ(workspace(op), 10 + 2);
  // A softmax overwrites its input; a cast has no gradient of its own.
  op.kind = OpClass::RowReduction;
  EXPECT_EQ(workspace(op), 1 + 2);
  op.kind = OpClass::Elementwise;
  op.forwardOnly = true;
  EXPECT_EQ(workspace(op), 1 + 2);
  // A matmul's parameter gradient is counted elsewhere.
  op = OpWork();
  op.kind = OpClass::Matmul;
  op.matmul = {1, 2, 5, 3};
  op.weight = true;
  EXPECT_EQ(workspace(op), 2 * 2 * (3 + 5) + 2);
  // 8-bit ops have 16-bit gradients.
  op.dtype = DType::FP8;
  EXPECT_EQ(workspace(op), 2 * 2 * (3 + 5) + 2);
  // The head's temporaries are counted separately.
  work.kinds[0].name = "head";
  EXPECT_EQ(workspace(op), 1 + 2);
}

/// A micro-batch's gradient exists together with the sum to which it is added.
TEST_F(Memory, micro_batches_need_a_gradient_more) {
  addBlocks(3);
  work.kinds[0].parameters.push_back({"larger", 150, 1});
  llvm::cantFail(plan.setGlobalBatch(2));
  EXPECT_EQ(stages()[0].bytes.workspace, 1 + 2 + 150 * 2);
  plan.gradDType = GradDType::F32;
  EXPECT_EQ(stages()[0].bytes.workspace, 1 + 2 + 150 * 4);
  // This gradient exists anyway.
  plan.gradDType = GradDType::Both;
  EXPECT_EQ(stages()[0].bytes.workspace, 1 + 2);
}

/// Parameters with adapters have neither gradients nor state.
TEST_F(Memory, adapters_are_trained_in_place_of_parameters) {
  addBlocks(3);
  llvm::cantFail(plan.setGlobalBatch(2));
  plan.loraRank = 4;
  plan.gradCopyBytes = 2;
  work.kinds[0].adapters.push_back({0, 0, 0, 10});
  MemoryBytes bytes = stages()[0].bytes;
  EXPECT_EQ(bytes.parameters, 2 * 3 * (100 + 10));
  EXPECT_EQ(bytes.gradients, 3 * 10 * (2 + 2));
  EXPECT_EQ(bytes.optimizer, 12 * 3 * 10);
  EXPECT_EQ(bytes.workspace, 1 + 2);
}

TEST_F(Memory, a_context_may_be_given) {
  addBlocks(3);
  constants = {2e9, 1e9, 0};
  EXPECT_EQ(stages()[0].bytes.context, 2e9);
  plan.dp = 2;
  EXPECT_EQ(stages()[0].bytes.context, 3e9);
  plan.contextBytes = 5000000000;
  EXPECT_EQ(stages()[0].bytes.context, 5e9);
  EXPECT_LE(MemoryModel(work).leastBytes(work.layers, plan, plan, 0, constants),
            stages()[0].bytes.total());
}

/// The backward of a single micro-batch reuses the memory that it frees, so
/// only the larger of gradients and activations counts.
TEST_F(Memory, gradients_without_buffers_take_the_place_of_activations) {
  // 3 x 10 bytes of activations.
  for (double parameters : {1.0, 100.0}) {
    work = {};
    addBlocks(3, parameters);
    plan.gradBuffers = true;
    plan.microBatches = 1;
    MemoryBytes held = stages()[0].bytes;
    double gradients = 3 * 2 * parameters;
    EXPECT_EQ(held.gradients, gradients);
    plan.gradBuffers = false;
    MemoryBytes bytes = stages()[0].bytes;
    EXPECT_EQ(bytes.gradients + bytes.activations, std::max(gradients, 30.0));
    EXPECT_EQ(held.total() - bytes.total(), std::min(gradients, 30.0));
    MemoryModel model(work);
    EXPECT_LE(model.leastBytes(work.layers, plan, plan, 0, constants),
              bytes.total());
    // Sums over several micro-batches exist all the time.
    plan.microBatches = 2;
    EXPECT_EQ(stages()[0].bytes.gradients, gradients);
  }
}

/// A program with a planned arena gathers and reduces parameters one by one,
/// two at a time.
TEST_F(Memory, arenas_have_two_parameters_at_once) {
  addBlocks(3);
  work.kinds[0].parameters = {{"w", 60}, {"v", 40}};
  plan.gradBuffers = false;
  plan.dp = 4;
  plan.microBatches = 2;
  plan.zero = 3;
  EXPECT_EQ(stages()[0].bytes.gathered, 2 * 60 * 2);
  EXPECT_EQ(stages()[0].bytes.communication, 2 * 60 * 2);
  plan.zero = 2;
  EXPECT_EQ(stages()[0].bytes.gathered, 0);
  EXPECT_EQ(stages()[0].bytes.communication, 2 * 60 * 2);
  // Between forward and backward there are two copies of the head's parameter
  // and one parameter of a block, and the gradient of the head is whole.
  LayerWork head = makeLayer("head", 500);
  work.kinds.push_back(head);
  work.layers.push_back({1, 1});
  plan.zero = 3;
  EXPECT_EQ(stages()[0].bytes.gathered, 2 * (500 + 60) * 2);
  EXPECT_EQ(stages()[0].bytes.communication, 500 * 2);
}

/// While B runs, everything that F has kept exists together with the gradients
/// that B computes for W.
TEST_F(Memory, arenas_hold_frames_to_the_end_of_a_task) {
  addBlocks(8, 10);
  OpWork matmul;
  matmul.kind = OpClass::Matmul;
  matmul.weight = true;
  matmul.matmul = {1, 3, 5, 4};
  work.kinds[0].ops = {matmul};
  setPipeline("1f1b", 4, 16);
  plan.gradBuffers = false;
  MemoryBytes joined = stages()[0].bytes;
  setPipeline("zb-h1", 4, 16);
  MemoryBytes split = stages()[0].bytes;
  // Two blocks per stage; in BW a parameter's gradient exists instead.
  EXPECT_EQ(split.workspace - joined.workspace, 2 * 3 * 5 * 2 - 10 * 2);
}

TEST_F(Memory, margins_are_said) {
  addBlocks(3);
  constants = {2e9, 1e9, 0.1};
  MemoryBytes bytes = stages()[0].bytes;
  EXPECT_EQ(bytes.context, 2e9);
  EXPECT_NEAR(bytes.margin, 0.1 * (30 + 3), 1e-9);
  plan.dp = 2;
  EXPECT_EQ(stages()[0].bytes.context, 3e9);
}

TEST_F(Memory, zero_cuts_state_over_the_ranks_that_share_it) {
  plan.dp = 4;
  addBlocks(3);
  plan.zero = 1;
  EXPECT_EQ(stages()[0].bytes.optimizer, 900);
  EXPECT_EQ(stages()[0].bytes.gradients, 600);
  plan.zero = 2;
  EXPECT_EQ(stages()[0].bytes.gradients, 150);
  EXPECT_EQ(stages()[0].bytes.parameters, 600);
  // The gradients of the layer that is being scattered.
  EXPECT_EQ(stages()[0].bytes.communication, 200);
  // Copies for the optimizer's step do not exist yet.
  plan.gradCopyBytes = 4;
  EXPECT_EQ(stages()[0].bytes.gradients, 3 * 150);
  EXPECT_EQ(stages()[0].bytes.communication, 200);
  plan.gradCopyBytes = 0;
  // Gradients that are scattered once per step are whole until then.
  plan.scatter = Scatter::Last;
  EXPECT_EQ(stages()[0].bytes.gradients, 600);
  EXPECT_EQ(stages()[0].bytes.communication, 0);
  plan.zero = 3;
  EXPECT_EQ(stages()[0].bytes.parameters, 150);
  // The current layer and the next one.
  EXPECT_EQ(stages()[0].bytes.gathered, 400);
  plan.shardRanks = 2;
  EXPECT_EQ(stages()[0].bytes.parameters, 300);
}

/// The interleaved schedule sends four consecutive micro-batches through a
/// chunk. Then the chunk's gradients are scattered while the next chunk's are
/// summed.
TEST_F(Memory, zero_2_scatters_a_chunk_after_its_round) {
  plan.dp = 4;
  plan.zero = 2;
  addBlocks(16);
  plan.scatter = Scatter::Round;
  setPipeline("interleaved", 4, 8, 2);
  MemoryBytes bytes = stages()[0].bytes;
  EXPECT_EQ(bytes.gradients, 4 * 200 / 4);
  // Seven boundaries in flight; two chunks of two blocks.
  EXPECT_EQ(bytes.communication, 7 * 2 + 2 * 2 * 200);
  // A schedule without chunks has one round per step.
  setPipeline("1f1b", 4, 8);
  bytes = stages()[0].bytes;
  EXPECT_EQ(bytes.gradients, 4 * 200);
  EXPECT_EQ(bytes.communication, 5 * 2);
  // The two chunks of a V shape alternate.
  setPipeline("zb-v", 4, 8);
  EXPECT_EQ(stages()[0].bytes.gradients, 4 * 200);
}

TEST_F(Memory, parameters_in_f32_are_their_own_master_copy) {
  addBlocks(1);
  plan.gradDType = GradDType::F32;
  plan.f32Parameters = true;
  plan.dp = 4;
  plan.zero = 3;
  MemoryBytes bytes = stages()[0].bytes;
  EXPECT_EQ(bytes.parameters, 100);
  EXPECT_EQ(bytes.gradients, 100);
  EXPECT_EQ(bytes.optimizer, 200);
  // Parameters are gathered in 16 bits.
  EXPECT_EQ(bytes.gathered, 2 * 200);
}

/// The parameters that matmuls of blocks read are kept and gathered in 8 bits;
/// the embedding and the head are not.
TEST_F(Memory, parameters_of_blocks_in_8_bits) {
  addBlocks(1);
  work.kinds.push_back(work.kinds[0]);
  work.kinds.back().name = "head";
  work.layers.push_back({1, 1});
  plan.precision = Precision::FP8Block;
  plan.dp = 4;
  plan.zero = 1;
  MemoryBytes wide = stages()[0].bytes;
  EXPECT_EQ(wide.parameters, 2 * 100 + 2 * 100);
  plan.weightBytes = 1;
  MemoryBytes bytes = stages()[0].bytes;
  EXPECT_EQ(bytes.parameters, 1 * 100 + 2 * 100);
  EXPECT_EQ(bytes.gradients, wide.gradients);
  EXPECT_EQ(bytes.optimizer, wide.optimizer);
  plan.zero = 3;
  bytes = stages()[0].bytes;
  EXPECT_EQ(bytes.parameters, (1 * 100 + 2 * 100) / 4.0);
  // Two of the largest at once: the head, in 16 bits.
  EXPECT_EQ(bytes.gathered, 2 * 200);
  plan.f32Parameters = true;
  EXPECT_EQ(stages()[0].bytes.parameters, 4 * 200 / 4);
}

/// Experts are shared by fewer ranks than the rest of a layer.
TEST_F(Memory, each_parameter_has_its_own_ranks) {
  plan.dp = 8;
  plan.zero = 1;
  addBlocks(1, 100);
  work.kinds[0].parameters.push_back({"experts", 1000, 4});
  EXPECT_EQ(stages()[0].bytes.optimizer, 12 * (100 / 8.0 + 1000 / 2.0));
}

TEST_F(Memory, recomputation) {
  addBlocks(8);
  EXPECT_EQ(stages()[0].bytes.activations, 80);
  recompute(Recompute::Selective);
  EXPECT_EQ(stages()[0].bytes.activations, 8 * 6);
  EXPECT_EQ(stages()[0].bytes.workspace, 1 + 4 + 2);
  plan.recompute = Recompute::Full;
  EXPECT_EQ(stages()[0].bytes.activations, 8 * 2);
  EXPECT_EQ(stages()[0].bytes.workspace, 1 + 10 + 2);
  plan.recompute = Recompute::Matmuls;
  work.kinds[0].keptResults = {{"q", 3, false}};
  EXPECT_EQ(stages()[0].bytes.activations, 8 * (2 + 3));
  EXPECT_EQ(stages()[0].bytes.workspace, 1 + (10 - 3) + 2);
  plan.recompute = Recompute::Full;
  // Inputs of every third layer, and the activations of three layers at a time.
  plan.checkpointEvery = 3;
  EXPECT_EQ(stages()[0].bytes.activations, 3 * 2);
  EXPECT_EQ(stages()[0].bytes.workspace, 1 + 30 + 2);
}

/// The gradients of the head's weights wait for W, with the input of the head
/// and the gradient of its result.
TEST_F(Memory, heads_wait_for_their_weight_gradients) {
  addBlocks(8);
  LayerWork head = work.kinds[0];
  head.name = "head";
  OpWork matmul;
  matmul.kind = OpClass::Matmul;
  matmul.weight = true;
  matmul.matmul = {1, 3, 5, 4};
  head.ops = {matmul};
  work.kinds.push_back(head);
  work.layers.push_back({1, 1});
  auto logits = [&](const char *schedule) {
    setPipeline(schedule, 4, 16);
    return stages()[3].bytes.logits;
  };
  double alive = logits("1f1b");
  // B is done for three of the four live micro-batches. Shares are rounded.
  EXPECT_NEAR(logits("zb-h1"), alive + 3 * 3 * (4 + 5) * 2, 1);
}

TEST_F(Memory, schedules_keep_micro_batches_alive) {
  addBlocks(8);
  setPipeline("1f1b", 4, 16);
  std::vector<StageMemory> s = stages();
  // The last rank has an activation that it reads and one that is posted, and
  // two gradients in flight; the first has a third activation that it sends.
  constexpr int boundaries[] = {5, 7, 7, 4};
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(s[rank].bytes.activations, (4 - rank) * 2 * 10) << rank;
    EXPECT_EQ(s[rank].liveMicroBatches, 4 - rank);
    EXPECT_EQ(s[rank].bytes.communication, boundaries[rank] * 2);
  }
  EXPECT_EQ(fullestStage(s), 0u);
  setPipeline("gpipe", 4, 16);
  EXPECT_EQ(stages()[3].bytes.activations, 16 * 2 * 10);
  setPipeline("interleaved", 4, 16, 2);
  // p (1 + (p - 1) / (p v)) micro-batches per stage.
  EXPECT_NEAR(stages()[0].bytes.activations, 4 * (1 + 3.0 / 8) * 20, 1e-9);
  setPipeline("zb-h2", 4, 16);
  // Four of seven wait for their weight gradients only, without the core of
  // attention.
  EXPECT_NEAR(stages()[2].bytes.activations, (3 + 4 * 0.6) * 20, 0.5);
  setPipeline("zb-2p", 4, 16);
  EXPECT_EQ(stages()[3].bytes.activations, 8 * 20);
}

/// If there are as many micro-batches as stages, the first rank keeps all of
/// them, and the last one starts the backward at once.
TEST_F(Memory, one_round_of_the_interleaved_schedule) {
  addBlocks(8);
  work.kinds.push_back(makeLayer("head", 0));
  work.layers.push_back({1, 1});
  setPipeline("interleaved", 4, 4, 2);
  plan.stageLayers.assign(8, 1);
  std::vector<StageMemory> s = stages();
  EXPECT_EQ(s[0].bytes.activations, 4 * 20);
  EXPECT_EQ(s[3].bytes.logits, 10);
}

/// Two stages per rank: state twice, p + 1 micro-batches.
TEST_F(Memory, dualpipe_holds_two_stages) {
  addBlocks(8);
  setPipeline("dualpipe", 4, 16);
  for (const StageMemory &stage : stages()) {
    EXPECT_EQ(stage.bytes.parameters, 2 * 2 * 200);
    EXPECT_EQ(stage.bytes.activations, 5 * 20);
  }
  // The two ranks of a stage share its optimizer state.
  plan.zero = 1;
  EXPECT_EQ(stages()[0].bytes.optimizer, 2 * 2 * 1200 / 2);
  // Our programs shard each stage separately.
  plan.gradBuffers = false;
  EXPECT_EQ(stages()[0].bytes.optimizer, 2 * 2 * 1200);
}

/// Two chunks per rank, one copy of the state, p + 1/2 micro-batches.
TEST_F(Memory, dualpipe_v_holds_one_copy) {
  addBlocks(8);
  setPipeline("dualpipe-v", 4, 9);
  for (const StageMemory &stage : stages()) {
    EXPECT_EQ(stage.bytes.parameters, 2 * 200);
    EXPECT_EQ(stage.bytes.activations, 4.5 * 20);
    EXPECT_EQ(stage.liveMicroBatches, 4.5);
  }
  plan.zero = 1;
  EXPECT_EQ(stages()[0].bytes.optimizer, 2 * 1200);
}

TEST_F(Memory, ends_of_the_pipeline) {
  work.kinds.push_back(makeLayer("embedding", 1000));
  work.layers.push_back({0, 1});
  addBlocks(6);
  work.kinds.push_back(makeLayer("head", 1000));
  work.layers.push_back({2, 1});
  setPipeline("1f1b", 2, 8);
  std::vector<StageMemory> s = stages();
  EXPECT_EQ(s[0].bytes.parameters, 2 * (1000 + 300));
  EXPECT_EQ(s[0].bytes.logits, 0);
  EXPECT_EQ(s[1].bytes.logits, 10);
  EXPECT_EQ(s[1].bytes.activations, 30);
  // Logits are freed after the input gradient, whatever waits for W.
  setPipeline("zb-2p", 2, 8);
  s = stages();
  EXPECT_EQ(s[1].bytes.logits, 10);
  EXPECT_EQ(s[1].bytes.activations, 4 * 30);
}

TEST_F(Memory, offload_moves_optimizer_state) {
  addBlocks(3);
  plan.offload = Offload::Host;
  StageMemory stage = stages()[0];
  EXPECT_EQ(stage.bytes.optimizer, 0);
  EXPECT_EQ(stage.offloaded, 3600);
}

TEST_F(Memory, names_the_largest_tensors) {
  addBlocks(4);
  setPipeline("1f1b", 2, 8);
  MemoryModel model(work);
  auto largest = model.largestTensors(stages()[0], plan, 5);
  ASSERT_EQ(largest.size(), 2u);
  EXPECT_EQ(largest[0].name, "x");
  EXPECT_EQ(largest[0].bytes, 2 * 2 * 6);
  EXPECT_EQ(largest[1].name, "scores");
  recompute(Recompute::Full);
  largest = MemoryModel(work).largestTensors(stages()[0], plan, 5);
  ASSERT_EQ(largest.size(), 1u);
  EXPECT_EQ(largest[0].name, "inputs of layers");
}

} // namespace
