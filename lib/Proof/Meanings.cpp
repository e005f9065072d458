//===- Meanings.cpp - Foreign ops in a proof ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Meanings.h"
#include "dialects/Dist/Dist.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "tessera/Interfaces/Expansion.h"
#include "tessera/Propagation/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using dist::DistDialect;

static Operation *getOutermost(Operation *op) {
  while (Operation *parent = op->getParentOp())
    op = parent;
  return op;
}

namespace {
/// Classifies ops by their names, each name once: a program has few of them.
class OpKinds {
public:
  explicit OpKinds(MLIRContext *context)
      : rule(StringAttr::get(context, DistDialect::kRuleAttr)) {}

  /// True for an op that is compared by its meaning or by a rule as text.
  bool needsCopy(Operation *op) {
    Kind kind = get(op);
    return kind == Kind::Meaning ||
           (kind == Kind::Plain && op->getDiscardableAttr(rule));
  }
  /// True for an op without a rule in C++, such as a call.
  bool isPlain(Operation *op) { return get(op) == Kind::Plain; }
  /// True for an op whose rule is trusted.
  bool isTrusted(Operation *op) { return get(op) == Kind::Trusted; }

private:
  enum class Kind {
    /// Has a rule of ours.
    Own,
    /// Has no rule in C++; may have one as text.
    Plain,
    Meaning,
    Trusted,
  };

  Kind get(Operation *op) {
    auto [it, isNew] = kinds.try_emplace(op->getName(), Kind::Own);
    if (isNew)
      it->second = find(op);
    return it->second;
  }
  static Kind find(Operation *op) {
    if (hasMeaning(op))
      return Kind::Meaning;
    if (!isa<ShardingRuleOpInterface>(op))
      return Kind::Plain;
    return isForeign(op) || isa<dist::ForeignOp>(op) ? Kind::Trusted
                                                     : Kind::Own;
  }

  StringAttr rule;
  llvm::SmallDenseMap<OperationName, Kind, 64> kinds;
};
} // namespace

