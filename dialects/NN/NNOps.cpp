//===- NNOps.cpp - Verifiers of nn ops ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifiers.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/Interfaces/Limits.h"

using namespace mlir;
using namespace tessera::nn;

/// Checks that dimension `dim` exists (label C1).
static LogicalResult verifyDim(Operation *op, int64_t dim, int64_t rank) {
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError("(C1) expects a dimension in [0, ")
         << rank << ") but got " << dim;
}

LogicalResult tessera::nn::verifyNormVector(Operation *op, StringRef name,
                                            Value x, Value vector) {
  RankedTensorType xType = typeOf(x), type = typeOf(vector);
  if (xType.getRank() > 0 && type.getRank() == 1 &&
      type.getDimSize(0) == xType.getShape().back())
    return success();
  return op->emitOpError("(C1) expects ")
         << name << " of rank 1 and the size of the last dimension of " << xType
         << " but got " << type;
}

LogicalResult tessera::nn::verifyShape(Operation *op, StringRef label,
                                       StringRef name,
                                       ArrayRef<int64_t> expected,
                                       Value value) {
  if (typeOf(value).getShape() == expected)
    return success();
  return op->emitOpError(label) << " expects " << name << " of shape ["
                                << expected << "] but got " << value.getType();
}

LogicalResult tessera::nn::verifySameElement(Operation *op, StringRef label,
                                             Value a, Value b) {
  if (typeOf(a).getElementType() == typeOf(b).getElementType())
    return success();
  return op->emitOpError(label) << " expects one element type but got "
                                << a.getType() << " and " << b.getType();
}

LogicalResult tessera::nn::verifyIndex(Operation *op, RankedTensorType x,
                                       Value index) {
  ArrayRef<int64_t> shape = typeOf(index).getShape();
  if (static_cast<int64_t>(shape.size()) == x.getRank())
    shape = shape.drop_back();
  if (shape == x.getShape().drop_back())
    return success();
  return op->emitOpError("(C1) expects an index of shape [")
         << x.getShape().drop_back()
         << "], optionally with one more dimension at the end, but got "
         << index.getType();
}

LogicalResult tessera::nn::verifyLimit(Operation *op, StringRef label,
                                       StringRef what,
                                       std::optional<int64_t> limit) {
  if (!limit || *limit >= 0)
    return success();
  return op->emitOpError(label)
         << " expects " << what << " of at least 0 but got " << *limit;
}

LogicalResult tessera::nn::verifyStat(Operation *op, StringRef label,
                                      Value stat, RankedTensorType rows) {
  if (failed(
          verifyShape(op, label, "a stat", rows.getShape().drop_back(), stat)))
    return failure();
  Type element = typeOf(stat).getElementType();
  if (rows.getElementType().isF64() ? element.isF64() : element.isF32())
    return success();
  return op->emitOpError(label)
         << " expects stats of f32 (f64 for f64) but got " << stat.getType();
}

