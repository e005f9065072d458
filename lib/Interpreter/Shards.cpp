//===- Shards.cpp - Global tensors and their blocks -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interpreter/Shards.h"
#include "llvm/ADT/DenseMap.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

using namespace tessera;
using namespace tessera::interp;
using llvm::ArrayRef;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Cell interp::neutralElement(const ElementType &type, ReductionKind kind) {
  if (kind == ReductionKind::Sum)
    return type.isFloat() ? floatCell(0) : intCell(0);
  bool least = kind == ReductionKind::Max;
  if (type.isFloat()) {
    auto semantics =
        &mlir::cast<mlir::FloatType>(type.getType()).getFloatSemantics();
    if (llvm::APFloat::semanticsHasInf(*semantics))
      return floatCell(least ? -INFINITY : INFINITY);
    return floatCell(
        llvm::APFloat::getLargest(*semantics, least).convertToDouble());
  }
  if (type.getWidth() == 1)
    return intCell(least ? 0 : 1);
  int64_t bound = std::numeric_limits<int64_t>::min() >> (64 - type.getWidth());
  return intCell(least ? bound : ~bound);
}

Cell interp::combine(const ElementType &type, ReductionKind kind, Cell a,
                     Cell b) {
  bool real = type.isFloat();
  if (kind == ReductionKind::Sum) {
    if (real)
      return floatCell(a.f + b.f);
    return type.round(intCell(
        static_cast<int64_t>(static_cast<uint64_t>(a.i) + uint64_t(b.i))));
  }
  if (!real)
    return intCell(kind == ReductionKind::Max ? std::max(a.i, b.i)
                                              : std::min(a.i, b.i));
  if (std::isnan(a.f) || std::isnan(b.f))
    return floatCell(NAN);
  return floatCell(kind == ReductionKind::Max ? std::max(a.f, b.f)
                                              : std::min(a.f, b.f));
}

Tensor interp::reduceTensors(ArrayRef<TensorRef> tensors, ReductionKind kind) {
  Tensor result = *tensors.front();
  ElementType type = result.getElementType();
  for (const TensorRef &tensor : tensors.drop_front())
    for (int64_t i = 0, n = result.getNumElements(); i < n; ++i)
      result[i] = combine(type, kind, result[i], (*tensor)[i]);
  for (int64_t i = 0, n = result.getNumElements(); i < n; ++i)
    result[i] = type.round(result[i]);
  return result;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Returns the first element of a device's block in the padded tensor.
static SmallVector<int64_t> blockOffsets(int64_t device, const Sharding &s,
                                         const Mesh &mesh,
                                         ArrayRef<int64_t> localShape) {
  SmallVector<int64_t> offsets;
  for (auto [dim, size] : llvm::zip_equal(s.dims, localShape))
    offsets.push_back(mesh.shardIndex(device, dim.axes) * size);
  return offsets;
}

/// Returns `sizes` clamped to the part of `shape` from `offsets` on.
static SmallVector<int64_t> clip(ArrayRef<int64_t> offsets,
                                 ArrayRef<int64_t> sizes,
                                 ArrayRef<int64_t> shape) {
  SmallVector<int64_t> clipped;
  for (auto [o, n, bound] : llvm::zip_equal(offsets, sizes, shape))
    clipped.push_back(std::clamp<int64_t>(bound - o, 0, n));
  return clipped;
}

RankTensors interp::shardTensor(const TensorRef &global, const Sharding &s,
                                const Mesh &mesh,
                                ArrayRef<int64_t> localShape) {
  std::map<std::pair<std::vector<int64_t>, bool>, TensorRef> blocks;
  RankTensors result;
  for (int64_t device = 0, n = mesh.numDevices(); device < n; ++device) {
    SmallVector<int64_t> offsets = blockOffsets(device, s, mesh, localShape);
    bool whole = mesh.shardIndex(device, s.unreduced) == 0;
    TensorRef &block = blocks[{{offsets.begin(), offsets.end()}, whole}];
    bool isFirst = llvm::all_of(offsets, [](int64_t o) { return o == 0; });
    // The first block of a padded dimension may have the global shape.
    if (!block && whole && isFirst && localShape == global->getShape()) {
      block = global;
    } else if (!block) {
      auto tensor =
          std::make_shared<Tensor>(global->getElementType(), localShape);
      SmallVector<int64_t> sizes =
          clip(offsets, localShape, global->getShape());
      if (!whole)
        tensor->fill(neutralElement(global->getElementType(), s.reduction));
      else if (!llvm::is_contained(sizes, 0))
        tensor->insert(global->slice(offsets, sizes),
                       SmallVector<int64_t>(offsets.size(), 0));
      block = tensor;
    }
    result.push_back(block);
  }
  return result;
}

void DeviceBlocks::forEach(
    llvm::function_ref<void(int64_t, const TensorRef &, ArrayRef<int64_t>)> fn)
    const {
  SmallVector<int64_t> zeros(shape.size(), 0);
  for (int64_t device = 0, n = mesh.numDevices(); device < n; ++device) {
    if (mesh.shardIndex(device, sharding.unreduced) != 0)
      continue;
    TensorRef block = blocks[device];
    SmallVector<int64_t> localShape(block->getShape());
    SmallVector<int64_t> offsets =
        blockOffsets(device, sharding, mesh, localShape);
    SmallVector<int64_t> sizes = clip(offsets, localShape, shape);
    if (llvm::is_contained(sizes, 0))
      continue;
    if (!sharding.unreduced.empty()) {
      SmallVector<TensorRef> parts;
      for (int64_t other : mesh.group(device, sharding.unreduced))
        parts.push_back(blocks[other]);
      block =
          std::make_shared<Tensor>(reduceTensors(parts, sharding.reduction));
    }
    if (sizes != localShape)
      block = std::make_shared<Tensor>(block->slice(zeros, sizes));
    fn(device, block, offsets);
  }
}

TensorRef interp::assembleTensor(const DeviceBlocks &value) {
  auto result = std::make_shared<Tensor>(value.blocks.front()->getElementType(),
                                         value.shape);
  std::set<std::vector<int64_t>> seen;
  value.forEach(
      [&](int64_t, const TensorRef &block, ArrayRef<int64_t> offsets) {
        if (seen.insert(offsets.vec()).second)
          result->insert(*block, offsets);
      });
  return result;
}

std::optional<std::pair<int64_t, int64_t>>
interp::findConflict(const DeviceBlocks &value) {
  std::map<std::vector<int64_t>, std::pair<int64_t, TensorRef>> first;
  std::optional<std::pair<int64_t, int64_t>> conflict;
  value.forEach([&](int64_t device, const TensorRef &block,
                    ArrayRef<int64_t> offsets) {
    auto [it, isNew] = first.insert({offsets.vec(), std::pair(device, block)});
    if (!conflict && !isNew && it->second.second != block &&
        !it->second.second->sameAs(*block))
      conflict = std::pair(it->second.first, device);
  });
  return conflict;
}
