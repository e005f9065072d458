//===- LayerStyles.cpp - Variants of the kernels of a layer -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites the records of a forward pass. Each rewrite builds a new list of
// entries from the old one, in order.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/ComputeModel.h"
#include "tessera/Cost/TrainingWork.h"
#include "llvm/Support/MathExtras.h"
#include <utility>

using namespace tessera::cost;

/// Rebuilds a layer's program: `rewrite(op)` appends the replacement of an op.
template <typename RewriteT>
static void rewriteOps(LayerWork &layer, RewriteT rewrite) {
  LayerWork old = std::move(layer);
  layer = old;
  layer.ops.clear();
  layer.comms.clear();
  layer.items.clear();
  for (const WorkItem &item : old.items) {
    if (item.kind == WorkItem::Kind::Comm)
      layer.add(old.comms[item.index]);
    else
      rewrite(old.ops[item.index]);
  }
}

/// Returns a kernel that passes once over its operands and results.
static OpWork passOver(OpClass kind, const char *name, double read,
                       double written) {
  OpWork op;
  op.kind = kind;
  op.name = name;
  op.bytesRead = read;
  op.bytesWritten = written;
  return op;
}

static OpWork activationMatmul(const char *name, const MatmulDims &dims,
                               DType type) {
  OpWork op = makeMatmulOp(dims, type);
  op.name = name;
  op.attentionCore = true;
  return op;
}

void tessera::cost::unfuseAttention(LayerWork &layer, bool dropout) {
  rewriteOps(layer, [&](const OpWork &op) {
    if (op.kind != OpClass::Attention)
      return layer.add(op);
    const MatmulDims &d = op.matmul;
    double width = byteWidth(op.dtype);
    double queries = width * d.batch * double(d.m) * d.k;
    double scores = width * d.batch * double(d.m) * d.n;
    auto add = [&](OpWork core, bool linear) {
      core.dtype = op.dtype;
      core.linear = linear;
      core.attentionCore = true;
      layer.add(std::move(core));
    };
    OpWork copies = passOver(OpClass::Elementwise, "attention.copies",
                             op.bytesRead, op.bytesRead);
    copies.linear = true;
    layer.add(copies);
    layer.add(activationMatmul("attention.scores", {d.batch, d.m, d.n, d.k},
                               op.dtype));
    add(passOver(OpClass::RowReduction, "attention.softmax", scores, scores),
        false);
    double mask = double(d.batch) * d.m * d.n;
    if (dropout) {
      add(passOver(OpClass::Elementwise, "attention.dropout", scores,
                   scores + mask),
          true);
      layer.saved.push_back({"attention.dropout_mask", mask, true});
      layer.saved.push_back({"attention.dropout", scores, true});
    }
    layer.saved.push_back({"attention.softmax", scores, true});
    layer.add(activationMatmul("attention.values", {d.batch, d.m, d.k, d.n},
                               op.dtype));
    OpWork merge =
        passOver(OpClass::Elementwise, "attention.merge", queries, queries);
    merge.linear = true;
    layer.add(merge);
  });
}

void tessera::cost::addDropout(LayerWork &layer) {
  for (OpWork &op : layer.ops) {
    if (op.name != "residual")
      continue;
    double mask = op.bytesWritten / byteWidth(op.dtype);
    op.bytesWritten += mask;
    layer.saved.push_back({"residual.dropout_mask", mask});
  }
}

void tessera::cost::unfuseNorms(LayerWork &layer) {
  for (OpWork &op : layer.ops) {
    if (op.name != "nn.rms_norm")
      continue;
    double elements = op.bytesWritten / byteWidth(op.dtype);
    double width = byteWidth(op.dtype);
    // Five of the six kernels read or write f32.
    op.bytesRead = elements * (2 * width + 4 * 4);
    op.bytesWritten = elements * (2 * width + 3 * 4);
    op.kernels = 6;
  }
}

/// Returns the op of an item if it is a matmul with a parameter.
static OpWork *findMatmul(LayerWork &layer, const WorkItem *item) {
  if (!item || item->kind != WorkItem::Kind::Op)
    return nullptr;
  OpWork &op = layer.ops[item->index];
  return op.kind == OpClass::Matmul && op.weight ? &op : nullptr;
}

