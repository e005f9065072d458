//===- DeviceAxes.cpp - Axes along which devices differ -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/LocalCollectives/DeviceAxes.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Sets of axes
//===----------------------------------------------------------------------===//

/// Returns the sub-axes of `axis` before and after `other`.
static AxisList subtract(const AxisRef &axis, const AxisRef &other) {
  int64_t low = std::max(axis.preSize, other.preSize);
  int64_t high = std::min(axis.end(), other.end());
  if (axis.axis != other.axis || low >= high || low % axis.preSize ||
      axis.end() % high)
    return {axis};
  AxisList rest;
  if (low > axis.preSize)
    rest.push_back({axis.axis, axis.preSize, low / axis.preSize});
  if (axis.end() > high)
    rest.push_back({axis.axis, high, axis.end() / high});
  return rest;
}

AxisList tessera::withoutAxes(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
  AxisList left(a);
  for (const AxisRef &other : b) {
    AxisList next;
    for (const AxisRef &axis : left)
      llvm::append_range(next, subtract(axis, other));
    left = std::move(next);
  }
  return left;
}

AxisList tessera::uniteAxes(AxisList a, ArrayRef<AxisRef> b) {
  llvm::append_range(a, withoutAxes(b, a));
  return a;
}

//===----------------------------------------------------------------------===//
// The analysis
//===----------------------------------------------------------------------===//

DeviceAxes::DeviceAxes(FunctionOpInterface func, const Mesh &mesh)
    : mesh(mesh) {
  for (unsigned axis = 0; axis < mesh.sizes.size(); ++axis)
    if (mesh.sizes[axis] > 1)
      all.push_back(mesh.fullAxis(axis));
  Block &body = func.getFunctionBody().front();
  for (BlockArgument argument : body.getArguments()) {
    auto attr = func.getArgAttrOfType<dist::ShardingAttr>(
        argument.getArgNumber(), dist::DistDialect::kShardingAttr);
    AxisList axes = all;
    if (attr) {
      Sharding sharding = attr.toSharding(mesh);
      axes = uniteAxes(sharding.dimAxes(), sharding.unreduced);
    }
    axesOf[argument] = axes;
  }
  visit(body);
}

ArrayRef<AxisRef> DeviceAxes::get(Value value) const {
  auto it = axesOf.find(value);
  return it == axesOf.end() ? ArrayRef<AxisRef>(all) : it->second;
}

AxisList DeviceAxes::uniteAll(ValueRange values) const {
  AxisList axes;
  for (Value value : values)
    axes = uniteAxes(axes, get(value));
  return axes;
}

void DeviceAxes::setAll(ValueRange values, const AxisList &axes) {
  for (Value value : values)
    axesOf[value] = axes;
}

void DeviceAxes::visit(Block &block) {
  for (Operation &op : block)
    visit(op);
}

void DeviceAxes::visitCollective(dist::CollectiveOpInterface op,
                                 const AxisList &operand) {
  AxisList moved = op.getAxes().toAxes(mesh);
  bool makesEqual =
      isa<dist::AllGatherOp, dist::AllReduceOp, dist::BroadcastOp>(op);
  setAll(op->getResults(),
         makesEqual ? withoutAxes(operand, moved) : uniteAxes(operand, moved));
}

/// Derives the axes of region arguments from the operands, one by one if there
/// are as many, and the axes of results from the yielded values.
void DeviceAxes::visitRegions(Operation &op, const AxisList &operands) {
  // A loop-carried value may come from the end of an iteration.
  bool isLoop = isa<LoopLikeOpInterface>(op);
  AxisList yielded = operands;
  for (Region &region : op.getRegions()) {
    for (Block &block : region) {
      bool isEach = !isLoop && block.getNumArguments() == op.getNumOperands();
      for (BlockArgument argument : block.getArguments())
        axesOf[argument] =
            isLoop   ? all
            : isEach ? AxisList(get(op.getOperand(argument.getArgNumber())))
                     : operands;
      visit(block);
      yielded =
          uniteAxes(yielded, uniteAll(block.getTerminator()->getOperands()));
    }
  }
  setAll(op.getResults(), isLoop ? all : yielded);
  bool isOneBlock = op.getNumRegions() == 1 && op.getRegion(0).hasOneBlock();
  if (isLoop || !isOneBlock)
    return;
  Operation *yield = op.getRegion(0).front().getTerminator();
  if (yield->getNumOperands() == op.getNumResults())
    for (auto [result, value] :
         llvm::zip_equal(op.getResults(), yield->getOperands()))
      axesOf[result] = AxisList(get(value));
}

void DeviceAxes::visit(Operation &op) {
  AxisList operands = uniteAll(op.getOperands());
  if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op))
    return visitCollective(collective, operands);
  if (auto partial = dyn_cast<dist::ToPartialOp>(op))
    operands = uniteAxes(operands, partial.getAxes().toAxes(mesh));
  if (auto offset = dyn_cast<dist::AxisOffsetOp>(op))
    operands = uniteAxes(operands, offset.getAxes().toAxes(mesh));
  if (auto wait = dyn_cast<dist::WaitOp>(op))
    operands = AxisList(get(wait.getFuture()));
  // Only some devices receive.
  if (isa<dist::RecvOp>(op))
    operands = all;
  if (op.getNumRegions())
    return visitRegions(op, operands);
  setAll(op.getResults(), operands);
}
