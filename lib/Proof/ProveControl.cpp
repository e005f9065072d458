//===- ProveControl.cpp - Loops, branches, sends and receives -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop or branch of the local program matches one of the reference and runs
// equally often on all devices: its bounds or its condition are the same
// scalar. Values that a loop carries have the same sharding before each
// iteration.
//
//===----------------------------------------------------------------------===//

#include "PartitionProver.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// States that meet
//===----------------------------------------------------------------------===//

namespace {
/// How the meet of two states relates to the first of them.
enum class Meet { Same, Weaker, None };
} // namespace

/// Reduces `mine` to the facts that hold along one dimension of both values.
static Meet meetDims(DimState &mine, const DimState &other) {
  Meet how = Meet::Same;
  if (mine.uniform && !other.uniform) {
    // Any block of a uniform value equals this one.
    mine.uniform = false;
    mine.placement = other.placement;
    how = Meet::Weaker;
  } else if (!other.uniform && mine.placement != other.placement) {
    return Meet::None;
  }
  if (mine.padding != other.padding && mine.padding != PadContent::Any) {
    mine.padding = PadContent::Any;
    how = Meet::Weaker;
  }
  return how;
}

/// Reduces `mine` to the facts that hold for both values, except their numbers.
static Meet meetStates(ShardState &mine, const ShardState &other) {
  bool isSame = mine.dims.size() == other.dims.size() &&
                mine.unreduced == other.unreduced &&
                (!mine.isPartial() || mine.reduction == other.reduction) &&
                mine.share == other.share;
  if (!isSame)
    return Meet::None;
  Meet all = Meet::Same;
  if (mine.numbers && (!other.numbers || *mine.numbers != *other.numbers)) {
    mine.numbers = nullptr;
    all = Meet::Weaker;
  }
  for (auto [dim, theirs] : llvm::zip(mine.dims, other.dims)) {
    Meet how = meetDims(dim, theirs);
    if (how == Meet::None)
      return how;
    if (how == Meet::Weaker)
      all = how;
  }
  return all;
}

/// True if all devices have the same number.
static bool isCommon(const ShardState &state) {
  if (state.isPartial() || state.share != 1)
    return false;
  if (state.numbers)
    return llvm::all_equal(*state.numbers);
  return state.value >= 0;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The state of a yielded value, if it is the one that the reference yields and
/// has the same end.
std::optional<ShardState>
PartitionProver::findYielded(Operation *yield, unsigned i, Operation *target) {
  const ShardState *found = states.findWithEnds(yield->getOperand(i));
  if (!found || (!target && found->value < 0)) {
    giveUp(yield, "an operand of unknown origin");
    return std::nullopt;
  }
  Value wanted = target ? target->getOperand(i) : Value();
  if (wanted && found->value != reference.lookup(wanted)) {
    verdict.reference = wanted.getLoc();
    refute(yield,
           "operand " + Twine(i) + " is another value than in the reference");
    return std::nullopt;
  }
  ShardState state = *found;
  if (!closeEnds(yield, state, wanted ? wanted.getType() : Type(),
                 "operand " + Twine(i)))
    return std::nullopt;
  return state;
}

/// Visits a loop whose carried values have states `carried` before the first
/// iteration; finds the states that hold before each iteration.
bool PartitionProver::visitForFrom(scf::ForOp op, scf::ForOp target,
                                   SmallVector<ShardState> carried) {
  auto numberOf = [&](Value mine, Value theirs, Type type) {
    return target ? reference.lookup(theirs)
                  : reference.addValue(type, mine.getLoc());
  };
  SmallVector<Type> types;
  for (const ShardState &state : carried)
    types.push_back(reference.getValue(state.value).type);
  // Each round but the last weakens the states of the round before.
  for (bool again = true; again;) {
    again = false;
    ShardState counter;
    counter.value = numberOf(op.getInductionVar(),
                             target ? target.getInductionVar() : Value(),
                             op.getInductionVar().getType());
    setState(op.getInductionVar(), counter);
    for (auto [i, arg] : llvm::enumerate(op.getRegionIterArgs())) {
      carried[i].value = numberOf(
          arg, target ? Value(target.getRegionIterArg(i)) : Value(), types[i]);
      setState(arg, carried[i]);
    }
    if (!visitBlock(*op.getBody()))
      return false;
    Operation *yield = op.getBody()->getTerminator();
    for (unsigned i = 0; i < carried.size(); ++i) {
      std::optional<ShardState> found = findYielded(
          yield, i, target ? target.getBody()->getTerminator() : nullptr);
      if (!found)
        return false;
      if (!target && reference.getValue(found->value).type != types[i])
        return refute(yield, "operand " + Twine(i) +
                                 " is of another global type than what the "
                                 "loop begins with");
      Meet how = meetStates(carried[i], *found);
      if (how == Meet::None)
        return refute(yield, "operand " + Twine(i) +
                                 " is not sharded as what the loop "
                                 "begins with");
      again |= how == Meet::Weaker;
    }
  }
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    carried[i].value = numberOf(
        result, target ? Value(target.getResult(i)) : Value(), types[i]);
    setState(result, carried[i]);
  }
  return true;
}

