//===- RingSteps.cpp - The steps of an attention around a ring ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Rings/RingSteps.h"
#include "AttentionPieces.h"
#include "dialects/RT/RT.h"

using namespace mlir;
using namespace tessera;

/// Whether a query of the positions [query, query + size) sees one of the keys
/// [key, key + size), where the two are the same or have none in common.
static bool meet(int64_t query, int64_t key, int64_t size, bool causal,
                 std::optional<int64_t> window) {
  if (!causal || query == key)
    return true;
  int64_t nearest = query - (key + size - 1);
  return nearest > 0 && (!window || nearest < static_cast<int64_t>(*window));
}

/// Whether a query of some device sees a key of the chunk that it has in a
/// step.
template <typename Op>
static bool isNeeded(Op attention, const RingSteps &ring, int64_t step) {
  nn::ZigzagAttr order = attention.getOrderAttr();
  int64_t count = ring.count, size = ring.size;
  // Positions follow each other within a piece of a chunk.
  int64_t pieces = order ? countPieces(order, size) : 1, piece = size / pieces;
  // So many pieces are an error when they are expanded.
  if (order && pieces > 2 * order.getShards())
    return true;
  for (int64_t device = 0; device < count; ++device)
    for (int64_t q = 0; q < size; q += piece)
      for (int64_t k = 0; k < size; k += piece) {
        int64_t query = device * size + q;
        int64_t key = (device + count - step) % count * size + k;
        if (order) {
          query = order.getPosition(query);
          key = order.getPosition(key);
        }
        if (meet(query, key, piece, attention.getCausal(),
                 attention.getWindow()))
          return true;
      }
  return false;
}

/// Whether halves of chunks are all that a query needs to know of positions.
template <typename Op>
static bool isZigzag(Op attention, const RingSteps &ring) {
  nn::ZigzagAttr order = attention.getOrderAttr();
  return order && order.getShards() == ring.count && attention.getCausal() &&
         !attention.getWindow() && !attention.getStarts() &&
         !attention.getBias() && !attention.getKeySize();
}

template <typename Op> static void findSteps(Op attention, RingSteps &ring) {
  ring.isZigzag = isZigzag(attention, ring);
  for (int64_t step = 0; step < ring.count; ++step)
    if (ring.isZigzag || isNeeded(attention, ring, step))
      ring.steps.push_back(step);
}

RingSteps tessera::getRingSteps(dist::RingAttentionOp op) {
  dist::AllGatherOp gather = op.getGathers().front();
  Mesh mesh = dist::lookupMesh(op, gather.getMeshAttr()).getMesh().toMesh();
  RingSteps ring;
  ring.count = numShards(gather.getAxes().toAxes(mesh));
  ring.size = cast<RankedTensorType>(gather.getInput().getType())
                  .getDimSize(gather.getDim());
  ring.roundsGradients = rt::getTarget(op) != rt::Target::Host;
  if (auto attention = dyn_cast<nn::AttentionOp>(op.getAttention()))
    findSteps(attention, ring);
  else
    findSteps(cast<nn::AttentionBackwardOp>(op.getAttention()), ring);
  return ring;
}

std::vector<dist::Transfer>
tessera::getRingTransfers(dist::RingAttentionOp op) {
  RingSteps ring = getRingSteps(op);
  SmallVector<dist::AllGatherOp, 2> gathers = op.getGathers();
  SmallVector<dist::ReduceScatterOp, 2> scatters = op.getScatters();
  bool hasGradients = isa<nn::AttentionBackwardOp>(op.getAttention());
  std::vector<dist::Transfer> transfers;
  auto send = [&](bool isGradient, int64_t distance, bool isWide) {
    for (auto [number, gather] : llvm::enumerate(gathers)) {
      auto chunk = cast<RankedTensorType>(gather.getInput().getType());
      dist::CollectiveOpInterface of = gather;
      if (isGradient && number < scatters.size())
        of = scatters[number];
      transfers.push_back({of, isWide ? widenType(chunk) : chunk, distance});
    }
  };
  for (unsigned number = 1; number < ring.steps.size(); ++number) {
    int64_t distance = ring.getDistance(number);
    send(/*isGradient=*/false, distance, /*isWide=*/false);
    // The first gradient is not summed yet; halves of chunks are two.
    if (hasGradients && number > 1)
      send(/*isGradient=*/true, distance,
           ring.isZigzag || number > 2 || !ring.roundsGradients);
  }
  if (hasGradients && ring.steps.size() > 1)
    send(/*isGradient=*/true, -ring.steps.back(),
         ring.isZigzag || ring.steps.size() > 2 || !ring.roundsGradients);
  return transfers;
}

namespace {
struct RingTransfers
    : dist::TransfersOpInterface::ExternalModel<RingTransfers,
                                                dist::RingAttentionOp> {
  std::vector<dist::Transfer> getTransfers(Operation *op) const {
    return getRingTransfers(cast<dist::RingAttentionOp>(op));
  }
};
} // namespace

void tessera::registerRingTransfers(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, dist::DistDialect *) {
    dist::RingAttentionOp::attachInterface<RingTransfers>(*context);
  });
}
