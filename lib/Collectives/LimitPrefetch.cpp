//===- LimitPrefetch.cpp - How early gathers of parameters start ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OverlapBuilder.h"
#include "tessera/Interfaces/ModelBlocks.h"

using namespace mlir;
using namespace tessera;

void tessera::limitPrefetch(BlockTasks &tasks) {
  OverlapProblem &problem = tasks.problem;
  auto isTensor = [](Value value) {
    return isa<RankedTensorType>(value.getType());
  };
  // Values computed from parameters alone.
  llvm::DenseSet<Value> resting;
  // The layer follows from the first op that needs a task. Ops that only pass a
  // value on (transfers, views) count as the op that needs their result.
  SmallVector<std::pair<unsigned, unsigned>> gathers;
  std::vector<unsigned> needed(problem.tasks.size(), problem.tasks.size());
  for (unsigned i = problem.tasks.size(); i-- > 0;) {
    const OverlapTask &task = problem.tasks[i];
    bool passesOn = task.isTransfer() || task.seconds == 0;
    for (unsigned other : task.after)
      needed[other] = std::min(needed[other], passesOn ? needed[i] : i);
  }
  for (auto [i, op] : llvm::enumerate(tasks.ops)) {
    bool fromResting = op->getNumOperands() &&
                       llvm::all_of(op->getOperands(),
                                    [&](Value operand) {
                                      return !isTensor(operand) ||
                                             resting.contains(operand) ||
                                             getParameterName(operand);
                                    }) &&
                       llvm::any_of(op->getOperands(), isTensor);
    if (!fromResting)
      continue;
    bool isTransfer = problem.tasks[i].isTransfer();
    Operation *maker = op;
    if (auto start = dyn_cast<dist::StartOp>(op); start && isTransfer)
      maker = findWait(start);
    for (Value result : maker->getResults())
      resting.insert(result);
    if (isTransfer)
      gathers.push_back({needed[i], i});
  }
  llvm::sort(gathers);
  std::optional<StringRef> layer;
  unsigned layerBegin = 0, before = 0;
  for (auto [use, i] : gathers) {
    StringRef name = getParameterBlock(tasks.ops[i]->getOperand(0),
                                       FollowOperands::FirstTensor)
                         .value_or("");
    if (layer != name) {
      before = layer ? layerBegin : 0;
      layerBegin = use;
      layer = name;
    }
    problem.tasks[i].notBefore = std::min(before, i);
  }
}
