//===- InsertReshards.cpp - Inserts reshards between shardings ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Visits the ops of a function once, in order. Each op gets the factor axes
// that ReshardCost.h chooses. Values keep the shardings from propagation: an op
// with another result sharding is followed by a reshard. Equal ops with equal
// shardings, as in the layers of a model, are decided once.
//
// No reshard moves a constant, a splat or a broadcast scalar: each device can
// make its shard of any sharding.
//
//===----------------------------------------------------------------------===//

#include "PartitionContext.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "tessera/Interfaces/NeutralElements.h"
#include "tessera/Interfaces/RuleInputs.h"
#include "tessera/Partition/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include <map>

namespace tessera {
#define GEN_PASS_DEF_INSERTRESHARDSPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// The decision for an op.
struct Decision {
  ShardingRule rule;
  FactorChoice choice;
};

class ReshardInserter {
public:
  ReshardInserter(PartitionContext &context, SymbolTable &symbols)
      : context(context), symbols(symbols),
        builder(context.getSymbol().getContext()) {}

  LogicalResult run(FunctionOpInterface func);

private:
  LogicalResult visit(Operation *op);
  LogicalResult visitCall(func::CallOp call);
  LogicalResult visitReturn(FunctionOpInterface func, Operation *op);
  LogicalResult visitAccumulate(dist::AccumulateOp op);
  LogicalResult visitBlock(Block &block);
  void visitConstraint(dist::ConstraintOp op);

  std::optional<llvm::SmallBitVector> getPartialOperands(Operation *op);
  FailureOr<Sharding> getPartial(Operation *op);
  FailureOr<Sharding> getExactPartial(Operation *op, dist::AxesAttr exact);
  const Decision &decide(Operation *op, const AxisList &kept);
  FactorAxes getPinned(Operation *op, const ShardingRule &rule) const;
  Decision computeDecision(Operation *op, const AxisList &kept);
  void fitOperands(Operation *op, const Decision &decision,
                   const Sharding &partial);
  void fitCaptured(Operation *op, ArrayRef<Value> captured);
  void fitInits(Operation *op, const Decision &decision);
  void fitResult(OpResult result, const Sharding &actual);
  Value reshardTo(Value value, const Sharding &target, Operation *user,
                  bool isApart = false);
  Value &lookupReshard(Value value, dist::ShardingAttr to, Block *block);
  bool isMadeAnywhere(Value value);
  void eraseUnusedOrigins();
  std::string print(const ShardingRule &rule, ArrayRef<AxisList> axes) const;
  void report(Operation *op, const Decision &decision);

  PartitionContext &context;
  SymbolTable &symbols;
  OpBuilder builder;
  /// Reshards of this function by value, target and block.
  llvm::DenseMap<std::pair<Value, std::pair<Attribute, Block *>>, Value>
      reshards;
  /// The ops that were made again with another sharding.
  llvm::SetVector<Operation *> origins;
  std::map<llvm::SmallVector<const void *>, Decision> decisions;
  Decision scratch;
};

} // namespace

/// Returns an existing reshard of a value in `block` or in a block around it;
/// otherwise a new entry for `block`.
Value &ReshardInserter::lookupReshard(Value value, dist::ShardingAttr to,
                                      Block *block) {
  for (Block *b = block->getParentOp()->getBlock(); b && b->getParentOp();
       b = b->getParentOp()->getBlock())
    if (auto it = reshards.find({value, {to, b}}); it != reshards.end())
      return it->second;
  return reshards[{value, {to, block}}];
}

/// True if each device can make its shard of the value in any sharding: the
/// value is whole, and its op reads no tensor with dimensions.
bool ReshardInserter::isMadeAnywhere(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !getTensorType(value) || op->getNumResults() != 1 ||
      op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
      !isa<ShardingRuleOpInterface>(op) ||
      !context.getSharding(value).unreduced.empty())
    return false;
  return llvm::none_of(op->getOperandTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() != 0;
  });
}

/// Erases the ops that were made again for all of their uses.
void ReshardInserter::eraseUnusedOrigins() {
  for (Operation *op : origins)
    if (op->use_empty())
      op->erase();
  origins.clear();
}

