//===- OrderSequence.cpp - The sequence in zig-zag order ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In plain order, the last of the devices that share the queries of causal
// attention has the most work. In zig-zag order (#nn.zigzag) all have the same.
// This is no sharding: tokens enter the program in another order. So the order
// applies to every dimension that is tied to "seq" of the inputs. Union-find
// (Tarjan 1975) over dimensions and factors of ops finds these:
//
//     tokens[b, s] -- embedding (s) -- x[b, s, d] -- rope (s, positional) -- q
//
// setPositionOrder gives the order to the positional ops among these. The plain
// order stays if a positional op does not take one, or if an op mixes the
// dimension with others. It also stays if the sequence is not divisible by all
// devices that share it somewhere: it would be padded at its end, and a
// device's shard would begin within a chunk.
//
//===----------------------------------------------------------------------===//

#include "StateSharding.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Partition/AttentionContext.h"
#include "tessera/Training/Passes.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/Support/FormatVariadic.h"

namespace tessera {
#define GEN_PASS_DEF_ORDERSEQUENCEPASS
#include "tessera/Training/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// The dimensions of a function that are tied to the sequence.
class SequenceDims {
public:
  explicit SequenceDims(FunctionOpInterface func);

  /// Explains why these dimensions cannot have the order; empty if they can.
  std::string findRefusal(nn::ZigzagAttr order, const Mesh &mesh);
  /// Gives the order to positional ops, arguments and results.
  void set(nn::ZigzagAttr order);

private:
  /// An op of the function, and the number of its first factor's node.
  struct Node {
    Operation *op;
    ShardingRule rule;
    unsigned firstFactor;
    bool hasRule;
  };

  void number(Value value);
  void tie(const Node &node);
  void tieSequences();
  bool isTied(unsigned node) const {
    return sequence &&
           classes.findLeader(node) == classes.findLeader(*sequence);
  }
  bool isTied(Value value, unsigned dim) const;
  bool isTied(const Node &node, unsigned factor) const {
    return isTied(node.firstFactor + factor);
  }
  bool mixes(const Node &node) const;
  int64_t countShards(const Mesh &mesh);
  std::string findRefusal(const Node &node, nn::ZigzagAttr order) const;
  ArrayAttr getOrders(Value value, nn::ZigzagAttr order) const;

  FunctionOpInterface func;
  llvm::DenseMap<Value, unsigned> firstDims;
  std::vector<Node> nodes;
  unsigned count = 0;
  llvm::IntEqClasses classes;
  /// A dimension tied to the sequence; none if there is none.
  std::optional<unsigned> sequence;
};

} // namespace

void SequenceDims::number(Value value) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType())) {
    firstDims[value] = count;
    count += type.getRank();
  }
}

SequenceDims::SequenceDims(FunctionOpInterface func) : func(func) {
  for (BlockArgument argument : func.getArguments())
    number(argument);
  for (Operation &op : func.getFunctionBody().front()) {
    for (Value result : op.getResults())
      number(result);
    bool hasRule = true;
    ShardingRule rule = getShardingRule(&op, &hasRule);
    unsigned factors = rule.factors.size();
    nodes.push_back({&op, std::move(rule), count, hasRule});
    count += factors;
  }
  classes.grow(count);
  for (const Node &node : nodes)
    tie(node);
  tieSequences();
}

/// Ties the dimensions of each factor.
void SequenceDims::tie(const Node &node) {
  auto tieAll = [&](ValueRange values, ArrayRef<TensorFactors> tensors) {
    for (auto [value, dims] : llvm::zip(values, tensors))
      for (auto [dim, factors] : llvm::enumerate(dims))
        if (factors.size() == 1)
          classes.join(firstDims.lookup(value) + dim,
                       node.firstFactor + factors.front());
  };
  tieAll(node.op->getOperands(), node.rule.operands);
  tieAll(node.op->getResults(), node.rule.results);
}

/// Ties the dimensions "seq" of all inputs.
void SequenceDims::tieSequences() {
  for (BlockArgument argument : func.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!func.getArgAttr(number, nn::NNDialect::kInputAttr))
      continue;
    auto names = getDimNames(func.getArgAttr(number, nn::NNDialect::kDimsAttr));
    for (auto [dim, name] : llvm::enumerate(names)) {
      unsigned node = firstDims.lookup(argument) + dim;
      if (name == "seq" && sequence)
        classes.join(*sequence, node);
      else if (name == "seq")
        sequence = node;
    }
  }
}

bool SequenceDims::isTied(Value value, unsigned dim) const {
  auto first = firstDims.find(value);
  return first != firstDims.end() && isTied(first->second + dim);
}

