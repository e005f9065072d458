//===- GlobalToLocal.cpp - Gives every tensor a device's local shape ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clones every op with local shapes after the global ops, which are erased at
// the end: sharding rules need global types while they are queried. Makes no
// decisions: operands already have the shardings that the ops need.
//
//===----------------------------------------------------------------------===//

#include "PartitionContext.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Partition/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {
#define GEN_PASS_DEF_GLOBALTOLOCALPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

class Localizer {
public:
  Localizer(PartitionContext &context, FunctionOpInterface func)
      : context(context), func(func), builder(func.getContext()) {}

  LogicalResult run();

private:
  FailureOr<Type> getLocalType(Type type, const Sharding &sharding,
                               function_ref<InFlightDiagnostic()> emitError);
  LogicalResult localize(Operation *op);
  /// Sets the insertion point for the local form of `op`.
  void setPlace(Operation *op) {
    if (target)
      builder.setInsertionPointToEnd(target);
    else
      builder.setInsertionPoint(op);
  }
  LogicalResult localizeAccumulate(dist::AccumulateOp op);
  LogicalResult getLocalResultTypes(Operation *op,
                                    SmallVectorImpl<Type> &types);
  FailureOr<Operation *> clone(Operation *op, ValueRange operands,
                               TypeRange types);
  Operation *cloneCollective(dist::CollectiveOpInterface op,
                             ValueRange operands, Type type);
  FailureOr<Value> sliceConstant(Operation *op);
  void setOffsets(Operation *op, Operation *local);
  Value getOffset(ArrayRef<AxisRef> axes, int64_t localSize);
  LogicalResult setSignature();

  PartitionContext &context;
  FunctionOpInterface func;
  OpBuilder builder;
  /// The block into which the body of an op is built; null to insert before the
  /// global ops.
  Block *target = nullptr;
  llvm::DenseMap<Value, Value> locals;
  llvm::MapVector<std::pair<Attribute, int64_t>, Value> offsets;
  SmallVector<Type> argTypes, resultTypes;
};

} // namespace

FailureOr<Type>
Localizer::getLocalType(Type type, const Sharding &sharding,
                        function_ref<InFlightDiagnostic()> emitError) {
  auto tensor = cast<RankedTensorType>(type);
  for (auto [i, dim] : llvm::enumerate(sharding.dims))
    if (tensor.getDimSize(i) % numShards(dim.axes) != 0)
      return emitError() << "partition: expects dimension " << i << " of "
                         << tensor << " to be a multiple of "
                         << numShards(dim.axes) << ", its devices along "
                         << context.print(dim.axes) << ", but got "
                         << tensor.getDimSize(i);
  return Type(tensor.clone(sharding.localShape(tensor.getShape())));
}

LogicalResult Localizer::getLocalResultTypes(Operation *op,
                                             SmallVectorImpl<Type> &types) {
  for (Value result : op->getResults()) {
    if (!getTensorType(result)) {
      types.push_back(result.getType());
      continue;
    }
    FailureOr<Type> type =
        getLocalType(result.getType(), context.getSharding(result),
                     [&] { return op->emitError(); });
    if (failed(type))
      return failure();
    types.push_back(*type);
  }
  return success();
}

/// Returns the global position of a shard's first element, computed once per
/// function.
Value Localizer::getOffset(ArrayRef<AxisRef> axes, int64_t localSize) {
  dist::AxesAttr attr = context.toAttr(mergeAdjacent(axes));
  Value &offset = offsets[{attr, localSize}];
  if (offset)
    return offset;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&func.getFunctionBody().front());
  if (offsets.size() > 1)
    builder.setInsertionPointAfterValue(
        offsets.begin()[offsets.size() - 2].second);
  offset = dist::AxisOffsetOp::create(
      builder, func.getLoc(), builder.getIndexType(), attr,
      builder.getI64IntegerAttr(localSize), context.getSymbol());
  return offset;
}

