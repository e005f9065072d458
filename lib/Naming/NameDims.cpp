//===- NameDims.cpp - Names the dimensions of arguments -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A class of dimensions takes the first name that it is given: by the user, by
// ops that know their dimensions, by the weights that it lies between.
//
//===----------------------------------------------------------------------===//

#include "DimClasses.h"
#include "WeightRoles.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "tessera/Interfaces/LogicalDimsOpInterface.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include "tessera/Naming/Passes.h"

#include "mlir/IR/Remarks.h"

namespace tessera {
#define GEN_PASS_DEF_NAMEDIMSPASS
#include "tessera/Naming/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// Matmuls and softmaxes of a function.
struct Matmuls {
  std::vector<WeightUse> ofWeights;
  /// Each class that a weight gives a result.
  llvm::DenseSet<unsigned> made;
  /// Classes that a matmul of two other values keeps apart as it sums over
  /// another one.
  llvm::SetVector<unsigned> kept;
  /// Classes that a softmax keeps apart.
  llvm::DenseSet<unsigned> softmaxRows;
};

class NameDimsPass : public tessera::impl::NameDimsPassBase<NameDimsPass> {
public:
  using NameDimsPassBase::NameDimsPassBase;
  void runOnOperation() override;

private:
  LogicalResult readGiven(DimClasses &dims);
  void readAttributes(DimClasses &dims);
  void nameByOps(DimClasses &dims, bool isLookup);
  void nameHeads(DimClasses &dims, const Matmuls &matmuls);
  void nameByWeights(DimClasses &dims, const Matmuls &matmuls);
  void nameLogits(DimClasses &dims, const Matmuls &matmuls);
  void nameBatch(DimClasses &dims, const Matmuls &matmuls);
  void nameSamples(DimClasses &dims);
  void nameSequence(DimClasses &dims);
  void writeArguments(DimClasses &dims);
  void writeResidualStream(DimClasses &dims);
  void reportUnnamed(DimClasses &dims);
};

} // namespace

//===----------------------------------------------------------------------===//
// Sources of names
//===----------------------------------------------------------------------===//

/// Reads the option: `ids=batch,seq;mask=batch`.
LogicalResult NameDimsPass::readGiven(DimClasses &dims) {
  SmallVector<StringRef> rows;
  StringRef(given).split(rows, ';', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef row : rows) {
    auto [name, list] = row.split('=');
    SmallVector<StringRef> words;
    list.split(words, ',');
    Value found;
    for (BlockArgument argument : getOperation().getArguments())
      for (StringRef attr :
           {nn::NNDialect::kParamAttr, nn::NNDialect::kInputAttr}) {
        auto text = getOperation().getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), attr);
        if (text && text.getValue() == name)
          found = argument;
      }
    if (!found)
      return getOperation().emitError(
                 "expects dims of an argument but has none named ")
             << name;
    if (!findTensorType(found) ||
        findTensorType(found).getRank() != int64_t(words.size()))
      return getOperation().emitError("expects a name for each dimension of ")
             << name << ", " << found.getType() << ", but got " << list;
    for (auto [dim, word] : llvm::enumerate(words))
      dims.name(found, dim, word);
  }
  return success();
}

/// Reads the names that the graph gives.
void NameDimsPass::readAttributes(DimClasses &dims) {
  auto read = [&](Value value, Attribute attr) {
    auto words = dyn_cast_or_null<ArrayAttr>(attr);
    if (!words || !findTensorType(value))
      return;
    for (auto [dim, word] : llvm::enumerate(words.getAsRange<StringAttr>()))
      dims.name(value, dim, word.getValue());
  };
  func::FuncOp function = getOperation();
  for (BlockArgument argument : function.getArguments())
    read(argument, function.getArgAttr(argument.getArgNumber(),
                                       nn::NNDialect::kDimsAttr));
  function.walk([&](Operation *op) {
    if (op->getNumResults() == 1)
      read(op->getResult(0), op->getDiscardableAttr(nn::NNDialect::kDimsAttr));
  });
}

/// Takes the names that ops give their dimensions: lookups, or all others.
void NameDimsPass::nameByOps(DimClasses &dims, bool isLookup) {
  getOperation().walk([&](LogicalDimsOpInterface op) {
    if (isa<nn::EmbeddingOp>(op) == isLookup)
      op.nameDims([&](Value tensor, int64_t dim, StringRef name) {
        dims.name(tensor, dim, name);
      });
  });
  if (isLookup)
    return;
  getOperation().walk([&](nn::ExpertsOp op) {
    dims.name(op.getWGate(), 0, "experts");
    dims.name(op.getWGate(), 2, "ffn");
  });
}