/// Visits the ops of a function and of those that it calls, until the visitor
/// is satisfied: true if it is.
template <typename Visitor>
static bool anyReachable(FunctionOpInterface function, OpKinds &kinds,
                         Visitor &&isFound) {
  SetVector<Operation *> functions;
  functions.insert(function);
  for (size_t i = 0; i < functions.size(); ++i) {
    WalkResult result = functions[i]->walk([&](Operation *op) {
      if (isFound(op))
        return WalkResult::interrupt();
      auto call =
          kinds.isPlain(op) ? dyn_cast<CallOpInterface>(op) : CallOpInterface();
      Operation *callee = call ? call.resolveCallable() : nullptr;
      if (isa_and_nonnull<FunctionOpInterface>(callee))
        functions.insert(callee);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return true;
  }
  return false;
}

bool tessera::hasForeignOps(FunctionOpInterface function) {
  if (!function)
    return false;
  OpKinds kinds(function->getContext());
  return anyReachable(function, kinds,
                      [&](Operation *op) { return kinds.needsCopy(op); });
}

static bool isAny(Operation *) { return true; }

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Copies the outermost op around a function, unless that is done, and returns
/// the function's copy.
FailureOr<FunctionOpInterface>
ExpandedPrograms::copy(FunctionOpInterface function) {
  if (Operation *known = copyOf.lookup(function))
    return cast<FunctionOpInterface>(known);
  IRMapping mapping;
  OwningOpRef<Operation *> root = getOutermost(function)->clone(mapping);
  for (auto [original, copied] : mapping.getOperationMap()) {
    copyOf[original] = copied;
    originalOf[copied] = original;
  }
  LogicalResult expanded = expandOps(
      *root, isAny,
      [&](Operation *op, ArrayRef<Operation *> parts, MutableArrayRef<Value>) {
        Operation *owner = originalOf.lookup(op);
        for (Operation *part : parts)
          part->walk([&](Operation *each) {
            originalOf[each] = owner;
            made.insert(each);
          });
      });
  // Ops of meanings may have rules as text, too.
  wrapForeignOps(*root, [&](Operation *op, Operation *wrapper) {
    originalOf[wrapper] = originalOf.lookup(op);
    if (made.contains(op))
      made.insert(wrapper);
  });
  copies.push_back(std::move(root));
  if (failed(expanded))
    return failure();
  return cast<FunctionOpInterface>(copyOf.lookup(function));
}

FailureOr<ExpandedPrograms>
ExpandedPrograms::make(FunctionOpInterface local,
                       FunctionOpInterface reference) {
  ExpandedPrograms programs;
  FailureOr<FunctionOpInterface> copied = programs.copy(local);
  if (failed(copied))
    return failure();
  programs.local = *copied;
  if (!reference)
    return programs;
  copied = programs.copy(reference);
  if (failed(copied))
    return failure();
  programs.reference = *copied;
  programs.originalReference = reference;
  return programs;
}

//===----------------------------------------------------------------------===//
// Verdicts
//===----------------------------------------------------------------------===//

/// Names the factors of an op's rule of which a device has a part: those that
/// are larger in the reference's op of this name. Empty if there are none.
std::string ExpandedPrograms::describeShards(Operation *op) const {
  std::string text;
  if (!originalReference || !isa<ShardingRuleOpInterface>(op))
    return text;
  ShardingRule rule = getShardingRule(op);
  llvm::raw_string_ostream os(text);
  originalReference->walk([&](Operation *other) {
    if (other->getName() != op->getName() || !text.empty())
      return;
    ShardingRule whole = getShardingRule(other);
    if (whole.factors.size() != rule.factors.size())
      return;
    for (auto [i, factor] : llvm::enumerate(rule.factors)) {
      if (factor.size >= whole.factors[i].size)
        continue;
      os << (text.empty() ? "; by its rule a device has a part of factor "
                          : ", of ");
      rule.printName(os, i);
      os << " (" << stringifyFactorKind(factor) << ", " << factor.size << " of "
         << whole.factors[i].size << ')';
    }
  });
  return text;
}

PartitionVerdict ExpandedPrograms::restore(PartitionVerdict verdict) const {
  if (!verdict.op)
    return verdict;
  Operation *original = originalOf.lookup(verdict.op);
  if (made.contains(verdict.op))
    verdict.why = "at " + verdict.op->getName().getStringRef().str() +
                  " of its meaning: " + verdict.why + describeShards(original);
  verdict.op = original;
  return verdict;
}

//===----------------------------------------------------------------------===//
// Trust
//===----------------------------------------------------------------------===//

/// Prints `toy.row_scale (x.mlir:4)`.
static std::string describeOp(StringRef name, Location loc) {
  std::string text = name.str();
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    text += " (" + file.getFilename().str() + ":" +
            std::to_string(file.getLine()) + ")";
  return text;
}

/// Lists the trusted rules of a function and its callees; none if an op of them
/// has to be expanded first.
static std::optional<std::vector<std::string>>
listRules(FunctionOpInterface function) {
  llvm::MapVector<StringRef, Location> first;
  OpKinds kinds(function->getContext());
  bool needsCopy = anyReachable(function, kinds, [&](Operation *op) {
    if (kinds.isTrusted(op)) {
      auto wrapper = dyn_cast<dist::ForeignOp>(op);
      first.insert({wrapper ? wrapper.getName() : op->getName().getStringRef(),
                    op->getLoc()});
    }
    return kinds.needsCopy(op);
  });
  if (needsCopy)
    return std::nullopt;
  std::vector<std::string> rules;
  for (auto [name, loc] : first)
    rules.push_back(describeOp(name, loc));
  return rules;
}

std::vector<std::string>
tessera::listTrustedRules(FunctionOpInterface function) {
  if (auto rules = listRules(function))
    return *rules;
  FailureOr<ExpandedPrograms> expanded =
      ExpandedPrograms::make(function, nullptr);
  if (failed(expanded))
    return {};
  return listRules(expanded->getLocal()).value_or(std::vector<std::string>());
}

std::string tessera::describeTrust(FunctionOpInterface function) {
  std::vector<std::string> rules = listTrustedRules(function);
  return rules.empty() ? "" : ", given the rules of " + llvm::join(rules, ", ");
}
