//===- DistOps.cpp - Verifiers of mesh, constraint, reshard, offsets ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

LogicalResult
dist::verifyRefs(ArrayRef<AxisRefAttr> refs, const Mesh &mesh,
                 FlatSymbolRefAttr symbol,
                 llvm::function_ref<InFlightDiagnostic()> emitError) {
  for (AxisRefAttr ref : refs) {
    std::optional<unsigned> axis = mesh.find(ref.getName());
    if (!axis)
      return emitError() << "(C3) expects an axis of mesh " << symbol
                         << " but got \"" << ref.getName() << "\"";
    // The product of both may overflow.
    int64_t whole = mesh.sizes[*axis], size = ref.getSize();
    if (size && (whole % size != 0 || whole / size % ref.getPreSize() != 0 ||
                 size == whole))
      return emitError()
             << "(C4) expects a proper sub-axis that divides axis \""
             << ref.getName() << "\" of size " << mesh.sizes[*axis]
             << " but got (" << ref.getPreSize() << ")" << ref.getSize();
  }
  return success();
}

LogicalResult dist::verifyAxes(Operation *op, AxesAttr axes,
                               FlatSymbolRefAttr symbol, StringRef label) {
  MeshOp mesh = lookupMesh(op, symbol);
  if (!mesh)
    return op->emitOpError(label) << " expects a known mesh but got " << symbol;
  Mesh plain = mesh.getMesh().toMesh();
  if (failed(verifyRefs(axes.getRefs(), plain, symbol,
                        [&] { return op->emitOpError(); })))
    return failure();
  AxisList list = axes.toAxes(plain);
  for (size_t i = 0; i < list.size(); ++i)
    if (overlapsAny(ArrayRef(list).take_front(i), list[i]))
      return op->emitOpError(label)
             << " expects each axis once but got " << axes;
  return success();
}

LogicalResult
ConstraintOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return getSharding().verifyFor(*this, getType(),
                                 [&] { return emitOpError("(C1) "); });
}

/// The gradient of a value may have another sharding than the value.
LogicalResult ConstraintOp::buildGradients(GradientBuilder &gradients) {
  Value gradient = gradients.ofResult(0);
  if (gradient && getWithGradient())
    gradient = ConstraintOp::create(gradients.builder, gradients.loc, gradient,
                                    getSharding(), /*with_gradient=*/true);
  gradients.setOperand(0, gradient);
  return success();
}

ShardingRule ConstraintOp::getShardingRule() {
  return getElementwiseRule(*this);
}

LogicalResult ReshardOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  for (ShardingAttr s : {getFrom(), getTo()})
    if (failed(s.verifyFor(*this, getType(),
                           [&] { return emitOpError("(C1) "); })))
      return failure();
  if (getFrom().getMesh() != getTo().getMesh())
    return emitOpError("(C1) expects shardings of one mesh but got ")
           << getFrom().getMesh() << " and " << getTo().getMesh();
  return success();
}

LogicalResult GroupOp::verify() {
  ArrayRef<int64_t> first;
  for (auto [i, type] : llvm::enumerate(getValues().getTypes())) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
    if (i == 0)
      first = shape;
    else if (shape != first)
      return emitOpError("(C1) expects tensors of one shape but got ")
             << getValues()[0].getType() << " and " << type;
  }
  return success();
}

LogicalResult
ToPartialOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyAxes(*this, getAxes(), getMeshAttr(), "(C1)");
}

LogicalResult
AxisOffsetOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (static_cast<int64_t>(getLocalSize()) < 0)
    return emitOpError("(C2) expects a local size of at least 0 but got ")
           << static_cast<int64_t>(getLocalSize());
  return verifyAxes(*this, getAxes(), getMeshAttr(), "(C1)");
}

/// Checks the coordinates of a send or a receive.
template <typename Op> static LogicalResult verifyTransfer(Op op) {
  MeshOp meshOp = lookupMesh(op, op.getMeshAttr());
  if (!meshOp)
    return op.emitOpError("(C1) expects a known mesh but got ")
           << op.getMeshAttr();
  Mesh mesh = meshOp.getMesh().toMesh();
  std::optional<unsigned> axis = mesh.find(op.getAxis());
  if (!axis)
    return op.emitOpError("(C1) expects an axis of mesh ")
           << op.getMeshAttr() << " but got \"" << op.getAxis() << "\"";
  for (int64_t c : {op.getFrom(), op.getTo()})
    if (c < 0 || c >= mesh.sizes[*axis])
      return op.emitOpError("(C1) expects coordinates in [0, ")
             << mesh.sizes[*axis] << ") but got " << c;
  if (op.getFrom() == op.getTo())
    return op.emitOpError("(C2) expects two coordinates but got ")
           << op.getFrom() << " twice";
  return success();
}

