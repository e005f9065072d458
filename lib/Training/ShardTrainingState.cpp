//===- ShardTrainingState.cpp - ZeRO as shardings of stored state ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateSharding.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "tessera/Training/DecisionFile.h"
#include "tessera/Training/Passes.h"
#include "llvm/ADT/StringMap.h"

namespace tessera {
#define GEN_PASS_DEF_SHARDTRAININGSTATEPASS
#include "tessera/Training/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using nn::NNDialect;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

namespace {

/// Gathers per micro-batch of a parameter that is stored sharded: one in
/// forward, one in backward.
constexpr unsigned kGathers = 2;

class StateSharder {
public:
  StateSharder(FunctionOpInterface func, const Plan &plan, dist::MeshOp mesh,
               bool freeState)
      : func(func), plan(plan), freeState(freeState),
        mesh(mesh.getMesh().toMesh()),
        symbol(FlatSymbolRefAttr::get(mesh.getSymNameAttr())),
        stateAxes(getStateAxes(func->getParentOfType<ModuleOp>(), this->mesh)) {
  }

  void run();

private:
  StringRef getName(unsigned argument, StringRef attr) {
    auto name = func.getArgAttrOfType<StringAttr>(argument, attr);
    return name ? name.getValue() : StringRef();
  }
  dist::ShardingAttr toAttr(const Sharding &sharding) const {
    return dist::ShardingAttr::get(symbol, mesh, sharding);
  }
  dist::ShardingAttr getRest(BlockArgument argument,
                             dist::ShardingAttr inUse) const;
  void seed(BlockArgument argument);
  void constrainUses(Value parameter, dist::ShardingAttr inUse);
  void seedGradients();
  void tieDonated();

