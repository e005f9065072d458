//===- NameDims.cpp - Names the dimensions of arguments -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dimensions that an op ties by a factor form one class (union-find). Some ops
// know the names of their dimensions; a class takes the first name it is given.
//
//===----------------------------------------------------------------------===//

#include "TensorTypes.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "tessera/Interfaces/LogicalDimsOpInterface.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include "tessera/Raise/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {
#define GEN_PASS_DEF_NAMEDIMSPASS
#include "tessera/Raise/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// The classes of the dimensions of all values of a function.
class DimClasses {
public:
  explicit DimClasses(func::FuncOp function);

  /// Names a dimension's class, unless it has a name.
  void name(Value value, int64_t dim, StringRef name) {
    names.try_emplace(classOf(value, dim), name);
  }
  /// The name of a dimension's class; empty if it has none.
  StringRef getName(Value value, int64_t dim) const {
    return names.lookup(classOf(value, dim));
  }
  unsigned classOf(Value value, int64_t dim) const {
    return classes[first.lookup(value) + dim];
  }

private:
  void add(Value value) {
    if (RankedTensorType type = findTensorType(value)) {
      first[value] = count;
      count += type.getRank();
    }
  }
  void join(Operation *op);

  llvm::DenseMap<Value, unsigned> first;
  unsigned count = 0;
  llvm::IntEqClasses classes;
  llvm::DenseMap<unsigned, StringRef> names;
};

class NameDimsPass : public tessera::impl::NameDimsPassBase<NameDimsPass> {
public:
  using NameDimsPassBase::NameDimsPassBase;
  void runOnOperation() override;

private:
  LogicalResult readGiven(DimClasses &dims);
  void readAttributes(DimClasses &dims);
  void nameByOps(DimClasses &dims);
  void nameHidden(DimClasses &dims);
  void writeArguments(DimClasses &dims);
  void writeResidualStream(DimClasses &dims);
  void reportUnnamed(DimClasses &dims);
};

} // namespace

DimClasses::DimClasses(func::FuncOp function) {
  for (Value argument : function.getArguments())
    add(argument);
  function.walk([&](Operation *op) {
    for (Value result : op->getResults())
      add(result);
  });
  classes.grow(count);
  function.walk([&](Operation *op) { join(op); });
  classes.compress();
}

/// Ties the dimensions with the same major factor.
void DimClasses::join(Operation *op) {
  bool hasRule = true;
  ShardingRule rule = getShardingRule(op, &hasRule);
  if (!hasRule)
    return;
  llvm::DenseMap<unsigned, unsigned> member;
  auto visit = [&](ValueRange values, ArrayRef<TensorFactors> tensors) {
    for (auto [value, tensor] : llvm::zip(values, tensors))
      for (auto [dim, factors] : llvm::enumerate(tensor)) {
        auto known = first.find(value);
        if (factors.empty() || known == first.end())
          continue;
        unsigned number = known->second + dim;
        auto [other, isNew] = member.try_emplace(factors.front(), number);
        if (!isNew)
          classes.join(number, other->second);
      }
  };
  visit(op->getOperands(), rule.operands);
  visit(op->getResults(), rule.results);
}

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

/// Takes the names that ops give their dimensions.
void NameDimsPass::nameByOps(DimClasses &dims) {
  getOperation().walk([&](LogicalDimsOpInterface op) {
    op.nameDims([&](Value tensor, int64_t dim, StringRef name) {
      dims.name(tensor, dim, name);
    });
  });
  getOperation().walk([&](nn::ExpertsOp op) {
    dims.name(op.getWGate(), 0, "experts");
    dims.name(op.getWGate(), 2, "ffn");
  });
}

/// Names a dimension of an MLP: it has no name, and two or more weights share
/// it with "embed".
void NameDimsPass::nameHidden(DimClasses &dims) {
  llvm::MapVector<unsigned, SmallVector<std::pair<Value, int64_t>>> found;
  for (BlockArgument argument : getOperation().getArguments()) {
    RankedTensorType type = findTensorType(argument);
    if (!type || type.getRank() != 2)
      continue;
    for (int64_t dim : {0, 1})
      if (dims.getName(argument, dim).empty() &&
          dims.getName(argument, 1 - dim) == "embed")
        found[dims.classOf(argument, dim)].push_back({argument, dim});
  }
  for (auto &[number, members] : found)
    if (members.size() > 1)
      dims.name(members[0].first, members[0].second, "ffn");
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
  auto names =
      Builder(&getContext()).getStrArrayAttr({"batch", "seq", "embed"});
  getOperation().walk([&](Operation *op) {
    bool isSeam =
        addsTensors(op) || (isa<nn::EmbeddingOp>(op) &&
                            !llvm::all_of(op->getUsers(), addsTensors));
    if (isSeam && getNames(dims, op->getResult(0)) == names)
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
          return isa<nn::EinsumOp>(op);
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
  nameByOps(dims);
  nameHidden(dims);
  writeArguments(dims);
  writeResidualStream(dims);
  reportUnnamed(dims);
}
