//===- LayerStylesTest.cpp - Layers that run otherwise than written -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestWork.h"
#include "tessera/Cost/ComputeModel.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::cost;

namespace {

/// Adapters read their matmul's operands and add to its result, and are
/// trained.
TEST(LayerStyles, adapters_pass_over_the_operands_of_their_matmul) {
  auto build = [](int64_t rank, LoraTargets targets, bool scatters) {
    ModelWork work;
    LayerWork &layer = work.kinds.emplace_back();
    layer.name = "block";
    layer.add(weightMatmul(512, 256, 128));
    if (scatters) {
      CommWork comm;
      comm.kind = CollectiveKind::ReduceScatter;
      comm.axes = {PlanAxis::TP};
      comm.ranks = 4;
      layer.add(comm);
    }
    layer.add(weightMatmul(512, 128, 256));
    ExecutedPlan plan;
    plan.precision = Precision::BF16;
    plan.loraRank = rank;
    plan.loraTargets = targets;
    buildTrainingWork(work, plan, plan);
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

TEST(LayerStyles, unfused_attention_computes_the_same_and_saves_scores) {
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

TEST(LayerStyles, a_sharded_context_gathers_keys_and_values) {
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
TEST(LayerStyles, attention_within_documents) {
  auto flops = [](AttentionKind kind, int64_t documentTokens) {
    ExecutedPlan l;
    l.seq = 1024;
    l.documentTokens = documentTokens;
    l.attention = kind;
    EXPECT_EQ(llvm::toString(l.check()), "");
    ModelWork work;
    work.kinds.resize(1);
    work.kinds[0].add(attention(16, 1024, 64));
    buildTrainingWork(work, l, l);
    return work.kinds[0].flops(Pass::Forward);
  };
  double whole = flops(AttentionKind::Flash, 0);
  EXPECT_EQ(flops(AttentionKind::Flash, 256), whole / 4);
  EXPECT_EQ(flops(AttentionKind::Flash, 1024), whole);
  EXPECT_EQ(flops(AttentionKind::Naive, 256), whole);
}

// A ring overlaps its gather with the attention.
TEST(LayerStyles, a_ring_hides_its_gather) {
  LayerWork layer;
  layer.add(attention(16, 512, 64));
  shardContext(layer, 4, {ContextMethod::Ring, 0});
  ASSERT_EQ(layer.comms.size(), 1u);
  EXPECT_TRUE(layer.comms[0].overlappable);
  EXPECT_EQ(layer.ops[0].matmul, (MatmulDims{16, 512, 2048, 64}));
}

// Four devices have all queries and keys of a quarter of the heads. Among eight
// devices, those that share heads gather from each other.
TEST(LayerStyles, heads_are_exchanged) {
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
  EXPECT_EQ(both.comms[0].axes, std::vector<PlanAxis>{PlanAxis::CPHeads});
  EXPECT_EQ(both.comms[1].axes, std::vector<PlanAxis>{PlanAxis::CPQueries});
  EXPECT_EQ(both.comms[1].ranks, 2);
  EXPECT_EQ(both.ops[0].matmul, (MatmulDims{4, 2048, 4096, 64}));
}

/// fc, GELU, proj, residual: two matmuls remain, which do the reads and writes
/// of the kernels between them once.
TEST(LayerStyles, epilogues_of_matmuls) {
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

TEST(LayerStyles, norms_op_by_op_pass_over_their_input_in_f32) {
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

TEST(LayerStyles, metrics_compute_the_loss_again) {
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

TEST(LayerStyles, a_loss_kernel_by_kernel_passes_over_f32_logits) {
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
TEST(LayerStyles, a_loss_in_chunks) {
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

TEST(LayerStyles, gathered_parameters_are_copied) {
  LayerWork layer;
  layer.add(weightMatmul(512, 256, 128));
  CommWork gather;
  gather.kind = CollectiveKind::AllGather;
  gather.bytes = 2.0 * 128 * 256;
  gather.axes = {PlanAxis::DP};
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

} // namespace
