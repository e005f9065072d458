//===- ApplyStrategy.cpp - Writes the seed shardings of a strategy --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses only the names of dimensions, independent of the ops.
//
//===----------------------------------------------------------------------===//

#include "StateSharding.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Partition/AttentionContext.h"
#include "tessera/Partition/ContextChoice.h"
#include "tessera/Training/FlatState.h"
#include "tessera/Training/Passes.h"
#include "tessera/Training/Strategy.h"

namespace tessera {
#define GEN_PASS_DEF_APPLYSTRATEGYPASS
#include "tessera/Training/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// Writes seeds into the functions of a module.
class SeedWriter {
public:
  SeedWriter(const Strategy &strategy, const Mesh &mesh,
             FlatSymbolRefAttr symbol, bool isTrained)
      : strategy(strategy), mesh(mesh), symbol(symbol), isTrained(isTrained),
        dpAxes(getAxes(strategy.dpAxes, mesh)),
        cpAxes(getAxes(strategy.cpAxes, mesh)),
        tpAxes(getAxes(strategy.tpAxes, mesh)),
        expertAxes(*getExpertAxes(strategy, mesh)) {}

  void seedFunction(FunctionOpInterface func);
  /// How attention shares the sequence, for `dist-pin-context`; null if one
  /// device has the whole sequence.
  DictionaryAttr getContext() const;
  /// The axes of the ops on experts, for `dist-pin-experts`; null without ep.
  DictionaryAttr getExperts() const;
  /// Fails if the strategy asks for a sharding that nothing in the program can
  /// have.
  llvm::Error checkFound() const;

private:
  Sharding seedInput(ArrayRef<StringRef> dims, RankedTensorType type);
  Sharding seedParameter(ArrayRef<StringRef> dims, RankedTensorType type);
  Sharding seedResidual(ArrayRef<StringRef> dims, RankedTensorType type);
  void seedHeads(Sharding &sharding, ArrayRef<StringRef> dims,
                 RankedTensorType type) const;
  dist::ConstraintOp constrainUses(Value parameter, const Sharding &inUse);
  Sharding restParameter(FunctionOpInterface func, BlockArgument parameter,
                         const Sharding &inUse);
  dist::ShardingAttr toAttr(const Sharding &sharding) const {
    return dist::ShardingAttr::get(symbol, mesh, sharding);
  }

  const Strategy &strategy;
  const Mesh &mesh;
  FlatSymbolRefAttr symbol;
  /// True if a training step will be built, which is sharded over dp later.
  const bool isTrained;
  const AxisList dpAxes, cpAxes, tpAxes, expertAxes;
  /// Query heads per KV head: the largest "q_per_kv" of the function.
  int64_t headsPerGroup = 1;
  bool foundBatch = false, foundTensorParallel = false, foundSequence = false,
       foundParameter = false, foundTokens = false, foundExperts = false;
};

} // namespace

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
/// heads of each. A tensor of keys or values takes only the first part.
void SeedWriter::seedHeads(Sharding &sharding, ArrayRef<StringRef> dims,
                           RankedTensorType type) const {
  const auto *groups = llvm::find(dims, "kv_heads");
  const auto *heads = llvm::find(dims, "q_per_kv");
  if (groups == dims.end())
    return;
  unsigned groupDim = groups - dims.begin();
  auto [ofGroups, ofHeads] =
      splitHeadAxes(tpAxes, type.getDimSize(groupDim), headsPerGroup);
  sharding.dims[groupDim].axes = std::move(ofGroups);
  if (heads != dims.end())
    sharding.dims[heads - dims.begin()].axes = std::move(ofHeads);
}