/// Returns the value with the sharding that `user` needs, from an earlier
/// reshard, or, with `isApart`, from a new one.
Value ReshardInserter::reshardTo(Value value, const Sharding &target,
                                 Operation *user, bool isApart) {
  const Sharding &from = context.getSharding(value);
  if (from.samePlacement(target))
    return value;
  dist::ShardingAttr to = context.toAttr(target);
  Value own;
  Value &reshard = isApart ? own : lookupReshard(value, to, user->getBlock());
  if (reshard)
    return reshard;
  builder.setInsertionPoint(user);
  if (isMadeAnywhere(value) && target.unreduced.empty()) {
    origins.insert(value.getDefiningOp());
    reshard = builder.clone(*value.getDefiningOp())->getResult(0);
  } else {
    reshard = dist::ReshardOp::create(builder, value.getLoc(), value,
                                      context.toAttr(from), to);
  }
  dist::setSharding(reshard, to);
  return reshard;
}

/// Returns the partial operands, if the op may run on them as they are.
std::optional<llvm::SmallBitVector>
ReshardInserter::getPartialOperands(Operation *op) {
  llvm::SmallBitVector bits(op->getNumOperands());
  const Sharding *first = nullptr;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!getTensorType(operand))
      continue;
    const Sharding &sharding = context.getSharding(operand);
    if (sharding.unreduced.empty())
      continue;
    if (first && (first->unreduced != sharding.unreduced ||
                  first->reduction != sharding.reduction))
      return std::nullopt;
    first = &sharding;
    bits.set(i);
  }
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!first || !iface || !iface.commutesWithReduction(first->reduction, bits))
    return std::nullopt;
  return bits;
}

/// Returns the partial axes that operands keep, as given by dist.exact.
FailureOr<Sharding> ReshardInserter::getExactPartial(Operation *op,
                                                     dist::AxesAttr exact) {
  Sharding partial;
  partial.unreduced = exact.toAxes(context.getMesh());
  if (partial.unreduced.empty())
    return partial;
  llvm::sort(partial.unreduced);
  llvm::SmallBitVector bits(op->getNumOperands());
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (getTensorType(operand) &&
        subtractAxes(context.getSharding(operand).unreduced,
                     partial.unreduced)) {
      bits.set(i);
      partial.reduction = context.getSharding(operand).reduction;
    }
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (bits.none() || !iface ||
      !iface.commutesWithReduction(partial.reduction, bits))
    return op->emitError("partition: dist.exact expects operands that are "
                         "partial over ")
           << context.print(partial.unreduced)
           << ", in which the op is linear, but got " << bits.count();
  return partial;
}

/// Returns the partial axes of operands and results while the op runs.
FailureOr<Sharding> ReshardInserter::getPartial(Operation *op) {
  if (auto exact =
          op->getAttrOfType<dist::AxesAttr>(dist::DistDialect::kExactAttr))
    return getExactPartial(op, exact);
  if (std::optional<llvm::SmallBitVector> bits = getPartialOperands(op))
    return context.getSharding(op->getOperand(bits->find_first()));
  return Sharding();
}

/// Computes the decision for an op that keeps its operands partial over the
/// axes `kept`, which no factor gets then: its result is partial too, and is
/// scattered after it where it has these axes.
Decision ReshardInserter::computeDecision(Operation *op, const AxisList &kept) {
  Decision decision;
  decision.rule = getShardingRule(op);
  llvm::SmallVector<Value> inputs = getRuleInputs(op);
  // Reserve the space: pointers into the vector are kept.
  std::vector<Sharding> whole;
  whole.reserve(inputs.size() + op->getNumResults());
  llvm::SmallVector<ShardedTensor> operands, results;
  auto describe = [&](Value value) {
    RankedTensorType type = getTensorType(value);
    if (!type)
      return ShardedTensor();
    const Sharding *sharding = &context.getSharding(value);
    if (!kept.empty()) {
      whole.push_back(*sharding);
      whole.back().unreduced.clear();
      for (DimSharding &dim : whole.back().dims)
        while (overlapsAny(dim.axes, kept))
          dim.axes.pop_back();
      sharding = &whole.back();
    }
    return ShardedTensor{sharding, type.getShape(), getElementBytes(type),
                         isMadeAnywhere(value)};
  };
  for (Value input : inputs)
    operands.push_back(describe(input));
  for (Value result : op->getResults()) {
    ShardedTensor tensor = describe(result);
    if (result.use_empty())
      tensor = ShardedTensor();
    results.push_back(tensor);
  }
  FactorAxes pinned = getPinned(op, decision.rule);
  decision.choice =
      op->hasAttr(dist::DistDialect::kExactAttr) && !pinned.empty()
          ? takeFactors(context.getPlanner(), decision.rule, operands, results,
                        std::move(pinned))
          : chooseFactors(context.getPlanner(), decision.rule, operands,
                          results, pinned);
  return decision;
}

