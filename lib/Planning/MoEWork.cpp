//===- MoEWork.cpp - The work of a mixture of experts ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the forward records of each kind of layer, one op after the other,
// with the shapes of one device. lib/Cost derives the training step.
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/MoEWork.h"
#include "tessera/Cost/TrainingWork.h"
#include "tessera/Support/Errors.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

using namespace tessera;
using namespace tessera::cost;

namespace {

/// Appends the records of a layer. Activations have `width` bytes per element.
class LayerBuilder {
public:
  LayerBuilder(const MoEConfig &config, const cost::ExecutedPlan &plan,
               const MoEOptions &options)
      : config(config), plan(plan), options(options),
        width(plan.precision == Precision::F32 ? 4 : 2),
        type(plan.precision == Precision::F32 ? DType::F32 : DType::BF16),
        tokens(plan.microBatch * (plan.seq / plan.cp)),
        rows(plan.sp ? tokens / plan.tp : tokens) {}

  LayerWork embedding();
  LayerWork denseBlock();
  LayerWork sparseBlock();
  /// A block that predicts a later token joins its input with an embedding.
  LayerWork joinedBlock();
  LayerWork head(bool hasOwnTable);

private:
  void begin(const char *name);
  LayerWork finish();
  void gatherParameters(bool experts);
  void matmul(const char *name, int64_t batch, int64_t m, int64_t n, int64_t k);
  void pass(OpClass kind, const char *name, double read, double written,
            bool linear = false);
  /// Saves tensors that the backward reads. With an 8-bit recipe, inputs of
  /// matmuls, and of the pass before them, are kept in 8 bits.
  void norm(const char *name, double elements);
  void save(const char *name, double elements, bool isNarrow = false);
  /// The same for tensors that selective recomputation computes again: the
  /// results of norms and of SwiGLU, and latent attention's up-projections
  /// (DeepSeek-V3, 2024, section 3.2.3). `again` marks the op added last as one
  /// of these.
  void saveUnlessRecomputed(const char *name, double elements);
  void again() { layer.ops.back().attentionCore = true; }
  /// Makes the host launch the ops from `first` on as one graph.
  void graph(size_t first) {
    for (OpWork &op : llvm::drop_begin(layer.ops, first))
      op.isGraphed = true;
  }
  void parameter(const char *name, double elements, bool isExpert = false);
  /// Adds the norm of the rows on this device. Over tp, the rows are gathered
  /// after it and scattered after the last matmul.
  void enter(const char *name, bool gathers = true);
  void leave(bool reduces = true);
  void attention();
  void latentProjections();
  void plainProjections();
  void mlp(const char *name, int64_t ffn);
  void experts();
  void issueParts();
  void exchange(const char *name, double bytes);

