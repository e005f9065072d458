//===- PlanArena.cpp - Offsets for the tensors of a step function ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Memory/ArenaPlan.h"
#include "tessera/Memory/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {
#define GEN_PASS_DEF_PLANARENAPASS
#include "tessera/Memory/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

namespace {

/// What a tensor is, for the report.
enum Category { Parameters, Inputs, Activations, Collectives, NumCategories };
constexpr StringLiteral kCategoryNames[] = {"parameters", "inputs",
                                            "activations", "collectives"};

/// The tensors of a step function as blocks of an arena.
class StepBlocks {
public:
  explicit StepBlocks(func::FuncOp func) : func(func) {}
  void build();
  void annotate(const ArenaPlan &plan);

  ArenaProblem problem;
  SmallVector<Category> categories;

private:
  unsigned addBlock(Value value, Category category, int64_t begin);
  void addArguments();
  void addResults(Operation &op);
  bool reuse(Operation &op, unsigned result);
  bool reduceInPlace(dist::StartOp start, dist::WaitOp wait);
  int64_t lastUse(Value value) const;

  func::FuncOp func;
  llvm::DenseMap<Operation *, int64_t> position;
  llvm::DenseMap<Value, unsigned> blockOf;
  int64_t numSteps = 0;
};

} // namespace

/// The value whose memory `value` is a view of; null if it is none.
static Value getViewed(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return op->getOperand(0);
  return {};
}

/// The wait of a started collective; the future has one use.
static dist::WaitOp getWait(dist::StartOp start) {
  return cast<dist::WaitOp>(*start.getFuture().getUsers().begin());
}

/// The last step in which the value, or a view of it, is read.
int64_t StepBlocks::lastUse(Value value) const {
  int64_t last = 0;
  for (Operation *user : value.getUsers()) {
    last = std::max(last, position.lookup(user));
    for (Value result : user->getResults())
      if (getViewed(result) == value)
        last = std::max(last, lastUse(result));
  }
  return last;
}

unsigned StepBlocks::addBlock(Value value, Category category, int64_t begin) {
  auto type = cast<RankedTensorType>(value.getType());
  unsigned block = problem.blocks.size();
  problem.blocks.push_back(
      {rt::getTensorBytes(type), begin, std::max(begin, lastUse(value))});
  categories.push_back(category);
  blockOf[value] = block;
  return block;
}

void StepBlocks::addArguments() {
  for (BlockArgument argument : func.getArguments()) {
    bool isParameter = bool(
        func.getArgAttr(argument.getArgNumber(), nn::NNDialect::kParamAttr));
    unsigned block = addBlock(argument, isParameter ? Parameters : Inputs, 0);
    // Arguments keep their values from step to step.
    problem.blocks[block].end = numSteps;
  }
}

/// Puts a result over an operand that dies here, if the op allows one.
bool StepBlocks::reuse(Operation &op, unsigned result) {
  auto iface = dyn_cast<rt::ReuseOpInterface>(op);
  if (!iface)
    return false;
  Value value = op.getResult(result);
  int64_t bytes = rt::getTensorBytes(cast<RankedTensorType>(value.getType()));
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
    blockOf[value] = block;
    return true;
  }
  return false;
}

/// An all-reduce may write over its source, if nothing reads that later.
bool StepBlocks::reduceInPlace(dist::StartOp start, dist::WaitOp wait) {
  if (!isa<dist::AllReduceOp>(start.getBody().front().front()))
    return false;
  unsigned block = blockOf.lookup(start.getInput());
  ArenaBlock &place = problem.blocks[block];
  if (place.end != position.lookup(wait) || place.bytes == 0)
    return false;
  // Nothing else reads the block while the collective runs.
  for (auto [value, other] : blockOf) {
    if (other != block)
      continue;
    for (Operation *user : value.getUsers())
      if (user != wait && user != start &&
          position.lookup(user) > position.lookup(start))
        return false;
  }
  place.end = std::max(place.end, lastUse(wait.getResult()));
  blockOf[wait.getResult()] = block;
  return true;
}

