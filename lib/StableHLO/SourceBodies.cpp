//===- SourceBodies.cpp - Bodies of reductions, sorts and windows ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SourceBodies.h"
#include "SourceAttributes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

/// The longest text of a body: shared values are spelled at each use.
static constexpr size_t kMaxSpelling = 1024;

/// Appends the spelling of a value of `block`; fails for other values.
static LogicalResult spell(Value value, Block &block, std::string &text) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    text += std::to_string(argument.getArgNumber());
    return success(argument.getOwner() == &block);
  }
  Operation *op = value.getDefiningOp();
  StringRef name = op->getName().getStringRef();
  if (op->getBlock() != &block || op->getNumResults() != 1 ||
      op->getNumRegions() != 0 || !name.consume_front("stablehlo.") ||
      text.size() > kMaxSpelling)
    return failure();
  if (name == "constant") {
    auto elements =
        dyn_cast_or_null<SplatElementsAttr>(getSourceAttr(op, "value"));
    if (!elements || !isa<FloatType>(elements.getElementType()))
      return failure();
    APFloat number = elements.getSplatValue<APFloat>();
    text += number.isNaN() ? "nan" : "0";
    return success(number.isNaN() || number.isPosZero());
  }
  if (name == "compare") {
    StringRef type =
        getCase(getSourceAttr(op, "compare_type"), "comparison_type");
    text += type == "TOTALORDER" ? "T" : "";
    name = getCase(getSourceAttr(op, "comparison_direction"),
                   "comparison_direction");
  }
  text += name;
  StringRef separator = "(";
  for (Value operand : op->getOperands()) {
    text += std::exchange(separator, ",");
    if (failed(spell(operand, block, text)))
      return failure();
  }
  text += ")";
  return success();
}

std::string tessera::stablehlo::spellBody(Region &body) {
  if (!body.hasOneBlock() || body.front().empty())
    return "";
  Block &block = body.front();
  std::string text;
  for (Value result : block.back().getOperands()) {
    text += text.empty() ? "" : "; ";
    if (failed(spell(result, block, text)))
      return "";
  }
  return text;
}

static constexpr Reduction kReductions[] = {
    {"add", nn::ReduceKind::Sum, false, true},
    {"maximum", nn::ReduceKind::Max, true, true},
    {"minimum", nn::ReduceKind::Min, true, true},
    {"or", nn::ReduceKind::Max, true, false},
    {"and", nn::ReduceKind::Min, true, false},
};

const Reduction *tessera::stablehlo::matchReduction(Region &body, bool isBool) {
  std::string spelled = spellBody(body);
  const Reduction *found = llvm::find_if(kReductions, [&](const Reduction &r) {
    return (spelled == (r.body + "(0,1)").str() ||
            spelled == (r.body + "(1,0)").str()) &&
           (isBool ? r.forBools : r.forNumbers);
  });
  return found == std::end(kReductions) ? nullptr : found;
}

bool tessera::stablehlo::isNeutral(Attribute start, nn::ReduceKind kind) {
  bool isSum = kind == nn::ReduceKind::Sum, isMax = kind == nn::ReduceKind::Max;
  if (auto real = dyn_cast_or_null<FloatAttr>(start)) {
    const APFloat &value = real.getValue();
    return isSum ? value.isZero()
                 : value.isInfinity() && value.isNegative() == isMax;
  }
  auto integer = dyn_cast_or_null<IntegerAttr>(start);
  if (!integer)
    return false;
  const APInt &value = integer.getValue();
  if (integer.getType().isInteger(1))
    return value.isZero() == isMax;
  return isSum   ? value.isZero()
         : isMax ? value.isMinSignedValue()
                 : value.isMaxSignedValue();
}

Value tessera::stablehlo::combine(GraphBuilder &b, nn::ReduceKind kind, Value x,
                                  Value y) {
  bool isFloat = isa<FloatType>(b.typeOf(x).getElementType());
  bool isBool = b.typeOf(x).getElementType().isInteger(1);
  switch (kind) {
  case nn::ReduceKind::Sum:
    return isFloat ? b.fold<arith::AddFOp>(x, y) : b.fold<arith::AddIOp>(x, y);
  case nn::ReduceKind::Max:
    return isFloat  ? b.fold<arith::MaximumFOp>(x, y)
           : isBool ? b.fold<arith::OrIOp>(x, y)
                    : b.fold<arith::MaxSIOp>(x, y);
  case nn::ReduceKind::Min:
    return isFloat  ? b.fold<arith::MinimumFOp>(x, y)
           : isBool ? b.fold<arith::AndIOp>(x, y)
                    : b.fold<arith::MinSIOp>(x, y);
  }
  llvm_unreachable("a ReduceKind");
}

Value tessera::stablehlo::multiply(GraphBuilder &b, Value x, Value y) {
  if (isa<FloatType>(b.typeOf(x).getElementType()))
    return b.fold<arith::MulFOp>(x, y);
  return b.fold<arith::MulIOp>(x, y);
}

bool tessera::stablehlo::isProduct(Region &body) {
  std::string spelled = spellBody(body);
  return spelled == "multiply(0,1)" || spelled == "multiply(1,0)";
}
