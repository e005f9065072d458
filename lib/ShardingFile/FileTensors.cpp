//===- FileTensors.cpp - A program's arguments in a sharding file ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FileTensors.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;
using nn::NNDialect;

/// Finds the only function with parameters, or without one the only function.
static FailureOr<FunctionOpInterface> findFunction(ModuleOp module) {
  SmallVector<FunctionOpInterface> all, withParameters;
  for (auto func : module.getOps<FunctionOpInterface>()) {
    if (func.isExternal())
      continue;
    all.push_back(func);
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
      if (func.getArgAttr(i, NNDialect::kParamAttr)) {
        withParameters.push_back(func);
        break;
      }
  }
  SmallVector<FunctionOpInterface> &candidates =
      withParameters.empty() ? all : withParameters;
  if (candidates.size() == 1)
    return candidates.front();
  return module.emitError("shardings: expects one function")
         << (withParameters.empty() ? "" : " with parameters") << " but got "
         << candidates.size();
}

static SmallVector<int64_t> getLogicalShape(FunctionOpInterface func,
                                            BlockArgument argument,
                                            bool &isStoredFlat) {
  auto logical = func.getArgAttrOfType<DenseI64ArrayAttr>(
      argument.getArgNumber(), NNDialect::kLogicalShapeAttr);
  isStoredFlat = bool(logical);
  if (logical)
    return llvm::to_vector(logical.asArrayRef());
  return llvm::to_vector(cast<RankedTensorType>(argument.getType()).getShape());
}

static SmallVector<int64_t> getRowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

static FileArgument makeParameter(FunctionOpInterface func,
                                  BlockArgument argument, StringRef name) {
  FileArgument made;
  made.argument = argument;
  made.isParameter = true;
  made.view.name = name.str();
  made.view.shape = getLogicalShape(func, argument, made.isStoredFlat);
  auto source = func.getArgAttrOfType<nn::SourceAttr>(argument.getArgNumber(),
                                                      NNDialect::kSourceAttr);
  if (!source) {
    made.key = name.str();
    made.shape = made.view.shape;
    made.view.strides = getRowMajorStrides(made.shape);
    return made;
  }
  made.key = source.getTensor().str();
  made.shape = llvm::to_vector(source.getShape());
  made.view.offset = source.getOffset();
  made.view.strides = llvm::to_vector(source.getStrides());
  return made;
}

static FileArgument makeInput(FunctionOpInterface func, BlockArgument argument,
                              StringRef name) {
  FileArgument made;
  made.argument = argument;
  made.key = name.str();
  made.shape = getLogicalShape(func, argument, made.isStoredFlat);
  // One dist.accumulate takes all inputs of micro-batches.
  auto isSliced = [](Operation *user) { return isa<dist::AccumulateOp>(user); };
  made.hasMicroBatches =
      !made.shape.empty() && llvm::any_of(argument.getUsers(), isSliced);
  if (made.hasMicroBatches) {
    int64_t count = made.shape.front();
    made.shape.erase(made.shape.begin());
    if (made.shape.empty())
      return made;
    auto dims = func.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(),
                                                 NNDialect::kDimsAttr);
    // The whole batch is what a program of phase input has.
    size_t batch = 0;
    for (size_t i = 1; dims && i < dims.size(); ++i)
      if (dims[i] == StringAttr::get(func.getContext(), "batch"))
        batch = i - 1;
    made.shape[batch] *= count;
  }
  return made;
}

FailureOr<std::vector<FileArgument>>
tessera::listFileArguments(ModuleOp module) {
  FailureOr<FunctionOpInterface> func = findFunction(module);
  if (failed(func))
    return failure();
  std::vector<FileArgument> found;
  for (BlockArgument argument : func->getArguments()) {
    unsigned i = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !type.hasStaticShape())
      continue;
    if (auto name =
            func->getArgAttrOfType<StringAttr>(i, NNDialect::kParamAttr))
      found.push_back(makeParameter(*func, argument, name.getValue()));
    else if (auto name =
                 func->getArgAttrOfType<StringAttr>(i, NNDialect::kInputAttr))
      found.push_back(makeInput(*func, argument, name.getValue()));
  }
  return found;
}

/// The sharding of the first value of the parameter's own shape that is
/// computed from the stored one.
static dist::ShardingAttr findUnflattened(const FileArgument &argument) {
  SetVector<Value> values;
  values.insert(argument.argument);
  for (size_t i = 0; i < values.size(); ++i)
    for (Operation *user : values[i].getUsers()) {
      if (user->getNumResults() != 1)
        continue;
      Value result = user->getResult(0);
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type)
        continue;
      if (type.getShape() == ArrayRef(argument.view.shape))
        return dist::getSharding(result);
      values.insert(result);
    }
  return nullptr;
}

/// The sharding that a stored parameter is gathered to; null if it is not.
static dist::ShardingAttr findGathered(const FileArgument &argument) {
  for (Operation *user : argument.argument.getUsers())
    if (auto gathered = dyn_cast<dist::ConstraintOp>(user))
      return dist::getSharding(gathered.getResult());
  return nullptr;
}

DimAxes tessera::getAxesInUse(const FileArgument &argument, const Mesh &mesh,
                              bool isGathered) {
  dist::ShardingAttr attr;
  if (argument.isStoredFlat)
    attr = findUnflattened(argument);
  else if (argument.isParameter && isGathered)
    attr = findGathered(argument);
  if (!attr && !argument.isStoredFlat)
    attr = dist::getSharding(argument.argument);
  size_t rank =
      argument.isParameter ? argument.view.shape.size() : argument.shape.size();
  DimAxes axes(rank);
  if (!attr)
    return axes;
  Sharding sharding = attr.toSharding(mesh);
  for (size_t i = 0; i < rank; ++i) {
    AxisList own = sharding.dims[i + argument.hasMicroBatches].axes;
    llvm::erase_if(own, [](const AxisRef &axis) { return axis.size == 1; });
    axes[i] = mergeAdjacent(own);
  }
  return axes;
}
