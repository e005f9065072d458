//===- LowerControlFlow.cpp - Lowers control flow to one kind of loop -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A branch on a device would interrupt the step, because the host would have to
// read the condition. So both regions of an scf.if run, and the results are
// selected (if-conversion: Allen et al., "Conversion of control dependence to
// data dependence", 1983). Only an scf.while needs the host: it becomes an
// scf.for that ends when its loop-carried flag is false. Loop-carried values
// are in memory, including scalars.
//
//===----------------------------------------------------------------------===//

#include "ScalarTensors.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Kernels/Passes.h"
#include <limits>

namespace tessera {
#define GEN_PASS_DEF_LOWERCONTROLFLOWPASS
#include "tessera/Kernels/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

static Value createIndex(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// Makes ops safe to run if `guard` is false: positions in tensors become
/// zeros, which are always valid, and loops with a condition do not start.
static void protect(Operation *root, Value guard) {
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  root->walk([&](Operation *op) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    if (auto condition = dyn_cast<scf::ConditionOp>(op))
      condition.getConditionMutable().set(
          arith::AndIOp::create(b, guard, condition.getCondition()));
    if (isa<LoopLikeOpInterface>(op) ||
        !(llvm::any_of(op->getOperandTypes(), isTensor) ||
          llvm::any_of(op->getResultTypes(), isTensor)))
      return;
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get().getType().isIndex() &&
          !matchPattern(operand.get(), m_Constant()))
        operand.set(arith::SelectOp::create(b, guard, operand.get(),
                                            createIndex(b, 0)));
  });
}

/// Selects `a` if `condition` holds, else `other`.
static Value select(ImplicitLocOpBuilder &b, Value condition, Value a,
                    Value other) {
  auto type = dyn_cast<RankedTensorType>(a.getType());
  if (!type)
    return arith::SelectOp::create(b, condition, a, other);
  Value empty =
      tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  SmallVector<AffineMap> maps(3, b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, type, ValueRange{a, other}, empty, maps, loops,
             [&](OpBuilder &nested, Location loc, ValueRange v) {
               Value made =
                   arith::SelectOp::create(nested, loc, condition, v[0], v[1]);
               linalg::YieldOp::create(nested, loc, made);
             })
      .getResult(0);
}

/// Moves the ops of a region before its parent op; returns the yielded values.
static SmallVector<Value> moveOut(Region &region, Value guard) {
  if (region.empty())
    return {};
  Operation *parent = region.getParentOp();
  Block &block = region.front();
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    op.moveBefore(parent);
    protect(&op, guard);
  }
  return SmallVector<Value>(block.getTerminator()->getOperands());
}

static void flattenIf(scf::IfOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value condition = op.getCondition();
  Value isTrue = arith::ConstantOp::create(b, b.getBoolAttr(true));
  Value otherwise = arith::XOrIOp::create(b, condition, isTrue);
  SmallVector<Value> yes = moveOut(op.getThenRegion(), condition);
  SmallVector<Value> no = moveOut(op.getElseRegion(), otherwise);
  SmallVector<Value> results;
  for (auto [a, other] : llvm::zip_equal(yes, no))
    results.push_back(select(b, condition, a, other));
  op.replaceAllUsesWith(results);
  op.erase();
}

static void flattenSwitch(scf::IndexSwitchOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value none = arith::ConstantOp::create(b, b.getBoolAttr(true));
  SmallVector<std::pair<Value, SmallVector<Value>>> cases;
  for (auto [number, region] : llvm::zip(op.getCases(), op.getCaseRegions())) {
    Value isCase = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                         op.getArg(), createIndex(b, number));
    Value isOther = arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                          op.getArg(), createIndex(b, number));
    none = arith::AndIOp::create(b, none, isOther);
    cases.push_back({isCase, moveOut(region, isCase)});
  }
  SmallVector<Value> results = moveOut(op.getDefaultRegion(), none);
  for (auto &[isCase, values] : cases)
    for (auto [result, value] : llvm::zip_equal(results, values))
      result = select(b, isCase, value, result);
  op.replaceAllUsesWith(results);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

static Value toMemory(ImplicitLocOpBuilder &b, Value value) {
  return isa<RankedTensorType>(value.getType()) ? value : storeScalar(b, value);
}

