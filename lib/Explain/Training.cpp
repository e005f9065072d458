//===- Training.cpp - Explains precision, checkpointing, batch sizes ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"
#include "tessera/Cost/MinimumMemory.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace tessera;
using namespace tessera::cost;
using namespace tessera::explain;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// precision
//===----------------------------------------------------------------------===//

/// The bits and the range of formats of numbers, from their semantics.
static Table formatTable() {
  Table table({"format",
               {"bits", "", 0},
               {"bits of precision", "", 0},
               "largest",
               "least normal",
               "distance from 1 to the next"});
  auto text = [](const llvm::APFloat &value) {
    return formatv("{0:e2}", value.convertToDouble()).str();
  };
  auto addRow = [&](const char *name, const llvm::fltSemantics &format) {
    unsigned precision = llvm::APFloat::semanticsPrecision(format);
    llvm::APFloat next(format, 1);
    next.next(/*nextDown=*/false);
    table.addRow({name, llvm::APFloat::getSizeInBits(format), precision,
                  text(llvm::APFloat::getLargest(format)),
                  text(llvm::APFloat::getSmallestNormalized(format)),
                  text(next - llvm::APFloat(format, 1))});
  };
  addRow("f32", llvm::APFloat::IEEEsingle());
  addRow("bf16", llvm::APFloat::BFloat());
  addRow("f16", llvm::APFloat::IEEEhalf());
  addRow("fp8 e4m3", llvm::APFloat::Float8E4M3FN());
  addRow("fp8 e5m2", llvm::APFloat::Float8E5M2());
  return table;
}

static MinimumMemory minimumOf(const ExplainSizes &sizes, Precision precision) {
  ExecutedPlan plan = sizes.plan;
  plan.precision = precision;
  if (precision == Precision::F32)
    plan.gradDType = GradDType::F32;
  return makeMinimumMemory(sizes.model.name, sizes.model.parameters,
                           sizes.model.layers, sizes.model.hidden, plan,
                           capacityOf(sizes));
}

/// Memory of the whole model and the peak of a device by precision.
static Table precisionTable(const ExplainSizes &sizes) {
  Table table({"precision",
               {"parameters", "GB", 2},
               {"gradients", "GB", 2},
               {"optimizer state", "GB", 2},
               {"activations", "GB", 2},
               {"sum", "GB", 2},
               {"bytes of a parameter", "bytes", 0},
               {"peak", "TFLOP/s", 0}});
  DeviceModel device = makeDeviceModel(sizes.cluster.device);
  for (auto [precision, type] : {std::pair(Precision::F32, DType::F32),
                                 std::pair(Precision::BF16, DType::BF16),
                                 std::pair(Precision::FP8, DType::FP8)}) {
    MinimumMemory minimum = minimumOf(sizes, precision);
    double peak = device.peak(type);
    table.addRow({stringify(precision).str(), minimum.state.parameter / kGB,
                  minimum.state.gradient / kGB, minimum.state.optimizer / kGB,
                  minimum.activations / kGB, minimum.total() / kGB,
                  minimum.state.sum() / sizes.model.parameters,
                  peak > 0 ? Table::Cell(peak / 1e12) : Table::Cell("")});
  }
  return table;
}

/// The tables of sizes with the sequences and micro-batches that a page offers.
static Table
listBatches(const ExplainSizes &sizes,
            llvm::function_ref<Table(const ExplainSizes &sizes)> make) {
  ChoiceTable table({{"sequence", "", 0}, {"micro-batch", "", 0}});
  ExplainSizes each = sizes;
  for (int64_t seq : listDoubles(1024, 32768, sizes.plan.seq))
    for (int64_t batch : listDoubles(1, 16, sizes.plan.microBatch)) {
      each.plan.seq = seq;
      each.plan.microBatch = batch;
      table.add({seq, batch}, make(each));
    }
  return std::move(table).finish();
}