LogicalResult tessera::nn::verifyStats(Operation *op, StringRef label,
                                       ValueRange stats, unsigned count,
                                       RankedTensorType rows) {
  if (!stats.empty() && stats.size() != count)
    return op->emitOpError(label)
           << " expects no stats or " << count << " but got " << stats.size();
  for (Value stat : stats)
    if (failed(verifyStat(op, label, stat, rows)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// einsum
//===----------------------------------------------------------------------===//

EinsumOp::Letters EinsumOp::getLetters() {
  auto [operands, result] = getSpec().split("->");
  auto [lhs, rhs] = operands.split(',');
  return {lhs, rhs, result};
}

void EinsumOp::build(OpBuilder &builder, OperationState &state, Type type,
                     StringRef spec, Value lhs, Value rhs) {
  build(builder, state, type, spec, lhs, rhs, /*scales=*/ValueRange());
}

bool tessera::nn::isSumOf(Type element, Type sum) {
  bool isWider = isa<FloatType>(element) && isa<FloatType>(sum) &&
                 sum.getIntOrFloatBitWidth() > element.getIntOrFloatBitWidth();
  return element == sum || isWider;
}

/// Checks the types and scales of an f8 matmul.
static LogicalResult verifyQuantizedMatmul(EinsumOp op) {
  Type out = typeOf(op.getResult()).getElementType();
  if (!isQuantized(typeOf(op.getLhs()).getElementType()) ||
      !isQuantized(typeOf(op.getRhs()).getElementType()) ||
      !isa<FloatType>(out) || out.getIntOrFloatBitWidth() < 16)
    return op.emitOpError("(C6) expects operands of f8E4M3FN or f8E5M2 and a "
                          "result of a float of 16 bits or more where there "
                          "are scales but got ")
           << op.getLhs().getType() << ", " << op.getRhs().getType() << " and "
           << op.getType();
  if (op.getScales().size() != 2)
    return op.emitOpError("(C6) expects two scales but got ")
           << op.getScales().size();
  return success();
}

LogicalResult EinsumOp::verify() {
  StringRef spec = getSpec();
  Letters letters = getLetters();
  auto isLetters = [](StringRef text) {
    llvm::SmallBitVector seen(128);
    for (char c : text) {
      if (!llvm::isAlpha(c) || seen.test(c))
        return false;
      seen.set(c);
    }
    return true;
  };
  if (!spec.contains("->") || !spec.split("->").first.contains(',') ||
      !isLetters(letters.lhs) || !isLetters(letters.rhs) ||
      !isLetters(letters.result))
    return emitOpError("(C1) expects a spec lhs,rhs->result with no letter "
                       "twice in one tensor but got \"")
           << spec << "\"";
  int64_t sizes[128];
  std::fill(std::begin(sizes), std::end(sizes), -1);
  std::pair<StringRef, Value> tensors[] = {{letters.lhs, getLhs()},
                                           {letters.rhs, getRhs()},
                                           {letters.result, getResult()}};
  for (auto [text, value] : tensors) {
    RankedTensorType type = typeOf(value);
    if (static_cast<int64_t>(text.size()) != type.getRank())
      return emitOpError("(C2) expects a letter for each dimension but got \"")
             << text << "\" for " << type;
    for (auto [c, size] : llvm::zip(text, type.getShape())) {
      int64_t &known = sizes[static_cast<unsigned char>(c)];
      if (known >= 0 && known != size)
        return emitOpError("(C3) expects one size for '")
               << StringRef(&c, 1) << "' but got " << known << " and " << size;
      known = size;
    }
  }
  for (char c : letters.result)
    if (!letters.lhs.contains(c) && !letters.rhs.contains(c))
      return emitOpError("(C4) expects '")
             << StringRef(&c, 1) << "' of the result in an operand";
  for (StringRef text : {letters.lhs, letters.rhs})
    for (char c : text)
      if (!letters.result.contains(c) &&
          !(letters.lhs.contains(c) && letters.rhs.contains(c)))
        return emitOpError("(C4) expects '")
               << StringRef(&c, 1) << "' in the result or in both operands";
  Type in = typeOf(getLhs()).getElementType();
  Type out = typeOf(getResult()).getElementType();
  if (isQuantized(in) || !getScales().empty())
    return verifyQuantizedMatmul(*this);
  if (in != typeOf(getRhs()).getElementType() || !isSumOf(in, out))
    return emitOpError("(C5) expects operands of one element type and a result "
                       "of that or a wider float but got ")
           << getLhs().getType() << ", " << getRhs().getType() << " and "
           << getType();
  return success();
}

//===----------------------------------------------------------------------===//
// quantize
//===----------------------------------------------------------------------===//

bool tessera::nn::isQuantized(Type element) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(element);
}

LogicalResult QuantizeOp::verify() {
  if (typeOf(getAmax()).getRank() != 0)
    return emitOpError("(C1) expects one number as amax but got ")
           << getAmax().getType();
  RankedTensorType x = typeOf(getX()), result = typeOf(getResult());
  if (result.getShape() != x.getShape() ||
      !isQuantized(result.getElementType()))
    return emitOpError("(C2) expects a result of the shape of ")
           << x << " with elements of f8E4M3FN or f8E5M2 but got " << result;
  return success();
}

//===----------------------------------------------------------------------===//
// attention and rope
//===----------------------------------------------------------------------===//

LogicalResult tessera::nn::verifyAttention(Operation *op, Value query,
                                           Value key, Value value, Value out) {
  RankedTensorType q = typeOf(query), k = typeOf(key), v = typeOf(value),
                   r = typeOf(out);
  if (q.getRank() != 5 || k.getRank() != 4 || v.getRank() != 4 ||
      r.getRank() != 5)
    return op->emitOpError("(C1) expects ranks 5, 4, 4 and 5 but got ")
           << q.getRank() << ", " << k.getRank() << ", " << v.getRank()
           << " and " << r.getRank();
  if (q.getDimSize(0) != k.getDimSize(0) ||
      q.getDimSize(0) != v.getDimSize(0) ||
      q.getDimSize(2) != k.getDimSize(2) ||
      q.getDimSize(2) != v.getDimSize(2) ||
      q.getDimSize(4) != k.getDimSize(3) ||
      r.getShape().drop_back() != q.getShape().drop_back() ||
      r.getDimSize(4) != v.getDimSize(3))
    return op->emitOpError(
               "(C2) expects batch, group and dim sizes that agree but "
               "got ")
           << q << ", " << k << ", " << v << " and " << r;
  if (k.getDimSize(1) != v.getDimSize(1))
    return op->emitOpError(
               "(C3) expects keys and values of one length but got ")
           << k.getDimSize(1) << " and " << v.getDimSize(1);
  for (Value other : {key, value})
    if (failed(verifySameElement(op, "(C4)", query, other)))
      return failure();
  return success();
}

bool tessera::nn::isSameOrWide(Value operand, Value result) {
  Type narrow = typeOf(operand).getElementType(),
       wide = typeOf(result).getElementType();
  return narrow == wide ||
         (wide.isF32() && narrow.getIntOrFloatBitWidth() < 32);
}

LogicalResult tessera::nn::verifyWindow(Operation *op, bool causal,
                                        std::optional<int64_t> window) {
  if (window && *window < 1)
    return op->emitOpError("(C6) expects a window of at least 1 but got ")
           << *window;
  if (window && !causal)
    return op->emitOpError("(C6) expects 'causal' with a window");
  return success();
}

LogicalResult tessera::nn::verifyStarts(Operation *op, Value query,
                                        Value starts) {
  if (!starts)
    return success();
  RankedTensorType type = typeOf(starts);
  if (type.getShape() == typeOf(query).getShape().take_front(2) &&
      type.getElementType().isInteger(32))
    return success();
  return op->emitOpError("(C7) expects starts of i32 and shape [")
         << typeOf(query).getShape().take_front(2) << "] but got " << type;
}

LogicalResult
tessera::nn::verifyScores(Operation *op, Value query, Value key, Value bias,
                          std::optional<ArrayRef<int64_t>> dims,
                          const std::optional<llvm::APFloat> &softcap) {
  if (softcap && !(softcap->convertToDouble() > 0))
    return op->emitOpError("(C9) expects a softcap above 0 but got ")
           << softcap->convertToDouble();
  if (bool(bias) != dims.has_value())
    return op->emitOpError("(C8) expects a bias with its dimensions");
  if (!bias)
    return success();
  SmallVector<int64_t> sizes(typeOf(query).getShape().drop_back());
  sizes.push_back(typeOf(key).getDimSize(1));
  int64_t before = -1;
  SmallVector<int64_t> shape;
  for (int64_t dim : *dims) {
    if (dim <= before || dim > 4)
      return op->emitOpError("(C8) expects dimensions of a bias from 0 to 4 "
                             "that ascend but got [")
             << *dims << "]";
    before = dim;
    shape.push_back(sizes[dim]);
  }
  if (before != 4)
    return op->emitOpError("(C8) expects a bias along the keys, dimension 4");
  if (typeOf(bias).getShape() == ArrayRef(shape) && isSameOrWide(query, bias))
    return success();
  return op->emitOpError("(C8) expects a bias of shape [")
         << shape << "] and the element type of " << typeOf(query)
         << " or f32 but got " << typeOf(bias);
}

/// Checks sinks, which may be null (label C8).
static LogicalResult verifySinks(AttentionOp op) {
  Value sinks = op.getSinks();
  if (!sinks ||
      (typeOf(sinks).getShape() == op.getQ().getType().getShape().slice(2, 2) &&
       isSameOrWide(op.getQ(), sinks)))
    return success();
  return op.emitOpError("(C8) expects sinks of each group and head and the "
                        "element type of ")
         << op.getQ().getType() << " or f32 but got " << typeOf(sinks);
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyAttention(*this, getQ(), getK(), getV(), getResult())) ||
      failed(verifyWindow(*this, getCausal(), getWindow())) ||
      failed(verifyStarts(*this, getQ(), getStarts())) ||
      failed(verifyScores(*this, getQ(), getK(), getBias(), getBiasDims(),
                          getSoftcap())) ||
      failed(verifySinks(*this)))
    return failure();
  if (!isSameOrWide(getQ(), getResult()))
    return emitOpError("(C4) expects a result of element type ")
           << typeOf(getQ()).getElementType() << " or f32 but got "
           << typeOf(getResult()).getElementType();
  return verifyStats(*this, "(C5)", getStats(), 1,
                     getStatRows(typeOf(getResult()), bool(getBias())));
}

