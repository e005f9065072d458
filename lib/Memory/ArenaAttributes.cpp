//===- ArenaAttributes.cpp - Attributes of a planned arena ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArenaAttributes.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

static constexpr StringLiteral kCategoryNames[] = {
    "parameters",  "gradients", "optimizer_state",
    "activations", "gathered",  "inputs"};

/// Returns the offset of each value; -1 for values that are not tensors.
static DenseI64ArrayAttr offsetsOf(ValueRange values, const StepBlocks &blocks,
                                   const ArenaPlan &plan, Builder &b) {
  SmallVector<int64_t> offsets;
  for (Value value : values) {
    std::optional<unsigned> block = blocks.getBlock(value);
    offsets.push_back(
        block ? plan.offsets[*block] + blocks.getOffsetInBlock(value) : -1);
  }
  return b.getDenseI64ArrayAttr(offsets);
}

void tessera::annotateOffsets(func::FuncOp func, const StepBlocks &blocks,
                              const ArenaPlan &plan) {
  Builder b(func.getContext());
  func.walk([&](Operation *op) {
    if (op == func.getOperation() || op->getParentOfType<dist::StartOp>())
      return;
    if (auto start = dyn_cast<dist::StartOp>(op))
      op->setAttr(RTDialect::kOffsetsAttr,
                  offsetsOf(getWait(start).getResult(), blocks, plan, b));
    else if (llvm::any_of(op->getResultTypes(),
                          [](Type t) { return isa<RankedTensorType>(t); }))
      op->setAttr(RTDialect::kOffsetsAttr,
                  offsetsOf(op->getResults(), blocks, plan, b));
  });
  func->setAttr(RTDialect::kOffsetsAttr,
                offsetsOf(func.getArguments(), blocks, plan, b));
}

/// Sets the bytes by category at the peak of the live bytes. The rest of the
/// arena, gaps and space unused at that time, is workspace.
static void annotateMemory(func::FuncOp func, const StepBlocks &blocks,
                           const ArenaPlan &plan) {
  Builder b(func.getContext());
  const ArenaProblem &problem = blocks.problem;
  int64_t step = 0;
  int64_t peak = problem.lowerBound(&step);
  int64_t bytes[NumCategories] = {};
  for (auto [block, category] : llvm::zip(problem.blocks, blocks.categories))
    if (block.begin <= step && step <= block.end)
      bytes[category] += llvm::alignTo(block.bytes, problem.alignment);
  SmallVector<NamedAttribute> memory;
  for (int c = 0; c < NumCategories; ++c)
    memory.push_back(
        b.getNamedAttr(kCategoryNames[c], b.getI64IntegerAttr(bytes[c])));
  memory.push_back(
      b.getNamedAttr("workspace", b.getI64IntegerAttr(plan.bytes - peak)));
  func->setAttr(RTDialect::kMemoryAttr, b.getDictionaryAttr(memory));
}

/// Remarks on the values that take most of the memory at the peak.
static void reportPeak(const StepBlocks &blocks) {
  constexpr size_t kReported = 10;
  const ArenaProblem &problem = blocks.problem;
  int64_t step = 0;
  problem.lowerBound(&step);
  SmallVector<unsigned> live;
  for (auto [i, block] : llvm::enumerate(problem.blocks))
    if (block.begin <= step && step <= block.end && blocks.getFirst(i))
      live.push_back(i);
  llvm::stable_sort(live, [&](unsigned a, unsigned b) {
    return problem.blocks[a].bytes > problem.blocks[b].bytes;
  });
  live.resize(std::min(live.size(), kReported));
  for (unsigned i : live) {
    Operation *first = blocks.getFirst(i), *last = blocks.getLast(i);
    remark::analysis(first->getLoc(),
                     remark::RemarkOpts::name("PeakMemory").category("memory"))
        << remark::add("{0}, live when most is, until {1}",
                       kCategoryNames[blocks.categories[i]],
                       last ? last->getName().getStringRef() : "the end")
        << remark::metric("Bytes", problem.blocks[i].bytes);
  }
}

