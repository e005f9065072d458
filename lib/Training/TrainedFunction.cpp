//===- TrainedFunction.cpp - The function to train ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Training/TrainedFunction.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"

using namespace mlir;
using namespace tessera;
using nn::NNDialect;

/// The result with this name; null if there is none.
static Value findOutput(func::FuncOp function, StringRef name) {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    if (auto output =
            function.getResultAttrOfType<StringAttr>(i, NNDialect::kOutputAttr))
      if (output.getValue() == name)
        return value;
  return {};
}

static bool hasArgument(func::FuncOp function, StringRef attr) {
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    if (function.getArgAttr(i, attr))
      return true;
  return false;
}

static bool isFloatScalar(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 0 && isa<FloatType>(type.getElementType());
}

/// The dimension named "batch", or else the first.
static int64_t findBatchDim(ArrayAttr dims) {
  if (dims)
    for (auto [i, name] : llvm::enumerate(dims))
      if (cast<StringAttr>(name).getValue() == "batch")
        return i;
  return 0;
}

/// Whether micro-batches and gradients can be built from a function.
static bool isForward(func::FuncOp function) {
  return !function.isExternal() && function.getBody().hasOneBlock() &&
         !function->hasAttr(dist::DistDialect::kLocalAttr) &&
         hasArgument(function, NNDialect::kParamAttr) &&
         !hasArgument(function, NNDialect::kStateAttr);
}

/// Collects parameters and inputs.
static LogicalResult collectArguments(TrainedFunction &trained) {
  func::FuncOp function = trained.function;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    bool isParameter = bool(function.getArgAttr(i, NNDialect::kParamAttr));
    if (!type || (isParameter && !isa<FloatType>(type.getElementType())))
      return function.emitError("expects parameters of float tensors and batch "
                                "inputs of tensors but got argument ")
             << i << " of type " << argument.getType();
    if (isParameter) {
      trained.parameters.push_back(argument);
      continue;
    }
    if (type.getRank() == 0)
      return function.emitError("expects batch inputs with a batch but got "
                                "argument ")
             << i << " of type " << type;
    trained.inputs.push_back(argument);
    trained.batchDims.push_back(findBatchDim(
        function.getArgAttrOfType<ArrayAttr>(i, NNDialect::kDimsAttr)));
  }
  return success();
}

/// Finds what is differentiated and reported; null objective: nothing is.
static TrainedFunction findLosses(func::FuncOp function) {
  TrainedFunction trained;
  trained.function = function;
  Value sum = findOutput(function, "loss_sum");
  trained.objective = sum ? sum : findOutput(function, "loss");
  if (!sum)
    return trained;
  trained.tokens = findOutput(function, "tokens");
  if (Value objective = findOutput(function, "objective_sum")) {
    trained.objective = objective;
    trained.lossSum = sum;
    trained.auxSum = findOutput(function, "aux_sum");
  }
  return trained;
}

/// Finds the loads of parameters with nn.trained.
static void collectLoads(TrainedFunction &trained) {
  func::FuncOp function = trained.function;
  for (BlockArgument argument : trained.parameters) {
    unsigned number = argument.getArgNumber();
    if (!function.getArgAttr(number, NNDialect::kTrainedAttr))
      continue;
    auto name =
        function.getArgAttrOfType<StringAttr>(number, NNDialect::kParamAttr);
    Value load =
        findOutput(function, (name.getValue() + NNDialect::kLoadSuffix).str());
    if (load && load.getType() == argument.getType())
      trained.loads.push_back({number, load});
  }
}

static FailureOr<TrainedFunction> collect(TrainedFunction trained) {
  func::FuncOp function = trained.function;
  for (Value value : trained.getOutputs())
    if (!isFloatScalar(value))
      return function.emitError(
                 "expects a loss and a number of tokens that are "
                 "float tensors of rank 0 but got ")
             << value.getType();
  if (failed(collectArguments(trained)))
    return failure();
  collectLoads(trained);
  return trained;
}

FailureOr<std::optional<TrainedFunction>>
tessera::findTrainedFunction(ModuleOp module) {
  std::optional<TrainedFunction> found;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!isForward(function))
      continue;
    TrainedFunction losses = findLosses(function);
    if (!losses.objective)
      continue;
    if (found)
      return function.emitError("expects one function with parameters and a "
                                "loss but got @")
             << found->function.getName() << " and @" << function.getName();
    FailureOr<TrainedFunction> trained = collect(std::move(losses));
    if (failed(trained))
      return failure();
    found = std::move(*trained);
  }
  return found;
}

FailureOr<TrainedFunction> tessera::findForwardFunction(ModuleOp module) {
  TrainedFunction found;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!isForward(function))
      continue;
    if (found.function)
      return function.emitError("expects one function with parameters but got "
                                "@")
             << found.function.getName() << " and @" << function.getName();
    found.function = function;
  }
  if (!found.function)
    return module.emitError("micro-batches and stages of a forward program "
                            "expect a function with parameters (nn.param) but "
                            "got none");
  if (failed(collectArguments(found)))
    return failure();
  return found;
}
