//===- Exercises.cpp - Questions with computed answers --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each answer is computed by the function that the topics use, for the numbers
// that its question names.
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"
#include "tessera/Cost/Estimates.h"
#include "tessera/Schedule/Generators.h"
#include "tessera/Schedule/Timing.h"
#include "llvm/ADT/APFloat.h"

using namespace tessera;
using namespace tessera::cost;
using namespace tessera::explain;
using llvm::formatv;

namespace {
/// The list of questions.
class Exercises {
public:
  /// Adds a question and its answer.
  void ask(std::string question, double answer, const char *unit,
           const char *topic, int digits = 2) {
    table.addRow({double(table.getRows().size() + 1),
                  std::move(question),
                  {fixedText(answer, digits), answer},
                  unit,
                  topic});
  }
  Table table{{{"number", "", 0}, "question", "answer", "unit", "topic"}};
};
} // namespace

/// Bytes of a parameter with AdamW.
static StateBytes adamBytes(GradDType gradients, Precision precision) {
  ExecutedPlan plan;
  plan.precision = precision;
  plan.gradDType = gradients;
  return stateBytes(plan, plan.execution());
}

static void askMemory(Exercises &list) {
  StateBytes each = adamBytes(GradDType::BF16, Precision::BF16);
  auto state = [&](double parameters, int zero, double ranks) {
    return shardedState(parameters, each, zero, ranks).sum() / kGB;
  };
  list.ask("GB of state of 7e9 parameters with AdamW, gradients in 16 bits?",
           state(7e9, 0, 1), "GB", "memory");
  list.ask("The same with gradients in f32?",
           7e9 * adamBytes(GradDType::F32, Precision::BF16).sum() / kGB, "GB",
           "memory");
  list.ask("The same, all in f32?",
           7e9 * adamBytes(GradDType::F32, Precision::F32).sum() / kGB, "GB",
           "precision");
  for (int zero = 1; zero <= 3; ++zero)
    list.ask(formatv("GB of it on each of 64 ranks under ZeRO-{0}?", zero),
             state(7e9, zero, 64), "GB", "zero");
  list.ask("70e9 parameters on 128 ranks under ZeRO-3: GB of state on each?",
           state(70e9, 3, 128), "GB", "zero");
  list.ask("Devices of 80 GB that hold the state of 70e9 parameters, filled "
           "to 75 %?",
           double(minimumDevices(state(70e9, 0, 1) * kGB, 80e9, kFilledShare)),
           "devices", "memory", 0);
  list.ask("Parameters whose state fits 8 devices of 80 GB in total, in 1e9?",
           largestModel(each, 8, 80e9) / 1e9, "1e9", "memory");
  list.ask("GB of activations of 32 layers of 4,096, one sequence of 4,096, "
           "by the rule 12 L B S d?",
           roughActivationBytes(32, 1, 4096, 4096) / kGB, "GB", "memory");
  list.ask("GB of optimizer state of 7e9 parameters that offload moves?",
           7e9 * each.optimizer / kGB, "GB", "offload");
  list.ask("Layers between kept inputs that take the least memory with 64 "
           "layers, by sqrt(L)?",
           double(leastMemoryCheckpoint(64)), "layers", "checkpointing", 0);
  list.ask("More work of a step with full recomputation, in percent?",
           100 * (kFullRecomputeFlops - 1), "%", "checkpointing", 1);
}

