//===- VerifyInput.cpp - Checks the boundary after the phase input --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Interfaces/Limits.h"
#include "tessera/Interfaces/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_VERIFYINPUTPASS
#include "tessera/Interfaces/Passes.h.inc"
} // namespace tessera

using namespace mlir;

/// True for elements that every phase supports. Others would fail late, or not
/// at all.
static bool isKnownElement(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() && integer.getWidth() >= 1 &&
           integer.getWidth() <= 64;
  if (auto real = dyn_cast<FloatType>(type))
    return real.getWidth() <= 64;
  return type.isIndex();
}

/// Checks one type of an op or a function. Types of Tessera's dialects check
/// themselves.
static LogicalResult verifyType(Operation *op, Type type, const Twine &where) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (shaped && !shaped.hasStaticShape())
    return op->emitError() << where << ": expects a static shape but got "
                           << type;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.getEncoding())
    return op->emitError() << where
                           << ": expects a tensor without an encoding "
                              "but got "
                           << type;
  if (tensor && tessera::isTooLarge(tensor.getShape()))
    return op->emitError() << where
                           << ": expects a tensor of at most 2^48 elements but "
                              "got "
                           << type;
  bool isBuiltin = isa<BuiltinDialect>(type.getDialect());
  if (isBuiltin && !isKnownElement(tensor ? tensor.getElementType() : type))
    return op->emitError() << where
                           << ": expects a tensor or a scalar of floats, of "
                              "integers of 1 to 64 bits or of index but got "
                           << type;
  return success();
}

static LogicalResult verifyTypes(Operation *op, TypeRange types,
                                 StringRef what) {
  for (auto [i, type] : llvm::enumerate(types))
    if (failed(verifyType(op, type, what + " " + Twine(i))))
      return failure();
  return success();
}

/// Checks the body of a named linalg op. Its generic form may have any body,
/// which its own form does not show, so the body must match the name.
static LogicalResult verifyBody(linalg::LinalgOp op) {
  auto build = op.getRegionBuilder();
  if (!build || op->getNumRegions() != 1)
    return success();
  Region expected;
  Block &block = expected.emplaceBlock();
  for (Value operand : op->getOperands())
    block.addArgument(getElementTypeOrSelf(operand.getType()), op.getLoc());
  ImplicitLocOpBuilder builder(op.getLoc(), op.getContext());
  builder.setInsertionPointToStart(&block);
  build(builder, block, op->getAttrs(), [&] { return op->emitError(); });
  if (OperationEquivalence::isRegionEquivalentTo(
          &op->getRegion(0), &expected, OperationEquivalence::IgnoreLocations))
    return success();
  return op->emitError("expects the body of ")
         << op->getName() << " to be its own";
}

/// Checks the operands of tensor.pad, one for each padding that is not
/// constant. Its own verifier does not count them.
static LogicalResult verifyPaddings(tensor::PadOp op) {
  auto countDynamic = [](ArrayRef<int64_t> paddings) {
    return static_cast<size_t>(llvm::count_if(paddings, ShapedType::isDynamic));
  };
  size_t expected =
      countDynamic(op.getStaticLow()) + countDynamic(op.getStaticHigh());
  if (countDynamic(op.getStaticLow()) == op.getLow().size() &&
      countDynamic(op.getStaticHigh()) == op.getHigh().size())
    return success();
  return op.emitError("expects an operand for each of ")
         << expected << " paddings that are no constants but got "
         << op.getLow().size() + op.getHigh().size();
}

/// Rejects negative offsets and strides. The verifiers of slices check only the
/// last element, and a negative stride reaches others before the tensor's
/// start.
static LogicalResult verifyStrides(OffsetSizeAndStrideOpInterface op) {
  auto isNegative = [](int64_t number) {
    return number < 0 && !ShapedType::isDynamic(number);
  };
  if (llvm::any_of(op.getStaticOffsets(), isNegative) ||
      llvm::any_of(op.getStaticStrides(), isNegative))
    return op->emitError("expects offsets and strides that are not negative");
  return success();
}

