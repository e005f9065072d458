//===- InterpretControl.cpp - Calls, loops, branches ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks run in lockstep, so bounds and conditions must be the same on all.
//
//===----------------------------------------------------------------------===//

#include "Interpretation.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Interpreter/Shards.h"

using namespace mlir;
using namespace tessera::interp;

static std::vector<RankTensors> getAll(Interpretation &m, ValueRange values) {
  std::vector<RankTensors> tensors;
  for (Value value : values)
    tensors.push_back(m.get(value));
  return tensors;
}

static void setAll(Interpretation &m, ResultRange results,
                   std::vector<RankTensors> tensors) {
  for (auto [result, tensor] : llvm::zip_equal(results, tensors))
    m.set(result, std::move(tensor));
}

/// Returns an integer that is the same on all ranks.
static FailureOr<int64_t> getCommon(Operation *op, const RankTensors &ranks) {
  int64_t first = (*ranks[0])[0].i;
  for (const TensorRef &tensor : ranks)
    if ((*tensor)[0].i != first)
      return op->emitOpError(
                 "expects bounds and conditions that are the same on "
                 "all ranks but got ")
             << first << " and " << (*tensor)[0].i;
  return first;
}

static FailureOr<int64_t> getCommon(Interpretation &m, Operation *op,
                                    Value value) {
  return getCommon(op, m.get(value));
}

static LogicalResult runCall(func::CallOp op, Interpretation &m) {
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getCalleeAttr());
  if (!function)
    return op.emitOpError("expects a known function but got ")
           << op.getCalleeAttr();
  std::vector<RankTensors> results;
  if (failed(m.call(function, getAll(m, op.getOperands()), results)))
    return failure();
  setAll(m, op.getResults(), std::move(results));
  return success();
}

static LogicalResult runIf(scf::IfOp op, Interpretation &m) {
  FailureOr<int64_t> condition = getCommon(m, op, op.getCondition());
  if (failed(condition))
    return failure();
  Region &region = *condition ? op.getThenRegion() : op.getElseRegion();
  if (region.empty())
    return success();
  std::vector<RankTensors> results;
  if (failed(m.runBlock(region.front(), {}, results)))
    return failure();
  setAll(m, op.getResults(), std::move(results));
  return success();
}

static LogicalResult runFor(scf::ForOp op, Interpretation &m) {
  FailureOr<int64_t> lower = getCommon(m, op, op.getLowerBound());
  FailureOr<int64_t> upper = getCommon(m, op, op.getUpperBound());
  FailureOr<int64_t> step = getCommon(m, op, op.getStep());
  if (failed(lower) || failed(upper) || failed(step))
    return failure();
  if (*step <= 0)
    return op.emitOpError("expects a positive step but got ") << *step;
  std::vector<RankTensors> carried = getAll(m, op.getInitArgs());
  // The distance may need all 64 bits.
  uint64_t distance = static_cast<uint64_t>(*upper) - *lower;
  bool runs = op.getUnsignedCmp() ? static_cast<uint64_t>(*lower) <
                                        static_cast<uint64_t>(*upper)
                                  : *lower < *upper;
  uint64_t count = runs ? (distance - 1) / *step + 1 : 0;
  if (failed(m.addIterations(op, count)))
    return failure();
  for (uint64_t n = 0; n < count; ++n) {
    int64_t i = *lower + n * *step;
    Tensor counter(op.getInductionVar().getType());
    counter[0] = intCell(i);
    std::vector<RankTensors> arguments = std::move(carried);
    arguments.insert(
        arguments.begin(),
        RankTensors(m.getNumRanks(), std::make_shared<const Tensor>(counter)));
    if (failed(m.runBlock(*op.getBody(), std::move(arguments), carried)))
      return failure();
  }
  setAll(m, op.getResults(), std::move(carried));
  return success();
}

static LogicalResult runWhile(scf::WhileOp op, Interpretation &m) {
  std::vector<RankTensors> carried = getAll(m, op.getInits());
  while (true) {
    std::vector<RankTensors> passed;
    if (failed(m.runBlock(*op.getBeforeBody(), std::move(carried), passed)))
      return failure();
    FailureOr<int64_t> condition = getCommon(op, passed.front());
    if (failed(condition))
      return failure();
    passed.erase(passed.begin());
    if (!*condition) {
      setAll(m, op.getResults(), std::move(passed));
      return success();
    }
    if (failed(m.addIterations(op, 1)))
      return failure();
    if (failed(m.runBlock(*op.getAfterBody(), std::move(passed), carried)))
      return failure();
  }
}

