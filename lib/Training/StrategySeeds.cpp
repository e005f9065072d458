//===- StrategySeeds.cpp - Seed shardings of a strategy -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StrategySeeds.h"
#include "StateSharding.h"
#include "dialects/NN/NN.h"
#include "tessera/Partition/AttentionContext.h"
#include "tessera/Partition/ContextChoice.h"
#include "tessera/Training/FlatState.h"
#include "tessera/Training/MatrixUses.h"
#include "tessera/Training/WholeParameters.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;

SeedWriter::SeedWriter(const Strategy &strategy, const Mesh &mesh,
                       FlatSymbolRefAttr symbol, bool isTrained)
    : strategy(strategy), mesh(mesh), symbol(symbol), isTrained(isTrained),
      dpAxes(getAxes(strategy.dpAxes, mesh)),
      cpAxes(getAxes(strategy.cpAxes, mesh)),
      tpAxes(getAxes(strategy.tpAxes, mesh)),
      expertAxes(*getExpertAxes(strategy, mesh)) {}

/// Whether a dimension may take axes: there are some, and no other dimension
/// has one of them. The first of several candidates takes them.
static bool areFree(const Sharding &sharding, ArrayRef<AxisRef> axes) {
  return !axes.empty() &&
         llvm::none_of(sharding.dims, [&](const DimSharding &dim) {
           return overlapsAny(dim.axes, axes);
         });
}

Sharding SeedWriter::seedInput(ArrayRef<StringRef> dims,
                               RankedTensorType type) {
  Sharding sharding = Sharding::replicatedOf(type.getRank());
  auto seed = [&](unsigned dim, bool isUsed, const AxisList &axes) {
    if (isUsed && areFree(sharding, axes))
      sharding.dims[dim].axes = axes;
  };
  for (auto [i, name] : llvm::enumerate(dims)) {
    foundBatch |= name == "batch";
    foundTokens |= name == "seq";
    if (name == "batch")
      seed(i, strategy.dp, dpAxes);
    else if (name == "seq")
      seed(i, strategy.cp, cpAxes);
  }
  return sharding;
}

/// Shards heads: the major part of tp over KV heads, the rest over the query
/// heads of each. A tensor of keys or values takes only the first part; one of
/// queries without a dimension of KV heads belongs to a single one.
void SeedWriter::seedHeads(Sharding &sharding, ArrayRef<StringRef> dims,
                           RankedTensorType type) const {
  const auto *groups = llvm::find(dims, "kv_heads");
  const auto *heads = llvm::find(dims, "q_per_kv");
  bool hasGroups = groups != dims.end(), hasHeads = heads != dims.end();
  if (!hasGroups && !hasHeads)
    return;
  int64_t numGroups =
      hasGroups ? type.getDimSize(groups - dims.begin()) : int64_t(1);
  auto [ofGroups, ofHeads] = splitHeadAxes(tpAxes, numGroups, headsPerGroup);
  if (hasGroups)
    sharding.dims[groups - dims.begin()].axes = std::move(ofGroups);
  if (hasHeads)
    sharding.dims[heads - dims.begin()].axes = std::move(ofHeads);
}

/// Whether `tp` splits a dimension of this name all over its axes.
static bool isWide(StringRef name) { return name == "ffn" || name == "vocab"; }

/// Whether `tp` splits a parameter.
static bool isSplit(ArrayRef<StringRef> dims) {
  return llvm::any_of(dims, [](StringRef name) {
    return isWide(name) || name == "kv_heads" || name == "q_per_kv";
  });
}

Sharding SeedWriter::seedParameter(ArrayRef<StringRef> dims,
                                   RankedTensorType type) {
  foundParameter = true;
  foundTensorParallel |= isSplit(dims);
  Sharding sharding = Sharding::replicatedOf(type.getRank());
  for (auto [i, name] : llvm::enumerate(dims)) {
    foundExperts |= name == "experts";
    if (name == "experts" && strategy.ep > 1)
      sharding.dims[i].axes = expertAxes;
    if (isWide(name) && strategy.tp && areFree(sharding, tpAxes))
      sharding.dims[i].axes = tpAxes;
  }
  if (strategy.tp && areFree(sharding, tpAxes))
    seedHeads(sharding, dims, type);
  return sharding;
}

Sharding SeedWriter::seedResidual(ArrayRef<StringRef> dims,
                                  RankedTensorType type) {
  Sharding sharding = seedInput(dims, type);
  for (auto [i, name] : llvm::enumerate(dims))
    if (name == "seq") {
      foundSequence = true;
      if (strategy.sp && areFree(sharding, tpAxes)) {
        sharding.dims[i].axes.append(tpAxes.begin(), tpAxes.end());
        sharding.dims[i].priority = 1;
      }
    }
  return sharding;
}