/// Checks the groups of tensor.collapse_shape and tensor.expand_shape, whose
/// verifiers read only 32 bits of each merged or split dimension.
template <typename Op> static LogicalResult verifyGroups(Op op) {
  int64_t next = 0;
  for (const ReassociationIndices &group : op.getReassociationIndices())
    for (int64_t dim : group)
      if (dim != next++)
        return op.emitError("expects dimension ")
               << next - 1 << " but got " << dim;
  return success();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Returns the module's functions that `func` calls, in order.
static SmallVector<FunctionOpInterface> getCallees(FunctionOpInterface func,
                                                   SymbolTable &symbols) {
  SmallVector<FunctionOpInterface> callees;
  func->walk([&](CallOpInterface call) {
    auto symbol = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
    auto callee =
        symbol ? symbols.lookup<FunctionOpInterface>(symbol.getLeafReference())
               : FunctionOpInterface();
    if (callee)
      callees.push_back(callee);
  });
  return callees;
}

/// Maximum number of ops of a function after inlining all calls.
static constexpr int64_t kMostInlined = int64_t(1) << 20;

/// Rejects recursive functions, and functions whose calls inline to too many
/// ops, such as a sequence of functions that each call the next one twice:
/// bodies are inlined, interpreted and compiled call by call. Uses depth-first
/// search; finished functions have their number of ops.
static LogicalResult verifyCalls(ModuleOp module) {
  SymbolTable symbols(module);
  DenseSet<Operation *> active;
  llvm::DenseMap<Operation *, int64_t> done;
  struct Frame {
    FunctionOpInterface func;
    SmallVector<FunctionOpInterface> left;
  };
  for (auto root : module.getOps<FunctionOpInterface>()) {
    std::vector<Frame> stack;
    auto enter = [&](FunctionOpInterface func) {
      active.insert(func);
      stack.push_back({func, getCallees(func, symbols)});
    };
    if (!done.contains(root))
      enter(root);
    while (!stack.empty()) {
      Frame &frame = stack.back();
      if (frame.left.empty()) {
        int64_t ops = 0;
        frame.func->walk([&](Operation *) { ++ops; });
        for (FunctionOpInterface callee : getCallees(frame.func, symbols))
          ops += done.lookup(callee);
        if (ops > kMostInlined)
          return frame.func.emitError("expects at most ")
                 << kMostInlined << " ops once calls are inlined but got "
                 << ops;
        active.erase(frame.func);
        done[frame.func] = ops;
        stack.pop_back();
        continue;
      }
      FunctionOpInterface next = frame.left.pop_back_val();
      if (active.contains(next))
        return next.emitError("expects calls that end, but @")
               << next.getName() << " calls itself"
               << (next == frame.func
                       ? ""
                       : " through @" + frame.func.getName().str());
      if (!done.contains(next))
        enter(next);
    }
  }
  return success();
}

namespace {
struct VerifyInputPass : tessera::impl::VerifyInputPassBase<VerifyInputPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](Operation *op) {
      auto func = dyn_cast<FunctionOpInterface>(op);
      if (func &&
          (failed(verifyTypes(op, func.getArgumentTypes(), "argument")) ||
           failed(verifyTypes(op, func.getResultTypes(), "result"))))
        return WalkResult::interrupt();
      auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      auto pad = dyn_cast<tensor::PadOp>(op);
      auto slice = dyn_cast<OffsetSizeAndStrideOpInterface>(op);
      auto merged = dyn_cast<tensor::CollapseShapeOp>(op);
      auto split = dyn_cast<tensor::ExpandShapeOp>(op);
      return failed(verifyTypes(op, op->getResultTypes(), "result")) ||
                     (linalgOp && failed(verifyBody(linalgOp))) ||
                     (pad && failed(verifyPaddings(pad))) ||
                     (slice && failed(verifyStrides(slice))) ||
                     (merged && failed(verifyGroups(merged))) ||
                     (split && failed(verifyGroups(split)))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    auto module = dyn_cast<ModuleOp>(getOperation());
    if (result.wasInterrupted() || (module && failed(verifyCalls(module))))
      signalPassFailure();
  }
};
} // namespace
