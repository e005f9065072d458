//===- SearchShardings.cpp - The pass that searches shardings -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "mlir/IR/Remarks.h"
#include "tessera/ShardingSearch/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_SEARCHSHARDINGSPASS
#include "tessera/ShardingSearch/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct SearchShardingsPass
    : tessera::impl::SearchShardingsPassBase<SearchShardingsPass> {
  using SearchShardingsPassBase::SearchShardingsPassBase;
  explicit SearchShardingsPass(const FoundShardings &found) : given(found) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module.getOps<dist::MeshOp>().empty())
      return;
    module->removeAttr(dist::DistDialect::kDecisionsAttr);
    // One remark shows whether remarks are read.
    auto remark = remark::passed(
        module.getLoc(),
        remark::RemarkOpts::name("ShardingSearch").category("propagation"));
    bool isGiven = given.solution != nullptr;
    if (!isGiven) {
      ShardingSearchOptions options;
      options.dump = dump;
      options.memoryLimit = memoryLimit;
      options.foldsLayers = foldLayers;
      options.explains = bool(remark);
      FailureOr<FoundShardings> found =
          searchAndApplyShardings(module, options);
      if (failed(found)) {
        remark << remark::add("no shardings");
        return signalPassFailure();
      }
      given = *found;
    }
    remark << remark::add("kernels and transfers")
           << remark::metric("us", double(given.cost) * 1e-6)
           << remark::metric("usAtLeast", double(given.bound) * 1e-6)
           << remark::metric("gap", given.gap())
           << remark::metric("kernelUs", double(given.times.kernels) * 1e-6)
           << remark::metric("waitedUs", double(given.times.waited) * 1e-6)
           << remark::metric("besideUs", double(given.times.beside) * 1e-6)
           << remark::metric("bytes", given.bytes)
           << remark::metric("variables", given.variables)
           << remark::metric("solved", given.solved);
    if (isGiven && failed(applyShardings(module, given)))
      signalPassFailure();
  }

  FoundShardings given;
};
} // namespace

std::unique_ptr<Pass>
tessera::createSearchShardingsPass(const FoundShardings &found) {
  return std::make_unique<SearchShardingsPass>(found);
}
