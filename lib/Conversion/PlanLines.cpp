//===- PlanLines.cpp - A program's plan for readers -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Summarizes a scheduled step and changes nothing.
//
//===----------------------------------------------------------------------===//

#include "PlanLines.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Plan/PlanFields.h"
#include "tessera/Training/FlatState.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

/// Returns the runs of an op per run of its function: the product of the trip
/// counts of the loops around it.
static int64_t countRuns(Operation *op, Operation *function) {
  int64_t runs = 1;
  for (Operation *parent = op->getParentOp(); parent != function;
       parent = parent->getParentOp())
    if (auto loop = dyn_cast<scf::ForOp>(parent);
        loop && !loop->hasAttr(rt::RTDialect::kWhileAttr))
      if (std::optional<llvm::APInt> count = loop.getStaticTripCount())
        runs *= count->getSExtValue();
  return runs;
}

namespace {
/// Adds up the communication of functions.
class TrafficCounter {
public:
  explicit TrafficCounter(const Mesh &mesh) : mesh(mesh) {}
  /// Adds the communication of `runs` runs of the function.
  void addFunction(func::FuncOp func, int64_t runs);
  std::vector<PlannedTraffic> take();

private:
  void add(StringRef kind, ArrayRef<AxisRef> axes, int64_t bytes, int64_t runs);
  void addPipeline(rt::PipelineOp op);

  const Mesh &mesh;
  std::vector<PlannedTraffic> traffic;
};
} // namespace

void TrafficCounter::add(StringRef kind, ArrayRef<AxisRef> axes, int64_t bytes,
                         int64_t runs) {
  std::string names;
  for (const AxisRef &ref : axes)
    names += (names.empty() ? "" : ",") + mesh.names[ref.axis];
  auto entry = llvm::find_if(
      traffic, [&](const PlannedTraffic &t) { return t.axes == names; });
  if (entry == traffic.end())
    entry = traffic.insert(traffic.end(), PlannedTraffic{names, 0, {}});
  entry->bytes += runs * bytes;
  auto calls = llvm::find_if(
      entry->calls, [&](const auto &call) { return call.first == kind; });
  if (calls == entry->calls.end())
    entry->calls.push_back({kind.str(), runs});
  else
    calls->second += runs;
}

/// Adds the receives of the list, and each of its tasks as often as it runs.
void TrafficCounter::addPipeline(rt::PipelineOp op) {
  SmallVector<func::FuncOp> tasks = op.getTaskFunctions();
  SmallVector<int64_t> runs(tasks.size(), 0);
  auto entries =
      op->getAttrOfType<DenseI64ArrayAttr>(rt::RTDialect::kEntriesAttr);
  SmallVector<AxisRef, 1> axis;
  if (mesh.stageAxis)
    axis.push_back(mesh.fullAxis(*mesh.stageAxis));
  rt::forEachEntry(entries, [&](ArrayRef<int64_t> entry) {
    if (entry[0] == TESSERA_RT_ENTRY_RUN || entry[0] == TESSERA_RT_ENTRY_PAIR)
      ++runs[entry[1]];
    else if (entry[0] == TESSERA_RT_ENTRY_RECV)
      add("recv", axis, entry[rt::kEntryBytes], 1);
  });
  for (auto [task, count] : llvm::zip(tasks, runs))
    if (count)
      addFunction(task, count);
}

void TrafficCounter::addFunction(func::FuncOp func, int64_t runs) {
  func.walk([&](Operation *op) {
    int64_t times = runs;
    if (op != func)
      times *= countRuns(op, func);
    if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op)) {
      AxisList axes = collective.getAxes().toAxes(mesh);
      int64_t devices = 1;
      for (const AxisRef &ref : axes)
        devices *= ref.size;
      auto type = cast<RankedTensorType>(op->getOperand(0).getType());
      add(op->getName().stripDialect(), axes,
          collective.getBytesReceived(type, devices), times);
    } else if (auto recv = dyn_cast<dist::RecvOp>(op)) {
      add("recv", {mesh.fullAxis(*mesh.find(recv.getAxis()))},
          rt::getTensorBytes(recv.getResult().getType()), times);
    } else if (auto exchange = dyn_cast<dist::ExchangeOp>(op)) {
      add("recv", {mesh.fullAxis(*mesh.stageAxis)}, exchange.getBytesReceived(),
          times);
    } else if (auto pipeline = dyn_cast<rt::PipelineOp>(op)) {
      addPipeline(pipeline);
    }
  });
}

std::vector<PlannedTraffic> TrafficCounter::take() {
  for (PlannedTraffic &entry : traffic)
    llvm::sort(entry.calls);
  return std::move(traffic);
}

