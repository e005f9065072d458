//===- DistDialect.cpp - The dialect and the shardings of values ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "mlir/IR/DialectImplementation.h"
#include "tessera/Interfaces/BytecodeVersion.h"
#include "tessera/Interfaces/Expansion.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

#include "dialects/Dist/DistDialect.cpp.inc"
#include "dialects/Dist/DistEnums.cpp.inc"
#include "dialects/Dist/DistInterfaces.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Dist/DistTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Dist/DistOps.cpp.inc"

void DistDialect::initialize() {
  registerAttributes();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Dist/DistTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Dist/DistOps.cpp.inc"
      >();
  addInterfaces<ModelledDialect>();
  addInterface<VersionedBytecode>(/*current=*/1);
}

//===----------------------------------------------------------------------===//
// Meshes and shardings of values
//===----------------------------------------------------------------------===//

MeshOp dist::lookupMesh(Operation *op, FlatSymbolRefAttr symbol) {
  auto module =
      isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  return module ? module.lookupSymbol<MeshOp>(symbol) : MeshOp();
}

FailureOr<MeshOp> dist::getOnlyMesh(ModuleOp module) {
  auto meshes = llvm::to_vector(module.getOps<MeshOp>());
  if (meshes.size() == 1)
    return meshes.front();
  return module.emitError()
         << "expects one dist.mesh in the module but got " << meshes.size();
}

/// The sharding without its first dimension.
static ShardingAttr dropFirstDim(ShardingAttr sharding) {
  if (!sharding)
    return {};
  return ShardingAttr::get(sharding.getContext(), sharding.getMesh(),
                           sharding.getDims().drop_front(),
                           sharding.getReplicated(), sharding.getUnreduced(),
                           sharding.getReduction());
}

Operation *dist::findBackward(Block &block) {
  for (Operation &op : block)
    if (op.hasAttr(DistDialect::kBackwardAttr))
      return &op;
  return nullptr;
}

SmallVector<Block *> dist::getBlocks(FunctionOpInterface func) {
  SmallVector<Block *> blocks;
  for (Block &block : func.getFunctionBody())
    blocks.push_back(&block);
  for (size_t i = 0; i < blocks.size(); ++i)
    for (auto accumulate : blocks[i]->getOps<AccumulateOp>())
      blocks.push_back(&accumulate.getBody().front());
  return blocks;
}

ShardingAttr dist::getSharding(Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    if (auto op = dyn_cast<AccumulateOp>(arg.getOwner()->getParentOp()))
      return dropFirstDim(getSharding(op.getSlices()[arg.getArgNumber()]));
    auto func = dyn_cast<FunctionOpInterface>(arg.getOwner()->getParentOp());
    if (!func || !arg.getOwner()->isEntryBlock())
      return {};
    return func.getArgAttrOfType<ShardingAttr>(arg.getArgNumber(),
                                               DistDialect::kShardingAttr);
  }
  auto result = cast<OpResult>(value);
  auto all =
      result.getOwner()->getAttrOfType<ArrayAttr>(DistDialect::kShardingsAttr);
  return all ? dyn_cast<ShardingAttr>(all[result.getResultNumber()])
             : ShardingAttr();
}

void dist::setSharding(Value value, ShardingAttr sharding) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    auto func = cast<FunctionOpInterface>(arg.getOwner()->getParentOp());
    func.setArgAttr(arg.getArgNumber(), DistDialect::kShardingAttr, sharding);
    return;
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  SmallVector<Attribute> all(op->getNumResults(),
                             UnitAttr::get(op->getContext()));
  if (auto old = op->getAttrOfType<ArrayAttr>(DistDialect::kShardingsAttr))
    all.assign(old.begin(), old.end());
  all[result.getResultNumber()] = sharding;
  op->setAttr(DistDialect::kShardingsAttr,
              ArrayAttr::get(op->getContext(), all));
}

ShardingAttr dist::getResultSharding(FunctionOpInterface func, unsigned index) {
  return func.getResultAttrOfType<ShardingAttr>(index,
                                                DistDialect::kShardingAttr);
}

void dist::setResultSharding(FunctionOpInterface func, unsigned index,
                             ShardingAttr sharding) {
  func.setResultAttr(index, DistDialect::kShardingAttr, sharding);
}

/// `dict` with the sharding, if there is one, added.
static DictionaryAttr withSharding(DictionaryAttr dict, ShardingAttr sharding) {
  if (!sharding)
    return dict;
  NamedAttrList list(dict);
  list.set(DistDialect::kShardingAttr, sharding);
  return list.getDictionary(sharding.getContext());
}

void dist::setFunctionShardings(FunctionOpInterface func,
                                ArrayRef<ShardingAttr> args,
                                ArrayRef<ShardingAttr> results) {
  SmallVector<DictionaryAttr> argDicts, resultDicts;
  for (auto [i, sharding] : llvm::enumerate(args))
    argDicts.push_back(withSharding(func.getArgAttrDict(i), sharding));
  func.setAllArgAttrs(argDicts);
  if (results.empty())
    return;
  for (auto [i, sharding] : llvm::enumerate(results))
    resultDicts.push_back(withSharding(func.getResultAttrDict(i), sharding));
  func.setAllResultAttrs(resultDicts);
}
