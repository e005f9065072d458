//===- StepBlocks.cpp - Tensors of a step as blocks of an arena -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time is the number of an op, including loops. A loop has a second number for
// its end, a pipeline one for each action of its list. A value that a loop
// reads from outside lives until the loop's end, since each iteration reads it.
// A value computed in the body lives within one iteration.
//
//===----------------------------------------------------------------------===//

#include "StepBlocks.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tessera;

dist::WaitOp tessera::getWait(dist::StartOp start) {
  return cast<dist::WaitOp>(*start.getFuture().getUsers().begin());
}

/// Returns the value that `value` is a view of; null if it is not a view.
Value StepBlocks::getViewed(Value value) const {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) ||
      (op && sliceViews.contains(op)))
    return op->getOperand(0);
  return {};
}

/// Returns the value, itself not a view, whose memory holds `value`.
Value StepBlocks::getRoot(Value value) const {
  while (Value viewed = getViewed(value))
    value = viewed;
  return value;
}

/// True for a view of a slice of a value.
bool StepBlocks::isSlice(Value value) const {
  for (; Value viewed = getViewed(value); value = viewed)
    if (sliceViews.contains(value.getDefiningOp()))
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

void StepBlocks::number(Block &block) {
  for (Operation &op : block) {
    position[&op] = ++numSteps;
    opAt.push_back(&op);
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      number(*loop.getBody());
      loopEnd[&op] = ++numSteps;
      opAt.push_back(&op);
    }
    if (auto pipeline = dyn_cast<rt::PipelineOp>(op)) {
      // Adds a number for each action of the list.
      int64_t more = pipeline.getList().count(' ');
      numSteps += more;
      opAt.append(more, &op);
      loopEnd[&op] = numSteps;
    }
  }
}

void StepBlocks::renumber() {
  position.clear();
  loopEnd.clear();
  opAt.assign(1, nullptr);
  numSteps = 0;
  number(func.front());
}

int64_t StepBlocks::endOf(Operation *op) const {
  auto it = loopEnd.find(op);
  return it == loopEnd.end() ? position.lookup(op) : it->second;
}

/// Returns the last time at which the value, or a view of it, is read.
int64_t StepBlocks::lastUse(Value value) const {
  int64_t last = 0;
  for (Operation *user : value.getUsers()) {
    last = std::max(
        last, endOf(value.getParentBlock()->findAncestorOpInBlock(*user)));
    for (Value result : user->getResults())
      if (getViewed(result) == value)
        last = std::max(last, lastUse(result));
  }
  return last;
}

std::optional<unsigned> StepBlocks::getBlock(Value value) const {
  auto it = blockOf.find(value);
  return it == blockOf.end() ? std::nullopt
                             : std::optional<unsigned>(it->second);
}

Operation *StepBlocks::getFirst(unsigned block) const {
  return opAt[problem.blocks[block].begin];
}

