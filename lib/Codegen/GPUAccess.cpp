//===- GPUAccess.cpp - Memory accesses of the ops of a kernel -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/RT/RT.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "tessera/Codegen/GPUPlan.h"

using namespace mlir;
using namespace tessera;

std::optional<LinearAccess> tessera::getLinearAccess(AffineMap map,
                                                     ArrayRef<int64_t> shape,
                                                     unsigned dropped) {
  LinearAccess access;
  access.strides.assign(map.getNumDims(), 0);
  SmallVector<int64_t> strides = rt::getRowMajorStrides(shape);
  for (unsigned i = dropped; i < map.getNumResults(); ++i) {
    if (shape[i] == 1)
      continue;
    SmallVector<int64_t> flat;
    if (failed(getFlattenedAffineExpr(map.getResult(i), map.getNumDims(), 0,
                                      &flat)) ||
        flat.size() != map.getNumDims() + 1)
      return std::nullopt;
    for (unsigned loop = 0; loop < map.getNumDims(); ++loop)
      access.strides[loop] += flat[loop] * strides[i];
    access.offset += flat.back() * strides[i];
  }
  return access;
}

bool tessera::readsAlike(const OpPlan &plan, const LoopGroup &group,
                         const LinearAccess &access, int64_t rowElements) {
  if (access.offset != 0 || group.size != rowElements)
    return false;
  int64_t stride = 1;
  llvm::SmallBitVector inGroup(plan.sizes.size());
  for (unsigned loop : llvm::reverse(group.loops)) {
    if (access.strides[loop] != stride)
      return false;
    stride *= plan.sizes[loop];
    inGroup.set(loop);
  }
  // No other loop of the row changes the address.
  for (unsigned loop = plan.rowLoops; loop < plan.sizes.size(); ++loop)
    if (!inGroup.test(loop) && plan.sizes[loop] != 1 &&
        access.strides[loop] != 0)
      return false;
  return true;
}

bool tessera::isAligned(const OpPlan &op, const LinearAccess &access,
                        int64_t vector) {
  const LoopGroup &shared = op.shared();
  unsigned innermost = shared.runs.back().last;
  if (access.strides[innermost] != 1 || access.offset % vector != 0)
    return false;
  for (const LoopGroup *group : {&op.rows, &op.parallel, &op.reductions})
    for (unsigned loop : group->loops)
      if (!llvm::is_contained(shared.loops, loop) &&
          access.strides[loop] % vector != 0)
        return false;
  for (const LoopGroup::Run &run : ArrayRef(shared.runs).drop_back())
    if (access.strides[run.last] % vector != 0)
      return false;
  return true;
}
