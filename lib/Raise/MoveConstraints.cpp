//===- MoveConstraints.cpp - Constraints inside raised groups -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MoveConstraints.h"

#include "dialects/NN/NN.h"
#include "mlir/IR/Remarks.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tessera;

static int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

static dist::DimShardingAttr makeOpen(MLIRContext *context) {
  return dist::DimShardingAttr::get(context, {}, /*open=*/true,
                                    /*priority=*/-1);
}

dist::ShardingAttr tessera::moveSharding(dist::ShardingAttr sharding,
                                         ArrayRef<int64_t> dims, int64_t rank) {
  MLIRContext *context = sharding.getContext();
  SmallVector<dist::DimShardingAttr> moved(rank, makeOpen(context));
  int64_t kept = 0;
  for (auto [dim, to] : llvm::zip_equal(sharding.getDims(), dims))
    if (to >= 0) {
      moved[to] = dim;
      ++kept;
    }
  // An open dimension of the value must not take replicated axes.
  if (!sharding.getUnreduced().empty() ||
      (!sharding.getReplicated().empty() && kept != rank))
    return {};
  return dist::ShardingAttr::get(context, sharding.getMesh(), moved,
                                 sharding.getReplicated(), {},
                                 sharding.getReduction());
}

/// Whether two dimensions share an axis.
static bool usesTwice(ArrayRef<dist::DimShardingAttr> dims) {
  llvm::StringSet<> used;
  return llvm::any_of(dims, [&](dist::DimShardingAttr dim) {
    llvm::StringSet<> own;
    for (dist::AxisRefAttr axis : dim.getAxes())
      if (own.insert(axis.getName()).second && used.contains(axis.getName()))
        return true;
    for (const auto &name : own)
      used.insert(name.getKey());
    return false;
  });
}

bool tessera::joinSharding(dist::ShardingAttr &sharding,
                           dist::ShardingAttr more) {
  if (!more)
    return false;
  if (!sharding) {
    sharding = more;
    return true;
  }
  auto saysNothing = [](dist::DimShardingAttr dim) {
    return dim.getOpen() && dim.getAxes().empty();
  };
  SmallVector<dist::DimShardingAttr> dims;
  for (auto [own, other] :
       llvm::zip_equal(sharding.getDims(), more.getDims())) {
    if (own != other && !saysNothing(own) && !saysNothing(other))
      return false;
    dims.push_back(saysNothing(own) ? other : own);
  }
  if (sharding.getMesh() != more.getMesh() ||
      sharding.getReplicated() != more.getReplicated() || usesTwice(dims))
    return false;
  sharding = dist::ShardingAttr::get(sharding.getContext(), sharding.getMesh(),
                                     dims, sharding.getReplicated(), {},
                                     sharding.getReduction());
  return true;
}

//===----------------------------------------------------------------------===//
// Functions of rows
//===----------------------------------------------------------------------===//

/// The length of the shortest path from `from` to `to` through ops whose
/// results have the dimensions of their operands; none if there is no such
/// path.
static std::optional<int64_t> countOps(const RowRegion &region, Value from,
                                       Value to) {
  llvm::DenseMap<Value, int64_t> distances{{from, 0}};
  for (Operation *op : region.ops) {
    bool keepsDims =
        op->hasTrait<OpTrait::Elementwise>() ||
        isa<nn::StopGradientOp, nn::SoftmaxOp, dist::ConstraintOp>(op);
    if (!keepsDims || op->getResult(0) == from)
      continue;
    std::optional<int64_t> nearest;
    for (Value operand : op->getOperands()) {
      auto found = distances.find(operand);
      if (found != distances.end())
        nearest = std::min(nearest.value_or(found->second), found->second);
    }
    if (nearest)
      distances[op->getResult(0)] = *nearest + 1;
  }
  auto found = distances.find(to);
  return found == distances.end() ? std::nullopt : std::optional(found->second);
}

static bool moveConstraint(const RowRegion &region, dist::ConstraintOp op,
                           MovedConstraints &moved) {
  Value value = op.getResult();
  int64_t rank = rankOf(value), yRank = rankOf(region.y);
  if (rank < region.rank()) {
    // One number per row: y may have an additional last dimension.
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    return joinSharding(moved.y, moveSharding(op.getSharding(), dims, yRank));
  }
  std::optional<int64_t> before = countOps(region, region.x, op.getInput());
  std::optional<int64_t> after = countOps(region, value, region.y);
  if (!before && !after)
    return false;
  bool isToY = after && (!before || *after <= *before);
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  return joinSharding(isToY ? moved.y : moved.x,
                      moveSharding(op.getSharding(), dims, rank));
}

//===----------------------------------------------------------------------===//
// Linear functions of rows
//===----------------------------------------------------------------------===//

/// A row is rotated as a whole, so the dimensions after the leading ones must
/// not be sharded.
static bool moveConstraint(const LinearRows &region, dist::ConstraintOp op,
                           MovedConstraints &moved) {
  dist::ShardingAttr sharding = op.getSharding();
  int64_t leading = rankOf(region.x) - 1;
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, leading));
  // If a row has several dimensions, the first closed one stands for all of
  // them.
  bool isClosed = false;
  for (dist::DimShardingAttr dim : sharding.getDims().drop_front(leading)) {
    if (!dim.getAxes().empty())
      return false;
    dims.push_back(dim.getOpen() || isClosed ? -1 : leading);
    isClosed |= !dim.getOpen();
  }
  return joinSharding(moved.y, moveSharding(sharding, dims, leading + 1));
}

//===----------------------------------------------------------------------===//
// All constraints of a region
//===----------------------------------------------------------------------===//

template <typename Region>
static std::optional<MovedConstraints> moveAll(const Region &region,
                                               dist::ConstraintOp &blocking) {
  MovedConstraints moved;
  for (Operation *op : region.ops) {
    auto constraint = dyn_cast<dist::ConstraintOp>(op);
    if (!constraint || moveConstraint(region, constraint, moved))
      continue;
    blocking = constraint;
    return std::nullopt;
  }
  return moved;
}

std::optional<MovedConstraints>
tessera::moveConstraints(const RowRegion &region,
                         dist::ConstraintOp &blocking) {
  return moveAll(region, blocking);
}

std::optional<MovedConstraints>
tessera::moveConstraints(const LinearRows &region,
                         dist::ConstraintOp &blocking) {
  return moveAll(region, blocking);
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

Value tessera::constrain(OpBuilder &b, Location loc, Value value,
                         dist::ShardingAttr sharding) {
  if (!sharding)
    return value;
  return dist::ConstraintOp::create(b, loc, value, sharding);
}

void tessera::reportBlocked(dist::ConstraintOp blocking, StringRef op) {
  remark::missed(blocking.getLoc(),
                 remark::RemarkOpts::name("NotRaised").category("import"))
      << remark::add("nn.{0}: {1} inside of it cannot move to an operand or "
                     "the result",
                     op, blocking->getName().getStringRef());
}
