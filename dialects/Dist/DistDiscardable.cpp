//===- DistDiscardable.cpp - The discardable attributes of dist -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one table of discardable attributes of dist, with the check of each.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "tessera/Interfaces/Expansion.h"
#include "tessera/Interfaces/KnownAttributes.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <map>

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

/// "argument 2" or "result 0".
static std::string describe(const AttributePosition &position) {
  return ((position.holder == kOnArgument ? "argument " : "result ") +
          Twine(position.index))
      .str();
}

/// Checks a sharding. In a local function `type` is one device's, of the same
/// rank.
static LogicalResult verifySharding(Operation *op, Attribute attr, Type type,
                                    Twine where) {
  auto emitError = [&] { return op->emitError() << where << ": "; };
  auto sharding = dyn_cast<ShardingAttr>(attr);
  if (!sharding)
    return emitError() << "expects a #dist.sharding but got " << attr;
  return sharding.verifyFor(op, type, emitError);
}

static LogicalResult verifySharding(const AttributePosition &position,
                                    NamedAttribute attr) {
  return verifySharding(position.op, attr.getValue(), position.type,
                        "sharding of " + describe(position));
}

static LogicalResult verifyShardings(const AttributePosition &position,
                                     NamedAttribute attr) {
  Operation *op = position.op;
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

static LogicalResult verifyRule(const AttributePosition &position,
                                NamedAttribute attr) {
  Operation *op = position.op;
  auto refuse = [&](StringRef what) {
    return op->emitOpError("dist.rule: expects an op without ") << what;
  };
  auto rule = dyn_cast<RuleAttr>(attr.getValue());
  if (!rule)
    return op->emitOpError("dist.rule: expects a #dist.rule but got ")
           << attr.getValue();
  if (isa<ShardingRuleOpInterface>(op))
    return refuse("a rule of its own (ShardingRuleOpInterface)");
  if (hasMeaning(op))
    return refuse("a meaning, which shards by its own ops");
  if (op->getNumRegions() || op->getNumSuccessors())
    return refuse("regions");
  if (op->isRegistered() && !isMemoryEffectFree(op))
    return refuse("effects");
  if (llvm::Error error = checkRule(rule.parse().rule, op->getOperandTypes(),
                                    op->getResultTypes()))
    return op->emitOpError("dist.rule: ") << llvm::toString(std::move(error));
  return success();
}

static LogicalResult verifyGlobalShape(const AttributePosition &position,
                                       NamedAttribute attr) {
  auto shape = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
  auto tensor = dyn_cast<RankedTensorType>(position.type);
  if (!shape || !tensor || shape.size() != tensor.getRank())
    return position.op->emitError()
           << describe(position)
           << ": expects a global shape of the tensor's rank but got "
           << attr.getValue() << " for " << position.type;
  if (llvm::any_of(shape.asArrayRef(), [](int64_t size) { return size < 0; }))
    return position.op->emitError()
           << describe(position)
           << ": expects a global shape of sizes from 0 but "
           << "got " << attr.getValue();
  return success();
}

/// Checks for the number of a result of the function that no other argument is
/// donated to.
static LogicalResult verifyDonate(const AttributePosition &position,
                                  NamedAttribute attr) {
  auto func = cast<FunctionOpInterface>(position.op);
  auto number = dyn_cast<IntegerAttr>(attr.getValue());
  if (!number || number.getValue().getSignificantBits() > 64 ||
      number.getInt() < 0 || number.getInt() >= func.getNumResults())
    return position.op->emitError()
           << describe(position)
           << ": dist.donate: expects the number of one of "
           << func.getNumResults() << " results but got " << attr.getValue();
  if (!isFirstWith(position, StringRef(DistDialect::kDonateAttr)))
    return success();
  // A DenseMap reserves two keys, but any number may occur here.
  std::map<int64_t, unsigned> owners;
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    auto result = func.getArgAttrOfType<IntegerAttr>(i, attr.getName());
    if (!result || result.getValue().getSignificantBits() > 64)
      continue;
    auto [it, isNew] = owners.try_emplace(result.getInt(), i);
    if (!isNew)
      return position.op->emitError()
             << "argument " << i << ": dist.donate: expects a result of its "
             << "own but got " << result.getInt() << ", which takes the place "
             << "of argument " << it->second;
  }
  return success();
}

