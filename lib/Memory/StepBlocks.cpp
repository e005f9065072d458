//===- StepBlocks.cpp - Tensors of a step as blocks of an arena -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time is the number of an op, loops included; a loop has a second number for
// its end. What a loop reads from outside lives to that end, since it reads it
// again; what its body makes lives within one iteration.
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

/// The value whose memory `value` is a view of; null if it is none.
Value StepBlocks::getViewed(Value value) const {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) ||
      (op && partViews.contains(op)))
    return op->getOperand(0);
  return {};
}

/// The value that is no view, whose memory `value` lies in.
Value StepBlocks::getRoot(Value value) const {
  while (Value viewed = getViewed(value))
    value = viewed;
  return value;
}

/// True for a view of a part of a value.
bool StepBlocks::isPart(Value value) const {
  for (; Value viewed = getViewed(value); value = viewed)
    if (partViews.contains(value.getDefiningOp()))
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

/// The last time at which the value, or a view of it, is read.
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
// Values that must lie in a certain place
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
  return op && op->getBlock() == block && !isa<scf::ForOp>(op) &&
         !forced.count(value);
}

/// An op that reads `place`, or a view of it, when `writer` has begun to write
/// its result there: null if there is none.
Operation *StepBlocks::findReader(Value place, OpResult writer) const {
  Operation *op = writer.getOwner();
  int64_t begin = position.lookup(op);
  if (auto wait = dyn_cast<dist::WaitOp>(op))
    begin = position.lookup(wait.getFuture().getDefiningOp());
  for (OpOperand &use : place.getUses()) {
    Operation *user =
        place.getParentBlock()->findAncestorOpInBlock(*use.getOwner());
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
      if (getViewed(result) == place)
        if (Operation *reader = findReader(result, writer))
          return reader;
  }
  return nullptr;
}

/// Gives each value that the loop carries one place: its start, the region's
/// argument, what is yielded, the loop's result.
void StepBlocks::prepareLoop(scf::ForOp loop) {
  SmallPtrSet<Value, 8> starts;
  for (OpOperand &init : loop.getInitArgsMutable()) {
    Value root = getRoot(init.get());
    bool isOwn = isMadeIn(root, loop->getBlock()) && root.hasOneUse() &&
                 root == init.get();
    if (!isOwn)
      init.set(insertCopy(loop, init.get()));
  }
  Block *body = loop.getBody();
  Operation *yield = body->getTerminator();
  // What is passed on from another place first goes to one of its own.
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
    if (isPart(operand.get()) || !isMadeIn(root, body) ||
        findReader(argument, cast<OpResult>(root))) {
      root = insertCopy(yield, operand.get());
      operand.set(root);
      renumber();
    }
    forced[root] = argument;
  }
}

LogicalResult StepBlocks::prepareDonation(unsigned argument, unsigned result) {
  BlockArgument place = func.getArgument(argument);
  OpOperand &operand = func.front().getTerminator()->getOpOperand(result);
  Value root = getRoot(operand.get());
  if (root == place)
    return success();
  if (operand.get().getType() != place.getType())
    return func.emitError("expects argument ")
           << argument << " and the result that takes its place to have one "
           << "type but got " << place.getType() << " and "
           << operand.get().getType();
  if (isPart(operand.get()) || !isMadeIn(root, &func.front())) {
    root = insertCopy(func.front().getTerminator(), operand.get());
    operand.set(root);
    renumber();
  }
  forced[root] = place;
  Operation *reader = findReader(place, cast<OpResult>(root));
  if (!reader)
    return success();
  InFlightDiagnostic error = reader->emitError("expects argument ")
                             << argument << " to be read before result "
                             << result << " is written in its place";
  error.attachNote(root.getLoc()) << "written here";
  return error;
}

//===----------------------------------------------------------------------===//
// Values side by side
//===----------------------------------------------------------------------===//

/// Whether a copy takes elements that follow each other. A dimension of one
/// element is never stepped along.
static bool isConsecutive(rt::CopyOp copy) {
  ArrayRef<int64_t> shape = copy.getResult().getType().getShape();
  return llvm::all_of(
      llvm::zip_equal(shape, copy.getStrides(), rt::getRowMajorStrides(shape)),
      [](auto dim) {
        auto [size, stride, rowMajor] = dim;
        return size == 1 || stride == rowMajor;
      });
}

