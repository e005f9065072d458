//===- ConvertConvolution.cpp - Convolutions ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Brings the dimensions in the order of nn.convolution, and splits those that
// have groups. Groups of the batch are groups of features once the batch's
// major part stands beside the group of the kernel.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"
#include "Indices.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

namespace {
/// Dimensions of a tensor of a convolution: the batch (a kernel's output
/// features), the features (a kernel's input features), and positions.
struct Order {
  SmallVector<int64_t> dims;

  SmallVector<int64_t> getInverse() const {
    SmallVector<int64_t> inverse(dims.size());
    for (auto [i, dim] : llvm::enumerate(dims))
      inverse[dim] = i;
    return inverse;
  }
};

/// Orders of the input, the kernel and the result.
using Orders = std::array<Order, 3>;

/// The attributes of a convolution.
struct Source {
  Orders orders;
  int64_t featureGroups = 1, batchGroups = 1;
  SmallVector<int64_t> strides, low, high, xDilation, dilation;
  SmallVector<bool> isReversed;
};
} // namespace

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// Reads `[b, 0, 1, f]`: each dimension is one of two words or the number of a
/// position.
static bool readOrder(StringRef text, char first, char second, Order &order) {
  SmallVector<StringRef> words;
  text.split(words, ',');
  order.dims.assign(words.size(), -1);
  for (auto [dim, word] : llvm::enumerate(words)) {
    word = word.trim();
    size_t place = 0;
    if (word == StringRef(&second, 1))
      place = 1;
    else if (word != StringRef(&first, 1) &&
             (word.getAsInteger(10, place) || (place += 2) >= words.size()))
      return false;
    if (place >= words.size() || order.dims[place] != -1)
      return false;
    order.dims[place] = dim;
  }
  return true;
}

/// Reads `conv<[b, 0, f]x[0, i, o]->[b, 0, f]>`.
static bool readShortOrders(StringRef text, Orders &orders) {
  if (!text.consume_front("conv<[") || !text.consume_back("]>"))
    return false;
  auto [input, rest] = text.split("]x[");
  auto [kernel, result] = rest.split("]->[");
  return readOrder(input, 'b', 'f', orders[0]) &&
         readOrder(kernel, 'o', 'i', orders[1]) &&
         readOrder(result, 'b', 'f', orders[2]);
}

/// Reads `conv<raw input_batch_dimension = 0, ...>`.
static bool readRawOrders(StringRef text, Orders &orders) {
  static constexpr std::array<std::array<StringRef, 3>, 3> names = {
      {{"input_batch_dimension", "input_feature_dimension",
        "input_spatial_dimensions"},
       {"kernel_output_feature_dimension", "kernel_input_feature_dimension",
        "kernel_spatial_dimensions"},
       {"output_batch_dimension", "output_feature_dimension",
        "output_spatial_dimensions"}}};
  if (!text.consume_front("conv<raw "))
    return false;
  SmallVector<StringRef> known;
  for (const auto &of : names)
    llvm::append_range(known, of);
  auto fields = parseFields(("conv<" + text).str(), "conv", known);
  for (unsigned i = 0; fields && i < 3; ++i)
    for (StringRef name : names[i])
      llvm::append_range(orders[i].dims, fields->lookup(name));
  return fields.has_value();
}

static FailureOr<Orders> readOrders(OpConversion &c) {
  StringRef text = getText(getSourceAttr(c.op, "dimension_numbers"));
  Orders orders;
  if (!readShortOrders(text, orders) && !readRawOrders(text, orders))
    return c.error() << "expects #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, "
                        "f]> as dimension_numbers";
  size_t rank = c.operandType(0).getRank();
  for (const Order &order : orders)
    if (order.dims.size() != rank ||
        failed(c.checkDims(order.dims, rank, "dimension_numbers")))
      return c.error() << "expects each of " << rank
                       << " dimensions once in dimension_numbers";
  return orders;
}

/// Reads a list of integers with an entry for each position; of `value` if it
/// is missing.
static FailureOr<SmallVector<int64_t>> readList(OpConversion &c, StringRef name,
                                                size_t count, int64_t value) {
  if (!getSourceAttr(c.op, name))
    return SmallVector<int64_t>(count, value);
  auto list = c.getIntegers(name);
  if (succeeded(list) && list->size() != count)
    return c.error() << "expects " << count << " numbers as " << name;
  return list;
}

static LogicalResult readPadding(OpConversion &c, Source &source,
                                 size_t count) {
  source.low.assign(count, 0);
  source.high.assign(count, 0);
  Attribute padding = getSourceAttr(c.op, "padding");
  if (!padding)
    return success();
  auto pairs = dyn_cast<DenseIntElementsAttr>(padding);
  if (!pairs || !pairs.getElementType().isInteger(64) ||
      pairs.getNumElements() != int64_t(2 * count))
    return c.error() << "expects a pair of numbers for each position as "
                        "padding";
  for (auto [i, number] : llvm::enumerate(pairs.getValues<int64_t>()))
    (i % 2 ? source.high : source.low)[i / 2] = number;
  return success();
}

static LogicalResult readReversal(OpConversion &c, Source &source,
                                  size_t count) {
  source.isReversed.assign(count, false);
  Attribute reversal = getSourceAttr(c.op, "window_reversal");
  if (!reversal)
    return success();
  SmallVector<bool> values;
  if (auto array = dyn_cast<DenseBoolArrayAttr>(reversal))
    values.assign(array.asArrayRef().begin(), array.asArrayRef().end());
  else if (auto dense = dyn_cast<DenseIntElementsAttr>(reversal);
           dense && dense.getElementType().isInteger(1))
    llvm::append_range(values, dense.getValues<bool>());
  if (values.size() != count)
    return c.error() << "expects " << count << " booleans as window_reversal";
  source.isReversed = values;
  return success();
}

