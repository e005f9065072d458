//===- InputDomain.h - Domains of integer arguments -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERPRETER_INPUTDOMAIN_H
#define TESSERA_INTERPRETER_INPUTDOMAIN_H

#include "mlir/IR/Value.h"
#include <optional>

namespace tessera::interp {

/// The integers for which the uses of a value are defined.
struct IntegerDomain {
  /// An exclusive upper limit, if any, and an inclusive least value.
  std::optional<int64_t> limit;
  int64_t least = 0;
  /// A label that is allowed in addition.
  std::optional<int64_t> ignored;
  /// True if it must not be zero.
  bool isDivisor = false;
  /// Starts of documents: they do not decrease along the last dimension, and
  /// are at most the position.
  bool isStarts = false;

  void restrict(int64_t size) { limit = limit ? std::min(*limit, size) : size; }
};

/// The domain that the uses of `value` set: as ids, labels, positions in a
/// tensor, starts of documents, bounds and steps of loops, divisors and
/// distances of shifts, also in callees and regions and after ops that only
/// move elements. Uses after other computations set none. An argument's own
/// range (`nn.vocab`) counts too.
IntegerDomain findDomain(mlir::Value value);

/// The part of the domain that a program is checked for: ids, labels and
/// positions in a tensor. Uses that depend on a condition, and those after a
/// choice between elements, set none.
IntegerDomain findIds(mlir::Value value);

} // namespace tessera::interp

#endif // TESSERA_INTERPRETER_INPUTDOMAIN_H
