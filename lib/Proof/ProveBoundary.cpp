//===- ProveBoundary.cpp - Arguments and results of a local function ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Callers and the runtime rely on the declarations of a local function: how its
// arguments and results are sharded, over which axes they are partial, which
// results replace which arguments, and their names.
//
//===----------------------------------------------------------------------===//

#include "PartitionProver.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// What is declared
//===----------------------------------------------------------------------===//

/// True for attributes that name the purpose of an argument or a result.
static bool isName(StringAttr name) {
  return name.strref().starts_with("nn.") && name != nn::NNDialect::kDimsAttr;
}

/// A donation or a name that differs between the two; null if there is none. A
/// local function may omit all names.
static StringAttr findOtherRole(DictionaryAttr mine, DictionaryAttr theirs) {
  auto isNamed = [](NamedAttribute attr) { return isName(attr.getName()); };
  bool hasNames = mine && llvm::any_of(mine, isNamed);
  for (auto [a, b] : {std::pair{mine, theirs}, std::pair{theirs, mine}}) {
    if (!a)
      continue;
    for (NamedAttribute attr : a) {
      StringAttr name = attr.getName();
      bool counts =
          name == dist::DistDialect::kDonateAttr || (hasNames && isName(name));
      if (counts && (!b || b.get(name) != attr.getValue()))
        return name;
    }
  }
  return {};
}

static std::string print(DictionaryAttr dictionary, StringAttr name) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (Attribute value = dictionary ? dictionary.get(name) : Attribute())
    os << value;
  else
    os << "none";
  return text;
}

/// Checks that an argument or a result is declared as in the reference: with
/// the same purpose, and partial over the same axes if the reference declares
/// any.
bool PartitionProver::checkDeclared(Operation *where, DictionaryAttr mine,
                                    DictionaryAttr theirs,
                                    const ShardState &state,
                                    const Twine &name) {
  if (StringAttr role = findOtherRole(mine, theirs))
    return refute(where, name + " has " + print(mine, role) + " as " +
                             role.getValue() + " but in the reference " +
                             print(theirs, role));
  auto sharding =
      theirs
          ? theirs.getAs<dist::ShardingAttr>(dist::DistDialect::kShardingAttr)
          : dist::ShardingAttr();
  if (!sharding)
    return true;
  const Mesh &mesh = placements.getMesh();
  auto wanted =
      dist::AxesAttr::get(sharding.getContext(), sharding.getUnreduced());
  bool isKnown = llvm::all_of(wanted.getRefs(), [&](dist::AxisRefAttr axis) {
    return mesh.find(axis.getName());
  });
  if (!isKnown)
    return refute(where, name + " is partial over axes of another mesh in the "
                                "reference");
  // Axes of size 1 do not make a value partial.
  auto withoutOnes = [](AxisList list) {
    llvm::erase_if(list, [](const AxisRef &ref) { return ref.size == 1; });
    return list;
  };
  AxisList axes = withoutOnes(normalizeAxes(mesh, wanted.toAxes(mesh)));
  if (axes != withoutOnes(state.unreduced))
    return refute(where, name + " is declared partial over " +
                             printAxes(mesh, state.unreduced) +
                             " but in the reference over " +
                             printAxes(mesh, axes));
  if (!axes.empty() &&
      dist::toPlain(sharding.getReduction()) != state.reduction)
    return refute(
        where, name + " is declared partial by " +
                   stringifyReduction(state.reduction) +
                   ", in the reference by " +
                   stringifyReduction(dist::toPlain(sharding.getReduction())));
  return true;
}

/// Reads the state that a sharding describes, and the true shape.
bool PartitionProver::readBoundary(Operation *where, Type type,
                                   dist::ShardingAttr attr, Attribute shape,
                                   ShardState &state,
                                   SmallVectorImpl<int64_t> &trueShape,
                                   const Twine &name) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return true;
  Sharding sharding = attr ? attr.toSharding(placements.getMesh())
                           : Sharding::replicatedOf(tensor.getRank());
  auto sizes = dyn_cast_or_null<DenseI64ArrayAttr>(shape);
  if (sharding.rank() != tensor.getRank() ||
      (sizes && sizes.size() != tensor.getRank()))
    return refute(where, name +
                             " has a sharding or true shape of another rank "
                             "than " +
                             Twine(tensor.getRank()));
  for (auto [dim, s] : llvm::enumerate(sharding.dims)) {
    DimState &mine = state.dims.emplace_back();
    mine.placement = placements.get(s.axes);
    mine.padding = PadContent::Zero;
    int64_t held = tensor.getDimSize(dim) * numShards(s.axes);
    trueShape.push_back(sizes ? sizes[dim] : held);
    if (trueShape.back() > held)
      return refute(where, name + " has " + Twine(held) +
                               " elements on all devices in dimension " +
                               Twine(dim) + " but " + Twine(trueShape.back()) +
                               " are needed");
  }
  state.unreduced = normalizeAxes(placements.getMesh(), sharding.unreduced);
  state.reduction = sharding.reduction;
  // Devices without a term of a maximum hold its neutral element everywhere.
  if (state.isPartial() && state.reduction != ::tessera::ReductionKind::Sum)
    for (DimState &dim : state.dims)
      dim.padding = PadContent::Any;
  return true;
}