static FailureOr<Source> readSource(OpConversion &c) {
  int64_t rank = c.operandType(0).getRank(), count = rank - 2;
  if (count < 1 || count > 3 || c.operandType(1).getRank() != rank ||
      c.resultType().getRank() != rank)
    return c.error() << "expects tensors of one rank from 3 to 5";
  Source source;
  FailureOr<Orders> orders = readOrders(c);
  auto strides = readList(c, "window_strides", count, 1),
       base = readList(c, "lhs_dilation", count, 1),
       dilation = readList(c, "rhs_dilation", count, 1);
  if (failed(orders) || failed(strides) || failed(base) || failed(dilation) ||
      failed(readPadding(c, source, count)) ||
      failed(readReversal(c, source, count)))
    return failure();
  source.orders = *orders;
  source.strides = *strides;
  source.xDilation = *base;
  source.dilation = *dilation;
  auto readCount = [&](StringRef name) -> int64_t {
    auto attr = dyn_cast_or_null<IntegerAttr>(getSourceAttr(c.op, name));
    return attr && attr.getType().isInteger(64) ? attr.getInt() : 0;
  };
  source.featureGroups = readCount("feature_group_count");
  source.batchGroups = readCount("batch_group_count");
  if (source.featureGroups < 1 || source.batchGroups < 1 ||
      (source.featureGroups != 1 && source.batchGroups != 1))
    return c.error() << "expects a feature_group_count and a "
                        "batch_group_count above 0, one of them 1";
  return source;
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

/// Splits the input into [batch, group, in, positions...].
static FailureOr<Value> splitInput(OpConversion &c, const Source &source,
                                   Value x) {
  x = c.b.transpose(x, source.orders[0].dims);
  SmallVector<int64_t> shape(c.b.typeOf(x).getShape());
  if (shape[0] % source.batchGroups || shape[1] % source.featureGroups)
    return c.error() << "expects a batch and features that the groups divide";
  if (source.batchGroups == 1) {
    shape[1] /= source.featureGroups;
    shape.insert(shape.begin() + 1, source.featureGroups);
    return c.b.reshape(x, shape);
  }
  shape[0] /= source.batchGroups;
  shape.insert(shape.begin(), source.batchGroups);
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(shape.size()));
  std::swap(order[0], order[1]);
  return c.b.transpose(c.b.reshape(x, shape), order);
}

/// Splits the kernel into [group, out, in, taps...], and reverses the taps of
/// single dimensions: the op reverses all or none.
static FailureOr<Value> splitKernel(OpConversion &c, const Source &source,
                                    Value kernel, bool &isReversed) {
  kernel = c.b.transpose(kernel, source.orders[1].dims);
  SmallVector<int64_t> shape(c.b.typeOf(kernel).getShape());
  int64_t groups = source.featureGroups * source.batchGroups;
  if (shape[0] % groups)
    return c.error() << "expects output features that the groups divide";
  isReversed = true;
  for (auto [i, isThis] : llvm::enumerate(source.isReversed))
    isReversed &= isThis || shape[2 + i] == 1;
  for (auto [i, isThis] : llvm::enumerate(source.isReversed)) {
    if (isReversed || !isThis || shape[2 + i] <= 1)
      continue;
    if (failed(checkLookUp(c, kernel, shape[2 + i], shape[2 + i])))
      return failure();
    kernel = reverse(c.b, kernel, 2 + i);
  }
  isReversed &= llvm::is_contained(source.isReversed, true);
  shape[0] /= groups;
  shape.insert(shape.begin(), groups);
  return c.b.reshape(kernel, shape);
}

static LogicalResult convertConvolution(OpConversion &c) {
  FailureOr<Source> source = readSource(c);
  if (failed(source))
    return failure();
  Value input = c.operands[0], kernel = c.operands[1];
  FailureOr<Type> element = unifyFactors(c, input, kernel);
  if (failed(element))
    return failure();
  bool isReversed = false;
  FailureOr<Value> x = splitInput(c, *source, input);
  FailureOr<Value> weight = failed(x)
                                ? FailureOr<Value>()
                                : splitKernel(c, *source, kernel, isReversed);
  if (failed(weight))
    return failure();
  // The op's verifier checks sizes; its result has the shape that they say.
  SmallVector<int64_t> shape(c.b.typeOf(*x).getShape().take_front(2));
  shape.push_back(c.b.typeOf(*weight).getDimSize(1));
  SmallVector<int64_t> ordered{shape[0], shape[1] * shape[2]};
  for (int64_t dim : ArrayRef(source->orders[2].dims).drop_front(2)) {
    shape.push_back(c.resultType().getDimSize(dim));
    ordered.push_back(shape.back());
  }
  auto op = nn::ConvolutionOp::create(
      c.b.b, c.b.loc, RankedTensorType::get(shape, *element), *x, *weight,
      source->strides, source->low, source->high, source->dilation,
      source->xDilation, isReversed);
  if (failed(op.verify()))
    return failure();
  Value result =
      c.b.transpose(c.b.reshape(op, ordered), source->orders[2].getInverse());
  return c.yield(c.b.cast(result, c.resultType().getElementType()));
}

void tessera::stablehlo::addConvolutionHandlers(HandlerTable &t) {
  t.add("stablehlo.convolution", 2, convertConvolution);
}
