//===- ReduceProgram.cpp - A smaller program with the same fault ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Delta debugging (Zeller, Hildebrandt: Simplifying and isolating
// failure-inducing input, 2002) over edits of a program that leave it valid.
// MLIR's own `reduction-tree` erases ops whose values are used, which leaves
// programs that no test can read.
//
//===----------------------------------------------------------------------===//

#include "ReduceProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Reducer/Tester.h"

using namespace mlir;

namespace {

/// Changes the part of this number, in the order of a walk; returns false if
/// nothing changed.
using Edit = llvm::function_ref<bool(ModuleOp module, size_t number)>;

/// Op `number` among those with results; null if there are fewer.
Operation *findOp(ModuleOp module, size_t number) {
  Operation *found = nullptr;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumResults() == 0 || number-- > 0)
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

/// Replaces the results of op `number` by zeros.
bool replaceByZeros(ModuleOp module, size_t number) {
  Operation *op = findOp(module, number);
  if (!op || op->hasTrait<OpTrait::ConstantLike>() || op->use_empty())
    return false;
  OpBuilder builder(op);
  SmallVector<Value> zeros;
  for (Type type : op->getResultTypes()) {
    TypedAttr zero = builder.getZeroAttr(type);
    if (!zero)
      return false;
    zeros.push_back(arith::ConstantOp::create(builder, op->getLoc(), zero));
  }
  op->replaceAllUsesWith(zeros);
  return true;
}

/// Replaces the result of op `number` by an operand of its type.
bool replaceByOperand(ModuleOp module, size_t number) {
  Operation *op = findOp(module, number);
  if (!op || op->getNumResults() != 1 || op->use_empty())
    return false;
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType()) {
      op->getResult(0).replaceAllUsesWith(operand);
      return true;
    }
  return false;
}

/// Lets the function of op `number` return what the op computes, alone.
bool returnHere(ModuleOp module, size_t number) {
  Operation *op = findOp(module, number);
  auto func = op ? dyn_cast<func::FuncOp>(op->getParentOp()) : func::FuncOp();
  if (!func || op->hasTrait<OpTrait::ConstantLike>())
    return false;
  Operation *end = func.front().getTerminator();
  if (end->getNumOperands() == 1 && end->getOperand(0) == op->getResult(0))
    return false;
  end->setOperands(op->getResults().take_front());
  func.removeResAttrsAttr();
  func.setFunctionType(FunctionType::get(module.getContext(),
                                         func.getArgumentTypes(),
                                         op->getResult(0).getType()));
  return true;
}

/// Drops a result, numbered over all functions.
bool dropResult(ModuleOp module, size_t number) {
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal() || number >= func.getNumResults()) {
      number -= func.isExternal() ? 0 : func.getNumResults();
      continue;
    }
    Operation *end = func.front().getTerminator();
    llvm::BitVector dropped(func.getNumResults());
    dropped.set(number);
    end->eraseOperands(dropped);
    return succeeded(func.eraseResults(dropped));
  }
  return false;
}

/// Drops an argument, numbered over all functions, if it is not used.
bool dropArgument(ModuleOp module, size_t number) {
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal() || number >= func.getNumArguments()) {
      number -= func.isExternal() ? 0 : func.getNumArguments();
      continue;
    }
    return func.getArgument(number).use_empty() &&
           succeeded(func.eraseArgument(number));
  }
  return false;
}

/// Erases symbol `number` of the module, such as a function.
bool eraseSymbol(ModuleOp module, size_t number) {
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (number-- == 0) {
      op.erase();
      return true;
    }
  return false;
}

/// Removes ops that have no effect and whose values nothing uses, and makes
/// equal constants of a block one.
void clean(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
  llvm::DenseMap<std::pair<Block *, Attribute>, arith::ConstantOp> known;
  SmallVector<arith::ConstantOp> same;
  module.walk<WalkOrder::PreOrder>([&](arith::ConstantOp op) {
    auto [first, isNew] =
        known.try_emplace({op->getBlock(), op.getValue()}, op);
    if (isNew)
      return;
    op->replaceAllUsesWith(first->second->getResults());
    same.push_back(op);
  });
  for (arith::ConstantOp op : same)
    op->erase();
}

