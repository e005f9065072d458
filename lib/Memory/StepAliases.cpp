//===- StepAliases.cpp - Tensors in the memory of others ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a loop carries, what replaces a donated argument, slices that are views,
// and what a collective sends side by side.
//
//===----------------------------------------------------------------------===//

#include "StepBlocks.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Values that must be stored where another one is
//===----------------------------------------------------------------------===//

Value StepBlocks::insertCopy(Operation *before, Value value) {
  OpBuilder b(before);
  auto type = cast<RankedTensorType>(value.getType());
  return rt::CopyOp::create(b, before->getLoc(), type, value,
                            rt::getRowMajorStrides(type.getShape()),
                            /*base=*/0, Value(), IntegerAttr());
}

/// Whether an op of this block makes the value, in memory of its own that
/// nothing else has been promised.
bool StepBlocks::isMadeIn(Value value, Block *block) const {
  Operation *op = value.getDefiningOp();
  return op && op->getBlock() == block &&
         !isa<scf::ForOp, rt::PipelineOp>(op) && !forced.count(value);
}

/// An op that reads `memory`, or a view of it, when `writer` has begun to write
/// its result there: null if there is none.
Operation *StepBlocks::findReader(Value memory, OpResult writer) const {
  Operation *op = writer.getOwner();
  int64_t begin = position.lookup(op);
  if (auto wait = dyn_cast<dist::WaitOp>(op))
    begin = position.lookup(wait.getFuture().getDefiningOp());
  for (OpOperand &use : memory.getUses()) {
    Operation *user =
        memory.getParentBlock()->findAncestorOpInBlock(*use.getOwner());
    if (user == op && begin == position.lookup(op)) {
      auto iface = dyn_cast<rt::ReuseOpInterface>(op);
      if (!iface ||
          !iface.mayReuse(writer.getResultNumber(), use.getOperandNumber()))
        return op;
      continue;
    }
    if (endOf(user) >= begin)
      return user;
    for (Value result : use.getOwner()->getResults())
      if (getViewed(result) == memory)
        if (Operation *reader = findReader(result, writer))
          return reader;
  }
  return nullptr;
}

/// Gives `op` inits that nothing else reads, since it writes over them.
void StepBlocks::prepareInits(Operation *op, MutableOperandRange inits) {
  for (OpOperand &init : inits) {
    Value root = getRoot(init.get());
    bool isOwn = isMadeIn(root, op->getBlock()) && root.hasOneUse() &&
                 root == init.get();
    if (!isOwn)
      init.set(insertCopy(op, init.get()));
  }
  renumber();
}

/// Gives each value that the loop carries one offset: its start, the region's
/// argument, what is yielded, the loop's result.
void StepBlocks::prepareLoop(scf::ForOp loop) {
  prepareInits(loop, loop.getInitArgsMutable());
  Block *body = loop.getBody();
  Operation *yield = body->getTerminator();
  // What is passed on from other memory is first copied to its own.
  for (auto [argument, operand] :
       llvm::zip(loop.getRegionIterArgs(), yield->getOpOperands())) {
    Value root = getRoot(operand.get());
    if (isa<BlockArgument>(root) && root != argument)
      operand.set(insertCopy(yield, operand.get()));
  }
  renumber();
  for (auto [argument, operand] :
       llvm::zip(loop.getRegionIterArgs(), yield->getOpOperands())) {
    Value root = getRoot(operand.get());
    if (root == argument)
      continue;
    if (isSlice(operand.get()) || !isMadeIn(root, body) ||
        findReader(argument, cast<OpResult>(root))) {
      root = insertCopy(yield, operand.get());
      operand.set(root);
      renumber();
    }
    forced[root] = argument;
  }
}

LogicalResult StepBlocks::prepareDonation(unsigned argument, unsigned result) {
  BlockArgument donated = func.getArgument(argument);
  OpOperand &operand = func.front().getTerminator()->getOpOperand(result);
  Value root = getRoot(operand.get());
  if (root == donated)
    return success();
  if (operand.get().getType() != donated.getType())
    return func.emitError("expects argument ")
           << argument << " and the result that takes its place to have one "
           << "type but got " << donated.getType() << " and "
           << operand.get().getType();
  if (isSlice(operand.get()) || !isMadeIn(root, &func.front())) {
    root = insertCopy(func.front().getTerminator(), operand.get());
    operand.set(root);
    renumber();
  }
  forced[root] = donated;
  Operation *reader = findReader(donated, cast<OpResult>(root));
  if (!reader)
    return success();
  // Nobody has said that it can be done in place.
  if (func->hasAttr(rt::RTDialect::kTaskAttr)) {
    forced.erase(root);
    root = insertCopy(func.front().getTerminator(), operand.get());
    operand.set(root);
    renumber();
    forced[root] = donated;
    return success();
  }
  InFlightDiagnostic error = reader->emitError("expects argument ")
                             << argument << " to be read before result "
                             << result << " is written in its place";
  error.attachNote(root.getLoc()) << "written here";
  return error;
}

