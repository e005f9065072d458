//===- Memory.cpp - Explains memory and the wall --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes by MinimumMemory, which `tessera plan` prints.
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"
#include "tessera/Cost/MinimumMemory.h"
#include "tessera/Cost/PlanReport.h"

using namespace tessera;
using namespace tessera::cost;
using namespace tessera::explain;
using llvm::formatv;
using llvm::StringRef;

static MinimumMemory minimumOf(const ExplainedModel &model, const Plan &plan,
                               double capacity) {
  return makeMinimumMemory(model.name, model.parameters, model.layers,
                           model.hidden, plan, capacity);
}

//===----------------------------------------------------------------------===//
// memory
//===----------------------------------------------------------------------===//

std::vector<ExplainedModel>
tessera::explain::listModels(const ExplainedModel &asked) {
  std::vector<ExplainedModel> models{asked};
  for (StringRef name :
       {"gpt2-xl", "llama2-7b", "llama3-70b", "llama3-405b", "deepseek-v3"}) {
    auto model = readExplainedModel(name);
    // The folder of models may be a user's own.
    if (!model)
      llvm::consumeError(model.takeError());
    else if (model->name != asked.name)
      models.push_back(std::move(*model));
  }
  return models;
}

/// Memory of the whole model by category, for all choices of a page.
static Table choiceTable(const ExplainSizes &sizes) {
  Table table({"model",
               {"sequence", "", 0},
               "precision",
               {"batch", "", 0},
               {"parameters", "GB", 2},
               {"gradients", "GB", 2},
               {"optimizer state", "GB", 2},
               {"activations", "GB", 2},
               {"total", "GB", 2},
               {"devices", "", 0},
               {"at 75 %", "", 0}});
  std::vector<Precision> precisions{sizes.plan.precision};
  for (Precision each : {Precision::F32, Precision::BF16, Precision::FP8})
    if (each != sizes.plan.precision)
      precisions.push_back(each);
  llvm::sort(precisions);
  for (const ExplainedModel &model : listModels(sizes.model))
    for (int64_t seq : listDoubles(1024, 32768, sizes.plan.seq))
      for (Precision precision : precisions)
        for (int64_t batch : listDoubles(1, 16, sizes.plan.microBatch)) {
          Plan plan = sizes.plan;
          plan.seq = seq;
          plan.precision = precision;
          plan.microBatch = batch;
          MinimumMemory minimum = minimumOf(model, plan, capacityOf(sizes));
          table.addRow({model.name, seq, stringify(precision).str(), batch,
                        minimum.state.parameter / kGB,
                        minimum.state.gradient / kGB,
                        minimum.state.optimizer / kGB,
                        minimum.activations / kGB, minimum.total() / kGB,
                        minimum.devices, minimum.devicesAtThreeQuarters});
        }
  return table;
}

/// Activations by the rule of thumb beside those of the planner's layers on one
/// device.
static llvm::Expected<Table> ruleTable(const ExplainSizes &sizes) {
  Table table({"activations of one micro-batch", {"GB", "GB", 2}});
  MinimumMemory minimum = minimumOf(sizes.model, sizes.plan, capacityOf(sizes));
  table.addRow({"the rule 12 L B S d", minimum.activations / kGB});
  ExecutedPlan plan = sizes.plan;
  plan.dp = plan.tp = plan.pp = 1;
  plan.microBatches = 1;
  WorkReader reader;
  auto work = sizes.model.subject.readLayers(reader, plan);
  if (!work)
    return work.takeError();
  MemoryModel memory(*work);
  schedule::PipelinePricer pricer;
  auto stages = memory.stages(assignChunks(work->layers, plan), plan,
                              plan.execution(), pricer);
  table.addRow({"the planner, layers", stages[0].bytes.activations / kGB});
  table.addRow({"the planner, head and loss", stages[0].bytes.logits / kGB});
  return table;
}

/// The names of bytes per parameter under which texts count AdamW.
static Table countTable(const ExplainSizes &sizes) {
  Table table({"AdamW, bytes of a parameter",
               {"parameter", "bytes", 0},
               {"gradient", "bytes", 0},
               {"optimizer", "bytes", 0},
               {"sum", "bytes", 0},
               {"GB", "GB", 2}});
  auto addRow = [&](const char *name, GradDType gradients,
                    OptimizerKind optimizer) {
    ExecutedPlan plan = sizes.plan;
    plan.precision = Precision::BF16;
    plan.gradDType = gradients;
    plan.optimizer = optimizer;
    StateBytes each = stateBytes(plan, plan.execution());
    table.addRow({name, each.parameter, each.gradient, each.optimizer,
                  each.sum(), each.sum() * sizes.model.parameters / kGB});
  };
  addRow("gradients in 16 bits, f32 master copy", GradDType::BF16,
         OptimizerKind::AdamW);
  addRow("gradients in f32, f32 master copy", GradDType::F32,
         OptimizerKind::AdamW);
  addRow("gradients in 16 bits, no master copy", GradDType::BF16,
         OptimizerKind::AdamWNoMaster);
  return table;
}

