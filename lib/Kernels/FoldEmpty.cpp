//===- FoldEmpty.cpp - Tensors without elements ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Removes tensors without elements, which have no rows and which the runtime
// does not support: an op that computes one does nothing, and an op that reads
// one reads nothing.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Codegen/GenericBuilder.h"
#include "tessera/Kernels/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tessera {
#define GEN_PASS_DEF_FOLDEMPTYPASS
#include "tessera/Kernels/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

static bool isEmpty(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && llvm::is_contained(tensor.getShape(), 0);
}

/// Builds a constant of one number, of the type of `like`.
static Value splat(OpBuilder &b, Value like, Attribute number) {
  auto type = cast<RankedTensorType>(like.getType());
  return arith::ConstantOp::create(b, like.getLoc(),
                                   SplatElementsAttr::get(type, number));
}

/// Rebuilds a concatenation with only its nonempty operands.
static Value dropEmptyOperands(OpBuilder &b, tensor::ConcatOp op) {
  SmallVector<Value> operands;
  for (Value operand : op.getInputs())
    if (!isEmpty(operand.getType()))
      operands.push_back(operand);
  if (operands.size() == 1)
    return operands.front();
  return tensor::ConcatOp::create(b, op.getLoc(), op.getType(), op.getDim(),
                                  operands);
}

/// Returns the values of an op with elements that reads a tensor without; empty
/// if they are unknown.
static SmallVector<Value> getValues(OpBuilder &b, Operation *op) {
  auto one = [](Value value) {
    return value ? SmallVector<Value>{value} : SmallVector<Value>();
  };
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([&](linalg::LinalgOp linalgOp) -> SmallVector<Value> {
        if (!llvm::is_contained(linalgOp.getStaticLoopRanges(), 0))
          return {};
        return llvm::to_vector(linalgOp.getDpsInits());
      })
      .Case([&](nn::ReduceOp reduce) {
        GenericBuilder generic(op->getLoc(), op);
        auto type = cast<RankedTensorType>(reduce.getResult().getType());
        Combiner combiner =
            reduce.getKind() == nn::ReduceKind::Sum   ? Combiner::Sum
            : reduce.getKind() == nn::ReduceKind::Max ? Combiner::Max
                                                      : Combiner::Min;
        return one(splat(b, reduce.getResult(),
                         generic.neutral(combiner, type.getElementType())));
      })
      .Case([&](nn::EinsumOp einsum) {
        return one(splat(
            b, einsum.getResult(),
            b.getZeroAttr(getElementTypeOrSelf(einsum.getResult().getType()))));
      })
      .Case([&](tensor::ConcatOp concat) {
        return one(dropEmptyOperands(b, concat));
      })
      .Case([&](tensor::InsertSliceOp insert) {
        return one(isEmpty(insert.getSourceType()) ? insert.getDest()
                                                   : Value());
      })
      .Case([&](tensor::PadOp pad) {
        Attribute number;
        Value padding = pad.getConstantPaddingValue();
        if (padding && matchPattern(padding, m_Constant(&number)))
          return one(splat(b, pad.getResult(), number));
        // The body computes every element.
        auto generate = tensor::GenerateOp::create(
            b, pad.getLoc(), pad.getResultType(), ValueRange());
        generate.getBody().takeBody(pad.getRegion());
        return one(generate);
      })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

namespace {
struct FoldEmptyPass : tessera::impl::FoldEmptyPassBase<FoldEmptyPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func->hasAttr(rt::RTDialect::kKernelAttr))
      return;
    SmallVector<Operation *> ops;
    func.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      bool gives = llvm::any_of(op->getResultTypes(), isEmpty);
      if (!gives && llvm::none_of(op->getOperandTypes(), isEmpty))
        return WalkResult::advance();
      ops.push_back(op);
      // An op whose results are all empty is erased with all that it contains.
      return gives && llvm::all_of(op->getResultTypes(), isEmpty)
                 ? WalkResult::skip()
                 : WalkResult::advance();
    });
    for (Operation *op : ops)
      if (!op->hasTrait<OpTrait::IsTerminator>() && failed(fold(op)))
        return signalPassFailure();
  }

  static LogicalResult fold(Operation *op) {
    OpBuilder b(op);
    bool moves =
        isa<dist::CollectiveOpInterface, dist::SendOp, dist::RecvOp>(op);
    SmallVector<Value> values;
    if (llvm::all_of(op->getResultTypes(), isEmpty)) {
      if (!moves && !isMemoryEffectFree(op))
        return op->emitError("expects tensors with elements");
      for (Type type : op->getResultTypes()) {
        auto tensor = cast<RankedTensorType>(type);
        values.push_back(tensor::EmptyOp::create(
            b, op->getLoc(), tensor.getShape(), tensor.getElementType()));
      }
    } else {
      values = getValues(b, op);
      if (values.empty())
        return op->emitError("expects tensors with elements in ")
               << op->getName();
    }
    op->replaceAllUsesWith(values);
    op->erase();
    return success();
  }
};
} // namespace
