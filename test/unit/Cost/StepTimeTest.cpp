//===- StepTimeTest.cpp - Seconds of a training step ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/StepTime.h"
#include "tessera/Cost/TrainingWork.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace tessera;
using namespace tessera::cost;

namespace {

OpWork weightMatmul(int64_t m, int64_t n, int64_t k) {
  OpWork op;
  op.kind = OpClass::Matmul;
  op.weight = true;
  op.matmul = {1, m, n, k};
  op.flops = 2.0 * m * n * k;
  op.bytesRead = 2.0 * (double(m) * k + double(k) * n);
  op.bytesWritten = 2.0 * m * n;
  return op;
}

double flopsOf(const LayerWork &layer, OpClass kind, Pass pass) {
  double sum = 0;
  for (const OpWork &op : layer.ops)
    if (op.kind == kind && op.pass == pass)
      sum += op.flops;
  return sum;
}

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
  Plan plan;
  plan.gradDType = GradDType::Both;
  appendBackward(layer, Recompute::None, makeGradientSums(plan),
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
  Plan plan;
  plan.precision = Precision::BF16;
  plan.sumsApart = true;
  auto bytesOf = [&](GradDType type, int64_t microBatches) {
    plan.gradDType = type;
    plan.microBatches = microBatches;
    LayerWork layer;
    layer.add(weightMatmul(512, 256, 128));
    appendBackward(layer, Recompute::None, makeGradientSums(plan),
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

/// Adapters read their matmul's operands and add to its result, and are
/// trained.
TEST(TrainingWork, adapters_pass_over_the_operands_of_their_matmul) {
  auto build = [](int64_t rank, LoraTargets targets, bool scatters) {
    ModelWork work;
    LayerWork &layer = work.kinds.emplace_back();
    layer.name = "block";
    layer.add(weightMatmul(512, 256, 128));
    if (scatters) {
      CommWork comm;
      comm.kind = CollectiveKind::ReduceScatter;
      comm.axes = {"tp"};
      comm.ranks = 4;
      layer.add(comm);
    }
    layer.add(weightMatmul(512, 128, 256));
    Plan plan;
    plan.precision = Precision::BF16;
    plan.loraRank = rank;
    plan.loraTargets = targets;
    buildTrainingWork(work, plan);
    return work.kinds.front();
  };
  auto bytes = [](const LayerWork &layer, Pass pass) {
    double sum = 0;
    for (const OpWork &op : layer.ops)
      if (op.pass == pass && llvm::StringRef(op.name).starts_with("adapter"))
        sum += op.bytesRead + op.bytesWritten;
    return sum;
  };
  LayerWork one = build(8, LoraTargets::QKV, false);
  ASSERT_EQ(one.adapters.size(), 1u);
  const AdapterWork &a = one.adapters.front();
  EXPECT_EQ(a.input, 2.0 * 512 * 128);
  EXPECT_EQ(a.inner, 2.0 * 512 * 8);
  EXPECT_EQ(a.result, 2.0 * 512 * 256);
  EXPECT_EQ(one.adapterElements(), 8.0 * (128 + 256));
  // Input, output, scaled (r w) and added (r r w).
  EXPECT_EQ(bytes(one, Pass::Forward), a.input + 2 * a.inner + 6 * a.result);
  EXPECT_EQ(bytes(one, Pass::BackwardInput),
            3 * a.result + 2 * a.inner + 4 * a.input);
  EXPECT_EQ(bytes(one, Pass::BackwardWeight), a.result + 2 * a.inner + a.input);
  // Only the adapters have gradients.
  EXPECT_EQ(one.flops(Pass::BackwardWeight), 0);
  EXPECT_EQ(one.modelFlops, 2 * one.flops(Pass::Forward));
  EXPECT_EQ(build(8, LoraTargets::All, false).adapters.size(), 2u);
  EXPECT_TRUE(build(0, LoraTargets::All, false).adapters.empty());
  // A scattered result has a quarter of the rows.
  EXPECT_EQ(build(8, LoraTargets::QKV, true).adapters.front().result,
            a.result / 4);
}

TEST(TrainingWork, frozen_parameters_have_no_gradient) {
  LayerWork layer;
  layer.add(weightMatmul(512, 256, 128));
  appendBackward(layer, Recompute::None, 4, /*frozen=*/true);
  EXPECT_EQ(layer.flops(Pass::BackwardWeight), 0);
  EXPECT_EQ(layer.flops(Pass::BackwardInput), layer.ops[0].flops);
}

/// Attention with `heads` heads over a sequence of `seq`; all scores are
/// computed.
OpWork attention(int64_t heads, int64_t seq, int64_t dim) {
  OpWork op;
  op.kind = OpClass::Attention;
  op.attentionCore = true;
  op.matmul = {heads, seq, seq, dim};
  op.flops = 4.0 * heads * seq * double(seq) * dim;
  op.bytesRead = 3 * 2.0 * heads * seq * dim;
  op.bytesWritten = 2.0 * heads * seq * dim;
  return op;
}

TEST(TrainingWork, unfused_attention_computes_the_same_and_saves_scores) {
  LayerWork layer;
  layer.add(attention(16, 1024, 64));
  double flops = layer.ops[0].flops;
  unfuseAttention(layer, /*dropout=*/true);
  EXPECT_DOUBLE_EQ(layer.flops(Pass::Forward), flops);
  // 2 bytes for scores after softmax and after dropout, 1 for the mask: the 5 a
  // s^2 b of Korthikanti et al.
  EXPECT_DOUBLE_EQ(layer.savedBytes(), 5.0 * 16 * 1024 * 1024);
  appendBackward(layer, Recompute::Selective, 4, false);
  EXPECT_DOUBLE_EQ(layer.flops(Pass::Recompute), flops);
  EXPECT_DOUBLE_EQ(flopsOf(layer, OpClass::Matmul, Pass::BackwardInput),
                   2 * flops);
}

TEST(TrainingWork, a_sharded_context_gathers_keys_and_values) {
  LayerWork layer;
  layer.add(attention(16, 512, 64));
  shardContext(layer, 4);
  ASSERT_EQ(layer.comms.size(), 1u);
  EXPECT_EQ(layer.comms[0].bytes, 4 * 2 * 2.0 * 16 * 512 * 64);
  EXPECT_EQ(layer.ops[0].matmul, (MatmulDims{16, 512, 2048, 64}));
  EXPECT_EQ(layer.ops[0].flops, 4.0 * 16 * 512 * 2048 * 64);
  appendBackward(layer, Recompute::None, 4, false);
  ASSERT_EQ(layer.comms.size(), 3u);
  EXPECT_EQ(layer.comms[1].kind, CollectiveKind::AllGather);
  EXPECT_EQ(layer.comms[2].kind, CollectiveKind::ReduceScatter);
}

/// A query in fused attention sees a quarter of the keys if a sequence has four
/// documents. Unfused attention masks scores after computing them.
TEST(TrainingWork, attention_within_documents) {
  auto flops = [](AttentionKind kind, int64_t documentTokens) {
    Plan l;
    l.seq = 1024;
    l.documentTokens = documentTokens;
    l.attention = kind;
    EXPECT_EQ(llvm::toString(l.check()), "");
    ModelWork work;
    work.kinds.resize(1);
    work.kinds[0].add(attention(16, 1024, 64));
    buildTrainingWork(work, l);
    return work.kinds[0].flops(Pass::Forward);
  };
  double whole = flops(AttentionKind::Flash, 0);
  EXPECT_EQ(flops(AttentionKind::Flash, 256), whole / 4);
  EXPECT_EQ(flops(AttentionKind::Flash, 1024), whole);
  EXPECT_EQ(flops(AttentionKind::Naive, 256), whole);
}

// A ring overlaps its gather with the attention.
TEST(TrainingWork, a_ring_hides_its_gather) {
  LayerWork layer;
  layer.add(attention(16, 512, 64));
  shardContext(layer, 4, {ContextMethod::Ring, 0});
  ASSERT_EQ(layer.comms.size(), 1u);
  EXPECT_TRUE(layer.comms[0].overlappable);
  EXPECT_EQ(layer.ops[0].matmul, (MatmulDims{16, 512, 2048, 64}));
}

// Four devices have all queries and keys of a quarter of the heads. Among eight
// devices, those that share heads gather from each other.
TEST(TrainingWork, heads_are_exchanged) {
  LayerWork layer;
  layer.add(attention(16, 512, 64));
  double inputs = layer.ops[0].bytesRead, result = layer.ops[0].bytesWritten;
  shardContext(layer, 4, {ContextMethod::AllToAll, 0});
  ASSERT_EQ(layer.comms.size(), 2u);
  EXPECT_EQ(layer.comms[0].kind, CollectiveKind::AllToAll);
  EXPECT_EQ(layer.comms[0].bytes, inputs);
  EXPECT_EQ(layer.comms[1].bytes, result);
  EXPECT_EQ(layer.ops[0].matmul, (MatmulDims{4, 2048, 2048, 64}));
  EXPECT_EQ(layer.ops[0].flops, 4.0 * 4 * 2048 * 2048 * 64);
  LayerWork both;
  both.add(attention(16, 512, 64));
  shardContext(both, 8, {ContextMethod::AllToAll, 4});
  ASSERT_EQ(both.comms.size(), 3u);
  EXPECT_EQ(both.comms[0].axes, std::vector<std::string>{"cp_heads"});
  EXPECT_EQ(both.comms[1].axes, std::vector<std::string>{"cp_queries"});
  EXPECT_EQ(both.comms[1].ranks, 2);
  EXPECT_EQ(both.ops[0].matmul, (MatmulDims{4, 2048, 4096, 64}));
}

/// fc, GELU, proj, residual: two matmuls remain, which do the reads and writes
/// of the kernels between them once.
TEST(TrainingWork, epilogues_of_matmuls) {
  DeviceModel device;
  device.peakBF16 = 1e14;
  device.multiprocessors = 100;
  device.memoryBandwidth = 1e12;
  auto make = [&](bool isFused, bool isGelu, bool isReduced) {
    LayerWork layer;
    layer.add(weightMatmul(512, 256, 64));
    layer.ops[0].parameterSum = 2 * 512 * 256;
    OpWork gelu;
    gelu.isGelu = isGelu;
    gelu.bytesRead = gelu.bytesWritten = 2 * 512 * 256;
    layer.add(gelu);
    layer.add(weightMatmul(512, 64, 256));
    if (isReduced)
      layer.add(CommWork());
    OpWork residual;
    residual.name = "residual";
    residual.linear = true;
    residual.bytesRead = 2 * 2 * 512 * 64;
    residual.bytesWritten = 2 * 512 * 64;
    layer.add(residual);
    if (isFused)
      fuseEpilogues(layer);
    appendBackward(layer, Recompute::None, 4, /*frozen=*/false);
    return layer;
  };
  auto kernels = [&](const LayerWork &layer, Pass pass) {
    KernelTime time;
    for (const OpWork &op : layer.ops)
      if (op.pass == pass)
        addKernel(time, device, op);
    return std::lround(time.host / device.hostLaunch);
  };
  LayerWork apart = make(false, true, false), fused = make(true, true, false);
  EXPECT_EQ(kernels(apart, Pass::Forward), 4);
  EXPECT_EQ(kernels(fused, Pass::Forward), 2);
  // The gradients of the residual, which has two uses, and of both matmuls.
  EXPECT_EQ(kernels(apart, Pass::BackwardInput), 4);
  EXPECT_EQ(kernels(fused, Pass::BackwardInput), 3);
  // The first matmul writes GELU's argument and result, the second reads the
  // residual, and its gradient GELU's argument.
  EXPECT_EQ(fused.ops[0].epilogueBytes, 2 * 512 * 256);
  EXPECT_EQ(fused.ops[2].epilogueBytes, 2 * 512 * 64);
  double argument = 0;
  for (const OpWork &op : fused.ops)
    if (op.kind == OpClass::Matmul && op.pass == Pass::BackwardInput)
      argument += op.epilogueBytes;
  EXPECT_EQ(argument, 2 * 512 * 256);
  // The epilogue runs after a tile's sums.
  OpWork plain = fused.ops[0];
  plain.epilogueBytes = 0;
  EXPECT_NEAR(
      kernelSeconds(device, fused.ops[0]) - kernelSeconds(device, plain),
      2 * 512 * 256 / (device.memoryBandwidth * device.memoryRate), 1e-12);
  // Another activation, or ops after a collective, stay separate kernels.
  EXPECT_EQ(kernels(make(true, false, false), Pass::Forward), 3);
  EXPECT_EQ(kernels(make(true, true, true), Pass::Forward), 3);
}

/// The shard from which a matmul's operand was gathered is kept, so that it is
/// gathered again for the parameter's gradient.
TEST(TrainingWork, gathered_activations_are_gathered_again) {
  auto gathers = [](Recompute recompute, bool frozen, bool again) {
    LayerWork layer;
    CommWork gather;
    gather.kind = CollectiveKind::AllGather;
    gather.axes = {"tp"};
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
  // Without a gradient of the parameter no gather is needed.
  EXPECT_EQ(gathers(Recompute::None, true, true), 0);
}

TEST(TrainingWork, norms_cast_what_they_write) {
  LayerWork layer;
  OpWork norm;
  norm.kind = OpClass::RowReduction;
  layer.add(norm);
  layer.add(weightMatmul(512, 256, 128));
  layer.add(norm);
  quantizeMatmuls(layer, *getMatmulFormat(Precision::FP8));
  ASSERT_EQ(layer.ops.size(), 3u);
  EXPECT_EQ(layer.ops[1].dtype, DType::FP8);
  EXPECT_EQ(layer.ops[1].castGradientRead, 0);
}

TEST(TrainingWork, activations_are_cast_apart) {
  LayerWork layer;
  layer.add(weightMatmul(512, 256, 128));
  OpWork activation;
  activation.kind = OpClass::Elementwise;
  layer.add(activation);
  layer.add(weightMatmul(512, 128, 256));
  quantizeMatmuls(layer, *getMatmulFormat(Precision::FP8));
  ASSERT_EQ(layer.ops.size(), 5u);
  // The cast reads 16 bits and writes 8, both as is and transposed.
  EXPECT_EQ(layer.ops[3].name, "cast");
  EXPECT_EQ(layer.ops[3].bytesRead, 2 * 512 * 256);
  EXPECT_EQ(layer.ops[3].bytesWritten, 2 * 512 * 256);
  // The activation's gradient for the first matmul is cast, too.
  EXPECT_EQ(layer.ops[1].castGradientRead, 2);
}

/// Bytes per element that the casts of a matmul's 512 x 128 operand move.
static std::pair<double, double> castBytes(Precision precision) {
  LayerWork layer;
  layer.add(weightMatmul(512, 256, 128));
  quantizeMatmuls(layer, *getMatmulFormat(precision));
  double elements = 512 * 128;
  return {layer.ops[0].bytesRead / elements,
          layer.ops[0].bytesWritten / elements};
}

TEST(TrainingWork, norms_op_by_op_pass_over_their_input_in_f32) {
  LayerWork layer;
  OpWork norm;
  norm.kind = OpClass::RowReduction;
  norm.name = "nn.rms_norm";
  norm.bytesRead = norm.bytesWritten = 2 * 1000;
  layer.add(norm);
  unfuseNorms(layer);
  // r2 w4, r4 w4, r4, r4 w4, r4 w2, r2 w2 for each element.
  EXPECT_EQ(layer.ops[0].bytesRead, 20 * 1000);
  EXPECT_EQ(layer.ops[0].bytesWritten, 16 * 1000);
  EXPECT_EQ(layer.ops[0].kernels, 6);
}

TEST(TrainingWork, metrics_compute_the_loss_again) {
  LayerWork layer;
  OpWork loss;
  loss.kind = OpClass::RowReduction;
  loss.name = "loss";
  loss.bytesRead = 2 * 1000;
  layer.add(loss);
  LayerWork plain = layer;
  addLossMetrics(layer, 2);
  appendBackward(layer, Recompute::None, 4, /*frozen=*/false);
  appendBackward(plain, Recompute::None, 4, /*frozen=*/false);
  double bytes = 0, before = 0;
  for (const OpWork &op : layer.ops)
    bytes += op.bytesRead + op.bytesWritten;
  for (const OpWork &op : plain.ops)
    before += op.bytesRead + op.bytesWritten;
  // r2 w4, r4 w4 for each logit and metric, and no gradient.
  EXPECT_EQ(bytes - before, 2 * 14 * 1000);
  // Over tp the loss has other kernels, which begin with the head's result.
  LayerWork head;
  head.name = "head";
  head.add(weightMatmul(512, 256, 128));
  loss.name = "arith.extf";
  loss.bytesRead = 2 * 512 * 256;
  head.add(loss);
  head.add(loss);
  addLossMetrics(head, 1);
  ASSERT_EQ(head.ops.size(), 5u);
  EXPECT_EQ(head.ops[2].name, "metric.cast");
}

TEST(TrainingWork, a_loss_kernel_by_kernel_passes_over_f32_logits) {
  auto bytes = [](bool isLogSoftmax) {
    LayerWork layer;
    OpWork loss;
    loss.kind = OpClass::RowReduction;
    loss.name = "loss";
    loss.bytesRead = 2 * 1000;
    layer.add(loss);
    unfuseLoss(layer, isLogSoftmax);
    appendBackward(layer, Recompute::None, 4, /*frozen=*/false);
    double sum = 0;
    for (const OpWork &op : layer.ops)
      sum += op.bytesRead + op.bytesWritten;
    return sum / 1000;
  };
  // Forward r2 w4, r4 w4, w4; backward r4 r4 w4, r4 w2.
  EXPECT_EQ(bytes(true), 36);
  // Forward r2 w4, r4, r4 w4, r4, r4 w4; backward the same.
  EXPECT_EQ(bytes(false), 48);
}

/// Only one chunk's logits are alive. Each chunk adds to the head's gradient,
/// and the gradients of the chunks' inputs are concatenated in f32.
TEST(TrainingWork, a_loss_in_chunks) {
  auto make = [](int64_t chunks) {
    LayerWork layer;
    layer.add(weightMatmul(512, 1024, 128));
    OpWork loss;
    loss.kind = OpClass::RowReduction;
    loss.name = "loss";
    loss.bytesRead = 2.0 * 512 * 1024;
    layer.add(loss);
    layer.saved = {{"input", 2.0 * 512 * 128}, {"logits", 2.0 * 512 * 1024}};
    layer.outputBytes = 2.0 * 512 * 1024;
    chunkLoss(layer, chunks);
    appendBackward(layer, Recompute::None, 4, /*frozen=*/false);
    return layer;
  };
  LayerWork whole = make(1), chunked = make(4);
  EXPECT_EQ(chunked.saved[0].bytes, whole.saved[0].bytes);
  EXPECT_EQ(chunked.saved[1].bytes, whole.saved[1].bytes / 4);
  EXPECT_EQ(chunked.outputBytes, whole.outputBytes / 4);
  EXPECT_EQ(chunked.workspaceBytes, 4.0 * 512 * 128);
  ASSERT_EQ(chunked.ops.size(), whole.ops.size());
  double read = 0, written = 0;
  for (auto [one, other] : llvm::zip_equal(whole.ops, chunked.ops)) {
    EXPECT_EQ(other.flops, one.flops);
    EXPECT_EQ(other.kernels, 4 * one.kernels);
    if (one.pass == Pass::BackwardWeight) {
      read = other.bytesRead - one.bytesRead;
      written = other.epilogueBytes - one.epilogueBytes;
    }
  }
  EXPECT_EQ(written, 3 * 4.0 * 128 * 1024);
  EXPECT_EQ(read, written);
  // Separate matmuls do not share waves.
  DeviceModel device;
  device.peakBF16 = 1e15;
  device.memoryBandwidth = 1e15;
  device.multiprocessors = 100;
  device.kernelFloor = 0;
  OpWork one = weightMatmul(128, 1024, 128);
  EXPECT_NEAR(kernelSeconds(device, chunked.ops[0]),
              4 * kernelSeconds(device, one), 1e-12);
}

/// Registered buffers slow kernels less, in proportion to the time of their
/// collectives.
TEST(LayerTime, registered_buffers) {
  DeviceModel device;
  device.overlapSlowdown = 0.5;
  PassTime pass;
  pass.kernels.compute = 3e-3;
  pass.beside = {{"", 1e-3}, {"tp", 1e-3}};
  EXPECT_NEAR(pass.seconds(device), 4e-3, 1e-12);
  pass.registered = 1e-3;
  EXPECT_NEAR(pass.seconds(device),
              4e-3 - 0.5 * (1 - Machine::kRegisteredShare) * 1e-3, 1e-12);
  PassTime sum = pass;
  sum += pass;
  EXPECT_NEAR(sum.seconds(device), 2 * pass.seconds(device), 1e-12);
}

/// If the host waits for a result, its time is added to the device's.
TEST(LayerTime, a_host_that_waits) {
  DeviceModel device;
  PassTime pass;
  pass.kernels.compute = 3e-3;
  pass.kernels.host = 1e-3;
  EXPECT_EQ(pass.seconds(device), 3e-3);
  pass.hostWaits = true;
  EXPECT_EQ(pass.seconds(device), 3e-3 + 1e-3);
  PassTime sum;
  sum += pass;
  EXPECT_TRUE(sum.hostWaits);
}

TEST(TrainingWork, gathered_parameters_are_copied) {
  LayerWork layer;
  layer.add(weightMatmul(512, 256, 128));
  CommWork gather;
  gather.kind = CollectiveKind::AllGather;
  gather.bytes = 2.0 * 128 * 256;
  gather.axes = {"dp"};
  gather.parameter = gather.overlappable = true;
  layer.add(gather);
  appendBackward(layer, Recompute::None, 4, /*frozen=*/false);
  size_t before = layer.ops.size();
  addGatherCopies(layer, 8, /*gradientBytes=*/2);
  // There is one copy, although the backward gathers again.
  ASSERT_EQ(layer.ops.size(), before + 1);
  EXPECT_EQ(layer.ops.back().bytesRead + layer.ops.back().bytesWritten,
            8.0 * 128 * 256);
  EXPECT_EQ(layer.ops.back().pass, Pass::BackwardInput);
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
    gather.axes = {"dp"};
    gather.parameter = true;
    model.kinds[0].add(gather);
    Plan plan;
    plan.precision = precision;
    plan.gradDType = type;
    plan.weightBytes = weightBytes;
    buildTrainingWork(model, plan);
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

TEST(TrainingWork, activations_travel_over_tp_in_8_bits) {
  LayerWork layer;
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
    CommWork comm;
    comm.kind = kind;
    comm.bytes = 1000;
    comm.axes = {"tp"};
    layer.add(comm);
  }
  narrowGathers(layer, *getMatmulFormat(Precision::FP8), /*weightBytes=*/0);
  appendBackward(layer, Recompute::None, 2, /*frozen=*/false);
  ASSERT_EQ(layer.comms.size(), 4u);
  // Gathers move 8 bits in forward and backward, scatters move 16.
  for (const CommWork &comm : layer.comms)
    EXPECT_EQ(comm.bytes, comm.kind == CollectiveKind::AllGather ? 500 : 1000);
}

TEST(TrainingWork, formats_differ_in_casts_and_scales) {
  using Bytes = std::pair<double, double>;
  EXPECT_EQ(castBytes(Precision::FP8), Bytes(2, 2));
  // The largest element is found first.
  EXPECT_EQ(castBytes(Precision::FP8Current), Bytes(4, 2));
  // One byte per 32 elements, four per 128.
  EXPECT_EQ(castBytes(Precision::MXFP8), Bytes(2, 2 + 2.0 / 32));
  EXPECT_EQ(castBytes(Precision::FP8Block), Bytes(2, 2 + 8.0 / 128));
  // One byte per 16 elements of half a byte, in 84 % of the blocks.
  EXPECT_EQ(castBytes(Precision::NVFP4), Bytes(4 * 0.84, 0.84 * 1.125));
  EXPECT_FALSE(getMatmulFormat(Precision::BF16));
}

TEST(TrainingWork, a_cast_by_the_largest_element_is_four_kernels_of_one_call) {
  auto casts = [](Precision precision) {
    LayerWork layer;
    layer.add(weightMatmul(8192, 8192, 8192));
    quantizeMatmuls(layer, *getMatmulFormat(precision));
    appendBackward(layer, Recompute::None, 2, /*frozen=*/false);
    std::vector<std::pair<int64_t, bool>> list;
    for (const OpWork &op : layer.ops)
      if (op.name == "cast")
        list.emplace_back(op.kernels, op.isBatched);
    return list;
  };
  using List = std::vector<std::pair<int64_t, bool>>;
  EXPECT_EQ(casts(Precision::FP8Current), (List{{4, true}, {4, true}}));
  EXPECT_EQ(casts(Precision::MXFP8), (List{{1, false}, {1, false}}));
  EXPECT_EQ(casts(Precision::NVFP4), (List{{2, true}, {2, true}}));
}

TEST(TrainingWork, some_blocks_of_nvfp4_stay_in_16_bits) {
  DeviceModel device;
  device.peakBF16 = 1e15;
  device.peakFP4 = 4e15;
  device.memoryBandwidth = 1e15;
  device.multiprocessors = 1;
  LayerWork layer;
  layer.add(weightMatmul(8192, 8192, 8192));
  quantizeMatmuls(layer, *getMatmulFormat(Precision::NVFP4));
  const OpWork &op = layer.ops[1];
  double narrow = matmulSeconds(device, op.matmul, DType::FP4);
  double wide = matmulSeconds(device, op.matmul, DType::BF16);
  EXPECT_GT(wide, 2 * narrow);
  EXPECT_NEAR(kernelSeconds(device, op) - device.kernelFloor,
              0.84 * narrow + 0.16 * wide, 1e-12);
}

/// A policy that keeps every second matmul's result keeps none of unknown ops.
TEST(TrainingWork, results_in_4_bits_are_computed_again) {
  auto build = [](Precision precision) {
    Plan plan;
    plan.precision = precision;
    plan.recompute = Recompute::Matmuls;
    ModelWork work;
    work.kinds.resize(1);
    LayerWork &layer = work.kinds[0];
    layer.name = "block";
    layer.add(weightMatmul(1024, 6400, 1024));
    layer.keptResults = {{"nn.einsum", 1000, false},
                         {"nn.attention", 100, false}};
    work.layers = {{0, 1}};
    buildTrainingWork(work, plan);
    return work.kinds[0];
  };
  auto columnsAgain = [](const LayerWork &layer) {
    int64_t columns = 0;
    for (const OpWork &op : layer.ops)
      if (op.pass == Pass::Recompute && op.kind == OpClass::Matmul)
        columns += op.matmul.n;
    return columns;
  };
  LayerWork eight = build(Precision::MXFP8), four = build(Precision::NVFP4);
  EXPECT_EQ(columnsAgain(eight), 0);
  EXPECT_EQ(eight.keptResults[0].bytes, 1000);
  // All but 16 % of the blocks, in whole vectors.
  EXPECT_EQ(columnsAgain(four), 6400 - 1024);
  EXPECT_DOUBLE_EQ(four.keptResults[0].bytes, 160);
  EXPECT_EQ(four.keptResults[1].bytes, 100);
}

TEST(MatmulFormat, a_device_needs_the_units) {
  DeviceSpec hopper;
  hopper.name = "H";
  hopper.peakFlops = {{"bf16", {}}, {"fp8", {}}};
  EXPECT_EQ(llvm::toString(checkPrecision(Precision::FP8Block, hopper)), "");
  EXPECT_EQ(llvm::toString(checkPrecision(Precision::MXFP8, hopper)),
            "precision: expects units of H, which are bf16, fp8, but got "
            "mxfp8, whose units are mxfp8");
  EXPECT_EQ(llvm::toString(checkPrecision(Precision::NVFP4, hopper)),
            "precision: expects units of H, which are bf16, fp8, but got "
            "nvfp4, whose units are fp4");
  DeviceSpec volta;
  volta.name = "V";
  volta.peakFlops = {{"f16", {}}, {"f32", {}}};
  EXPECT_EQ(llvm::toString(checkPrecision(Precision::F16, volta)), "");
  EXPECT_NE(llvm::toString(checkPrecision(Precision::BF16, volta)), "");
}

TEST(TrainingWork, eight_bit_matmuls_are_cast) {
  LayerWork layer;
  layer.add(weightMatmul(512, 256, 128));
  quantizeMatmuls(layer, *getMatmulFormat(Precision::FP8));
  ASSERT_EQ(layer.ops.size(), 2u);
  EXPECT_EQ(layer.ops[1].castGradientRead, 2);
  EXPECT_EQ(layer.ops[1].castGradientWritten, 2);
  EXPECT_EQ(layer.ops[1].dtype, DType::FP8);
  EXPECT_EQ(layer.ops[1].bytesRead, 512 * 128 + 128 * 256);
  appendBackward(layer, Recompute::None, 4, false);
  EXPECT_EQ(flopsOf(layer, OpClass::Matmul, Pass::BackwardWeight),
            layer.ops[1].flops);
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

ClusterSpec cluster(double nearBandwidth) {
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
ModelWork model(const Plan &plan) {
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
  buildTrainingWork(work, plan);
  return work;
}

StepTime price(const Plan &plan, double nearBandwidth = 300e9) {
  EXPECT_EQ(llvm::toString(plan.check()), "");
  Machine machine(cluster(nearBandwidth), plan);
  schedule::PipelinePricer pricer;
  llvm::Expected<StepTime> step =
      priceStep(priceModel(model(plan), machine), plan, machine, pricer);
  EXPECT_TRUE(bool(step)) << llvm::toString(step.takeError());
  return step ? *step : StepTime();
}

Plan pipelined(int64_t stages, int64_t microBatches) {
  Plan l;
  l.precision = Precision::BF16;
  l.pp = stages;
  l.microBatches = microBatches;
  return l;
}

/// A call takes longer on a host that waits than a kernel does elsewhere.
TEST(LayerTime, calls_of_a_host_that_waits) {
  Plan plan;
  LayerWork layer;
  OpWork op;
  op.bytesRead = 1;
  layer.add(op);
  Machine machine(cluster(300e9), plan);
  machine.device.hostLaunch = 10e-6;
  machine.device.hostCall = 100e-6;
  EXPECT_DOUBLE_EQ(priceLayer(layer, machine).forward.kernels.host, 10e-6);
  layer.hostWaits = true;
  EXPECT_DOUBLE_EQ(priceLayer(layer, machine).forward.kernels.host, 100e-6);
  // A plan's own time applies to both.
  plan.hostLaunchMicros = 20;
  EXPECT_DOUBLE_EQ(
      priceLayer(layer, Machine(cluster(300e9), plan)).forward.kernels.host,
      20e-6);
}

TEST(StepTime, causes_sum_to_the_total) {
  Plan l = pipelined(4, 8);
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
  Plan l = pipelined(1, 1);
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
  Plan l = pipelined(4, 8);
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
  Plan l = pipelined(4, 8);
  l.schedule = ScheduleKind::Interleaved;
  l.vpp = 4;
  StepTime four = price(l, fast);
  EXPECT_NEAR(four.bubble / four.compute, 3.0 / 8 / 4, 0.02);
  EXPECT_NEAR(four.compute, one.compute, 1e-9);
  EXPECT_EQ(price(pipelined(1, 8)).bubble, 0);
}

TEST(StepTime, zero_cuts_the_optimizer) {
  Plan l;
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
  Plan l;
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
  Plan l;
  l.precision = Precision::BF16;
  StepTime step = price(l);
  EXPECT_EQ(step.fixed, 0);
  l.stepFloorMicros = 250;
  EXPECT_NEAR(price(l).total - step.total, 250e-6, 1e-12);
}

TEST(StepTime, the_library_part_of_a_collective_is_the_same_on_slow_hosts) {
  // A kernel takes 58 us; tp adds a collective's own 13 us to each launch.
  LayerWork layer;
  layer.add(weightMatmul(64, 64, 64));
  CommWork sum;
  sum.bytes = 1024;
  sum.axes = {"tp"};
  layer.add(sum);
  Plan l;
  l.tp = 2;
  for (double micros : {8.0, 58.0}) {
    l.hostLaunchMicros = micros;
    LayerTime time = priceLayer(layer, Machine(cluster(300e9), l));
    EXPECT_NEAR(time.forward.kernels.host, (2 * micros + 13) * 1e-6, 1e-12);
  }
}

TEST(StepTime, recomputation_costs_a_forward) {
  Plan l;
  l.precision = Precision::BF16;
  llvm::cantFail(l.setGlobalBatch(4));
  StepTime none = price(l);
  l.recompute = Recompute::Full;
  EXPECT_NEAR(price(l).compute / none.compute, 4.0 / 3, 0.02);
}

/// A block of two matmuls with a collective of tp between them, priced.
static LayerTime priceBetween(CollectiveKind kind, bool overlap, int64_t first,
                              int64_t second) {
  Plan l;
  l.precision = Precision::BF16;
  l.tp = 2;
  l.overlapTp = overlap;
  ModelWork work;
  work.kinds.resize(1);
  LayerWork &layer = work.kinds[0];
  layer.name = "block";
  layer.add(weightMatmul(4096, first, 4096));
  CommWork comm;
  comm.kind = kind;
  comm.axes = {"tp"};
  comm.bytes = 50e6;
  layer.add(comm);
  layer.add(weightMatmul(4096, second, 4096));
  buildTrainingWork(work, l);
  return priceLayer(layer, Machine(cluster(300e9), l));
}

/// Gathers and scatters overlap with matmuls; all-reduces do not.
TEST(StepTime, overlap_hides_collectives_of_tp) {
  auto seconds = [](CollectiveKind kind, bool overlap) {
    return priceBetween(kind, overlap, 4096, 4096)
        .forward.seconds(DeviceModel());
  };
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter})
    EXPECT_LT(seconds(kind, true), 0.99 * seconds(kind, false));
  EXPECT_EQ(seconds(CollectiveKind::AllReduce, true),
            seconds(CollectiveKind::AllReduce, false));
}

/// A gather overlaps with the matmul that reads it, a scatter with the one that
/// makes it, or, for a gradient, with the parameter's gradient matmul. A
/// collective longer than that matmul is exposed for the rest, however long the
/// others are.
TEST(StepTime, collectives_of_tp_hide_beside_one_matmul) {
  // The collective takes as long as some 700 columns.
  constexpr int64_t kFew = 64, kMany = 4096;
  auto check = [](CollectiveKind kind, bool beforeIsFew, bool there,
                  bool back) {
    LayerTime time = priceBetween(kind, true, beforeIsFew ? kFew : kMany,
                                  beforeIsFew ? kMany : kFew);
    EXPECT_EQ(time.forward.unhidden > 0, there);
    EXPECT_EQ(time.backwardInput.unhidden > 0, back);
    EXPECT_GT(time.forward.besideSeconds(), time.forward.unhidden);
  };
  check(CollectiveKind::AllGather, true, false, false);
  check(CollectiveKind::AllGather, false, true, true);
  check(CollectiveKind::ReduceScatter, true, true, true);
  check(CollectiveKind::ReduceScatter, false, false, false);
}

TEST(StepTime, overlap_hides_gradients) {
  Plan l;
  l.precision = Precision::BF16;
  l.dp = 16;
  llvm::cantFail(l.setGlobalBatch(64));
  StepTime hidden = price(l);
  l.overlap = false;
  EXPECT_GT(price(l).gradComm, 2 * hidden.gradComm);
}

TEST(StepTime, zero_2_scatters_each_micro_batch) {
  Plan l;
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
  Plan l;
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
  Plan l = pipelined(4, 16);
  auto priced = [&](double slowdown, bool overlap) {
    l.overlap = overlap;
    Machine machine(cluster(300e9), l);
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

/// Without PXN, groups with several but not all of a node's devices leave it
/// through the processors.
TEST(StepTime, some_devices_of_a_node_share_a_quarter_of_its_cards) {
  auto ratio = [](int64_t dp, int64_t tp, CollectiveKind kind) {
    Plan l;
    l.dp = dp;
    l.tp = tp;
    double seconds[2];
    static const std::string data[] = {"dp"};
    for (bool pxn : {false, true}) {
      l.pxn = pxn;
      seconds[pxn] = Machine(cluster(300e9), l).seconds(kind, 1e10, data);
    }
    return seconds[0] / seconds[1];
  };
  using Kind = CollectiveKind;
  EXPECT_NEAR(ratio(32, 2, Kind::AllReduce), 4, 0.01);
  EXPECT_NEAR(ratio(16, 4, Kind::ReduceScatter), 4, 0.01);
  EXPECT_EQ(ratio(64, 1, Kind::AllReduce), 1);
  EXPECT_EQ(ratio(8, 8, Kind::AllReduce), 1);
  EXPECT_EQ(ratio(4, 2, Kind::AllReduce), 1);
  EXPECT_EQ(ratio(32, 2, Kind::AllToAll), 1);
}

/// Transfers to another node use two channels; over NVLink they use as many as
/// a collective.
TEST(StepTime, transfers_to_another_node_slow_kernels_less) {
  auto slowdown = [](int64_t tp) {
    Plan l;
    l.pp = 2;
    l.tp = tp;
    return Machine(cluster(300e9), l).transferSlowdown() /
           DeviceModel().overlapSlowdown;
  };
  EXPECT_EQ(slowdown(4), 1);
  EXPECT_EQ(slowdown(8), Machine::kNetworkTransferShare);
}

/// Over links of one kind, collectives of registered buffers use few
/// multiprocessors; over two kinds, as many as others.
TEST(StepTime, registered_buffers_over_one_kind_of_link) {
  auto slowdown = [](int64_t dp, int64_t tp) {
    Plan l;
    l.dp = dp;
    l.tp = tp;
    static const std::string data[] = {"dp", "cp"};
    double usual = Machine(cluster(300e9), l).dataSlowdown(data);
    EXPECT_EQ(usual, DeviceModel().overlapSlowdown);
    l.registeredBuffers = true;
    return Machine(cluster(300e9), l).dataSlowdown(data) / usual;
  };
  EXPECT_EQ(slowdown(8, 1), Machine::kRegisteredShare);
  EXPECT_EQ(slowdown(4, 8), Machine::kRegisteredShare);
  EXPECT_EQ(slowdown(16, 1), 1);
  // Twelve devices on nodes with eight or four of them.
  EXPECT_EQ(slowdown(12, 1), 1);
}

/// Registered buffers hold gradients, and the parameters that ZeRO-3 gathers.
TEST(StepTime, registered_buffers_hide_better) {
  for (int64_t zero : {1, 3}) {
    Plan l;
    l.dp = 8;
    l.zero = zero;
    l.microBatches = 4;
    ModelWork work = model(l);
    CommWork gather;
    gather.kind = CollectiveKind::AllGather;
    gather.bytes = 2.0 * 4096 * 4096;
    gather.axes = {"dp"};
    gather.ranks = 8;
    gather.parameter = gather.overlappable = true;
    if (zero == 3)
      work.kinds[1].add(gather);
    auto priced = [&](bool registered) {
      l.registeredBuffers = registered;
      Machine machine(cluster(300e9), l);
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
  Plan l = pipelined(4, 16);
  l.tp = 2;
  auto priced = [&](const char *schedule, bool comm) {
    l.schedule = *parseName<ScheduleKind>(schedule);
    ModelWork work = model(l);
    if (comm) {
      CommWork all;
      all.kind = CollectiveKind::AllToAll;
      all.axes = {"tp"};
      all.bytes = 0.3e9;
      all.pass = Pass::Forward;
      work.kinds[1].add(all);
      all.pass = Pass::BackwardInput;
      work.kinds[1].add(all);
    }
    Machine machine(cluster(300e9), l);
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
  Plan l;
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
  Plan l;
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
  Plan l = pipelined(4, 8);
  Machine machine(cluster(300e9), l);
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
  Plan l = pipelined(4, 8);
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