/// Returns the axes of factors that propagation has pinned; empty without any.
FactorAxes ReshardInserter::getPinned(Operation *op,
                                      const ShardingRule &rule) const {
  FactorAxes pinned;
  auto attr = op->getAttrOfType<ArrayAttr>(dist::DistDialect::kFactorsAttr);
  if (!attr || attr.size() != rule.factors.size())
    return pinned;
  for (auto [factor, axes] : llvm::zip(rule.factors, attr)) {
    pinned.emplace_back();
    if (factor.kind == FactorKind::Parallel ||
        factor.kind == FactorKind::Reduction)
      pinned.back() = cast<dist::AxesAttr>(axes).toAxes(context.getMesh());
    // The factor cannot be padded.
    if (factor.size % numShards(pinned.back()) != 0)
      pinned.back().clear();
  }
  return pinned;
}

/// Returns the decision for `op`, or of an earlier equal op. Ops with regions
/// are not compared.
const Decision &ReshardInserter::decide(Operation *op, const AxisList &kept) {
  if (op->getNumRegions() != 0 || !kept.empty())
    return scratch = computeDecision(op, kept);
  llvm::SmallVector<const void *> key{
      op->getName().getAsOpaquePointer(),
      op->getPropertiesAsAttribute().getAsOpaquePointer(),
      op->getAttr(dist::DistDialect::kFactorsAttr).getAsOpaquePointer(),
      op->getAttr(dist::DistDialect::kExactAttr).getAsOpaquePointer()};
  auto addValue = [&](Value value) {
    key.push_back(value.getType().getAsOpaquePointer());
    key.push_back(getTensorType(value)
                      ? dist::getSharding(value).getAsOpaquePointer()
                      : nullptr);
    key.push_back(value.use_empty() ? &decisions : nullptr);
    key.push_back(isMadeAnywhere(value) ? &decisions : nullptr);
  };
  llvm::for_each(op->getOperands(), addValue);
  llvm::for_each(op->getResults(), addValue);
  auto [it, isNew] = decisions.try_emplace(std::move(key));
  if (isNew)
    it->second = computeDecision(op, kept);
  return it->second;
}

/// Makes the init of a reduction over sharded factors partial, so that it
/// counts once.
void ReshardInserter::fitInits(Operation *op, const Decision &decision) {
  auto destinations = dyn_cast<DestinationStyleOpInterface>(op);
  if (!destinations)
    return;
  for (auto [i, init] : llvm::enumerate(destinations.getDpsInitsMutable())) {
    if (!getTensorType(init.get()))
      continue;
    Sharding made = getResultSharding(decision.rule, decision.rule.results[i],
                                      decision.choice.axes);
    if (made.unreduced.empty() || isNeutral(init.get(), made.reduction))
      continue;
    builder.setInsertionPoint(op);
    Value partial = dist::ToPartialOp::create(
        builder, op->getLoc(), init.get(), context.toAttr(made.unreduced),
        dist::ReductionKindAttr::get(op->getContext(),
                                     dist::fromPlain(made.reduction)),
        context.getSymbol());
    dist::setSharding(partial, context.toAttr(made));
    init.set(partial);
  }
}

void ReshardInserter::fitOperands(Operation *op, const Decision &decision,
                                  const Sharding &partial) {
  auto apart =
      op->getAttrOfType<DenseI64ArrayAttr>(dist::DistDialect::kApartAttr);
  op->removeAttr(dist::DistDialect::kApartAttr);
  for (OpOperand &operand : op->getOpOperands()) {
    RankedTensorType type = getTensorType(operand.get());
    if (!type)
      continue;
    Sharding needed = getOperandSharding(
        decision.rule, decision.rule.operands[operand.getOperandNumber()],
        type.getRank(), decision.choice.axes);
    if (!partial.unreduced.empty() &&
        subtractAxes(context.getSharding(operand.get()).unreduced,
                     partial.unreduced)) {
      needed.unreduced = partial.unreduced;
      needed.reduction = partial.reduction;
    }
    bool isApart = apart && llvm::is_contained(apart.asArrayRef(),
                                               operand.getOperandNumber());
    operand.set(reshardTo(operand.get(), needed, op, isApart));
  }
}