/// Whether a tied dimension, or one with a tied factor, has several factors.
bool SequenceDims::mixes(const Node &node) const {
  auto anyMixes = [&](ValueRange values, ArrayRef<TensorFactors> tensors) {
    for (auto [value, dims] : llvm::zip(values, tensors))
      for (auto [dim, factors] : llvm::enumerate(dims))
        if (factors.size() != 1 &&
            (isTied(value, dim) || llvm::any_of(factors, [&](unsigned factor) {
               return isTied(node, factor);
             })))
          return true;
    return false;
  };
  return anyMixes(node.op->getOperands(), node.rule.operands) ||
         anyMixes(node.op->getResults(), node.rule.results);
}

/// Whether an op takes an order; tries it on a copy.
static bool takesOrder(Operation *op, unsigned factor, nn::ZigzagAttr order) {
  Operation *copy = op->clone();
  bool takes =
      cast<ShardingRuleOpInterface>(copy).setPositionOrder(factor, order);
  copy->destroy();
  return takes;
}

std::string SequenceDims::findRefusal(const Node &node,
                                      nn::ZigzagAttr order) const {
  bool isAny = false, isPositional = false, isOther = false;
  for (auto [i, factor] : llvm::enumerate(node.rule.factors)) {
    if (!isTied(node, i)) {
      isOther |= factor.positional;
      continue;
    }
    isAny = true;
    isPositional |= factor.positional;
    if (factor.size != order.getSize())
      return llvm::formatv("has {0} elements of a sequence of {1}", factor.size,
                           order.getSize());
    if (factor.kind == FactorKind::Replicated)
      return "needs the sequence in its order";
    if (factor.positional && !takesOrder(node.op, i, order))
      return "depends on positions, and takes no order";
  }
  if (mixes(node))
    return "mixes the sequence with another dimension";
  if (isPositional && isOther)
    return "depends on positions along another dimension, too";
  auto constant = dyn_cast<arith::ConstantOp>(node.op);
  if (isAny && constant && !isa<SplatElementsAttr>(constant.getValue()))
    return "has a number for each position";
  if (isAny && !node.hasRule && !node.op->hasTrait<OpTrait::IsTerminator>())
    return "is not known to keep the sequence apart";
  return "";
}

/// The number of devices over all axes that seeds shard tied dimensions over:
/// the padded sequence is a multiple of it.
int64_t SequenceDims::countShards(const Mesh &mesh) {
  llvm::SmallBitVector axes(mesh.sizes.size());
  auto add = [&](Value value, dist::ShardingAttr attr) {
    if (!attr)
      return;
    for (auto [dim, sharding] : llvm::enumerate(attr.toSharding(mesh).dims))
      if (isTied(value, dim))
        for (const AxisRef &axis : sharding.axes)
          axes.set(axis.axis);
  };
  for (BlockArgument argument : func.getArguments())
    add(argument, dist::getSharding(argument));
  for (const Node &node : nodes)
    for (Value result : node.op->getResults())
      add(result, dist::getSharding(result));
  Operation *end = func.getFunctionBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands()))
    add(value, dist::getResultSharding(func, i));
  int64_t shards = 1;
  for (unsigned axis : axes.set_bits())
    shards *= mesh.sizes[axis];
  return shards;
}

std::string SequenceDims::findRefusal(nn::ZigzagAttr order, const Mesh &mesh) {
  if (int64_t shards = countShards(mesh); order.getSize() % shards != 0)
    return llvm::formatv("{0} devices share its {1} elements, which they do "
                         "not divide",
                         shards, order.getSize());
  for (BlockArgument argument : func.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (func.getArgAttr(argument.getArgNumber(), nn::NNDialect::kInputAttr) ||
        !type)
      continue;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (isTied(argument, dim))
        return llvm::formatv("argument {0} is no input, but has the sequence",
                             argument.getArgNumber());
  }
  for (const Node &node : nodes)
    if (node.op->hasTrait<OpTrait::IsTerminator>())
      continue;
    else if (std::string reason = findRefusal(node, order); !reason.empty())
      return node.op->getName().getStringRef().str() + " " + reason;
  return "";
}

/// The order of each dimension of a value; null if none has one.
ArrayAttr SequenceDims::getOrders(Value value, nn::ZigzagAttr order) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return {};
  MLIRContext *context = value.getContext();
  SmallVector<Attribute> orders(type.getRank(), UnitAttr::get(context));
  bool isAny = false;
  for (auto [dim, attr] : llvm::enumerate(orders))
    if (isTied(value, dim)) {
      attr = order;
      isAny = true;
    }
  return isAny ? ArrayAttr::get(context, orders) : ArrayAttr();
}

