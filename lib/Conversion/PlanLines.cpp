//===- PlanLines.cpp - A program's plan for readers -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts what is in a scheduled step; decides nothing.
//
//===----------------------------------------------------------------------===//

#include "PlanLines.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Support/PlanFields.h"
#include "tessera/Training/FlatState.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

/// How often an op of the step runs: the product of the loops around it.
static int64_t countRuns(Operation *op, Operation *step) {
  int64_t runs = 1;
  for (Operation *parent = op->getParentOp(); parent != step;
       parent = parent->getParentOp())
    if (auto loop = dyn_cast<scf::ForOp>(parent);
        loop && !loop->hasAttr(rt::RTDialect::kWhileAttr))
      if (std::optional<llvm::APInt> count = loop.getStaticTripCount())
        runs *= count->getSExtValue();
  return runs;
}

std::vector<PlannedTraffic> tessera::planTraffic(func::FuncOp step,
                                                 const Mesh &mesh) {
  std::vector<PlannedTraffic> traffic;
  auto add = [&](Operation *op, StringRef kind, ArrayRef<AxisRef> axes,
                 int64_t bytes) {
    std::string names;
    for (const AxisRef &ref : axes)
      names += (names.empty() ? "" : ",") + mesh.names[ref.axis];
    auto entry = llvm::find_if(
        traffic, [&](const PlannedTraffic &t) { return t.axes == names; });
    if (entry == traffic.end())
      entry = traffic.insert(traffic.end(), PlannedTraffic{names, 0, {}});
    int64_t runs = countRuns(op, step);
    entry->bytes += runs * bytes;
    auto calls = llvm::find_if(
        entry->calls, [&](const auto &call) { return call.first == kind; });
    if (calls == entry->calls.end())
      entry->calls.push_back({kind.str(), runs});
    else
      calls->second += runs;
  };
  step.walk([&](Operation *op) {
    if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op)) {
      AxisList axes = collective.getAxes().toAxes(mesh);
      int64_t devices = 1;
      for (const AxisRef &ref : axes)
        devices *= ref.size;
      auto type = cast<RankedTensorType>(op->getOperand(0).getType());
      add(op, op->getName().stripDialect(), axes,
          collective.getBytesReceived(type, devices));
    } else if (auto recv = dyn_cast<dist::RecvOp>(op)) {
      add(op, "recv", {mesh.fullAxis(*mesh.find(recv.getAxis()))},
          rt::getTensorBytes(recv.getResult().getType()));
    }
  });
  for (PlannedTraffic &entry : traffic)
    llvm::sort(entry.calls);
  return traffic;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Bytes as "12.34 MB" (10^6).
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

/// "28 tensors", "1 tensor".
static std::string plural(int64_t count, StringRef noun,
                          StringRef ending = "s") {
  return (Twine(count) + " " + noun + (count == 1 ? "" : ending)).str();
}

/// 1234567 as "1,234,567".
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

/// How the program is trained.
static std::string describeTraining(const Plan &plan) {
  std::string text = "; trained in " + stringify(plan.precision).str() +
                     ", gradients in " + stringify(plan.gradDType).str() +
                     ", " + plural(plan.microBatches, "micro-batch", "es");
  if (plan.zero)
    text += ", zero=" + std::to_string(plan.zero);
  return text + ", recompute " + findPlanField("recompute")->print(plan);
}

static std::string describeNumber(double number) {
  char text[32];
  snprintf(text, sizeof(text), "%g", number);
  return text;
}

/// Optimizer and learning rate.
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

/// Elements of an argument on all ranks, without padding.
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

/// Bytes that padding takes of an argument, on average over the ranks.
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

static std::string describeParameters(func::FuncOp step, const Mesh &mesh) {
  int64_t tensors = 0, elements = 0, bytes = 0, stateBytes = 0;
  double padding = 0;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(step.getArgumentTypes()[i]);
    if (step.getArgAttr(i, nn::NNDialect::kParamAttr)) {
      ++tensors;
      elements += countElements(step, i);
      bytes += rt::getTensorBytes(type);
      padding += getPaddingBytes(step, i, mesh);
    } else if (step.getArgAttr(i, nn::NNDialect::kStateAttr)) {
      stateBytes += rt::getTensorBytes(type);
      padding += getPaddingBytes(step, i, mesh);
    }
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

static std::string describeMemory(func::FuncOp step) {
  auto memory = step->getAttrOfType<DictionaryAttr>(rt::RTDialect::kMemoryAttr);
  auto total = step->getAttrOfType<IntegerAttr>(rt::RTDialect::kArenaBytesAttr);
  std::string text = "memory of a rank: " + readableBytes(total.getInt());
  const char *before = " at its peak: ";
  if (memory)
    for (NamedAttribute entry : memory)
      if (int64_t bytes = cast<IntegerAttr>(entry.getValue()).getInt()) {
        text += before + entry.getName().str() + " " + readableBytes(bytes);
        before = ", ";
      }
  return text;
}

static std::string describeTraffic(func::FuncOp step, const Mesh &mesh) {
  std::string text = "communication: a rank receives in a step";
  const char *before = " ";
  for (const PlannedTraffic &entry : planTraffic(step, mesh)) {
    text += before + readableBytes(entry.bytes) + " over " + entry.axes;
    before = " (";
    for (const auto &[kind, calls] : entry.calls) {
      text += before + std::to_string(calls) + " " + kind;
      before = ", ";
    }
    text += ")";
  }
  return before[0] == ' ' && before[1] == 0 ? text + " nothing" : text;
}

std::vector<std::string> tessera::describePlan(func::FuncOp step,
                                               const Mesh &mesh) {
  auto plan = step->getParentOfType<ModuleOp>()->getAttrOfType<dist::PlanAttr>(
      dist::DistDialect::kPlanAttr);
  std::vector<std::string> lines{
      describeMesh(mesh) +
          (plan ? describeTraining(plan.getPlan()) : std::string()),
      describeParameters(step, mesh), describeMemory(step),
      describeTraffic(step, mesh)};
  if (plan)
    lines.push_back(describeOptimizer(plan.getPlan()));
  return lines;
}
