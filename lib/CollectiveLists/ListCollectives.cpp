//===- ListCollectives.cpp - Records the proven collectives ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/CollectiveLists/CollectiveList.h"
#include "tessera/CollectiveLists/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_LISTCOLLECTIVESPASS
#include "tessera/CollectiveLists/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct ListCollectivesPass
    : tessera::impl::ListCollectivesPassBase<ListCollectivesPass> {
  void runOnOperation() override {
    // A function that already has a list, as in the text of a later phase,
    // keeps the proven one.
    for (auto func : getOperation().getOps<FunctionOpInterface>())
      if (!func.isExternal() && !CollectiveList::read(func)) {
        CollectiveList list = CollectiveList::collect(func);
        list.setBound();
        list.write(func);
      }
  }
};
} // namespace
