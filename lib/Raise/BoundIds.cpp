//===- BoundIds.cpp - The ids that arguments may hold ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records the valid ids on each integer argument that is read as ids, so that a
// program can reject others. An argument that already has them keeps them.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "tessera/Interpreter/InputDomain.h"
#include "tessera/Raise/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_BOUNDIDSPASS
#include "tessera/Raise/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using nn::NNDialect;

/// The label without a loss by default; none if the argument is not the labels.
static std::optional<int64_t> getDefaultIgnored(func::FuncOp function,
                                                unsigned index) {
  auto name =
      function.getArgAttrOfType<StringAttr>(index, NNDialect::kInputAttr);
  if (name && name.getValue() == "labels")
    return NNDialect::kUsualIgnored;
  return std::nullopt;
}

static void boundArgument(func::FuncOp function, unsigned index) {
  auto type = dyn_cast<RankedTensorType>(function.getArgument(index).getType());
  if (!type || !isa<IntegerType>(type.getElementType()))
    return;
  interp::IntegerDomain ids = interp::findIds(function.getArgument(index));
  if (!ids.limit || *ids.limit < 1)
    return;
  Builder builder(function.getContext());
  if (!function.getArgAttr(index, NNDialect::kVocabAttr))
    function.setArgAttr(index, NNDialect::kVocabAttr,
                        builder.getI64IntegerAttr(*ids.limit));
  bool isUsual = ids.ignored == getDefaultIgnored(function, index);
  // Id 0 is valid in any case.
  if (!isUsual && !function.getArgAttr(index, NNDialect::kIgnoredAttr))
    function.setArgAttr(index, NNDialect::kIgnoredAttr,
                        builder.getI64IntegerAttr(ids.ignored.value_or(0)));
}

namespace {
struct BoundIdsPass : tessera::impl::BoundIdsPassBase<BoundIdsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function.isPrivate())
        for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
          boundArgument(function, i);
  }
};
} // namespace
