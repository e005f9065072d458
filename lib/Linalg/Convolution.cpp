//===- Convolution.cpp - Convolutions as matmuls and loops ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows that do not overlap are views: the convolution is a matmul. Others
// are copied side by side for a matmul, a block of the batch at a time, unless
// so few results share an element that the copy would cost more than it saves:
// then one loop computes the sums.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "tessera/Linalg/Patterns.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

/// The most bytes of windows that are copied side by side at a time.
static constexpr int64_t kMaxCopied = int64_t(64) << 20;
/// The most blocks of a batch.
static constexpr int64_t kMaxBlocks = 64;
/// Results of a group below which the sums are a loop.
static constexpr int64_t kFewResults = 8;

namespace {

using Windows = ArrayRef<WindowDim>;

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The operands of a convolution; x may have been padded.
struct Convolution {
  Value x, weight;
  SmallVector<WindowDim, 3> windows;
  bool isReversed;
  Type element;

  int64_t getBatch() const { return typeOf(x).getDimSize(0); }
  int64_t getGroups() const { return typeOf(x).getDimSize(1); }
  int64_t getIn() const { return typeOf(x).getDimSize(2); }
  int64_t getOut() const { return typeOf(weight).getDimSize(1); }
  SmallVector<int64_t> getShape() const {
    SmallVector<int64_t> shape{getBatch(), getGroups(), getOut()};
    for (const WindowDim &dim : windows)
      shape.push_back(dim.getNumWindows());
    return shape;
  }
};

//===----------------------------------------------------------------------===//
// Zeros
//===----------------------------------------------------------------------===//

/// The slice of `x` along its positions.
Value slicePositions(GenericBuilder &b, Value x, ArrayRef<int64_t> first,
                     ArrayRef<int64_t> counts, ArrayRef<int64_t> steps) {
  RankedTensorType type = typeOf(x);
  SmallVector<int64_t> sizes(type.getShape().take_front(3));
  sizes.append(counts.begin(), counts.end());
  if (sizes == type.getShape())
    return x;
  SmallVector<OpFoldResult> offset(3, b.getIndexAttr(0)), size, step(offset);
  step.assign(3, b.getIndexAttr(1));
  for (auto [from, by] : llvm::zip_equal(first, steps)) {
    offset.push_back(b.getIndexAttr(from));
    step.push_back(b.getIndexAttr(by));
  }
  for (int64_t count : sizes)
    size.push_back(b.getIndexAttr(count));
  return tensor::ExtractSliceOp::create(b, x, offset, size, step);
}

/// Puts the zeros between the elements of x.
void dilate(GenericBuilder &b, Convolution &c) {
  if (llvm::all_of(c.windows, [](const WindowDim &dim) {
        return dim.xDilation == 1 || dim.size <= 1;
      })) {
    for (WindowDim &dim : c.windows)
      dim.xDilation = 1;
    return;
  }
  RankedTensorType type = typeOf(c.x);
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<OpFoldResult> offset(shape.size(), b.getIndexAttr(0)), size;
  SmallVector<OpFoldResult> step(3, b.getIndexAttr(1));
  for (int64_t count : shape)
    size.push_back(b.getIndexAttr(count));
  for (auto [i, dim] : llvm::enumerate(c.windows)) {
    step.push_back(b.getIndexAttr(dim.xDilation));
    shape[3 + i] = dim.getDilatedSize();
    dim.size = dim.getDilatedSize();
    dim.xDilation = 1;
  }
  auto dilated = RankedTensorType::get(shape, type.getElementType());
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(dilated));
  c.x = tensor::InsertSliceOp::create(b, c.x, zeros, offset, size, step);
}

/// Whether windows reach an element of x, and not only zeros around it.
bool reachesElements(const WindowDim &dim) {
  int64_t size = dim.getDilatedSize();
  return size > 0 && dim.low > -size && dim.high > -size;
}

