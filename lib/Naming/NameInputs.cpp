//===- NameInputs.cpp - Names the inputs for tokens and labels ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "tessera/Naming/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_NAMEINPUTSPASS
#include "tessera/Naming/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using nn::NNDialect;

namespace {
struct NameInputsPass : tessera::impl::NameInputsPassBase<NameInputsPass> {
  using NameInputsPassBase::NameInputsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    Builder builder(&getContext());
    if (failed(rename(tokens, "tokens")) || failed(rename(labels, "labels")))
      return signalPassFailure();
    if (labelShift == 1)
      return;
    std::optional<unsigned> shifted = find("labels");
    if (!shifted) {
      function.emitError("expects an input of labels that is shifted by ")
          << labelShift.getValue() << " but has none";
      return signalPassFailure();
    }
    function.setArgAttr(*shifted, NNDialect::kLabelShiftAttr,
                        builder.getI64IntegerAttr(labelShift));
  }

private:
  /// Finds the input with a name.
  std::optional<unsigned> find(StringRef name) {
    func::FuncOp function = getOperation();
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
      auto input =
          function.getArgAttrOfType<StringAttr>(i, NNDialect::kInputAttr);
      if (input && input.getValue() == name)
        return i;
    }
    return std::nullopt;
  }

  LogicalResult rename(StringRef from, StringRef to) {
    if (from.empty())
      return success();
    func::FuncOp function = getOperation();
    std::optional<unsigned> found = find(from);
    if (!found)
      return function.emitError("expects an input for ")
             << to << " but has none named " << from;
    function.setArgAttr(*found, NNDialect::kInputAttr,
                        StringAttr::get(&getContext(), to));
    return success();
  }
};
} // namespace