Sharding SeedWriter::seedParameter(ArrayRef<StringRef> dims,
                                   RankedTensorType type) {
  foundParameter = true;
  Sharding sharding = Sharding::replicatedOf(type.getRank());
  for (auto [i, name] : llvm::enumerate(dims)) {
    foundExperts |= name == "experts";
    if (name == "experts" && strategy.ep > 1)
      sharding.dims[i].axes = expertAxes;
    bool wide = name == "ffn" || name == "vocab";
    foundTensorParallel |= wide || name == "kv_heads";
    if (wide && strategy.tp && areFree(sharding, tpAxes))
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
static bool handsOn(Operation *user) {
  return user->hasTrait<OpTrait::IsTerminator>() || isa<dist::GroupOp>(user);
}

/// Gathers a parameter before its first use; null if it has none.
dist::ConstraintOp SeedWriter::constrainUses(Value parameter,
                                             const Sharding &inUse) {
  Operation *first = nullptr;
  for (Operation *user : parameter.getUsers())
    if (!handsOn(user) && (!first || user->isBeforeInBlock(first)))
      first = user;
  if (!first)
    return nullptr;
  OpBuilder builder(first);
  auto gathered = dist::ConstraintOp::create(builder, first->getLoc(),
                                             parameter, toAttr(inUse));
  parameter.replaceUsesWithIf(gathered, [&](OpOperand &use) {
    return use.getOwner() != gathered && !handsOn(use.getOwner());
  });
  return gathered;
}

/// Shards a stored parameter over the axes of state as well. If they divide no
/// dimension, it is stored in another shape, unless it or its function has
/// other uses that need its shape.
Sharding SeedWriter::restParameter(FunctionOpInterface func,
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
  if (!layout || llvm::any_of(parameter.getUsers(), handsOn) ||
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
    if (dist::getSharding(arg))
      continue;
    if (isParameter && strategy.zero == 3 && !isTrained)
      seed = restParameter(func, arg, seed);
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
        "nn.dims but got none");
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
        "nn.dims but got none");
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

/// The module's mesh, or a new one with these axes.
static FailureOr<dist::MeshOp> getOrCreateMesh(ModuleOp module,
                                               const Mesh &mesh) {
  auto attr = dist::MeshAttr::get(module.getContext(), mesh);
  auto meshes = module.getOps<dist::MeshOp>();
  if (!meshes.empty()) {
    dist::MeshOp existing = *meshes.begin();
    if (existing.getMesh() == attr)
      return existing;
    return existing->emitError() << "expects the mesh of the strategy, " << attr
                                 << ", but got " << existing.getMesh();
  }
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  return dist::MeshOp::create(builder, module.getLoc(), "mesh", attr);
}

namespace {

struct ApplyStrategyPass
    : tessera::impl::ApplyStrategyPassBase<ApplyStrategyPass> {
  using ApplyStrategyPassBase::ApplyStrategyPassBase;
  explicit ApplyStrategyPass(const GivenLayout &layout)
      : givenMesh(layout.mesh), givenStrategy(layout.strategy) {}

  /// Reads the options of a command line if the constructor got none.
  LogicalResult readOptions() {
    auto fail = [&](llvm::Error error) {
      return getOperation().emitError(llvm::toString(std::move(error)));
    };
    if (!givenStrategy) {
      llvm::Expected<Strategy> parsed = parseStrategy(strategy);
      if (!parsed)
        return fail(parsed.takeError());
      givenStrategy = *parsed;
    }
    if (mesh.empty())
      return success();
    llvm::Expected<Mesh> parsed = parseMesh(mesh);
    if (!parsed)
      return fail(parsed.takeError());
    givenMesh = std::move(*parsed);
    return success();
  }

  LogicalResult apply() {
    ModuleOp module = getOperation();
    if (failed(readOptions()))
      return failure();
    const Strategy &plan = *givenStrategy;
    if (!plan.isNone() && !plan.isSearched &&
        module->hasAttr(dist::DistDialect::kDecisionsAttr))
      return module.emitError("expects a strategy or the program's "
                              "dist.decisions but got both");
    if (!givenMesh && module.getOps<dist::MeshOp>().empty())
      return module.emitError() << "strategy '" << print(plan)
                                << "' expects a mesh, given as mesh=dp=2,tp=2 "
                                   "or as a dist.mesh in the program";
    if (givenMesh && plan.pp)
      givenMesh->stageAxis = givenMesh->find("pp");
    FailureOr<dist::MeshOp> meshOp = givenMesh
                                         ? getOrCreateMesh(module, *givenMesh)
                                         : dist::getOnlyMesh(module);
    if (failed(meshOp))
      return failure();
    Mesh plain = meshOp->getMesh().toMesh();
    if (llvm::Error error = checkStrategy(plan, plain))
      return module.emitError(llvm::toString(std::move(error)));
    if (plan.pp && !plain.stageAxis)
      return module.emitError("strategy 'pp' expects a mesh with stage \"pp\" "
                              "but got ")
             << meshOp->getMesh();
    if (plan.isUnseeded() && (plan.isSearched || !plan.pp))
      return success();

    auto attr =
        module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr);
    bool isTrained = attr && !attr.getPlan().forward;
    if (plan.pp && !attr)
      return module.emitError(
          "strategy 'pp' expects a program of micro-batches "
          "but got one without dist.plan");
    SeedWriter writer(plan, plain,
                      FlatSymbolRefAttr::get(meshOp->getSymNameAttr()),
                      isTrained);
    for (auto func : module.getOps<FunctionOpInterface>())
      if (!func.isExternal())
        writer.seedFunction(func);
    if (llvm::Error error = writer.checkFound())
      return module.emitError(llvm::toString(std::move(error)));
    if (DictionaryAttr context = writer.getContext())
      module->setAttr(dist::DistDialect::kContextAttr, context);
    if (DictionaryAttr experts = writer.getExperts())
      module->setAttr(dist::DistDialect::kExpertsAttr, experts);
    if (isTrained && plan.zero > 0 && plan.hasOwnAxes())
      module->setAttr(
          dist::DistDialect::kStateAxesAttr,
          dist::AxesAttr::get(&getContext(), plain, getStateAxes(plan, plain)));
    if (plan.pp && plain.sizes[*plain.stageAxis] == 1)
      remark::analysis(
          module.getLoc(),
          remark::RemarkOpts::name("OneStage").category("strategy"))
          << remark::add("pp splits nothing: its axis has size 1");
    if (!isTrained && (plan.zero == 1 || plan.zero == 2))
      remark::analysis(
          module.getLoc(),
          remark::RemarkOpts::name("NothingToSeed").category("strategy"))
          << remark::add("zero={0} shards training state, of which a forward "
                         "program has none: it seeds nothing",
                         plan.zero);
    return success();
  }

  void runOnOperation() override {
    if (failed(apply()))
      signalPassFailure();
  }

  std::optional<Mesh> givenMesh;
  std::optional<Strategy> givenStrategy;
};

} // namespace

std::unique_ptr<Pass>
tessera::createApplyStrategyPass(const GivenLayout &layout) {
  return std::make_unique<ApplyStrategyPass>(layout);
}
