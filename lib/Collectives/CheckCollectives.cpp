//===- CheckCollectives.cpp - Holds functions to their lists --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Collectives/CollectiveList.h"
#include "tessera/Collectives/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_CHECKCOLLECTIVESPASS
#include "tessera/Collectives/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct CheckCollectivesPass
    : tessera::impl::CheckCollectivesPassBase<CheckCollectivesPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<FunctionOpInterface>())
      if (failed(check(func)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  /// A function without a list was not listed: nothing is known of it.
  static LogicalResult check(FunctionOpInterface func) {
    std::optional<CollectiveList> list = CollectiveList::read(func);
    if (!list || func.isExternal())
      return success();
    std::string why = list->explainDifference(CollectiveList::collect(func));
    if (why.empty())
      return success();
    return func.emitError("the collectives of @")
           << func.getName() << " are not those that were proven ("
           << dist::DistDialect::kCollectivesAttr << "): " << why;
  }
};
} // namespace
