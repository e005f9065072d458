//===- CheckBudget.cpp - Limits on what a program communicates ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For tests that keep a partition from getting worse. The error names what
// costs most, or the first that is not allowed. Bytes and counts are those of
// local functions; whether a gathered tensor is whole can be seen only before,
// where collectives carry shardings.
//
//===----------------------------------------------------------------------===//

#include "tessera/Partition/CollectiveReport.h"
#include "tessera/Partition/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_CHECKBUDGETPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// Limits; negative: none.
struct Budget {
  int64_t maxBytes = -1;
  int64_t maxCollectives = -1;
  bool noFullGather = false;
};

} // namespace

/// The function's own limits where it has them.
static Budget getBudget(Operation *func, Budget budget) {
  auto attr =
      func->getAttrOfType<DictionaryAttr>(dist::DistDialect::kBudgetAttr);
  if (!attr)
    return budget;
  if (auto bytes = attr.getAs<IntegerAttr>("max_bytes"))
    budget.maxBytes = bytes.getInt();
  if (auto count = attr.getAs<IntegerAttr>("max_collectives"))
    budget.maxCollectives = count.getInt();
  budget.noFullGather |= attr.contains("no_full_gather");
  return budget;
}

/// `all_reduce over {"x"} of tensor<8xf32> (2 times, 48 bytes)`.
static std::string describe(const CollectiveUse &use) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << stringifyCollective(use.kind) << " over " << use.axes << " of "
     << use.op->getOperand(0).getType();
  if (use.members > 1)
    os << " and " << use.members - 1 << " more";
  os << " (";
  if (use.count > 1)
    os << use.count << " times, ";
  os << use.count * use.bytes << " bytes)";
  return text;
}

static LogicalResult checkGathers(FunctionOpInterface func) {
  WalkResult result = func->walk([](dist::AllGatherOp op) {
    dist::ShardingAttr to = op.getToAttr();
    if (!to || !llvm::all_of(to.getDims(), [](dist::DimShardingAttr dim) {
          return dim.getAxes().empty();
        }))
      return WalkResult::advance();
    op.emitError("budget: expects no device to gather a whole tensor but got ")
        << "all_gather over " << op.getAxes() << " to " << op.getType();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult check(FunctionOpInterface func, const Budget &budget) {
  std::vector<CollectiveUse> uses = getCollectives(func);
  int64_t bytes = 0, count = 0;
  const CollectiveUse *largest = nullptr;
  for (const CollectiveUse &use : uses) {
    bytes += use.count * use.bytes;
    count += use.count;
    if (!largest || use.count * use.bytes > largest->count * largest->bytes)
      largest = &use;
  }
  auto fail = [&](int64_t limit, StringRef what, int64_t got) {
    InFlightDiagnostic error = func.emitError("budget: expects at most ")
                               << limit << ' ' << what << " in @"
                               << func.getName() << " but got " << got;
    error.attachNote(largest->op->getLoc())
        << "most bytes: " << describe(*largest);
    return error;
  };
  if (budget.maxBytes >= 0 && bytes > budget.maxBytes)
    return fail(budget.maxBytes, "bytes received by a device", bytes);
  if (budget.maxCollectives >= 0 && count > budget.maxCollectives)
    return fail(budget.maxCollectives, "collectives", count);
  return success();
}

static LogicalResult checkFunction(FunctionOpInterface func,
                                   const Budget &budget) {
  if (func.isExternal())
    return success();
  if (func->hasAttr(dist::DistDialect::kLocalAttr))
    return check(func, budget);
  return budget.noFullGather ? checkGathers(func) : success();
}

namespace {
struct CheckBudgetPass : tessera::impl::CheckBudgetPassBase<CheckBudgetPass> {
  using CheckBudgetPassBase::CheckBudgetPassBase;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    Budget budget{maxBytes, maxCollectives, noFullGather};
    for (auto func : getOperation().getOps<FunctionOpInterface>())
      if (failed(checkFunction(func, getBudget(func, budget))))
        return signalPassFailure();
  }
};
} // namespace
