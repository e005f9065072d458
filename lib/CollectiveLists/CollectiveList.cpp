//===- CollectiveList.cpp - The expected collectives of a function --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/CollectiveLists/CollectiveList.h"
#include "WireTypes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tessera;

std::string ListedCollective::print() const {
  std::string text = name;
  llvm::raw_string_ostream os(text);
  os << " {";
  llvm::interleaveComma(attributes, os, [&](const NamedAttribute &attr) {
    os << attr.getName().getValue() << " = " << attr.getValue();
  });
  bool reduces = llvm::any_of(attributes, [](const NamedAttribute &attr) {
    return isa<dist::ReductionKindAttr>(attr.getValue());
  });
  Type wire = getWireType(element, reduces);
  os << "} of " << numElements << " x " << (wire ? wire : element);
  // Entries of a list are strings, in which quotes would need escapes.
  llvm::erase(text, '"');
  return text;
}

/// Returns the attributes that determine a collective's effect on elements.
static SmallVector<NamedAttribute, 4> getAttributes(Operation *op) {
  SmallVector<NamedAttribute, 4> found;
  for (NamedAttribute attr : op->getAttrDictionary()) {
    bool isDiscardable = attr.getName().strref().contains('.');
    if (!isDiscardable && attr.getName() != "mesh" &&
        !isa<dist::ShardingAttr>(attr.getValue()))
      found.push_back(attr);
  }
  return found;
}

ListedCollective tessera::listOp(Operation *op) {
  Value value = op->getNumOperands() ? op->getOperand(0) : op->getResult(0);
  auto type = cast<RankedTensorType>(value.getType());
  return {op->getName().stripDialect().str(), getAttributes(op),
          type.getNumElements(), type.getElementType()};
}

ListedCollective tessera::listRotation(RankedTensorType chunk,
                                       dist::AxesAttr axes, int64_t count,
                                       int64_t distance) {
  Builder b(chunk.getContext());
  SmallVector<int64_t> targets;
  for (int64_t device = 0; device < count; ++device)
    targets.push_back((device + count + distance) % count);
  return listNew<dist::CollectivePermuteOp>(
      {b.getNamedAttr("axes", axes),
       b.getNamedAttr("targets", b.getDenseI64ArrayAttr(targets))},
      chunk.getNumElements(), chunk.getElementType());
}

int64_t tessera::getTimesRun(Operation *op) {
  int64_t times = 1;
  for (Operation *parent = op->getParentOp();
       parent && !isa<FunctionOpInterface>(parent);
       parent = parent->getParentOp()) {
    if (auto accumulate = dyn_cast<dist::AccumulateOp>(parent))
      times *= accumulate.getCount();
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop)
      continue;
    std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                           upper = getConstantIntValue(loop.getUpperBound()),
                           step = getConstantIntValue(loop.getStep());
    if (lower && upper && step && *step > 0)
      times *= *upper > *lower ? llvm::divideCeil(*upper - *lower, *step) : 0;
  }
  return times;
}

void CollectiveList::add(const ListedCollective &collective, int64_t number) {
  if (collective.numElements > 0 && number > 0)
    times[collective.print()] += number;
}

void CollectiveList::add(const CollectiveList &other) {
  for (const auto &[text, number] : other.times)
    times[text] += number;
}

void CollectiveList::takeOff(const CollectiveList &before,
                             const CollectiveList &after) {
  for (const auto &[text, number] : before.times) {
    auto left = after.times.find(text);
    int64_t fewer = number - (left == after.times.end() ? 0 : left->second);
    auto it = times.find(text);
    if (fewer <= 0 || it == times.end())
      continue;
    it->second -= fewer;
    if (it->second <= 0)
      times.erase(it);
  }
}

/// Separators of an entry: `2 of X` or `at most 2 of X`.
static constexpr llvm::StringLiteral kOf = " of ", kAtMost = "at most ";

std::optional<CollectiveList> CollectiveList::read(FunctionOpInterface func) {
  auto attr =
      func->getAttrOfType<ArrayAttr>(dist::DistDialect::kCollectivesAttr);
  if (!attr)
    return std::nullopt;
  CollectiveList list;
  for (Attribute entry : attr) {
    auto string = dyn_cast<StringAttr>(entry);
    StringRef text = string ? string.strref() : StringRef();
    list.bound |= text.consume_front(kAtMost);
    auto [number, collective] = text.split(kOf);
    int64_t count = 0;
    // An unreadable entry counts as a collective that the function lacks.
    if (number.getAsInteger(10, count))
      count = 1;
    list.times[collective.str()] += count;
  }
  return list;
}

void CollectiveList::write(FunctionOpInterface func) const {
  Builder b(func.getContext());
  SmallVector<Attribute> entries;
  std::string prefix = bound ? kAtMost.str() : "";
  for (const auto &[text, number] : times)
    entries.push_back(
        b.getStringAttr(prefix + std::to_string(number) + kOf + text));
  func->setAttr(dist::DistDialect::kCollectivesAttr, b.getArrayAttr(entries));
}

CollectiveList CollectiveList::collect(FunctionOpInterface func) {
  CollectiveList list;
  func->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<dist::BucketOp, dist::CollectiveMatmulOp, dist::RingAttentionOp>(
            op))
      return WalkResult::skip();
    bool isCollective =
        (isa<dist::CollectiveOpInterface>(op) && !isa<dist::AllSliceOp>(op)) ||
        isa<dist::SendOp, dist::RecvOp>(op);
    if (!isCollective)
      return WalkResult::advance();
    list.add(listOp(op), getTimesRun(op));
    return WalkResult::advance();
  });
  return list;
}

std::string CollectiveList::explainDifference(const CollectiveList &got) const {
  auto count = [](const CollectiveList &list, const std::string &text) {
    auto it = list.times.find(text);
    return it == list.times.end() ? int64_t(0) : it->second;
  };
  std::string missing, surplus;
  for (const auto &[text, number] : times) {
    int64_t found = count(got, text);
    bool differs = found > number || (found < number && !bound);
    if (differs && missing.empty())
      missing = "expects " + std::to_string(number) + kOf.str() + text +
                " but got " + std::to_string(found);
  }
  for (const auto &[text, number] : got.times)
    if (count(*this, text) == 0 && surplus.empty())
      surplus = "got " + std::to_string(number) + kOf.str() + text +
                ", which was not proven";
  return missing.empty()   ? surplus
         : surplus.empty() ? missing
                           : missing + "; " + surplus;
}

void tessera::addExpected(Operation *op, const ListedCollective &collective,
                          int64_t number) {
  auto func = op->getParentOfType<FunctionOpInterface>();
  std::optional<CollectiveList> list =
      func ? CollectiveList::read(func) : std::nullopt;
  if (!list)
    return;
  list->add(collective, number * getTimesRun(op));
  // An empty list has no entry that marks it as a bound.
  list->setBound();
  list->write(func);
}