/// Finds the parameter from which alone, and from constants, a value follows;
/// null if there is none.
static BlockArgument findWeight(const DimClasses &dims, Value value) {
  while (Operation *op = value.getDefiningOp()) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      if (!dims.isConstant(operand))
        operands.push_back(operand);
    if (operands.size() != 1 || op->getNumRegions() != 0)
      return nullptr;
    value = operands.front();
  }
  auto argument = cast<BlockArgument>(value);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function && function.getArgAttr(argument.getArgNumber(),
                                         nn::NNDialect::kParamAttr)
             ? argument
             : nullptr;
}

/// Reads a matmul of a weight and another value.
static void readWeight(const DimClasses &dims, nn::EinsumOp op, bool isLeft,
                       BlockArgument weight, Matmuls &matmuls) {
  auto letters = op.getLetters();
  StringRef own = isLeft ? letters.lhs : letters.rhs;
  StringRef other = isLeft ? letters.rhs : letters.lhs;
  Value x = isLeft ? op.getRhs() : op.getLhs();
  WeightUse use{
      weight.getArgNumber(), std::nullopt, std::nullopt,
      findTensorType(isLeft ? op.getLhs() : op.getRhs()).getNumElements()};
  for (auto [dim, letter] : llvm::enumerate(other))
    if (!use.taken && own.contains(letter) &&
        !letters.result.contains(letter) &&
        findTensorType(x).getDimSize(dim) > 1)
      use.taken = dims.classOf(x, dim);
  for (auto [dim, letter] : llvm::enumerate(letters.result)) {
    if (!own.contains(letter) || other.contains(letter))
      continue;
    unsigned number = dims.classOf(op.getResult(), dim);
    matmuls.made.insert(number);
    if (!use.made && op.getType().getDimSize(dim) > 1)
      use.made = number;
  }
  matmuls.ofWeights.push_back(use);
}

/// Reads a convolution by a weight, which takes and makes channels. One of
/// several groups keeps the groups apart, and so passes its channels on.
static void readWeight(const DimClasses &dims, nn::ConvolutionOp op,
                       Matmuls &matmuls) {
  BlockArgument weight = findWeight(dims, op.getWeight());
  if (!weight || dims.isConstant(op.getX()) ||
      op.getWeight().getType().getDimSize(0) != 1)
    return;
  auto find = [&](Value value) -> std::optional<unsigned> {
    if (findTensorType(value).getDimSize(2) == 1)
      return std::nullopt;
    return dims.classOf(value, 2);
  };
  WeightUse use{weight.getArgNumber(), find(op.getX()), find(op.getResult()),
                op.getWeight().getType().getNumElements()};
  if (use.made)
    matmuls.made.insert(*use.made);
  matmuls.ofWeights.push_back(use);
}

static Matmuls readMatmuls(func::FuncOp function, const DimClasses &dims) {
  Matmuls matmuls;
  function.walk([&](nn::ConvolutionOp op) { readWeight(dims, op, matmuls); });
  function.walk([&](nn::EinsumOp op) {
    BlockArgument left = findWeight(dims, op.getLhs());
    BlockArgument right = findWeight(dims, op.getRhs());
    if (bool(left) != bool(right))
      return readWeight(dims, op, bool(left), left ? left : right, matmuls);
    auto letters = op.getLetters();
    bool sums = llvm::any_of(letters.lhs, [&](char letter) {
      return !letters.result.contains(letter);
    });
    for (auto [dim, letter] : llvm::enumerate(letters.result))
      if (sums && !left && letters.lhs.contains(letter) &&
          letters.rhs.contains(letter))
        matmuls.kept.insert(dims.classOf(op.getResult(), dim));
  });
  function.walk([&](nn::SoftmaxOp op) {
    for (int64_t dim : llvm::seq(op.getX().getType().getRank()))
      if (dim != int64_t(op.getDim()))
        matmuls.softmaxRows.insert(dims.classOf(op.getX(), dim));
  });
  return matmuls;
}

/// Whether a dimension of this name is between two weights of a layer, or
/// beyond the last one.
static bool isInner(StringRef name) {
  return name == "kv_heads" || name == "q_per_kv" || name == "ffn" ||
         name == "vocab" || name == "experts";
}

/// Names the heads: what a weight makes and matmuls of two other values, of
/// queries and keys or scores and values, keep apart.
void NameDimsPass::nameHeads(DimClasses &dims, const Matmuls &matmuls) {
  for (unsigned number : matmuls.kept)
    if (matmuls.made.contains(number))
      dims.name(number, "kv_heads");
}

