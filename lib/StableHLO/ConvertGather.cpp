//===- ConvertGather.cpp - Rows of tables and elements of rows ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two kinds of gather are supported: rows of a table, which is an embedding,
// and elements of each row, which is a take_along_axis. An index that is an
// input is assumed to be in range, which the argument's range states, and one
// that an nn.top_k chose is in range: JAX's wrapping of negative ones is
// dropped. Other indices are clamped to the range, as gather does.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

namespace {
/// The attributes of a gather.
struct GatherDims {
  SmallVector<int64_t> offset, collapsed, operandBatch, indexBatch, startMap;
  SmallVector<int64_t> sizes;
  int64_t indexVector = 0;
};
} // namespace

static FailureOr<GatherDims> readDims(OpConversion &c) {
  std::optional<Fields> fields = parseFields(
      getText(getSourceAttr(c.op, "dimension_numbers")), "gather",
      {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
       "start_indices_batching_dims", "start_index_map", "index_vector_dim"});
  auto sizes = c.getIntegers("slice_sizes");
  if (failed(sizes))
    return failure();
  GatherDims dims;
  if (fields) {
    dims.offset = fields->lookup("offset_dims");
    dims.collapsed = fields->lookup("collapsed_slice_dims");
    dims.operandBatch = fields->lookup("operand_batching_dims");
    dims.indexBatch = fields->lookup("start_indices_batching_dims");
    dims.startMap = fields->lookup("start_index_map");
    SmallVector<int64_t> vector = fields->lookup("index_vector_dim");
    dims.indexVector = vector.empty() ? 0 : vector.front();
  }
  dims.sizes = *sizes;
  ArrayRef<int64_t> table = c.operandType(0).getShape();
  bool isKnown = fields && dims.startMap.size() == 1 && dims.startMap[0] >= 0 &&
                 dims.startMap[0] < int64_t(table.size()) &&
                 dims.sizes.size() == table.size() &&
                 c.operandType(0).getElementType().isIntOrFloat() &&
                 isa<IntegerType>(c.operandType(1).getElementType());
  if (!isKnown)
    return c.error() << "expects #stablehlo.gather<...> with one start index";
  return dims;
}

/// Drops the dimension of size 1 that holds the coordinates of indices; fails
/// if it is longer.
static FailureOr<Value> takeIndices(OpConversion &c, const GatherDims &dims) {
  SmallVector<int64_t> shape(c.operandType(1).getShape());
  int64_t rank = shape.size();
  if (dims.indexVector < 0 || dims.indexVector > rank ||
      (dims.indexVector < rank && shape[dims.indexVector] != 1))
    return c.error() << "expects indices of one coordinate";
  if (dims.indexVector < rank)
    shape.erase(shape.begin() + dims.indexVector);
  return c.b.reshape(c.operands[1], shape);
}

//===----------------------------------------------------------------------===//
// Indices that are inputs
//===----------------------------------------------------------------------===//

/// `x` of `select(x < 0, x + size, x)`; null for other values.
static Value matchWrap(Value value, int64_t size) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  if (!select)
    return {};
  Value x = select.getFalseValue();
  auto less = select.getCondition().getDefiningOp<arith::CmpIOp>();
  auto sum = select.getTrueValue().getDefiningOp<arith::AddIOp>();
  auto isSplat = [](Value constant, int64_t number) {
    auto splat = dyn_cast_or_null<IntegerAttr>(getSplat(constant));
    return splat && splat.getValue().getSExtValue() == number;
  };
  bool wraps = less && sum &&
               less.getPredicate() == arith::CmpIPredicate::slt &&
               less.getLhs() == x && isSplat(less.getRhs(), 0) &&
               sum.getLhs() == x && isSplat(sum.getRhs(), size);
  return wraps ? x : Value();
}

/// The argument that `x` equals up to casts and reshapes; null for computed
/// numbers.
static Value findInput(Value x) {
  while (Operation *op = x.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp, nn::BroadcastOp, nn::TransposeOp,
             arith::ExtSIOp, arith::TruncIOp>(op))
      return {};
    x = op->getOperand(0);
  }
  return x;
}

/// Whether `x` are positions in a dimension of at most `size` elements.
static bool isChoice(Value x, int64_t size) {
  auto choice = x.getDefiningOp<nn::TopKOp>();
  return choice &&
         GraphBuilder::typeOf(choice.getX()).getShape().back() <= size;
}

/// Rebuilds the shape of `like` around `x`: both have the same number of
/// elements in the same order.
static Value unwrap(OpConversion &c, Value index, int64_t size,
                    Value &wrapped) {
  // Dimensions of size 1 may be between the index and its wrapping.
  Value core = stripShape(index);
  Value source = matchWrap(core, size);
  Value plain = source ? source : core;
  Value input = findInput(plain);
  if (!input && !isChoice(plain, size))
    return index;
  wrapped = core;
  if (input) {
    auto [vocabulary, isNew] = c.converter.vocabularies.insert({input, size});
    if (!isNew)
      vocabulary->second = std::min(vocabulary->second, size);
  }
  return c.b.reshape(plain, c.b.typeOf(index).getShape());
}

//===----------------------------------------------------------------------===//
// Indices that are computed
//===----------------------------------------------------------------------===//

