//===- ModelBlocks.cpp - The block of the model that an op is in ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/ModelBlocks.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tessera;

StringRef tessera::getModelBlock(StringRef name) {
  size_t end = 0;
  while (end < name.size()) {
    size_t dot = std::min(name.find('.', end), name.size());
    unsigned number;
    if (!name.slice(end, dot).getAsInteger(10, number))
      return name.take_front(dot);
    end = dot + 1;
  }
  return "";
}

StringRef tessera::getScope(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location inner : fused.getLocations())
      if (StringRef scope = getScope(inner); !scope.empty())
        return scope;
  return "";
}

/// Returns the operand to follow; null if there is none.
static Value getFollowed(Operation *op, FollowOperands follow) {
  if (follow == FollowOperands::Single)
    return op->getNumOperands() == 1 ? op->getOperand(0) : Value();
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      return operand;
  return {};
}

BlockArgument tessera::getRootArgument(Value value, FollowOperands follow) {
  while (Operation *op = value.getDefiningOp()) {
    value = getFollowed(op, follow);
    if (!value)
      return {};
  }
  return cast<BlockArgument>(value);
}

StringAttr tessera::getParameterName(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  auto func = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!func || !argument.getOwner()->isEntryBlock())
    return {};
  return func.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                           kParameterAttr);
}

std::optional<StringRef> tessera::getParameterBlock(Value value,
                                                    FollowOperands follow) {
  BlockArgument root = getRootArgument(value, follow);
  StringAttr name = root ? getParameterName(root) : StringAttr();
  if (!name)
    return std::nullopt;
  return getModelBlock(name.getValue());
}

std::vector<unsigned> tessera::numberModelBlocks(Block &block, Operation *end) {
  std::vector<unsigned> numbers;
  StringRef current;
  unsigned number = 0, last = 0;
  for (Operation &op : block) {
    if (&op == end)
      break;
    for (Value operand : op.getOperands()) {
      std::optional<StringRef> its = getParameterBlock(operand);
      if (!its || *its == current)
        continue;
      current = *its;
      number = current.empty() ? 0 : ++last;
    }
    numbers.push_back(number);
  }
  return numbers;
}
