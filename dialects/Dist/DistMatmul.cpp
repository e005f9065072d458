//===- DistMatmul.cpp - Verifiers of collective matmuls -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

CollectiveOpInterface CollectiveMatmulOp::getCollective() {
  for (Operation &op : getBody().front())
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      return collective;
  return {};
}

SmallVector<Operation *> CollectiveMatmulOp::getMatmuls() {
  SmallVector<Operation *> matmuls;
  for (Operation &op : getBody().front().without_terminator())
    if (!isa<CollectiveOpInterface>(op))
      matmuls.push_back(&op);
  return matmuls;
}

YieldOp CollectiveMatmulOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

bool dist::isParallelIn(Operation *op, unsigned operand, int64_t dim,
                        unsigned &resultDim) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface || op->getNumOperands() != 2 || op->getNumResults() != 1)
    return false;
  ShardingRule rule = iface.getShardingRule();
  auto has = [&](const TensorFactors &tensor, int64_t at) {
    return at >= 0 && at < int64_t(tensor.size()) && tensor[at].size() == 1;
  };
  if (!has(rule.operands[operand], dim))
    return false;
  unsigned factor = rule.operands[operand][dim].front();
  if (rule.factors[factor].kind != FactorKind::Parallel ||
      rule.factors[factor].positional ||
      hasFactor(rule.operands[1 - operand], factor))
    return false;
  for (auto [at, factors] : llvm::enumerate(rule.results.front()))
    if (factors.size() == 1 && factors.front() == factor) {
      resultDim = at;
      return true;
    }
  return false;
}

std::optional<std::pair<unsigned, unsigned>>
dist::findParallelOperand(Operation *op, int64_t resultDim) {
  for (unsigned operand = 0; operand < op->getNumOperands(); ++operand) {
    auto type = dyn_cast<RankedTensorType>(op->getOperand(operand).getType());
    for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
      unsigned there = 0;
      if (isParallelIn(op, operand, dim, there) && int64_t(there) == resultDim)
        return std::pair(operand, static_cast<unsigned>(dim));
    }
  }
  return std::nullopt;
}

/// Checks the matmuls and the gather, which must gather the first argument.
static LogicalResult verifyGather(CollectiveMatmulOp op, AllGatherOp gather) {
  if (gather.getInput() != op.getBody().getArgument(0))
    return op.emitOpError("(C2) expects an all-gather of the first argument");
  for (Operation *matmul : op.getMatmuls()) {
    bool isRight = false;
    unsigned dim = 0;
    for (unsigned i = 0; i < matmul->getNumOperands(); ++i)
      isRight |= matmul->getOperand(i) == gather.getResult() &&
                 isParallelIn(matmul, i, gather.getDim(), dim);
    if (!isRight)
      return op.emitOpError("(C3) expects an op of which dimension ")
             << int64_t(gather.getDim())
             << " of the gathered operand is a parallel factor but got "
             << matmul->getName();
  }
  return success();
}

static LogicalResult verifyScatter(CollectiveMatmulOp op,
                                   ReduceScatterOp scatter) {
  SmallVector<Operation *> matmuls = op.getMatmuls();
  if (scatter.getKind() != dist::ReductionKind::Sum ||
      scatter->getNextNode() != op.getYield())
    return op.emitOpError("(C2) expects a reduce-scatter of sums, last");
  if (matmuls.size() != 1 || matmuls.front()->getNumResults() != 1 ||
      scatter.getInput() != matmuls.front()->getResult(0) ||
      !findParallelOperand(matmuls.front(), scatter.getDim()))
    return op.emitOpError("(C3) expects one op whose result is scattered along "
                          "a parallel factor but got ")
           << matmuls.size() << " ops";
  return success();
}

LogicalResult CollectiveMatmulOp::verifyRegions() {
  Block &block = getBody().front();
  auto yield = dyn_cast<YieldOp>(block.back());
  if (block.getArgumentTypes() != getOperandTypes() || !yield ||
      yield.getOperandTypes() != getResultTypes())
    return emitOpError("(C1) expects a region that takes the operands and "
                       "yields the results' types");
  int64_t collectives = llvm::count_if(
      block, [](Operation &op) { return isa<CollectiveOpInterface>(op); });
  CollectiveOpInterface collective = getCollective();
  if (collectives != 1 || collective.getFromAttr())
    return emitOpError("(C2) expects one local collective but got ")
           << collectives;
  if (auto gather = dyn_cast<AllGatherOp>(*collective))
    return verifyGather(*this, gather);
  if (auto scatter = dyn_cast<ReduceScatterOp>(*collective))
    return verifyScatter(*this, scatter);
  return emitOpError("(C2) expects an all-gather or a reduce-scatter but got ")
         << collective->getName();
}

LogicalResult AssembleOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  MeshOp meshOp = lookupMesh(*this, getMeshAttr());
  if (!meshOp)
    return emitOpError("(C1) expects a known mesh but got ") << getMeshAttr();
  AxisList axes = getAxes().toAxes(meshOp.getMesh().toMesh());
  int64_t members = numShards(axes);
  if (int64_t(getChunks().size()) != members)
    return emitOpError("(C1) expects ")
           << members << " chunks but got " << getChunks().size();
  auto type = cast<RankedTensorType>(getChunks().front().getType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t dim = getDim();
  bool isOne = llvm::all_equal(getChunks().getTypes());
  if (isOne && dim >= 0 && dim < type.getRank())
    shape[dim] *= members;
  if (!isOne || dim < 0 || dim >= type.getRank() ||
      getResult().getType() != type.clone(shape))
    return emitOpError("(C2) expects chunks of one type and a result that has ")
           << members << " times their size in dimension " << dim << " but got "
           << type << " and " << getResult().getType();
  return success();
}