bool PartitionProver::setArguments() {
  if (global && global.getNumArguments() != local.getNumArguments())
    return refute(local, "it has " + Twine(local.getNumArguments()) +
                             " arguments but the reference has " +
                             Twine(global.getNumArguments()));
  for (BlockArgument arg : local.getArguments()) {
    unsigned i = arg.getArgNumber();
    ShardState state;
    SmallVector<int64_t> shape;
    if (!readBoundary(local, arg.getType(), dist::getSharding(arg),
                      local.getArgAttr(i, dist::DistDialect::kGlobalShapeAttr),
                      state, shape, "argument " + Twine(i)))
      return false;
    auto tensor = dyn_cast<RankedTensorType>(arg.getType());
    Type type = tensor ? Type(tensor.clone(shape)) : arg.getType();
    if (!global) {
      state.value = reference.addValue(type, arg.getLoc());
    } else {
      if (global.getArgument(i).getType() != type)
        return refute(local, "argument " + Twine(i) +
                                 " is of another global type than in the "
                                 "reference");
      state.value = reference.lookup(global.getArgument(i));
      if (!checkDeclared(local, local.getArgAttrDict(i),
                         global.getArgAttrDict(i), state,
                         "argument " + Twine(i)))
        return false;
    }
    setState(arg, std::move(state));
  }
  return true;
}

/// Checks that an ended value ends where a tensor of `type` does, its type at
/// this use in the reference: the use then determines the length. A null type
/// determines none.
bool PartitionProver::closeEnds(Operation *op, ShardState &state, Type type,
                                const Twine &name) {
  if (std::optional<unsigned> other = findOtherEnd(state, type)) {
    std::string text =
        (name + ", dimension " + Twine(*other) + ", is masked from element " +
         Twine(state.dims[*other].trueSize) + " on")
            .str();
    if (!type)
      return giveUp(op, text + ", and nothing says how long it is");
    int64_t size = cast<RankedTensorType>(type).getDimSize(*other);
    return refute(op, text + " but its true size is " + Twine(size));
  }
  for (DimState &dim : state.dims)
    dim.trueSize = -1;
  return true;
}

/// Checks that a value is sharded as a boundary declares.
bool PartitionProver::checkPlace(Operation *op, const ShardState &got,
                                 const ShardState &needed, const Twine &name) {
  if (got.value >= 0 && reference.getValue(got.value).isEmpty)
    return true;
  const Mesh &mesh = placements.getMesh();
  // Equal shares are shares over any additional axes with as many devices.
  AxisList axes = got.unreduced;
  bool isZero = got.value >= 0 && reference.getValue(got.value).isZero;
  bool isSum =
      needed.reduction == ::tessera::ReductionKind::Sum &&
      (!got.isPartial() || got.reduction == ::tessera::ReductionKind::Sum);
  if (got.share != 1 && isSum)
    if (std::optional<AxisList> others =
            subtractAxes(needed.unreduced, got.unreduced);
        others && numShards(*others) == got.share)
      axes = needed.unreduced;
  // Zeros are terms over any axes.
  if (got.share == 1 && isSum && isZero &&
      subtractAxes(needed.unreduced, got.unreduced))
    axes = needed.unreduced;
  if (axes != needed.unreduced || (got.share != 1 && axes == got.unreduced)) {
    if (got.share != 1)
      return refute(op, name + " is one of " + Twine(got.share) +
                            " parts that are still to be summed");
    return refute(
        op, name + " is to be reduced over " + printAxes(mesh, got.unreduced) +
                " but its sharding says " + printAxes(mesh, needed.unreduced));
  }
  if (got.isPartial() && got.reduction != needed.reduction)
    return refute(op, name + " is to be reduced by another reduction");
  for (auto [dim, a, b] : llvm::enumerate(got.dims, needed.dims))
    if (!a.uniform && a.placement != b.placement)
      return refute(
          op, name + ", dimension " + Twine(dim) + ": " +
                  explainDifference(placements, a.placement, b.placement));
  return true;
}

