//===- BuildBackward.cpp - A function returns its gradients too -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"
#include "tessera/Training/Backward.h"
#include "tessera/Training/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_BUILDBACKWARDPASS
#include "tessera/Training/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

static bool isFloat(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

/// Appends an argument for each float result; null for the others.
static SmallVector<Value> addSeeds(func::FuncOp function) {
  SmallVector<Value> seeds;
  for (Type type : function.getResultTypes()) {
    Value &seed = seeds.emplace_back();
    if (!isFloat(type))
      continue;
    unsigned index = function.getNumArguments();
    if (failed(function.insertArgument(index, type, /*argAttrs=*/{},
                                       function.getLoc())))
      llvm_unreachable("a function takes another argument");
    seed = function.getArgument(index);
  }
  return seeds;
}

namespace {
struct BuildBackwardPass
    : tessera::impl::BuildBackwardPassBase<BuildBackwardPass> {
  using BuildBackwardPassBase::BuildBackwardPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    if (!function.getBody().hasOneBlock()) {
      function.emitError("expects a body of one block but got ")
          << function.getBody().getBlocks().size();
      return signalPassFailure();
    }
    SmallVector<Value> wrt = getArguments(function);
    SmallVector<Type> types;
    for (Value value : wrt)
      types.push_back(getElementTypeOrSelf(value.getType()));
    SmallVector<Value> seeds = addSeeds(function);
    Operation *terminator = function.getBody().front().getTerminator();
    SmallVector<Value> outputs(terminator->getOperands()), gradients;
    OpBuilder builder(terminator);
    if (failed(buildBackward(builder, outputs, seeds, wrt, types, gradients)))
      return signalPassFailure();
    for (auto [value, gradient] : llvm::zip_equal(wrt, gradients))
      if (!gradient)
        gradient =
            ElementwiseBuilder{builder, value.getLoc()}.splat(value, 0.0);
    addResults(function, terminator, wrt, gradients);
  }

  SmallVector<Value> getArguments(func::FuncOp function) {
    SmallVector<Value> wrt;
    auto has = [&](BlockArgument argument, StringRef name) {
      return bool(function.getArgAttr(argument.getArgNumber(), name));
    };
    for (BlockArgument argument : function.getArguments())
      if (isFloat(argument.getType()) &&
          (!params || has(argument, nn::NNDialect::kParamAttr)) &&
          !has(argument, nn::NNDialect::kFrozenAttr) &&
          !has(argument, nn::NNDialect::kTrainedAttr))
        wrt.push_back(argument);
    return wrt;
  }

  /// Names a gradient like its argument, if that has a name.
  static void addResults(func::FuncOp function, Operation *terminator,
                         ArrayRef<Value> wrt, ArrayRef<Value> gradients) {
    Builder builder(function.getContext());
    terminator->insertOperands(terminator->getNumOperands(), gradients);
    for (auto [value, gradient] : llvm::zip_equal(wrt, gradients)) {
      unsigned index = function.getNumResults();
      if (failed(function.insertResult(index, gradient.getType(),
                                       /*resultAttrs=*/{})))
        llvm_unreachable("a function gives another result");
      unsigned argument = cast<BlockArgument>(value).getArgNumber();
      for (StringRef kind :
           {nn::NNDialect::kParamAttr, nn::NNDialect::kInputAttr})
        if (auto name = function.getArgAttrOfType<StringAttr>(argument, kind))
          function.setResultAttr(
              index, nn::NNDialect::kOutputAttr,
              builder.getStringAttr(name.getValue() + ".grad"));
    }
  }
};
} // namespace
