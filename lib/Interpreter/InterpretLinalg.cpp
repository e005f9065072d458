//===- InterpretLinalg.cpp - linalg ops on tensors ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One evaluation for every linalg op: runs the region at each point of the
// iteration space and addresses operands by the indexing maps. Contractions use
// Contraction.h. Sums along reduction loops are kept in double and rounded
// once, even if the region rounds in each step.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "InterpretRelayout.h"
#include "ScalarRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace tessera::interp;

namespace {
/// The position of an operand's element as a function of the loop indices. It
/// is linear if the map is, as nearly always.
class Address {
public:
  Address(AffineMap map, ArrayRef<int64_t> shape)
      : map(map), shape(shape), strides(stridesOf(shape)),
        coefficients(map.getNumDims(), 0) {
    for (auto [expr, stride] : llvm::zip_equal(map.getResults(), strides))
      linear = linear && addLinear(expr, stride);
  }

  int64_t at(ArrayRef<int64_t> index) const {
    int64_t position = constant;
    if (linear) {
      for (auto [i, coefficient] : llvm::zip_equal(index, coefficients))
        position += i * coefficient;
      return position;
    }
    position = 0;
    for (auto [i, stride] : llvm::zip_equal(map.compose(index), strides))
      position += i * stride;
    return position;
  }
  bool isLinear() const { return linear; }
  /// Returns the step of the position along a loop. The address must be linear.
  int64_t getStep(unsigned loop) const { return coefficients[loop]; }

private:
  /// Adds `scale * expr`. Returns false if that is not linear in the
  /// dimensions.
  bool addLinear(AffineExpr expr, int64_t scale) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      coefficients[dim.getPosition()] += scale;
      return true;
    }
    if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
      constant += scale * number.getValue();
      return true;
    }
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!binary)
      return false;
    if (expr.getKind() == AffineExprKind::Add)
      return addLinear(binary.getLHS(), scale) &&
             addLinear(binary.getRHS(), scale);
    auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    return expr.getKind() == AffineExprKind::Mul && factor &&
           addLinear(binary.getLHS(), scale * factor.getValue());
  }

  AffineMap map;
  ArrayRef<int64_t> shape;
  SmallVector<int64_t> strides;
  SmallVector<int64_t> coefficients;
  int64_t constant = 0;
  bool linear = true;
};
} // namespace

static void roundAll(Tensor &tensor) {
  ElementType type = tensor.getElementType();
  for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i)
    tensor[i] = type.round(tensor[i]);
}

/// Returns the contraction that a float op of two inputs computes: its region
/// is out + lhs * rhs, with widening casts, and its maps permute dimensions.
static std::optional<Contraction> matchContraction(linalg::LinalgOp op,
                                                   ScalarRegion &region) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return std::nullopt;
  Block *block = op.getBlock();
  Value sum = block->getTerminator()->getOperand(0);
  auto add = sum.getDefiningOp<arith::AddFOp>();
  if (!add || add->getParentOp() != op)
    return std::nullopt;
  auto matches = [&](Value accumulator, Value product) {
    auto multiply = product.getDefiningOp<arith::MulFOp>();
    if (!multiply || accumulator != block->getArgument(2))
      return false;
    auto isInput = [&](Value value, unsigned i) {
      if (auto extend = value.getDefiningOp<arith::ExtFOp>())
        value = extend.getIn();
      return value == block->getArgument(i);
    };
    return (isInput(multiply.getLhs(), 0) && isInput(multiply.getRhs(), 1)) ||
           (isInput(multiply.getLhs(), 1) && isInput(multiply.getRhs(), 0));
  };
  if (!matches(add.getLhs(), add.getRhs()) &&
      !matches(add.getRhs(), add.getLhs()))
    return std::nullopt;
  Contraction contraction;
  contraction.sizes = op.getStaticLoopRanges();
  SmallVector<unsigned> *tensors[] = {&contraction.lhs, &contraction.rhs,
                                      &contraction.result};
  for (auto [map, dims] : llvm::zip_equal(op.getIndexingMapsArray(), tensors))
    for (AffineExpr expr : map.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        return std::nullopt;
      dims->push_back(dim.getPosition());
    }
  if (!contraction.isValid())
    return std::nullopt;
  return contraction;
}