/// An op that passes on a parameter as it is stored.
static bool passesThrough(Operation *user) {
  return user->hasTrait<OpTrait::IsTerminator>() || isa<dist::GroupOp>(user);
}

/// Gathers a parameter before its first use; null if it has none.
dist::ConstraintOp SeedWriter::constrainUses(Value parameter,
                                             const Sharding &inUse) {
  Operation *first = nullptr;
  for (Operation *user : parameter.getUsers())
    if (!passesThrough(user) && (!first || user->isBeforeInBlock(first)))
      first = user;
  if (!first)
    return nullptr;
  OpBuilder builder(first);
  auto gathered = dist::ConstraintOp::create(builder, first->getLoc(),
                                             parameter, toAttr(inUse));
  parameter.replaceUsesWithIf(gathered, [&](OpOperand &use) {
    return use.getOwner() != gathered && !passesThrough(use.getOwner());
  });
  return gathered;
}

/// Shards a stored parameter over the axes of state as well. If they divide no
/// dimension, it is stored in another shape, unless it or its function has
/// other uses that need its shape.
Sharding SeedWriter::shardStorage(FunctionOpInterface func,
                                  BlockArgument parameter,
                                  const Sharding &inUse) {
  auto type = cast<RankedTensorType>(parameter.getType());
  Sharding rest = inUse;
  AxisList axes = dropUsed(getStateAxes(strategy, mesh), rest.dimAxes());
  if (axes.empty())
    return inUse;
  if (shardEvenly(axes, rest, type.getShape())) {
    constrainUses(parameter, inUse);
    return rest;
  }
  std::optional<FlatState> layout =
      FlatState::get(type.getShape(), inUse, axes);
  if (!layout || llvm::any_of(parameter.getUsers(), passesThrough) ||
      !SymbolTable::symbolKnownUseEmpty(func, func->getParentOp()))
    return inUse;
  parameter.setType(layout->getType(type.getElementType()));
  if (dist::ConstraintOp gathered =
          constrainUses(parameter, layout->getInUse())) {
    SmallVector<OpOperand *> uses = llvm::map_to_vector(
        gathered->getUses(), [](OpOperand &use) { return &use; });
    OpBuilder builder(func.getContext());
    builder.setInsertionPointAfter(gathered);
    Value whole = layout->unflatten(builder, gathered.getLoc(), gathered);
    for (OpOperand *use : uses)
      use->set(whole);
  }
  func.setType(
      func.cloneTypeWith(func.getFunctionBody().front().getArgumentTypes(),
                         func.getResultTypes()));
  Builder builder(func.getContext());
  unsigned number = parameter.getArgNumber();
  func.removeArgAttr(number, nn::NNDialect::kDimsAttr);
  for (NamedAttribute attr : layout->getAttributes(builder))
    func.setArgAttr(number, attr.getName(), attr.getValue());
  return layout->getSharding();
}

void SeedWriter::seedFunction(FunctionOpInterface func) {
  headsPerGroup = 1;
  SmallVector<SmallVector<StringRef>> names;
  for (BlockArgument arg : func.getArguments()) {
    names.push_back(getDimNames(
        func.getArgAttr(arg.getArgNumber(), nn::NNDialect::kDimsAttr)));
    for (auto [i, name] : llvm::enumerate(names.back()))
      if (name == "q_per_kv")
        headsPerGroup = std::max(
            headsPerGroup, cast<RankedTensorType>(arg.getType()).getDimSize(i));
  }
  SmallVector<dist::ShardingAttr> seeds;
  for (auto [arg, dims] : llvm::zip(func.getArguments(), names)) {
    seeds.emplace_back();
    if (dims.empty())
      continue;
    auto type = cast<RankedTensorType>(arg.getType());
    bool isParameter =
        bool(func.getArgAttr(arg.getArgNumber(), nn::NNDialect::kParamAttr));
    Sharding seed =
        isParameter ? seedParameter(dims, type) : seedInput(dims, type);
    dist::ShardingAttr own = dist::getSharding(arg);
    if (own)
      seed = own.toSharding(mesh);
    if (isParameter && strategy.zero == 3 && !isTrained)
      seed = shardStorage(func, arg, seed);
    else if (own)
      continue;
    seeds.back() = toAttr(seed);
  }
  dist::setFunctionShardings(func, seeds);
  func.walk([&](Operation *op) {
    SmallVector<StringRef> dims =
        getDimNames(op->getDiscardableAttr(nn::NNDialect::kDimsAttr));
    if (dims.empty() || op->getNumResults() != 1)
      return;
    Value value = op->getResult(0);
    Sharding seed = seedResidual(dims, cast<RankedTensorType>(value.getType()));
    if (!dist::getSharding(value))
      dist::setSharding(value, toAttr(seed));
  });
}

