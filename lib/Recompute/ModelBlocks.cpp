//===- ModelBlocks.cpp - Blocks of the model by op ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Recompute/ModelBlocks.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "tessera/Support/LayerNames.h"

using namespace mlir;
using namespace tessera;

Operation *tessera::findBackward(Block &block) {
  for (Operation &op : block)
    if (op.hasAttr(dist::DistDialect::kBackwardAttr))
      return &op;
  return nullptr;
}

/// The parameter that a value is, or was computed from by single-operand ops.
static StringRef getParameterName(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (def->getNumOperands() != 1)
      return "";
    value = def->getOperand(0);
  }
  auto argument = cast<BlockArgument>(value);
  auto func = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!func)
    return "";
  auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                nn::NNDialect::kParamAttr);
  return name ? name.getValue() : "";
}

std::vector<unsigned> tessera::numberModelBlocks(Block &block,
                                                 Operation *firstBackward) {
  std::vector<unsigned> numbers;
  StringRef current;
  unsigned number = 0, last = 0;
  for (Operation &op : block) {
    if (&op == firstBackward)
      break;
    for (Value operand : op.getOperands()) {
      StringRef parameter = getParameterName(operand);
      if (parameter.empty() || getLayerPrefix(parameter) == current)
        continue;
      current = getLayerPrefix(parameter);
      number = current.empty() ? 0 : ++last;
    }
    numbers.push_back(number);
  }
  return numbers;
}