/// Every device needs the whole values that the regions use.
void ReshardInserter::fitCaptured(Operation *op, ArrayRef<Value> captured) {
  for (Value value : captured) {
    int64_t rank = getTensorType(value).getRank();
    Value whole = reshardTo(value, context.getReplicated(rank), op);
    if (whole != value)
      value.replaceUsesWithIf(whole, [&](OpOperand &use) {
        return op->isProperAncestor(use.getOwner());
      });
  }
}

/// Records that the op's result has sharding `actual`, and reshards it to the
/// wanted one.
void ReshardInserter::fitResult(OpResult result, const Sharding &actual) {
  const Sharding &wanted = context.getSharding(result);
  if (actual.samePlacement(wanted)) {
    dist::setSharding(result, context.toAttr(wanted));
    return;
  }
  dist::ShardingAttr from = context.toAttr(actual), to = context.toAttr(wanted);
  dist::setSharding(result, from);
  if (result.use_empty())
    return;
  builder.setInsertionPointAfter(result.getOwner());
  auto reshard =
      dist::ReshardOp::create(builder, result.getLoc(), result, from, to);
  dist::setSharding(reshard.getResult(), to);
  result.replaceAllUsesExcept(reshard.getResult(), reshard);
  lookupReshard(result, to, result.getOwner()->getBlock()) =
      reshard.getResult();
}

/// Prints `m {"x"}, n {"y"}`; "nothing sharded" if no factor has axes.
std::string ReshardInserter::print(const ShardingRule &rule,
                                   ArrayRef<AxisList> axes) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto [f, list] : llvm::enumerate(axes)) {
    if (list.empty())
      continue;
    os << (text.empty() ? "" : ", ");
    rule.printName(os, f);
    os << ' ' << context.print(list);
  }
  return text.empty() ? "nothing sharded" : text;
}

/// Returns the number of devices among which an op with these axes divides its
/// work.
static int64_t countShards(ArrayRef<AxisList> axes) {
  int64_t shards = 1;
  for (const AxisList &list : axes)
    shards *= numShards(list);
  return shards;
}

void ReshardInserter::report(Operation *op, const Decision &decision) {
  const FactorChoice &choice = decision.choice;
  if (choice.cost.bytes == 0)
    return;
  auto remark = remark::analysis(
      op->getLoc(),
      remark::RemarkOpts::name("FactorSharding").category("partition"));
  if (!remark)
    return;
  remark << remark::add("{0} runs with {1}", op->getName().getStringRef(),
                        print(decision.rule, choice.axes))
         << remark::metric("bytes", choice.cost.bytes)
         << remark::metric("us", choice.cost.time * 1e6);
  if (!choice.hasOther())
    return;
  remark << remark::metric("nextBest", print(decision.rule, choice.otherAxes))
         << remark::metric("bytesOfNextBest", choice.otherCost.bytes)
         << remark::metric("usOfNextBest", choice.otherCost.time * 1e6);
  if (choice.otherCost.time < choice.cost.time)
    remark << remark::reason(
        "the next best moves data for a shorter time, but divides the work by "
        "{0} and not by {1}",
        countShards(choice.otherAxes), countShards(choice.axes));
}

LogicalResult ReshardInserter::visit(Operation *op) {
  bool hasTensors =
      llvm::any_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>) ||
      llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
  SmallVector<Value> captured;
  if (op->getNumRegions() != 0)
    captured = getCapturedTensors(op);
  if (isa<dist::ReshardOp>(op) || (!hasTensors && op->getNumRegions() == 0))
    return success();
  if (isa<dist::CollectiveOpInterface, dist::GroupOp>(op))
    return op->emitError("partition: expects no ")
           << op->getName() << " before reshards are inserted";
  FailureOr<Sharding> found = getPartial(op);
  if (failed(found))
    return failure();
  Sharding partial = *found;
  const Decision *decision = &decide(op, partial.unreduced);
  bool clashes = llvm::any_of(decision->choice.axes, [&](const AxisList &axes) {
    return overlapsAny(axes, partial.unreduced);
  });
  if (clashes) {
    partial = Sharding();
    decision = &decide(op, {});
  }
  report(op, *decision);
  op->removeAttr(dist::DistDialect::kFactorsAttr);
  op->removeAttr(dist::DistDialect::kExactAttr);
  // The decision read the wanted shardings before the operands change, and
  // stays valid.
  fitOperands(op, *decision, partial);
  fitCaptured(op, captured);
  fitInits(op, *decision);
  for (OpResult result : op->getResults()) {
    if (!getTensorType(result))
      continue;
    Sharding actual = getResultSharding(
        decision->rule, decision->rule.results[result.getResultNumber()],
        decision->choice.axes);
    if (!partial.unreduced.empty()) {
      actual.unreduced.append(partial.unreduced);
      llvm::sort(actual.unreduced);
      actual.unreduced = mergeAdjacent(actual.unreduced);
      actual.reduction = partial.reduction;
    }
    fitResult(result, actual);
  }
  return success();
}