Section tessera::explain::explainMemory(const ExplainSizes &sizes) {
  MinimumMemory minimum = minimumOf(sizes.model, sizes.plan, capacityOf(sizes));
  Explanation text(
      "memory",
      formatv("{0}, {1} parameters, needs {2:f2} GB ({3:f2} GiB): {4}",
              sizes.model.name, countText(sizes.model.parameters),
              minimum.total() / kGB, minimum.total() / kGiB,
              minimumText(minimum)));
  text.addTable("device", makeDeviceTable(capacityOf(sizes)));
  text.add({"memory of the whole model",
            "stack",
            "Parameters, gradients, optimizer state and activations share a "
            "device",
            "GB (1e9 bytes) by category. A page marks a device and 75 % of it.",
            choiceTable(sizes),
            {sizes.model.name, std::to_string(sizes.plan.seq),
             stringify(sizes.plan.precision).str(),
             std::to_string(sizes.plan.microBatch)}});
  text.add({"bytes of a parameter", "table",
            "Texts differ in what they count for AdamW", "",
            countTable(sizes)});
  if (sizes.model.isWhole) {
    auto rule = ruleTable(sizes);
    if (!rule)
      return rule.takeError();
    const auto &rows = rule->getRows();
    std::string heading =
        formatv("The rule of thumb says {0}, the planner counts {1} GB",
                rows[0][1].text, rows[1][1].text);
    text.add({"rule and planner", "stack", heading,
              "GB of activations of one micro-batch, without recomputation.",
              std::move(*rule)});
  }
  text.say("GB are 1e9 bytes, GiB 2^30. Data sheets say GB and often mean GiB: "
           "80 GiB are 85.9 GB. 25 % stay free, since blocks do not fit "
           "together without gaps and libraries need buffers.");
  return std::move(text).finish();
}

//===----------------------------------------------------------------------===//
// wall
//===----------------------------------------------------------------------===//

/// Memory, time and dollars of a run on one device.
static Table oneDeviceTable(const ExplainSizes &sizes,
                            const ExplainedModel &model, double tokens) {
  MinimumMemory minimum = minimumOf(model, sizes.plan, capacityOf(sizes));
  double flops = trainingFlops(model.active, tokens);
  double seconds = trainingSeconds(flops, 1, peakOf(sizes), sizes.mfu);
  double days = seconds / 86400;
  Table table({"on one device", {"value", "", 2}, "unit"});
  table.addRow({"memory that is needed", minimum.total() / kGB, "GB"});
  table.addRow({"memory of a device", capacityOf(sizes) / kGB, "GB"});
  table.addRow({"tokens", tokens / 1e9, "billions"});
  table.addRow({"FLOPs, 6 N D", flops / 1e21, "1e21"});
  table.addRow({"peak", peakOf(sizes) / 1e12, "TFLOP/s"});
  table.addRow({"share of the peak", 100 * sizes.mfu, "%"});
  table.addRow({"time", days, "days"});
  table.addRow({"time, years", days / 365.25, "years"});
  table.addRow({"price", seconds / 3600 * sizes.price, "dollars"});
  return table;
}

Section tessera::explain::explainWall(const ExplainSizes &sizes) {
  MinimumMemory minimum = minimumOf(sizes.model, sizes.plan, capacityOf(sizes));
  double days = trainingSeconds(trainingFlops(sizes.model.active, sizes.tokens),
                                1, peakOf(sizes), sizes.mfu) /
                86400;
  Explanation text(
      "wall", formatv("{0} needs {1:f1} devices of memory and {2} days of one",
                      sizes.model.name, minimum.total() / capacityOf(sizes),
                      groupedText(days)));
  ChoiceTable table({"model", "tokens"});
  for (const ExplainedModel &model : listModels(sizes.model))
    for (const auto &[name, tokens] :
         listSizes({1e12, 2e12, 5e12, 15e12}, sizes.tokens))
      table.add({model.name, name}, oneDeviceTable(sizes, model, tokens));
  text.add({"one device",
            "table",
            "What a run needs of one device",
            "",
            std::move(table).finish(),
            {sizes.model.name, sizeText(sizes.tokens)}});
  text.addTable("device", makeDeviceTable(capacityOf(sizes)));
  int64_t ranks = sizes.ranks.value_or(64);
  text.add({"state", "state",
            "More devices with plain dp do not lower a device's state: each "
            "holds all of it",
            "", stateTable(sizes, ranks)});
  return std::move(text).finish();
}