LogicalResult
ZigzagAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   int64_t shards, int64_t size) {
  if (shards >= 1 && size >= 1 && size % 2 == 0 && size / 2 % shards == 0)
    return success();
  return emitError() << "(C1) expects a size that twice the shards divide but "
                        "got "
                     << size << " and " << shards << " shards";
}

int64_t ZigzagAttr::getPosition(int64_t index) const {
  int64_t chunk = getChunk();
  if (index < 0 || index >= getSize())
    return index;
  return getChunkAt(index / chunk) * chunk + index % chunk;
}

/// For chunks of c, the position is (i / c / 2) c in an even chunk, S - c minus
/// that in an odd one, plus i mod c.
Value ZigzagAttr::buildPosition(OpBuilder &builder, Location loc,
                                Value index) const {
  ImplicitLocOpBuilder b(loc, builder);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  Value chunk = constant(getChunk()), two = constant(2);
  Value number = arith::DivUIOp::create(b, index, chunk);
  Value within = arith::RemUIOp::create(b, index, chunk);
  Value before =
      arith::MulIOp::create(b, arith::DivUIOp::create(b, number, two), chunk);
  Value after =
      arith::SubIOp::create(b, constant(getSize() - getChunk()), before);
  Value isEven = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                       arith::RemUIOp::create(b, number, two),
                                       constant(0));
  return arith::AddIOp::create(
      b, arith::SelectOp::create(b, isEven, before, after), within);
}