/// Whether all elements are known to be in [0, size): constants, and positions
/// in a dimension of at most that size.
static bool isInRange(Value index, int64_t size) {
  while (Operation *op = index.getDefiningOp()) {
    if (auto iota = dyn_cast<nn::IotaOp>(op))
      return !iota.getOffset() && iota.getType().getNumElements() <= size;
    if (DenseElementsAttr constant = getConstant(index))
      return llvm::all_of(constant.getValues<APInt>(), [&](const APInt &id) {
        return !id.isNegative() && id.getSExtValue() < size;
      });
    Value wrapped = matchWrap(index, size);
    if (!wrapped && !isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                         tensor::ExtractSliceOp, nn::BroadcastOp,
                         nn::TransposeOp, arith::ExtSIOp>(op))
      return false;
    index = wrapped ? wrapped : op->getOperand(0);
  }
  return false;
}

/// Clamps `index` to [0, size).
static Value clampIndex(OpConversion &c, Value index, int64_t size) {
  if (isInRange(index, size))
    return index;
  RankedTensorType type = c.b.typeOf(index);
  Type element = type.getElementType();
  Builder builder(element.getContext());
  auto splat = [&](int64_t number) {
    return c.b.constant(type, builder.getIntegerAttr(element, number));
  };
  index = c.b.make<arith::MaxSIOp>(index, splat(0));
  if (!llvm::isIntN(element.getIntOrFloatBitWidth(), size - 1))
    return index;
  return c.b.make<arith::MinSIOp>(index, splat(size - 1));
}

//===----------------------------------------------------------------------===//
// Two kinds
//===----------------------------------------------------------------------===//

/// Rows of dimension 0: [V, ...] and ids [...] give [ids..., ...].
static bool isEmbedding(OpConversion &c, const GatherDims &dims,
                        int64_t indexRank) {
  ArrayRef<int64_t> table = c.operandType(0).getShape();
  auto last = llvm::seq<int64_t>(indexRank, indexRank + table.size() - 1);
  return dims.startMap[0] == 0 && dims.collapsed == SmallVector<int64_t>{0} &&
         dims.operandBatch.empty() && dims.indexBatch.empty() &&
         llvm::equal(dims.offset, last) && dims.sizes[0] == 1 &&
         ArrayRef(dims.sizes).drop_front() == table.drop_front();
}

static LogicalResult buildEmbedding(OpConversion &c, Value ids) {
  RankedTensorType type = c.operandType(0);
  int64_t rows = type.getDimSize(0), width = type.getNumElements() / rows;
  Value wrapped;
  ids = unwrap(c, ids, rows, wrapped);
  if (!wrapped)
    ids = clampIndex(c, ids, rows);
  SmallVector<int64_t> shape(c.b.typeOf(ids).getShape());
  shape.push_back(width);
  Value table = c.b.reshape(c.operands[0], {rows, width});
  Value result = c.b.make<nn::EmbeddingOp>(type.clone(shape), table, ids,
                                           Value(), IntegerAttr());
  if (wrapped)
    c.converter.gathers.push_back({result, wrapped, rows});
  shape.pop_back();
  llvm::append_range(shape, type.getShape().drop_front());
  return c.yield(c.b.reshape(result, shape));
}

/// One element of the last dimension per index of all others, or a row of them.
static bool isTakeAlongAxis(OpConversion &c, const GatherDims &dims,
                            ArrayRef<int64_t> indices) {
  ArrayRef<int64_t> rows = c.operandType(0).getShape().drop_back();
  auto others = llvm::seq<int64_t>(0, rows.size());
  return dims.startMap[0] == int64_t(rows.size()) && dims.offset.empty() &&
         dims.collapsed == SmallVector<int64_t>{int64_t(rows.size())} &&
         llvm::equal(dims.operandBatch, others) &&
         llvm::equal(dims.indexBatch, others) &&
         llvm::all_of(dims.sizes, [](int64_t n) { return n == 1; }) &&
         indices.size() >= rows.size() &&
         indices.take_front(rows.size()) == rows &&
         (indices.size() == rows.size() + 1 ||
          llvm::all_of(indices.drop_front(rows.size()),
                       [](int64_t n) { return n == 1; }));
}

static LogicalResult buildTakeAlongAxis(OpConversion &c, Value index) {
  RankedTensorType type = c.operandType(0);
  SmallVector<int64_t> shape(c.b.typeOf(index).getShape());
  int64_t size = type.getShape().back();
  Value wrapped;
  index = unwrap(c, index, size, wrapped);
  if (!wrapped)
    index = clampIndex(c, index, size);
  ArrayRef<int64_t> taken = type.getShape().drop_back();
  if (shape.size() > taken.size() && shape.back() != 1)
    taken = shape;
  Value result = c.b.make<nn::TakeAlongAxisOp>(type.clone(taken), c.operands[0],
                                               c.b.reshape(index, taken),
                                               Value(), IntegerAttr());
  if (wrapped)
    c.converter.gathers.push_back({result, wrapped, size});
  return c.yield(c.b.reshape(result, shape));
}

static LogicalResult convertGather(OpConversion &c) {
  FailureOr<GatherDims> dims = readDims(c);
  if (failed(dims))
    return failure();
  FailureOr<Value> indices = takeIndices(c, *dims);
  if (failed(indices))
    return failure();
  ArrayRef<int64_t> shape = c.b.typeOf(*indices).getShape();
  if (!c.isFloat())
    return c.error() << "expects elements that are floats but got "
                     << c.operandType(0);
  if (isEmbedding(c, *dims, shape.size()))
    return buildEmbedding(c, *indices);
  if (isTakeAlongAxis(c, *dims, shape))
    return buildTakeAlongAxis(c, *indices);
  return c.error() << "expects rows of dimension 0, or elements of each row of "
                      "the last dimension";
}

void tessera::stablehlo::addGatherHandlers(HandlerTable &t) {
  t.add("stablehlo.gather", 2, convertGather);
}
