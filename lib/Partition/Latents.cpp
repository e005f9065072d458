//===- Latents.cpp - The small values behind keys and values --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A minimum cut between attentions and the rest of a program. Each value has
// two nodes, with an edge of its bytes between them; other edges are infinite:
//
//     attention -> k -(96)-> k -> concat's operands
//                                   no position -(64)-> ... -> latent -(16)->
//                                   positions   -(32)-> ... -> one head -(8)->
//     attention -> v -(64)-> v -> latent
//
// The latents are the values with a crossed edge: here the latent and the one
// head of positions, of 24 bytes in place of 160.
//
//===----------------------------------------------------------------------===//

#include "tessera/Partition/Latents.h"
#include "dialects/Dist/Dist.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/Support/MinCut.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;

/// Returns the only dimension of a tensor that has `factor`, and no other one;
/// none if there is no such dimension.
static std::optional<unsigned> findOwnDim(const TensorFactors &tensor,
                                          unsigned factor) {
  std::optional<unsigned> found;
  for (auto [dim, factors] : llvm::enumerate(tensor))
    if (llvm::is_contained(factors, factor)) {
      if (found || factors.size() != 1)
        return std::nullopt;
      found = dim;
    }
  return found;
}

/// Returns the operands that an op needs element by element along `dim` of its
/// result; none if it is not known to work so.
static std::optional<SmallVector<SequenceUse, 2>>
getSequenceOperands(Operation *op, unsigned dim) {
  if (op->getNumRegions() != 0 || op->getNumResults() != 1 || !isPure(op))
    return std::nullopt;
  bool hasRule = true;
  ShardingRule rule = getShardingRule(op, &hasRule);
  if (!hasRule || dim >= rule.results[0].size() ||
      rule.results[0][dim].size() != 1)
    return std::nullopt;
  unsigned factor = rule.results[0][dim].front();
  if (rule.factors[factor].kind != FactorKind::Parallel ||
      !findOwnDim(rule.results[0], factor))
    return std::nullopt;
  SmallVector<SequenceUse, 2> uses;
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands)) {
    if (!hasFactor(tensor, factor))
      continue;
    std::optional<unsigned> own = findOwnDim(tensor, factor);
    if (!own)
      return std::nullopt;
    uses.push_back({operand, *own});
  }
  return uses;
}

namespace {

/// The network of a function.
class LatentNetwork {
public:
  explicit LatentNetwork(FunctionOpInterface func);
  llvm::MapVector<Value, unsigned> cut() const;

private:
  /// A value that attentions need, and the values that it is computed from.
  struct Node {
    Value value;
    unsigned dim = kKeyDim;
    /// Uses by attentions and by the ops that compute their operands.
    unsigned uses = 0;
    /// It is an operand of an attention.
    bool isOperand = false;
    /// Two users take different dimensions for the sequence.
    bool isMixed = false;
    /// The nodes that it follows from; none for a source.
    std::optional<SmallVector<unsigned, 2>> operands;

    /// True if ops use the value that compute no keys and values.
    bool isShared() const {
      return isMixed || uses != llvm::range_size(value.getUses());
    }
  };

  Node &use(Value value, unsigned dim);
  void expand(Operation &op);

  std::vector<Node> nodes;
  llvm::DenseMap<Value, unsigned> numbers;
};

} // namespace

/// Returns the node of a value, which has one more use.
LatentNetwork::Node &LatentNetwork::use(Value value, unsigned dim) {
  auto [it, isNew] = numbers.try_emplace(value, nodes.size());
  if (isNew) {
    nodes.emplace_back();
    nodes.back().value = value;
    nodes.back().dim = dim;
  }
  Node &node = nodes[it->second];
  node.isMixed |= node.dim != dim;
  ++node.uses;
  return node;
}

/// Adds the operands of an attention, or of an op that computes keys or values
/// and nothing else.
void LatentNetwork::expand(Operation &op) {
  if (auto attention = dyn_cast<nn::AttentionOp>(op)) {
    use(attention.getK(), kKeyDim).isOperand = true;
    use(attention.getV(), kKeyDim).isOperand = true;
    return;
  }
  if (op.getNumResults() != 1)
    return;
  auto it = numbers.find(op.getResult(0));
  if (it == numbers.end() || nodes[it->second].isShared())
    return;
  unsigned number = it->second;
  auto found = getSequenceOperands(&op, nodes[number].dim);
  if (!found)
    return;
  SmallVector<unsigned, 2> operands;
  for (auto [value, dim] : *found) {
    use(value, dim);
    operands.push_back(numbers.lookup(value));
  }
  nodes[number].operands = std::move(operands);
}

/// Visits users before the ops that compute their operands.
LatentNetwork::LatentNetwork(FunctionOpInterface func) {
  for (Operation &op : llvm::reverse(func.getFunctionBody().front()))
    expand(op);
}

