//===- Evaluate.cpp - Predictions for rows of measurements ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluate.h"
#include "tessera/Cost/Estimates.h"
#include "tessera/Cost/MatmulFormat.h"
#include "tessera/Cost/MemoryModel.h"
#include "tessera/Support/Errors.h"
#include "llvm/Support/FormatVariadic.h"
#include <cassert>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;
using namespace tessera::validate;

std::unique_ptr<Evaluator> Evaluator::fork() const {
  auto other = std::make_unique<Evaluator>(clusterFolder);
  other->overrides = overrides;
  other->version = version;
  return other;
}

void Evaluator::setConstant(const std::string &device, const std::string &name,
                            double value) {
  ++version;
  for (Override &o : overrides)
    if (o.device == device && o.name == name) {
      o.value = value;
      return;
    }
  overrides.push_back({device, name, value});
}

/// The quantity of a cluster at `path`: "levels.1.efficiency",
/// "levels.1.latency_s" or a constant of the device; null if there is none.
static Quantity *findQuantity(ClusterSpec &spec, StringRef path) {
  if (path.consume_front("levels.")) {
    auto [index, field] = path.split('.');
    size_t level = 0;
    if (index.getAsInteger(10, level) || level >= spec.levels.size())
      return nullptr;
    return field == "efficiency" ? &spec.levels[level].efficiency
                                 : &spec.levels[level].latency;
  }
  for (auto &[key, quantity] : spec.device.constants)
    if (key == path)
      return &quantity;
  return nullptr;
}

Expected<double> Evaluator::constant(const std::string &name, StringRef path) {
  Expected<const ClusterSpec *> known = cluster(name);
  if (!known)
    return known.takeError();
  ClusterSpec spec = **known;
  if (const Quantity *quantity = findQuantity(spec, path))
    return quantity->value;
  return createStringError(name + ": expects a constant " + path);
}

void Evaluator::applyOverrides(Preset &preset) const {
  ClusterSpec &spec = preset.spec;
  for (const Override &o : overrides) {
    if (StringRef(spec.device.name).find(o.device) == StringRef::npos)
      continue;
    if (Quantity *quantity = findQuantity(spec, o.name))
      quantity->value = o.value;
    else if (!StringRef(o.name).starts_with("levels."))
      spec.device.constants.push_back(
          {o.name, {o.value, Provenance::Guess, "a trial"}});
  }
  preset.version = version;
}

Expected<const ClusterSpec *> Evaluator::cluster(const std::string &name) {
  auto found = clusters.find(name);
  if (found == clusters.end()) {
    Expected<ClusterSpec> spec =
        readClusterSpec(clusterFolder + "/" + name + ".json");
    if (!spec)
      return spec.takeError();
    found = clusters.emplace(name, Preset{std::move(*spec), 0}).first;
  }
  if (found->second.version != version)
    applyOverrides(found->second);
  return &found->second.spec;
}

/// True if the row gives another size of the nodes (another bandwidth of the
/// links) than its preset. A domain that is allocated in segments is larger
/// than the node.
static bool changesNodes(const PlanRow &row, const ClusterSpec &spec) {
  return row.devicesPerNode > 0 && spec.levels.size() > 1 &&
         spec.levels[0].name == "nvlink" && !spec.levels[0].segment;
}
static bool changesLinks(const PlanRow &row, const ClusterSpec &spec) {
  return row.outerBandwidth > 0 && spec.levels.size() > 1;
}

/// PCIe 4.0 x16 in one direction; copies between devices reach four fifths of
/// it.
static constexpr double kPCIeBandwidth = 31.5e9, kPCIeEfficiency = 0.8;

static ClusterSpec changedBy(const PlanRow &row, ClusterSpec spec) {
  if (changesNodes(row, spec))
    spec.levels[0].devices = row.devicesPerNode;
  if (row.meshDevices > 0) {
    LevelSpec pcie = spec.levels[0];
    pcie.name = "pcie";
    pcie.bandwidth.value = kPCIeBandwidth;
    pcie.efficiency.value = kPCIeEfficiency;
    spec.levels[0].devices = row.meshDevices;
    spec.levels.insert(spec.levels.begin() + 1, std::move(pcie));
  }
  if (changesLinks(row, spec))
    spec.levels.back().bandwidth.value = row.outerBandwidth;
  return spec;
}

