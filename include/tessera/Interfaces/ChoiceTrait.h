//===- ChoiceTrait.h - Ops that choose by comparing -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_CHOICETRAIT_H
#define TESSERA_INTERFACES_CHOICETRAIT_H

#include "mlir/IR/OpDefinition.h"

namespace tessera {

/// Marks an op whose results are choices made by comparing numbers, such as
/// nn.top_k. Operands that differ in the last bit may give other results, so
/// the op is never recomputed: its second result might not fit values that were
/// computed from the first.
template <typename ConcreteOp>
class MakesChoice : public mlir::OpTrait::TraitBase<ConcreteOp, MakesChoice> {};

} // namespace tessera

#endif // TESSERA_INTERFACES_CHOICETRAIT_H
