//===- ScalarNumbers.cpp - Integer scalars on each device -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarNumbers.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include <map>

using namespace mlir;
using namespace tessera;

/// Folds an op on these operands.
static std::optional<int64_t> foldOnce(Operation *op,
                                       ArrayRef<int64_t> operands) {
  Builder builder(op->getContext());
  SmallVector<Attribute> attributes;
  for (auto [type, number] : llvm::zip(op->getOperandTypes(), operands))
    attributes.push_back(builder.getIntegerAttr(type, number));
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(attributes, results)) || results.size() != 1)
    return std::nullopt;
  auto number =
      dyn_cast_or_null<IntegerAttr>(dyn_cast<Attribute>(results.front()));
  // A folder may return one of the operands.
  if (auto value = dyn_cast<Value>(results.front()))
    for (auto [operand, known] : llvm::zip(op->getOperands(), operands))
      if (operand == value)
        return known;
  if (!number || number.getValue().getSignificantBits() > 64)
    return std::nullopt;
  return number.getValue().getSExtValue();
}

std::optional<std::vector<int64_t>>
tessera::foldNumbers(Operation *op, ArrayRef<std::vector<int64_t>> operands,
                     int64_t count) {
  auto isInteger = [](Type type) { return type.isIntOrIndex(); };
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !llvm::all_of(op->getOperandTypes(), isInteger) ||
      !isInteger(op->getResult(0).getType()))
    return std::nullopt;
  std::map<SmallVector<int64_t>, int64_t> known;
  std::vector<int64_t> numbers(count);
  for (int64_t device = 0; device < count; ++device) {
    SmallVector<int64_t> mine;
    for (const std::vector<int64_t> &operand : operands)
      mine.push_back(operand[device]);
    auto it = known.find(mine);
    if (it == known.end()) {
      std::optional<int64_t> number = foldOnce(op, mine);
      if (!number)
        return std::nullopt;
      it = known.emplace(std::move(mine), *number).first;
    }
    numbers[device] = it->second;
  }
  return numbers;
}
