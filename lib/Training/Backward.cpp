//===- Backward.cpp - Reverse-mode differentiation ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forward walk finds the values that depend on the differentiated values. A
// backward walk builds gradients of the values that the outputs depend on.
//
//===----------------------------------------------------------------------===//

#include "tessera/Training/Backward.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "tessera/Interfaces/DifferentiableOpInterface.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"

using namespace mlir;
using namespace tessera;

namespace {

/// The differentiation of one block.
class Backward {
public:
  Backward(OpBuilder &builder, ArrayRef<Value> wrt, ArrayRef<Type> elementTypes)
      : builder(builder) {
    for (auto [value, type] : llvm::zip_equal(wrt, elementTypes))
      gradientTypes[value] = type;
  }

  LogicalResult run(ArrayRef<Value> outputs, ArrayRef<Value> seeds);
  Value getGradient(Value value) { return gradients.lookup(value); }

private:
  Type getGradientType(Operation &op, Value result);
  SmallVector<Operation *> findPath(Block *block, Operation *end);
  LogicalResult differentiate(Operation *op);
  void addGradient(Value value, Value gradient);
  void nameDims(Operation *op);
  void markBackward(Block *block);

  OpBuilder &builder;
  /// Element type of the gradient of each value that depends on `wrt`.
  llvm::DenseMap<Value, Type> gradientTypes;
  llvm::DenseMap<Value, Value> gradients;
  /// The last op before the gradients; all later ops are new.
  Operation *lastForward = nullptr;
};

} // namespace

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// The gradient of a value has the type of the value. For an 8-bit value, it
/// has the type of the gradient of the value that was quantized.
Type Backward::getGradientType(Operation &op, Value result) {
  Type type = getElementTypeOrSelf(result.getType());
  if (!nn::isQuantized(type))
    return type;
  for (Value operand : op.getOperands())
    if (Type wider = gradientTypes.lookup(operand))
      return wider;
  return type;
}

/// The ops whose results depend on `wrt`, in order. Differentiation ends at
/// results that are in `wrt` themselves.
SmallVector<Operation *> Backward::findPath(Block *block, Operation *end) {
  SmallVector<Operation *> path;
  for (Operation &op : *block) {
    if (&op == end)
      break;
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (differentiable && differentiable.stopsGradient())
      continue;
    // Values that a region uses from outside count as operands.
    bool depends = false;
    op.walk([&](Operation *inner) {
      depends |= llvm::any_of(inner->getOperands(), [&](Value operand) {
        return gradientTypes.contains(operand);
      });
    });
    if (!depends)
      continue;
    bool isPath = false;
    for (Value result : op.getResults())
      if (isFloat(result))
        isPath |= gradientTypes.try_emplace(result, getGradientType(op, result))
                      .second;
    if (isPath)
      path.push_back(&op);
  }
  return path;
}

/// Adds to the gradient of a value, if it depends on `wrt`.
void Backward::addGradient(Value value, Value gradient) {
  Type type = gradientTypes.lookup(value);
  if (!type)
    return;
  ElementwiseBuilder b{builder, gradient.getLoc()};
  gradient = b.cast(gradient, type);
  Value &sum = gradients[value];
  sum = sum ? b.add(sum, gradient) : gradient;
}

/// The gradient of a residual-stream value is on the residual stream too: it
/// gets the dimension names of the value.
void Backward::nameDims(Operation *op) {
  Attribute dims = op->getDiscardableAttr(nn::NNDialect::kDimsAttr);
  Value gradient = dims ? gradients.lookup(op->getResult(0)) : Value();
  Operation *def = gradient ? gradient.getDefiningOp() : nullptr;
  bool isNew = def && def->getBlock() == builder.getBlock() &&
               (!lastForward || lastForward->isBeforeInBlock(def));
  if (isNew && def->getNumResults() == 1 &&
      !def->hasAttr(nn::NNDialect::kDimsAttr))
    def->setDiscardableAttr(nn::NNDialect::kDimsAttr, dims);
}

LogicalResult Backward::differentiate(Operation *op) {
  SmallVector<Value> resultGradients;
  for (Value result : op->getResults())
    resultGradients.push_back(gradients.lookup(result));
  if (llvm::none_of(resultGradients, [](Value g) { return bool(g); }))
    return success();
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitError("cannot differentiate '")
           << op->getName() << "': expects an op that knows its gradient";
  nameDims(op);
  {
    OpBuilder::InsertionGuard guard(builder);
    bool isLast = op == lastForward;
    op = differentiable.saveForBackward(builder);
    if (isLast)
      lastForward = op;
  }
  // Statistics that were added have no gradient.
  resultGradients.resize(op->getNumResults());
  SmallVector<Type> types;
  for (Value operand : op->getOperands())
    types.push_back(gradientTypes.lookup(operand));
  GradientBuilder gradientBuilder(builder, op, resultGradients, types);
  if (failed(
          cast<DifferentiableOpInterface>(op).buildGradients(gradientBuilder)))
    return failure();
  for (auto [operand, gradient] : llvm::zip_equal(
           op->getOperands(), gradientBuilder.getOperandGradients()))
    if (gradient)
      addGradient(operand, gradient);
  return success();
}

/// Marks ops of the backward for later passes. Constants may move to the front
/// of the block.
void Backward::markBackward(Block *block) {
  Block::iterator first =
      lastForward ? std::next(lastForward->getIterator()) : block->begin();
  for (Operation &op : llvm::make_range(first, builder.getInsertionPoint()))
    if (!op.hasTrait<OpTrait::ConstantLike>())
      op.setDiscardableAttr(dist::DistDialect::kBackwardAttr,
                            builder.getUnitAttr());
}

LogicalResult Backward::run(ArrayRef<Value> outputs, ArrayRef<Value> seeds) {
  Block *block = builder.getBlock();
  auto point = builder.getInsertionPoint();
  Operation *end = point == block->end() ? nullptr : &*point;
  SmallVector<Operation *> path = findPath(block, end);
  lastForward = point == block->begin() ? nullptr : &*std::prev(point);
  for (auto [output, seed] : llvm::zip_equal(outputs, seeds))
    if (seed)
      addGradient(output, seed);
  for (Operation *op : llvm::reverse(path))
    if (failed(differentiate(op)))
      return failure();
  markBackward(block);
  return success();
}

LogicalResult tessera::buildBackward(OpBuilder &builder,
                                     ArrayRef<Value> outputs,
                                     ArrayRef<Value> seeds, ArrayRef<Value> wrt,
                                     ArrayRef<Type> elementTypes,
                                     SmallVectorImpl<Value> &gradients) {
  Backward backward(builder, wrt, elementTypes);
  if (failed(backward.run(outputs, seeds)))
    return failure();
  gradients.clear();
  for (Value value : wrt)
    gradients.push_back(backward.getGradient(value));
  return success();
}