static LogicalResult verifyFrequencies(RopeOp op) {
  DenseF64ArrayAttr frequencies = op.getFrequenciesAttr();
  if (bool(op.getTheta()) == bool(frequencies))
    return op.emitOpError("(C5) expects a theta or frequencies but got ")
           << (frequencies ? "both" : "none");
  if (!frequencies)
    return success();
  if (op.getScaling())
    return op.emitOpError("(C5) expects no scaling beside frequencies but got ")
           << op.getScalingAttr();
  int64_t pairs = op.getRotatedWidth() / 2;
  if (frequencies.size() != pairs)
    return op.emitOpError("(C6) expects ")
           << pairs << " frequencies but got " << frequencies.size();
  for (double frequency : frequencies.asArrayRef())
    if (!std::isfinite(frequency))
      return op.emitOpError("(C6) expects finite frequencies but got ")
             << frequencies;
  return success();
}

LogicalResult RopeOp::verify() {
  RankedTensorType type = typeOf(getX());
  if (failed(verifyDim(*this, getDim(), type.getRank() - 1)))
    return failure();
  int64_t width = getRotatedWidth();
  if (getWidth() && (width < 2 || width > type.getShape().back()))
    return emitOpError("(C4) expects a width from 2 to ")
           << type.getShape().back() << " but got " << width;
  if (width % 2 != 0)
    return emitOpError("(C2) expects an even number of rotated elements but "
                       "got ")
           << width;
  if (width > kMaxRotatedWidth)
    return emitOpError("(C3) expects rotated elements of at most ")
           << kMaxRotatedWidth << " but got " << width;
  return verifyFrequencies(*this);
}