/// Puts zeros before and after the elements of x, or leaves elements out.
void pad(GenericBuilder &b, Convolution &c) {
  SmallVector<int64_t> first, counts, steps(c.windows.size(), 1);
  SmallVector<OpFoldResult> low(3, b.getIndexAttr(0)), high(low);
  SmallVector<int64_t> shape(typeOf(c.x).getShape().take_front(3));
  bool isPadded = false;
  for (WindowDim &dim : c.windows) {
    int64_t from = std::max<int64_t>(0, -dim.low);
    int64_t to = std::min(dim.size, dim.size + dim.high);
    first.push_back(from);
    counts.push_back(to - from);
    low.push_back(b.getIndexAttr(std::max<int64_t>(0, dim.low)));
    high.push_back(b.getIndexAttr(std::max<int64_t>(0, dim.high)));
    isPadded |= dim.low > 0 || dim.high > 0;
    dim.size = dim.getPaddedSize();
    dim.low = dim.high = 0;
    shape.push_back(dim.size);
  }
  c.x = slicePositions(b, c.x, first, counts, steps);
  if (!isPadded)
    return;
  Type element = typeOf(c.x).getElementType();
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element));
  c.x = tensor::PadOp::create(b, RankedTensorType::get(shape, element), c.x,
                              low, high, zero);
}

//===----------------------------------------------------------------------===//
// Windows that do not overlap
//===----------------------------------------------------------------------===//

/// Whether the windows are a view of x, taps beside windows.
bool isView(const WindowDim &dim) {
  int64_t windows = dim.getNumWindows();
  bool apart = dim.taps == 1 || windows == 1 ||
               (dim.stride == dim.taps && dim.dilation == 1);
  int64_t last = (windows - 1) * dim.stride + dim.getReach() - dim.low;
  return apart && dim.xDilation == 1 && dim.low <= 0 && last <= dim.size;
}

/// Whether each element of the result is in one window of one element of x:
/// the gradient of the above.
bool isSpread(const WindowDim &dim) {
  return dim.stride == 1 && dim.dilation == 1 && dim.xDilation == dim.taps &&
         dim.low == dim.taps - 1 && dim.high == dim.taps - 1;
}

/// Letters of dimensions of positions, and of taps.
constexpr llvm::StringLiteral kPositions = "pqr", kTaps = "xyz";

Value buildView(GenericBuilder &b, Convolution c) {
  SmallVector<int64_t> first, counts, steps;
  SmallVector<int64_t> shape(typeOf(c.x).getShape().take_front(3));
  SmallVector<ReassociationIndices> groups{{0}, {1}, {2}};
  std::string x = "bgi", weight = "goi", result = "bgo";
  for (auto [i, dim] : llvm::enumerate(c.windows)) {
    int64_t windows = dim.getNumWindows();
    first.push_back(-dim.low);
    counts.push_back(windows * dim.taps);
    steps.push_back(dim.taps == 1  ? dim.stride
                    : windows == 1 ? dim.dilation
                                   : 1);
    int64_t at = shape.size();
    groups.push_back({at, at + 1});
    shape.append({windows, dim.taps});
    (x += kPositions[i]) += kTaps[i];
    weight += kTaps[i];
    result += kPositions[i];
  }
  Value view = slicePositions(b, c.x, first, counts, steps);
  view =
      tensor::ExpandShapeOp::create(b, typeOf(view).clone(shape), view, groups);
  return nn::EinsumOp::create(b, RankedTensorType::get(c.getShape(), c.element),
                              weight + "," + x + "->" + result, c.weight, view);
}

