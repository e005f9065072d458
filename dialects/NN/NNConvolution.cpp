//===- NNConvolution.cpp - Convolutions: verifier, rule, gradients --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleHelpers.h"
#include "dialects/NN/TensorBuilder.h"
#include "tessera/Interfaces/Limits.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::nn;

/// The largest stride and dilation, and the largest padding and number of
/// positions: sums of products of two stay in 64 bits.
static constexpr int64_t kMaxStep = 1 << 20, kMaxSize = int64_t(1) << 40;

SmallVector<WindowDim, 3> ConvolutionOp::getWindows() {
  SmallVector<WindowDim, 3> windows;
  for (unsigned i = 0; i < getNumPositionDims(); ++i)
    windows.push_back({typeOf(getX()).getDimSize(kFirstPosition + i),
                       typeOf(getWeight()).getDimSize(kFirstPosition + i),
                       getStrides()[i], getLow()[i], getHigh()[i],
                       getDilation()[i], getXDilation()[i]});
  return windows;
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

static LogicalResult verifyLists(ConvolutionOp op, size_t count) {
  auto verify = [&](StringRef name, ArrayRef<int64_t> list, int64_t least,
                    int64_t most) -> LogicalResult {
    if (list.size() == count && llvm::all_of(list, [&](int64_t number) {
          return number >= least && number <= most;
        }))
      return success();
    return op.emitOpError("(C2) expects ")
           << count << " numbers from " << least << " to " << most << " as "
           << name << " but got [" << list << "]";
  };
  if (failed(verify("strides", op.getStrides(), 1, kMaxStep)) ||
      failed(verify("low", op.getLow(), -kMaxSize, kMaxSize)) ||
      failed(verify("high", op.getHigh(), -kMaxSize, kMaxSize)) ||
      failed(verify("dilation", op.getDilation(), 1, kMaxStep)) ||
      failed(verify("x_dilation", op.getXDilation(), 1, kMaxStep)))
    return failure();
  return success();
}

LogicalResult ConvolutionOp::verify() {
  RankedTensorType x = typeOf(getX()), weight = typeOf(getWeight()),
                   result = typeOf(getResult());
  int64_t rank = x.getRank();
  if (weight.getRank() != rank || result.getRank() != rank || rank < 4 ||
      rank > 6)
    return emitOpError("(C1) expects tensors of one rank from 4 to 6 but got ")
           << x << ", " << weight << " and " << result;
  if (failed(verifyLists(*this, rank - kFirstPosition)))
    return failure();
  if (x.getDimSize(1) != weight.getDimSize(0) ||
      x.getDimSize(2) != weight.getDimSize(2))
    return emitOpError("(C3) expects x [batch, group, in, ...] and a weight "
                       "[group, out, in, ...] but got ")
           << x << " and " << weight;
  SmallVector<int64_t> shape{x.getDimSize(0), x.getDimSize(1),
                             weight.getDimSize(1)};
  SmallVector<int64_t> padded{x.getDimSize(0), x.getDimSize(1),
                              x.getDimSize(2)};
  for (const WindowDim &dim : getWindows()) {
    if (std::max(dim.size, dim.taps) > kMaxSize)
      return emitOpError("(C2) expects at most ")
             << kMaxSize << " positions and taps a dimension but got " << x
             << " and " << weight;
    shape.push_back(dim.getNumWindows());
    padded.push_back(std::max<int64_t>(0, dim.getPaddedSize()));
  }
  if (isTooLarge(padded))
    return emitOpError("(C2) expects at most ")
           << kMaxElements << " elements of x and its zeros but got [" << padded
           << "]";
  if (failed(verifyShape(*this, "(C4)", "a result", shape, getResult())))
    return failure();
  Type in = x.getElementType(), out = result.getElementType();
  if (in == weight.getElementType() && !isQuantized(in) && isSumOf(in, out))
    return success();
  return emitOpError("(C5) expects operands of one element type of at least 16 "
                     "bits and a result of that or a wider float but got ")
         << x << ", " << weight << " and " << result;
}

//===----------------------------------------------------------------------===//
// Sharding rule
//===----------------------------------------------------------------------===//

/// Positions and taps stay whole: a window reaches into the next shard.
ShardingRule ConvolutionOp::getShardingRule() {
  ShardingRule rule;
  RankedTensorType x = typeOf(getX()), result = typeOf(getResult());
  unsigned batch = rule.addFactor(x.getDimSize(0));
  unsigned group = rule.addFactor(x.getDimSize(1));
  unsigned in = rule.addFactor(x.getDimSize(2), FactorKind::Reduction);
  unsigned out = rule.addFactor(result.getDimSize(2));
  rule.operands = {{{batch}, {group}, {in}}, {{group}, {out}, {in}}};
  rule.results = {{{batch}, {group}, {out}}};
  auto addPositions = [&](TensorFactors &dims, RankedTensorType type) {
    for (int64_t size : type.getShape().drop_front(kFirstPosition))
      dims.push_back({rule.addFactor(size, FactorKind::Replicated)});
  };
  addPositions(rule.operands[0], x);
  addPositions(rule.operands[1], typeOf(getWeight()));
  addPositions(rule.results[0], result);
  return rule;
}

bool ConvolutionOp::commutesWithReduction(::tessera::ReductionKind kind,
                                          const llvm::SmallBitVector &partial) {
  return kind == ::tessera::ReductionKind::Sum && partial.count() == 1;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

namespace {
/// Builds convolutions and changes of the order of dimensions.
struct ConvolutionBuilder : TensorBuilder {
  using TensorBuilder::TensorBuilder;

  /// Orders the first three dimensions; the others stay.
  Value permute(Value x, std::array<int64_t, 3> first) {
    SmallVector<int64_t> order =
        llvm::to_vector(llvm::seq(typeOf(x).getRank()));
    llvm::copy(first, order.begin());
    SmallVector<int64_t> shape;
    for (int64_t dim : order)
      shape.push_back(typeOf(x).getDimSize(dim));
    return make<TransposeOp>(typeOf(x).clone(shape), x, order);
  }

  Value convolve(Value x, Value weight, ArrayRef<WindowDim> windows,
                 bool isReversed, Type element) {
    SmallVector<int64_t> shape{typeOf(x).getDimSize(0), typeOf(x).getDimSize(1),
                               typeOf(weight).getDimSize(1)};
    SmallVector<int64_t> strides, low, high, dilation, xDilation;
    for (const WindowDim &dim : windows) {
      shape.push_back(dim.getNumWindows());
      strides.push_back(dim.stride);
      low.push_back(dim.low);
      high.push_back(dim.high);
      dilation.push_back(dim.dilation);
      xDilation.push_back(dim.xDilation);
    }
    return make<ConvolutionOp>(RankedTensorType::get(shape, element), x, weight,
                               strides, low, high, dilation, xDilation,
                               isReversed);
  }
};
} // namespace

/// Windows of the gradient of x: element j of x is in window p by tap t where
/// j * xDilation = p * stride + t * dilation - low. The gradient of the result
/// with zeros between its elements is convolved with the taps in reverse.
static WindowDim getWindowOfX(const WindowDim &dim) {
  WindowDim back{dim.getNumWindows(), dim.taps};
  back.stride = dim.xDilation;
  back.dilation = dim.dilation;
  back.xDilation = dim.stride;
  back.low = (dim.taps - 1) * dim.dilation - dim.low;
  back.setNumWindows(dim.size);
  return back;
}

/// Windows of the gradient of the weight: tap t sums result p times x' at
/// p * stride + t * dilation.
static WindowDim getWindowOfWeight(const WindowDim &dim) {
  WindowDim back{dim.size, dim.getNumWindows()};
  back.stride = dim.dilation;
  back.dilation = dim.stride;
  back.xDilation = dim.xDilation;
  back.low = dim.low;
  back.setNumWindows(dim.taps);
  return back;
}

/// The same where taps are read in reverse: tap t sums element j of x times the
/// result at p, where p * stride = j * xDilation + t * dilation - ((taps - 1) *
/// dilation - low).
static WindowDim getWindowOfReversedWeight(const WindowDim &dim) {
  WindowDim back{dim.getNumWindows(), dim.size};
  back.stride = dim.dilation;
  back.dilation = dim.xDilation;
  back.xDilation = dim.stride;
  back.low = (dim.taps - 1) * dim.dilation - dim.low;
  back.setNumWindows(dim.taps);
  return back;
}

/// The gradient of the weight sums over the batch, which takes the place of
/// `in`. Taps that are read in reverse exchange x and the result's gradient.
LogicalResult ConvolutionOp::buildGradients(GradientBuilder &g) {
  ConvolutionBuilder b(g.builder, g.loc);
  Value x = getX(), grad = b.narrow(g.ofResult(0), getX().getType());
  auto map = [&](WindowDim (*of)(const WindowDim &)) {
    return llvm::map_to_vector(getWindows(), of);
  };
  if (g.isNeeded(0))
    g.setOperand(0, b.convolve(grad, b.permute(getWeight(), {0, 2, 1}),
                               map(getWindowOfX), !getReversed(),
                               g.elementType(0)));
  if (!g.isNeeded(1))
    return success();
  if (getReversed())
    g.setOperand(1,
                 b.permute(b.convolve(b.permute(grad, {2, 1, 0}),
                                      b.permute(x, {1, 2, 0}),
                                      map(getWindowOfReversedWeight),
                                      /*isReversed=*/false, g.elementType(1)),
                           {1, 0, 2}));
  else
    g.setOperand(
        1,
        b.permute(b.convolve(b.permute(x, {2, 1, 0}),
                             b.permute(grad, {1, 2, 0}), map(getWindowOfWeight),
                             /*isReversed=*/false, g.elementType(1)),
                  {1, 2, 0}));
  return success();
}
