//===- RaiseChoices.cpp - Raises choices within groups to nn.top_k --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No sequence of ops is matched. Where a choice of E scores follows from these
// scores, constants and a choice of M of G alone, choices within M of G groups
// are proposed. One is taken if it has the same ids for random scores: negative
// and positive ones, so that scores that are hidden by a 0 refuse it.
//
//===----------------------------------------------------------------------===//

#include "RaiseChoices.h"
#include "EraseUnused.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Interpreter/Interpreter.h"
#include "llvm/ADT/SetVector.h"
#include <map>
#include <random>

using namespace mlir;
using namespace tessera;

/// The most ops between scores and ids, and the most scores of a trial.
static constexpr size_t kMaxChoiceOps = 64;
static constexpr int64_t kMaxTrialScores = int64_t(1) << 24;
/// The fewest rows that a choice is tried on.
static constexpr int64_t kTrialRows = 256;

namespace {

/// A choice of scores, and the ops that compute its ids from these scores and
/// constants alone, in order.
struct Choice {
  nn::TopKOp last;
  Value scores;
  SmallVector<Operation *> ops;

  int64_t size() const {
    return cast<RankedTensorType>(scores.getType()).getShape().back();
  }
};

/// Groups; some are chosen before their scores.
struct Groups {
  int64_t chosen, all;
  nn::GroupScore score;
};

class ChoiceRaiser {
public:
  /// Raises a choice, unless it was erased with one after it.
  void raise(nn::TopKOp op);

private:
  std::optional<Groups> findEqual(const Choice &choice);
  void replace(const Choice &choice, const Groups &groups);

  llvm::DenseSet<Operation *> erased;
  /// The groups of choices by their ops: layers have equal ones.
  std::map<std::vector<const void *>, std::optional<Groups>> tried;
};

} // namespace

/// Whether an op may be between scores and ids.
static bool isBetween(Operation *op, nn::TopKOp last) {
  return op && op->getBlock() == last->getBlock() && op->getNumRegions() == 0 &&
         op->getNumResults() == 1 && isPure(op);
}