/// The attributes have triples {offset, bytes, 1 if the contents may be
/// discarded}.
void tessera::annotateLifetimes(func::FuncOp func, const StepBlocks &blocks,
                                const ArenaPlan &plan,
                                llvm::iota_range<unsigned> numbers) {
  llvm::MapVector<Operation *, SmallVector<int64_t>> begins, ends;
  Operation *head = &func.front().front();
  for (unsigned i : numbers) {
    int64_t bytes = blocks.problem.blocks[i].bytes - TESSERA_RT_CANARY_BYTES;
    Operation *from = blocks.getFirst(i), *to = blocks.getLast(i);
    bool isLast = to == func.front().getTerminator();
    begins[from ? from : head].append(
        {plan.offsets[i], bytes, from != nullptr});
    ends[to].append({plan.offsets[i], bytes, !isLast});
  }
  Builder b(func.getContext());
  for (auto &[op, triples] : begins)
    op->setAttr(RTDialect::kBeginsAttr, b.getDenseI64ArrayAttr(triples));
  for (auto &[op, triples] : ends)
    op->setAttr(RTDialect::kEndsAttr, b.getDenseI64ArrayAttr(triples));
}

/// Returns the first tensor of unknown size; null if there is none.
static Type findUnsized(TypeRange types) {
  for (Type type : types)
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (!tensor.hasStaticShape() ||
          !tensor.getElementType().isIntOrIndexOrFloat())
        return type;
  return {};
}

LogicalResult tessera::checkTensors(func::FuncOp func) {
  if (!func.getBody().hasOneBlock())
    return func.emitError("expects a function of one block but got ")
           << func.getBody().getBlocks().size();
  for (TypeRange types :
       {TypeRange(func.getArgumentTypes()), TypeRange(func.getResultTypes())})
    for (Type type : types)
      if (!isa<RankedTensorType>(type))
        return func.emitError("expects tensors as arguments and results but "
                              "got ")
               << type;
  constexpr llvm::StringLiteral expected =
      "expects tensors of static shape with elements that are numbers but got ";
  if (Type type = findUnsized(func.getArgumentTypes()))
    return func.emitError(expected) << type;
  WalkResult result = func.walk([&](Operation *op) {
    Type type = findUnsized(op->getResultTypes());
    if (type)
      op->emitOpError(expected) << type;
    return type ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

rt::PipelineOp tessera::findPipeline(func::FuncOp func) {
  if (func.isExternal())
    return {};
  auto ops = func.front().getOps<rt::PipelineOp>();
  return ops.empty() ? rt::PipelineOp() : *ops.begin();
}

FailureOr<ArenaPlan> tessera::planChecked(func::FuncOp func,
                                          const ArenaProblem &problem,
                                          bool searches) {
  if (llvm::Error error = problem.check())
    return func.emitError(llvm::toString(std::move(error)));
  ArenaPlan plan = planArena(problem, searches);
  if (llvm::Error error = plan.verify(problem))
    return func.emitError("the arena plan is wrong: ")
           << llvm::toString(std::move(error));
  return plan;
}

void tessera::annotateArena(func::FuncOp func, const StepBlocks &blocks,
                            const ArenaPlan &plan) {
  func->setAttr(RTDialect::kArenaBytesAttr,
                Builder(func.getContext()).getI64IntegerAttr(plan.bytes));
  annotateMemory(func, blocks, plan);
  reportPeak(blocks);
  remark::analysis(func.getLoc(),
                   remark::RemarkOpts::name("ArenaPlanned").category("memory"))
      << remark::metric("ArenaBytes", plan.bytes)
      << remark::metric("LowerBoundBytes", blocks.problem.lowerBound())
      << remark::metric("Blocks", int64_t(blocks.problem.blocks.size()));
}
