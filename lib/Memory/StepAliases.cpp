//===- StepAliases.cpp - Tensors that share memory ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loop-carried values, results that replace a donated argument, slices that are
// views, and values packed next to each other for a collective.
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

/// True if an op of this block computes the value, in memory of its own that is
/// not assigned to another value.
bool StepBlocks::isMadeIn(Value value, Block *block) const {
  Operation *op = value.getDefiningOp();
  return op && op->getBlock() == block &&
         !isa<scf::ForOp, rt::PipelineOp>(op) && !forced.count(value);
}

/// Returns an op that reads `memory`, or a view of it, after `writer` has begun
/// to write its result there; null if there is none.
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

/// Gives `op` inits without other readers, since it overwrites them.
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

/// Gives each loop-carried value one offset: its start, the region's argument,
/// the yielded value and the loop's result.
void StepBlocks::prepareLoop(scf::ForOp loop) {
  prepareInits(loop, loop.getInitArgsMutable());
  Block *body = loop.getBody();
  Operation *yield = body->getTerminator();
  // First copies values that are yielded from other memory.
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
  // A task was not written by the user, and the copy of an element takes no
  // time: insert a copy instead of failing.
  auto type = cast<RankedTensorType>(donated.getType());
  if (func->hasAttr(rt::RTDialect::kTaskAttr) || type.getNumElements() == 1) {
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

/// True if a copy of a part of `root` may be a view of it: nothing overwrites
/// that part before the last use of the copy, and the view takes no more
/// memory.
bool StepBlocks::mayBeSlicedBy(Value root, rt::CopyOp copy) {
  if (root.getDefiningOp<dist::WaitOp>())
    return true;
  if (auto argument = dyn_cast<BlockArgument>(root))
    return argument.getOwner() == &func.front() &&
           !func->hasAttr(rt::RTDialect::kTaskAttr) &&
           !func.getArgAttr(argument.getArgNumber(),
                            dist::DistDialect::kDonateAttr);
  // Loop-carried values, and values carried by a pipeline, are overwritten in
  // each iteration.
  if (!isMadeIn(root, copy->getBlock()))
    return false;
  if (lastUse(root) >= lastUse(copy.getResult()))
    return true;
  // Parts that make up the whole replace it.
  int64_t bytes = 0;
  for (Operation *user : root.getUsers()) {
    auto part = dyn_cast<rt::CopyOp>(user);
    if (!part || !part.mayBeInPlace() || part->getBlock() != copy->getBlock())
      return false;
    bytes += rt::getTensorBytes(part.getResult().getType());
  }
  return bytes >= rt::getTensorBytes(cast<RankedTensorType>(root.getType()));
}

/// Finds copies that can be elided: of consecutive elements of a value that
/// lives as long, and values that can be computed directly in the buffer of a
/// collective.
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

/// True if only collectives read the value, or a view of it.
static bool isOnlySent(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user))
      return isOnlySent(user->getResult(0));
    return isa<dist::StartOp, dist::WaitOp>(user);
  });
}

/// Returns the operand that the value is computed from in place: one that the
/// op may overwrite, and that dies there; null if there is none.
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

/// Places the value, and the values that it is computed from in place, at
/// `offset` of the result of `concat`.
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
    // A sum is stored at the address of its start value.
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

/// Stores a value at its position in an rt.concat.
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