/// The neutral element of a reduction is partial and whole at once. If the
/// loop's result is reduced next, assumes that such an initial value is partial
/// likewise.
bool PartitionProver::guessPartial(scf::ForOp op,
                                   SmallVectorImpl<ShardState> &carried) {
  bool any = false;
  const Mesh &mesh = placements.getMesh();
  for (auto [i, state] : llvm::enumerate(carried)) {
    if (!op.getResult(i).hasOneUse() || state.isPartial() || state.share != 1 ||
        state.value < 0)
      continue;
    const ConstantValue &constant = reference.getValue(state.value).constant;
    Operation *user = *op.getResult(i).user_begin();
    std::optional<::tessera::ReductionKind> kind;
    AxisList axes;
    if (auto reduce = dyn_cast<dist::AllReduceOp>(user)) {
      kind = dist::toPlain(reduce.getKind());
      axes = reduce.getAxes().toAxes(mesh);
    } else if (auto scatter = dyn_cast<dist::ReduceScatterOp>(user)) {
      kind = dist::toPlain(scatter.getKind());
      axes = scatter.getAxes().toAxes(mesh);
    }
    if (!kind || !constant.isSplat)
      continue;
    Type element = getElementTypeOrSelf(op.getResult(i).getType());
    if (constant.value != getNeutralElement(element, *kind))
      continue;
    state.unreduced = normalizeAxes(mesh, axes);
    state.reduction = *kind;
    any = true;
  }
  return any;
}

bool PartitionProver::visitForAs(scf::ForOp op, scf::ForOp target) {
  SmallVector<ShardState> carried;
  for (auto [i, init] : llvm::enumerate(op.getInitArgs())) {
    carried.push_back(states.getWithEnds(init));
    Type type = target ? target.getInitArgs()[i].getType() : Type();
    if (!closeEnds(op, carried.back(), type, "initial value " + Twine(i)))
      return false;
  }
  SmallVector<ShardState> guessed = carried;
  if (guessPartial(op, guessed)) {
    PartitionVerdict before = verdict;
    std::optional<PartitionVerdict> doubtBefore = doubt;
    if (visitForFrom(op, target, guessed))
      return true;
    verdict = before;
    doubt = doubtBefore;
  }
  return visitForFrom(op, target, carried);
}

bool PartitionProver::visitFor(scf::ForOp op) {
  for (Value bound : {op.getLowerBound(), op.getUpperBound(), op.getStep()})
    if (!isCommon(states.get(bound)))
      return giveUp(op, "a bound that is not known to be the same on all "
                        "devices");
  for (Value init : op.getInitArgs())
    if (states.getNumber(init) < 0)
      return giveUp(op, "its initial value is unknown");
  if (!global)
    return visitForAs(op, nullptr);
  return visitAsSome(op, [&](Operation *target) {
    return visitForAs(op, cast<scf::ForOp>(target));
  });
}

