//===- KernelCode.cpp - Code shared by all lowerings of a kernel ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCode.h"
#include "EightBits.h"
#include "dialects/RT/RT.h"

using namespace mlir;
using namespace tessera;

KernelCode::KernelCode(func::FuncOp kernel)
    : kernel(kernel), b(kernel.getLoc(), kernel.getContext()),
      rows(kernel->getAttrOfType<IntegerAttr>(rt::RTDialect::kRowsAttr)
               .getInt()) {}

KernelCode::~KernelCode() = default;

MemRefType KernelCode::flat(RankedTensorType type) {
  return MemRefType::get({type.getNumElements()}, type.getElementType());
}

void KernelCode::createConstant(arith::ConstantOp op, Operation *symbols) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type) {
    scalars.map(op.getResult(), b.clone(*op)->getResult(0));
    return;
  }
  auto values = cast<DenseElementsAttr>(op.getValue());
  auto flatType =
      RankedTensorType::get({type.getNumElements()}, type.getElementType());
  Attribute data = values.isSplat() ? Attribute(values.resizeSplat(flatType))
                                    : Attribute(values.reshape(flatType));
  Block &block = symbols->getRegion(0).front();
  std::string name;
  for (auto global : block.getOps<memref::GlobalOp>())
    if (global.getInitialValueAttr() == data)
      name = global.getSymName();
  if (name.empty()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&block);
    int64_t count = llvm::range_size(block.getOps<memref::GlobalOp>());
    name = "table_" + std::to_string(count);
    memref::GlobalOp::create(b, name, b.getStringAttr("private"), flat(type),
                             data, /*constant=*/true, b.getI64IntegerAttr(64));
  }
  Value memref = memref::GetGlobalOp::create(b, flat(type), name);
  storage[op.getResult()] = {memref, SmallVector<int64_t>(type.getShape())};
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value KernelCode::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value KernelCode::add(Value a, Value other) {
  auto flags =
      arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
  return a ? arith::AddIOp::create(b, a, other, flags) : other;
}

Value KernelCode::scale(Value a, int64_t factor) {
  auto flags = arith::IntegerOverflowFlags::nsw;
  if (factor == 1)
    return a;
  if (factor > 0)
    flags = flags | arith::IntegerOverflowFlags::nuw;
  return arith::MulIOp::create(b, a, index(factor), flags);
}

Value KernelCode::linear(ArrayRef<Value> indices, ArrayRef<int64_t> strides) {
  Value sum;
  for (auto [index, stride] : llvm::zip(indices, strides))
    sum = add(sum, scale(index, stride));
  return sum ? sum : index(0);
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

Value KernelCode::startValue(OpOperand &init) {
  if (auto fill = init.get().getDefiningOp<linalg::FillOp>())
    return scalars.lookup(fill.getInputs()[0]);
  // The tensor is uninitialized: any start value is right.
  if (init.get().getDefiningOp<tensor::EmptyOp>())
    return arith::ConstantOp::create(
        b, cast<TypedAttr>(b.getZeroAttr(getElementTypeOrSelf(init.get()))));
  return load(init);
}

/// Expands arith.maxnumf and arith.minnumf to comparisons: LLVM vectorizes a
/// loop over them without its last iterations.
static Value expandNumber(ImplicitLocOpBuilder &b, Operation *op, Value x,
                          Value y) {
  auto closer = isa<arith::MaxNumFOp>(op) ? arith::CmpFPredicate::OGT
                                          : arith::CmpFPredicate::OLT;
  Value isX = arith::CmpFOp::create(b, closer, x, y);
  Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, y, y);
  return arith::SelectOp::create(b, arith::OrIOp::create(b, isX, isNaN), x, y);
}

void KernelCode::cloneInBody(Operation *op, IRMapping &mapping,
                             bool reassociates) {
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    mapping.map(index.getResult(), loopIndex(index.getDim()));
    return;
  }
  if (auto read = dyn_cast<tensor::ExtractOp>(op)) {
    const Storage &buffer = storage.find(read.getTensor())->second;
    SmallVector<Value> indices;
    for (Value value : read.getIndices())
      indices.push_back(mapping.lookupOrDefault(value));
    Value index = linear(indices, rt::getRowMajorStrides(buffer.shape));
    Value value = memref::LoadOp::create(b, buffer.memref, index);
    mapping.map(read.getResult(), value);
    return;
  }
  if (isEightBitCast(op)) {
    Value value = mapping.lookupOrDefault(op->getOperand(0));
    mapping.map(op->getResult(0), expandEightBitCast(b, op, value));
    return;
  }
  if (isa<arith::MaxNumFOp, arith::MinNumFOp>(op)) {
    mapping.map(op->getResult(0),
                expandNumber(b, op, mapping.lookupOrDefault(op->getOperand(0)),
                             mapping.lookupOrDefault(op->getOperand(1))));
    return;
  }
  Operation *clone = b.clone(*op, mapping);
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(clone)) {
    auto iface = cast<arith::ArithFastMathInterface>(clone);
    auto flags = arith::FastMathFlags::contract;
    if (reassociates)
      flags = flags | arith::FastMathFlags::reassoc;
    clone->setAttr(iface.getFastMathAttrName(),
                   arith::FastMathFlagsAttr::get(b.getContext(), flags));
  }
}

SmallVector<Value> KernelCode::body(linalg::GenericOp op,
                                    ValueRange accumulators,
                                    bool reassociates) {
  IRMapping mapping(scalars);
  Block *block = op.getBody();
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (argument.use_empty())
      continue;
    bool isInit = op.isDpsInit(&operand);
    unsigned number = operand.getOperandNumber() - op.getNumDpsInputs();
    if (isInit && !accumulators.empty())
      mapping.map(argument, accumulators[number]);
    else
      mapping.map(argument, isInit ? startValue(operand) : load(operand));
  }
  auto isAccumulator = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == block &&
           argument.getArgNumber() >= op.getNumDpsInputs();
  };
  auto isKnown = [&](Value value) { return scalars.contains(value); };
  for (Operation &inner : block->without_terminator())
    if (llvm::none_of(inner.getResults(), isKnown))
      cloneInBody(&inner, mapping,
                  reassociates && !accumulators.empty() &&
                      llvm::any_of(inner.getOperands(), isAccumulator));
  SmallVector<Value> yielded;
  for (Value value : block->getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  return yielded;
}