/// Copies that need not be done: of consecutive elements of what a collective
/// has made, and values that can be made where a collective wants them.
void StepBlocks::findParts() {
  if (!reuses)
    return;
  func.walk([&](rt::CopyOp copy) {
    auto type = copy.getResult().getType();
    int64_t base =
        int64_t(copy.getBase()) * rt::getElementBytes(type.getElementType());
    if (!copy.getStart() && base % problem.alignment == 0 &&
        isConsecutive(copy) &&
        getRoot(copy.getSource()).getDefiningOp<dist::WaitOp>())
      partViews.insert(copy);
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
    if (offset % problem.alignment == 0 && !isPart(source) &&
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
  ArenaBlock &place = problem.blocks[block];
  place.end = std::max(place.end, lastUse(value));
  setBlock(value, block);
  offsetIn[value] = offset;
  return true;
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

/// Puts a value where it must lie, if there is such a place.
bool StepBlocks::isForced(Value value, int64_t begin) {
  auto it = forced.find(value);
  if (it == forced.end())
    return isPacked(value, begin);
  unsigned block = blockOf.lookup(it->second);
  ArenaBlock &place = problem.blocks[block];
  place.end = std::max({place.end, begin, lastUse(value)});
  setBlock(value, block);
  offsetIn[value] = getOffsetInBlock(it->second);
  return true;
}

/// Puts a result over an operand that dies here, if the op allows one.
bool StepBlocks::reuse(Operation &op, unsigned result) {
  auto iface = dyn_cast<rt::ReuseOpInterface>(op);
  if (!iface || !reuses)
    return false;
  Value value = op.getResult(result);
  int64_t bytes =
      rt::getTensorBytes(cast<RankedTensorType>(value.getType())) + canary;
  for (OpOperand &operand : op.getOpOperands()) {
    if (!iface.mayReuse(result, operand.getOperandNumber()))
      continue;
    unsigned block = blockOf.lookup(operand.get());
    ArenaBlock &place = problem.blocks[block];
    bool isShared = llvm::any_of(op.getOpOperands(), [&](OpOperand &other) {
      return &other != &operand && blockOf.count(other.get()) &&
             blockOf.lookup(other.get()) == block;
    });
    bool isTaken = llvm::any_of(op.getResults(), [&](Value other) {
      return blockOf.count(other) && blockOf.lookup(other) == block;
    });
    if (place.end != position.lookup(&op) || place.bytes != bytes || isShared ||
        isTaken)
      continue;
    place.end = std::max(place.end, lastUse(value));
    setBlock(value, block);
    return true;
  }
  return false;
}

/// An all-reduce may write over its source, if nothing reads that later.
bool StepBlocks::reduceInPlace(dist::StartOp start, dist::WaitOp wait) {
  if (!isa<dist::AllReduceOp>(start.getBody().front().front()) || !reuses)
    return false;
  unsigned block = blockOf.lookup(start.getInput());
  ArenaBlock &place = problem.blocks[block];
  int64_t bytes =
      rt::getTensorBytes(cast<RankedTensorType>(start.getInput().getType())) +
      canary;
  if (place.end != position.lookup(wait) || place.bytes != bytes || bytes == 0)
    return false;
  // Nothing else reads the block while the collective runs.
  for (Value value : valuesIn[block])
    for (Operation *user : value.getUsers())
      if (user != wait && user != start &&
          position.lookup(user) > position.lookup(start))
        return false;
  place.end = std::max(place.end, lastUse(wait.getResult()));
  setBlock(wait.getResult(), block);
  return true;
}

void StepBlocks::addLoop(scf::ForOp loop) {
  for (auto [init, argument, result] : llvm::zip(
           loop.getInits(), loop.getRegionIterArgs(), loop.getResults())) {
    unsigned block = blockOf.lookup(init);
    ArenaBlock &place = problem.blocks[block];
    place.end = std::max({place.end, endOf(loop), lastUse(result)});
    setBlock(argument, block);
    setBlock(result, block);
    offsetIn[argument] = offsetIn[result] = getOffsetInBlock(init);
  }
  addOps(*loop.getBody());
}

void StepBlocks::addResults(Operation &op) {
  int64_t here = position.lookup(&op);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return addLoop(loop);
  if (auto start = dyn_cast<dist::StartOp>(op)) {
    dist::WaitOp wait = getWait(start);
    bool gathers = isa<dist::AllGatherOp>(start.getBody().front().front());
    if (!isForced(wait.getResult(), here) && !reduceInPlace(start, wait))
      addBlock(wait.getResult(), gathers ? Gathered : Activations, here);
    return;
  }
  if (isa<dist::WaitOp>(op))
    return;
  // Results that must lie somewhere come first: what they lie over is theirs.
  for (OpResult result : op.getResults())
    if (isa<RankedTensorType>(result.getType()))
      isForced(result, here);
  for (OpResult result : op.getResults()) {
    if (!isa<RankedTensorType>(result.getType()) || blockOf.count(result))
      continue;
    if (Value source = getViewed(result)) {
      setBlock(result, blockOf.lookup(source));
      offsetIn[result] = getOffsetInBlock(source);
      if (partViews.contains(&op)) {
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

/// A value that an optimizer reads, and what is reduced to make it.
void StepBlocks::markGradient(Value value) {
  value = getRoot(value);
  if (categories[blockOf.lookup(value)] == Activations)
    categories[blockOf.lookup(value)] = Gradients;
  if (auto wait = value.getDefiningOp<dist::WaitOp>())
    markGradient(wait.getSource());
  if (auto concat = value.getDefiningOp<rt::ConcatOp>())
    for (Value source : concat.getSources())
      markGradient(source);
}

/// A gradient is what is read, element by element, to write a parameter or its
/// state in its place, and is neither.
void StepBlocks::markGradients() {
  for (auto [value, place] : forced) {
    auto argument = dyn_cast<BlockArgument>(place);
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
  findParts();
  renumber();
  SmallVector<scf::ForOp> loops;
  func.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    prepareLoop(loop);
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
