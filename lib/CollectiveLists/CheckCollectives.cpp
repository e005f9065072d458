//===- CheckCollectives.cpp - Checks functions against their lists --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/CollectiveLists/CollectiveList.h"
#include "tessera/CollectiveLists/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_CHECKCOLLECTIVESPASS
#include "tessera/CollectiveLists/Passes.h.inc"
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
  }

private:
  /// Accepts a function without a list. Replaces a list that is a bound by the
  /// exact list.
  static LogicalResult check(FunctionOpInterface func) {
    std::optional<CollectiveList> list = CollectiveList::read(func);
    if (!list || func.isExternal())
      return success();
    CollectiveList found = CollectiveList::collect(func);
    std::string why = list->explainDifference(found);
    if (why.empty()) {
      if (list->isBound())
        found.write(func);
      return success();
    }
    return func.emitError("the collectives of @")
           << func.getName() << " are not those that were proven ("
           << dist::DistDialect::kCollectivesAttr << "): " << why;
  }
};
} // namespace
