//===- AttentionContext.cpp - Context parallelism of an attention ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Partition/AttentionContext.h"

using namespace mlir;
using namespace tessera;

std::pair<AxisList, AxisList>
tessera::splitHeadAxes(ArrayRef<AxisRef> axes, int64_t groups, int64_t heads) {
  auto [major, minor] = splitHeads(numShards(axes), groups, heads);
  auto split = splitAt(axes, major);
  return split ? *split : std::pair(AxisList(axes), AxisList());
}

Sharding SequenceContext::getWholeSequence(Value value, unsigned dim) const {
  auto type = cast<RankedTensorType>(value.getType());
  Sharding sharding = Sharding::replicatedOf(type.getRank(), /*open=*/true);
  sharding.dims[dim].open = false;
  sharding.replicated = seq;
  return sharding;
}

FailureOr<SequenceContext> tessera::readContext(ModuleOp module) {
  FailureOr<dist::MeshOp> mesh = dist::getOnlyMesh(module);
  if (failed(mesh))
    return failure();
  SequenceContext context;
  context.mesh = mesh->getMesh().toMesh();
  context.meshSymbol = FlatSymbolRefAttr::get(mesh->getSymNameAttr());
  context.links = getMeshLinks(*mesh);
  context.rates = getWorkRates(module);
  auto attr =
      module->getAttrOfType<DictionaryAttr>(dist::DistDialect::kContextAttr);
  auto axes = [&](StringRef name) {
    auto list = attr.getAs<dist::AxesAttr>(name);
    return list ? list.toAxes(context.mesh) : AxisList();
  };
  context.method =
      *parseContextMethod(attr.getAs<StringAttr>("method").getValue());
  context.seq = axes("seq");
  context.batch = axes("batch");
  context.heads = axes("heads");
  context.isOrdered = attr.contains("ordered");
  auto plan =
      module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr);
  context.gathersAgain = plan && plan.getPlan().recompute != Recompute::None;
  return context;
}