/// Runs the region over the iteration space. The innermost loop advances the
/// positions of linear operands by their step.
static LogicalResult runLoops(linalg::LinalgOp op, ScalarRegion &region,
                              ArrayRef<const Tensor *> inputs,
                              MutableArrayRef<Tensor> outputs) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  unsigned numInputs = inputs.size(), numAll = numInputs + outputs.size();
  SmallVector<Address> addresses;
  for (auto [k, map] : llvm::enumerate(op.getIndexingMapsArray()))
    addresses.emplace_back(map, k < numInputs
                                    ? inputs[k]->getShape()
                                    : outputs[k - numInputs].getShape());
  bool linear = llvm::all_of(addresses, [](auto &a) { return a.isLinear(); });
  int64_t inner = ranges.empty() || !linear ? 1 : ranges.back();
  ArrayRef<int64_t> outer = ranges;
  if (linear && !ranges.empty())
    outer = outer.drop_back();
  SmallVector<int64_t> index(ranges.size(), 0), position(numAll), step(numAll);
  for (unsigned k = 0; k < numAll; ++k)
    step[k] = inner > 1 ? addresses[k].getStep(ranges.size() - 1) : 0;
  LogicalResult result = success();
  forEachIndex(outer, [&](ArrayRef<int64_t> at) {
    if (failed(result))
      return;
    llvm::copy(at, index.begin());
    if (at.size() < index.size())
      index.back() = 0;
    for (unsigned k = 0; k < numAll; ++k)
      position[k] = addresses[k].at(index);
    for (int64_t i = 0; i < inner; ++i) {
      for (unsigned k = 0; k < numInputs; ++k)
        region.argument(k) = (*inputs[k])[position[k]];
      for (unsigned k = numInputs; k < numAll; ++k)
        region.argument(k) = outputs[k - numInputs][position[k]];
      result = region.run(index);
      if (failed(result))
        return;
      for (unsigned k = numInputs; k < numAll; ++k)
        outputs[k - numInputs][position[k]] = region.getYielded(k - numInputs);
      for (unsigned k = 0; k < numAll; ++k)
        position[k] += step[k];
      if (!index.empty())
        ++index.back();
    }
  });
  return result;
}

static LogicalResult evaluateLinalg(Evaluation &e) {
  auto op = cast<linalg::LinalgOp>(e.op);
  if (!op.hasPureTensorSemantics())
    return op.emitError("the interpreter expects linalg on tensors");
  FailureOr<ScalarRegion> region = ScalarRegion::compile(*op.getBlock(), e);
  if (failed(region))
    return failure();
  SmallVector<const Tensor *> inputs;
  for (OpOperand *input : op.getDpsInputOperands())
    inputs.push_back(e.get(input->get()).get());
  SmallVector<Tensor> outputs;
  for (Value init : op.getDpsInits())
    outputs.push_back(*e.get(init));
  if (auto contraction = matchContraction(op, *region)) {
    contract(*contraction, *inputs[0], *inputs[1], outputs[0]);
    roundAll(outputs[0]);
    return e.yield(std::move(outputs[0]));
  }
  bool reduces = op.getNumReductionLoops() > 0;
  if (reduces)
    region->keepAccumulatorsExact(*op.getBlock(), inputs.size());
  if (failed(runLoops(op, *region, inputs, outputs)))
    return failure();
  for (Tensor &output : outputs) {
    if (reduces)
      roundAll(output);
    (void)e.yield(std::move(output));
  }
  return success();
}

void tessera::interp::addLinalgHandlers(Registry &registry) {
  registry.addLocalFor([](Operation *op) { return isa<linalg::LinalgOp>(op); },
                       evaluateLinalg);
  addRelayoutHandlers(registry);
}