void tessera::cost::fuseEpilogues(LayerWork &layer) {
  for (size_t i = 0; i < layer.items.size(); ++i) {
    const WorkItem *item = &layer.items[i];
    if (item->kind != WorkItem::Kind::Op || i == 0)
      continue;
    OpWork &op = layer.ops[item->index];
    OpWork *before = findMatmul(layer, item - 1);
    OpWork *after =
        i + 1 < layer.items.size() ? findMatmul(layer, item + 1) : nullptr;
    if (!before || op.kind != OpClass::Elementwise)
      continue;
    if (op.name == "residual" && op.linear) {
      before->epilogueBytes += op.bytesRead - before->bytesWritten;
    } else if (op.isGelu && after) {
      before->epilogueBytes += op.bytesWritten;
      after->gradientEpilogueBytes = op.bytesRead;
      op.forwardOnly = true;
    } else {
      continue;
    }
    op.isEpilogue = true;
  }
}

/// The tensor that an unfused loss keeps.
static const char *const kProbabilities = "loss.probabilities";

/// Adds the kernels of a loss in f32, after the cast of the logits. PyTorch's
/// separate ops include log-softmax. Megatron's loss, whose rows may be
/// sharded, computes maximum, exponentials, sum and quotient separately.
static void addLossKernels(LayerWork &layer, double wide, bool isLogSoftmax) {
  auto add = [&](OpClass kind, const char *name, double read, double written) {
    layer.add(passOver(kind, name, read, written));
    return &layer.ops.back();
  };
  if (isLogSoftmax) {
    add(OpClass::RowReduction, "loss.log_softmax", wide, wide);
    // All but one element in each row of its gradient are zero, but are written
    // too.
    add(OpClass::Elementwise, "loss.zeros", 0, wide)->forwardOnly = true;
    return;
  }
  add(OpClass::RowReduction, "loss.max", wide, 0)->linear = true;
  add(OpClass::Elementwise, "loss.exp", wide, wide);
  add(OpClass::RowReduction, "loss.sum", wide, 0)->linear = true;
  // The gradient of the whole loss is one pass over the probabilities.
  add(OpClass::Elementwise, "loss.quotient", wide, wide)->forwardOnly = true;
}

void tessera::cost::unfuseLoss(LayerWork &layer, bool isLogSoftmax,
                               int64_t copies) {
  rewriteOps(layer, [&](const OpWork &op) {
    if (op.name != "loss")
      return layer.add(op);
    double narrow = op.bytesRead;
    double wide = narrow / byteWidth(op.dtype) * 4;
    layer.add(passOver(OpClass::Elementwise, "loss.cast", narrow, wide));
    layer.ops.back().linear = true;
    addLossKernels(layer, wide, isLogSoftmax);
    // The gradient of the probabilities, before it is cast.
    layer.workspaceBytes += double(1 + copies) * wide;
    layer.saved.push_back({kProbabilities, wide});
  });
}

void tessera::cost::chunkLoss(LayerWork &layer, int64_t chunks) {
  auto isHead = [](const OpWork &op) {
    return op.kind == OpClass::Matmul && op.weight;
  };
  auto head = llvm::find_if(layer.ops, isHead);
  if (chunks <= 1 || head == layer.ops.end())
    return;
  MatmulDims &dims = head->matmul;
  double width = byteWidth(head->dtype), logits = head->bytesWritten;
  double input = double(dims.m) * double(dims.k);
  for (auto op = head; op != layer.ops.end(); ++op) {
    if (isHead(*op)) {
      op->bytesRead +=
          width * double(chunks - 1) * double(dims.k) * double(dims.n);
      op->isApart = true;
      op->matmul.batch = chunks;
      op->matmul.m = llvm::divideCeil(op->matmul.m, chunks);
    }
    op->kernels *= chunks;
  }
  for (SavedTensor &tensor : layer.saved)
    if (tensor.bytes == logits ||
        llvm::StringRef(tensor.name) == kProbabilities)
      tensor.bytes /= double(chunks);
  if (layer.outputBytes == logits)
    layer.outputBytes /= double(chunks);
  // The gradients of the chunks' inputs are assembled in f32.
  layer.workspaceBytes = layer.workspaceBytes / double(chunks) + 4 * input;
}

