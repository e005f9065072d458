//===- Kernels.cpp - Groups ops into kernels ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op's depth is the number of kernels other than elementwise ones on the
// longest path to it. Two elementwise ops of one depth have no such kernel
// between them, so connected ones can run as one kernel.
//
// These are the kernels that a plan prices. The compiler's own are those of
// lib/Fusion/FusionGroups.cpp; ModelPlanTest.cpp
// (the_derived_backward_is_that_of_the_training_step) compares their bytes.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "dialects/Dist/Dist.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tessera;

static OpCost costOf(Operation *op) {
  if (isa<dist::CollectiveOpInterface>(op)) {
    OpCost cost;
    cost.kind = CostKind::Collective;
    return cost;
  }
  // Ops on tiny tensors (offsets, the mean of the loss) are free.
  OpCost cost = getOpCost(op);
  double bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += getTensorBytes(type);
  for (Type type : op->getResultTypes())
    bytes += getTensorBytes(type);
  if (bytes < 64)
    cost.kind = CostKind::None;
  return cost;
}

/// Sets the values that a kernel reads and writes.
static void finish(Kernel &kernel) {
  llvm::SmallPtrSet<Operation *, 8> inside(kernel.ops.begin(),
                                           kernel.ops.end());
  for (Operation *op : kernel.ops) {
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()) &&
          !inside.contains(operand.getDefiningOp()))
        kernel.reads.insert(operand);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !inside.contains(user); }))
        kernel.writes.insert(result);
  }
}

std::vector<Kernel> tessera::groupKernels(Block &block, bool fuse) {
  llvm::DenseMap<Operation *, OpCost> costs;
  llvm::DenseMap<Operation *, int64_t> depths;
  llvm::EquivalenceClasses<Operation *> groups;
  for (Operation &op : block.without_terminator()) {
    OpCost cost = costOf(&op);
    costs[&op] = cost;
    bool elementwise = cost.kind == CostKind::Elementwise;
    int64_t depth = 0;
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        depth = std::max(depth, depths.lookup(producer));
    bool counts = !elementwise && cost.kind != CostKind::None;
    depths[&op] = depth + (counts ? 1 : 0);
    if (!elementwise)
      continue;
    groups.insert(&op);
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (fuse && producer &&
          costs.lookup(producer).kind == CostKind::Elementwise &&
          depths.lookup(producer) == depth)
        groups.unionSets(producer, &op);
    }
  }

  // The position of a group is its last op's.
  llvm::DenseMap<Operation *, size_t> last;
  size_t position = 0;
  for (Operation &op : block.without_terminator()) {
    if (costs[&op].kind == CostKind::Elementwise)
      last[groups.getLeaderValue(&op)] = position;
    ++position;
  }
  std::vector<Kernel> kernels;
  llvm::MapVector<Operation *, Kernel> open;
  position = 0;
  for (Operation &op : block.without_terminator()) {
    const OpCost &cost = costs[&op];
    if (cost.kind == CostKind::Elementwise) {
      Operation *leader = groups.getLeaderValue(&op);
      Kernel &group = open[leader];
      bool first = group.ops.empty();
      group.ops.push_back(&op);
      group.cost.kind = CostKind::Elementwise;
      group.cost.flops += cost.flops;
      group.cost.linear = cost.linear && (first || group.cost.linear);
      if (last[leader] == position) {
        finish(group);
        kernels.push_back(std::move(group));
      }
    } else if (cost.kind != CostKind::None) {
      Kernel single;
      single.ops = {&op};
      single.cost = cost;
      finish(single);
      kernels.push_back(std::move(single));
    }
    ++position;
  }
  return kernels;
}