/// Checks the constants of a collective library: two times, a factor, a share.
static bool isLibrary(DenseF64ArrayAttr library) {
  return library.size() == 4 && library[0] >= 0 && library[1] >= library[0] &&
         library[2] >= 1 && library[3] > 0 && library[3] <= 1;
}

/// Checks for an array of spans per axis, whose devices multiply to the axis's
/// size. The library's constants may follow.
static LogicalResult verifyLinks(const AttributePosition &position,
                                 NamedAttribute attr) {
  Operation *op = position.op;
  auto mesh = dyn_cast<MeshOp>(op);
  if (!mesh)
    return op->emitError("dist.links: expects to be on a dist.mesh");
  ArrayRef<MeshAxisAttr> axes = mesh.getMesh().getAxes();
  auto links = dyn_cast<ArrayAttr>(attr.getValue());
  auto library = links && !links.empty()
                     ? dyn_cast<DenseF64ArrayAttr>(*(links.end() - 1))
                     : DenseF64ArrayAttr();
  if (library && !isLibrary(library))
    return op->emitError()
           << "dist.links: expects array<f64: base low, base bulk >= base low, "
              "bulk step >= 1, low share in (0, 1]> but got "
           << library;
  if (!links || links.size() != axes.size() + bool(library))
    return op->emitError() << "dist.links: expects an array of " << axes.size()
                           << " axes but got " << attr.getValue();
  for (auto [axis, entry] : llvm::zip(axes, links)) {
    auto spans = dyn_cast<ArrayAttr>(entry);
    double devices = 1;
    bool valid = spans && llvm::all_of(spans, [&](Attribute attr) {
                   auto span = dyn_cast<DenseF64ArrayAttr>(attr);
                   if (!span || span.size() < 3 || span.size() > 4 ||
                       !(span[0] >= 1) || !(span[1] >= 0) || !(span[2] > 0) ||
                       (span.size() == 4 && !(span[3] >= 1)))
                     return false;
                   devices *= span[0];
                   return true;
                 });
    if (!valid)
      return op->emitError()
             << "dist.links: expects array<f64: devices, seconds, bytes per "
                "second> for each level of \""
             << axis.getName() << "\" but got " << entry;
    if (devices != axis.getSize())
      return op->emitError()
             << "dist.links: expects " << axis.getSize() << " devices along \""
             << axis.getName() << "\" but got "
             << llvm::formatv("{0:F0}", devices).str();
  }
  return success();
}

/// Checks for three rates and a time; for a processor also a factor, a time and
/// a share.
static LogicalResult verifyDevice(const AttributePosition &position,
                                  NamedAttribute attr) {
  auto numbers = dyn_cast<DenseF64ArrayAttr>(attr.getValue());
  bool valid = numbers && (numbers.size() == 4 || numbers.size() == 7) &&
               llvm::all_of(numbers.asArrayRef(),
                            [](double number) {
                              return std::isfinite(number) && number >= 0;
                            }) &&
               llvm::all_of(numbers.asArrayRef().take_front(3),
                            [](double rate) { return rate > 0; }) &&
               (numbers.size() == 4 || (numbers[4] >= 1 && numbers[6] <= 1));
  if (valid)
    return success();
  return position.op->emitError()
         << "dist.device: expects array<f64: bytes per second, operations per "
            "second of matmuls, of other ops, seconds of a kernel> on a "
            "module, or with three more, bytes moved per byte of a matmul from "
            "1, seconds of a function, share of a transfer up to 1, but got "
         << attr.getValue();
}

