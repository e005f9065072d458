//===- PartitionContext.cpp - Mesh and shardings of a module --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartitionContext.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Propagation/FactorProjection.h"

using namespace mlir;
using namespace tessera;

FailureOr<PartitionContext> PartitionContext::get(ModuleOp module) {
  PartitionContext context;
  if (module.getOps<dist::MeshOp>().empty())
    return context; // A program for one device.
  FailureOr<dist::MeshOp> meshOp = dist::getOnlyMesh(module);
  if (failed(meshOp))
    return failure();
  context.mesh = meshOp->getMesh().toMesh();
  context.planner =
      std::make_unique<ReshardPlanner>(context.mesh, getMeshLinks(*meshOp));
  context.symbol = FlatSymbolRefAttr::get(meshOp->getSymNameAttr());
  for (auto func : module.getOps<FunctionOpInterface>()) {
    if (func.isExternal() || func->hasAttr(dist::DistDialect::kLocalAttr))
      continue;
    if (!llvm::hasSingleElement(func.getFunctionBody()))
      return func.emitError("partition: expects a function of one block but "
                            "got ")
             << func.getFunctionBody().getBlocks().size() << " blocks";
    context.functions.push_back(func);
  }
  return context;
}

const Sharding &PartitionContext::toPlain(dist::ShardingAttr attr) {
  std::unique_ptr<Sharding> &entry = plain[attr];
  if (!entry)
    entry = std::make_unique<Sharding>(attr.toSharding(mesh));
  return *entry;
}

const Sharding &PartitionContext::getReplicated(int64_t rank) {
  std::unique_ptr<Sharding> &entry = replicated[rank];
  if (!entry)
    entry = std::make_unique<Sharding>(Sharding::replicatedOf(rank));
  return *entry;
}

const Sharding &PartitionContext::getSharding(Value value) {
  if (dist::ShardingAttr attr = dist::getSharding(value))
    return toPlain(attr);
  return getReplicated(cast<RankedTensorType>(value.getType()).getRank());
}

const Sharding &PartitionContext::getResultSharding(FunctionOpInterface func,
                                                    unsigned index) {
  if (dist::ShardingAttr attr = dist::getResultSharding(func, index))
    return toPlain(attr);
  return getReplicated(
      cast<RankedTensorType>(func.getResultTypes()[index]).getRank());
}

FactorAxes PartitionContext::getFactorAxes(Operation *op,
                                           const ShardingRule &rule) {
  FactorAxes axes(rule.factors.size());
  auto add = [&](Value value, const TensorFactors &dims) {
    RankedTensorType type = getTensorType(value);
    if (!type || type.getRank() != static_cast<int64_t>(dims.size()))
      return;
    llvm::SmallVector<AxisList, 8> projected =
        projectTensor(rule, dims, getSharding(value).dims);
    for (auto [mine, found] : llvm::zip(axes, projected))
      if (mine.empty())
        mine = std::move(found);
  };
  for (auto [value, dims] : llvm::zip(op->getOperands(), rule.operands))
    add(value, dims);
  for (auto [value, dims] : llvm::zip(op->getResults(), rule.results))
    add(value, dims);
  return axes;
}

std::string PartitionContext::print(ArrayRef<AxisRef> axes) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  mesh.print(os, axes);
  return text;
}

std::string PartitionContext::print(const Sharding &sharding) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  sharding.print(os, mesh);
  return text;
}

void tessera::setInDictionary(DictionaryAttr &dictionary, StringRef name,
                              Attribute attr) {
  NamedAttrList list(dictionary);
  list.set(name, attr);
  dictionary = list.getDictionary(attr.getContext());
}