std::vector<PlannedTraffic> tessera::planTraffic(func::FuncOp step,
                                                 const Mesh &mesh) {
  TrafficCounter counter(mesh);
  counter.addFunction(step, 1);
  return counter.take();
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Formats bytes as "12.34 MB" (10^6).
static std::string readableBytes(int64_t bytes) {
  constexpr StringLiteral units[] = {"B", "kB", "MB", "GB", "TB"};
  double number = double(bytes);
  size_t unit = 0;
  for (; number >= 1000 && unit + 1 < std::size(units); ++unit)
    number /= 1000;
  if (unit == 0)
    return std::to_string(bytes) + " B";
  return llvm::formatv("{0:f2} {1}", number, units[unit]).str();
}

/// Returns "28 tensors", or "1 tensor".
static std::string plural(int64_t count, StringRef noun,
                          StringRef ending = "s") {
  return (Twine(count) + " " + noun + (count == 1 ? "" : ending)).str();
}

/// Formats 1234567 as "1,234,567".
static std::string withSeparators(int64_t number) {
  std::string text = std::to_string(number);
  for (int64_t i = int64_t(text.size()) - 3; i > 0; i -= 3)
    text.insert(size_t(i), ",");
  return text;
}

static std::string describeMesh(const Mesh &mesh) {
  if (mesh.names.empty())
    return "one rank";
  std::string text = "mesh";
  for (auto [name, size] : llvm::zip(mesh.names, mesh.sizes))
    text += " " + name + "=" + std::to_string(size);
  return text;
}

/// Describes precision, gradients, micro-batches, ZeRO and recompute.
static std::string describeTraining(const Plan &plan) {
  if (plan.forward)
    return "; forward, " + plural(plan.microBatches, "micro-batch", "es");
  std::string text = "; trained in " + stringify(plan.precision).str() +
                     ", gradients in " + stringify(plan.gradDType).str() +
                     ", " + plural(plan.microBatches, "micro-batch", "es");
  if (plan.zero)
    text += ", zero=" + std::to_string(plan.zero);
  return text + ", recompute " + findField<Plan>("recompute")->print(plan);
}

static std::string describeNumber(double number) {
  char text[32];
  snprintf(text, sizeof(text), "%g", number);
  return text;
}

/// Describes the optimizer and the learning rate.
static std::string describeOptimizer(const Plan &plan) {
  bool isAdamW = plan.optimizer == OptimizerKind::AdamW;
  std::string text = "optimizer: " + stringify(plan.optimizer).str();
  if (isAdamW)
    text += " (beta1 " + describeNumber(plan.beta1) + ", beta2 " +
            describeNumber(plan.beta2) + ", eps " + describeNumber(plan.eps) +
            ")";
  else if (plan.momentum > 0)
    text += " (momentum " + describeNumber(plan.momentum) + ")";
  text += ", weight decay " + describeNumber(plan.weightDecay);
  if (plan.clip > 0)
    text += ", norm clipped at " + describeNumber(plan.clip);
  text += ", lr " + describeNumber(plan.lr);
  if (plan.warmup)
    text += " after " + plural(plan.warmup, "step") + " of warm-up";
  if (plan.lrSchedule == LearningRateKind::Cosine)
    text += ", as a cosine to " + describeNumber(plan.minLr) + " at step " +
            std::to_string(plan.totalSteps);
  return text;
}

/// Returns the elements of an argument on all ranks, without padding.
static int64_t countElements(func::FuncOp step, unsigned argument) {
  auto shape = step.getArgAttrOfType<DenseI64ArrayAttr>(
      argument, nn::NNDialect::kStoredShapeAttr);
  if (!shape)
    shape = step.getArgAttrOfType<DenseI64ArrayAttr>(
        argument, dist::DistDialect::kGlobalShapeAttr);
  auto type = cast<RankedTensorType>(step.getArgumentTypes()[argument]);
  int64_t count = 1;
  for (int64_t extent : shape ? shape.asArrayRef() : type.getShape())
    count *= extent;
  return count;
}

/// Returns the bytes of an argument's padding, on average over the ranks.
static double getPaddingBytes(func::FuncOp step, unsigned argument,
                              const Mesh &mesh) {
  if (!step.getArgAttr(argument, nn::NNDialect::kStoredShapeAttr) &&
      !step.getArgAttr(argument, dist::DistDialect::kGlobalShapeAttr))
    return 0;
  auto type = cast<RankedTensorType>(step.getArgumentTypes()[argument]);
  auto sharding = step.getArgAttrOfType<dist::ShardingAttr>(
      argument, dist::DistDialect::kShardingAttr);
  double all = type.getNumElements();
  if (sharding)
    for (const DimSharding &dim : sharding.toSharding(mesh).dims)
      all *= numShards(dim.axes);
  double share =
      all > 0 ? std::max(0.0, 1 - countElements(step, argument) / all) : 0;
  return rt::getTensorBytes(type) * share;
}

/// Describes the parameters of all pp ranks, each counted once, and one rank's
/// share.
static std::string describeParameters(ArrayRef<func::FuncOp> steps,
                                      func::FuncOp largest, const Mesh &mesh) {
  int64_t tensors = 0, elements = 0, bytes = 0, stateBytes = 0;
  double padding = 0;
  llvm::SmallDenseSet<int64_t> seen;
  for (func::FuncOp step : steps)
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      auto type = cast<RankedTensorType>(step.getArgumentTypes()[i]);
      bool isParameter = bool(step.getArgAttr(i, nn::NNDialect::kParamAttr));
      auto number =
          step.getArgAttrOfType<IntegerAttr>(i, dist::DistDialect::kNumberAttr);
      if (isParameter && (!number || seen.insert(number.getInt()).second)) {
        ++tensors;
        elements += countElements(step, i);
      }
      if (step != largest ||
          (!isParameter && !step.getArgAttr(i, nn::NNDialect::kStateAttr)))
        continue;
      (isParameter ? bytes : stateBytes) += rt::getTensorBytes(type);
      padding += getPaddingBytes(step, i, mesh);
    }
  std::string text = "parameters: " + withSeparators(elements) + " in " +
                     plural(tensors, "tensor") + "; a rank has " +
                     readableBytes(bytes);
  if (stateBytes)
    text += " of them and " + readableBytes(stateBytes) + " of optimizer state";
  if (auto bytes = static_cast<int64_t>(padding))
    text += ", " + readableBytes(bytes) + " of it padding";
  return text;
}