LogicalResult SendOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyTransfer(*this);
}

LogicalResult RecvOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyTransfer(*this);
}

LogicalResult StartOp::verifyRegions() {
  Block &block = getBody().front();
  if (getInputs().empty() || block.getNumArguments() != getInputs().size() ||
      llvm::range_size(block.without_terminator()) != 1 ||
      !isa<YieldOp>(block.back()) || block.back().getNumOperands() != 1)
    return emitOpError("(C1) expects a region of an argument for each operand, "
                       "one collective and a dist.yield");
  auto collective = dyn_cast<CollectiveOpInterface>(block.front());
  auto yield = cast<YieldOp>(block.back());
  if (!collective || collective.getFromAttr() ||
      !llvm::equal(collective->getOperands(), block.getArguments()) ||
      yield.getOperand(0) != collective->getResult(0))
    return emitOpError("(C1) expects a local collective of the region's "
                       "arguments and a dist.yield of its result");
  if (block.getArgumentTypes() != getInputs().getTypes() ||
      yield.getOperand(0).getType() != getFuture().getType().getResult())
    return emitOpError("(C2) expects the region to take ")
           << getInputs().getTypes() << " and to yield "
           << getFuture().getType().getResult() << " but got "
           << block.getArgumentTypes() << " and "
           << yield.getOperand(0).getType();
  return success();
}

YieldOp AccumulateOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

bool AccumulateOp::isStacked(unsigned result) {
  return cast<RankedTensorType>(getResult(result).getType()).getRank() >
         cast<RankedTensorType>(getYield()->getOperand(result).getType())
             .getRank();
}

bool AccumulateOp::isOnlySummed(Value value) {
  return value.hasOneUse() && *value.user_begin() == getYield() &&
         !isStacked(value.use_begin()->getOperandNumber());
}

RankedTensorType dist::getSliceType(RankedTensorType type) {
  return RankedTensorType::get(type.getShape().drop_front(),
                               type.getElementType());
}

LogicalResult AccumulateOp::verifyRegions() {
  Block &block = getBody().front();
  auto yield = dyn_cast<YieldOp>(block.back());
  auto fits = [&](Type yielded, Type result) {
    auto type = cast<RankedTensorType>(result);
    return yielded == type ||
           (type.getRank() > 0 &&
            type.getDimSize(0) == static_cast<int64_t>(getCount()) &&
            yielded == getSliceType(type));
  };
  if (!yield || yield->getNumOperands() != getNumResults() ||
      !llvm::all_of_zip(yield->getOperandTypes(), getResultTypes(), fits))
    return emitOpError(
        "(C3) expects the region to yield the results' types, or "
        "those of their slices");
  if (block.getNumArguments() != getSlices().size())
    return emitOpError("(C2) expects a region argument for each operand but "
                       "got ")
           << block.getNumArguments() << " for " << getSlices().size();
  for (auto [i, slice, argument] :
       llvm::enumerate(getSlices(), block.getArguments())) {
    auto type = cast<RankedTensorType>(slice.getType());
    if (type.getRank() < 1 ||
        type.getDimSize(0) != static_cast<int64_t>(getCount()))
      return emitOpError("(C1) expects operand ")
             << i << " to have " << getCount()
             << " micro-batches in its first dimension but got " << type;
    RankedTensorType part = getSliceType(type);
    if (argument.getType() != part)
      return emitOpError("(C2) expects region argument ")
             << i << " of type " << part << " but got " << argument.getType();
  }
  return success();
}

LogicalResult AccumulateOp::verify() {
  if (getCount() >= 1)
    return success();
  return emitOpError("(C1) expects at least one micro-batch but got ")
         << getCount();
}

LogicalResult WaitOp::verify() {
  auto start = getFuture().getDefiningOp<StartOp>();
  if (!start || start.getInputs() != getSources())
    return emitOpError("(C1) expects the future of a dist.start of the same "
                       "sources");
  if (getResult().getType() != getFuture().getType().getResult())
    return emitOpError("(C1) expects a result of type ")
           << getFuture().getType().getResult() << " but got "
           << getResult().getType();
  return success();
}