struct ReduceProgramPass
    : PassWrapper<ReduceProgramPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReduceProgramPass)
  ReduceProgramPass() = default;
  ReduceProgramPass(const ReduceProgramPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "reduce-program"; }
  StringRef getDescription() const override {
    return "Makes a program smaller while a test finds it interesting";
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    tester.setTestScript(test);
    if (!isInteresting(module)) {
      module.emitError("expects a program that the test '")
          << test << "' finds interesting, with exit status 1";
      return signalPassFailure();
    }
    for (bool changed = true; changed;) {
      changed = false;
      changed |= reduce(module, countSymbols(module), eraseSymbol);
      changed |= reduce(module, countResults(module), dropResult);
      changed |= returnEarly(module);
      changed |= reduce(module, countOps(module), replaceByZeros);
      changed |= reduce(module, countOps(module), replaceByOperand);
      changed |= reduce(module, countArguments(module), dropArgument);
    }
  }

private:
  bool isInteresting(ModuleOp module) {
    // Edits that leave no valid program say nothing.
    ScopedDiagnosticHandler quiet(module.getContext(),
                                  [](Diagnostic &) { return success(); });
    return succeeded(verify(module)) &&
           tester.isInteresting(module).first == Tester::Interestingness::True;
  }

  /// Applies an edit to as many of the parts 0 to `count` - 1 as the program
  /// stays interesting without: to all of a chunk, or to halves of it.
  bool reduce(ModuleOp module, size_t count, Edit edit) {
    bool changed = false;
    for (size_t chunk = count; chunk > 0; chunk /= 2)
      for (size_t end = count; end > 0; end -= std::min(chunk, end))
        changed |= tryEdit(module, end - std::min(chunk, end), end, edit);
    return changed;
  }

  /// Lets a function return what the first possible op computes.
  bool returnEarly(ModuleOp module) {
    for (size_t number = 0, count = countOps(module); number < count; ++number)
      if (tryEdit(module, number, number + 1, returnHere))
        return true;
    return false;
  }

  /// Edits the parts from `begin` to `end`, the last first so that numbers stay
  /// as they are. Keeps the program if it is interesting.
  bool tryEdit(ModuleOp module, size_t begin, size_t end, Edit edit) {
    OwningOpRef<ModuleOp> edited = module.clone();
    bool changed = false;
    for (size_t number = end; number-- > begin;)
      changed |= edit(*edited, number);
    if (!changed)
      return false;
    clean(*edited);
    if (!isInteresting(*edited))
      return false;
    module->setAttrs(edited.get()->getAttrDictionary());
    module.getBodyRegion().takeBody(edited->getBodyRegion());
    return true;
  }

  static size_t countSymbols(ModuleOp module) {
    return module.getBody()->getOperations().size();
  }
  static size_t countResults(ModuleOp module) {
    size_t count = 0;
    for (auto func : module.getOps<func::FuncOp>())
      count += func.isExternal() ? 0 : func.getNumResults();
    return count;
  }
  static size_t countArguments(ModuleOp module) {
    size_t count = 0;
    for (auto func : module.getOps<func::FuncOp>())
      count += func.isExternal() ? 0 : func.getNumArguments();
    return count;
  }
  static size_t countOps(ModuleOp module) {
    size_t count = 0;
    module.walk([&](Operation *op) { count += op->getNumResults() > 0; });
    return count;
  }

  Option<std::string> test{
      *this, "test",
      llvm::cl::desc("a program that gets a file and ends with status 1 if it "
                     "is interesting, else 0")};
  Tester tester;
};

} // namespace

void tessera::registerReduceProgramPass() {
  PassRegistration<ReduceProgramPass>();
}