void SequenceDims::set(nn::ZigzagAttr order) {
  for (const Node &node : nodes)
    for (auto [i, factor] : llvm::enumerate(node.rule.factors))
      if (factor.positional && isTied(node, i))
        cast<ShardingRuleOpInterface>(node.op).setPositionOrder(i, order);
  for (BlockArgument argument : func.getArguments())
    if (ArrayAttr orders = getOrders(argument, order))
      func.setArgAttr(argument.getArgNumber(), nn::NNDialect::kOrderAttr,
                      orders);
  Operation *end = func.getFunctionBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands()))
    if (ArrayAttr orders = getOrders(value, order))
      func.setResultAttr(i, nn::NNDialect::kOrderAttr, orders);
}

//===----------------------------------------------------------------------===//
// Which order
//===----------------------------------------------------------------------===//

/// The attention with the most work; null if there is none.
static nn::AttentionOp findLargest(FunctionOpInterface func) {
  nn::AttentionOp largest;
  double most = 0;
  func.walk([&](nn::AttentionOp op) {
    ArrayRef<int64_t> q = op.getQ().getType().getShape();
    ArrayRef<int64_t> v = op.getV().getType().getShape();
    double pairs = countPairs(0, q[1], v[1], op.getCausal(), op.getWindow());
    double work = pairs * double(q[0] * q[2] * q[3]) * double(q[4] + v[3]);
    if (work <= most)
      return;
    most = work;
    largest = op;
  });
  return largest;
}

/// The problem that the attention will have in the training step.
static ContextProblem getProblemInStep(nn::AttentionOp attention,
                                       const SequenceContext &context,
                                       ModuleOp module) {
  auto attr =
      module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr);
  bool isTrained = attr && !attr.getPlan().forward;
  ContextProblem problem = getContextProblem(attention, context, isTrained);
  if (attr) {
    int64_t batch = attention.getQ().getType().getDimSize(0);
    problem.batch =
        llvm::divideCeil(llvm::divideCeil(batch, attr.getPlan().microBatches),
                         numShards(context.batch));
  }
  if (isTrained && attr.getPlan().precision != Precision::F32)
    problem.elementBytes = 2;
  return problem;
}

/// The zig-zag order that would balance the largest attention of a function;
/// null if none would.
static FailureOr<nn::ZigzagAttr> chooseOrder(nn::AttentionOp attention,
                                             SequenceContext context,
                                             ModuleOp module) {
  int64_t size = attention.getQ().getType().getDimSize(1);
  if (!attention.getCausal() || attention.getWindow() ||
      size != attention.getK().getType().getDimSize(1))
    return nn::ZigzagAttr();
  context.isOrdered = true;
  ContextProblem problem = getProblemInStep(attention, context, module);
  if (llvm::Error error = problem.check())
    return attention.emitOpError(llvm::toString(std::move(error)));
  llvm::Expected<ContextChoice> choice = chooseContext(problem, context.method);
  if (!choice)
    return attention.emitOpError(llvm::toString(choice.takeError()));
  int64_t shards =
      numShards(getContextAxes(problem, choice->get().method).query);
  if (shards < 2 || size % (2 * shards) != 0)
    return nn::ZigzagAttr();
  return nn::ZigzagAttr::get(attention.getContext(), shards, size);
}

namespace {
struct OrderSequencePass
    : tessera::impl::OrderSequencePassBase<OrderSequencePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    StringRef name = dist::DistDialect::kContextAttr;
    auto attr = module->getAttrOfType<DictionaryAttr>(name);
    if (!attr)
      return;
    FailureOr<SequenceContext> context = readContext(module);
    if (failed(context))
      return signalPassFailure();
    bool isOrdered = false;
    for (auto func : module.getOps<FunctionOpInterface>())
      if (!func.isExternal() && failed(order(func, *context, isOrdered)))
        return signalPassFailure();
    NamedAttrList entries(attr);
    if (isOrdered)
      entries.set("ordered", UnitAttr::get(&getContext()));
    module->setAttr(name, entries.getDictionary(&getContext()));
  }

  LogicalResult order(FunctionOpInterface func, const SequenceContext &context,
                      bool &isOrdered) {
    nn::AttentionOp attention = findLargest(func);
    if (!attention)
      return success();
    FailureOr<nn::ZigzagAttr> order =
        chooseOrder(attention, context, getOperation());
    if (failed(order) || !*order)
      return order;
    SequenceDims dims(func);
    std::string refusal = dims.findRefusal(*order, context.mesh);
    if (!refusal.empty()) {
      remark::missed(
          func.getLoc(),
          remark::RemarkOpts::name("SequenceOrder").category("strategy"))
          << remark::add("the sequence stays in plain order: {0}", refusal);
      return success();
    }
    dims.set(*order);
    isOrdered = true;
    return success();
  }
};
} // namespace
