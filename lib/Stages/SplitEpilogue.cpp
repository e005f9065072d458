//===- SplitEpilogue.cpp - Ops of pp ranks after the pipeline -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After the pipeline, an op stays on the pp ranks that have its operands.
// Scalars computed from tensors or sums are exchanged, all that are ready
// together, so that scalar ops run on every rank in their order. A sum of
// several pp ranks is exchanged after the reductions over other axes, and added
// in the order of stages. Ops that a pp rank does not use are removed.
//
//===----------------------------------------------------------------------===//

#include "Splitter.h"
#include "SumOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/Stages/PipelineProgram.h"

using namespace mlir;
using namespace tessera;
using dist::DistDialect;

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static bool isScalar(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 0;
}

/// The values that an op uses, including uses in its regions.
static llvm::SetVector<Value> getUsed(Operation *op) {
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  return used;
}

llvm::SmallBitVector Splitter::getPlace(Value value) const {
  auto it = places.find(value);
  return it == places.end() ? llvm::SmallBitVector(ranks.size(), true)
                            : it->second;
}

/// True for a scalar that some pp ranks compute from tensors or micro-batches:
/// it is sent to all.
bool Splitter::isRootScalar(Value value) const {
  return isScalar(value) && !getPlace(value).all();
}

/// Determines the pp ranks of an op, and the number of exchanges before it.
LogicalResult Splitter::placeOp(Operation *op) {
  llvm::SmallBitVector place(ranks.size(), true);
  unsigned level = 0;
  bool isPart = false, isComputed = false;
  for (Value value : getUsed(op)) {
    unsigned before = valueLevels.lookup(value);
    if (isRootScalar(value)) {
      level = std::max(level, before + 1);
      continue;
    }
    level = std::max(level, before);
    place &= getPlace(value);
    isComputed |= computed.contains(value);
    isPart |= parts.count(value) && value.hasOneUse() && isLinear(op);
  }
  if (place.none())
    return op->emitError("expects tensors of one pp rank to split the program "
                         "into stages but got operands of several");
  opPlaces[op] = place;
  levels[op] = level;
  for (Value result : op->getResults()) {
    places[result] = place;
    valueLevels[result] = level;
    if (isComputed)
      computed.insert(result);
    if (isPart)
      parts[result] = parts.lookup(op->getOperand(0));
    else if (isRootScalar(result))
      rootScalars.push_back(result);
  }
  return success();
}

/// True for a part of a sum that nothing but the whole sum is made of.
bool Splitter::isLastPart(Value value) const {
  return parts.count(value) && !value.use_empty() &&
         !(value.hasOneUse() && isLinear(*value.user_begin()));
}

/// The sums that are exchanged together with one that is needed: of the same pp
/// ranks, reduced over other axes before, and of an eighth of the bytes of all
/// such sums at most, since they are there twice meanwhile. They follow it in
/// the program; sums too large for any bucket are passed over.
SmallVector<Value> Splitter::findBucket(Value value) const {
  const auto &from = contributors[parts.lookup(value)];
  SmallVector<Value> others;
  double most = 0;
  for (Value sum : sums) {
    if (contributors[sumOf.lookup(sum)] != from)
      continue;
    most += getTensorBytes(sum.getType());
    if (sum != value && parts.count(sum) &&
        ranks[from.front()].values.contains(sum))
      others.push_back(sum);
  }
  most = std::min(most / 8, double(bucketBytes));
  SmallVector<Value> bucket{value};
  double bytes = getTensorBytes(value.getType());
  for (Value sum : others) {
    double more = getTensorBytes(sum.getType());
    if (more > most)
      continue;
    bytes += more;
    if (bytes > most)
      break;
    bucket.push_back(sum);
  }
  return bucket;
}