llvm::Error SeedWriter::checkFound() const {
  if (strategy.dp && !foundBatch)
    return llvm::createStringError(
        "strategy 'dp' expects an argument with a dimension \"batch\" in "
        "nn.dims but got none; tessera import --dims NAME=batch,... names it");
  if (strategy.tp && !foundTensorParallel)
    return llvm::createStringError(
        "strategy 'tp' expects a parameter (nn.param) with a dimension "
        "\"kv_heads\", \"ffn\" or \"vocab\" in nn.dims but got none");
  if (strategy.sp && !foundSequence)
    return llvm::createStringError(
        "strategy 'sp' expects ops with a dimension \"seq\" in nn.dims but "
        "got none");
  if (strategy.cp && !foundTokens)
    return llvm::createStringError(
        "strategy 'cp' expects an argument with a dimension \"seq\" in "
        "nn.dims but got none; tessera import --dims NAME=batch,seq names it");
  if (strategy.ep > 1 && !foundExperts)
    return llvm::createStringError(
        "strategy 'ep' expects a parameter (nn.param) with a dimension "
        "\"experts\" in nn.dims but got none");
  if (strategy.zero > 0 && !foundParameter)
    return llvm::createStringError(
        "strategy 'zero' expects an argument with nn.param and nn.dims but "
        "got none");
  return llvm::Error::success();
}

DictionaryAttr SeedWriter::getContext() const {
  MLIRContext *context = symbol.getContext();
  if (!strategy.cp || cpAxes.empty())
    return {};
  auto axes = [&](bool isUsed, const AxisList &list) {
    return dist::AxesAttr::get(context, mesh, isUsed ? list : AxisList());
  };
  Builder b(context);
  return b.getDictionaryAttr(
      {b.getNamedAttr("method", b.getStringAttr(strategy.context.getName())),
       b.getNamedAttr("seq", axes(true, cpAxes)),
       b.getNamedAttr("batch", axes(strategy.dp, dpAxes)),
       b.getNamedAttr("heads", axes(strategy.tp, tpAxes))});
}

DictionaryAttr SeedWriter::getExperts() const {
  if (strategy.ep == 1)
    return {};
  MLIRContext *context = symbol.getContext();
  auto axes = [&](bool isUsed, const AxisList &list) {
    return dist::AxesAttr::get(
        context, mesh, isUsed ? dropUsed(list, expertAxes) : AxisList());
  };
  Builder b(context);
  return b.getDictionaryAttr(
      {b.getNamedAttr("experts",
                      dist::AxesAttr::get(context, mesh, expertAxes)),
       b.getNamedAttr("batch", axes(strategy.dp, dpAxes)),
       b.getNamedAttr("seq", axes(strategy.cp, cpAxes)),
       b.getNamedAttr("ffn", axes(strategy.tp, tpAxes))});
}

std::string tessera::describeWholeParameters(ModuleOp module) {
  int64_t all = 0, whole = 0, most = 0;
  std::string largest;
  for (auto func : module.getOps<FunctionOpInterface>())
    for (BlockArgument arg : func.getArguments()) {
      unsigned number = arg.getArgNumber();
      auto name =
          func.getArgAttrOfType<StringAttr>(number, nn::NNDialect::kParamAttr);
      if (dist::getSharding(arg))
        return "";
      SmallVector<StringRef> dims =
          getDimNames(func.getArgAttr(number, nn::NNDialect::kDimsAttr));
      if (!name || !isMatrix(arg) || llvm::is_contained(dims, "positions"))
        continue;
      auto type = cast<RankedTensorType>(arg.getType());
      all += type.getNumElements();
      if (isSplit(dims))
        continue;
      whole += type.getNumElements();
      if (type.getNumElements() > most) {
        most = type.getNumElements();
        largest = llvm::formatv(
            "{0} ({1})", name.getValue(),
            llvm::join(llvm::map_range(
                           type.getShape(),
                           [](int64_t size) { return std::to_string(size); }),
                       "x"));
      }
    }
  if (whole * 20 < all || whole == all)
    return "";
  return llvm::formatv(
      "{0:F1} % of the elements of matrices stay whole under tp, most of them "
      "in {1}; --dims of tessera import names dimensions, and --strategy auto "
      "needs no names",
      100.0 * double(whole) / double(all), largest);
}