int64_t RopeOp::getRotatedWidth() {
  return getWidth() ? static_cast<int64_t>(*getWidth())
                    : getX().getType().getShape().back();
}

LogicalResult
RopeScalingAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                        FloatAttr, FloatAttr lowFreqFactor,
                        FloatAttr highFreqFactor, int64_t originalContext) {
  bool hasContext = originalContext != 0;
  if (bool(lowFreqFactor) != hasContext || bool(highFreqFactor) != hasContext)
    return emitError()
           << "expects all of low_freq_factor, high_freq_factor and "
              "original_context, or none";
  return success();
}

//===----------------------------------------------------------------------===//
// Norms and softmax
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::verify() {
  if (failed(verifyNormVector(*this, "gamma", getX(), getGamma())))
    return failure();
  if (failed(verifyNormVector(*this, "beta", getX(), getBeta())))
    return failure();
  return verifyStats(*this, "(C2)", getStats(), 2, typeOf(getX()));
}

LogicalResult RMSNormOp::verify() {
  if (failed(verifyNormVector(*this, "gamma", getX(), getGamma())))
    return failure();
  return verifyStats(*this, "(C2)", getStats(), 1, typeOf(getX()));
}

LogicalResult SoftmaxOp::verify() {
  return verifyDim(*this, getDim(), typeOf(getX()).getRank());
}

//===----------------------------------------------------------------------===//
// Lookups and the loss
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::verify() {
  RankedTensorType table = typeOf(getTable());
  if (table.getRank() != 2)
    return emitOpError("(C1) expects a table of rank 2 but got ") << table;
  SmallVector<int64_t> shape(typeOf(getIds()).getShape());
  shape.push_back(table.getDimSize(1));
  if (failed(verifyShape(*this, "(C2)", "a result", shape, getResult())) ||
      failed(verifySameElement(*this, "(C3)", getTable(), getResult())))
    return failure();
  return verifyLimit(*this, "(C4)", "rows", getRows());
}

std::optional<int64_t> EmbeddingOp::getIdLimit() {
  if (getRows())
    return static_cast<int64_t>(*getRows());
  if (getOffset())
    return std::nullopt;
  return typeOf(getTable()).getDimSize(0);
}

LogicalResult CrossEntropyOp::verify() {
  RankedTensorType logits = typeOf(getLogits());
  if (logits.getRank() < 1)
    return emitOpError("(C1) expects logits of rank 1 at least but got ")
           << logits;
  ArrayRef<int64_t> shape = logits.getShape().drop_back();
  if (failed(verifyShape(*this, "(C1)", "labels", shape, getLabels())) ||
      failed(verifyShape(*this, "(C1)", "a result", shape, getResult())))
    return failure();
  Type element = typeOf(getResult()).getElementType();
  if (logits.getElementType().isF64() ? !element.isF64() : !element.isF32())
    return emitOpError("(C1) expects a result of f32 (f64 for f64 logits) but "
                       "got ")
           << getResult().getType();
  if (getClasses() &&
      (static_cast<int64_t>(*getClasses()) <= 0 ||
       static_cast<int64_t>(*getClasses()) > logits.getShape().back()))
    return emitOpError("(C3) expects from 1 to ")
           << logits.getShape().back() << " classes but got "
           << static_cast<int64_t>(*getClasses());
  return verifyStats(*this, "(C2)", getStats(), 2, logits);
}

LogicalResult TakeAlongAxisOp::verify() {
  RankedTensorType x = typeOf(getX());
  if (x.getRank() < 1)
    return emitOpError("(C1) expects x of rank 1 at least but got ") << x;
  if (failed(verifyIndex(*this, x, getIndex())) ||
      failed(verifyShape(*this, "(C1)", "a result",
                         typeOf(getIndex()).getShape(), getResult())))
    return failure();
  if (failed(verifySameElement(*this, "(C2)", getX(), getResult())))
    return failure();
  return verifyLimit(*this, "(C3)", "a size", getSize());
}

