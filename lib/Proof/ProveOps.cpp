//===- ProveOps.cpp - Effects of ops with a sharding rule -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartitionProver.h"
#include "ScalarNumbers.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;

bool PartitionProver::visitConstant(Operation *op,
                                    const ConstantValue &constant) {
  Value result = op->getResult(0);
  auto tensor = dyn_cast<RankedTensorType>(result.getType());
  ShardState state;
  state.value = reference.getConstant(constant, result.getType(), op->getLoc());
  if (tensor)
    state.dims.resize(tensor.getRank());
  for (DimState &dim : state.dims)
    dim.uniform = constant.isSplat;
  if (auto number = dyn_cast<IntegerAttr>(constant.value);
      number && !tensor && number.getValue().getSignificantBits() <= 64)
    state.numbers = std::make_shared<std::vector<int64_t>>(
        placements.getNumDevices(), number.getValue().getSExtValue());
  // A constant that is not a splat may have been padded.
  if (state.value >= firstForeign && tensor && !constant.isSplat)
    if (SmallVector<int, 1> padded = reference.findPadded(op);
        !padded.empty()) {
      state.value = padded.front();
      if (padded.size() > 1)
        otherReadings[state.value].insert(padded.begin() + 1, padded.end());
      for (DimState &dim : state.dims)
        dim.padding = PadContent::Zero;
    }
  setState(result, std::move(state));
  return true;
}

/// A mask after the true size changes only padding.
bool PartitionProver::visitMask(nn::MaskPaddingOp op) {
  ShardState made = states.getWithEnds(op.getX());
  DimState &dim = made.dims[op.getDim()];
  int64_t localSize = op.getType().getDimSize(op.getDim());
  int64_t maskedSize = op.getSize();
  const ShardState *offset =
      op.getOffset() ? &states.getWithEnds(op.getOffset()) : nullptr;
  if (dim.uniform) {
    // Only the offset determines the device's block.
    dim.uniform = false;
    if (offset && offset->numbers)
      dim.placement = placements.findBlocks(*offset->numbers, localSize)
                          .value_or(Placements::kWhole);
  }
  const ReferenceValue &value = reference.getValue(made.value);
  int64_t trueSize = cast<RankedTensorType>(value.type).getDimSize(op.getDim());
  if (!isOffset(placements, offset, dim.placement, localSize)) {
    // Devices without remaining elements may hold anything.
    std::optional<Placements::Id> meant;
    if (offset && offset->numbers)
      meant = placements.findBlocks(*offset->numbers, localSize);
    if (!meant || localSize == 0 ||
        !placements.holdsTrue(dim.placement, *meant,
                              llvm::divideCeil(maskedSize, localSize)))
      return refute(op, "its offset is not where each device's block begins");
    dim.placement = *meant;
  }
  // Uses of a value of any length compare its end.
  if (value.freeDims.test(op.getDim())) {
    if (dim.trueSize >= 0 && dim.trueSize < maskedSize)
      return giveUp(op, "it masks from element " + Twine(maskedSize) +
                            " on what was masked from element " +
                            Twine(dim.trueSize) + " on");
    dim.trueSize = maskedSize;
  } else if (maskedSize != trueSize) {
    return refute(op, "it masks from element " + Twine(maskedSize) +
                          " on but the true size is " + Twine(trueSize));
  }
  Type element = op.getType().getElementType();
  dim.padding = PadContent::Any;
  for (auto kind :
       {::tessera::ReductionKind::Sum, ::tessera::ReductionKind::Max,
        ::tessera::ReductionKind::Min})
    // The lowest boolean is also zero, which is the stronger fact.
    if (dim.padding == PadContent::Any &&
        op.getValue() == getNeutralElement(element, kind))
      dim.padding = getNeutralContent(kind);
  bool isPartial = made.isPartial() || made.share != 1;
  if (isPartial && op.getValue() != getNeutralElement(element, made.reduction))
    return refute(op, "the operand is still to be reduced, and the mask is not "
                      "neutral in that");
  setState(op.getResult(), std::move(made));
  return true;
}

