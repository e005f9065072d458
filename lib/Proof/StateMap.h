//===- StateMap.h - States of the local program's values --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A splat or a broadcast is one value in every length, until a mask or appended
// zeros end it (DimState::trueSize):
//
//     %c = constant 1.0 : tensor<8xf32>        any length
//     %m = mask_padding %c size 3              1 1 1 0 0 0 0 0: length 3
//     %s = extract_slice %m[4] [4]             zeros, where %c has ones
//
// Only a use can tell whether the reference has that length there. A use that
// does not check must not pass as right. So get() refuses such a value, and the
// few transfer functions that propagate or compare ends call getWithEnds().
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PROOF_STATEMAP_H
#define TESSERA_LIB_PROOF_STATEMAP_H

#include "ShardState.h"

namespace tessera {

/// States by value; only looked up.
class StateMap {
public:
  bool contains(mlir::Value value) const { return states.contains(value); }

  /// The state of a known value that was not ended. Records an ended value as
  /// refused: an op that reads it must not count as proven.
  const ShardState &get(mlir::Value value) const {
    const ShardState &state = getWithEnds(value);
    if (!refused && hasEnds(state))
      refused = value;
    return state;
  }
  /// The state of a known value, with any end. The caller compares its ends
  /// with the lengths of the reference, or propagates them.
  const ShardState &getWithEnds(mlir::Value value) const {
    auto it = states.find(value);
    assert(it != states.end() && "expects a value with a state");
    return it->second;
  }
  /// The same; null for a value without a state.
  const ShardState *findWithEnds(mlir::Value value) const {
    auto it = states.find(value);
    return it == states.end() ? nullptr : &it->second;
  }
  /// The number of a known value in the reference; independent of its end.
  int getNumber(mlir::Value value) const { return getWithEnds(value).value; }

  void set(mlir::Value value, ShardState state) {
    states[value] = std::move(state);
  }

  /// The first value that get() refused since the last call; null if there was
  /// none.
  mlir::Value takeRefused() { return std::exchange(refused, mlir::Value()); }

private:
  llvm::DenseMap<mlir::Value, ShardState> states;
  mutable mlir::Value refused;
};

} // namespace tessera

#endif // TESSERA_LIB_PROOF_STATEMAP_H