  const MoEConfig &config;
  const cost::ExecutedPlan &plan;
  const MoEOptions &options;
  double width;
  DType type;
  /// The tokens of this device's context, and the ones whose residual it holds.
  int64_t tokens, rows;
  LayerWork layer;
};

void LayerBuilder::begin(const char *name) {
  layer = LayerWork();
  layer.name = name;
}

LayerWork LayerBuilder::finish() {
  layer.outputBytes = width * double(rows) * config.hidden;
  if (plan.zero == 3) {
    gatherParameters(/*experts=*/false);
    gatherParameters(/*experts=*/true);
  }
  return std::move(layer);
}

/// Adds the only gather of the layer's parameters from the devices that share
/// them. It overlaps with the layer's kernels.
void LayerBuilder::gatherParameters(bool experts) {
  CommWork gather;
  gather.kind = CollectiveKind::AllGather;
  gather.name = "parameters";
  if (experts)
    gather.axes = {PlanAxis::EDP};
  else
    gather.axes = {PlanAxis::DP, PlanAxis::CP};
  gather.ranks = plan.dp * plan.cp / (experts ? plan.expertRanks() : 1);
  gather.parameter = gather.overlappable = true;
  for (const ParameterWork &parameter : layer.parameters)
    if ((parameter.expertRanks > 1) == experts)
      gather.bytes += width * parameter.elements;
  if (gather.bytes > 0 && gather.ranks > 1)
    layer.add(gather);
}

void LayerBuilder::matmul(const char *name, int64_t batch, int64_t m, int64_t n,
                          int64_t k) {
  OpWork op;
  op.kind = OpClass::Matmul;
  op.name = name;
  op.dtype = type;
  op.weight = true;
  op.matmul = {batch, m, n, k};
  op.flops = 2.0 * batch * double(m) * double(n) * double(k);
  op.bytesRead = width * batch * (double(m) * k + double(k) * n);
  op.bytesWritten = width * batch * double(m) * n;
  layer.add(op);
}

void LayerBuilder::pass(OpClass kind, const char *name, double read,
                        double written, bool linear) {
  OpWork op;
  op.kind = kind;
  op.name = name;
  op.dtype = type;
  op.bytesRead = width * read;
  op.bytesWritten = width * written;
  op.linear = linear;
  layer.add(op);
}

void LayerBuilder::norm(const char *name, double elements) {
  pass(OpClass::RowReduction, name, elements, elements);
  // The gradient of its scale reads its input and the gradient of its result.
  layer.ops.back().parameterSum = 2 * width * elements;
  again();
}

void LayerBuilder::save(const char *name, double elements, bool isNarrow) {
  double bytes = isNarrow && plan.precision == Precision::FP8 ? 1 : width;
  layer.saved.push_back({name, bytes * elements, false});
}

void LayerBuilder::saveUnlessRecomputed(const char *name, double elements) {
  layer.saved.push_back({name, width * elements, true});
}

void LayerBuilder::parameter(const char *name, double elements, bool isExpert) {
  layer.parameters.push_back(
      {name, elements, isExpert ? plan.expertRanks() : 1});
}

void LayerBuilder::enter(const char *name, bool gathers) {
  double size = double(rows) * config.hidden;
  norm(name, size);
  save("norm input", size);
  parameter(name, config.hidden);
  if (plan.tp == 1 || !plan.sp || !gathers)
    return;
  CommWork gather;
  gather.kind = CollectiveKind::AllGather;
  gather.bytes = width * double(tokens) * config.hidden;
  gather.axes = {PlanAxis::TP};
  gather.ranks = plan.tp;
  gather.name = name;
  layer.add(gather);
}

void LayerBuilder::leave(bool reduces) {
  if (plan.tp > 1 && reduces) {
    CommWork reduce;
    reduce.kind =
        plan.sp ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce;
    reduce.bytes = width * double(tokens) * config.hidden;
    reduce.axes = {PlanAxis::TP};
    reduce.ranks = plan.tp;
    layer.add(reduce);
  }
  double size = double(rows) * config.hidden;
  pass(OpClass::Elementwise, "residual", 2 * size, size, /*linear=*/true);
}

/// Queries and keys come from small latent vectors, which are replicated over
/// tp; only heads are split (DeepSeek-V2, 2024, section 2.1).
void LayerBuilder::latentProjections() {
  int64_t heads = config.heads / plan.tp, h = config.hidden;
  double t = double(tokens);
  int64_t queries = heads * config.keyDim();
  save("attention input", t * h, /*isNarrow=*/true);
  if (config.queryRank) {
    matmul("q_down", 1, tokens, config.queryRank, h);
    norm("q_norm", t * config.queryRank);
    matmul("q_up", 1, tokens, queries, config.queryRank);
    again();
    save("latent query", 2 * t * config.queryRank);
    parameter("q_down", double(h) * config.queryRank + config.queryRank);
    parameter("q_up", double(config.queryRank) * queries);
  } else {
    matmul("q", 1, tokens, queries, h);
    parameter("q", double(h) * queries);
  }
  matmul("kv_down", 1, tokens, config.kvRank + config.ropeDim, h);
  norm("kv_norm", t * config.kvRank);
  int64_t up = heads * (config.nopeDim + config.valueDim);
  matmul("kv_up", 1, tokens, up, config.kvRank);
  again();
  layer.ops.back().latentBytes = width * t * (config.kvRank + config.ropeDim);
  save("latent keys and values", 2 * t * config.kvRank);
  parameter("kv_down",
            double(h) * (config.kvRank + config.ropeDim) + config.kvRank);
  parameter("kv_up", double(config.kvRank) * up);
}

void LayerBuilder::plainProjections() {
  int64_t heads = config.heads / plan.tp;
  int64_t kvHeads = std::max<int64_t>(1, config.kvHeads / plan.tp);
  int64_t out = (heads + 2 * kvHeads) * config.headDim;
  save("attention input", double(tokens) * config.hidden, /*isNarrow=*/true);
  matmul("qkv", 1, tokens, out, config.hidden);
  parameter("qkv", double(config.hidden) * out);
}

void LayerBuilder::attention() {
  enter("attention norm");
  int64_t heads = config.heads / plan.tp;
  int64_t keyDim = config.keyDim();
  int64_t valueDim = config.isLatent() ? config.valueDim : config.headDim;
  int64_t kvHeads = config.isLatent()
                        ? heads
                        : std::max<int64_t>(1, config.kvHeads / plan.tp);
  if (config.isLatent())
    latentProjections();
  else
    plainProjections();
  double t = double(tokens);
  double q = t * heads * keyDim, k = t * kvHeads * keyDim,
         v = t * kvHeads * valueDim, out = t * heads * valueDim;
  if (config.headNorms) {
    norm("head norms", q + k);
    save("queries and keys before their norms", q + k);
    parameter("head norms", 2.0 * config.headDim);
  }
  pass(OpClass::Elementwise, "rope", q + k, q + k);
  if (config.isLatent())
    again();
  OpWork core;
  core.kind = OpClass::Attention;
  core.name = "attention";
  core.dtype = type;
  int64_t seq = plan.seq / plan.cp;
  core.matmul = {plan.microBatch * heads, seq, seq, (keyDim + valueDim) / 2};
  // Half of the scores, by the causal mask.
  core.flops = double(plan.microBatch) * heads * seq * double(seq) *
               double(keyDim + valueDim);
  core.bytesRead = width * (q + k + v);
  core.bytesWritten = width * out;
  core.keyBytes = width * (k + v);
  layer.add(core);
  if (config.isLatent())
    saveUnlessRecomputed("queries, keys and values", q + k + v);
  else
    save("queries, keys and values", q + k + v);
  save("attention output", out);
  matmul("out", 1, tokens, config.hidden, heads * valueDim);
  parameter("out", double(heads) * valueDim * config.hidden);
  leave();
}

/// The matmuls for gate and up, their elementwise product, and the down matmul.
void LayerBuilder::mlp(const char *name, int64_t ffn) {
  int64_t columns = ffn / plan.tp;
  double inner = double(tokens) * columns;
  save("mlp input", double(tokens) * config.hidden, /*isNarrow=*/true);
  matmul(name, 1, tokens, 2 * columns, config.hidden);
  pass(OpClass::Elementwise, "silu", 2 * inner, inner);
  again();
  save("gate and up", 2 * inner, /*isNarrow=*/true);
  matmul(name, 1, tokens, config.hidden, columns);
  saveUnlessRecomputed("mlp inner", inner);
  parameter(name, 3.0 * config.hidden * columns);
}

/// Exchanges tokens among the devices that experts are sharded over. Without sp
/// the devices of tp have the same tokens, and each exchanges the tokens of its
/// own experts.
void LayerBuilder::exchange(const char *name, double bytes) {
  bool isOverTp = !plan.etp && plan.sp && plan.tp > 1;
  int64_t ranks = plan.expertRanks() * (isOverTp ? plan.tp : 1);
  if (ranks == 1)
    return;
  CommWork all;
  all.kind = CollectiveKind::AllToAll;
  all.name = name;
  all.bytes = bytes;
  if (plan.dispatchOnce && config.groupsPerToken == 0) {
    all.copies = config.expertsPerToken;
    if (!plan.etp && !isOverTp)
      all.copies = std::max<int64_t>(1, all.copies / plan.tp);
    all.bytes /= double(all.copies);
  }
  all.overlappable = plan.overlapExperts;
  all.axes = {PlanAxis::EP};
  if (isOverTp)
    all.axes.push_back(PlanAxis::TP);
  all.ranks = ranks;
  layer.add(all);
}

/// Sends each token to the devices of its experts, once per expert or once per
/// device. If it may use only few groups of experts, it is sent once to each of
/// their nodes and forwarded there. With an 8-bit recipe, tokens are sent to
/// experts in 8 bits and back in 16.
void LayerBuilder::experts() {
  double h = config.hidden;
  int64_t copies = config.expertsPerToken;
  size_t first = layer.ops.size();
  // A device sends its share of the tokens to experts over tp.
  double t = double(tokens) * double(plan.expertParts()) / double(plan.tp);
  int64_t routed = plan.etp ? tokens : rows;
  matmul("router", 1, routed, config.experts, config.hidden);
  pass(OpClass::RowReduction, "top-k", double(routed) * config.experts,
       double(routed) * 2 * config.expertsPerToken);
  if (options.graphs != GraphScope::None)
    graph(first);
  parameter("router", h * config.experts);
  save("router", double(routed) * config.experts);

  int64_t sent = copies;
  if (config.groupsPerToken > 0 && plan.ep > 1)
    sent = std::min(copies, config.groupsPerToken);
  double wire = plan.precision == Precision::FP8 ? 1 : width;
  int64_t local = config.experts / plan.ep;
  // A plain all-to-all sends weights separately. Tokens arrive in the order of
  // devices and are sorted by expert, and back.
  bool isPlain =
      plan.ep > 1 && !plan.dispatchOnce && config.groupsPerToken == 0;
  auto sort = [&](const char *name) {
    if (isPlain && local > 1)
      pass(OpClass::Elementwise, name, t * copies * h, t * copies * h, true);
  };
  exchange("dispatch", t * sent * h * wire);
  if (isPlain)
    exchange("weights", t * sent * 4);
  pass(OpClass::Elementwise, "permute", t * copies * h, t * copies * h, true);
  sort("sort");
  double spread =
      options.capacityFactor > 0 ? options.capacityFactor : options.imbalance;
  double rowsOfToken = copies * double(plan.ep) / config.experts * spread;
  // A part of n tokens has its share of rows, minus one row at most.
  if (options.leastTokens > 0)
    rowsOfToken = std::max(0.0, rowsOfToken - 1 / double(options.leastTokens));
  int64_t each = std::max<int64_t>(1, int64_t(t * rowsOfToken));
  int64_t columns = config.expertFfn / plan.expertParts();
  double slots = double(each) * local;
  // Slots are allocated for any number of tokens.
  layer.hostWaits = plan.expertsApart && options.capacityFactor == 0;
  layer.backwardWaits = layer.hostWaits && plan.overlapExperts;
  // Padding an expert's rows to whole blocks of scales takes a copy of them,
  // and one back (TEGroupedMLP of Megatron-Core).
  bool isPadded = (isPlain || options.padsApart) && layer.hostWaits &&
                  hasNarrowMatmuls(plan.precision);
  auto pad = [&](const char *name) {
    if (isPadded)
      pass(OpClass::Elementwise, name, slots * h, slots * h, true);
  };
  pad("pad");
  auto grouped = [&](int64_t n, int64_t k) {
    matmul("experts", local, each, n, k);
    layer.ops.back().isApart = layer.ops.back().isBatched = plan.expertsApart;
    layer.ops.back().kernels = plan.expertsApart ? local : 1;
  };
  save("experts' input", slots * h, /*isNarrow=*/true);
  grouped(2 * columns, config.hidden);
  // Results are weighted here, so that no result is kept for its weight's
  // gradient.
  pass(OpClass::Elementwise, "silu", 2 * slots * columns, slots * columns);
  again();
  save("experts' gate and up", 2 * slots * columns, /*isNarrow=*/true);
  grouped(config.hidden, columns);
  saveUnlessRecomputed("experts' inner", slots * columns);
  parameter("experts", 3.0 * h * double(columns) * local, /*isExpert=*/true);

  pad("unpad");
  sort("sort back");
  exchange("combine", t * sent * h * width);
  pass(OpClass::Elementwise, "combine", t * copies * h, t * h, true);
}

/// A schedule that overlaps the forward pass with the backward pass of another
/// micro-batch issues each part of a layer separately, in both passes:
/// attention with the router, dispatch, experts, combine. Each part is one more
/// call of the framework (TransformerLayerSchedulePlan of Megatron-Core).
void LayerBuilder::issueParts() {
  OpWork part;
  part.name = "part";
  part.linear = true;
  part.kernels = 0;
  part.isBatched = true;
  for (int i = 0; i < 4; ++i)
    layer.add(part);
}

LayerWork LayerBuilder::embedding() {
  begin("embedding");
  double size = double(rows) * config.hidden;
  pass(OpClass::Embedding, "embedding", size, size, true);
  int64_t entries = config.vocab / plan.tp;
  parameter("table", double(entries) * config.hidden);
  return finish();
}

LayerWork LayerBuilder::denseBlock() {
  begin("block");
  attention();
  enter("mlp norm");
  mlp("mlp", config.denseFfn);
  leave();
  return finish();
}

LayerWork LayerBuilder::sparseBlock() {
  begin("block");
  attention();
  if (options.graphs == GraphScope::Attention)
    graph(0);
  // Devices of tp that shard experts need no tokens of each other but for
  // shared experts, and without sp they have terms of all tokens.
  bool isSplit = plan.etp || config.sharedFfn > 0;
  enter("mlp norm", /*gathers=*/isSplit);
  if (config.sharedFfn)
    mlp("shared experts", config.sharedFfn);
  experts();
  leave(/*reduces=*/isSplit || !plan.sp);
  if (layer.backwardWaits)
    issueParts();
  return finish();
}

LayerWork LayerBuilder::joinedBlock() {
  LayerWork block = sparseBlock();
  begin("block");
  layer.hostWaits = block.hostWaits;
  layer.backwardWaits = block.backwardWaits;
  matmul("join", 1, rows, config.hidden, 2 * config.hidden);
  save("join input", 2.0 * double(rows) * config.hidden);
  parameter("join", 2.0 * config.hidden * config.hidden);
  for (const WorkItem &item : block.items) {
    // Its parameters are gathered with the others of this layer.
    if (item.kind == WorkItem::Kind::Op)
      layer.add(block.ops[item.index]);
    else if (!block.comms[item.index].parameter)
      layer.add(block.comms[item.index]);
  }
  layer.saved.insert(layer.saved.end(), block.saved.begin(), block.saved.end());
  layer.parameters.insert(layer.parameters.end(), block.parameters.begin(),
                          block.parameters.end());
  return finish();
}

LayerWork LayerBuilder::head(bool hasOwnTable) {
  begin("head");
  enter("final norm");
  int64_t columns = config.vocab / plan.tp;
  save("head input", double(tokens) * config.hidden, /*isNarrow=*/true);
  matmul("head", 1, tokens, columns, config.hidden);
  if (hasOwnTable)
    parameter("head", double(columns) * config.hidden);
  double logits = double(tokens) * columns;
  pass(OpClass::RowReduction, "loss", logits, tokens);
  save("logits", logits);
  return finish();
}

} // namespace