Expected<ClusterSpec> Evaluator::clusterOf(const PlanRow &row) {
  Expected<const ClusterSpec *> spec = cluster(row.cluster);
  if (!spec)
    return spec.takeError();
  return changedBy(row, **spec);
}

/// Checks that the plan agrees with itself and the model.
static Error checkRow(const PlanRow &row) {
  Error error = row.plan.checkFields();
  if (!error)
    error = row.plan.checkDevices(row.devices);
  if (!error)
    error = Plan(row.plan).setGlobalBatch(row.globalBatch);
  if (!error)
    error = row.plan.check();
  if (!error && row.metric != Metric::LayerForward &&
      row.metric != Metric::LayerBackward)
    error = row.subject().check(row.plan);
  return takeFirst(std::move(error));
}

Expected<Prediction> Evaluator::predictMemory(const PlanRow &row,
                                              const ModelWork &work,
                                              const ClusterSpec &spec) {
  MemoryModel model(work);
  Plan staged = row.plan;
  if (staged.pp == 1)
    staged.vpp = 1;
  std::vector<StageMemory> stages = model.stages(
      assignChunks(work.layers, staged), staged, row.plan.execution(), pricer);
  const MemoryBytes &bytes =
      stages[row.firstStage ? 0 : fullestStage(stages)].bytes;
  Prediction result;
  result.capacity = spec.device.memoryBytes.value;
  for (const auto &[name, size] : bytes.categories())
    if (size > 0)
      result.detail += formatv(" {0} {1:F1}", name, size / 1e9);
  result.value = bytes.allocated();
  if (row.reserved)
    result.value = bytes.reserved();
  if (row.includesContext || row.metric == Metric::OutOfMemory)
    result.value = bytes.total();
  return result;
}

Error Evaluator::prepare(PlanRow &row) {
  if (Error error = checkRow(row))
    return error;
  Expected<const ClusterSpec *> spec = cluster(row.cluster);
  if (!spec)
    return spec.takeError();
  if (Error error = checkPrecision(row.plan.precision, (*spec)->device))
    return error;
  Expected<ModelWork> work = row.subject().read(reader, row.plan);
  if (!work)
    return work.takeError();
  row.work = std::make_shared<const ModelWork>(std::move(*work));
  return Error::success();
}

Expected<Prediction> Evaluator::predict(const PlanRow &row) {
  if (!row.work) {
    PlanRow prepared = row;
    if (Error error = prepare(prepared))
      return std::move(error);
    return predict(prepared);
  }
  Expected<const ClusterSpec *> spec = cluster(row.cluster);
  if (!spec)
    return spec.takeError();
  if (changesNodes(row, **spec) || changesLinks(row, **spec) ||
      row.meshDevices > 0)
    return predict(row, changedBy(row, **spec));
  return predict(row, **spec);
}

Expected<Prediction> Evaluator::predict(const PlanRow &row,
                                        const ClusterSpec &spec) {
  assert(row.work && "expects a row that is prepared");
  const ModelWork &work = *row.work;
  if (row.metric == Metric::PeakMemory || row.metric == Metric::OutOfMemory)
    return predictMemory(row, work, spec);

  Machine machine(spec, row.plan, row.plan.execution());
  PricedModel priced = priceModel(work, machine);
  Prediction result;
  result.modelFlops =
      work.modelFlopsPerToken * row.plan.tokens() * trainedFlopsShare(row.plan);
  if (row.metric != Metric::StepTime) {
    for (size_t i = 0; i < work.kinds.size(); ++i) {
      if (work.kinds[i].name != "block")
        continue;
      const LayerTime &time = priced.kinds[i].time;
      PassTime backward = time.backwardInput;
      backward += time.backwardWeight;
      bool forward = row.metric == Metric::LayerForward;
      result.value =
          (forward ? time.forward : backward).seconds(machine.device);
      result.modelFlops =
          work.kinds[i].modelFlops / 3 * (forward ? 1 : 2) * row.devices;
    }
    return result;
  }
  Expected<StepTime> step = priceStep(priced, row.plan, machine, pricer);
  if (!step)
    return step.takeError();
  result.value = step->total;
  return result;
}
