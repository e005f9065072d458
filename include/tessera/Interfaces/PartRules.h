//===- PartRules.h - Rules of ops on parts of tensors -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_PARTRULES_H
#define TESSERA_INTERFACES_PARTRULES_H

#include "mlir/IR/Operation.h"
#include "tessera/Interfaces/ShardingRule.h"

namespace tessera {

/// The sharding rule of `part`, an op of the same name as `whole` on parts of
/// its tensors. Shapes do not always say which dimensions of size 1 a slice
/// leaves out: those that `whole` does, if `part` may be read so.
ShardingRule getPartRule(mlir::Operation *part, mlir::Operation *whole);

} // namespace tessera

#endif // TESSERA_INTERFACES_PARTRULES_H