/// Gives the clone the offsets of the positional factors that are sharded.
void Localizer::setOffsets(Operation *op, Operation *local) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface)
    return;
  ShardingRule rule = iface.getShardingRule();
  if (llvm::none_of(rule.factors, [](const Factor &f) { return f.positional; }))
    return;
  FactorAxes axes = context.getFactorAxes(op, rule);
  for (auto [f, factor] : llvm::enumerate(rule.factors))
    if (factor.positional && !axes[f].empty())
      cast<ShardingRuleOpInterface>(local).setPositionOffset(
          f, getOffset(axes[f], factor.size / numShards(axes[f])));
}

Operation *Localizer::cloneCollective(dist::CollectiveOpInterface op,
                                      ValueRange operands, Type type) {
  Operation *local = cloneWithTypes(builder, op, operands, type);
  local->removeAttr("from");
  local->removeAttr("to");
  return local;
}

/// Clones a constant that is not a splat as a whole; each device slices its
/// shard.
FailureOr<Value> Localizer::sliceConstant(Operation *op) {
  Operation *whole = builder.clone(*op);
  whole->removeDiscardableAttr(dist::DistDialect::kShardingsAttr);
  Value value = whole->getResult(0);
  const Sharding &sharding = context.getSharding(op->getResult(0));
  for (auto [i, dim] : llvm::enumerate(sharding.dims)) {
    if (dim.axes.empty())
      continue;
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[i] /= numShards(dim.axes);
    value = dist::AllSliceOp::create(
        builder, op->getLoc(), type.clone(shape), value,
        builder.getI64IntegerAttr(i), context.toAttr(dim.axes),
        context.getSymbol(), dist::ShardingAttr(), dist::ShardingAttr());
  }
  return value;
}

FailureOr<Operation *> Localizer::clone(Operation *op, ValueRange operands,
                                        TypeRange types) {
  if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op))
    return cloneCollective(collective, operands, types.front());
  if (auto iface = dyn_cast<ShardingRuleOpInterface>(op))
    return iface.cloneWithShapes(builder, operands, types);
  return cloneWithTypes(builder, op, operands, types);
}

/// Builds the body in a new op. The global op keeps its own until the end,
/// since the shardings of slices are looked up there.
LogicalResult Localizer::localizeAccumulate(dist::AccumulateOp op) {
  setPlace(op);
  SmallVector<Value> slices;
  for (Value slice : op.getSlices())
    slices.push_back(locals.lookup(slice));
  SmallVector<Type> types;
  if (failed(getLocalResultTypes(op, types)))
    return failure();
  auto local =
      dist::AccumulateOp::create(builder, op.getLoc(), types, op.getCountAttr(),
                                 op.getReduceEachAttr(), slices);
  Block *outer = target;
  target = &local.getBody().emplaceBlock();
  for (auto [slice, argument] :
       llvm::zip(slices, op.getBody().front().getArguments())) {
    auto type = cast<RankedTensorType>(slice.getType());
    locals[argument] =
        target->addArgument(dist::getSliceType(type), argument.getLoc());
  }
  for (Operation &inner : op.getBody().front())
    if (failed(localize(&inner)))
      return failure();
  target = outer;
  for (auto [old, result] : llvm::zip(op.getResults(), local.getResults()))
    locals[old] = result;
  return success();
}

