//===- DistDialect.cpp - The dialect and the shardings of values ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "mlir/IR/DialectImplementation.h"
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
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

/// In a local function `type` is one device's, of the same rank.
static LogicalResult verifySharding(Operation *op, Attribute attr, Type type,
                                    Twine where) {
  auto emitError = [&] { return op->emitError() << where << ": "; };
  auto sharding = dyn_cast<ShardingAttr>(attr);
  if (!sharding)
    return emitError() << "expects a #dist.sharding but got " << attr;
  return sharding.verifyFor(op, type, emitError);
}

static LogicalResult verifyGlobalShape(Operation *op, Attribute attr, Type type,
                                       Twine where) {
  auto shape = dyn_cast<DenseI64ArrayAttr>(attr);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!shape || !tensor || shape.size() != tensor.getRank())
    return op->emitError() << where
                           << ": expects a global shape of the tensor's rank "
                              "but got "
                           << attr << " for " << type;
  return success();
}

/// An array of spans for each axis; the devices of its spans multiply to it.
static LogicalResult verifyLinks(Operation *op, Attribute attr) {
  auto mesh = dyn_cast<MeshOp>(op);
  if (!mesh)
    return op->emitError("dist.links: expects to be on a dist.mesh");
  ArrayRef<MeshAxisAttr> axes = mesh.getMesh().getAxes();
  auto links = dyn_cast<ArrayAttr>(attr);
  if (!links || links.size() != axes.size())
    return op->emitError() << "dist.links: expects an array of " << axes.size()
                           << " axes but got " << attr;
  for (auto [axis, entry] : llvm::zip(axes, links)) {
    auto spans = dyn_cast<ArrayAttr>(entry);
    double devices = 1;
    bool valid = spans && llvm::all_of(spans, [&](Attribute attr) {
      auto span = dyn_cast<DenseF64ArrayAttr>(attr);
      if (!span || span.size() != 3 || !(span[0] >= 1) || !(span[1] >= 0) ||
          !(span[2] > 0))
        return false;
      devices *= span[0];
      return true;
    });
    if (!valid)
      return op->emitError()
             << "dist.links: expects array<f64: devices, seconds, bytes a "
                "second> for each level of \""
             << axis.getName() << "\" but got " << entry;
    if (devices != axis.getSize())
      return op->emitError() << "dist.links: expects " << axis.getSize()
                             << " devices along \"" << axis.getName()
                             << "\" but got " << static_cast<int64_t>(devices);
  }
  return success();
}

/// A dictionary of limits on a function.
static LogicalResult verifyBudget(Operation *op, Attribute attr) {
  auto entries = dyn_cast<DictionaryAttr>(attr);
  if (!isa<FunctionOpInterface>(op) || !entries)
    return op->emitError() << "dist.budget: expects a dictionary on a function "
                              "but got "
                           << attr;
  for (NamedAttribute entry : entries) {
    auto number = dyn_cast<IntegerAttr>(entry.getValue());
    bool isLimit = entry.getName() == "max_bytes" ||
                   entry.getName() == "max_collectives";
    bool isFlag = entry.getName() == "no_full_gather";
    if (!isLimit && !isFlag)
      return op->emitError()
             << "dist.budget: expects max_bytes, max_collectives or "
                "no_full_gather but got '"
             << entry.getName().getValue() << "'";
    if (isLimit ? !number || number.getInt() < 0
                : !isa<UnitAttr>(entry.getValue()))
      return op->emitError()
             << "dist.budget: expects "
             << (isLimit ? "a number of at least 0" : "no value") << " for "
             << entry.getName() << " but got " << entry.getValue();
  }
  return success();
}

LogicalResult DistDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  if (attr.getName() == kLocalAttr || attr.getName() == kWhyAttr)
    return success();
  if (attr.getName() == kBackwardAttr || attr.getName() == kRecomputeAttr) {
    if (isa<UnitAttr>(attr.getValue()))
      return success();
    return op->emitError() << attr.getName().getValue()
                           << ": expects a unit attribute but got "
                           << attr.getValue();
  }
  if (attr.getName() == kBudgetAttr)
    return verifyBudget(op, attr.getValue());
  if (attr.getName() == kLinksAttr)
    return verifyLinks(op, attr.getValue());
  if (attr.getName() == kReferenceAttr) {
    if (isa<FlatSymbolRefAttr>(attr.getValue()))
      return success();
    return op->emitError() << "dist.reference: expects a function but got "
                           << attr.getValue();
  }
  if (attr.getName() == kFactorsAttr) {
    auto factors = dyn_cast<ArrayAttr>(attr.getValue());
    if (factors && llvm::all_of(factors, llvm::IsaPred<AxesAttr>))
      return success();
    return op->emitError()
           << "dist.factors: expects an array of #dist.axes but got "
           << attr.getValue();
  }
  if (attr.getName() == kPlanAttr) {
    if (isa<ModuleOp>(op) && isa<PlanAttr>(attr.getValue()))
      return success();
    return op->emitError()
           << "dist.plan: expects a #dist.plan on a module but got "
           << attr.getValue();
  }
  if (attr.getName() != kShardingsAttr)
    return op->emitError() << "expects no attribute '"
                           << attr.getName().getValue() << "' on an operation";
  auto shardings = dyn_cast<ArrayAttr>(attr.getValue());
  if (!shardings || shardings.size() != op->getNumResults())
    return op->emitError() << "dist.shardings: expects one entry a result ("
                           << op->getNumResults() << ") but got "
                           << attr.getValue();
  for (auto [i, entry] : llvm::enumerate(shardings))
    if (!isa<UnitAttr>(entry) &&
        failed(verifySharding(op, entry, op->getResult(i).getType(),
                              "sharding of result " + Twine(i))))
      return failure();
  return success();
}

LogicalResult DistDialect::verifyRegionArgAttribute(Operation *op,
                                                    unsigned region,
                                                    unsigned argument,
                                                    NamedAttribute attr) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (!func)
    return success();
  Type type = func.getArgumentTypes()[argument];
  if (attr.getName() == kGlobalShapeAttr)
    return verifyGlobalShape(op, attr.getValue(), type,
                             "argument " + Twine(argument));
  if (attr.getName() == kShardingAttr)
    return verifySharding(op, attr.getValue(), type,
                          "sharding of argument " + Twine(argument));
  return success();
}

LogicalResult DistDialect::verifyRegionResultAttribute(Operation *op,
                                                       unsigned region,
                                                       unsigned result,
                                                       NamedAttribute attr) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (!func)
    return success();
  Type type = func.getResultTypes()[result];
  if (attr.getName() == kGlobalShapeAttr)
    return verifyGlobalShape(op, attr.getValue(), type,
                             "result " + Twine(result));
  if (attr.getName() == kShardingAttr)
    return verifySharding(op, attr.getValue(), type,
                          "sharding of result " + Twine(result));
  return success();
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