std::optional<GraphScope> tessera::parseGraphScope(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<GraphScope>>(text)
      .Case("none", GraphScope::None)
      .Case("router", GraphScope::Router)
      .Case("attention", GraphScope::Attention)
      .Default(std::nullopt);
}

llvm::Error tessera::checkMoELayout(const MoEConfig &config,
                                    const cost::ExecutedPlan &plan) {
  int64_t blocks = config.layers - config.denseLayers;
  // tp divides the MLPs that it shards.
  int64_t columns = config.expertFfn;
  if (!plan.etp)
    columns =
        std::gcd(config.sharedFfn, config.denseLayers ? config.denseFfn : 0);
  llvm::Error errors = plan.checkModel(
      config.heads, config.isLatent() ? config.heads : config.kvHeads, columns,
      plan.stageLayers.empty() ? config.layers : blocks,
      /*padsHeads=*/!plan.gradBuffers, config.isLatent());
  if (config.experts % plan.ep)
    addError(errors, llvm::formatv(
                         "ep: expects a divisor of the {0} experts but got {1}",
                         config.experts, plan.ep));
  auto refuse = [&](const char *what) {
    addError(errors,
             llvm::formatv("{0}: expects a model without experts", what));
  };
  if (plan.recompute == Recompute::Matmuls)
    refuse("recompute: matmuls");
  if (plan.eager)
    refuse("eager");
  if (plan.keepGathered)
    refuse("keep-gathered");
  return errors;
}

ModelWork tessera::makeMoEWork(const MoEConfig &config,
                               const cost::ExecutedPlan &plan,
                               const MoEOptions &options) {
  LayerBuilder builder(config, plan, options);
  ModelWork work;
  auto add = [&](LayerWork layer, int64_t count) {
    if (count == 0)
      return;
    work.layers.push_back({work.kinds.size(), double(count)});
    work.kinds.push_back(std::move(layer));
  };
  add(builder.embedding(), 1);
  add(builder.denseBlock(), config.denseLayers);
  add(builder.sparseBlock(), config.layers - config.denseLayers);
  // Extra heads share the model's table.
  add(builder.joinedBlock(), config.extraHeads);
  add(builder.head(false), config.extraHeads);
  add(builder.head(!config.tiedHead), 1);
  work.modelParameters = config.parameters();
  work.modelFlopsPerToken = config.modelFlopsPerToken(plan.seq);
  buildTrainingWork(work, plan, plan.execution());
  return work;
}
