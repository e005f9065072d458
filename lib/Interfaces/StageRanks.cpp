//===- StageRanks.cpp - The paths of a pipeline ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/StageRanks.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

/// True if the paths have one length and their pp ranks are 0 to n - 1.
static bool arePaths(ArrayAttr paths) {
  llvm::SmallBitVector used(1 << 16);
  int64_t most = -1;
  size_t length = 0;
  for (Attribute entry : paths) {
    auto path = dyn_cast<ArrayAttr>(entry);
    if (!path || path.empty() || (length && path.size() != length))
      return false;
    length = path.size();
    for (Attribute stage : path) {
      auto rank = dyn_cast<IntegerAttr>(stage);
      if (!rank || !rank.getType().isInteger(64) || rank.getInt() < 0 ||
          rank.getInt() >= static_cast<int64_t>(used.size()))
        return false;
      used.set(rank.getInt());
      most = std::max(most, rank.getInt());
    }
  }
  return most >= 0 && static_cast<int64_t>(used.count()) == most + 1;
}

SmallVector<SmallVector<int64_t>> tessera::readStageRanks(ArrayAttr paths) {
  SmallVector<SmallVector<int64_t>> ranks;
  for (Attribute path : paths)
    ranks.push_back(llvm::map_to_vector(cast<ArrayAttr>(path), [](Attribute a) {
      return cast<IntegerAttr>(a).getInt();
    }));
  return ranks;
}

LogicalResult tessera::verifyPaths(Operation *op, const char *label,
                                   ArrayAttr paths, int64_t microBatches) {
  if (!arePaths(paths))
    return op->emitOpError(label)
           << " expects paths of one length over pp ranks that are numbered "
              "from 0 but got "
           << paths;
  auto count = static_cast<int64_t>(paths.size());
  if (microBatches < 1 || microBatches % count)
    return op->emitOpError(label) << " expects micro-batches that " << count
                                  << " paths divide but got " << microBatches;
  return success();
}