//===----------------------------------------------------------------------===//
// Values side by side
//===----------------------------------------------------------------------===//

/// Whether a copy of a part of `root` may be a view of it: nothing writes over
/// that before the last use of the copy, and it takes no more memory.
bool StepBlocks::mayBeSlicedBy(Value root, rt::CopyOp copy) {
  if (root.getDefiningOp<dist::WaitOp>())
    return true;
  if (auto argument = dyn_cast<BlockArgument>(root))
    return argument.getOwner() == &func.front() &&
           !func->hasAttr(rt::RTDialect::kTaskAttr) &&
           !func.getArgAttr(argument.getArgNumber(),
                            dist::DistDialect::kDonateAttr);
  // What a loop or a pipeline carries is written over in each round.
  if (!isMadeIn(root, copy->getBlock()))
    return false;
  if (lastUse(root) >= lastUse(copy.getResult()))
    return true;
  // Parts that make up the whole take its place.
  int64_t bytes = 0;
  for (Operation *user : root.getUsers()) {
    auto part = dyn_cast<rt::CopyOp>(user);
    if (!part || !part.mayBeInPlace() || part->getBlock() != copy->getBlock())
      return false;
    bytes += rt::getTensorBytes(part.getResult().getType());
  }
  return bytes >= rt::getTensorBytes(cast<RankedTensorType>(root.getType()));
}

/// Copies that need not be done: of consecutive elements of what lives as long,
/// and values that can be made where a collective wants them.
void StepBlocks::findSlices() {
  if (!reuses)
    return;
  renumber();
  func.walk([&](rt::CopyOp copy) {
    if (copy.mayBeInPlace() && mayBeSlicedBy(getRoot(copy.getSource()), copy))
      sliceViews.insert(copy);
  });
  renumber();
  func.walk([&](rt::ConcatOp concat) { packOperands(concat); });
}

/// True if all that reads the value, or a view of it, is a collective.
static bool isOnlySent(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user))
      return isOnlySent(user->getResult(0));
    return isa<dist::StartOp, dist::WaitOp>(user);
  });
}

/// What the value is made from in its place: the operand that the op may write
/// over, if that ends there; null if there is none.
Value StepBlocks::findStart(Value value, Block *block) const {
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  auto iface = dyn_cast<rt::ReuseOpInterface>(op);
  if (!iface)
    return {};
  for (OpOperand &operand : op->getOpOperands()) {
    Value start = operand.get();
    if (start.getType() != value.getType() ||
        !iface.mayReuse(result.getResultNumber(), operand.getOperandNumber()) ||
        lastUse(start) != position.lookup(op) || getRoot(start) != start ||
        llvm::count(op->getOperands(), start) != 1)
      continue;
    if (auto loop = start.getDefiningOp<scf::ForOp>()) {
      start = loop.getInits()[cast<OpResult>(start).getResultNumber()];
      if (!start.hasOneUse())
        continue;
    }
    if (isMadeIn(start, block) && !packed.count(start))
      return start;
  }
  return {};
}

/// Makes the value, and what it is made from, at `offset` of the result of
/// `concat`.
void StepBlocks::pack(Value value, rt::ConcatOp concat, int64_t offset) {
  while (value) {
    packed[value] = {concat, offset};
    value = findStart(value, concat->getBlock());
  }
}

void StepBlocks::packOperands(rt::ConcatOp concat) {
  ArrayRef<int64_t> shape = concat.getResult().getType().getShape();
  bool isFlat = llvm::all_of(shape.take_front(concat.getDim()),
                             [](int64_t size) { return size == 1; });
  if (!isFlat || !isOnlySent(concat.getResult()))
    return;
  int64_t offset = 0;
  for (Value source : concat.getSources()) {
    int64_t bytes =
        rt::getTensorBytes(cast<RankedTensorType>(source.getType()));
    Value root = getRoot(source);
    // A sum is where it began.
    if (auto pipeline = root.getDefiningOp<rt::PipelineOp>())
      if (Value init =
              pipeline.getInits()[cast<OpResult>(root).getResultNumber()];
          init.hasOneUse())
        root = init;
    if (offset % problem.alignment == 0 && !isSlice(source) &&
        isMadeIn(root, concat->getBlock()) && !packed.count(root) &&
        !root.getDefiningOp<rt::ConcatOp>())
      pack(root, concat, offset);
    offset += bytes;
  }
}

/// Puts a value where rt.concat would.
bool StepBlocks::isPacked(Value value, int64_t begin) {
  auto it = packed.find(value);
  if (it == packed.end())
    return false;
  auto [concat, offset] = it->second;
  auto known = blockOf.find(concat.getResult());
  unsigned block = known != blockOf.end()
                       ? known->second
                       : addBlock(concat.getResult(), Activations, begin);
  ArenaBlock &taken = problem.blocks[block];
  taken.end = std::max(taken.end, lastUse(value));
  setBlock(value, block);
  offsetIn[value] = offset;
  return true;
}