Value buildSpread(GenericBuilder &b, Convolution c) {
  SmallVector<int64_t> shape{c.getBatch(), c.getGroups(), c.getOut()};
  SmallVector<ReassociationIndices> groups{{0}, {1}, {2}};
  std::string x = "bgi", weight = "goi", result = "bgo";
  for (auto [i, dim] : llvm::enumerate(c.windows)) {
    int64_t at = shape.size();
    groups.push_back({at, at + 1});
    shape.append({dim.size, dim.taps});
    x += kPositions[i];
    weight += kTaps[i];
    (result += kPositions[i]) += kTaps[i];
  }
  Value spread =
      nn::EinsumOp::create(b, RankedTensorType::get(shape, c.element),
                           weight + "," + x + "->" + result, c.weight, c.x);
  return tensor::CollapseShapeOp::create(b, spread, groups);
}

//===----------------------------------------------------------------------===//
// Windows side by side
//===----------------------------------------------------------------------===//

/// The windows as [group, in, taps..., batch, positions...].
Value buildColumns(GenericBuilder &b, const Convolution &c) {
  unsigned count = c.windows.size(), batch = 2 + count;
  SmallVector<int64_t> shape{c.getGroups(), c.getIn()};
  for (const WindowDim &dim : c.windows)
    shape.push_back(dim.taps);
  shape.push_back(c.getBatch());
  auto loop = [&](unsigned i) { return getAffineDimExpr(i, b.getContext()); };
  SmallVector<AffineExpr> read{loop(batch), loop(0), loop(1)};
  for (auto [i, dim] : llvm::enumerate(c.windows)) {
    shape.push_back(dim.getNumWindows());
    read.push_back(loop(batch + 1 + i) * dim.stride +
                   loop(2 + i) * dim.dilation);
  }
  auto map = AffineMap::get(shape.size(), 0, read, b.getContext());
  return b.map(shape, typeOf(c.x).getElementType(), {{c.x, map}},
               [](ValueRange v) { return v[0]; });
}

Value multiplyColumns(GenericBuilder &b, const Convolution &c, Value weight) {
  unsigned count = c.windows.size();
  std::string taps = kTaps.take_front(count).str(),
              positions = kPositions.take_front(count).str();
  return nn::EinsumOp::create(b, RankedTensorType::get(c.getShape(), c.element),
                              "goi" + taps + ",gi" + taps + "b" + positions +
                                  "->bgo" + positions,
                              weight, buildColumns(b, c));
}

/// The weight with its taps in the order in which windows read them.
Value orderTaps(GenericBuilder &b, const Convolution &c) {
  if (!c.isReversed)
    return c.weight;
  RankedTensorType type = typeOf(c.weight);
  SmallVector<AffineExpr> read;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    AffineExpr loop = getAffineDimExpr(i, b.getContext());
    read.push_back(i < 3 ? loop : -loop + (type.getDimSize(i) - 1));
  }
  auto map = AffineMap::get(type.getRank(), 0, read, b.getContext());
  return b.map(type.getShape(), type.getElementType(), {{c.weight, map}},
               [](ValueRange v) { return v[0]; });
}