/// Names the stream and the classes within layers.
void NameDimsPass::nameByWeights(DimClasses &dims, const Matmuls &matmuls) {
  llvm::DenseSet<unsigned> normalized;
  getOperation().walk([&](Operation *op) {
    if (isa<nn::LayerNormOp, nn::RMSNormOp>(op))
      normalized.insert(dims.classOf(
          op->getOperand(0), findTensorType(op->getOperand(0)).getRank() - 1));
  });
  WeightRoles roles = findWeightRoles(
      matmuls.ofWeights,
      [&](unsigned number) { return normalized.contains(number); },
      [&](unsigned number) { return !dims.getName(number).empty(); },
      [&](unsigned number) { return isInner(dims.getName(number)); });
  if (roles.stream)
    dims.name(*roles.stream, "embed");
  for (unsigned number : roles.inner)
    dims.name(number,
              matmuls.softmaxRows.contains(number) ? "kv_heads" : "ffn");
}

/// Names the last dimension of the result "logits", if a weight makes it.
void NameDimsPass::nameLogits(DimClasses &dims, const Matmuls &matmuls) {
  func::FuncOp function = getOperation();
  Operation *terminator = function.getBody().back().getTerminator();
  for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
    auto name = function.getResultAttrOfType<StringAttr>(
        number, nn::NNDialect::kOutputAttr);
    RankedTensorType type = findTensorType(value);
    if (!name || name.getValue() != "logits" || !type || type.getRank() == 0)
      continue;
    if (matmuls.made.contains(dims.classOf(value, type.getRank() - 1)))
      dims.name(value, type.getRank() - 1, "vocab");
  }
}

/// Names the dimension that matmuls around a softmax keep and no weight makes.
void NameDimsPass::nameBatch(DimClasses &dims, const Matmuls &matmuls) {
  for (unsigned number : matmuls.kept)
    if (matmuls.softmaxRows.contains(number) && !matmuls.made.contains(number))
      return dims.name(number, "batch");
}

/// Whether an op computes elements along a class each from elements at its own
/// place. A sum over all of them may only end in a number, such as a loss.
static bool keepsApart(Operation *op, const DimClasses &dims, unsigned number) {
  bool hasRule = true;
  ShardingRule rule = getShardingRule(op, &hasRule);
  bool isSum = llvm::all_of(op->getResults(), [](Value result) {
    RankedTensorType type = findTensorType(result);
    return type && type.getRank() == 0;
  });
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    RankedTensorType type = findTensorType(operand);
    for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
      if (dims.classOf(operand, dim) != number)
        continue;
      if (!hasRule || rule.operands[index][dim].empty())
        return false;
      unsigned factor = getMajorFactor(rule, rule.operands[index][dim]);
      FactorKind kind = rule.factors[factor].kind;
      if (kind != FactorKind::Parallel &&
          !(kind == FactorKind::Reduction && isSum))
        return false;
    }
  }
  return true;
}

/// Names the samples of a graph in which nothing else says what they are: the
/// first dimension of an input, if all ops keep them apart.
void NameDimsPass::nameSamples(DimClasses &dims) {
  func::FuncOp function = getOperation();
  SmallVector<BlockArgument> inputs;
  for (BlockArgument argument : function.getArguments()) {
    RankedTensorType type = findTensorType(argument);
    if (!function.getArgAttr(argument.getArgNumber(),
                             nn::NNDialect::kInputAttr) ||
        !type || type.getRank() == 0 ||
        llvm::all_of(argument.getUsers(), [](Operation *user) {
          return user->hasTrait<OpTrait::IsTerminator>();
        }))
      continue;
    for (int64_t dim : llvm::seq(type.getRank()))
      if (dims.getName(argument, dim) == "batch")
        return;
    inputs.push_back(argument);
  }
  for (BlockArgument input : inputs) {
    unsigned number = dims.classOf(input, 0);
    if (dims.getName(number).empty() &&
        !function
             .walk([&](Operation *op) {
               return op->hasTrait<OpTrait::IsTerminator>() ||
                              keepsApart(op, dims, number)
                          ? WalkResult::advance()
                          : WalkResult::interrupt();
             })
             .wasInterrupted())
      return dims.name(number, "batch");
  }
}