/// Makes a sum whole that several pp ranks have parts of, and others of its
/// bucket.
void Splitter::addSum(Value value) {
  const SmallVector<Value> bucket = findBucket(value);
  ArrayRef<int> contributed = contributors[parts.lookup(value)];
  SmallVector<int64_t> members(contributed.begin(), contributed.end()), from;
  SmallVector<Type> types;
  for (Value sum : bucket) {
    llvm::append_range(from, members);
    types.append(members.size(), sum.getType());
    parts.erase(sum);
  }
  SmallVector<int64_t> among(members);
  llvm::sort(among);
  for (int64_t number : among) {
    RankFunction &rank = ranks[number];
    builder.setInsertionPointToEnd(&rank.function.getBody().front());
    auto mine = llvm::map_to_vector(
        bucket, [&](Value sum) { return rank.values.lookup(sum); });
    auto exchange = dist::ExchangeOp::create(builder, value.getLoc(), types,
                                             mine, from, among);
    ValueRange results = exchange.getResults();
    for (auto [i, whole] : llvm::enumerate(bucket)) {
      ValueRange all = results.slice(i * members.size(), members.size());
      Value sum = all.front();
      for (Value part : all.drop_front())
        sum = addValues(builder, whole.getLoc(), sum, part);
      rank.values.map(whole, sum);
    }
  }
}

/// Sends scalars that some pp ranks have to all of them.
void Splitter::exchange(ArrayRef<Value> scalars) {
  if (scalars.empty())
    return;
  SmallVector<int64_t> from, among;
  SmallVector<Type> types;
  for (Value scalar : scalars) {
    if (parts.count(scalar))
      addSum(scalar);
    from.push_back(getPlace(scalar).find_first());
    types.push_back(scalar.getType());
  }
  for (size_t number = 0; number < ranks.size(); ++number)
    among.push_back(number);
  for (auto [number, rank] : llvm::enumerate(ranks)) {
    SmallVector<Value> mine;
    for (auto [scalar, owner] : llvm::zip_equal(scalars, from))
      if (owner == static_cast<int64_t>(number))
        mine.push_back(rank.values.lookup(scalar));
    builder.setInsertionPointToEnd(&rank.function.getBody().front());
    auto exchange = dist::ExchangeOp::create(builder, accumulate.getLoc(),
                                             types, mine, from, among);
    for (auto [scalar, result] :
         llvm::zip_equal(scalars, exchange.getResults()))
      rank.values.map(scalar, result);
  }
}

/// Clones an op into the functions of the pp ranks that have its operands,
/// after adding up the sums that it needs whole.
void Splitter::emitOp(Operation *op) {
  for (Value value : getUsed(op))
    if (parts.count(value) && !(value.hasOneUse() && isLinear(op)))
      addSum(value);
  for (unsigned number : opPlaces[op].set_bits()) {
    builder.setInsertionPointToEnd(&ranks[number].function.getBody().front());
    builder.clone(*op, ranks[number].values);
  }
}

LogicalResult Splitter::placeEpilogue() {
  for (auto [sum, from] : llvm::enumerate(contributors)) {
    Value value = accumulate.getResult(sum);
    llvm::SmallBitVector place(ranks.size());
    for (int rank : from)
      place.set(rank);
    places[value] = place;
    computed.insert(value);
    if (from.size() > 1)
      parts[value] = sum;
    if (isScalar(value))
      rootScalars.push_back(value);
  }
  SmallVector<Operation *> ops;
  unsigned last = 0;
  for (Operation *op = accumulate->getNextNode();
       !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode()) {
    if (failed(placeOp(op)))
      return failure();
    ops.push_back(op);
    last = std::max(last, levels[op]);
  }
  auto addParts = [&](ValueRange values) {
    for (Value value : values)
      if (isLastPart(value)) {
        sums.push_back(value);
        sumOf[value] = parts.lookup(value);
      }
  };
  addParts(accumulate->getResults());
  for (Operation *op : ops)
    addParts(op->getResults());
  for (unsigned level = 0; level <= last; ++level) {
    for (Operation *op : ops)
      if (levels[op] == level)
        emitOp(op);
    SmallVector<Value> scalars;
    for (Value scalar : rootScalars)
      if (valueLevels.lookup(scalar) == level)
        scalars.push_back(scalar);
    exchange(scalars);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Boundary
//===----------------------------------------------------------------------===//

/// Whether a value, result `i`, is an argument that a step does not change: a
/// parameter that is not trained.
static bool isKept(func::FuncOp whole, Value value, unsigned i) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto donated =
      argument ? whole.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                     DistDialect::kDonateAttr)
               : IntegerAttr();
  return donated && donated.getInt() == i;
}

