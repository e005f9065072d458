//===- FactorSizes.cpp - Padded sizes of factors --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorSizes.h"
#include "tessera/Interfaces/Limits.h"
#include "tessera/Interfaces/PaddingOpInterface.h"
#include <numeric>

using namespace mlir;
using namespace tessera;

FactorSizes::FactorSizes(FunctionOpInterface func, const Mesh &mesh,
                         int64_t multiple)
    : mesh(mesh) {
  Block &block = func.getFunctionBody().front();
  auto addShardings = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    dist::ShardingAttr attr =
        type ? dist::getSharding(value) : dist::ShardingAttr();
    if (!attr)
      return;
    Sharding sharding = attr.toSharding(mesh);
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      addAxes(getNode(value, dim), sharding.dims[dim].axes);
  };
  for (BlockArgument arg : block.getArguments())
    addShardings(arg);
  SmallVector<Block *> blocks = dist::getBlocks(func);
  for (Block *each : blocks)
    for (Operation &op : *each) {
      for (Value result : op.getResults())
        addShardings(result);
      addOp(&op);
    }
  for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands()))
    if (dist::ShardingAttr attr = dist::getResultSharding(func, i))
      for (auto [dim, s] : llvm::enumerate(attr.toSharding(mesh).dims))
        addAxes(getNode(value, dim), s.axes);
  tieDonated(func);
  if (multiple != 0)
    findAligned(blocks);
  solve(multiple);
}

//===----------------------------------------------------------------------===//
// Components
//===----------------------------------------------------------------------===//

unsigned FactorSizes::add(int64_t size) {
  nodes.push_back({static_cast<unsigned>(nodes.size()), size, {}, 0});
  return nodes.size() - 1;
}

unsigned FactorSizes::find(unsigned node) const {
  while (nodes[node].parent != node) {
    nodes[node].parent = nodes[nodes[node].parent].parent;
    node = nodes[node].parent;
  }
  return node;
}

/// Unites two components. The root has the smaller size, and the other sizes
/// are multiples of it. Returns false, without uniting, if they are not.
bool FactorSizes::unite(unsigned a, unsigned b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return true;
  if (nodes[b].size < nodes[a].size)
    std::swap(a, b);
  if (nodes[a].size != nodes[b].size &&
      (nodes[a].size == 0 || nodes[b].size % nodes[a].size != 0))
    return false;
  nodes[b].parent = a;
  for (const std::pair<int64_t, AxisList> &added : nodes[b].uses)
    for (const AxisRef &axis : added.second) {
      auto *it = llvm::find_if(
          nodes[a].uses, [&](auto &use) { return use.first == added.first; });
      if (it == nodes[a].uses.end()) {
        nodes[a].uses.push_back({added.first, {axis}});
        continue;
      }
      if (!overlapsAny(it->second, axis))
        it->second.push_back(axis);
      else if (!llvm::is_contained(it->second, axis)) {
        llvm::erase_if(it->second,
                       [&](const AxisRef &r) { return r.axis == axis.axis; });
        it->second.push_back(mesh.fullAxis(axis.axis));
      }
    }
  nodes[b].uses.clear();
  return true;
}

unsigned FactorSizes::getNode(Value value, int64_t dim) {
  auto [it, isNew] = dims.try_emplace({value, dim}, nodes.size());
  if (isNew)
    add(cast<RankedTensorType>(value.getType()).getDimSize(dim));
  return it->second;
}

void FactorSizes::addAxes(unsigned node, ArrayRef<AxisRef> axes) {
  if (axes.empty())
    return;
  unsigned other = add(nodes[node].size);
  nodes[other].uses.push_back({nodes[node].size, AxisList(axes)});
  unite(node, other);
}

bool tessera::passesOn(Operation *op) {
  return op->hasTrait<OpTrait::IsTerminator>() || isa<dist::AccumulateOp>(op);
}

/// A slice has the dimensions after the first of the tensor that it is taken
/// from or stacked in. A sum has the dimensions of its terms.
void FactorSizes::addAccumulate(dist::AccumulateOp op) {
  auto tie = [&](Value a, Value b, int64_t shift) {
    int64_t rank = cast<RankedTensorType>(b.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim)
      unite(getNode(a, dim + shift), getNode(b, dim));
  };
  for (auto [whole, slice] :
       llvm::zip(op.getSlices(), op.getBody().front().getArguments()))
    tie(whole, slice, 1);
  for (auto [i, value] : llvm::enumerate(op.getYield().getValues()))
    tie(op.getResult(i), value, op.isStacked(i));
}

void FactorSizes::addOp(Operation *op) {
  if (auto accumulate = dyn_cast<dist::AccumulateOp>(op))
    addAccumulate(accumulate);
  if (passesOn(op))
    return;
  ShardingRule rule = getShardingRule(op);
  firstFactor[op] = nodes.size();
  unsigned first = nodes.size();
  for (const Factor &factor : rule.factors)
    add(factor.size);
  llvm::SmallBitVector fixed = getUnpaddable(op, rule);
  if (auto pins = op->getAttrOfType<ArrayAttr>(dist::DistDialect::kFactorsAttr))
    for (auto [i, axes] : llvm::enumerate(pins.getAsRange<dist::AxesAttr>()))
      if (!fixed.test(i))
        addAxes(first + i, axes.toAxes(mesh));
  auto tie = [&](Value value, const TensorFactors &tensor) {
    for (auto [dim, factors] : llvm::enumerate(tensor))
      if (!factors.empty() && !fixed.test(factors.front()) &&
          !unite(getNode(value, dim), first + factors.front()))
        fixed.set(factors.front());
  };
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    tie(value, tensor);
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    tie(value, tensor);
  if (fixed.any())
    unpaddable[op] = std::move(fixed);
}

