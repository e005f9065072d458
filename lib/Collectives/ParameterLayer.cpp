//===- ParameterLayer.cpp - The layer of a parameter ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterLayer.h"
#include "dialects/NN/NN.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Support/LayerNames.h"

using namespace mlir;
using namespace tessera;

StringAttr tessera::getParameterName(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  auto func = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!func || !argument.getOwner()->isEntryBlock())
    return {};
  return func.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                           nn::NNDialect::kParamAttr);
}

std::optional<std::string> tessera::getParameterLayer(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto operand = llvm::find_if(op->getOperands(), [](Value operand) {
      return isa<RankedTensorType>(operand.getType());
    });
    if (operand == op->operand_end())
      return std::nullopt;
    value = *operand;
  }
  StringAttr name = getParameterName(value);
  if (!name)
    return std::nullopt;
  return getLayerPrefix(name.getValue()).str();
}