/// Returns the values of these types that loops carry as `tensors`.
static SmallVector<Value> fromMemory(ImplicitLocOpBuilder &b,
                                     ValueRange tensors, TypeRange types) {
  SmallVector<Value> values;
  for (auto [tensor, type] : llvm::zip_equal(tensors, types))
    values.push_back(isa<RankedTensorType>(type) ? tensor
                                                 : loadScalar(b, tensor, type));
  return values;
}

/// Clones a block with these arguments; returns its terminator's operands.
static SmallVector<Value> cloneBlock(ImplicitLocOpBuilder &b, Block &block,
                                     ValueRange arguments) {
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator())
    b.clone(op, mapping);
  SmallVector<Value> passed;
  for (Value value : block.getTerminator()->getOperands())
    passed.push_back(mapping.lookupOrDefault(value));
  return passed;
}

/// Carries the flag of the condition, then the values that the condition passes
/// on: before(x) gives flag and y; while the flag holds, before(after(y)) does.
static void lowerWhile(scf::WhileOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto evaluate = [&](ValueRange carried) {
    SmallVector<Value> made = cloneBlock(b, *op.getBeforeBody(), carried);
    for (Value &value : made)
      value = toMemory(b, value);
    return made;
  };
  SmallVector<Value> starts = evaluate(op.getInits());
  auto loop = scf::ForOp::create(
      b, createIndex(b, 0), createIndex(b, std::numeric_limits<int64_t>::max()),
      createIndex(b, 1), starts);
  loop->setAttr(rt::RTDialect::kWhileAttr, b.getUnitAttr());
  TypeRange types = op.getResultTypes();
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> passed =
        fromMemory(b, loop.getRegionIterArgs().drop_front(), types);
    SmallVector<Value> next = cloneBlock(b, *op.getAfterBody(), passed);
    scf::YieldOp::create(b, evaluate(next));
  }
  op.replaceAllUsesWith(fromMemory(b, loop.getResults().drop_front(), types));
  op.erase();
}

/// Rebuilds the loop with tensors instead of loop-carried scalars.
static void carryTensors(scf::ForOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  SmallVector<Value> starts;
  for (Value init : op.getInits())
    starts.push_back(toMemory(b, init));
  auto loop = scf::ForOp::create(b, op.getLowerBound(), op.getUpperBound(),
                                 op.getStep(), starts);
  loop->setAttrs(op->getAttrs());
  TypeRange types = op.getResultTypes();
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> arguments{loop.getInductionVar()};
    llvm::append_range(arguments,
                       fromMemory(b, loop.getRegionIterArgs(), types));
    SmallVector<Value> next;
    for (Value value : cloneBlock(b, *op.getBody(), arguments))
      next.push_back(toMemory(b, value));
    scf::YieldOp::create(b, next);
  }
  op.replaceAllUsesWith(fromMemory(b, loop.getResults(), types));
  op.erase();
}

static bool carriesScalars(scf::ForOp op) {
  return llvm::any_of(op.getResultTypes(),
                      [](Type type) { return !isa<RankedTensorType>(type); });
}

namespace {
struct LowerControlFlowPass
    : tessera::impl::LowerControlFlowPassBase<LowerControlFlowPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func->hasAttr(rt::RTDialect::kKernelAttr))
      return;
    // Lower outer ops first: the ops inside are moved or cloned.
    while (lowerFirst<scf::IfOp>(func, flattenIf) ||
           lowerFirst<scf::IndexSwitchOp>(func, flattenSwitch) ||
           lowerFirst<scf::WhileOp>(func, lowerWhile) ||
           lowerFirst<scf::ForOp>(func, carryTensors, carriesScalars)) {
    }
  }

  /// Applies `fn` to the first op of the kind that `applies` accepts. Returns
  /// false if there is none.
  template <typename Op>
  static bool lowerFirst(
      func::FuncOp func, void (*fn)(Op),
      bool (*applies)(Op) = [](Op) { return true; }) {
    Op found;
    func.walk<WalkOrder::PreOrder>([&](Op op) {
      if (!applies(op))
        return WalkResult::advance();
      found = op;
      return WalkResult::interrupt();
    });
    if (found)
      fn(found);
    return bool(found);
  }
};
} // namespace