Value buildBlocks(GenericBuilder &b, Convolution c) {
  Value weight = orderTaps(b, c);
  int64_t bits = typeOf(c.x).getElementTypeBitWidth();
  double bytes = bits / 8.0 * c.getBatch() * c.getGroups() * c.getIn();
  for (const WindowDim &dim : c.windows)
    bytes *= double(dim.taps) * dim.getNumWindows();
  int64_t batch = c.getBatch();
  int64_t blocks = std::clamp<int64_t>(int64_t(bytes / kMaxCopied) + 1, 1,
                                       std::min(batch, kMaxBlocks));
  if (blocks == 1)
    return multiplyColumns(b, c, weight);
  int64_t size = llvm::divideCeil(batch, blocks);
  SmallVector<Value> results;
  for (int64_t first = 0; first < batch; first += size) {
    Convolution block = c;
    SmallVector<OpFoldResult> offset(typeOf(c.x).getRank(), b.getIndexAttr(0));
    SmallVector<OpFoldResult> step(offset.size(), b.getIndexAttr(1)), sizes;
    for (int64_t extent : typeOf(c.x).getShape())
      sizes.push_back(b.getIndexAttr(extent));
    offset[0] = b.getIndexAttr(first);
    sizes[0] = b.getIndexAttr(std::min(size, batch - first));
    block.x = tensor::ExtractSliceOp::create(b, c.x, offset, sizes, step);
    results.push_back(multiplyColumns(b, block, weight));
  }
  return tensor::ConcatOp::create(b, /*dim=*/0, results);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Sums in one loop, whose innermost dimension is the longer one of the last
/// positions and the last taps.
Value buildLoop(GenericBuilder &b, const Convolution &c) {
  const WindowDim &last = c.windows.back();
  bool isInner = last.getNumWindows() >= last.taps;
  SmallVector<int64_t> loops{c.getBatch(), c.getGroups(), c.getOut()};
  SmallVector<unsigned> positions, taps;
  auto add = [&](SmallVector<unsigned> &of, int64_t size) {
    of.push_back(loops.size());
    loops.push_back(size);
  };
  for (const WindowDim &dim : Windows(c.windows).drop_back(isInner))
    add(positions, dim.getNumWindows());
  unsigned in = loops.size();
  loops.push_back(c.getIn());
  for (const WindowDim &dim : c.windows)
    add(taps, dim.taps);
  if (isInner)
    add(positions, last.getNumWindows());
  auto loop = [&](unsigned i) { return getAffineDimExpr(i, b.getContext()); };
  SmallVector<AffineExpr> x{loop(0), loop(1), loop(in)},
      weight{loop(1), loop(2), loop(in)}, result{loop(0), loop(1), loop(2)};
  for (auto [i, dim] : llvm::enumerate(c.windows)) {
    x.push_back(loop(positions[i]) * dim.stride + loop(taps[i]) * dim.dilation);
    weight.push_back(loop(taps[i]));
    result.push_back(loop(positions[i]));
  }
  auto map = [&](ArrayRef<AffineExpr> read) {
    return AffineMap::get(loops.size(), 0, read, b.getContext());
  };
  Type wide = getWideType(c.element);
  Value sum = b.reduce(Combiner::Sum, loops, map(result), wide,
                       {{c.x, map(x)}, {orderTaps(b, c), map(weight)}},
                       [&](ValueRange v) -> Value {
                         Value x = b.cast(v[0], wide), y = b.cast(v[1], wide);
                         if (isa<FloatType>(wide))
                           return arith::MulFOp::create(b, x, y);
                         return arith::MulIOp::create(b, x, y);
                       });
  return b.castTensor(sum, c.element);
}

Value buildConvolution(GenericBuilder &b, Convolution c) {
  // Positions after the last window are not read.
  for (WindowDim &dim : c.windows)
    dim.setNumWindows(dim.getNumWindows());
  bool isZero = llvm::is_contained(c.getShape(), 0) ||
                llvm::is_contained(typeOf(c.weight).getShape(), 0) ||
                !llvm::all_of(c.windows, reachesElements);
  if (isZero)
    return b.map(c.getShape(), c.element, {},
                 [&](ValueRange) { return b.constant(c.element, 0); });
  bool isOrdered =
      !c.isReversed || llvm::all_of(c.windows, [](const WindowDim &dim) {
        return dim.taps == 1;
      });
  if (isOrdered && llvm::all_of(c.windows, isView))
    return buildView(b, c);
  if (c.isReversed && llvm::all_of(c.windows, isSpread))
    return buildSpread(b, c);
  dilate(b, c);
  pad(b, c);
  return c.getOut() < kFewResults ? buildLoop(b, c) : buildBlocks(b, c);
}

struct ExpandConvolution : OpRewritePattern<nn::ConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ConvolutionOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(
        op,
        buildConvolution(b, {op.getX(), op.getWeight(), op.getWindows(),
                             op.getReversed(), op.getType().getElementType()}));
    return success();
  }
};

} // namespace

void tessera::populateConvolutionPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandConvolution>(patterns.getContext());
}