/// A result that replaces an argument has its size.
void FactorSizes::tieDonated(FunctionOpInterface func) {
  Block &block = func.getFunctionBody().front();
  for (BlockArgument arg : block.getArguments()) {
    auto donated = func.getArgAttrOfType<IntegerAttr>(
        arg.getArgNumber(), dist::DistDialect::kDonateAttr);
    auto type = dyn_cast<RankedTensorType>(arg.getType());
    ValueRange results = block.getTerminator()->getOperands();
    if (!donated || !type || donated.getInt() < 0 ||
        donated.getInt() >= static_cast<int64_t>(results.size()))
      continue;
    Value result = results[donated.getInt()];
    if (result.getType() != type)
      continue;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      unite(getNode(arg, dim), getNode(result, dim));
  }
}

void FactorSizes::solve(int64_t alignment) {
  for (Node &node : nodes) {
    if (&nodes[node.parent] != &node)
      continue;
    node.padded = node.size;
    // Sizes too large for a tensor are not enlarged.
    if (node.size > kMaxElements)
      continue;
    int64_t multiple = 1;
    for (auto &[size, axes] : node.uses) {
      int64_t ratio = node.size > 0 ? size / node.size : 1;
      int64_t count = numShards(axes);
      multiple = std::lcm(multiple, count / std::gcd(count, ratio));
    }
    node.padded = llvm::alignTo(node.size, multiple);
    // Each shard of a matmul is rounded up. Smaller shards, in which the tensor
    // is stored, only have to divide it.
    int64_t unit = node.minorShards;
    if (unit)
      unit *= getAlignment(llvm::divideCeil(node.padded, unit), alignment,
                           node.vector);
    if (unit && node.padded % unit) {
      if (!node.whyFixed)
        node.padded = llvm::alignTo(node.padded, std::lcm(multiple, unit));
      unaligned.push_back({node.size, node.padded, node.whyFixed});
    }
    anyPadded |= node.padded != node.size;
  }
}

int64_t FactorSizes::getPaddedNode(unsigned node) const {
  const Node &root = nodes[find(node)];
  return root.padded == root.size ? nodes[node].size
                                  : nodes[node].size / root.size * root.padded;
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

int64_t FactorSizes::getPadded(Value value, int64_t dim) const {
  auto it = dims.find({value, dim});
  return it == dims.end()
             ? cast<RankedTensorType>(value.getType()).getDimSize(dim)
             : getPaddedNode(it->second);
}

int64_t FactorSizes::getPadded(Operation *op, unsigned factor) const {
  unsigned node = firstFactor.lookup(op) + factor;
  auto it = unpaddable.find(op);
  return it != unpaddable.end() && it->second.test(factor)
             ? nodes[node].size
             : getPaddedNode(node);
}

/// Returns false if the op only takes or computes true elements along the
/// dimension.
bool FactorSizes::isTied(Operation *op, ArrayRef<TensorFactors> tensors,
                         unsigned index, unsigned dim) const {
  if (index >= tensors.size() || dim >= tensors[index].size() ||
      tensors[index][dim].empty())
    return false;
  auto it = unpaddable.find(op);
  return it == unpaddable.end() ||
         !it->second.test(tensors[index][dim].front());
}

Type FactorSizes::getTypeAt(Operation *op, Value value, unsigned index,
                            ArrayRef<TensorFactors> tensors) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return value.getType();
  SmallVector<int64_t> shape(type.getShape());
  for (auto [dim, size] : llvm::enumerate(shape))
    if (isTied(op, tensors, index, dim))
      size = getPadded(value, dim);
  return type.clone(shape);
}

Type FactorSizes::getTypeAt(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  Type padded = getPaddedType(operand.get());
  if (padded == operand.get().getType())
    return padded;
  if (isa<dist::AccumulateOp>(op)) { // The first dimension counts.
    auto type = cast<RankedTensorType>(padded);
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = cast<RankedTensorType>(operand.get().getType()).getDimSize(0);
    return type.clone(shape);
  }
  if (passesOn(op))
    return padded;
  return getTypeAt(op, operand.get(), operand.getOperandNumber(),
                   getShardingRule(op).operands);
}

Type FactorSizes::getTypeAt(OpResult result) const {
  Operation *op = result.getOwner();
  Type padded = getPaddedType(result);
  if (padded == result.getType() || passesOn(op))
    return padded;
  return getTypeAt(op, result, result.getResultNumber(),
                   getShardingRule(op).results);
}

Type FactorSizes::getPaddedType(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return value.getType();
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    shape.push_back(getPadded(value, dim));
  return RankedTensorType::get(shape, type.getElementType());
}