void ReshardInserter::visitConstraint(dist::ConstraintOp op) {
  const Sharding &target = dist::getSharding(op.getResult())
                               ? context.getSharding(op.getResult())
                               : context.toPlain(op.getSharding());
  // A constraint gets a gather of its own, even if another use wants the same,
  // so that the result is freed after this use.
  op.getResult().replaceAllUsesWith(
      reshardTo(op.getInput(), target, op, /*isApart=*/true));
  op.erase();
}

LogicalResult ReshardInserter::visitCall(func::CallOp call) {
  auto callee = symbols.lookup<FunctionOpInterface>(call.getCallee());
  if (!callee || callee.isExternal())
    return call.emitError("partition: expects a callee with a body but got ")
           << call.getCalleeAttr();
  for (OpOperand &operand : call->getOpOperands())
    if (getTensorType(operand.get()))
      operand.set(reshardTo(
          operand.get(),
          context.getSharding(callee.getArgument(operand.getOperandNumber())),
          call));
  for (OpResult result : call->getResults())
    if (getTensorType(result))
      fitResult(result,
                context.getResultSharding(callee, result.getResultNumber()));
  return success();
}

LogicalResult ReshardInserter::visitReturn(FunctionOpInterface func,
                                           Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (getTensorType(operand.get()))
      operand.set(reshardTo(
          operand.get(),
          context.getResultSharding(func, operand.getOperandNumber()), op));
  return success();
}

/// Slices have the sharding of the tensor that they are taken from, or stacked
/// in, which is whole and has all micro-batches. Terms have the sharding of the
/// sum.
LogicalResult ReshardInserter::visitAccumulate(dist::AccumulateOp op) {
  auto withAllSlices = [&](Value whole) {
    Sharding sharding = context.getSharding(whole);
    sharding.dims[0].axes.clear();
    sharding.unreduced.clear();
    return sharding;
  };
  for (OpOperand &whole : op.getSlicesMutable())
    whole.set(reshardTo(whole.get(), withAllSlices(whole.get()), op));
  if (failed(visitBlock(op.getBody().front())))
    return failure();
  dist::YieldOp yield = op.getYield();
  for (auto [value, result] :
       llvm::zip(yield->getOpOperands(), op->getResults())) {
    if (!op.isStacked(result.getResultNumber())) {
      value.set(reshardTo(value.get(), context.getSharding(result), yield));
      continue;
    }
    Sharding made = withAllSlices(result), slice = made;
    slice.dims.erase(slice.dims.begin());
    value.set(reshardTo(value.get(), slice, yield));
    fitResult(result, made);
  }
  return success();
}

LogicalResult ReshardInserter::visitBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    LogicalResult result = success();
    if (auto constraint = dyn_cast<dist::ConstraintOp>(op))
      visitConstraint(constraint);
    else if (auto call = dyn_cast<func::CallOp>(op))
      result = visitCall(call);
    else if (auto accumulate = dyn_cast<dist::AccumulateOp>(op))
      result = visitAccumulate(accumulate);
    else if (!op.hasTrait<OpTrait::IsTerminator>())
      result = visit(&op);
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult ReshardInserter::run(FunctionOpInterface func) {
  reshards.clear();
  Block &block = func.getFunctionBody().front();
  if (failed(visitBlock(block)))
    return failure();
  LogicalResult result = visitReturn(func, block.getTerminator());
  eraseUnusedOrigins();
  return result;
}

namespace {

struct InsertReshardsPass
    : tessera::impl::InsertReshardsPassBase<InsertReshardsPass> {
  void runOnOperation() override {
    FailureOr<PartitionContext> context = PartitionContext::get(getOperation());
    if (failed(context))
      return signalPassFailure();
    if (context->getFunctions().empty())
      return; // All are local already, or one device.
    SymbolTable symbols(getOperation());
    ReshardInserter inserter(*context, symbols);
    for (FunctionOpInterface func : context->getFunctions())
      if (failed(inserter.run(func)))
        return signalPassFailure();
  }
};

} // namespace
