//===- ScalarRegion.cpp - Regions that compute one element ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera::interp;

FailureOr<ScalarRegion> ScalarRegion::compile(Block &block,
                                              const Evaluation &evaluation) {
  ScalarRegion region;
  llvm::DenseMap<Value, unsigned> slotOf;
  auto newSlot = [&](Value value, Cell cell) {
    slotOf[value] = region.slots.size();
    region.slots.push_back(cell);
    return slotOf[value];
  };
  auto slot = [&](Value value) {
    auto it = slotOf.find(value);
    return it != slotOf.end() ? it->second
                              : newSlot(value, (*evaluation.get(value))[0]);
  };
  for (BlockArgument argument : block.getArguments())
    newSlot(argument, intCell(0));
  for (Operation &op : block.without_terminator()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      newSlot(constant, (*fromAttribute(constant.getValue()))[0]);
      continue;
    }
    Step step;
    step.op = &op;
    OperandRange scalars = op.getOperands();
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      step.kind = Step::Kind::Index;
      step.dim = index.getDim();
    } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      step.kind = Step::Kind::Extract;
      step.tensor = evaluation.get(extract.getTensor());
      scalars = extract.getIndices();
    } else if (auto scalar = Registry::get().lookupScalar(&op)) {
      step.scalar = *scalar;
    } else {
      return op.emitError("the interpreter does not know '")
             << op.getName() << "' on scalars";
    }
    for (Value operand : scalars)
      step.operands.push_back(slot(operand));
    step.result = newSlot(op.getResult(0), intCell(0));
    region.steps.push_back(std::move(step));
  }
  for (Value value : block.getTerminator()->getOperands())
    region.yielded.push_back(slot(value));
  return region;
}

void ScalarRegion::keepAccumulatorsExact(Block &block, unsigned first) {
  for (auto [i, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    Operation *op = value.getDefiningOp();
    BlockArgument accumulator = block.getArgument(first + i);
    if (!op || !value.hasOneUse() || !isa<FloatType>(value.getType()) ||
        !isa<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp>(op) ||
        !accumulator.hasOneUse() || *accumulator.user_begin() != op)
      continue;
    for (Step &step : steps)
      step.exact |= step.op == op;
  }
}

LogicalResult ScalarRegion::run(ArrayRef<int64_t> index) {
  SmallVector<Cell, 4> operands;
  for (Step &step : steps) {
    Cell &result = slots[step.result];
    if (step.kind == Step::Kind::Index) {
      result = intCell(index[step.dim]);
      continue;
    }
    operands.clear();
    for (unsigned operand : step.operands)
      operands.push_back(slots[operand]);
    if (step.kind == Step::Kind::Scalar) {
      result = step.exact ? step.scalar.fn(step.scalar, operands.data())
                          : step.scalar.apply(operands.data());
      if (step.scalar.error)
        return step.op->emitOpError(step.scalar.error);
      continue;
    }
    SmallVector<int64_t, 4> position;
    for (auto [cell, size] :
         llvm::zip_equal(operands, step.tensor->getShape())) {
      if (cell.i < 0 || cell.i >= size)
        return step.op->emitOpError("expects an index in [0, ")
               << size << ") but got " << cell.i;
      position.push_back(cell.i);
    }
    result = step.tensor->at(position);
  }
  return success();
}