/// Checks that a value passed to an argument has zeros in its padding where the
/// argument is assumed to have them.
bool PartitionProver::checkZeroPadding(Operation *op, Type type,
                                       const ShardState &got,
                                       const ShardState &needed,
                                       ArrayRef<int64_t> trueShape,
                                       const Twine &name) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return true;
  for (auto [dim, s] : llvm::enumerate(needed.dims)) {
    int64_t held = tensor.getDimSize(dim) * placements.getCount(s.placement);
    const DimState &mine = got.dims[dim];
    bool isPadded = trueShape[dim] < held && s.padding == PadContent::Zero;
    if (isPadded && (mine.uniform || mine.padding != PadContent::Zero))
      return refute(op, name +
                            " is not known to have zeros in the padding of "
                            "dimension " +
                            Twine(dim));
  }
  return true;
}

bool PartitionProver::checkResult(Operation *terminator, unsigned i) {
  Value value = terminator->getOperand(i);
  ShardState got = states.getWithEnds(value);
  ShardState needed;
  SmallVector<int64_t> shape;
  std::string name = ("result " + Twine(i)).str();
  if (!readBoundary(terminator, value.getType(),
                    dist::getResultSharding(local, i),
                    local.getResultAttr(i, dist::DistDialect::kGlobalShapeAttr),
                    needed, shape, name))
    return false;
  if (global) {
    Value wanted =
        global.getFunctionBody().front().getTerminator()->getOperand(i);
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if ((tensor ? Type(tensor.clone(shape)) : value.getType()) !=
        wanted.getType())
      return refute(terminator, name + " is of another global type than in "
                                       "the reference");
    if (int needed = reference.lookup(wanted); got.value != needed) {
      verdict.reference = wanted.getLoc();
      return refuteValue(terminator,
                         name + " is another value than in the reference",
                         got.value, needed);
    }
    if (!checkDeclared(terminator, local.getResultAttrDict(i),
                       global.getResultAttrDict(i), needed, name))
      return false;
  }
  // Readers of a result ignore its padding.
  SmallVector<int64_t> numTrue = getFacts(got, value.getType()).numTrueBlocks;
  for (auto [dim, mine, theirs, count] :
       llvm::enumerate(got.dims, needed.dims, numTrue)) {
    // A value of any length is read as far as the result goes.
    int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(dim);
    if (count == GlobalFacts::kAnyLength && size)
      count = llvm::divideCeil(shape[dim], size);
    if (placements.holdsTrue(mine.placement, theirs.placement, count))
      mine.placement = theirs.placement;
  }
  if (!checkPlace(terminator, got, needed, name))
    return false;
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return !tensor || closeEnds(terminator, got, tensor.clone(shape), name);
}

bool PartitionProver::checkResults(Operation *terminator) {
  if (global && global.getNumResults() != local.getNumResults())
    return refute(local, "it has " + Twine(local.getNumResults()) +
                             " results but the reference has " +
                             Twine(global.getNumResults()));
  for (unsigned i = 0; i < terminator->getNumOperands(); ++i)
    if (!checkResult(terminator, i))
      return false;
  for (unsigned i = 0; i < local.getNumArguments(); ++i)
    if (auto result = local.getArgAttrOfType<IntegerAttr>(
            i, dist::DistDialect::kDonateAttr))
      if (!checkDonation(terminator, i, result.getInt()))
        return false;
  return true;
}

/// Checks that a result that replaces an argument is sharded like it, with
/// zeros in its padding: the next call relies on both.
bool PartitionProver::checkDonation(Operation *terminator, unsigned argument,
                                    int64_t index) {
  std::string name = ("result " + Twine(index) +
                      ", which takes the place of argument " + Twine(argument))
                         .str();
  if (index < 0 || index >= terminator->getNumOperands())
    return refute(terminator, name + ", is not there");
  Value value = terminator->getOperand(index);
  if (value.getType() != local.getArgument(argument).getType())
    return refute(terminator, name + ", is of another type");
  // The end of a result is checked with the result.
  const ShardState &got = states.getWithEnds(value);
  const ShardState &needed = states.getWithEnds(local.getArgument(argument));
  if (!checkPlace(terminator, got, needed, name))
    return false;
  auto shape = local.getArgAttrOfType<DenseI64ArrayAttr>(
      argument, dist::DistDialect::kGlobalShapeAttr);
  return !shape || checkZeroPadding(terminator, value.getType(), got, needed,
                                    shape.asArrayRef(), name + ",");
}
