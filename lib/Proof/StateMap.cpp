//===- StateMap.cpp - Ends of the local program's values ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateMap.h"

using namespace mlir;
using namespace tessera;

bool tessera::hasEnds(const ShardState &state) {
  return llvm::any_of(state.dims,
                      [](const DimState &dim) { return dim.trueSize >= 0; });
}

std::optional<unsigned> tessera::findOtherEnd(const ShardState &state,
                                              Type type) {
  auto tensor = dyn_cast_or_null<RankedTensorType>(type);
  for (auto [i, dim] : llvm::enumerate(state.dims))
    if (dim.trueSize >= 0 && (!tensor || dim.trueSize != tensor.getDimSize(i)))
      return i;
  return std::nullopt;
}
