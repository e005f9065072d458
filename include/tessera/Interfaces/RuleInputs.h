//===- RuleInputs.h - The inputs of a sharding rule -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries `operands` of getShardingRule(op) describe the operands of the op
// and, after them, the outside tensors that its regions use, which every device
// needs whole.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_RULEINPUTS_H
#define TESSERA_INTERFACES_RULEINPUTS_H

#include "tessera/Interfaces/ShardingRuleOpInterface.h"

namespace tessera {

/// The ranked tensors from outside that the regions of `op` use, in order of
/// their first use.
llvm::SmallVector<mlir::Value> getCapturedTensors(mlir::Operation *op);

/// The operands of `op`, then its captured tensors.
llvm::SmallVector<mlir::Value> getRuleInputs(mlir::Operation *op);

} // namespace tessera

#endif // TESSERA_INTERFACES_RULEINPUTS_H