/// Visits an op on scalars that are equal on all devices, or integers known on
/// each. Regions were compared before: here they are not in the reference.
bool PartitionProver::visitScalarOp(Operation *op, ArrayRef<int> numbers) {
  if (op->getNumRegions() != 0)
    return giveUp(op, "the reference has no such region on these values");
  std::vector<std::vector<int64_t>> operands;
  for (Value operand : op->getOperands())
    if (const auto &known = states.get(operand).numbers)
      operands.push_back(*known);
  ShardState state;
  if (operands.size() == op->getNumOperands())
    if (auto result = foldNumbers(op, operands, placements.getNumDevices()))
      state.numbers = std::make_shared<std::vector<int64_t>>(*result);
  for (unsigned index :
       reference.find(op->getName(), op->getOperands(), numbers)) {
    const ReferenceOp &target = reference.getOp(index);
    if (target.op->getName() != op->getName() ||
        ArrayRef(target.operands) != numbers ||
        !haveSameProperties(target.op, op))
      continue;
    for (auto [result, number] : llvm::zip(op->getResults(), target.results)) {
      state.value = number;
      setState(result, state);
    }
    return true;
  }
  if (state.numbers || !global) {
    for (Value result : op->getResults())
      setState(result, state);
    return true;
  }
  return explainUnknownOp(op, numbers);
}

/// For an op on one value that the reference also has: an op of that name in
/// the reference, on another value of the type. It must be the only one, or the
/// program must have as many ops of the name as the reference, so that this op
/// stands for one of them. Null if there is none.
const ReferenceOp *
PartitionProver::findOfAnotherValue(Operation *op,
                                    ArrayRef<int> numbers) const {
  if (numbers.size() != 1 || numbers[0] < 0 || numbers[0] >= firstForeign)
    return nullptr;
  const ReferenceOp *found = nullptr;
  unsigned count = 0;
  for (unsigned i = 0; i < reference.getNumOps(); ++i) {
    const ReferenceOp &other = reference.getOp(i);
    if (other.op->getName() != op->getName() || other.operands.size() != 1)
      continue;
    ++count;
    if (!found && other.operands[0] >= 0 &&
        reference.getValue(other.operands[0]).type ==
            reference.getValue(numbers[0]).type)
      found = &other;
  }
  unsigned here = 0;
  op->getParentOfType<FunctionOpInterface>()->walk([&](Operation *other) {
    here += other->getName() == op->getName() && other->getNumOperands() == 1;
  });
  return count == 1 || here == count ? found : nullptr;
}

/// Explains that no op of the reference matches.
bool PartitionProver::explainUnknownOp(Operation *op, ArrayRef<int> numbers) {
  if (llvm::any_of(numbers,
                   [&](int number) { return foreign.contains(number); }))
    return explainForeignOperand(op, numbers);
  for (auto [i, number] : llvm::enumerate(numbers))
    if (number >= 0 && reference.getValue(number).constant.value)
      return refute(op, "operand " + Twine(i) +
                            " is a constant that the reference does not use "
                            "so");
  // The op of this name that shares the most operands.
  const ReferenceOp *near = nullptr;
  unsigned most = 0, wrong = 0;
  for (unsigned i = 0; i < reference.getNumOps(); ++i) {
    const ReferenceOp &other = reference.getOp(i);
    if (other.op->getName() != op->getName() ||
        other.operands.size() != numbers.size())
      continue;
    unsigned shared = 0, differs = 0;
    for (auto [k, a, b] : llvm::enumerate(numbers, other.operands)) {
      shared += a == b && a >= 0;
      differs = a == b ? differs : k;
    }
    if (shared > most) {
      most = shared;
      near = &other;
      wrong = differs;
    }
  }
  if (near) {
    verdict.reference = near->op->getLoc();
    if (most == numbers.size())
      return refute(op, "its attributes are not the reference's");
    return refute(op, "operand " + Twine(wrong) +
                          " is another value than in the reference");
  }
  if (const ReferenceOp *other = findOfAnotherValue(op, numbers)) {
    verdict.reference = other->op->getLoc();
    return refute(op, "operand 0 is another value than in the reference");
  }
  // An op that commutes with every reduction only moves elements.
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  llvm::SmallBitVector tensors(op->getNumOperands());
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    tensors[i] = isa<RankedTensorType>(operand.getType());
  bool moves = iface && tensors.any() &&
               llvm::all_of(ArrayRef({::tessera::ReductionKind::Sum,
                                      ::tessera::ReductionKind::Max,
                                      ::tessera::ReductionKind::Min}),
                            [&](auto kind) {
                              return iface.commutesWithReduction(kind, tensors);
                            });
  if (moves)
    return refute(op, "it moves elements of a value that the reference does "
                      "not move so");
  return visitUnknownOp(op, numbers);
}

