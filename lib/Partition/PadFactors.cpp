//===- PadFactors.cpp - Pads sizes that a mesh does not divide ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FactorSizes computes the padded sizes. This rewrites the types; MaskPadding
// masks the padding. An op that cannot take padding runs on true elements.
//
//===----------------------------------------------------------------------===//

#include "Padder.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Partition/Passes.h"
#include <deque>

namespace tessera {
#define GEN_PASS_DEF_PADFACTORSPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

Signature Padder::getSignature() {
  Block &block = func.getFunctionBody().front();
  Signature signature;
  for (BlockArgument arg : block.getArguments())
    signature.inputs.push_back(sizes.getPaddedType(arg));
  for (Value value : block.getTerminator()->getOperands())
    signature.outputs.push_back(sizes.getPaddedType(value));
  return signature;
}

/// Sets the padded types of arguments and results, and records their true
/// shapes.
void Padder::setBoundaryTypes() {
  Block &block = func.getFunctionBody().front();
  MLIRContext *context = func.getContext();
  auto note = [&](RankedTensorType from, Type to) {
    trueElements += from.getNumElements();
    allElements += cast<RankedTensorType>(to).getNumElements();
    return DenseI64ArrayAttr::get(context, from.getShape());
  };
  SmallVector<Type> inputs, outputs;
  for (BlockArgument arg : block.getArguments()) {
    Type type = sizes.getPaddedType(arg);
    inputs.push_back(type);
    if (type == arg.getType())
      continue;
    auto from = cast<RankedTensorType>(arg.getType());
    func.setArgAttr(arg.getArgNumber(), dist::DistDialect::kGlobalShapeAttr,
                    note(from, type));
    for (int64_t dim = 0; dim < from.getRank(); ++dim)
      zeros.insert({arg, dim});
  }
  for (auto [i, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    Type type = sizes.getPaddedType(value);
    outputs.push_back(type);
    if (type != value.getType())
      func.setResultAttr(i, dist::DistDialect::kGlobalShapeAttr,
                         note(cast<RankedTensorType>(value.getType()), type));
  }
  func.setType(func.cloneTypeWith(inputs, outputs));
}

/// Informs an op that contains a reduction of the padding: no mask of an
/// operand is neutral for every such reduction. Returns false if it cannot be
/// informed.
bool Padder::absorbOwnReductions(Operation *op, const ShardingRule &rule) {
  llvm::SmallBitVector own(rule.factors.size());
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    own[index] = factor.kind == FactorKind::Decomposed &&
                 sizes.getPadded(op, index) != factor.size;
  if (!absorbsPadding(op, rule, own))
    return false;
  for (unsigned index : own.set_bits())
    cast<ShardingRuleOpInterface>(op).absorbPadding(index,
                                                    rule.factors[index].size);
  return true;
}

/// A donated result is an argument of the next run, whose padding must be zero.
void Padder::padTerminator(Operation *op, SmallVector<Value> operands) {
  OpBuilder builder(op);
  for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i) {
    auto donated =
        func.getArgAttrOfType<IntegerAttr>(i, dist::DistDialect::kDonateAttr);
    if (!donated || op->getParentOp() != func.getOperation())
      continue;
    unsigned number = donated.getInt();
    operands[number] =
        maskNonZeros(builder, op->getOperand(number), operands[number]);
  }
  op->setOperands(operands);
}

/// Pads the body in place, and moves it to an op of the padded types.
void Padder::padAccumulate(dist::AccumulateOp op) {
  Block &body = op.getBody().front();
  for (auto [whole, slice] : llvm::zip(op.getSlices(), body.getArguments()))
    for (int64_t dim = 0;
         dim < cast<RankedTensorType>(slice.getType()).getRank(); ++dim)
      if (isZeroPadded(whole, dim + 1))
        zeros.insert({slice, dim});
  SmallVector<Value> yielded(op.getYield().getValues());
  padBlock(body);
  SmallVector<Value> operands;
  for (OpOperand &slice : op.getSlicesMutable())
    operands.push_back(fit(slice.get(), sizes.getTypeAt(slice), op));
  SmallVector<Type> types;
  for (auto [value, result] : llvm::zip(yielded, op->getResults())) {
    types.push_back(sizes.getPaddedType(result));
    auto rank = cast<RankedTensorType>(value.getType()).getRank();
    auto shift = cast<RankedTensorType>(result.getType()).getRank() - rank;
    for (int64_t dim = 0; dim < rank; ++dim)
      if (isZeroPadded(value, dim))
        zeros.insert({result, dim + shift});
  }
  OpBuilder builder(op);
  OperationState state(op.getLoc(), op->getName(), operands, types,
                       op->getAttrs());
  state.addRegion()->takeBody(op.getBody());
  Operation *copy = builder.create(state);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
    padded[from] = to;
  replaced.push_back(op);
}

/// Appends the padded arguments after the old ones until the ops are rewritten.
void Padder::padBlock(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  unsigned numArguments = block.getNumArguments();
  blocks.push_back({&block, numArguments});
  for (unsigned i = 0; i < numArguments; ++i) {
    BlockArgument arg = block.getArgument(i);
    if (Type type = sizes.getPaddedType(arg); type != arg.getType())
      padded[arg] = block.addArgument(type, arg.getLoc());
  }
  for (Operation *op : ops)
    padOp(op);
}

void Padder::takeArguments(Block &block, unsigned numArguments) {
  for (unsigned i = 0; i < numArguments; ++i) {
    BlockArgument arg = block.getArgument(i);
    if (Value standIn = padded.lookup(arg)) {
      arg.setType(standIn.getType());
      standIn.replaceAllUsesWith(arg);
    }
  }
  block.eraseArguments(numArguments, block.getNumArguments() - numArguments);
}

/// Remarks on sizes that are rounded up because they are the minor dimension of
/// a matmul, and on those that cannot be.
void Padder::remarkAlignment() {
  for (const FactorSizes::Unaligned &dim : sizes.getUnaligned()) {
    if (dim.why)
      remark::missed(
          func.getLoc(),
          remark::RemarkOpts::name("Alignment").category("partition"))
          << remark::add("a matmul's minor dimension stays {0}: {1}", dim.size,
                         dim.why);
    else
      remark::passed(
          func.getLoc(),
          remark::RemarkOpts::name("Alignment").category("partition"))
          << remark::add("a matmul's minor dimension {0} is padded to {1} "
                         "({2:F2} %)",
                         dim.size, dim.padded,
                         100.0 * (dim.padded - dim.size) / dim.size);
  }
}

void Padder::run(const Signatures &callees) {
  signatures = &callees;
  setBoundaryTypes();
  padBlock(func.getFunctionBody().front());
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
  for (auto [block, numArguments] : blocks)
    takeArguments(*block, numArguments);
  if (allElements > trueElements)
    remark::analysis(func.getLoc(),
                     remark::RemarkOpts::name("Padding").category("partition"))
        << remark::add("{0}: padded arguments and results hold {1} elements "
                       "for {2} true ones ({3:F1} % waste)",
                       func.getName().str(), allElements, trueElements,
                       100.0 * (allElements - trueElements) / trueElements);
}

namespace {
struct PadFactorsPass : tessera::impl::PadFactorsPassBase<PadFactorsPass> {
  using PadFactorsPassBase::PadFactorsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Mesh mesh;
    if (!module.getOps<dist::MeshOp>().empty()) {
      FailureOr<dist::MeshOp> meshOp = dist::getOnlyMesh(module);
      if (failed(meshOp))
        return signalPassFailure();
      mesh = meshOp->getMesh().toMesh();
    } else if (multiple == 0) {
      return;
    }
    std::deque<Padder> padders;
    Signatures signatures;
    bool any = false;
    for (auto func : module.getOps<FunctionOpInterface>()) {
      if (func.isExternal())
        continue;
      Padder &padder = padders.emplace_back(func, mesh, getMultiple(func));
      signatures[func] = padder.getSignature();
      any |= padder.isPadded();
    }
    for (Padder &padder : padders) {
      padder.remarkAlignment();
      if (any)
        padder.run(signatures);
    }
  }

  /// A local function keeps its sizes, and a called function has the sizes of
  /// its callers.
  int64_t getMultiple(FunctionOpInterface func) {
    bool isOpen = multiple != 0 &&
                  !func->hasAttr(dist::DistDialect::kLocalAttr) &&
                  SymbolTable::symbolKnownUseEmpty(func, getOperation());
    return isOpen ? multiple : 0;
  }
};
} // namespace