static LogicalResult runSwitch(scf::IndexSwitchOp op, Interpretation &m) {
  FailureOr<int64_t> choice = getCommon(m, op, op.getArg());
  if (failed(choice))
    return failure();
  Region *region = &op.getDefaultRegion();
  for (auto [value, body] : llvm::zip(op.getCases(), op.getCaseRegions()))
    if (value == *choice)
      region = &body;
  std::vector<RankTensors> results;
  if (failed(m.runBlock(region->front(), {}, results)))
    return failure();
  setAll(m, op.getResults(), std::move(results));
  return success();
}

static LogicalResult runRegion(scf::ExecuteRegionOp op, Interpretation &m) {
  if (!op.getRegion().hasOneBlock())
    return op.emitOpError("the interpreter expects a region of one block");
  std::vector<RankTensors> results;
  if (failed(m.runBlock(op.getRegion().front(), {}, results)))
    return failure();
  setAll(m, op.getResults(), std::move(results));
  return success();
}

//===----------------------------------------------------------------------===//
// Micro-batches
//===----------------------------------------------------------------------===//

/// Ranks that share a tensor share its slice.
RankTensors tessera::interp::sliceFirst(const RankTensors &ranks,
                                        int64_t index) {
  std::map<const Tensor *, TensorRef> slices;
  RankTensors result;
  for (const TensorRef &tensor : ranks) {
    TensorRef &slice = slices[tensor.get()];
    if (!slice) {
      SmallVector<int64_t> offsets(tensor->getRank(), 0);
      SmallVector<int64_t> sizes(tensor->getShape());
      offsets[0] = index;
      sizes[0] = 1;
      slice = std::make_shared<const Tensor>(
          tensor->slice(offsets, sizes).reshaped(ArrayRef(sizes).drop_front()));
    }
    result.push_back(slice);
  }
  return result;
}

void tessera::interp::addUp(RankTensors &sums, const RankTensors &values) {
  std::map<std::pair<const Tensor *, const Tensor *>, TensorRef> done;
  // Keeps the operands alive while their addresses are keys.
  RankTensors before = sums;
  for (auto [sum, value] : llvm::zip_equal(sums, values)) {
    TensorRef &total = done[{sum.get(), value.get()}];
    if (!total) {
      Tensor added = *sum;
      const ElementType &type = added.getElementType();
      for (int64_t i = 0, n = added.getNumElements(); i < n; ++i)
        added[i] = type.round(
            combine(type, tessera::ReductionKind::Sum, added[i], (*value)[i]));
      total = std::make_shared<const Tensor>(std::move(added));
    }
    sum = total;
  }
}

RankTensors tessera::interp::stack(ArrayRef<RankTensors> slices) {
  RankTensors result;
  for (size_t rank = 0; rank < slices.front().size(); ++rank) {
    const Tensor &first = *slices.front()[rank];
    SmallVector<int64_t> shape{static_cast<int64_t>(slices.size())};
    llvm::append_range(shape, first.getShape());
    Tensor whole(first.getElementType(), shape);
    int64_t size = first.getNumElements();
    for (auto [number, slice] : llvm::enumerate(slices))
      for (int64_t i = 0; i < size; ++i)
        whole[static_cast<int64_t>(number) * size + i] = (*slice[rank])[i];
    result.push_back(std::make_shared<const Tensor>(std::move(whole)));
  }
  return result;
}

static LogicalResult runAccumulate(tessera::dist::AccumulateOp op,
                                   Interpretation &m) {
  std::vector<RankTensors> sums;
  // The slices of stacked results, by result.
  std::vector<std::vector<RankTensors>> stacks(op.getNumResults());
  for (int64_t i = 0, n = op.getCount(); i < n; ++i) {
    std::vector<RankTensors> slices, yielded;
    for (Value whole : op.getSlices())
      slices.push_back(sliceFirst(m.get(whole), i));
    if (failed(m.runBlock(op.getBody().front(), std::move(slices), yielded)))
      return failure();
    for (unsigned r = 0; r < op.getNumResults(); ++r)
      if (op.isStacked(r))
        stacks[r].push_back(yielded[r]);
      else if (i > 0)
        addUp(sums[r], yielded[r]);
    if (i == 0)
      sums = std::move(yielded);
  }
  for (auto [sum, slices] : llvm::zip_equal(sums, stacks))
    if (!slices.empty())
      sum = stack(slices);
  setAll(m, op.getResults(), std::move(sums));
  return success();
}

void tessera::interp::addControlHandlers(Registry &r) {
  r.addRank<tessera::dist::AccumulateOp, runAccumulate>();
  r.addRank<func::CallOp, runCall>();
  r.addRank<scf::ForOp, runFor>();
  r.addRank<scf::IfOp, runIf>();
  r.addRank<scf::WhileOp, runWhile>();
  r.addRank<scf::IndexSwitchOp, runSwitch>();
  r.addRank<scf::ExecuteRegionOp, runRegion>();
}
