//===- ModelPlanTest.cpp - From a model and a plan to work ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/ModelPlan.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::cost;

namespace {

/// GPT-3's block: hidden 12288, 96 heads.
ModelConfig gpt() {
  ModelConfig config = getFamilyDefaults("gpt2");
  config.name = "gpt";
  config.vocab = 51200;
  config.hidden = 12288;
  config.layers = 96;
  config.heads = config.kvHeads = 96;
  config.headDim = 128;
  config.ffn = 4 * 12288;
  config.maxPositions = 2048;
  return config;
}

ModelConfig llama() {
  ModelConfig config = getFamilyDefaults("llama");
  config.name = "llama";
  config.vocab = 128256;
  config.hidden = 4096;
  config.layers = 32;
  config.heads = 32;
  config.kvHeads = 8;
  config.headDim = 128;
  config.ffn = 14336;
  config.maxPositions = 8192;
  return config;
}

cost::ExecutedPlan plan(int64_t tp, int64_t dp = 1) {
  cost::ExecutedPlan l;
  l.precision = Precision::BF16;
  l.tp = tp;
  l.dp = dp;
  llvm::cantFail(l.setGlobalBatch(dp));
  l.seq = 2048;
  return l;
}

ModelWork read(const ModelConfig &config, const cost::ExecutedPlan &l) {
  WorkReader reader;
  llvm::Expected<ModelWork> work = reader.read(config, l);
  EXPECT_TRUE(bool(work)) << llvm::toString(work.takeError());
  return work ? *work : ModelWork();
}

const LayerWork &block(const ModelWork &work) { return work.kinds[1]; }

/// The collectives of a pass as "kind axis".
std::vector<std::string> comms(const LayerWork &layer, Pass pass) {
  std::vector<std::string> list;
  for (const CommWork &comm : layer.comms)
    if (comm.pass == pass)
      list.push_back(stringifyCollective(comm.kind).str() + " " +
                     stringify(comm.axes.front()));
  return list;
}

double elements(const OpWork &op) {
  return double(op.matmul.batch) * op.matmul.m * op.matmul.n * op.matmul.k;
}

TEST(ModelPlan, layers_and_parameters) {
  ModelWork work = read(llama(), plan(1));
  ASSERT_EQ(work.kinds.size(), 3u);
  EXPECT_EQ(work.kinds[0].name, "embedding");
  EXPECT_EQ(work.kinds[1].name, "block");
  EXPECT_EQ(work.kinds[2].name, "head");
  EXPECT_EQ(work.numLayers(), 34);
  double sum = 0;
  for (const ModelWork::Run &run : work.layers)
    sum += run.count * work.kinds[run.kind].parameterElements();
  EXPECT_EQ(sum, countParameters(llama()));
  EXPECT_EQ(sum, work.modelParameters);
  EXPECT_EQ(block(work).outputBytes, 2.0 * 2048 * 4096);
}

/// Bytes of one layer's saved tensors per token.
double savedOfToken(cost::ExecutedPlan l) {
  return block(read(llama(), l)).savedBytes() / 2048;
}

/// Saved tensors for hidden h, KV width k, MLP f: both norms keep input and
/// result; attention keeps q, k, v, its result and a statistic of each head.
/// The MLP keeps gate, up and their product, and, op by op, the activated gate.
TEST(ModelPlan, what_a_layer_keeps) {
  double h = 4096, k = 1024, f = 14336;
  cost::ExecutedPlan l = plan(1);
  double fused = 2 * (6 * h + 2 * k + 3 * f);
  EXPECT_NEAR(savedOfToken(l), fused, 0.01 * fused);
  double before = savedOfToken(l);
  l.eager = true;
  EXPECT_DOUBLE_EQ(savedOfToken(l) - before, 2 * f);
  // A norm's result is sharded over tp; the matmuls that gather it keep all of
  // it.
  l = plan(4);
  l.sp = true;
  before = savedOfToken(l);
  EXPECT_NEAR(before, fused / 4, 0.01 * fused);
  l.keepGathered = true;
  EXPECT_DOUBLE_EQ(savedOfToken(l) - before, 2 * 2 * h * (1 - 1 / 4.0));
}

/// Matmuls of a layer in order: q, k, v, output, gate, up, down.
TEST(ModelPlan, every_second_matmul_is_done_again) {
  cost::ExecutedPlan l = plan(1);
  l.recompute = Recompute::Matmuls;
  double h = 4096, k = 1024, f = 14336, tokens = 2048;
  auto keptOfToken = [&](bool eager) {
    cost::ExecutedPlan plan = l;
    plan.eager = eager;
    double kept = 0;
    ModelWork work = read(llama(), plan);
    for (const SavedTensor &tensor : block(work).keptResults)
      kept += tensor.bytes / tokens;
    return kept;
  };
  // q, v, attention and its statistics, gate; op by op also down, which no
  // gradient needs.
  double compiled = 2 * (h + k + h + f);
  EXPECT_NEAR(keptOfToken(false), compiled, 0.01 * compiled);
  EXPECT_DOUBLE_EQ(keptOfToken(true) - keptOfToken(false), 2 * h);
  ModelWork work = read(llama(), l);
  double flops = 0;
  for (const OpWork &op : block(work).ops)
    if (op.pass == Pass::Recompute) {
      EXPECT_NE(op.kind, OpClass::Attention);
      flops += op.kind == OpClass::Matmul ? op.flops : 0;
    }
  EXPECT_DOUBLE_EQ(flops, 2 * tokens * (h * k + h * h + h * f));
}

TEST(ModelPlan, matmuls_of_one_operand_are_one) {
  ModelWork work = read(llama(), plan(1));
  std::vector<MatmulDims> matmuls;
  for (const OpWork &op : block(work).ops)
    if (op.kind == OpClass::Matmul && op.pass == Pass::Forward)
      matmuls.push_back(op.matmul);
  ASSERT_EQ(matmuls.size(), 4u);
  EXPECT_EQ(matmuls[0], (MatmulDims{1, 2048, 4096 + 2 * 1024, 4096}));
  EXPECT_EQ(matmuls[1], (MatmulDims{1, 2048, 4096, 4096}));
  EXPECT_EQ(matmuls[2], (MatmulDims{1, 2048, 2 * 14336, 4096}));
  EXPECT_EQ(matmuls[3], (MatmulDims{1, 2048, 4096, 14336}));
}

TEST(ModelPlan, tensor_parallel_work_and_collectives) {
  ModelWork one = read(llama(), plan(1)), four = read(llama(), plan(4));
  double whole = 0, part = 0;
  for (const OpWork &op : block(one).ops)
    whole += op.kind == OpClass::Matmul ? elements(op) : 0;
  for (const OpWork &op : block(four).ops)
    part += op.kind == OpClass::Matmul ? elements(op) : 0;
  EXPECT_EQ(whole, 4 * part);
  using List = std::vector<std::string>;
  EXPECT_EQ(comms(block(one), Pass::Forward), List());
  EXPECT_EQ(comms(block(four), Pass::Forward),
            (List{"all_reduce tp", "all_reduce tp"}));
  EXPECT_EQ(comms(block(four), Pass::BackwardInput),
            (List{"all_reduce tp", "all_reduce tp"}));
  cost::ExecutedPlan l = plan(4);
  l.sp = true;
  EXPECT_EQ(comms(block(read(llama(), l)), Pass::Forward),
            (List{"all_gather tp", "reduce_scatter tp", "all_gather tp",
                  "reduce_scatter tp"}));
}

TEST(ModelPlan, fully_sharded_parameters_are_gathered_once_a_layer) {
  cost::ExecutedPlan l = plan(1, 8);
  l.zero = 3;
  const ModelWork work = read(llama(), l);
  using List = std::vector<std::string>;
  EXPECT_EQ(comms(block(work), Pass::Forward), (List{"all_gather dp"}));
  EXPECT_EQ(comms(block(work), Pass::BackwardInput),
            (List{"all_gather dp", "reduce_scatter dp"}));
  const CommWork &gather = block(work).comms.front();
  EXPECT_TRUE(gather.overlappable);
  EXPECT_EQ(gather.ranks, 8);
  EXPECT_EQ(gather.bytes, 2 * block(work).parameterElements());
}

/// Saved bytes of a block over s b h, as in Korthikanti et al. 2022, table 2;
/// without the core of attention if that is recomputed.
double savedShare(int64_t tp, bool sp, bool withCore = true) {
  cost::ExecutedPlan l = plan(tp);
  l.sp = sp;
  l.attention = AttentionKind::Naive;
  l.dropout = true;
  double sum = 0;
  for (const SavedTensor &tensor : block(read(gpt(), l)).saved)
    sum += withCore || !tensor.attentionCore ? tensor.bytes : 0;
  return sum / (2048.0 * 12288);
}

TEST(ModelPlan, saved_activations_follow_korthikanti) {
  const double scores = 5.0 * 96 * 2048 / 12288;
  EXPECT_NEAR(savedShare(1, false) / (34 + scores), 1, 0.02);
  EXPECT_NEAR(savedShare(8, false) / (10 + 24.0 / 8 + scores / 8), 1, 0.02);
  EXPECT_NEAR(savedShare(8, true) / (34.0 / 8 + scores / 8), 1, 0.02);
  EXPECT_NEAR(savedShare(8, true, false) / (34.0 / 8), 1, 0.02);
  // Full recomputation keeps only the input of a block.
  EXPECT_EQ(block(read(gpt(), plan(1))).outputBytes, 2 * 2048.0 * 12288);
}

TEST(ModelPlan, context_parallel_halves_the_rows_and_gathers_keys) {
  cost::ExecutedPlan l = plan(1);
  l.cp = 2;
  const ModelWork work = read(llama(), l);
  using List = std::vector<std::string>;
  EXPECT_EQ(comms(block(work), Pass::Forward), (List{"all_gather cp"}));
  for (const OpWork &op : block(work).ops)
    if (op.kind == OpClass::Attention)
      EXPECT_EQ(op.matmul, (MatmulDims{32, 1024, 2048, 128}));
}

TEST(ModelPlan, layouts_that_a_layer_does_not_see_share_its_graph) {
  WorkReader reader;
  cost::ExecutedPlan l = plan(2);
  ASSERT_TRUE(bool(reader.read(llama(), l)));
  l.pp = 4;
  l.dp = 16;
  llvm::cantFail(l.setGlobalBatch(64));
  l.zero = 1;
  ASSERT_TRUE(bool(reader.read(llama(), l)));
  EXPECT_EQ(reader.numGraphs(), 1u);
  l.sp = true;
  ASSERT_TRUE(bool(reader.read(llama(), l)));
  EXPECT_EQ(reader.numGraphs(), 2u);
}

TEST(ModelPlan, model_flops_follow_the_usual_count) {
  // 72 l h^2 (1 + s / 6h + V / 12lh) per token, the formula of Narayanan et al.
  // without recomputation: 175 billion parameters at 2048 tokens.
  double l = 96, h = 12288, s = 2048, v = 51200;
  double expected = 72 * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
  EXPECT_NEAR(modelFlopsPerToken(gpt(), 2048) / expected, 1, 1e-12);
}

TEST(ModelPlan, model_flops_do_not_count_the_input_embedding) {
  ModelConfig config = llama();
  ASSERT_FALSE(config.tiedHead);
  double table = double(config.vocab) * double(config.hidden);
  double norms = (2.0 * config.layers + 1) * double(config.hidden);
  EXPECT_EQ(modelFlopsPerToken(config, 4096),
            6 * (double(countParameters(config)) - table - norms) +
                12.0 * config.layers * config.hidden * 4096);
  // A tied table is the head's and is counted once.
  config.tiedHead = true;
  EXPECT_EQ(modelFlopsPerToken(config, 4096),
            6 * (double(countParameters(config)) - norms) +
                12.0 * config.layers * config.hidden * 4096);
}

/// FLOPs and bytes by kind over all passes of some layers.
struct Totals {
  double matmuls = 0, attention = 0, passes = 0;
  /// Bytes of large collectives over tp.
  double tensorComm = 0;