/// Tries the ops of the reference with the name and operands of `op`, in order.
/// A match with an op around it would confuse the values of two iterations.
bool PartitionProver::visitAsSome(Operation *op,
                                  llvm::function_ref<bool(Operation *)> visit) {
  SmallVector<int, 4> numbers;
  for (Value operand : op->getOperands())
    numbers.push_back(states.getNumber(operand));
  std::optional<PartitionVerdict> first, doubtBefore = doubt;
  auto note = [&](Operation *target) {
    if (first)
      return;
    first = verdict;
    if (!first->reference)
      first->reference = target->getLoc();
  };
  for (unsigned index :
       reference.find(op->getName(), op->getOperands(), numbers)) {
    const ReferenceOp &candidate = reference.getOp(index);
    Operation *target = candidate.op;
    if (target->getName() != op->getName() ||
        target->getNumResults() != op->getNumResults())
      continue;
    verdict = PartitionVerdict();
    doubt = doubtBefore;
    // Compares bounds too, although they are of type index.
    auto [mine, theirs] = std::mismatch(numbers.begin(), numbers.end(),
                                        candidate.operands.begin());
    if (mine != numbers.end()) {
      refute(op, "operand " + Twine(mine - numbers.begin()) +
                     " is another value than in the reference");
      note(target);
      continue;
    }
    if (!active.insert(target).second) {
      giveUp(op, "it stands within what it would have to be");
      note(target);
      continue;
    }
    llvm::scope_exit leave([&] { active.erase(target); });
    if (visit(target))
      return true;
    note(target);
  }
  if (!first)
    return explainUnknownOp(op, numbers);
  verdict = *first;
  return false;
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// Visits both branches; a result must have the same blocks after either
/// branch.
bool PartitionProver::visitIfAs(scf::IfOp op, scf::IfOp target) {
  if (target && target.getElseRegion().empty() != op.getElseRegion().empty())
    return giveUp(op, "the reference has other branches");
  SmallVector<ShardState> results;
  for (auto [r, region] : llvm::enumerate(op->getRegions())) {
    if (region.empty())
      continue;
    if (!visitBlock(region.front()))
      return false;
    Operation *yield = region.front().getTerminator();
    Operation *wanted =
        target ? target->getRegion(r).front().getTerminator() : nullptr;
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      std::optional<ShardState> found = findYielded(yield, i, wanted);
      if (!found)
        return false;
      if (r == 0) {
        results.push_back(*found);
        continue;
      }
      if (!target && reference.getValue(found->value).type !=
                         reference.getValue(results[i].value).type)
        return refute(yield, "operand " + Twine(i) +
                                 " is of another global type than in the "
                                 "other branch");
      if (meetStates(results[i], *found) == Meet::None)
        return refute(yield, "operand " + Twine(i) +
                                 " is not sharded as in the other "
                                 "branch");
    }
  }
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    ShardState &state = results[i];
    state.value = target
                      ? reference.lookup(target.getResult(i))
                      : reference.addValue(reference.getValue(state.value).type,
                                           op.getLoc());
    // The scalar is one of two numbers, by a condition that is unknown here.
    state.numbers = nullptr;
    setState(result, state);
  }
  return true;
}

bool PartitionProver::visitIf(scf::IfOp op) {
  if (!isCommon(states.get(op.getCondition())))
    return giveUp(op, "a condition that is not known to be the same on all "
                      "devices");
  if (!global)
    return visitIfAs(op, nullptr);
  return visitAsSome(op, [&](Operation *target) {
    return visitIfAs(op, cast<scf::IfOp>(target));
  });
}

//===----------------------------------------------------------------------===//
// Sends and receives
//===----------------------------------------------------------------------===//

/// The pair of devices of a message, and its tag.
template <typename Op> static PartitionProver::MessageKey keyOf(Op op) {
  return {op.getAxis().str(), static_cast<int64_t>(op.getFrom()),
          static_cast<int64_t>(op.getTo()), static_cast<int64_t>(op.getTag())};
}

bool PartitionProver::visitSend(dist::SendOp op) {
  if (op->getParentOp() != local)
    return giveUp(op, "a send in a region, which may run any number of times");
  mail[keyOf(op)].push_back(op.getInput());
  return true;
}

/// One device of each group holds the sender's block and the others hold zeros:
/// a partial sum over the axis, which is the sender's block on all of them.
bool PartitionProver::visitRecv(dist::RecvOp op) {
  if (op->getParentOp() != local)
    return giveUp(op,
                  "a receive in a region, which may run any number of times");
  std::deque<Value> &pending = mail[keyOf(op)];
  if (pending.empty())
    return refute(op, "no send of these coordinates and tag comes before it");
  Value sent = pending.front();
  pending.pop_front();
  if (sent.getType() != op.getType())
    return refute(op, "its type is not that of the value sent");
  const Mesh &mesh = placements.getMesh();
  std::optional<unsigned> axis = mesh.find(op.getAxis());
  if (!axis)
    return giveUp(op, "an axis that the mesh lacks");
  AxisList axes{mesh.fullAxis(*axis)};
  ShardState state = states.getWithEnds(sent);
  bool isSum = state.reduction == ::tessera::ReductionKind::Sum;
  if (state.share != 1 || (state.isPartial() && !isSum) ||
      overlapsAny(state.unreduced, axes))
    return giveUp(op, "the value sent is itself partial");
  const AxisGroups &groups = placements.getGroups(axes);
  std::vector<int32_t> sources(placements.getNumDevices());
  for (size_t begin = 0; begin < groups.members.size(); begin += groups.size)
    for (int64_t i = 0; i < groups.size; ++i)
      sources[groups.members[begin + i]] =
          groups.members[begin + static_cast<int64_t>(op.getFrom())];
  for (DimState &dim : state.dims) {
    if (!dim.uniform)
      dim.placement = placements.permute(dim.placement, sources, axes);
    if (dim.padding != PadContent::Zero)
      dim.padding = PadContent::Any;
  }
  axes.append(state.unreduced);
  state.unreduced = normalizeAxes(mesh, axes);
  state.reduction = ::tessera::ReductionKind::Sum;
  setState(op.getResult(), std::move(state));
  return true;
}
