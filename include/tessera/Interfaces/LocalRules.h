//===- LocalRules.h - Rules of ops on local shapes --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_LOCALRULES_H
#define TESSERA_INTERFACES_LOCALRULES_H

#include "mlir/IR/Operation.h"
#include "tessera/Interfaces/ShardingRule.h"

namespace tessera {

/// The sharding rule of `local`, an op of the same name as `global` on shards
/// of its tensors. Shapes do not always tell which dimensions of size 1 a slice
/// drops; the rule then takes those that `global` drops, if that fits `local`.
ShardingRule getLocalRule(mlir::Operation *local, mlir::Operation *global);

} // namespace tessera

#endif // TESSERA_INTERFACES_LOCALRULES_H