  FunctionOpInterface func;
  const Plan &plan;
  bool freeState;
  Mesh mesh;
  FlatSymbolRefAttr symbol;
  AxisList stateAxes;
  /// Parameters by name, and the sharding of each in use (null if propagation
  /// chooses it).
  llvm::StringMap<BlockArgument> parameters;
  llvm::StringMap<dist::ShardingAttr> usedAs;
  SmallVector<dist::ShardingAttr> seeds;
};

} // namespace

/// Adds the axes of state where they divide; null without a seed to start from.
/// Tensors that they do not divide have got another shape before (FlatState.h)
/// if there is one: the model's dimensions are not padded for its state.
dist::ShardingAttr StateSharder::getRest(BlockArgument argument,
                                         dist::ShardingAttr inUse) const {
  if (!inUse)
    return inUse;
  Sharding rest = inUse.toSharding(mesh);
  AxisList axes = dropUsed(stateAxes, rest.dimAxes());
  Sharding before = rest;
  if (axes.empty() || !shardEvenly(axes, rest, getShape(argument)))
    return inUse;
  for (auto [was, dim] : llvm::zip(before.dims, rest.dims))
    if (dim.axes != was.axes)
      dim.priority = kStatePriority;
  return toAttr(rest);
}

/// The first user in a micro-batch gathers the parameter for itself; the gather
/// for the second user serves all later ones.
void StateSharder::constrainUses(Value parameter, dist::ShardingAttr inUse) {
  SmallVector<Operation *> users;
  for (Operation *user : parameter.getUsers())
    if (isa<dist::AccumulateOp>(user->getParentOp()) &&
        !llvm::is_contained(users, user))
      users.push_back(user);
  llvm::sort(users,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  dist::ConstraintOp gathered;
  for (auto [i, user] : llvm::enumerate(users)) {
    if (i < kGathers) {
      OpBuilder builder(user);
      gathered =
          dist::ConstraintOp::create(builder, user->getLoc(), parameter, inUse);
    }
    user->replaceUsesOfWith(parameter, gathered);
  }
}

void StateSharder::seed(BlockArgument argument) {
  unsigned i = argument.getArgNumber();
  dist::ShardingAttr &seed = seeds.emplace_back();
  if (StringRef name = getName(i, NNDialect::kParamAttr); !name.empty()) {
    dist::ShardingAttr inUse = usedAs.lookup(name);
    if (plan.zero < 3)
      return;
    seed = getRest(argument, inUse);
    if (seed == inUse)
      return;
    constrainUses(argument, inUse);
    // A parameter that is quantized where it is stored is gathered in 8 bits.
    for (Operation *user : argument.getUsers())
      if (auto quantized = dyn_cast<nn::QuantizeOp>(user))
        constrainUses(quantized.getResult(), inUse);
    return;
  }
  if (getName(i, NNDialect::kStateAttr).empty() || dist::getSharding(argument))
    return;
  StringRef of = getName(i, NNDialect::kOfAttr);
  if (of.empty()) {
    seed = toAttr(Sharding::replicatedOf(
        cast<RankedTensorType>(argument.getType()).getRank()));
    return;
  }
  seed = usedAs.lookup(of);
  if (plan.zero >= 1)
    seed = getRest(argument, seed);
}

/// A sum that an op uses together with a parameter or its state is the
/// parameter's gradient. Shards it at least like the parameter in use:
/// propagation from the state would reach it too late.
void StateSharder::seedGradients() {
  for (BlockArgument argument : func.getArguments()) {
    unsigned i = argument.getArgNumber();
    StringRef name = getName(i, NNDialect::kOfAttr);
    if (name.empty())
      name = getName(i, NNDialect::kParamAttr);
    dist::ShardingAttr inUse = usedAs.lookup(name);
    if (!inUse)
      continue;
    Sharding open = inUse.toSharding(mesh);
    for (DimSharding &dim : open.dims)
      dim.open = true;
    for (Operation *user : argument.getUsers())
      for (Value operand : user->getOperands())
        if (operand.getDefiningOp<dist::AccumulateOp>() &&
            getShape(operand) == getShape(argument) &&
            !dist::getSharding(operand))
          dist::setSharding(operand, toAttr(open));
  }
}

/// Gives a donated argument and the result that replaces it one sharding. State
/// without a seed takes the sharding of its parameter.
void StateSharder::tieDonated() {
  Operation *terminator = func.getFunctionBody().front().getTerminator();
  OpBuilder builder(terminator);
  for (BlockArgument argument : func.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto donated =
        func.getArgAttrOfType<IntegerAttr>(i, dist::DistDialect::kDonateAttr);
    if (!donated)
      continue;
    SmallVector<Value> tied{argument, terminator->getOperand(donated.getInt())};
    BlockArgument parameter = parameters.lookup(getName(i, NNDialect::kOfAttr));
    if (parameter && !freeState && !dist::getSharding(argument))
      tied.push_back(parameter);
    if (tied.size() > 2 || tied[0] != tied[1])
      dist::GroupOp::create(builder, func.getLoc(), tied);
  }
}

void StateSharder::run() {
  for (BlockArgument argument : func.getArguments())
    if (StringRef name =
            getName(argument.getArgNumber(), NNDialect::kParamAttr);
        !name.empty()) {
      parameters[name] = argument;
      usedAs[name] = dist::getSharding(argument);
    }
  for (BlockArgument argument : func.getArguments())
    seed(argument);
  dist::setFunctionShardings(func, seeds);
  seedGradients();
  tieDonated();
}

namespace {
struct ShardTrainingStatePass
    : tessera::impl::ShardTrainingStatePassBase<ShardTrainingStatePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto plan =
        module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr);
    if (!plan || module.getOps<dist::MeshOp>().empty())
      return;
    FailureOr<dist::MeshOp> mesh = dist::getOnlyMesh(module);
    FailureOr<bool> freeState = isSearched(module);
    if (failed(mesh) || failed(freeState))
      return signalPassFailure();
    for (auto func : module.getOps<FunctionOpInterface>()) {
      bool isStep = false;
      for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
        isStep |= bool(func.getArgAttr(i, NNDialect::kStateAttr));
      if (isStep && !func.isExternal() &&
          !func->hasAttr(dist::DistDialect::kLocalAttr))
        StateSharder(func, plan.getPlan(), *mesh, *freeState).run();
    }
    module->removeAttr(dist::DistDialect::kStateAxesAttr);
  }
};
} // namespace