llvm::MapVector<Value, unsigned> LatentNetwork::cut() const {
  unsigned attentions = 2 * nodes.size(), sources = attentions + 1;
  MinCut network(sources + 1);
  for (auto [i, node] : llvm::enumerate(nodes)) {
    if (node.isOperand)
      network.addEdge(attentions, 2 * i, MinCut::kInfinite);
    bool isWhole = node.isShared() && !node.isOperand;
    network.addEdge(
        2 * i, 2 * i + 1,
        isWhole ? MinCut::kInfinite
                : static_cast<int64_t>(getTensorBytes(node.value.getType())));
    if (!node.operands)
      network.addEdge(2 * i + 1, sources, MinCut::kInfinite);
    else
      for (unsigned operand : *node.operands)
        network.addEdge(2 * i + 1, 2 * operand, MinCut::kInfinite);
  }
  std::vector<bool> isNeeded = network.cut(attentions, sources);
  llvm::MapVector<Value, unsigned> latents;
  for (auto [i, node] : llvm::enumerate(nodes))
    if (isNeeded[2 * i] && !isNeeded[2 * i + 1] && !node.isOperand)
      latents[node.value] = node.dim;
  return latents;
}

llvm::MapVector<Value, unsigned>
tessera::findLatents(FunctionOpInterface func) {
  return LatentNetwork(func).cut();
}

/// True for a constraint that keeps `dim` whole, as a latent has.
static bool isWholeAlong(dist::ConstraintOp op, unsigned dim) {
  dist::DimShardingAttr sharding = op.getSharding().getDims()[dim];
  return sharding.getAxes().empty() && !sharding.getOpen();
}

namespace {

/// The values from which keys or values follow, back to gathered latents.
struct LatentPath {
  llvm::SetVector<dist::ConstraintOp> latents;
  /// Values after the latents, and their dimensions of the sequence.
  llvm::SetVector<SequenceUse> values;

  /// Adds the path to keys or values; returns false if these do not come from
  /// latents.
  bool add(Value operand);
  bool sumsGradients() const {
    return llvm::any_of(latents, [](dist::ConstraintOp latent) {
      return latent.getWithGradient();
    });
  }
};

} // namespace

bool LatentPath::add(Value operand) {
  llvm::SetVector<SequenceUse> seen;
  seen.insert({operand, kKeyDim});
  llvm::SetVector<dist::ConstraintOp> found;
  for (size_t i = 0; i < seen.size(); ++i) {
    auto [value, dim] = seen[i];
    Operation *op = value.getDefiningOp();
    auto constraint = dyn_cast_or_null<dist::ConstraintOp>(op);
    if (constraint && isWholeAlong(constraint, dim))
      found.insert(constraint);
    else if (auto operands = op ? getSequenceOperands(op, dim) : std::nullopt)
      seen.insert_range(*operands);
  }
  if (found.empty())
    return false;
  for (SequenceUse use : seen)
    if (!found.contains(use.first.getDefiningOp<dist::ConstraintOp>()))
      values.insert(use);
  latents.insert_range(found);
  return true;
}

SmallVector<SequenceUse> tessera::listFromLatents(Value operand) {
  LatentPath path;
  path.add(operand);
  return path.values.takeVector();
}

/// Returns the dimension of the sequence of an op's result if the op is linear
/// in the operands `partial` and keeps the sequence; none otherwise.
static std::optional<unsigned>
findPartialDim(Operation *op, const llvm::SmallBitVector &partial,
               const llvm::MapVector<Value, unsigned> &dims) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface || op->getNumResults() != 1 || isa<dist::ConstraintOp>(op) ||
      !iface.commutesWithReduction(ReductionKind::Sum, partial))
    return std::nullopt;
  ShardingRule rule = getShardingRule(op);
  unsigned first = partial.find_first();
  const DimFactors &factors =
      rule.operands[first][dims.lookup(op->getOperand(first))];
  if (factors.size() != 1)
    return std::nullopt;
  return findOwnDim(rule.results[0], factors.front());
}

SmallVector<Value>
tessera::listPartialGradients(nn::AttentionBackwardOp backward) {
  llvm::MapVector<Value, unsigned> dims;
  // Uses that are not visited yet.
  int64_t uses = 0;
  for (auto [operand, gradient] :
       {std::pair<Value, Value>(backward.getK(), backward.getDk()),
        std::pair<Value, Value>(backward.getV(), backward.getDv())}) {
    LatentPath path;
    path.add(operand);
    if (!path.sumsGradients())
      continue;
    dims[gradient] = kKeyDim;
    uses += llvm::range_size(gradient.getUses());
  }
  for (Operation *op = backward; uses > 0;) {
    op = op->getNextNode();
    llvm::SmallBitVector partial(op->getNumOperands());
    for (auto [i, value] : llvm::enumerate(op->getOperands()))
      if (dims.contains(value))
        partial.set(i);
    uses -= partial.count();
    std::optional<unsigned> dim;
    if (partial.any())
      dim = findPartialDim(op, partial, dims);
    if (!dim)
      continue;
    dims[op->getResult(0)] = *dim;
    uses += llvm::range_size(op->getResult(0).getUses());
  }
  return llvm::to_vector(llvm::make_first_range(dims));
}

GatheredLatents tessera::getGatheredLatents(Value keys, Value values) {
  LatentPath path;
  GatheredLatents gathered;
  for (Value operand : {keys, values})
    if (!path.add(operand))
      gathered.bytes += getTensorBytes(operand.getType());
  if (path.latents.empty())
    return {};
  gathered.sumsGradients = path.sumsGradients();
  for (dist::ConstraintOp latent : path.latents)
    gathered.bytes += getTensorBytes(latent.getType());
  for (auto [value, dim] : path.values)
    if (Operation *op = value.getDefiningOp())
      gathered.flops += getOpCost(op).flops;
  return gathered;
}