/// Refutes an op on a value that the reference lacks, if it could only match
/// ops there that have the same other operands but certainly need another
/// value.
bool PartitionProver::explainForeignOperand(Operation *op,
                                            ArrayRef<int> numbers) {
  std::optional<unsigned> index;
  for (auto [i, number] : llvm::enumerate(numbers))
    if (foreign.contains(number)) {
      if (index)
        return visitUnknownOp(op, numbers);
      index = i;
    }
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    if (!ForeignValues::tellsApart(op, i))
      return visitUnknownOp(op, numbers);
  const ReferenceOp *found = nullptr;
  for (unsigned i = 0; i < reference.getNumOps(); ++i) {
    const ReferenceOp &other = reference.getOp(i);
    if (other.op->getName() != op->getName() ||
        other.operands.size() != numbers.size())
      continue;
    SmallVector<int, 4> needed(other.operands);
    int value = std::exchange(needed[*index], numbers[*index]);
    if (ArrayRef(needed) != numbers)
      continue;
    if (!foreign.explainDifference(numbers[*index], value).empty())
      found = found ? found : &other;
    else if (foreign.isRelated(numbers[*index], value))
      return visitUnknownOp(op, numbers);
  }
  if (!found)
    return visitUnknownOp(op, numbers);
  verdict.reference = found->op->getLoc();
  return refuteValue(op,
                     "operand " + Twine(*index) +
                         " is another value than in the reference",
                     numbers[*index], found->operands[*index]);
}

/// Continues after an op that the reference lacks; its results are foreign.
bool PartitionProver::visitUnknownOp(Operation *op, ArrayRef<int> numbers) {
  PartitionVerdict reason;
  reason.answer = PartitionAnswer::NotProvable;
  reason.op = op;
  reason.why = "the reference has no such op on these values";
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  bool hasTensor = llvm::any_of(op->getOperandTypes(), isTensor) ||
                   llvm::any_of(op->getResultTypes(), isTensor);
  bool isFollowed = op->getNumRegions() == 0 && !foreign.areTooMany();
  if (isFollowed && !hasTensor) {
    for (Value result : op->getResults()) {
      ShardState state;
      state.value = reference.addValue(result.getType(), op->getLoc());
      setState(result, std::move(state));
    }
  } else if (!isFollowed || !visitAlone(op)) {
    verdict = doubt ? *doubt : reason;
    return false;
  }
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    foreign.add(states.getNumber(result), op, numbers, i);
  if (!doubt) {
    doubt = reason;
    numVisitedBeforeDoubt = numVisited;
  }
  return true;
}

bool PartitionProver::visitAlone(Operation *op) {
  SmallVector<Type> types;
  Match match = matchAlone(matching, op, types);
  if (match.fit == Fit::Wrong)
    return refute(op, match.why);
  if (match.fit != Fit::Yes)
    return giveUp(op, match.why);
  for (auto [result, state, type] :
       llvm::zip(op->getResults(), match.results, types)) {
    state.value = reference.addValue(type, op->getLoc());
    setState(result, std::move(state));
  }
  return true;
}

/// The distance of the result types from shards of `target`'s: the number of
/// longer dimensions, then the number of differing ones.
static std::pair<unsigned, unsigned> getDistance(Operation *op,
                                                 Operation *target) {
  unsigned longer = 0, other = 0;
  for (auto [mine, whole] :
       llvm::zip(op->getResultTypes(), target->getResultTypes())) {
    auto part = dyn_cast<RankedTensorType>(mine);
    auto tensor = dyn_cast<RankedTensorType>(whole);
    if (!part || !tensor)
      continue;
    for (auto [a, b] : llvm::zip(part.getShape(), tensor.getShape())) {
      longer += a > b;
      other += a != b;
    }
  }
  return {longer, other};
}

/// An operand that fits several values, if the reference has an op of this name
/// on another one of them.
std::optional<unsigned>
PartitionProver::findOtherReading(Operation *op, ArrayRef<int> numbers,
                                  unsigned first) const {
  for (unsigned i = first; i < numbers.size(); ++i) {
    auto it = otherReadings.find(numbers[i]);
    if (it == otherReadings.end())
      continue;
    for (int other : it->second) {
      SmallVector<int, 4> replaced(numbers);
      replaced[i] = other;
      if (!reference.find(op->getName(), op->getOperands(), replaced).empty() ||
          findOtherReading(op, replaced, i + 1))
        return i;
    }
  }
  return std::nullopt;
}