static std::string tellMemory(func::FuncOp step) {
  auto memory = step->getAttrOfType<DictionaryAttr>(rt::RTDialect::kMemoryAttr);
  auto total = step->getAttrOfType<IntegerAttr>(rt::RTDialect::kArenaBytesAttr);
  std::string text = "memory per rank: " + readableBytes(total.getInt());
  const char *before = " at its peak: ";
  if (memory)
    for (NamedAttribute entry : memory)
      if (int64_t bytes = cast<IntegerAttr>(entry.getValue()).getInt()) {
        text += before + entry.getName().str() + " " + readableBytes(bytes);
        before = ", ";
      }
  return text;
}

static std::string tellTraffic(func::FuncOp step, const Mesh &mesh) {
  std::string text;
  const char *before = "received per rank and step: ";
  for (const PlannedTraffic &entry : planTraffic(step, mesh)) {
    text += before + readableBytes(entry.bytes) + " over " + entry.axes;
    before = " (";
    for (const auto &[kind, calls] : entry.calls) {
      text += before + std::to_string(calls) + " " + kind;
      before = ", ";
    }
    text += ")";
    before = ", ";
  }
  return text.empty() ? "communication: none" : text;
}

static dist::PlanAttr getPlan(func::FuncOp step) {
  return step->getParentOfType<ModuleOp>()->getAttrOfType<dist::PlanAttr>(
      dist::DistDialect::kPlanAttr);
}

std::string tessera::getScheduleName(func::FuncOp step) {
  dist::PlanAttr plan = getPlan(step);
  return plan ? findField<Plan>("schedule")->print(plan.getPlan()) : "own list";
}

/// Describes the schedule, stages, pp ranks and micro-batches.
static std::string tellPipeline(ArrayRef<func::FuncOp> steps) {
  func::FuncOp step = steps.front();
  auto ops = step.front().getOps<rt::PipelineOp>();
  rt::PipelineOp op = *ops.begin();
  auto first = cast<ArrayAttr>(op.getPaths()[0]);
  return "pipeline: " + getScheduleName(step) + ", " +
         plural(first.size(), "stage") + " on " +
         plural(steps.size(), "pp rank") + ", " +
         plural(op.getMicroBatches(), "micro-batch", "es");
}

int64_t tessera::getArenaBytes(func::FuncOp step) {
  return step->getAttrOfType<IntegerAttr>(rt::RTDialect::kArenaBytesAttr)
      .getInt();
}

func::FuncOp tessera::getLargest(ArrayRef<func::FuncOp> steps) {
  return *llvm::max_element(steps, [](func::FuncOp lhs, func::FuncOp rhs) {
    return getArenaBytes(lhs) < getArenaBytes(rhs);
  });
}

std::vector<std::string> tessera::describePlan(ArrayRef<func::FuncOp> steps,
                                               const Mesh &mesh) {
  func::FuncOp largest = getLargest(steps);
  dist::PlanAttr plan = getPlan(largest);
  std::vector<std::string> lines{
      describeMesh(mesh) +
      (plan ? describeTraining(plan.getPlan()) : std::string())};
  if (steps.size() > 1)
    lines.push_back(tellPipeline(steps));
  lines.push_back(describeParameters(steps, largest, mesh));
  lines.push_back(tellMemory(largest));
  lines.push_back(tellTraffic(largest, mesh));
  if (plan && !plan.getPlan().forward)
    lines.push_back(describeOptimizer(plan.getPlan()));
  return lines;
}