void tessera::cost::addLossMetrics(LayerWork &layer, int64_t count) {
  // Over tp the loss is several kernels; the first one reads the logits.
  double logits = 0;
  rewriteOps(layer, [&](const OpWork &op) {
    layer.add(op);
    if (op.kind == OpClass::Matmul && op.weight && layer.name == "head")
      logits = op.bytesWritten;
    if (op.name != "loss" && (logits == 0 || op.bytesRead != logits))
      return;
    logits = 0;
    double narrow = op.bytesRead;
    double wide = narrow / byteWidth(op.dtype) * 4;
    for (int64_t i = 0; i < count; ++i) {
      OpWork cast = passOver(OpClass::Elementwise, "metric.cast", narrow, wide);
      OpWork softmax =
          passOver(OpClass::RowReduction, "metric.log_softmax", wide, wide);
      cast.forwardOnly = softmax.forwardOnly = true;
      layer.add(cast);
      layer.add(softmax);
    }
  });
}

void tessera::cost::addGatherCopies(LayerWork &layer, int64_t bytes,
                                    double gradientBytes) {
  std::vector<OpWork> copies;
  for (const CommWork &comm : layer.comms)
    if (comm.parameter && comm.kind == CollectiveKind::AllGather &&
        comm.pass == Pass::Forward) {
      double elements = comm.bytes / comm.gatherShare / gradientBytes;
      double moved = elements * double(bytes);
      OpWork copy = passOver(OpClass::Elementwise, "parameter_copies",
                             moved / 2, moved / 2);
      copy.pass = Pass::BackwardInput;
      copies.push_back(copy);
    }
  for (const OpWork &copy : copies)
    layer.add(copy);
}

/// Returns the ranks over which an item's result is scattered on tp right after
/// it, or 1.
static double scatteredRanks(const LayerWork &layer, size_t item) {
  if (item + 1 == layer.items.size() ||
      layer.items[item + 1].kind != WorkItem::Kind::Comm)
    return 1;
  const CommWork &comm = layer.comms[layer.items[item + 1].index];
  bool isScatter = comm.kind == tessera::CollectiveKind::ReduceScatter &&
                   comm.isOver(PlanAxis::TP);
  return isScatter ? double(comm.ranks) : 1;
}

void tessera::cost::addAdapters(LayerWork &layer, int64_t rank,
                                LoraTargets targets) {
  std::vector<double> scattered;
  for (auto [index, item] : llvm::enumerate(layer.items))
    if (item.kind == WorkItem::Kind::Op)
      scattered.push_back(scatteredRanks(layer, index));
  auto ranks = scattered.begin();
  rewriteOps(layer, [&](const OpWork &op) {
    double resultRanks = *ranks++;
    if (op.kind != OpClass::Matmul || !op.weight ||
        (targets == LoraTargets::QKV && !layer.adapters.empty()))
      return layer.add(op);
    const MatmulDims &d = op.matmul;
    double width = byteWidth(op.dtype), rows = double(d.batch) * double(d.m);
    AdapterWork adapter;
    adapter.input = width * rows * double(d.k);
    adapter.inner = width * rows * double(rank);
    adapter.result = width * rows * double(d.n) / resultRanks;
    adapter.elements = double(d.batch) * double(rank) * double(d.k + d.n);
    auto add = [&](const char *name, double read, double written) {
      layer.add(passOver(OpClass::Elementwise, name, read, written));
      layer.ops.back().forwardOnly = true;
    };
    add("adapter.in", adapter.input, adapter.inner);
    add("adapter.out", adapter.inner, adapter.result);
    add("adapter.scale", adapter.result, adapter.result);
    layer.add(op);
    add("adapter.add", 2 * adapter.result, adapter.result);
    layer.saved.push_back({"adapter.inner", adapter.inner});
    layer.adapters.push_back(adapter);
  });
}

