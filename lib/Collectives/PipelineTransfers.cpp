//===- PipelineTransfers.cpp - Transfers between pp ranks -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A list gives the chunks that receive and their micro-batches; the chunk's
// tasks give the values. In phase partition the tasks are regions, later they
// are functions.
//
//===----------------------------------------------------------------------===//

#include "dialects/RT/RT.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Collectives/CollectiveReport.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/Schedule/ActionList.h"

using namespace mlir;
using namespace tessera;
using schedule::ActionKind;

namespace {

/// The values that a chunk receives for one micro-batch.
struct Received {
  int64_t values = 0, bytes = 0;

  void add(Type type) {
    ++values;
    bytes += static_cast<int64_t>(getTensorBytes(type));
  }
};

/// The values received, by chunk: activations for its forward and gradients for
/// its backward.
struct ChunkTransfers {
  llvm::DenseMap<int64_t, Received> activations, gradients;
};

} // namespace

static ChunkTransfers getChunks(dist::PipelineOp op) {
  ChunkTransfers chunks;
  for (auto task : op.getBody().getOps<dist::TaskOp>()) {
    Received received;
    for (BlockArgument argument : task.getBody().getArguments())
      if (task.getSource(argument.getArgNumber()).getKind() ==
          dist::SourceKind::Recv)
        received.add(argument.getType());
    bool isForward = task.getKind() == dist::TaskKind::Forward;
    auto &side = isForward ? chunks.activations : chunks.gradients;
    if (received.values)
      side[task.getChunk()] = received;
  }
  return chunks;
}

static ChunkTransfers getChunks(rt::PipelineOp op) {
  ChunkTransfers chunks;
  for (func::FuncOp function : op.getTaskFunctions()) {
    auto task = function->getAttrOfType<rt::TaskAttr>(rt::RTDialect::kTaskAttr);
    // A pair repeats the tasks that it is built from.
    if (!task || function->hasAttr(rt::RTDialect::kBesideAttr))
      continue;
    Received activations, gradients;
    for (BlockArgument argument : function.getArguments()) {
      auto place = function.getArgAttrOfType<rt::PlaceAttr>(
          argument.getArgNumber(), rt::RTDialect::kPlaceAttr);
      if (place && place.getKind() == rt::PlaceKind::Activation)
        activations.add(argument.getType());
      if (place && place.getKind() == rt::PlaceKind::Gradient)
        gradients.add(argument.getType());
    }
    if (activations.values)
      chunks.activations[task.getChunk()] = activations;
    if (gradients.values)
      chunks.gradients[task.getChunk()] = gradients;
  }
  return chunks;
}

/// Adds up the receives of the list.
static void addReceives(CollectiveRow &row, StringRef list,
                        const ChunkTransfers &chunks,
                        llvm::function_ref<double(int64_t)> getTime) {
  auto actions = schedule::parseActions(list);
  if (!actions)
    return llvm::consumeError(actions.takeError());
  for (const schedule::Action &action : *actions) {
    if (action.kind != ActionKind::ReceiveActivation &&
        action.kind != ActionKind::ReceiveGradient)
      continue;
    const auto &side = action.kind == ActionKind::ReceiveActivation
                           ? chunks.activations
                           : chunks.gradients;
    Received received = side.lookup(action.chunk);
    row.count += received.values;
    row.bytes += received.bytes;
    row.time += getTime(received.bytes);
  }
}

namespace {

/// The links between pp ranks.
struct StageLinks {
  Mesh mesh;
  MeshLinks links;
  AxisList axes;

  /// Seconds of a message.
  double getTime(int64_t bytes) const {
    return getCollectiveTime(links, mesh, CollectiveKind::Permute,
                             static_cast<double>(bytes), axes);
  }
};

} // namespace

static std::optional<StageLinks> findStageLinks(Operation *op) {
  auto meshes = op->getParentOfType<ModuleOp>().getOps<dist::MeshOp>();
  if (!llvm::hasSingleElement(meshes))
    return std::nullopt;
  dist::MeshOp meshOp = *meshes.begin();
  Mesh mesh = meshOp.getMesh().toMesh();
  if (!mesh.stageAxis)
    return std::nullopt;
  AxisList axes{mesh.fullAxis(*mesh.stageAxis)};
  return StageLinks{std::move(mesh), getMeshLinks(meshOp), std::move(axes)};
}

double tessera::getExchangeSeconds(dist::ExchangeOp op) {
  std::optional<StageLinks> links = findStageLinks(op);
  return links ? links->getTime(op.getBytesReceived()) : 0;
}

std::vector<CollectiveRow>
tessera::getPipelineTransfers(FunctionOpInterface func) {
  std::optional<StageLinks> links = findStageLinks(func);
  if (!links)
    return {};
  auto getTime = [&](int64_t bytes) { return links->getTime(bytes); };
  CollectiveRow receives, exchanges;
  receives.name = "recv";
  exchanges.name = "exchange";
  // The share hidden by the list is unknown here.
  receives.exposedBytes = CollectiveRow::kUnknown;
  func->walk([&](Operation *op) {
    if (auto pipeline = dyn_cast<dist::PipelineOp>(op)) {
      addReceives(receives, pipeline.getList(), getChunks(pipeline), getTime);
    } else if (auto pipeline = dyn_cast<rt::PipelineOp>(op)) {
      addReceives(receives, pipeline.getList(), getChunks(pipeline), getTime);
    } else if (auto exchange = dyn_cast<dist::ExchangeOp>(op)) {
      int64_t bytes = exchange.getBytesReceived();
      ++exchanges.count;
      exchanges.bytes += bytes;
      exchanges.exposedBytes += bytes;
      exchanges.time += getTime(bytes);
    }
  });
  std::vector<CollectiveRow> rows;
  for (CollectiveRow *row : {&receives, &exchanges}) {
    llvm::raw_string_ostream os(row->axes);
    links->mesh.print(os, links->axes);
    if (row->count)
      rows.push_back(std::move(*row));
  }
  return rows;
}
