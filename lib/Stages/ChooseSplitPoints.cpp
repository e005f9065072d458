//===- ChooseSplitPoints.cpp - Where one stage ends -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Staging.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Plan/PlanFields.h"
#include <numeric>

using namespace mlir;
using namespace tessera;

/// Blocks of each stage; earlier stages get the remainder.
static std::vector<double> distributeEvenly(int64_t blocks, int64_t stages) {
  int64_t least = blocks / stages;
  std::vector<double> layers;
  for (int64_t stage = 0; stage < stages; ++stage)
    layers.push_back(double(least + (stage < blocks % stages)));
  return layers;
}

/// Checks that the given blocks per stage fit the model.
llvm::Error Staging::checkLayers() const {
  int stages = problem.stages();
  double sum = std::accumulate(layout.stageLayers.begin(),
                               layout.stageLayers.end(), 0.0);
  if (candidates.blocks == 0)
    return llvm::createStringError(
        "stage-layers: expects a model with numbered blocks (parameters such "
        "as 'blocks.3.w') but got none");
  if (sum == double(candidates.blocks) &&
      layout.stageLayers.size() == static_cast<size_t>(stages))
    return llvm::Error::success();
  return llvm::createStringError(
      "stage-layers: expects " + Twine(stages) +
      " numbers that add up to the " + Twine(candidates.blocks) +
      " blocks of the model but got " +
      findField<Layout>("stage-layers")->print(layout));
}

schedule::PipelineTimes
Staging::getTimes(const schedule::SplitPoints &points) const {
  MeshLinks links;
  Mesh mesh;
  auto module = accumulate->getParentOfType<ModuleOp>();
  for (auto op : module.getOps<dist::MeshOp>()) {
    links = getMeshLinks(op);
    mesh = op.getMesh().toMesh();
  }
  auto getSeconds = [&](double bytes) {
    return mesh.stageAxis
               ? getCollectiveTime(links, mesh, CollectiveKind::Permute, bytes,
                                   mesh.fullAxis(*mesh.stageAxis))
               : 0.0;
  };
  return schedule::makePipelineTimes(problem, split, points, getSeconds);
}

llvm::Error Staging::findPoints() {
  int stages = problem.stages();
  if (!layout.stageLayers.empty())
    if (llvm::Error error = checkLayers())
      return error;
  split = makeSplitProblem(accumulate, candidates.points, stages);
  int64_t most = layout.evenStages
                     ? std::max<int64_t>(candidates.blocks, 1)
                     : static_cast<int64_t>(split.segments.size());
  if (stages > most)
    return llvm::createStringError(
        "pp: expects at most " + Twine(most) +
        " stages, as many as the points "
        "at which the model can be split allow, but got " +
        Twine(stages));
  if (!layout.stageLayers.empty() || layout.evenStages) {
    auto found = findSplitPoints(
        candidates, layout.evenStages
                        ? distributeEvenly(candidates.blocks, stages)
                        : layout.stageLayers);
    if (!found)
      return found.takeError();
    points = std::move(*found);
    return llvm::Error::success();
  }
  if (llvm::Error error = split.check())
    return error;
  // Enough for a few moves of each point.
  constexpr int kMaxPrices = 400;
  points = schedule::improveSplit(
      split, schedule::minimizeLongest(split),
      [&](const schedule::SplitPoints &moved) {
        return pricer.price(pipeline, getTimes(moved)).makespan;
      },
      kMaxPrices);
  return llvm::Error::success();
}