void tessera::cost::appendAdapterBackward(LayerWork &layer) {
  auto add = [&](const char *name, Pass pass, double read, double written) {
    OpWork op = passOver(OpClass::Elementwise, name, read, written);
    op.pass = pass;
    layer.add(op);
  };
  for (const AdapterWork &a : llvm::reverse(layer.adapters)) {
    add("adapter.scale", Pass::BackwardInput, a.result, a.result);
    add("adapter.out", Pass::BackwardInput, a.result, a.inner);
    add("adapter.out", Pass::BackwardWeight, a.result + a.inner, 0);
    add("adapter.in", Pass::BackwardInput, a.inner, a.input);
    add("adapter.in", Pass::BackwardWeight, a.inner + a.input, 0);
    add("adapter.add", Pass::BackwardInput, 2 * a.input, a.input);
  }
}

/// True for a norm, which can also write its result in 8 bits. Activations
/// between matmuls are kernels of PyTorch's compiler, which do not support
/// scales (MLP of Megatron-Core).
static bool canCast(const OpWork &op) {
  return op.kind == OpClass::RowReduction && !op.linear;
}

void tessera::cost::quantizeMatmuls(LayerWork &layer,
                                    const MatmulFormat &format) {
  std::vector<OpWork> forward = layer.ops;
  size_t position = 0;
  double narrow = 1 - format.wideBlocks;
  rewriteOps(layer, [&](OpWork op) {
    size_t index = position++;
    if (op.kind != OpClass::Matmul || !op.weight)
      return layer.add(op);
    auto isFused = [&](size_t other) {
      return format.isFused && other < forward.size() &&
             canCast(forward[other]);
    };
    double read = narrow * format.reads * byteWidth(op.dtype);
    double written = narrow * 2 * format.elementBytes;
    if (index == 0 || !isFused(index - 1)) {
      double activation =
          double(op.matmul.batch) * double(op.matmul.m) * double(op.matmul.k);
      OpWork cast = passOver(OpClass::Elementwise, "cast", activation * read,
                             activation * written);
      // The gradient has a cast of its own.
      cast.forwardOnly = true;
      cast.kernels = format.castKernels * op.kernels;
      cast.isBatched = op.isBatched || format.castKernels > 1;
      cast.isGraphed = op.isGraphed;
      layer.add(cast);
    }
    if (!isFused(index + 1)) {
      op.castGradientRead = read;
      op.castGradientWritten = written;
      op.castKernels = format.castKernels;
    }
    op.bytesRead *= format.elementBytes / byteWidth(op.dtype);
    op.operandBytes = format.elementBytes;
    op.wideShare = format.wideBlocks;
    op.rate = format.rate;
    op.dtype = format.type;
    layer.add(op);
  });
}

void tessera::cost::keepWideResults(LayerWork &layer,
                                    const MatmulFormat &format) {
  if (format.isKnown)
    return;
  // Use whole vectors of columns, so that rows stay aligned.
  constexpr int64_t kVector = 64;
  double wide = format.wideBlocks;
  for (OpWork &op : layer.ops)
    if (op.kind == OpClass::Matmul && op.weight) {
      double kept = wide * double(op.matmul.n - op.secondColumns);
      op.secondColumns = op.matmul.n - int64_t(kept) / kVector * kVector;
    }
  for (SavedTensor &tensor : layer.keptResults)
    if (tensor.name != "nn.attention")
      tensor.bytes *= wide;
}

void tessera::cost::narrowGathers(LayerWork &layer, const MatmulFormat &format,
                                  int64_t weightBytes) {
  for (CommWork &comm : layer.comms) {
    bool isTensor = comm.isOver(PlanAxis::TP);
    bool isGather = comm.kind == CollectiveKind::AllGather;
    if (!comm.parameter &&
        !(isTensor && (isGather || comm.kind == CollectiveKind::ReduceScatter)))
      continue;
    bool isKept = comm.parameter && weightBytes;
    if (!format.travels && !isKept)
      continue;
    comm.gatherShare = (isKept ? double(weightBytes) : format.elementBytes) / 2;
    if (isGather)
      comm.bytes *= comm.gatherShare;
  }
}

