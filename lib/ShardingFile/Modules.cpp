//===- Modules.cpp - Activations around a source's modules ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linear layer of the source, with its features as heads, and its module:
//
//     %y = nn.einsum "bsd,dhk->bshk" %x, %w    loc("model.py:8"("module:q"))
//     %x over [dp], [], []    %y over [dp], [], [tp], []
//
//     "q": {"input": [["dp"], [], []], "output": [["dp"], [], ["tp"]]}
//
//===----------------------------------------------------------------------===//

#include "Modules.h"
#include "dialects/Dist/Dist.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Interfaces/ModelBlocks.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include "tessera/Training/MatrixUses.h"

using namespace mlir;
using namespace tessera;

/// Begins the location that names a module.
static constexpr llvm::StringLiteral kModulePrefix = "module:";

/// The module that a location names; empty if it names none, or several.
static StringRef getModulePath(Location loc) {
  StringRef path;
  bool isOne = true;
  loc->walk([&](Location inner) {
    auto name = dyn_cast<NameLoc>(inner);
    StringRef text = name ? name.getName().getValue() : "";
    if (text.consume_front(kModulePrefix)) {
      isOne &= path.empty() || path == text;
      path = text;
    }
    return WalkResult::advance();
  });
  return isOne ? path : "";
}

/// The operand of an op of two tensors that is a parameter as a matrix; null if
/// there is none.
static OpOperand *findMatrix(Operation *op) {
  if (op->getNumOperands() != 2 || op->getNumResults() != 1)
    return nullptr;
  for (OpOperand &use : op->getOpOperands()) {
    BlockArgument root = getRootArgument(use.get());
    if (root && getParameterName(root) && readsMatrix(use))
      return &use;
  }
  return nullptr;
}

namespace {

/// Joins neighbouring dimensions to one.
class JoinedDim {
public:
  /// Adds a minor dimension. Returns false if it shards what is not divided to
  /// one element before, or does not divide.
  bool add(int64_t size, ArrayRef<AxisRef> own) {
    int64_t shards = numShards(own);
    if (!own.empty() && (!mayHaveMore || (size % shards != 0 && !isFirst)))
      return false;
    mayHaveMore &= shards == size;
    isFirst = false;
    axes.append(own.begin(), own.end());
    return true;
  }
  AxisList get() const { return mergeAdjacent(axes); }

private:
  AxisList axes;
  bool isFirst = true, mayHaveMore = true;
};

/// The one op of a module with a matrix.
class MatrixOp {
public:
  MatrixOp(Operation *op, unsigned matrix, const Mesh &mesh)
      : op(op), matrix(matrix), mesh(mesh),
        rule(cast<ShardingRuleOpInterface>(op).getShardingRule()),
        input(rule.operands[1 - matrix]), own(rule.operands[matrix]) {}

  /// Fails if the features have no axes as one dimension.
  std::optional<ShardedModule> getModule();

private:
  Sharding getSharding(Value value) const;
  bool isSummed(const DimFactors &dim) const {
    return llvm::any_of(dim, [&](unsigned f) { return rule.isReduced(f); });
  }
  Value getOutput() const;
  std::optional<DimAxes> joinInput() const;
  std::optional<DimAxes> joinOutput(const Sharding &sharding) const;
  AxisList getAxes(unsigned operand, unsigned factor) const;
  AxisList getPartial() const;

  Operation *op;
  unsigned matrix;
  const Mesh &mesh;
  ShardingRule rule;
  const TensorFactors &input, &own;
};

} // namespace

Sharding MatrixOp::getSharding(Value value) const {
  if (dist::ShardingAttr attr = dist::getSharding(value))
    return attr.toSharding(mesh);
  return Sharding::replicatedOf(
      cast<RankedTensorType>(value.getType()).getRank());
}

/// The value after what the module computes of the op's result alone, such as
/// the addition of a bias.
Value MatrixOp::getOutput() const {
  Value value = op->getResult(0);
  StringRef path = getModulePath(op->getLoc());
  while (true) {
    SmallVector<Operation *> users;
    for (Operation *user : value.getUsers())
      if (!user->hasAttr(dist::DistDialect::kBackwardAttr))
        users.push_back(user);
    if (users.size() != 1 || users.front()->getNumResults() != 1 ||
        getModulePath(users.front()->getLoc()) != path ||
        users.front()->getResult(0).getType() != value.getType())
      return value;
    value = users.front()->getResult(0);
  }
}