void StepBlocks::addResults(Operation &op) {
  int64_t here = position.lookup(&op);
  if (auto start = dyn_cast<dist::StartOp>(op)) {
    dist::WaitOp wait = getWait(start);
    if (!reduceInPlace(start, wait))
      addBlock(wait.getResult(), Collectives, here);
    return;
  }
  if (isa<dist::WaitOp>(op))
    return;
  bool isCollective = isa<dist::CollectiveOpInterface, dist::RecvOp>(op);
  for (OpResult result : op.getResults()) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    if (Value source = getViewed(result))
      blockOf[result] = blockOf.lookup(source);
    else if (!reuse(op, result.getResultNumber()))
      addBlock(result, isCollective ? Collectives : Activations, here);
  }
}

void StepBlocks::build() {
  for (Operation &op : func.front())
    position[&op] = ++numSteps;
  addArguments();
  for (Operation &op : func.front())
    addResults(op);
}

void StepBlocks::annotate(const ArenaPlan &plan) {
  Builder builder(func.getContext());
  auto offsetsOf = [&](ValueRange values) {
    SmallVector<int64_t> offsets;
    for (Value value : values) {
      auto it = blockOf.find(value);
      offsets.push_back(it == blockOf.end() ? -1 : plan.offsets[it->second]);
    }
    return builder.getDenseI64ArrayAttr(offsets);
  };
  for (Operation &op : func.front()) {
    if (auto start = dyn_cast<dist::StartOp>(op))
      op.setAttr(RTDialect::kOffsetsAttr,
                 offsetsOf(getWait(start).getResult()));
    else if (llvm::any_of(op.getResultTypes(),
                          [](Type t) { return isa<RankedTensorType>(t); }))
      op.setAttr(RTDialect::kOffsetsAttr, offsetsOf(op.getResults()));
  }
  func->setAttr(RTDialect::kOffsetsAttr, offsetsOf(func.getArguments()));
  func->setAttr(RTDialect::kArenaBytesAttr,
                builder.getI64IntegerAttr(plan.bytes));

  int64_t step = 0;
  int64_t peak = problem.lowerBound(&step);
  int64_t bytes[NumCategories] = {};
  for (auto [block, category] : llvm::zip(problem.blocks, categories))
    if (block.begin <= step && step <= block.end)
      bytes[category] += llvm::alignTo(block.bytes, problem.alignment);
  SmallVector<NamedAttribute> memory;
  for (int c = 0; c < NumCategories; ++c)
    memory.push_back(builder.getNamedAttr(kCategoryNames[c],
                                          builder.getI64IntegerAttr(bytes[c])));
  memory.push_back(builder.getNamedAttr(
      "gaps", builder.getI64IntegerAttr(plan.bytes - peak)));
  func->setAttr(RTDialect::kMemoryAttr, builder.getDictionaryAttr(memory));
}

namespace {
struct PlanArenaPass : tessera::impl::PlanArenaPassBase<PlanArenaPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func->hasAttr(RTDialect::kKernelAttr))
      return;
    StepBlocks blocks(func);
    blocks.build();
    if (auto error = blocks.problem.check()) {
      func.emitError() << *error;
      return signalPassFailure();
    }
    ArenaPlan plan = planArena(blocks.problem);
    if (auto error = plan.verify(blocks.problem)) {
      func.emitError() << "the arena plan is wrong: " << *error;
      return signalPassFailure();
    }
    blocks.annotate(plan);
    remark::analysis(
        func.getLoc(),
        remark::RemarkOpts::name("ArenaPlanned").category("memory"))
        << remark::metric("ArenaBytes", plan.bytes)
        << remark::metric("LowerBoundBytes", blocks.problem.lowerBound())
        << remark::metric("Blocks", int64_t(blocks.problem.blocks.size()));
  }
};
} // namespace
