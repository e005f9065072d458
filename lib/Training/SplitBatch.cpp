//===- SplitBatch.cpp - A forward program in micro-batches ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves the ops of a forward function that depend on the batch into a
// dist.accumulate:
//
//     logits = f(tokens)     %l, %s = accumulate 4 (%tokens) {   // stacked,
//     sum s = sum(logits)          %l = f(%slice), %s = sum(%l), yield %l, %s
//     mean = s / 8           }
//                            %mean = %s / 8
//
//===----------------------------------------------------------------------===//

#include "MicroBatchAttributes.h"
#include "MixedPrecision.h"
#include "dialects/Dist/Dist.h"
#include "tessera/Training/Passes.h"
#include "tessera/Training/TrainedFunction.h"

namespace tessera {
#define GEN_PASS_DEF_SPLITBATCHPASS
#include "tessera/Training/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

class BatchSplitter {
public:
  BatchSplitter(const TrainedFunction &forward, int64_t microBatches)
      : forward(forward), whole(forward.function), microBatches(microBatches),
        builder(whole.getContext()),
        outputs(whole.getBody().front().getTerminator()->getOperands()),
        split(whole, forward.getInputs(), forward.batchDims, microBatches) {}

  LogicalResult run();

private:
  bool isOfMicroBatches(Value value) const {
    return split.hasBatch(value) || split.isSum(value);
  }
  void createFunction();
  void findYielded();
  LogicalResult buildAccumulate();
  Value getAfter(Value value);
  void finish();

  const TrainedFunction &forward;
  func::FuncOp whole;
  int64_t microBatches;
  OpBuilder builder;
  SmallVector<Value> outputs;
  BatchSplit split;
  func::FuncOp made;
  /// Values that micro-batches yield: outputs, and sums that other values need.
  SetVector<Value> yielded;
  /// Maps values outside of micro-batches.
  IRMapping values;
};

} // namespace

void BatchSplitter::createFunction() {
  SmallVector<Type> types(whole.getArgumentTypes());
  SmallVector<DictionaryAttr> attrs;
  for (unsigned i = 0; i < whole.getNumArguments(); ++i)
    attrs.push_back(whole.getArgAttrDict(i));
  for (BlockArgument input : forward.inputs) {
    unsigned i = input.getArgNumber();
    auto part = cast<RankedTensorType>(split.getType(input));
    types[i] = withMicroBatches(part, microBatches);
    attrs[i] = withMicroBatches(attrs[i]);
  }
  builder.setInsertionPoint(whole);
  made = func::FuncOp::create(builder, whole.getLoc(), whole.getName(),
                              builder.getFunctionType(types, {}));
  made->setDiscardableAttrs(whole->getDiscardableAttrDictionary());
  made.setVisibility(whole.getVisibility());
  Block *entry = made.addEntryBlock();
  made.setAllArgAttrs(attrs);
  for (auto [argument, old] :
       llvm::zip_equal(entry->getArguments(), whole.getArguments())) {
    argument.setLoc(old.getLoc());
    values.map(old, argument);
  }
  builder.setInsertionPointToStart(entry);
}

void BatchSplitter::findYielded() {
  for (Value output : outputs)
    if (isOfMicroBatches(output))
      yielded.insert(output);
  for (Operation *op : split.getOpsAfter())
    for (Value operand : op->getOperands())
      if (split.isSum(operand))
        yielded.insert(operand);
}

LogicalResult BatchSplitter::buildAccumulate() {
  SmallVector<Type> types;
  for (Value value : yielded) {
    Type type = split.getType(value);
    types.push_back(
        split.hasBatch(value)
            ? withMicroBatches(cast<RankedTensorType>(type), microBatches)
            : type);
  }
  SmallVector<Value> slices;
  for (BlockArgument input : forward.inputs)
    slices.push_back(values.lookup(input));
  auto accumulate =
      dist::AccumulateOp::create(builder, whole.getLoc(), types, microBatches,
                                 /*reduce_each=*/false, slices);
  Block &body = accumulate.getBody().emplaceBlock();
  IRMapping inside = values;
  for (BlockArgument input : forward.inputs)
    inside.map(input, body.addArgument(split.getType(input), input.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  if (failed(copyForward(inner, split, inside)))
    return failure();
  dist::YieldOp::create(inner, whole.getLoc(),
                        llvm::map_to_vector(yielded, [&](Value value) {
                          return inside.lookup(value);
                        }));
  for (auto [value, result] : llvm::zip_equal(yielded, accumulate.getResults()))
    values.map(value, result);
  return success();
}

/// Builds a value outside of micro-batches, with its operands.
Value BatchSplitter::getAfter(Value value) {
  if (Value known = values.lookupOrNull(value))
    return known;
  Operation *def = value.getDefiningOp();
  for (Value operand : def->getOperands())
    getAfter(operand);
  builder.clone(*def, values);
  return values.lookup(value);
}

void BatchSplitter::finish() {
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attrs;
  for (auto [i, output] : llvm::enumerate(outputs)) {
    results.push_back(getAfter(output));
    DictionaryAttr old = whole.getResultAttrDict(i);
    if (!old)
      old = builder.getDictionaryAttr({});
    attrs.push_back(split.hasBatch(output) ? withMicroBatches(old) : old);
  }
  func::ReturnOp::create(builder, whole.getLoc(), results);
  made.setType(builder.getFunctionType(made.getArgumentTypes(),
                                       TypeRange(ValueRange(results))));
  made.setAllResultAttrs(attrs);
  whole.erase();
}

LogicalResult BatchSplitter::run() {
  if (failed(split.runForward(outputs)))
    return failure();
  findYielded();
  if (yielded.empty())
    return whole.emitError("expects a result that depends on the batch where "
                           "micro-batches are used");
  createFunction();
  if (failed(buildAccumulate())) {
    made.erase();
    return failure();
  }
  finish();
  return success();
}

namespace {
struct SplitBatchPass : tessera::impl::SplitBatchPassBase<SplitBatchPass> {
  void runOnOperation() override {
    auto plan = getOperation()->getAttrOfType<dist::PlanAttr>(
        dist::DistDialect::kPlanAttr);
    if (!plan || !plan.getPlan().forward)
      return;
    FailureOr<TrainedFunction> forward = findForwardFunction(getOperation());
    if (failed(forward) ||
        failed(BatchSplitter(*forward, plan.getPlan().microBatches).run()))
      signalPassFailure();
  }
};
} // namespace