Section tessera::explain::explainPrecision(const ExplainSizes &sizes) {
  double f32 = minimumOf(sizes, Precision::F32).activations;
  double bf16 = minimumOf(sizes, Precision::BF16).activations;
  Explanation text(
      "precision",
      formatv("16 bits halve the activations of {0} from {1:f2} to "
              "{2:f2} GB and keep a master copy in f32",
              sizes.model.name, f32 / kGB, bf16 / kGB));
  text.addTable("device", makeDeviceTable(capacityOf(sizes)));
  text.add({"bytes",
            "stack",
            "The state shrinks less than the formats: the optimizer keeps f32",
            "GB of the whole model. In fp8, matmuls of linear layers have 8 "
            "bits; activations stay in 16, and AdamW keeps its master copy and "
            "moments in 16 bits.",
            listBatches(sizes, precisionTable),
            {std::to_string(sizes.plan.seq),
             std::to_string(sizes.plan.microBatch)}});
  text.add({"formats", "table", "bf16 has the range of f32, f16 more precision",
            "From the formats' definitions; e4m3 has no infinity.",
            formatTable()});
  return std::move(text).finish();
}

//===----------------------------------------------------------------------===//
// checkpointing
//===----------------------------------------------------------------------===//

/// Activations by the rule of thumb if the input of every k-th layer is kept:
/// L/k inputs, and all of k layers while they are computed again (Chen et al.
/// 2016).
static Table segmentTable(const ExplainSizes &sizes) {
  Table table({"kept inputs",
               {"inputs of layers", "GB", 2},
               {"activations of a segment", "GB", 2},
               {"sum", "GB", 2},
               {"L/k + k", "tensors", 2},
               {"work", "%", 0, " %"}});
  const ExplainedModel &model = sizes.model;
  auto bytes = [&](double layers, double tensors) {
    return layers *
           roughActivationBytes(1, double(sizes.plan.microBatch),
                                double(sizes.plan.seq), model.hidden, 2,
                                tensors) /
           kGB;
  };
  double all = bytes(double(model.layers), 12);
  table.addRow({"all activations", 0.0, all, all, "", 100});
  for (int64_t k :
       listDoubles(1, model.layers, leastMemoryCheckpoint(model.layers))) {
    if (k > model.layers)
      continue;
    double inputs = bytes(std::ceil(double(model.layers) / double(k)), 1);
    double again = bytes(double(k), 12);
    table.addRow({formatv("one of {0} layers", k).str(), inputs, again,
                  inputs + again, double(model.layers) / double(k) + double(k),
                  100 * kFullRecomputeFlops});
  }
  return table;
}

/// Memory and step of the planner by what is kept.
static llvm::Expected<Table> plannedTable(const ExplainSizes &sizes,
                                          int64_t ranks) {
  Table table({"recompute",
               {"activations", "GB", 2},
               {"workspace", "GB", 2},
               {"sum", "GB", 2},
               {"a step", "ms", 1}});
  Planner planner(sizes);
  ExecutedPlan plan = planner.makePlan(ranks);
  plan.zero = 1;
  auto addRow = [&](const std::string &name) -> llvm::Error {
    auto report = planner.report(plan);
    if (!report)
      return report.takeError();
    const MemoryBytes &memory = report->peakMemory();
    table.addRow({name, memory.activations / kGB, memory.workspace / kGB,
                  (memory.activations + memory.workspace) / kGB,
                  report->stepSeconds * 1e3});
    return llvm::Error::success();
  };
  for (Recompute recompute :
       {Recompute::None, Recompute::Selective, Recompute::Full}) {
    plan.recompute = recompute;
    if (llvm::Error error = addRow(stringify(recompute).str()))
      return std::move(error);
  }
  for (int64_t every = 2; every <= sizes.model.layers / 2; every *= 2) {
    plan.checkpointEvery = every;
    if (sizes.model.layers % every)
      continue;
    if (llvm::Error error = addRow(formatv("full, every {0} layers", every)))
      return std::move(error);
  }
  return table;
}

