//===- DistForeign.cpp - Ops that only a rule is known of -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "tessera/Interfaces/RuleText.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

LogicalResult RuleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringRef text) {
  llvm::Expected<RuleText> rule = parseRuleText(text);
  if (rule)
    return success();
  return emitError() << "dist.rule: " << llvm::toString(rule.takeError());
}

RuleText RuleAttr::parse() const {
  return llvm::cantFail(parseRuleText(getText()));
}

LogicalResult ForeignOp::verify() {
  if (llvm::Error error = checkRule(getRule().parse().rule, getOperandTypes(),
                                    getResultTypes()))
    return emitOpError("C1: rule: ") << llvm::toString(std::move(error));
  return success();
}

ShardingRule ForeignOp::getShardingRule() { return getRule().parse().rule; }

bool ForeignOp::commutesWithReduction(::tessera::ReductionKind kind,
                                      const llvm::SmallBitVector &partial) {
  for (const auto &[known, set] : getRule().parse().partial)
    if (known == kind && set == partial)
      return true;
  return false;
}

FailureOr<Operation *> ForeignOp::cloneWithShapes(OpBuilder &builder,
                                                  ValueRange operands,
                                                  TypeRange resultTypes) {
  RuleText text = getRule().parse();
  if (!resizeRule(text.rule, operands.getTypes(), resultTypes))
    return failure();
  auto copy =
      cast<ForeignOp>(cloneWithTypes(builder, *this, operands, resultTypes));
  copy.setRuleAttr(RuleAttr::get(getContext(), text.print()));
  return copy.getOperation();
}
