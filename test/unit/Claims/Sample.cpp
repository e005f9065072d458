//===- Sample.cpp - One op in a function of its own -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sample.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::claims;

/// Suppresses diagnostics.
static ScopedDiagnosticHandler silence(MLIRContext *context) {
  return ScopedDiagnosticHandler(context, [](Diagnostic &) {});
}

std::optional<Sample> Sample::parse(MLIRContext &context,
                                    llvm::StringRef text) {
  auto handler = silence(&context);
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return std::nullopt;
  Sample sample(std::move(module));
  Value result = sample.getFunction().front().getTerminator()->getOperand(0);
  if (!isa_and_nonnull<ShardingRuleOpInterface>(result.getDefiningOp()))
    return std::nullopt;
  return sample;
}

func::FuncOp Sample::getFunction() const {
  return *const_cast<OwningOpRef<ModuleOp> &>(module)
              ->getOps<func::FuncOp>()
              .begin();
}

ShardingRuleOpInterface Sample::getOp() const {
  Value result = getFunction().front().getTerminator()->getOperand(0);
  return cast<ShardingRuleOpInterface>(result.getDefiningOp());
}

SmallVector<BlockArgument> Sample::getArguments() const {
  SmallVector<BlockArgument> arguments;
  for (Value operand : getOp()->getOperands())
    arguments.push_back(dyn_cast<BlockArgument>(operand));
  return arguments;
}

bool Sample::isArgument(unsigned i) const {
  return isa<BlockArgument>(getOp()->getOperand(i));
}

std::string Sample::describe() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (Operation &op : getFunction().front().without_terminator()) {
    op.print(os, OpPrintingFlags().useLocalScope().elideLargeElementsAttrs());
    os << '\n';
  }
  return text;
}

/// Makes `value`, a constant or an op on constants, with another type.
static Value resize(OpBuilder &builder, Value value, Type type) {
  if (value.getType() == type)
    return value;
  Operation *op = value.getDefiningOp();
  auto iface = dyn_cast_or_null<ShardingRuleOpInterface>(op);
  if (!iface)
    return {};
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    bool isShaped = operand.getType() == value.getType();
    operands.push_back(isShaped ? resize(builder, operand, type) : operand);
    if (!operands.back())
      return {};
  }
  FailureOr<Operation *> copy = iface.cloneWithShapes(builder, operands, type);
  return succeeded(copy) ? (*copy)->getResult(0) : Value();
}

std::optional<Sample> Sample::change(const Change &how) const {
  Sample copy(OwningOpRef<ModuleOp>(cast<ModuleOp>(
      const_cast<OwningOpRef<ModuleOp> &>(module)->getOperation()->clone())));
  auto handler = silence(copy.module->getContext());
  ShardingRuleOpInterface op = copy.getOp();
  Block &block = copy.getFunction().front();
  if (how.before)
    how.before(op);
  OpBuilder builder(op);
  SmallVector<Value> operands;
  unsigned numArguments = block.getNumArguments();
  for (auto [operand, type] : llvm::zip_equal(op->getOperands(), how.operands))
    operands.push_back(isa<BlockArgument>(operand)
                           ? Value(block.addArgument(type, op->getLoc()))
                           : resize(builder, operand, type));
  if (llvm::is_contained(operands, Value()))
    return std::nullopt;
  FailureOr<Operation *> resized =
      op.cloneWithShapes(builder, operands, how.results);
  if (failed(resized))
    return std::nullopt;
  if (how.after) {
    builder.setInsertionPoint(*resized);
    how.after(cast<ShardingRuleOpInterface>(*resized), builder);
  }
  op->replaceAllUsesWith((*resized)->getResults());
  op->erase();
  block.eraseArguments(0, numArguments);
  copy.getFunction().setType(FunctionType::get(
      block.getParentOp()->getContext(), block.getArgumentTypes(),
      block.getTerminator()->getOperandTypes()));
  if (failed(verify(*copy.module)))
    return std::nullopt;
  return copy;
}

std::optional<Sample>
Sample::decompose(const llvm::SmallBitVector &factors) const {
  Sample copy(OwningOpRef<ModuleOp>(cast<ModuleOp>(
      const_cast<OwningOpRef<ModuleOp> &>(module)->getOperation()->clone())));
  auto handler = silence(copy.module->getContext());
  ShardingRuleOpInterface op = copy.getOp();
  OpBuilder builder(op);
  FailureOr<SmallVector<Value>> values = op.decompose(builder, factors);
  if (failed(values))
    return std::nullopt;
  op->replaceAllUsesWith(*values);
  op->erase();
  if (failed(verify(*copy.module)))
    return std::nullopt;
  return copy;
}

std::optional<interp::RankTensors>
Sample::evaluate(ArrayRef<interp::TensorRef> arguments) const {
  auto handler = silence(getFunction().getContext());
  interp::RankTensors tensors(arguments.begin(), arguments.end());
  auto results = interp::interpret(getFunction(), {tensors});
  if (failed(results))
    return std::nullopt;
  return results->front();
}