/// Checks for a dictionary of limits.
static LogicalResult verifyBudget(const AttributePosition &position,
                                  NamedAttribute attr) {
  Operation *op = position.op;
  auto entries = dyn_cast<DictionaryAttr>(attr.getValue());
  if (!entries)
    return op->emitError() << "dist.budget: expects a dictionary on a function "
                              "but got "
                           << attr.getValue();
  for (NamedAttribute entry : entries) {
    auto number = dyn_cast<IntegerAttr>(entry.getValue());
    bool isLimit =
        entry.getName() == "max_bytes" || entry.getName() == "max_collectives";
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

static LogicalResult verifyReference(const AttributePosition &position,
                                     NamedAttribute attr) {
  if (isa<FlatSymbolRefAttr>(attr.getValue()))
    return success();
  return position.op->emitError()
         << "dist.reference: expects a function but got " << attr.getValue();
}

/// True if an axis is in two of the lists.
static bool haveCommonAxis(ArrayRef<AxesAttr> lists) {
  SmallVector<AxisRefAttr> taken;
  for (AxesAttr axes : lists) {
    for (AxisRefAttr axis : axes.getRefs())
      if (llvm::any_of(taken, [&](AxisRefAttr other) {
            return refsOverlap(axis, other);
          }))
        return true;
    llvm::append_range(taken, axes.getRefs());
  }
  return false;
}

static LogicalResult verifyFactors(const AttributePosition &position,
                                   NamedAttribute attr) {
  auto factors = dyn_cast<ArrayAttr>(attr.getValue());
  if (!factors || !llvm::all_of(factors, llvm::IsaPred<AxesAttr>))
    return position.op->emitError()
           << "dist.factors: expects an array of #dist.axes but got "
           << attr.getValue();
  if (haveCommonAxis(llvm::to_vector(factors.getAsRange<AxesAttr>())))
    return position.op->emitError()
           << "dist.factors: expects each axis on one factor but got "
           << attr.getValue();
  return success();
}

/// Checks for axes that no factor in dist.factors has.
static LogicalResult verifyExact(const AttributePosition &position,
                                 NamedAttribute attr) {
  Operation *op = position.op;
  auto partial = dyn_cast<AxesAttr>(attr.getValue());
  if (!partial)
    return op->emitError() << "dist.exact: expects #dist.axes but got "
                           << attr.getValue();
  auto factors = op->getAttrOfType<ArrayAttr>(DistDialect::kFactorsAttr);
  if (!factors)
    return op->emitError("dist.exact: expects dist.factors beside it but got "
                         "none");
  for (Attribute axes : factors)
    for (AxisRefAttr axis : partial.getRefs())
      if (auto list = dyn_cast<AxesAttr>(axes);
          list && llvm::any_of(list.getRefs(), [&](AxisRefAttr other) {
            return refsOverlap(axis, other);
          }))
        return op->emitError()
               << "dist.exact: expects axes that no factor has but got "
               << partial << " beside " << list;
  return success();
}

/// Checks for numbers of operands.
static LogicalResult verifyApart(const AttributePosition &position,
                                 NamedAttribute attr) {
  auto operands = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
  int64_t count = position.op->getNumOperands();
  if (!operands || llvm::any_of(operands.asArrayRef(), [&](int64_t operand) {
        return operand < 0 || operand >= count;
      }))
    return position.op->emitError()
           << "dist.apart: expects array<i64: ...> of numbers of the " << count
           << " operands but got " << attr.getValue();
  return success();
}

/// Checks for a method and axes.
static LogicalResult verifyContext(const AttributePosition &position,
                                   NamedAttribute attr) {
  auto entries = dyn_cast<DictionaryAttr>(attr.getValue());
  auto method = entries ? entries.getAs<StringAttr>("method") : StringAttr();
  if (!method || !parseContextMethod(method.getValue()))
    return position.op->emitError()
           << "dist.context: expects a method of " << kContextMethods
           << " but got " << attr.getValue();
  for (StringRef name : {"seq", "batch", "heads"})
    if (!entries.getAs<AxesAttr>(name))
      return position.op->emitError() << "dist.context: expects #dist.axes for "
                                      << name << " but got " << attr.getValue();
  if (entries.getAs<AxesAttr>("seq").getRefs().size() != 1)
    return position.op->emitError()
           << "dist.context: expects one axis for seq but got "
           << entries.get("seq");
  if (haveCommonAxis({entries.getAs<AxesAttr>("seq"),
                      entries.getAs<AxesAttr>("batch"),
                      entries.getAs<AxesAttr>("heads")}))
    return position.op->emitError()
           << "dist.context: expects each axis once but got "
           << attr.getValue();
  return success();
}

static LogicalResult verifyExperts(const AttributePosition &position,
                                   NamedAttribute attr) {
  auto entries = dyn_cast<DictionaryAttr>(attr.getValue());
  SmallVector<AxesAttr> all;
  for (StringRef name : {"experts", "batch", "seq", "ffn"}) {
    all.push_back(entries ? entries.getAs<AxesAttr>(name) : AxesAttr());
    if (!all.back())
      return position.op->emitError() << "dist.experts: expects #dist.axes for "
                                      << name << " but got " << attr.getValue();
  }
  if (all.front().getRefs().empty())
    return position.op->emitError()
           << "dist.experts: expects an axis for experts at least but got "
           << attr.getValue();
  if (haveCommonAxis(all))
    return position.op->emitError()
           << "dist.experts: expects each axis once but got "
           << attr.getValue();
  return success();
}

static LogicalResult verifyPairs(const AttributePosition &position,
                                 NamedAttribute attr) {
  auto range = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
  if (range && range.size() == 2 && range[0] >= 0 && range[0] <= range[1])
    return success();
  return position.op->emitError()
         << "dist.pairs: expects array<i64: fewest, most> but got "
         << attr.getValue();
}

static LogicalResult verifyRing(const AttributePosition &position,
                                NamedAttribute attr) {
  auto axes = dyn_cast<AxesAttr>(attr.getValue());
  if (axes && !axes.getRefs().empty())
    return success();
  return position.op->emitError()
         << "dist.ring: expects #dist.axes of some axes but got "
         << attr.getValue();
}

static LogicalResult verifyStateAxes(const AttributePosition &position,
                                     NamedAttribute attr) {
  if (isa<AxesAttr>(attr.getValue()))
    return success();
  return position.op->emitError()
         << "dist.state_axes: expects #dist.axes on a module but got "
         << attr.getValue();
}

static LogicalResult verifyPlan(const AttributePosition &position,
                                NamedAttribute attr) {
  if (isa<PlanAttr>(attr.getValue()))
    return success();
  return position.op->emitError()
         << "dist.plan: expects a #dist.plan on a module but got "
         << attr.getValue();
}

static LogicalResult verifyDecisions(const AttributePosition &position,
                                     NamedAttribute attr) {
  if (isa<StringAttr>(attr.getValue()))
    return success();
  return position.op->emitError()
         << "dist.decisions: expects the text of a decision file but got "
         << attr.getValue();
}

/// Checks for a number of at least 0.
static LogicalResult verifyNumber(const AttributePosition &position,
                                  NamedAttribute attr) {
  auto number = dyn_cast<IntegerAttr>(attr.getValue());
  if (number && number.getType().isInteger(64) && number.getInt() >= 0)
    return success();
  return position.op->emitError()
         << attr.getName().getValue()
         << ": expects an integer of at least 0 but got " << attr.getValue();
}

static LogicalResult verifyBubble(const AttributePosition &position,
                                  NamedAttribute attr) {
  auto part = dyn_cast<FloatAttr>(attr.getValue());
  if (part && part.getType().isF64() && part.getValueAsDouble() >= 0 &&
      part.getValueAsDouble() <= 1)
    return success();
  return position.op->emitError()
         << "dist.bubble: expects a number from 0 to 1 but got "
         << attr.getValue();
}

static LogicalResult verifyWhy(const AttributePosition &position,
                               NamedAttribute attr) {
  auto lines = dyn_cast<ArrayAttr>(attr.getValue());
  if (lines && llvm::all_of(lines, llvm::IsaPred<StringAttr>))
    return success();
  return position.op->emitError()
         << "dist.why: expects an array of texts but got " << attr.getValue();
}

/// Checks for a pp rank and a number of micro-batches.
static LogicalResult verifyHeld(const AttributePosition &position,
                                NamedAttribute attr) {
  auto held = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
  if (held && held.size() == 2 && held[0] >= 0 && held[1] >= 1)
    return success();
  return position.op->emitError()
         << "dist.held: expects array<i64: pp rank, micro-batches> but "
         << "got " << attr.getValue();
}

/// Checks for an array of strings.
static LogicalResult verifyCollectives(const AttributePosition &position,
                                       NamedAttribute attr) {
  auto list = dyn_cast<ArrayAttr>(attr.getValue());
  if (list && llvm::all_of(list, llvm::IsaPred<StringAttr>))
    return success();
  return position.op->emitError()
         << attr.getName().getValue()
         << ": expects an array of strings but got " << attr.getValue();
}

static constexpr KnownAttribute kKnown[] = {
    {DistDialect::kShardingAttr, kOnArgument | kOnResult, verifySharding},
    {DistDialect::kShardingsAttr, kOnOperation, verifyShardings},
    {DistDialect::kGlobalShapeAttr, kOnArgument | kOnResult, verifyGlobalShape},
    {DistDialect::kDonateAttr, kOnArgument, verifyDonate},
    {DistDialect::kLocalAttr, kOnFunction, expectUnit},
    {DistDialect::kReferenceAttr, kOnFunction, verifyReference},
    {DistDialect::kBudgetAttr, kOnFunction, verifyBudget},
    {DistDialect::kCollectivesAttr, kOnFunction, verifyCollectives},
    {DistDialect::kRuleAttr, kOnOperation, verifyRule},
    {DistDialect::kFactorsAttr, kOnOperation, verifyFactors},
    {DistDialect::kExactAttr, kOnOperation, verifyExact},
    {DistDialect::kApartAttr, kOnOperation, verifyApart},
    {DistDialect::kBackwardAttr, kOnOperation, expectUnit},
    {DistDialect::kRecomputeAttr, kOnOperation, expectUnit},
    {DistDialect::kHeldAttr, kOnOperation, verifyHeld},
    {DistDialect::kLayerAttr, kOnOperation, expectInteger},
    {DistDialect::kLinksAttr, kOnOperation | kOnFunction | kOnModule,
     verifyLinks},
    {DistDialect::kDeviceAttr, kOnModule, verifyDevice},
    {DistDialect::kPPRankAttr, kOnFunction, verifyNumber},
    {DistDialect::kBubbleAttr, kOnFunction, verifyBubble},
    {DistDialect::kNumberAttr, kOnArgument | kOnResult, verifyNumber},
    {DistDialect::kPlanAttr, kOnModule, verifyPlan},
    {DistDialect::kContextAttr, kOnModule, verifyContext},
    {DistDialect::kExpertsAttr, kOnModule, verifyExperts},
    {DistDialect::kStateAxesAttr, kOnModule, verifyStateAxes},
    {DistDialect::kDecisionsAttr, kOnModule, verifyDecisions},
    {DistDialect::kRingAttr, kOnOperation, verifyRing},
    {DistDialect::kPairsAttr, kOnFunction, verifyPairs},
    {DistDialect::kWhyAttr, kOnOperation | kOnArgument | kOnResult, verifyWhy},
};

LogicalResult DistDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  return verifyKnownAttribute(kKnown, AttributePosition::onOp(op), attr);
}

LogicalResult DistDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned argument,
                                                    NamedAttribute attr) {
  return verifyKnownAttribute(
      kKnown, AttributePosition::onArgument(op, argument), attr);
}

LogicalResult DistDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                       unsigned result,
                                                       NamedAttribute attr) {
  return verifyKnownAttribute(kKnown, AttributePosition::onResult(op, result),
                              attr);
}