  void add(const LayerWork &layer) {
    for (const OpWork &op : layer.ops) {
      if (op.kind == OpClass::Matmul)
        matmuls += op.flops;
      else if (op.kind == OpClass::Attention)
        attention += op.flops;
      else if (op.kind != OpClass::Embedding)
        passes += op.bytesRead + op.bytesWritten;
    }
    for (const CommWork &comm : layer.comms)
      if (comm.bytes > 1e6 && comm.isOver(PlanAxis::TP))
        tensorComm += comm.bytes;
  }
};

/// Compares the derived step of a block with the part of the compiled training
/// step that a second layer adds.
void compareWithTrainingStep(ModelConfig config, const cost::ExecutedPlan &l) {
  WorkReader reader;
  llvm::Expected<ModelWork> derived = reader.read(config, l);
  ASSERT_TRUE(bool(derived)) << llvm::toString(derived.takeError());
  Totals mine, theirs[2];
  mine.add(block(*derived));
  for (int layers : {1, 2}) {
    config.layers = layers;
    llvm::Expected<LayerWork> step = reader.readStep(config, l);
    ASSERT_TRUE(bool(step)) << llvm::toString(step.takeError());
    theirs[layers - 1].add(*step);
  }
  EXPECT_GT(mine.matmuls, 0);
  EXPECT_DOUBLE_EQ(mine.matmuls, theirs[1].matmuls - theirs[0].matmuls);
  EXPECT_DOUBLE_EQ(mine.attention, theirs[1].attention - theirs[0].attention);
  EXPECT_DOUBLE_EQ(mine.tensorComm,
                   theirs[1].tensorComm - theirs[0].tensorComm);
  // Some compiled kernels write tensors that others read again (the activated
  // gate, biased matmuls).
  double passes[2];
  for (int layers : {1, 2}) {
    config.layers = layers;
    llvm::Expected<double> bytes = reader.readKernelBytes(config, l);
    ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
    passes[layers - 1] = *bytes;
  }
  EXPECT_NEAR(mine.passes / (passes[1] - passes[0]), 0.9, 0.1);
}

TEST(ModelPlan, the_derived_backward_is_that_of_the_training_step) {
  for (const ModelConfig &config : {llama(), gpt()})
    for (int64_t tp : {1, 4}) {
      SCOPED_TRACE(config.name + " tp " + std::to_string(tp));
      cost::ExecutedPlan l = plan(tp);
      l.fusedLoss = true;
      compareWithTrainingStep(config, l);
    }
}

/// Programs keep the gathered activations of sp; otherwise they are gathered
/// again.
TEST(ModelPlan, gathered_activations_are_kept_or_gathered_again) {
  for (ModelConfig config : {llama(), gpt()}) {
    SCOPED_TRACE(config.name);
    cost::ExecutedPlan l = plan(4);
    l.fusedLoss = l.sp = true;
    Totals kept, again, theirs[2];
    WorkReader reader;
    for (bool keep : {true, false}) {
      l.keepGathered = keep;
      llvm::Expected<ModelWork> derived = reader.read(config, l);
      ASSERT_TRUE(bool(derived)) << llvm::toString(derived.takeError());
      (keep ? kept : again).add(block(*derived));
    }
    for (int layers : {1, 2}) {
      config.layers = layers;
      llvm::Expected<LayerWork> step = reader.readStep(config, l);
      ASSERT_TRUE(bool(step)) << llvm::toString(step.takeError());
      theirs[layers - 1].add(*step);
    }
    EXPECT_DOUBLE_EQ(kept.tensorComm,
                     theirs[1].tensorComm - theirs[0].tensorComm);
    // Two gathers and two scatters, each in both passes; two more gathers.
    EXPECT_DOUBLE_EQ(again.tensorComm, kept.tensorComm * 10 / 8);
  }
}

/// The work of larger micro-batches follows from that for one and two
/// sequences.
TEST(WorkReader, layers_are_affine_in_the_micro_batch) {
  WorkReader derived, built(/*scales=*/false);
  cost::ExecutedPlan wide = plan(4), sharded = plan(2, 4);
  wide.sp = true;
  sharded.zero = 3;
  for (const ModelConfig &config : {llama(), gpt()})
    for (cost::ExecutedPlan l : {plan(1), plan(8), wide, sharded})
      for (int64_t size : {3, 8}) {
        l.microBatch = size;
        auto a = derived.read(config, l), b = built.read(config, l);
        ASSERT_TRUE(bool(a) && bool(b));
        ASSERT_EQ(a->kinds.size(), b->kinds.size());
        for (size_t i = 0; i < a->kinds.size(); ++i) {
          const LayerWork &x = a->kinds[i], &y = b->kinds[i];
          SCOPED_TRACE(config.name + " " + l.summary() + " " + x.name);
          ASSERT_EQ(x.ops.size(), y.ops.size());
          for (size_t j = 0; j < x.ops.size(); ++j) {
            EXPECT_EQ(x.ops[j].flops, y.ops[j].flops) << x.ops[j].name;
            EXPECT_EQ(x.ops[j].bytesRead, y.ops[j].bytesRead);
            EXPECT_EQ(x.ops[j].bytesWritten, y.ops[j].bytesWritten);
            EXPECT_EQ(x.ops[j].matmul, y.ops[j].matmul);
            EXPECT_EQ(x.ops[j].parameterSum, y.ops[j].parameterSum);
          }
          ASSERT_EQ(x.comms.size(), y.comms.size());
          for (size_t j = 0; j < x.comms.size(); ++j)
            EXPECT_EQ(x.comms[j].bytes, y.comms[j].bytes);
          EXPECT_EQ(x.savedBytes(), y.savedBytes());
          EXPECT_EQ(x.parameterElements(), y.parameterElements());
          EXPECT_EQ(x.workspaceBytes, y.workspaceBytes);
          EXPECT_EQ(x.outputBytes, y.outputBytes);
        }
      }
  EXPECT_EQ(derived.numGraphs(), built.numGraphs());
}

/// A vocabulary that is not a multiple of 64 is padded on one device too.
TEST(ModelPlan, one_device_pads_sizes) {
  ModelConfig config = llama();
  config.vocab = 50257;
  cost::ExecutedPlan l;
  l.precision = Precision::BF16;
  l.seq = 1024;
  auto columns = [&](int64_t multiple) {
    l.padMultiple = multiple;
    int64_t most = 0;
    ModelWork work = read(config, l);
    for (const LayerWork &layer : work.kinds)
      for (const OpWork &op : layer.ops)
        if (op.kind == OpClass::Matmul && op.pass == Pass::Forward)
          most = std::max(most, op.matmul.n);
    return most;
  };
  EXPECT_EQ(columns(0), 50257);
  EXPECT_EQ(columns(64), 50304);
}

} // namespace
