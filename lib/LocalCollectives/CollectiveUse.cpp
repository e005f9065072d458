//===- CollectiveUse.cpp - Collectives of a local program -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/LocalCollectives/CollectiveUse.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/LocalCollectives/OpRuns.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

/// Returns the number of runs of the op in one call of its function.
static int64_t getRuns(Operation *op) {
  int64_t runs = 1;
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp())
    runs *= getNumRuns(parent);
  return runs;
}

/// Returns the bytes of a device's operand of a collective.
static double getLocalBytes(RankedTensorType type) {
  int64_t bits =
      type.getElementType().isIndex() ? 64 : type.getElementTypeBitWidth();
  return static_cast<double>(type.getNumElements() * llvm::divideCeil(bits, 8));
}

CollectiveUse CollectivePricer::price(dist::CollectiveOpInterface op,
                                      CollectiveKind kind,
                                      RankedTensorType operand, double local) {
  if (!meshOp || op.getMeshAttr().getValue() != meshOp.getSymName()) {
    meshOp = dist::lookupMesh(op, op.getMeshAttr());
    mesh = meshOp.getMesh().toMesh();
    links = getMeshLinks(meshOp);
  }
  AxisList axes = op.getAxes().toAxes(mesh);
  CollectiveUse use{op, kind, operand, {}};
  llvm::raw_string_ostream os(use.axes);
  mesh.print(os, axes);
  double share = op.getShareSent();
  use.bytes = std::llround(
      share * double(getBytesReceived(
                  kind, static_cast<int64_t>(getLocalBytes(operand)),
                  numShards(axes))));
  use.time = getCollectiveTime(links, mesh, kind,
                               local + share * getLocalBytes(operand), axes);
  return use;
}

std::optional<CollectiveUse>
CollectivePricer::price(dist::CollectiveOpInterface op, double local) {
  std::optional<CollectiveKind> kind = op.getCollectiveKind();
  if (!kind)
    return std::nullopt;
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  return price(op, *kind, type, local);
}

std::vector<CollectiveUse>
CollectivePricer::price(dist::TransfersOpInterface op) {
  std::vector<CollectiveUse> uses;
  for (const dist::Transfer &transfer : op.getTransfers())
    uses.push_back(price(transfer.op, CollectiveKind::Permute, transfer.piece,
                         /*local=*/0));
  return uses;
}

std::vector<CollectiveUse> tessera::getCollectives(FunctionOpInterface func) {
  std::vector<CollectiveUse> uses;
  CollectivePricer pricer;
  double local = 0;
  func->walk<WalkOrder::PreOrder>([&](Operation *any) {
    if (auto sender = dyn_cast<dist::TransfersOpInterface>(any)) {
      for (CollectiveUse &use : pricer.price(sender)) {
        use.count = getRuns(sender);
        uses.push_back(std::move(use));
      }
      return WalkResult::skip();
    }
    auto op = dyn_cast<dist::CollectiveOpInterface>(any);
    if (!op)
      return WalkResult::advance();
    bool joins = isa<dist::BucketOp>(op->getParentOp()) && op->getPrevNode();
    std::optional<CollectiveUse> use = pricer.price(op, joins ? local : 0);
    if (!use)
      return WalkResult::advance();
    double own =
        getLocalBytes(cast<RankedTensorType>(op->getOperand(0).getType()));
    local = joins ? local + own : own;
    use->count = getRuns(op);
    // Members of a bucket are consecutive and count as one collective.
    if (joins) {
      uses.back().bytes += use->bytes;
      uses.back().time = use->time;
      ++uses.back().members;
      return WalkResult::advance();
    }
    uses.push_back(std::move(*use));
    return WalkResult::advance();
  });
  return uses;
}