Section tessera::explain::explainCheckpointing(const ExplainSizes &sizes) {
  int64_t least = leastMemoryCheckpoint(sizes.model.layers);
  Explanation text(
      "checkpointing",
      formatv("With {0} layers, the rule sqrt(L) keeps the input of one of "
              "{1}, for {2:f0} % more work",
              sizes.model.layers, least, 100 * (kFullRecomputeFlops - 1)));
  text.add({"every k-th layer",
            "stack",
            "Few inputs or short segments: the least is between",
            "GB of activations by the rule 12 L B S d. sqrt(L) is the least of "
            "L/k + k, which counts an input and a layer alike; a layer has 12 "
            "tensors, so shorter segments need less.",
            listBatches(sizes, segmentTable),
            {std::to_string(sizes.plan.seq),
             std::to_string(sizes.plan.microBatch)}});
  if (!sizes.model.isWhole)
    return std::move(text).finish();
  int64_t asked = sizes.ranks.value_or(64);
  ChoiceTable planned({{"devices", "", 0}});
  for (int64_t ranks : listDoubles(1, 1024, asked)) {
    auto rows = plannedTable(sizes, ranks);
    if (!rows)
      return rows.takeError();
    planned.add({ranks}, *rows);
  }
  text.add({"the planner",
            "stack",
            "What the planner counts",
            formatv("GB of a device and the step of {0} under dp with ZeRO-1.",
                    sizes.model.name),
            std::move(planned).finish(),
            {std::to_string(asked)}});
  return std::move(text).finish();
}

//===----------------------------------------------------------------------===//
// batch
//===----------------------------------------------------------------------===//

/// Steps over the fewest, S = S_min (1 + B_c / B), by the batch over the
/// critical one (McCandlish et al. 2018, "An Empirical Model of Large-Batch
/// Training", section 2.3).
static double stepsOver(double batch) { return 1 + 1 / batch; }

/// Examples over the fewest, E = E_min (1 + B / B_c), likewise.
static double examplesOver(double batch) { return 1 + batch; }

/// Steps of the run by the devices of dp.
static Table stepTable(const ExplainSizes &sizes, int64_t microBatch,
                       int64_t microBatches) {
  Table table({{"devices", "", 0},
               {"sequences of a step", "", 0},
               {"tokens of a step", "", 0},
               {"steps of the run", "", 0}});
  for (int64_t count : listDoubles(1, 4096, sizes.ranks.value_or(64))) {
    Plan plan = sizes.plan;
    plan.tp = plan.pp = 1;
    plan.dp = count;
    plan.microBatch = microBatch;
    plan.microBatches = microBatches;
    table.addRow({count, plan.globalBatch(), plan.tokens(),
                  std::ceil(sizes.tokens / plan.tokens())});
  }
  return table;
}

Section tessera::explain::explainBatch(const ExplainSizes &sizes) {
  Table table({{"batch over the critical one", "", 4},
               {"steps over S_min", "", 3},
               {"examples over E_min", "", 3}});
  for (int power = -4; power <= 4; ++power) {
    double batch = std::pow(2.0, power);
    table.addRow({batch, stepsOver(batch), examplesOver(batch)});
  }
  Explanation text("batch",
                   "At the critical batch, a run takes twice the fewest steps "
                   "and twice the fewest examples");
  text.add({"steps and examples", "curves",
            "Beyond the critical batch, more devices save few steps",
            "S = S_min (1 + B_c/B), E = E_min (1 + B/B_c) (McCandlish et al. "
            "2018). B_c is E_min / S_min, which differs by task.",
            std::move(table)});
  int64_t asked = sizes.microBatches.value_or(1);
  ChoiceTable steps({{"micro-batch", "", 0}, {"micro-batches", "", 0}});
  for (int64_t micro : listDoubles(1, 8, sizes.plan.microBatch))
    for (int64_t count : listDoubles(1, 8, asked))
      steps.add({micro, count}, stepTable(sizes, micro, count));
  text.add({"devices",
            "table",
            "More devices of dp, a larger batch",
            formatv("Steps of a run of {0:f0}e9 tokens.", sizes.tokens / 1e9),
            std::move(steps).finish(),
            {std::to_string(sizes.plan.microBatch), std::to_string(asked)}});
  return std::move(text).finish();
}