/// True for results that a pp rank returns: all scalars, the tensors that it
/// computes, and the kept arguments that it uses. pp rank 0 returns all others.
bool Splitter::returns(int64_t number, Value value, unsigned i) {
  if (isScalar(value))
    return true;
  if (computed.contains(value))
    return getPlace(value).test(number);
  auto isUsed = [&](RankFunction &rank) {
    return !rank.values.lookup(value).use_empty();
  };
  if (isKept(whole, value, i) && llvm::any_of(ranks, isUsed))
    return isUsed(ranks[number]);
  return number == 0;
}

void Splitter::finishFunction(int64_t number) {
  RankFunction &rank = ranks[number];
  Operation *terminator = whole.getBody().front().getTerminator();
  SmallVector<Value> operands;
  SmallVector<Attribute> attrs;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    if (!returns(number, value, i))
      continue;
    operands.push_back(rank.values.lookup(value));
    NamedAttrList list(whole.getResultAttrDict(i));
    list.set(DistDialect::kNumberAttr, builder.getI64IntegerAttr(i));
    attrs.push_back(list.getDictionary(builder.getContext()));
  }
  Block &block = rank.function.getBody().front();
  builder.setInsertionPointToEnd(&block);
  func::ReturnOp::create(builder, terminator->getLoc(), operands);
  removeDead(block);
  rank.function.setFunctionType(builder.getFunctionType(
      rank.function.getArgumentTypes(), ValueRange(operands).getTypes()));
  rank.function.setAllResultAttrs(attrs);
}

/// The index of the result with this number.
static std::optional<int64_t> findResult(func::FuncOp function,
                                         int64_t number) {
  for (int64_t result = 0; result < function.getNumResults(); ++result)
    if (getResultNumber(function, result) == number)
      return result;
  return std::nullopt;
}

/// Numbers the remaining arguments, and records which results replace them in
/// this function.
LogicalResult Splitter::numberArguments(int64_t number) {
  func::FuncOp function = ranks[number].function;
  llvm::BitVector unused(function.getNumArguments());
  // Sets all attributes together: each single change would rebuild the list.
  SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (argument.use_empty()) {
      unused.set(i);
      continue;
    }
    NamedAttrList own(attributes[i]);
    own.set(DistDialect::kNumberAttr, builder.getI64IntegerAttr(i));
    if (auto donated = function.getArgAttrOfType<IntegerAttr>(
            i, DistDialect::kDonateAttr)) {
      std::optional<int64_t> result = findResult(function, donated.getInt());
      if (!result)
        return whole.emitError("argument ")
               << i << ": expects its update on each pp rank that uses it, but "
               << "pp rank " << number << " has none";
      own.set(DistDialect::kDonateAttr, builder.getI64IntegerAttr(*result));
    }
    attributes[i] = own.getDictionary(function.getContext());
  }
  function.setAllArgAttrs(attributes);
  return function.eraseArguments(unused);
}

LogicalResult Splitter::finishFunctions() {
  for (Value value : whole.getBody().front().getTerminator()->getOperands())
    if (parts.count(value))
      addSum(value);
  for (size_t number = 0; number < ranks.size(); ++number) {
    finishFunction(number);
    if (failed(numberArguments(number)))
      return failure();
  }
  whole.erase();
  return success();
}
