//===- CheckBudget.cpp - Limits on what a program communicates ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests use these limits to keep a partition from getting worse. The error
// names the most expensive collective, or the first one that is not allowed.
// Bytes and counts are from local functions. A gathered tensor is whole in the
// global form if its sharding says so, and in the local form if it is the same
// on all devices.
//
//===----------------------------------------------------------------------===//

#include "tessera/LocalCollectives/CollectiveUse.h"
#include "tessera/LocalCollectives/DeviceAxes.h"
#include "tessera/LocalCollectives/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_CHECKBUDGETPASS
#include "tessera/LocalCollectives/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// The limits; a negative number means no limit.
struct Budget {
  int64_t maxBytes = -1;
  int64_t maxCollectives = -1;
  bool noFullGather = false;
};

} // namespace

/// Returns `budget`, overridden by the function's own limits.
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

/// Prints `all_reduce over {"x"} of tensor<8xf32> (2 times, 48 bytes)`.
static std::string describe(const CollectiveUse &use) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << stringifyCollective(use.kind) << " over " << use.axes << " of "
     << use.operand;
  if (use.members > 1)
    os << " and " << use.members - 1 << " more";
  os << " (";
  if (use.count > 1)
    os << use.count << " times, ";
  os << use.count * use.bytes << " bytes)";
  return text;
}

static InFlightDiagnostic refuseGather(dist::AllGatherOp op, const Mesh &mesh) {
  std::string axes;
  llvm::raw_string_ostream os(axes);
  mesh.print(os, op.getAxes().toAxes(mesh));
  return op.emitError(
             "budget: expects no device to gather a whole tensor but got ")
         << "all_gather over " << axes << " to " << op.getType();
}

/// Checks the local form. A gather of a value that is the same on all devices
/// already is allowed.
static LogicalResult checkLocalGathers(FunctionOpInterface func,
                                       const Mesh &mesh) {
  DeviceAxes axes(func, mesh);
  WalkResult result = func->walk([&](dist::AllGatherOp op) {
    bool isSplit = !axes.get(op.getInput()).empty();
    if (!isSplit || !axes.get(op.getResult()).empty())
      return WalkResult::advance();
    refuseGather(op, mesh) << " on each device of @" << func.getName();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult checkGathers(FunctionOpInterface func, const Mesh &mesh) {
  WalkResult result = func->walk([&](dist::AllGatherOp op) {
    dist::ShardingAttr to = op.getToAttr();
    if (!to || !llvm::all_of(to.getDims(), [](dist::DimShardingAttr dim) {
          return dim.getAxes().empty();
        }))
      return WalkResult::advance();
    refuseGather(op, mesh);
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
                                   const Budget &budget,
                                   const std::optional<Mesh> &mesh) {
  if (func.isExternal())
    return success();
  bool isLocal = func->hasAttr(dist::DistDialect::kLocalAttr);
  if (budget.noFullGather && mesh &&
      failed(isLocal ? checkLocalGathers(func, *mesh)
                     : checkGathers(func, *mesh)))
    return failure();
  return isLocal ? check(func, budget) : success();
}

namespace {
struct CheckBudgetPass : tessera::impl::CheckBudgetPassBase<CheckBudgetPass> {
  using CheckBudgetPassBase::CheckBudgetPassBase;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    Budget budget{maxBytes, maxCollectives, noFullGather};
    std::optional<Mesh> mesh;
    if (!getOperation().getOps<dist::MeshOp>().empty()) {
      FailureOr<dist::MeshOp> op = dist::getOnlyMesh(getOperation());
      if (failed(op))
        return signalPassFailure();
      mesh = op->getMesh().toMesh();
    }
    for (auto func : getOperation().getOps<FunctionOpInterface>())
      if (failed(checkFunction(func, getBudget(func, budget), mesh)))
        return signalPassFailure();
  }
};
} // namespace