std::optional<int64_t> TakeAlongAxisOp::getIndexLimit() {
  if (getSize())
    return static_cast<int64_t>(*getSize());
  if (getOffset())
    return std::nullopt;
  return typeOf(getX()).getShape().back();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  ArrayRef<int64_t> shape = typeOf(getX()).getShape();
  SmallVector<int64_t> left;
  size_t next = 0;
  for (int64_t dim = 0, e = shape.size(); dim < e; ++dim) {
    if (next < getDims().size() && getDims()[next] == dim)
      ++next;
    else
      left.push_back(shape[dim]);
  }
  if (next != getDims().size())
    return emitOpError("(C1) expects ascending dimensions in [0, ")
           << shape.size() << ") but got [" << getDims() << "]";
  if (failed(verifyShape(*this, "(C2)", "a result", left, getResult())))
    return failure();
  return verifySameElement(*this, "(C3)", getX(), getResult());
}

LogicalResult ArgReduceOp::verify() {
  RankedTensorType x = typeOf(getX());
  int64_t dim = getDim();
  if (failed(verifyDim(*this, dim, x.getRank())))
    return failure();
  int64_t size = x.getDimSize(dim);
  if (size == 0)
    return emitOpError("(C1) expects one element at least along dimension ")
           << dim << " but got " << x;
  if (getKind() == ReduceKind::Sum)
    return emitOpError("(C2) expects max or min but got ")
           << stringifyReduceKind(getKind());
  SmallVector<int64_t> left(x.getShape());
  left.erase(left.begin() + dim);
  if (failed(verifyShape(*this, "(C3)", "a value", left, getValue())) ||
      failed(verifyShape(*this, "(C3)", "an index", left, getIndex())) ||
      failed(verifySameElement(*this, "(C4)", getX(), getValue())))
    return failure();
  unsigned width = typeOf(getIndex()).getElementType().getIntOrFloatBitWidth();
  if (width < 64 && size - 1 > llvm::maxIntN(width))
    return emitOpError("(C5) expects an index that can hold ")
           << size - 1 << " but got " << getIndex().getType();
  return success();
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType x = typeOf(getX()), out = getType();
  ArrayRef<int64_t> dims = getDims();
  bool ascending = static_cast<int64_t>(dims.size()) == x.getRank();
  for (size_t i = 0; ascending && i < dims.size(); ++i)
    ascending = dims[i] >= 0 && dims[i] < out.getRank() &&
                (i == 0 || dims[i - 1] < dims[i]);
  if (!ascending)
    return emitOpError("(C1) expects ")
           << x.getRank() << " ascending dimensions in [0, " << out.getRank()
           << ") but got [" << dims << "]";
  for (auto [i, dim] : llvm::enumerate(dims))
    if (x.getDimSize(i) != out.getDimSize(dim))
      return emitOpError("(C2) expects size ")
             << x.getDimSize(i) << " in dimension " << dim << " but got "
             << out.getDimSize(dim);
  return verifySameElement(*this, "(C3)", getX(), getResult());
}

LogicalResult TransposeOp::verify() {
  RankedTensorType x = typeOf(getX());
  llvm::SmallBitVector seen(x.getRank());
  SmallVector<int64_t> shape;
  for (int64_t p : getPermutation())
    if (p >= 0 && p < x.getRank() && !seen.test(p)) {
      seen.set(p);
      shape.push_back(x.getDimSize(p));
    }
  if (!seen.all() ||
      static_cast<int64_t>(getPermutation().size()) != x.getRank())
    return emitOpError("(C1) expects a permutation of ")
           << x.getRank() << " dimensions but got [" << getPermutation() << "]";
  if (failed(verifyShape(*this, "(C2)", "a result", shape, getResult())))
    return failure();
  return verifySameElement(*this, "(C2)", getX(), getResult());
}

LogicalResult IotaOp::verify() {
  if (getType().getRank() == 1)
    return success();
  return emitOpError("(C1) expects a result of rank 1 but got ") << getType();
}

LogicalResult MaskPaddingOp::verify() {
  if (failed(verifyDim(*this, getDim(), getType().getRank())))
    return failure();
  if (getValue().getType() == getType().getElementType())
    return success();
  return emitOpError("(C2) expects a value of the element type of ")
         << getType() << " but got " << getValue();
}
