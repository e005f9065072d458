//===- ProveExperts.cpp - Rows by expert ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed rows are on each device a value of its own: which rows they are
// depends on the ids there. So they only pass through: unpacking gives the
// tensor by expert that was packed. Both lose nothing if the tensor is 0 where
// the ids do not go, and the reference says so of the results of the op that
// has these ids.
//
//===----------------------------------------------------------------------===//

#include "PartitionProver.h"
#include <numeric>

using namespace mlir;
using namespace tessera;

/// The placement of a dimension with a block for each device.
static Placements::Id getOwnBlocks(Placements &placements) {
  const Mesh &mesh = placements.getMesh();
  AxisList axes;
  for (unsigned axis = 0; axis < mesh.sizes.size(); ++axis)
    axes.push_back(mesh.fullAxis(axis));
  std::vector<int32_t> blocks(placements.getNumDevices());
  std::iota(blocks.begin(), blocks.end(), 0);
  return placements.intern(placements.getNumDevices(), std::move(blocks), axes);
}

/// Checks that the tensor by expert `values`, of `type` on a device, is 0
/// wherever `ids` do not go to the experts from `offset` on.
bool PartitionProver::checkRouted(Operation *op, const ShardState &values,
                                  RankedTensorType type, Value ids,
                                  Value offset) {
  auto [maker, number] = reference.findMaker(values.value);
  if (!maker)
    return giveUp(op, "rows of a value that no op of the reference makes");
  auto routed = dyn_cast<nn::RoutedOpInterface>(maker->op);
  if (!routed ||
      !llvm::is_contained(routed.getRowResults(), maker->op->getResult(number)))
    return refute(op, "the value has elements that are in no row");
  const ShardState &routing = states.get(ids);
  if (routing.value != reference.lookup(routed.getIds())) {
    verdict.reference = maker->op->getLoc();
    return refuteValue(op, "its ids are not those of the op that made the rows",
                       routing.value, reference.lookup(routed.getIds()));
  }
  if (routing.isPartial())
    return refute(op, "its ids are still to be reduced");
  size_t tokens = routing.dims.size() - 1;
  for (size_t dim = 0; dim < tokens; ++dim) {
    const DimState &mine = values.dims[dim], &other = routing.dims[dim];
    if (mine.uniform || other.uniform)
      return giveUp(op, "equal rows along dimension " + Twine(dim));
    if (mine.placement != other.placement)
      return refute(op, "its ids are those of other tokens: " +
                            explainDifference(placements, other.placement,
                                              mine.placement));
  }
  auto whole = cast<RankedTensorType>(reference.getValue(routing.value).type);
  if (cast<RankedTensorType>(ids.getType()).getShape().back() !=
      whole.getShape().back())
    return refute(op, "it has a part of the ids of a token");
  const DimState &experts = values.dims[tokens];
  if (experts.uniform)
    return giveUp(op, "equal rows for all experts");
  const ShardState *first = offset ? &states.get(offset) : nullptr;
  if (!isOffset(placements, first, experts.placement, type.getDimSize(tokens)))
    return refute(op, "its offset is not where each device's experts begin");
  return true;
}

bool PartitionProver::visitPackRows(dist::PackRowsOp op) {
  auto type = cast<RankedTensorType>(op.getValues().getType());
  ShardState values = states.get(op.getValues());
  if (!checkRouted(op, values, type, op.getIds(), op.getOffset()))
    return false;
  // Unpacking gives zeros for elements without a row.
  for (DimState &dim : values.dims)
    if (dim.padding != PadContent::Zero)
      dim.padding = PadContent::Any;
  ShardState rows;
  rows.value = reference.addValue(op.getRows().getType(), op.getLoc());
  rows.dims.resize(2);
  rows.dims[0].placement = getOwnBlocks(placements);
  packed.insert({rows.value, {std::move(values), type}});
  setState(op.getRows(), std::move(rows));
  return true;
}

bool PartitionProver::visitUnpackRows(dist::UnpackRowsOp op) {
  const ShardState &rows = states.get(op.getRows());
  auto it = packed.find(rows.value);
  if (it == packed.end())
    return giveUp(op, "rows that were not packed");
  const auto &[values, type] = it->second;
  if (rows.isPartial() || rows.share != 1 || rows.dims[0].uniform ||
      rows.dims[0].placement != getOwnBlocks(placements))
    return refute(op, "its rows are those of another device");
  if (op.getValues().getType() != type)
    return refute(op, "its rows were packed from another shape");
  if (!checkRouted(op, values, type, op.getIds(), op.getOffset()))
    return false;
  setState(op.getValues(), values);
  return true;
}
