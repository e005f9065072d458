//===- PrintShardingRules.cpp - Prints the sharding rule of each op -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/Passes.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include "llvm/ADT/STLExtras.h"

namespace tessera {
#define GEN_PASS_DEF_PRINTSHARDINGRULESPASS
#include "tessera/Interfaces/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Prints `; partial sum in {0} {1}`: the sets of tensor operands that may be
/// partial together.
static void printLinearity(llvm::raw_ostream &os,
                           ShardingRuleOpInterface iface) {
  SmallVector<unsigned> tensors;
  for (OpOperand &operand : iface->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      tensors.push_back(operand.getOperandNumber());
  for (ReductionKind kind :
       {ReductionKind::Sum, ReductionKind::Max, ReductionKind::Min}) {
    bool first = true;
    for (unsigned set = 1; set < (1u << tensors.size()); ++set) {
      llvm::SmallBitVector partial(iface->getNumOperands());
      for (auto [i, operand] : llvm::enumerate(tensors))
        if (set & (1u << i))
          partial.set(operand);
      if (!iface.commutesWithReduction(kind, partial))
        continue;
      if (first)
        os << "; partial " << stringifyReduction(kind) << " in";
      first = false;
      os << " {";
      llvm::interleaveComma(partial.set_bits(), os);
      os << '}';
    }
  }
}

namespace {
struct PrintShardingRulesPass
    : tessera::impl::PrintShardingRulesPassBase<PrintShardingRulesPass> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (!llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
        return;
      std::string text;
      llvm::raw_string_ostream os(text);
      bool hasRule = true;
      getShardingRule(op, &hasRule).print(os);
      if (!hasRule)
        os << "; no rule: replicated";
      else
        printLinearity(os, cast<ShardingRuleOpInterface>(op));
      op->emitRemark(text);
    });
  }
};
} // namespace