void tessera::cost::packDocuments(LayerWork &layer, double share) {
  for (OpWork &op : layer.ops)
    if (op.kind == OpClass::Attention)
      op.flops *= share;
}

/// Bytes of keys and values that attention reads.
static double getKeyBytes(const OpWork &attention) {
  return attention.keyBytes > 0 ? attention.keyBytes
                                : attention.bytesRead - attention.bytesWritten;
}

/// A gather over `ranks` ranks, of `bytes` each.
static CommWork makeKeyGather(double bytes, int64_t ranks, PlanAxis axis) {
  CommWork gather;
  gather.kind = tessera::CollectiveKind::AllGather;
  gather.name = "attention.keys_and_values";
  gather.bytes = bytes * ranks;
  gather.axes = {axis};
  gather.ranks = ranks;
  return gather;
}

/// Gathers latents before a matmul, which has the tokens of all ranks then.
static void gatherLatents(LayerWork &layer, OpWork &op, int64_t ranks,
                          double keysAndValues, bool sumsLatents) {
  CommWork gather = makeKeyGather(op.latentBytes, ranks, PlanAxis::CP);
  if (!sumsLatents)
    gather.gatherShare = op.latentBytes / keysAndValues;
  layer.add(gather);
  double rows = byteWidth(op.dtype) * double(op.matmul.batch) *
                double(op.matmul.m) * double(op.matmul.k);
  op.bytesRead += rows * (ranks - 1);
  op.matmul.m *= ranks;
  op.flops *= ranks;
  op.bytesWritten *= ranks;
}

/// Gathers keys and values over `ranks` ranks. In a ring, chunks are sent
/// during the attention.
static void gatherKeys(LayerWork &layer, OpWork &op, int64_t ranks,
                       PlanAxis axis, const tessera::ContextMethod &method) {
  if (ranks <= 1)
    return;
  double keysAndValues = getKeyBytes(op);
  if (method.kind != tessera::ContextMethod::Latent) {
    CommWork gather = makeKeyGather(keysAndValues, ranks, axis);
    gather.overlappable = method.kind == tessera::ContextMethod::Ring ||
                          method.kind == tessera::ContextMethod::AllToAll;
    layer.add(gather);
  }
  op.matmul.n *= ranks;
  op.flops *= ranks;
  op.bytesRead += keysAndValues * (ranks - 1);
}

void tessera::cost::shardContext(LayerWork &layer, int64_t ranks,
                                 const ContextMethod &method,
                                 bool sumsLatents) {
  if (ranks <= 1)
    return;
  bool sharesHeads = method.kind == ContextMethod::AllToAll;
  auto attention = llvm::find_if(layer.ops, [](const OpWork &op) {
    return op.kind == OpClass::Attention;
  });
  double keysAndValues =
      attention == layer.ops.end() ? 0 : getKeyBytes(*attention);
  int64_t shared = !sharesHeads         ? 1
                   : method.headDevices ? method.headDevices
                                        : ranks;
  auto exchange = [&](const char *name, double bytes) {
    CommWork comm;
    comm.kind = CollectiveKind::AllToAll;
    comm.name = name;
    comm.bytes = bytes;
    comm.axes = {shared == ranks ? PlanAxis::CP : PlanAxis::CPHeads};
    comm.ranks = shared;
    layer.add(comm);
  };
  rewriteOps(layer, [&](OpWork op) {
    if (op.latentBytes > 0 && method.kind == ContextMethod::Latent)
      gatherLatents(layer, op, ranks, keysAndValues, sumsLatents);
    if (op.kind != OpClass::Attention)
      return layer.add(op);
    double result = op.bytesWritten;
    if (shared > 1)
      exchange("attention.inputs", op.bytesRead);
    op.matmul.batch = llvm::divideCeil(op.matmul.batch, shared);
    op.matmul.m *= shared;
    op.matmul.n *= shared;
    op.flops *= shared;
    gatherKeys(layer, op, ranks / shared,
               shared == 1 ? PlanAxis::CP : PlanAxis::CPQueries, method);
    layer.add(op);
    if (shared > 1)
      exchange("attention.result", result);
  });
}