static void askMessages(Exercises &list) {
  auto ring = [](CollectiveKind kind, double gigabytes, int64_t ranks) {
    return ringBytesPerRank(kind, gigabytes * kGB, ranks) / kGB;
  };
  list.ask("A ring of 8 reduces 4 GB: GB that each rank sends?",
           ring(CollectiveKind::AllReduce, 4, 8), "GB", "ring");
  list.ask("An all-gather of 4 GB over 8 ranks: GB that each receives?",
           ring(CollectiveKind::AllGather, 4, 8), "GB", "ring");
  list.ask("Steps of a ring of 8 for an all-reduce?", 2.0 * (8 - 1), "steps",
           "ring", 0);
  list.ask("64 workers and a parameter server, gradients of 4 GB: GB through "
           "the server?",
           parameterServerBytes(4e9, 64) / kGB, "GB", "server");
  list.ask("7e9 parameters of two bytes on 64 ranks of dp: GB that a rank "
           "sends in a step?",
           dataAxisBytes(7e9, 0, 64) / kGB, "GB", "dp");
  list.ask("The same under ZeRO-3?", dataAxisBytes(7e9, 3, 64) / kGB, "GB",
           "fsdp");
  list.ask("8 micro-batches, one all-reduce: the share of the bytes of 8 "
           "all-reduces?",
           dataAxisBytes(7e9, 0, 64) / (8 * dataAxisBytes(7e9, 0, 64)), "",
           "accumulation", 3);
  Plan plan;
  plan.dp = 64;
  plan.microBatch = 2;
  plan.microBatches = 4;
  list.ask("64 devices, micro-batches of 2, 4 of them: sequences of a step?",
           double(plan.globalBatch()), "sequences", "dp", 0);
}

/// The bubble of 1F1B or of naive stages, in percent.
static double bubbleOf(int ranks, int microBatches) {
  auto problem = llvm::cantFail(
      schedule::makeProblem(ScheduleKind::OneFOneB, ranks, 1, microBatches));
  schedule::CompiledSchedule compiled(
      problem, schedule::generate(ScheduleKind::OneFOneB, problem));
  auto times =
      schedule::PipelineTimes::uniform(problem, {1, 1, 1, /*overlapped=*/-1});
  return 100 * compiled.simulate(times).bubbleRate();
}

static void askPipelines(Exercises &list) {
  for (int count : {8, 12})
    list.ask(formatv("4 stages, {0} micro-batches, 1f1b: bubble in percent of "
                     "the step?",
                     count),
             bubbleOf(4, count), "%", "pipeline", 1);
  list.ask("8 stages, 1 micro-batch: bubble in percent?", bubbleOf(8, 1), "%",
           "pipeline", 1);
  list.ask("Parameters of q, k and v of d=4,096 on a device of tp=4?",
           3.0 * 4096 * 4096 / 4, "parameters", "tp", 0);
}

static void askRuns(Exercises &list) {
  double flops = trainingFlops(7e9, 2e12);
  list.ask("FLOPs of 7e9 parameters on 2e12 tokens, in 1e21?", flops / 1e21,
           "1e21", "wall");
  double seconds = trainingSeconds(flops, 1, 989e12, 0.5);
  list.ask("Days of one device of 989 TFLOP/s at half of its peak?",
           seconds / 86400, "days", "wall", 0);
  list.ask("Dollars of it at 2 dollars an hour?", seconds / 3600 * 2, "dollars",
           "cost", 0);
  list.ask("Share of the money that is lost at 20 % instead of 50 % of the "
           "peak, in percent?",
           100 * wastedShare(0.2, 0.5), "%", "cost", 0);
  list.ask(
      "The largest number of f16?",
      llvm::APFloat::getLargest(llvm::APFloat::IEEEhalf()).convertToDouble(),
      "", "precision", 0);
}

Section tessera::explain::explainExercises(const ExplainSizes &) {
  Exercises list;
  askMemory(list);
  askMessages(list);
  askPipelines(list);
  askRuns(list);
  Explanation text("exercises",
                   formatv("{0} questions, answered by the planner's functions",
                           list.table.getRows().size()));
  for (size_t column : {1, 3, 4})
    list.table.alignLeft(column);
  text.add({"exercises", "table", "Questions and answers",
            "The last column is the topic that explains an answer. GB are 1e9 "
            "bytes.",
            std::move(list.table)});
  return std::move(text).finish();
}