bool PartitionProver::visitOp(Operation *op) {
  SmallVector<int, 4> numbers;
  bool hasTensor = false;
  for (Value operand : op->getOperands()) {
    numbers.push_back(states.getNumber(operand));
    hasTensor |= isa<RankedTensorType>(operand.getType());
  }
  for (Type type : op->getResultTypes())
    hasTensor |= isa<RankedTensorType>(type);
  if (!isMemoryEffectFree(op))
    return giveUp(op, "an op with side effects");
  if (!hasTensor)
    return visitScalarOp(op, numbers);
  Fit best = Fit::OtherOp;
  bool bestIsAlike = false;
  std::string reason;
  std::optional<Location> where;
  SmallVector<unsigned, 4> candidates(
      reference.find(op->getName(), op->getOperands(), numbers));
  llvm::erase_if(candidates, [&](unsigned index) {
    return reference.getOp(index).op->getName() != op->getName();
  });
  // The op may fit several: equal elements in several shapes, or dimensions
  // before or after dimensions of size 1. An op without a match so far is more
  // likely.
  auto rank = [&](unsigned index) {
    Operation *part = parts.lookup(index);
    return std::make_pair(getDistance(op, reference.getOp(index).op),
                          part && part != op);
  };
  llvm::stable_sort(candidates,
                    [&](unsigned a, unsigned b) { return rank(a) < rank(b); });
  /// Candidate states of the results, and the matching op of the reference.
  struct Fitting {
    std::optional<unsigned> index;
    SmallVector<ShardState, 1> results;
  };
  SmallVector<Fitting, 1> fitting;
  for (unsigned index : candidates) {
    const ReferenceOp &target = reference.getOp(index);
    Match match = matchOp(matching, op, target);
    if (match.fit == Fit::Yes) {
      fitting.push_back({index, std::move(match.results)});
      continue;
    }
    // Reports the reason for the op most similar to this one.
    bool isAlike = haveSameProperties(op, target.op);
    if (!where || (isAlike && !bestIsAlike)) {
      best = match.fit;
      bestIsAlike = isAlike;
      reason = std::move(match.why);
      where = target.op->getLoc();
    }
  }
  // A second local op of a reference op may be a resize instead.
  bool mayResize =
      fitting.empty() || llvm::any_of(fitting, [&](const Fitting &fit) {
        return choices.isContested(*fit.index);
      });
  std::optional<ShardState> resized = resize(op);
  if (mayResize && resized)
    fitting.push_back({std::nullopt, {*resized}});
  if (!fitting.empty()) {
    Fitting &chosen =
        fitting[fitting.size() == 1 ? 0 : choices.get(op, fitting.size())];
    if (chosen.index &&
        parts.try_emplace(*chosen.index, op).first->second != op)
      choices.contest(*chosen.index);
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      ShardState &state = chosen.results[i];
      for (const Fitting &fit : fitting)
        if (&fit != &chosen)
          otherReadings[state.value].insert(fit.results[i].value);
      if (resized && !mayResize)
        otherReadings[state.value].insert(resized->value);
      // A mask may also be padding of its operand.
      if (isa<nn::MaskPaddingOp>(op))
        otherReadings[state.value].insert(numbers.front());
      setState(result, state);
    }
    return true;
  }
  bool isAmbiguous = llvm::any_of(
      numbers, [&](int number) { return otherReadings.count(number); });
  if (auto mask = dyn_cast<nn::MaskPaddingOp>(op))
    return visitMask(mask) ||
           (isAmbiguous &&
            giveUp(op, "its operand fits two values of the reference"));
  if (!global)
    return visitAlone(op);
  if (best == Fit::OtherOp)
    if (auto operand = findOtherReading(op, numbers))
      return giveUp(op, "operand " + Twine(*operand) +
                            " fits two values of the reference and was taken "
                            "for one that is not used so");
  // A resize of a value that was mistaken for another one fits nothing.
  if (best == Fit::OtherOp && isAmbiguous &&
      isa<tensor::ExtractSliceOp, tensor::ConcatOp>(op))
    return giveUp(op, "an operand fits two values of the reference");
  if (!where)
    return explainUnknownOp(op, numbers);
  verdict.reference = where;
  if (best == Fit::Unknown || (best == Fit::OtherOp && op->getNumRegions()))
    return giveUp(op, reason);
  return refute(op, reason);
}
