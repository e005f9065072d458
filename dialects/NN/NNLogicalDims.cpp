//===- NNLogicalDims.cpp - Names of the dimensions of nn ops --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::nn;

/// Names the first dimensions of a tensor.
static void nameFirst(DimNamer name, Value tensor, ArrayRef<StringRef> words) {
  for (auto [dim, word] : llvm::enumerate(words))
    name(tensor, dim, word);
}

void AttentionOp::nameDims(DimNamer name) {
  nameFirst(name, getQ(), {"batch", "seq", "kv_heads", "q_per_kv", "head_dim"});
  for (Value keysOrValues : {Value(getK()), Value(getV())})
    nameFirst(name, keysOrValues, {"batch", "seq", "kv_heads", "head_dim"});
  if (getSinks())
    nameFirst(name, getSinks(), {"kv_heads", "q_per_kv"});
}

void CrossEntropyOp::nameDims(DimNamer name) {
  name(getLogits(), getLogits().getType().getRank() - 1, "vocab");
}

/// Whether ids are elements of an argument, possibly next to others.
static bool areInputs(Value ids) {
  llvm::SetVector<Value> values;
  values.insert(ids);
  for (size_t i = 0; i < values.size(); ++i) {
    Operation *op = values[i].getDefiningOp();
    if (!op)
      return true;
    if (isa<TransposeOp, BroadcastOp, tensor::ConcatOp, tensor::ExtractSliceOp,
            tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      values.insert_range(op->getOperands());
  }
  return false;
}

/// Input ids are tokens, in any order; computed ids are positions.
void EmbeddingOp::nameDims(DimNamer name) {
  bool isInput = areInputs(getIds());
  nameFirst(name, getTable(), {isInput ? "vocab" : "positions", "embed"});
  if (isa<BlockArgument>(getIds()) && getIds().getType().getRank() == 2)
    nameFirst(name, getIds(), {"batch", "seq"});
}
