//===- IsolateGenerics.cpp - Makes generics declare all their reads -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Later passes treat a generic as a function of its inputs. So an elementwise
// op that reads its outs gets them as inputs; a loop is a reduction if and only
// if some result lacks an element for each of its iterations; and scalars from
// outside are computed in the body, because a kernel reads them from tensors. A
// tensor.empty with other uses than outs becomes zeros.
//
//===----------------------------------------------------------------------===//

#include "dialects/RT/RT.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/Kernels/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {
#define GEN_PASS_DEF_ISOLATEGENERICSPASS
#include "tessera/Kernels/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using utils::IteratorType;

//===----------------------------------------------------------------------===//
// Loops and outs
//===----------------------------------------------------------------------===//

static void setIterators(linalg::GenericOp op) {
  Builder builder(op.getContext());
  SmallVector<IteratorType> iterators(op.getNumLoops(), IteratorType::parallel);
  for (OpOperand &init : op.getDpsInitsMutable())
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
      if (!llvm::is_contained(op.getMatchingIndexingMap(&init).getResults(),
                              builder.getAffineDimExpr(loop)))
        iterators[loop] = IteratorType::reduction;
  SmallVector<Attribute> attributes;
  for (IteratorType iterator : iterators)
    attributes.push_back(
        linalg::IteratorTypeAttr::get(op.getContext(), iterator));
  op.setIteratorTypesAttr(builder.getArrayAttr(attributes));
}

/// Rebuilds the op with other operands. Moves its body, whose arguments follow
/// the operands.
static linalg::GenericOp withOperands(linalg::GenericOp op, ValueRange inputs,
                                      ValueRange inits,
                                      ArrayRef<AffineMap> maps) {
  OpBuilder builder(op);
  auto made = linalg::GenericOp::create(builder, op.getLoc(),
                                        op.getResultTypes(), inputs, inits,
                                        maps, op.getIteratorTypesArray());
  made.getRegion().takeBody(op.getRegion());
  op.replaceAllUsesWith(made.getResults());
  op.erase();
  return made;
}

/// Makes the outs that an elementwise op reads inputs.
static linalg::GenericOp readAsInputs(linalg::GenericOp op) {
  if (op.getNumReductionLoops())
    return op;
  auto isRead = [&](OpOperand &init) {
    return !op.getMatchingBlockArgument(&init).use_empty();
  };
  if (llvm::none_of(op.getDpsInitsMutable(), isRead))
    return op;
  SmallVector<Value> inputs(op.getDpsInputs()), inits;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray(), initMaps;
  unsigned numInputs = inputs.size();
  initMaps.assign(maps.begin() + numInputs, maps.end());
  maps.resize(numInputs);
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Block *body = op.getBody();
  for (OpOperand &init : op.getDpsInitsMutable()) {
    Value value = init.get();
    if (!isRead(init)) {
      inits.push_back(value);
      continue;
    }
    auto type = cast<RankedTensorType>(value.getType());
    inits.push_back(
        tensor::EmptyOp::create(b, type.getShape(), type.getElementType()));
    BlockArgument argument = op.getMatchingBlockArgument(&init);
    argument.replaceAllUsesWith(body->insertArgument(
        inputs.size(), argument.getType(), argument.getLoc()));
    inputs.push_back(value);
    maps.push_back(initMaps[init.getOperandNumber() - numInputs]);
  }
  llvm::append_range(maps, initMaps);
  return withOperands(op, inputs, inits, maps);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// True if the scalar can be an argument of a kernel: a constant, or an index
/// that depends on no tensor.
static bool isKnown(Value value) {
  if (!value.getDefiningOp())
    return value.getType().isIndex();
  if (value.getDefiningOp<arith::ConstantOp>())
    return true;
  if (!value.getType().isIndex())
    return false;
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i) {
    if (isa<ShapedType>(reached[i].getType()))
      return false;
    if (Operation *def = reached[i].getDefiningOp())
      reached.insert(def->operand_begin(), def->operand_end());
  }
  return true;
}

/// Clones the ops that compute `value` at the position of `b`, down to
/// arguments of a kernel and elements of tensors. Fails on ops other than
/// scalar arithmetic.
static FailureOr<Value> cloneScalar(OpBuilder &b, Value value,
                                    IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (isKnown(value))
    return value;
  Operation *def = value.getDefiningOp();
  if (!def)
    return emitError(value.getLoc(), "expects scalars that are computed from "
                                     "tensors and constants in front of a "
                                     "kernel but got an argument of type ")
           << value.getType();
  if (def->getNumRegions() || !isMemoryEffectFree(def))
    return def->emitError("expects arithmetic on scalars and elements of "
                          "tensors in front of a kernel but got ")
           << def->getName();
  for (Value operand : def->getOperands()) {
    if (isa<ShapedType>(operand.getType()))
      continue;
    FailureOr<Value> made = cloneScalar(b, operand, mapping);
    if (failed(made))
      return failure();
    mapping.map(operand, *made);
  }
  b.clone(*def, mapping);
  return mapping.lookup(value);
}