LogicalResult Localizer::localize(Operation *op) {
  if (auto accumulate = dyn_cast<dist::AccumulateOp>(op))
    return localizeAccumulate(accumulate);
  setPlace(op);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(locals.lookup(operand));
  SmallVector<Type> types;
  if (failed(getLocalResultTypes(op, types)))
    return failure();
  FailureOr<Operation *> local = clone(op, operands, types);
  if (failed(local) && op->hasTrait<OpTrait::ConstantLike>()) {
    FailureOr<Value> value = sliceConstant(op);
    if (failed(value))
      return failure();
    locals[op->getResult(0)] = *value;
    return success();
  }
  if (failed(local)) {
    InFlightDiagnostic error = op->emitError("partition: cannot shard ")
                               << op->getName() << " to ";
    llvm::interleaveComma(types, error);
    return error;
  }
  (*local)->removeDiscardableAttr(dist::DistDialect::kShardingsAttr);
  // Bodies of linalg ops may use scalars from outside.
  for (Region &region : (*local)->getRegions())
    region.walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (Value value = locals.lookup(operand.get()))
          operand.set(value);
    });
  setOffsets(op, *local);
  for (auto [old, result] : llvm::zip(op->getResults(), (*local)->getResults()))
    locals[old] = result;
  return success();
}

/// Sets types, shardings and true shapes of arguments and results.
LogicalResult Localizer::setSignature() {
  StringRef shapeName = dist::DistDialect::kGlobalShapeAttr;
  StringRef shardingName = dist::DistDialect::kShardingAttr;
  auto localize = [&](Type type, const Sharding &sharding,
                      DictionaryAttr &dictionary,
                      Twine where) -> FailureOr<Type> {
    if (!dictionary)
      dictionary = builder.getDictionaryAttr({});
    if (!dictionary.contains(shapeName))
      setInDictionary(dictionary, shapeName,
                      builder.getDenseI64ArrayAttr(
                          cast<RankedTensorType>(type).getShape()));
    setInDictionary(dictionary, shardingName, context.toAttr(sharding));
    return getLocalType(type, sharding,
                        [&] { return func.emitError() << where << ": "; });
  };
  SmallVector<DictionaryAttr> argAttrs, resultAttrs;
  for (BlockArgument arg : func.getArguments()) {
    unsigned i = arg.getArgNumber();
    argAttrs.push_back(func.getArgAttrDict(i));
    argTypes.push_back(arg.getType());
    if (!getTensorType(arg))
      continue;
    FailureOr<Type> type = localize(arg.getType(), context.getSharding(arg),
                                    argAttrs.back(), "argument " + Twine(i));
    if (failed(type))
      return failure();
    argTypes.back() = *type;
  }
  for (auto [i, type] : llvm::enumerate(func.getResultTypes())) {
    resultAttrs.push_back(func.getResultAttrDict(i));
    resultTypes.push_back(type);
    if (!isa<RankedTensorType>(type))
      continue;
    FailureOr<Type> local = localize(type, context.getResultSharding(func, i),
                                     resultAttrs.back(), "result " + Twine(i));
    if (failed(local))
      return failure();
    resultTypes.back() = *local;
  }
  func.setAllArgAttrs(argAttrs);
  func.setAllResultAttrs(resultAttrs);
  return success();
}

LogicalResult Localizer::run() {
  if (failed(setSignature()))
    return failure();
  Block &block = func.getFunctionBody().front();
  unsigned numArgs = block.getNumArguments();
  for (unsigned i = 0; i < numArgs; ++i)
    locals[block.getArgument(i)] =
        block.addArgument(argTypes[i], block.getArgument(i).getLoc());
  SmallVector<Operation *> old;
  for (Operation &op : block)
    old.push_back(&op);
  for (Operation *op : old)
    if (failed(localize(op)))
      return failure();
  for (Operation *op : llvm::reverse(old))
    op->erase();
  block.eraseArguments(0, numArgs);
  func.setType(func.cloneTypeWith(argTypes, resultTypes));
  func->setAttr(dist::DistDialect::kLocalAttr, builder.getUnitAttr());
  return success();
}

namespace {

struct GlobalToLocalPass
    : tessera::impl::GlobalToLocalPassBase<GlobalToLocalPass> {
  void runOnOperation() override {
    FailureOr<PartitionContext> context = PartitionContext::get(getOperation());
    if (failed(context))
      return signalPassFailure();
    for (FunctionOpInterface func : context->getFunctions())
      if (failed(Localizer(*context, func).run()))
        return signalPassFailure();
  }
};

} // namespace