Operation *StepBlocks::getLast(unsigned block) const {
  return opAt[problem.blocks[block].end];
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void StepBlocks::setBlock(Value value, unsigned block) {
  blockOf[value] = block;
  valuesIn.resize(problem.blocks.size());
  valuesIn[block].push_back(value);
}

unsigned StepBlocks::addBlock(Value value, Category category, int64_t begin) {
  auto type = cast<RankedTensorType>(value.getType());
  unsigned block = problem.blocks.size();
  int64_t end = reuses ? std::max(begin, lastUse(value)) : numSteps;
  problem.blocks.push_back(
      {rt::getTensorBytes(type) + canary, reuses ? begin : 0, end});
  categories.push_back(category);
  setBlock(value, block);
  return block;
}

void StepBlocks::addArguments() {
  for (BlockArgument argument : func.getArguments()) {
    unsigned i = argument.getArgNumber();
    Category category =
        func.getArgAttr(i, nn::NNDialect::kParamAttr)   ? Parameters
        : func.getArgAttr(i, nn::NNDialect::kStateAttr) ? State
                                                        : Inputs;
    unsigned block = addBlock(argument, category, 0);
    // Arguments keep their values from step to step.
    problem.blocks[block].end = numSteps;
  }
}

/// Stores a value at its required location, if it has one.
bool StepBlocks::isForced(Value value, int64_t begin) {
  auto it = forced.find(value);
  if (it == forced.end())
    return isPacked(value, begin);
  unsigned block = blockOf.lookup(it->second);
  ArenaBlock &taken = problem.blocks[block];
  taken.end = std::max({taken.end, begin, lastUse(value)});
  setBlock(value, block);
  offsetIn[value] = getOffsetInBlock(it->second);
  return true;
}

/// Stores a carried result of an op at the address of its init.
void StepBlocks::carry(Operation &op, Value init, Value result) {
  unsigned block = blockOf.lookup(init);
  ArenaBlock &taken = problem.blocks[block];
  taken.end = std::max({taken.end, endOf(&op), lastUse(result)});
  setBlock(result, block);
  offsetIn[result] = getOffsetInBlock(init);
}

void StepBlocks::addLoop(scf::ForOp loop) {
  for (auto [init, argument, result] : llvm::zip(
           loop.getInits(), loop.getRegionIterArgs(), loop.getResults())) {
    carry(*loop, init, result);
    setBlock(argument, blockOf.lookup(init));
    offsetIn[argument] = getOffsetInBlock(init);
  }
  addOps(*loop.getBody());
}

void StepBlocks::addResults(Operation &op) {
  int64_t here = position.lookup(&op);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return addLoop(loop);
  if (auto pipeline = dyn_cast<rt::PipelineOp>(op)) {
    for (auto [init, result] :
         llvm::zip(pipeline.getInits(), pipeline.getResults()))
      carry(op, init, result);
    return;
  }
  if (auto start = dyn_cast<dist::StartOp>(op)) {
    dist::WaitOp wait = getWait(start);
    bool gathers = isa<dist::AllGatherOp>(start.getBody().front().front());
    if (!isForced(wait.getResult(), here) && !reduceInPlace(start, wait))
      addBlock(wait.getResult(), gathers ? Gathered : Activations, here);
    return;
  }
  if (isa<dist::WaitOp>(op))
    return;
  // Results at required locations come first: they decide what is overwritten.
  for (OpResult result : op.getResults())
    if (isa<RankedTensorType>(result.getType()))
      isForced(result, here);
  for (OpResult result : op.getResults()) {
    if (!isa<RankedTensorType>(result.getType()) || blockOf.count(result))
      continue;
    if (Value source = getViewed(result)) {
      setBlock(result, blockOf.lookup(source));
      offsetIn[result] = getOffsetInBlock(source);
      if (sliceViews.contains(&op)) {
        auto copy = cast<rt::CopyOp>(op);
        offsetIn[result] +=
            int64_t(copy.getBase()) *
            rt::getElementBytes(copy.getResult().getType().getElementType());
      }
    } else if (!reuse(op, result.getResultNumber()))
      addBlock(result, isa<dist::AllGatherOp>(op) ? Gathered : Activations,
               here);
  }
}

void StepBlocks::addOps(Block &block) {
  for (Operation &op : block)
    addResults(op);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Marks a value that an optimizer reads, and the values that it is reduced
/// from.
void StepBlocks::markGradient(Value value) {
  value = getRoot(value);
  if (categories[blockOf.lookup(value)] == Activations)
    categories[blockOf.lookup(value)] = Gradients;
  if (auto wait = value.getDefiningOp<dist::WaitOp>())
    markGradient(wait.getSources().front());
  if (auto concat = value.getDefiningOp<rt::ConcatOp>())
    for (Value source : concat.getSources())
      markGradient(source);
}

/// Marks gradients: operands, other than parameters and state, with the shape
/// of a parameter or state that an op updates in place.
void StepBlocks::markGradients() {
  for (auto [value, memory] : forced) {
    auto argument = dyn_cast<BlockArgument>(memory);
    if (!argument || argument.getOwner() != &func.front())
      continue;
    auto type = cast<RankedTensorType>(value.getType());
    for (Value operand : value.getDefiningOp()->getOperands()) {
      auto read = dyn_cast<RankedTensorType>(operand.getType());
      if (read && type.getRank() > 0 && read.getShape() == type.getShape())
        markGradient(operand);
    }
  }
}

LogicalResult StepBlocks::build() {
  findSlices();
  renumber();
  SmallVector<scf::ForOp> loops;
  func.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    prepareLoop(loop);
  for (auto pipeline : func.front().getOps<rt::PipelineOp>())
    prepareInits(pipeline, pipeline.getInitsMutable());
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (auto result = func.getArgAttrOfType<IntegerAttr>(
            i, dist::DistDialect::kDonateAttr))
      if (failed(prepareDonation(i, result.getInt())))
        return failure();
  addArguments();
  addOps(func.front());
  markGradients();
  return success();
}