/// Computes the scalars that cannot be arguments of a kernel in the body of
/// `op`.
static LogicalResult sinkScalars(linalg::GenericOp op) {
  Block *body = op.getBody();
  llvm::SetVector<Value> outside;
  op.getRegion().walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!op.getRegion().isAncestor(operand.getParentRegion()) &&
          !isa<ShapedType>(operand.getType()) && !isKnown(operand))
        outside.insert(operand);
  });
  OpBuilder b = OpBuilder::atBlockBegin(body);
  IRMapping mapping;
  for (Value scalar : outside) {
    FailureOr<Value> made = cloneScalar(b, scalar, mapping);
    if (failed(made))
      return failure();
    scalar.replaceUsesWithIf(*made, [&](OpOperand &use) {
      return op.getRegion().isAncestor(use.getOwner()->getParentRegion());
    });
  }
  return success();
}

/// Reads scalar inputs in the body.
static linalg::GenericOp readScalars(linalg::GenericOp op) {
  auto isScalar = [](Value value) { return !isa<ShapedType>(value.getType()); };
  if (llvm::none_of(op.getDpsInputs(), isScalar))
    return op;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  Block *body = op.getBody();
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!isScalar(operand.get())) {
      if (!op.isDpsInit(&operand))
        inputs.push_back(operand.get());
      maps.push_back(map);
      continue;
    }
    unsigned number = inputs.size();
    body->getArgument(number).replaceAllUsesWith(operand.get());
    body->eraseArgument(number);
  }
  return withOperands(op, inputs, op.getDpsInits(), maps);
}

/// Makes a fill independent of its outs. A fill with a computed scalar becomes
/// a generic.
static void isolateFill(linalg::FillOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  if (!op.getOutputs()[0].getDefiningOp<tensor::EmptyOp>())
    op.getOutputsMutable().assign(
        tensor::EmptyOp::create(b, type.getShape(), type.getElementType()));
  if (isKnown(op.getInputs()[0]))
    return;
  auto made = linalg::GenericOp::create(
      b, type, ValueRange(), op.getOutputs(),
      b.getMultiDimIdentityMap(type.getRank()),
      SmallVector<IteratorType>(type.getRank(), IteratorType::parallel),
      [&](OpBuilder &nested, Location loc, ValueRange) {
        linalg::YieldOp::create(nested, loc, op.getInputs()[0]);
      });
  op.getResult(0).replaceAllUsesWith(made.getResult(0));
  op.erase();
}

/// Fills a tensor.empty whose elements are read, returned or passed on. Like a
/// constant it has an address in memory, and its elements may be arbitrary.
/// Zeros give the same bits in each run of a program.
static void fillEmpty(tensor::EmptyOp op, func::FuncOp func) {
  auto isRead = [](OpOperand &use) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(use.getOwner());
    return !linalgOp || !linalgOp.isDpsInit(&use);
  };
  RankedTensorType type = op.getType();
  bool hasElements = type.hasStaticShape() && type.getNumElements() != 0;
  if (!hasElements || !type.getElementType().isIntOrFloat() ||
      llvm::none_of(op->getUses(), isRead))
    return;
  OpBuilder b = OpBuilder::atBlockBegin(&func.front());
  Value zeros = arith::ConstantOp::create(b, op.getLoc(),
                                          cast<TypedAttr>(b.getZeroAttr(type)));
  op->getResult(0).replaceUsesWithIf(zeros, isRead);
}

namespace {
struct IsolateGenericsPass
    : tessera::impl::IsolateGenericsPassBase<IsolateGenericsPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func->hasAttr(rt::RTDialect::kKernelAttr))
      return;
    SmallVector<linalg::FillOp> fills;
    func.walk([&](linalg::FillOp op) { fills.push_back(op); });
    llvm::for_each(fills, isolateFill);
    SmallVector<linalg::GenericOp> generics;
    func.walk([&](linalg::GenericOp op) { generics.push_back(op); });
    for (linalg::GenericOp op : generics) {
      setIterators(op);
      if (failed(sinkScalars(readScalars(readAsInputs(op)))))
        return signalPassFailure();
    }
    SmallVector<tensor::EmptyOp> empty;
    func.walk([&](tensor::EmptyOp op) { empty.push_back(op); });
    for (tensor::EmptyOp op : empty)
      fillEmpty(op, func);
  }
};
} // namespace