/// Names the dimension that a value has next to "batch" and "embed".
void NameDimsPass::nameSequence(DimClasses &dims) {
  getOperation().walk([&](Operation *op) {
    for (Value value : op->getResults()) {
      RankedTensorType type = findTensorType(value);
      if (!type || type.getRank() != 3 || dims.isConstant(value))
        continue;
      auto is = [&](StringRef name) {
        return llvm::any_of(llvm::seq(3), [&](int64_t dim) {
          return dims.getName(value, dim) == name;
        });
      };
      if (is("batch") && is("embed"))
        for (int64_t dim : llvm::seq(3))
          dims.name(value, dim, "seq");
    }
  });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The names of a value's dimensions; "other" for those without one.
static ArrayAttr getNames(const DimClasses &dims, Value value) {
  Builder builder(value.getContext());
  SmallVector<Attribute> names;
  for (int64_t dim = 0; dim < findTensorType(value).getRank(); ++dim) {
    StringRef name = dims.getName(value, dim);
    names.push_back(builder.getStringAttr(name.empty() ? "other" : name));
  }
  return builder.getArrayAttr(names);
}

/// True if a dimension of the value has a name.
static bool hasName(const DimClasses &dims, Value value) {
  RankedTensorType type = findTensorType(value);
  return type && llvm::any_of(llvm::seq(type.getRank()), [&](int64_t dim) {
           return !dims.getName(value, dim).empty();
         });
}

/// Names the dimensions of arguments of which one has a name. If there are
/// parameters among these, all parameters get names: a strategy shards the
/// state of those that it knows. In a graph with shardings of its own,
/// propagation chooses those of the others.
void NameDimsPass::writeArguments(DimClasses &dims) {
  func::FuncOp function = getOperation();
  auto hasAttr = [&](BlockArgument argument, StringRef name) {
    return bool(function.getArgAttr(argument.getArgNumber(), name));
  };
  bool isSharded = false, hasNamed = false;
  for (BlockArgument argument : function.getArguments()) {
    isSharded |= hasAttr(argument, dist::DistDialect::kShardingAttr);
    hasNamed |=
        hasAttr(argument, nn::NNDialect::kParamAttr) && hasName(dims, argument);
  }
  bool namesAll = hasNamed && !isSharded;
  for (BlockArgument argument : function.getArguments()) {
    RankedTensorType type = findTensorType(argument);
    if (!type || type.getRank() == 0)
      continue;
    if (hasName(dims, argument) ||
        (namesAll && hasAttr(argument, nn::NNDialect::kParamAttr)))
      function.setArgAttr(argument.getArgNumber(), nn::NNDialect::kDimsAttr,
                          getNames(dims, argument));
  }
}

/// Whether an op adds a tensor to the residual stream, not a vector.
static bool addsTensors(Operation *op) {
  return isa<arith::AddFOp>(op) && findTensorType(op->getResult(0)) &&
         llvm::none_of(op->getOperands(), [](Value operand) {
           auto broadcast = operand.getDefiningOp<nn::BroadcastOp>();
           return broadcast && findTensorType(broadcast.getX()).getRank() < 2;
         });
}

/// Writes dimension names where strategies shard the residual stream: at its
/// sums, and at embeddings that are not only summed.
void NameDimsPass::writeResidualStream(DimClasses &dims) {
  Builder builder(&getContext());
  ArrayAttr order = builder.getStrArrayAttr({"batch", "seq", "embed"});
  getOperation().walk([&](Operation *op) {
    bool isSeam =
        addsTensors(op) || (isa<nn::EmbeddingOp>(op) &&
                            !llvm::all_of(op->getUsers(), addsTensors));
    if (!isSeam)
      return;
    ArrayAttr names = getNames(dims, op->getResult(0));
    if (names.size() == order.size() &&
        llvm::all_of(order, [&](Attribute name) {
          return llvm::is_contained(names, name);
        }))
      op->setDiscardableAttr(nn::NNDialect::kDimsAttr, names);
  });
}

/// Reports each weight of a matmul that no strategy can shard.
void NameDimsPass::reportUnnamed(DimClasses &dims) {
  for (BlockArgument argument : getOperation().getArguments()) {
    unsigned number = argument.getArgNumber();
    auto name = getOperation().getArgAttrOfType<StringAttr>(
        number, nn::NNDialect::kParamAttr);
    bool isWeight =
        name && llvm::any_of(argument.getUsers(), [](Operation *op) {
          return isa<nn::EinsumOp, nn::ConvolutionOp>(op);
        });
    auto words = getOperation().getArgAttrOfType<ArrayAttr>(
        number, nn::NNDialect::kDimsAttr);
    if (isWeight &&
        (!words ||
         llvm::is_contained(words, StringAttr::get(&getContext(), "other"))))
      remark::missed(argument.getLoc(),
                     remark::RemarkOpts::name("UnnamedDims").category("import"))
          << remark::add("{0}", name.getValue());
  }
}

void NameDimsPass::runOnOperation() {
  DimClasses dims(getOperation());
  if (failed(readGiven(dims)))
    return signalPassFailure();
  readAttributes(dims);
  nameByOps(dims, /*isLookup=*/false);
  Matmuls matmuls = readMatmuls(getOperation(), dims);
  nameHeads(dims, matmuls);
  nameByWeights(dims, matmuls);
  nameLogits(dims, matmuls);
  nameBatch(dims, matmuls);
  nameByOps(dims, /*isLookup=*/true);
  nameSamples(dims);
  nameSequence(dims);
  writeArguments(dims);
  writeResidualStream(dims);
  reportUnnamed(dims);
}