std::optional<DimAxes> MatrixOp::joinInput() const {
  Value value = op->getOperand(1 - matrix);
  Sharding sharding = getSharding(value);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  DimAxes dims;
  JoinedDim features;
  bool hasFeatures = false;
  for (auto [i, factors] : llvm::enumerate(input)) {
    const AxisList &axes = sharding.dims[i].axes;
    if (!isSummed(factors)) {
      dims.push_back(axes);
      continue;
    }
    hasFeatures = true;
    if (!features.add(shape[i], axes))
      return std::nullopt;
  }
  if (hasFeatures)
    dims.push_back(features.get());
  return dims;
}

std::optional<DimAxes> MatrixOp::joinOutput(const Sharding &sharding) const {
  const TensorFactors &result = rule.results.front();
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  DimAxes dims;
  for (const DimFactors &factors : input) {
    if (isSummed(factors))
      continue;
    AxisList &axes = dims.emplace_back();
    for (auto [i, dim] : llvm::enumerate(result))
      if (!factors.empty() && dim == factors)
        axes = sharding.dims[i].axes;
  }
  JoinedDim features;
  for (const DimFactors &factors : own)
    for (auto [i, dim] : llvm::enumerate(result))
      if (!factors.empty() && dim == factors &&
          !features.add(shape[i], sharding.dims[i].axes))
        return std::nullopt;
  dims.push_back(features.get());
  return dims;
}

/// The axes over which an operand has a factor.
AxisList MatrixOp::getAxes(unsigned operand, unsigned factor) const {
  Sharding sharding = getSharding(op->getOperand(operand));
  for (auto [i, dim] : llvm::enumerate(rule.operands[operand]))
    if (dim.size() == 1 && dim.front() == factor)
      return sharding.dims[i].axes;
  return {};
}

/// The axes over which the op sums parts: what both operands have of a factor
/// that is summed over, or the one that has it.
AxisList MatrixOp::getPartial() const {
  AxisList partial;
  auto decided = op->getAttrOfType<ArrayAttr>(dist::DistDialect::kFactorsAttr);
  for (unsigned f = 0, e = rule.factors.size(); f < e; ++f) {
    if (!rule.isReduced(f))
      continue;
    if (decided && f < decided.size()) {
      partial.append(cast<dist::AxesAttr>(decided[f]).toAxes(mesh));
      continue;
    }
    AxisList ofMatrix = getAxes(matrix, f), ofInput = getAxes(1 - matrix, f);
    if (!hasFactor(input, f))
      partial.append(ofMatrix);
    else
      partial.append(commonPrefix(ofMatrix, ofInput));
  }
  return mergeAdjacent(partial);
}

std::optional<ShardedModule> MatrixOp::getModule() {
  // A factor of all three tensors would be a matmul for each element.
  for (const DimFactors &dim : own)
    for (unsigned f : dim)
      if (hasFactor(input, f) && !rule.isReduced(f))
        return std::nullopt;
  std::optional<DimAxes> in = joinInput();
  std::optional<DimAxes> out = joinOutput(getSharding(getOutput()));
  if (!in || !out)
    return std::nullopt;
  return ShardedModule{*in, *out, getPartial()};
}

std::map<std::string, ShardedModule> tessera::findModules(ModuleOp module,
                                                          const Mesh &mesh) {
  // Several ops of one module: null.
  llvm::MapVector<StringRef, OpOperand *> found;
  for (auto func : module.getOps<FunctionOpInterface>()) {
    if (func.isExternal())
      continue;
    for (Block *block : dist::getBlocks(func))
      for (Operation &op : *block) {
        StringRef path = getModulePath(op.getLoc());
        if (path.empty() || op.hasAttr(dist::DistDialect::kBackwardAttr))
          continue;
        if (OpOperand *use = findMatrix(&op))
          if (auto [it, isNew] = found.try_emplace(path, use); !isNew)
            it->second = nullptr;
      }
  }
  std::map<std::string, ShardedModule> modules;
  for (auto [path, use] : found) {
    if (!use)
      continue;
    MatrixOp op(use->getOwner(), use->getOperandNumber(), mesh);
    if (std::optional<ShardedModule> made = op.getModule())
      modules[path.str()] = *made;
  }
  return modules;
}