static std::optional<Choice> findChoice(nn::TopKOp last, Value scores) {
  llvm::SetVector<Operation *> ops;
  ops.insert(last);
  for (size_t i = 0; i < ops.size(); ++i)
    for (Value operand : ops[i]->getOperands()) {
      if (operand == scores)
        continue;
      Operation *op = operand.getDefiningOp();
      if (!isBetween(op, last) || ops.size() > kMaxChoiceOps)
        return std::nullopt;
      ops.insert(op);
    }
  Choice choice{last, scores, ops.takeVector()};
  llvm::sort(choice.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return choice;
}

static bool isPlain(nn::TopKOp op) {
  return !op.getGroups() && !op.getSmallest();
}

/// Lists the groups that choices between scores and ids suggest.
static SmallVector<Groups> proposeGroups(const Choice &choice) {
  SmallVector<Groups> proposals;
  nn::TopKOp last = choice.last;
  for (Operation *op : choice.ops) {
    auto inner = dyn_cast<nn::TopKOp>(op);
    if (!inner || inner == last || !isPlain(inner))
      continue;
    auto chosen = static_cast<int64_t>(inner.getK());
    int64_t all = inner.getX().getType().getShape().back();
    if (all < 2 || choice.size() % all != 0)
      continue;
    int64_t each = choice.size() / all;
    if (static_cast<int64_t>(last.getK()) > chosen * each)
      continue;
    proposals.push_back({chosen, all, nn::GroupScore::Max});
    if (each > 1)
      proposals.push_back({chosen, all, nn::GroupScore::Sum2});
  }
  return proposals;
}

static Value buildChoice(OpBuilder &b, nn::TopKOp op, Value scores,
                         const Groups &groups) {
  return nn::TopKOp::create(
      b, op.getLoc(), op.getResult().getType(), scores, op.getK(),
      /*smallest=*/false, b.getI64IntegerAttr(groups.chosen),
      b.getI64IntegerAttr(groups.all),
      nn::GroupScoreAttr::get(b.getContext(), groups.score));
}

static interp::TensorRef makeScores(std::mt19937_64 &generator, Type type) {
  interp::Tensor scores(type);
  const interp::ElementType &element = scores.getElementType();
  for (int64_t i = 0; i < scores.getNumElements(); ++i)
    scores[i] = element.round(
        interp::floatCell(double(generator() >> 11) * 0x1p-52 - 1));
  return std::make_shared<interp::Tensor>(std::move(scores));
}

/// Returns the first of the groups with which one op has a choice's ids.
static std::optional<Groups> tryGroups(const Choice &choice,
                                       ArrayRef<Groups> proposals) {
  auto type = cast<RankedTensorType>(choice.scores.getType());
  if (type.getNumElements() > kMaxTrialScores || type.getNumElements() == 0)
    return std::nullopt;
  MLIRContext *context = type.getContext();
  nn::TopKOp last = choice.last;
  Location loc = UnknownLoc::get(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder(module->getBodyRegion());
  SmallVector<Type> results(proposals.size() + 1, last.getResult().getType());
  auto function = func::FuncOp::create(
      builder, loc, "trial", builder.getFunctionType({type}, results));
  builder.setInsertionPointToStart(function.addEntryBlock());
  IRMapping mapping;
  mapping.map(choice.scores, function.getArgument(0));
  for (Operation *op : choice.ops)
    builder.clone(*op, mapping);
  SmallVector<Value> ids{mapping.lookup(last.getResult())};
  for (const Groups &groups : proposals)
    ids.push_back(buildChoice(builder, last, function.getArgument(0), groups));
  func::ReturnOp::create(builder, loc, ids);
  ScopedDiagnosticHandler silence(context, [](Diagnostic &) {});
  std::mt19937_64 generator(0x7e55e7a);
  llvm::SmallBitVector isEqual(proposals.size(), true);
  for (int64_t row = 0; row < kTrialRows && isEqual.any();
       row += type.getNumElements() / choice.size()) {
    auto found = interp::interpret(function, {{makeScores(generator, type)}});
    if (failed(found))
      return std::nullopt;
    const interp::RankTensors &tensors = found->front();
    for (size_t i = 0; i < proposals.size(); ++i)
      if (!tensors.front()->sameAs(*tensors[i + 1]))
        isEqual.reset(i);
  }
  if (isEqual.none())
    return std::nullopt;
  return proposals[isEqual.find_first()];
}

/// Returns the ops of a choice without their positions.
static std::vector<const void *> makeChoiceKey(const Choice &choice) {
  llvm::DenseMap<Value, uintptr_t> numbers;
  auto number = [&](Value value) {
    return reinterpret_cast<const void *>(
        numbers.try_emplace(value, numbers.size()).first->second);
  };
  std::vector<const void *> key{number(choice.scores)};
  for (Operation *op : choice.ops) {
    key.push_back(op->getName().getAsOpaquePointer());
    key.push_back(op->getAttrDictionary().getAsOpaquePointer());
    key.push_back(op->getResult(0).getType().getAsOpaquePointer());
    for (Value operand : op->getOperands())
      key.push_back(number(operand));
    key.push_back(number(op->getResult(0)));
  }
  return key;
}

std::optional<Groups> ChoiceRaiser::findEqual(const Choice &choice) {
  auto [entry, isNew] = tried.try_emplace(makeChoiceKey(choice));
  if (isNew)
    if (SmallVector<Groups> proposals = proposeGroups(choice);
        !proposals.empty())
      entry->second = tryGroups(choice, proposals);
  return entry->second;
}

void ChoiceRaiser::replace(const Choice &choice, const Groups &groups) {
  nn::TopKOp last = choice.last;
  OpBuilder builder(last);
  Value raised = buildChoice(builder, last, choice.scores, groups);
  last.getResult().replaceAllUsesWith(raised);
  eraseUnused(choice.ops, erased);
  remark::passed(raised.getLoc(),
                 remark::RemarkOpts::name("Raised").category("import"))
      << remark::add("nn.top_k of {0} of {1} groups", groups.chosen,
                     groups.all);
}

/// Tries values of the type of the scores, the nearest first.
void ChoiceRaiser::raise(nn::TopKOp op) {
  if (erased.contains(op))
    return;
  llvm::SetVector<Value> values;
  values.insert(op.getX());
  for (size_t i = 0; i < values.size() && i < kMaxChoiceOps; ++i) {
    Operation *between = values[i].getDefiningOp();
    if (isBetween(between, op))
      values.insert_range(between->getOperands());
  }
  for (Value scores : llvm::drop_begin(values)) {
    if (scores.getType() != op.getX().getType())
      continue;
    std::optional<Choice> choice = findChoice(op, scores);
    if (!choice)
      continue;
    if (std::optional<Groups> groups = findEqual(*choice))
      return replace(*choice, *groups);
  }
}

void tessera::raiseChoices(Block &block) {
  ChoiceRaiser raiser;
  SmallVector<nn::TopKOp> choices;
  for (auto op : block.getOps<nn::TopKOp>())
    if (isPlain(op))
      choices.push_back(op);
  // A later choice takes those before it along.
  for (nn::TopKOp op : llvm::reverse(choices))
    raiser.raise(op);
}
