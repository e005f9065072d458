//===- InterpretNN.cpp - nn ops -------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements each op as documented in NN.td, in double, rounded once at the
// end. InterpretNNShapes.cpp has ops that only move and compare elements.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "Interpretation.h"
#include "Lines.h"
#include "NNFunctions.h"
#include "dialects/NN/NN.h"
#include "tessera/Interpreter/Shards.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

/// Yields the result and, if the op has them, the statistics of its rows.
static LogicalResult yieldWithStats(Evaluation &e, Tensor result,
                                    ArrayRef<std::vector<double>> stats) {
  if (failed(e.yieldRounded(std::move(result))))
    return failure();
  for (unsigned i = 1; i < e.op->getNumResults(); ++i) {
    Tensor stat = e.makeResult(i);
    for (auto [row, value] : llvm::enumerate(stats[i - 1]))
      stat[row] = floatCell(value);
    if (failed(e.yieldRounded(std::move(stat))))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

static LogicalResult evaluateEinsum(nn::EinsumOp op, Evaluation &e) {
  auto letters = op.getLetters();
  Contraction contraction;
  std::string seen;
  auto number = [&](StringRef tensor, ArrayRef<int64_t> shape,
                    SmallVector<unsigned> &dims) {
    for (auto [letter, size] : llvm::zip_equal(tensor, shape)) {
      size_t i = seen.find(letter);
      if (i == std::string::npos) {
        i = seen.size();
        seen.push_back(letter);
        contraction.sizes.push_back(size);
      }
      dims.push_back(i);
    }
  };
  Tensor result = e.makeResult();
  number(letters.lhs, e.operand(0).getShape(), contraction.lhs);
  number(letters.rhs, e.operand(1).getShape(), contraction.rhs);
  number(letters.result, result.getShape(), contraction.result);
  contract(contraction, e.operand(0), e.operand(1), result);
  if (!op.getScales().empty()) {
    double scale = e.operand(2)[0].f * e.operand(3)[0].f;
    for (int64_t i = 0; i < result.getNumElements(); ++i)
      result[i].f *= scale;
  }
  return e.yieldRounded(std::move(result));
}

/// Copies the windows of x to [batch, group, in, taps..., positions...].
static Tensor takeWindows(const Tensor &x, ArrayRef<WindowDim> windows,
                          bool isReversed) {
  SmallVector<int64_t> shape(x.getShape().take_front(3)), inner;
  for (const WindowDim &dim : windows)
    inner.push_back(dim.taps);
  for (const WindowDim &dim : windows)
    inner.push_back(dim.getNumWindows());
  shape.append(inner);
  Tensor result(x.getElementType(), shape);
  SmallVector<int64_t> strides = x.getStrides();
  int64_t channels = shape[0] * shape[1] * shape[2];
  int64_t size = channels ? x.getNumElements() / channels : 0;
  int64_t taken = channels ? result.getNumElements() / channels : 0, place = 0;
  forEachIndex(inner, [&](ArrayRef<int64_t> index) {
    std::optional<int64_t> from = 0;
    for (auto [i, dim] : llvm::enumerate(windows)) {
      int64_t tap = isReversed ? dim.taps - 1 - index[i] : index[i];
      auto element = dim.findElement(index[windows.size() + i], tap);
      from = from && element ? std::optional(*from + *element * strides[3 + i])
                             : std::nullopt;
    }
    for (int64_t c = 0; from && c < channels; ++c)
      result[c * taken + place] = x[c * size + *from];
    ++place;
  });
  return result;
}

static LogicalResult evaluateConvolution(nn::ConvolutionOp op, Evaluation &e) {
  SmallVector<WindowDim, 3> windows = op.getWindows();
  Tensor columns = takeWindows(e.operand(0), windows, op.getReversed());
  Tensor result = e.makeResult();
  enum Index : unsigned { Batch, Group, In, Out, First };
  Contraction contraction;
  contraction.sizes = {columns.getShape()[0], columns.getShape()[1],
                       columns.getShape()[2], result.getShape()[2]};
  contraction.lhs = {Group, Out, In};
  contraction.rhs = {Batch, Group, In};
  contraction.result = {Batch, Group, Out};
  for (unsigned i = 0; i < 2 * windows.size(); ++i) {
    contraction.sizes.push_back(columns.getShape()[3 + i]);
    contraction.rhs.push_back(First + i);
    (i < windows.size() ? contraction.lhs : contraction.result)
        .push_back(First + i);
  }
  contract(contraction, e.operand(1), columns, result);
  return e.yieldRounded(std::move(result));
}

/// Returns the power-of-two factor of the quantized elements.
static double getQuantizer(double amax, double largest) {
  if (!std::isfinite(amax))
    return NAN;
  if (amax < std::ldexp(1.0, -126))
    return 1;
  // The quotient is rounded in f32, as in a program.
  float factor = static_cast<float>(largest) / static_cast<float>(amax);
  return std::ldexp(
      1.0, std::isinf(factor) ? 126 : std::min(std::ilogb(factor), 126));
}

static LogicalResult evaluateQuantize(nn::QuantizeOp op, Evaluation &e) {
  Tensor result = e.makeResult(0), scale = e.makeResult(1);
  auto type = cast<FloatType>(op.getResult().getType().getElementType());
  double largest =
      APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  double factor = getQuantizer(e.operand(1)[0].f, largest);
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    double x = e.operand(0)[i].f * factor;
    if (!std::isnan(x))
      x = std::min(std::max(x, -largest), largest);
    result[i] = floatCell(x);
  }
  scale[0] = floatCell(1 / factor);
  if (failed(e.yieldRounded(std::move(result))))
    return failure();
  return e.yieldRounded(std::move(scale));
}

/// Computes the weights of one query over its keys, and their weighted sum of
/// values. `hidden(key)` is true for keys that the query does not see. Returns
/// the logarithm of the sum of exponentials, or minus infinity if it sees none.
template <typename Hidden>
static double attend(const Cell *query, const Cell *keys, const Cell *values,
                     Cell *result, int64_t numKeys, int64_t keyStride,
                     int64_t dim, int64_t valueStride, int64_t valueDim,
                     double scale, std::vector<double> &weights,
                     std::vector<double> &sums, Hidden &&hidden) {
  double max = -INFINITY, total = 0;
  for (int64_t t = 0; t < numKeys; ++t) {
    weights[t] = -INFINITY;
    if (hidden(t))
      continue;
    const Cell *key = keys + t * keyStride;
    double score = 0;
    for (int64_t d = 0; d < dim; ++d)
      score += query[d].f * key[d].f;
    weights[t] = score * scale;
    max = std::fmax(max, weights[t]);
  }
  std::fill(sums.begin(), sums.end(), 0.0);
  for (int64_t t = 0; t < numKeys; ++t) {
    if (weights[t] == -INFINITY)
      continue;
    double weight = std::exp(weights[t] - max);
    total += weight;
    const Cell *value = values + t * valueStride;
    for (int64_t d = 0; d < valueDim; ++d)
      sums[d] += weight * value[d].f;
  }
  for (int64_t d = 0; d < valueDim; ++d)
    result[d] = floatCell(total == 0 ? 0.0 : sums[d] / total);
  return total == 0 ? -INFINITY : std::log(total) + max;
}

LogicalResult interp::evaluateAttention(const AttentionMask &mask,
                                        Evaluation &e) {
  const Tensor &q = e.operand(0), &k = e.operand(1), &v = e.operand(2);
  ArrayRef<int64_t> shape = q.getShape();
  int64_t batch = shape[0], queries = shape[1], groups = shape[2],
          heads = shape[3], dim = shape[4], keys = k.getShape()[1],
          valueDim = v.getShape()[3];
  Tensor result = e.makeResult();
  std::vector<double> weights(keys), sums(valueDim), logSums;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t s = 0; s < queries; ++s)
      for (int64_t g = 0; g < groups; ++g)
        for (int64_t r = 0; r < heads; ++r) {
          int64_t row = ((b * queries + s) * groups + g) * heads + r;
          logSums.push_back(attend(
              q.data() + row * dim, k.data() + (b * keys * groups + g) * dim,
              v.data() + (b * keys * groups + g) * valueDim,
              result.data() + row * valueDim, keys, groups * dim, dim,
              groups * valueDim, valueDim, mask.scale, weights, sums,
              [&](int64_t t) { return !mask.sees(b, queries, s, t); }));
        }
  return yieldWithStats(e, std::move(result), {logSums});
}

static LogicalResult evaluateAttentionOp(nn::AttentionOp op, Evaluation &e) {
  auto mask = AttentionMask::get(op, e);
  mask.queryOffset = e.getIndex(op.getQOffset());
  mask.keyOffset = e.getIndex(op.getKOffset());
  mask.order = op.getOrderAttr();
  return evaluateAttention(mask, e);
}

//===----------------------------------------------------------------------===//
// Along one dimension
//===----------------------------------------------------------------------===//

static LogicalResult evaluateLayerNorm(nn::LayerNormOp op, Evaluation &e) {
  const Tensor &gamma = e.operand(1), &beta = e.operand(2);
  Tensor x = e.operand(0);
  Lines lines(x.getShape(), x.getRank() - 1);
  double eps = op.getEps().convertToDouble();
  std::vector<double> means, scales;
  for (int64_t i = 0; i < lines.count; ++i) {
    Cell *row = x.data() + i * lines.size;
    double sum = 0, squares = 0;
    for (int64_t j = 0; j < lines.size; ++j)
      sum += row[j].f;
    double mean = sum / lines.size;
    for (int64_t j = 0; j < lines.size; ++j)
      squares += (row[j].f - mean) * (row[j].f - mean);
    double scale = 1 / std::sqrt(squares / lines.size + eps);
    for (int64_t j = 0; j < lines.size; ++j)
      row[j].f = (row[j].f - mean) * scale * gamma[j].f + beta[j].f;
    means.push_back(mean);
    scales.push_back(scale);
  }
  return yieldWithStats(e, std::move(x), {means, scales});
}

static LogicalResult evaluateRMSNorm(nn::RMSNormOp op, Evaluation &e) {
  const Tensor &gamma = e.operand(1);
  Tensor x = e.operand(0);
  Lines lines(x.getShape(), x.getRank() - 1);
  double eps = op.getEps().convertToDouble();
  std::vector<double> scales;
  for (int64_t i = 0; i < lines.count; ++i) {
    Cell *row = x.data() + i * lines.size;
    double squares = 0;
    for (int64_t j = 0; j < lines.size; ++j)
      squares += row[j].f * row[j].f;
    double scale = 1 / std::sqrt(squares / lines.size + eps);
    for (int64_t j = 0; j < lines.size; ++j)
      row[j].f = row[j].f * scale * gamma[j].f;
    scales.push_back(scale);
  }
  return yieldWithStats(e, std::move(x), {scales});
}

static LogicalResult evaluateSoftmax(nn::SoftmaxOp op, Evaluation &e) {
  Tensor x = e.operand(0);
  Lines lines(x.getShape(), op.getDim());
  for (int64_t i = 0; i < lines.count; ++i) {
    Cell *line = x.data() + lines.start(i);
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < lines.size; ++j)
      max = std::fmax(max, line[j * lines.stride].f);
    for (int64_t j = 0; j < lines.size; ++j) {
      Cell &c = line[j * lines.stride];
      c.f = std::exp(c.f - max);
      sum += c.f;
    }
    for (int64_t j = 0; j < lines.size; ++j)
      line[j * lines.stride].f /= sum;
  }
  return e.yieldRounded(std::move(x));
}

static LogicalResult evaluateCrossEntropy(nn::CrossEntropyOp op,
                                          Evaluation &e) {
  const Tensor &logits = e.operand(0), &labels = e.operand(1);
  Tensor result = e.makeResult();
  std::vector<double> largest, logSums;
  int64_t width = logits.getShape().back();
  int64_t classes = static_cast<int64_t>(op.getClasses().value_or(width));
  int64_t ignore = static_cast<int64_t>(op.getIgnore());
  for (int64_t i = 0, n = result.getNumElements(); i < n; ++i) {
    const Cell *row = logits.data() + i * width;
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < classes; ++j)
      max = std::fmax(max, row[j].f);
    for (int64_t j = 0; j < classes; ++j)
      sum += std::exp(row[j].f - max);
    largest.push_back(max);
    logSums.push_back(std::log(sum));
    int64_t label = labels[i].i;
    if (label == ignore)
      continue;
    bool isClass = label >= 0 && label < classes;
    result[i] =
        floatCell(isClass ? logSums.back() - (row[label].f - max) : NAN);
  }
  return yieldWithStats(e, std::move(result), {largest, logSums});
}

/// Returns the angle per position of each pair of elements in a line.
static std::vector<double> ropeFrequencies(nn::RopeOp op, int64_t size) {
  if (auto given = op.getFrequencies())
    return given->vec();
  std::vector<double> frequencies(size / 2);
  double theta = op.getTheta()->convertToDouble();
  for (int64_t i = 0; i < size / 2; ++i)
    frequencies[i] = std::pow(theta, -2.0 * i / size);
  auto scaling = op.getScaling();
  if (!scaling)
    return frequencies;
  double factor = scaling->getFactor().getValueAsDouble();
  if (!scaling->getOriginalContext()) {
    for (double &frequency : frequencies)
      frequency /= factor;
    return frequencies;
  }
  double low = scaling->getLowFreqFactor().getValueAsDouble();
  double high = scaling->getHighFreqFactor().getValueAsDouble();
  double context = scaling->getOriginalContext();
  for (double &frequency : frequencies) {
    double wavelength = 2 * M_PI / frequency;
    if (wavelength > context / low) {
      frequency /= factor;
    } else if (wavelength >= context / high) {
      double keep = (context / wavelength - low) / (high - low);
      frequency = (1 - keep) * frequency / factor + keep * frequency;
    }
  }
  return frequencies;
}

static LogicalResult evaluateRope(nn::RopeOp op, Evaluation &e) {
  Tensor x = e.operand(0);
  int64_t size = x.getShape().back(), half = op.getRotatedWidth() / 2;
  std::vector<double> frequencies = ropeFrequencies(op, 2 * half);
  int64_t offset = e.getIndex(op.getOffset()), dim = op.getDim();
  int64_t length = x.getShape()[dim];
  if (x.getNumElements() == 0)
    return e.yieldRounded(std::move(x));
  int64_t rowsPerPosition = x.getStrides()[dim] / size;
  double turn = op.getInverse() ? -1 : 1;
  // Pair j is elements j * step and j * step + apart.
  int64_t step = op.getInterleaved() ? 2 : 1;
  int64_t apart = op.getInterleaved() ? 1 : half;
  for (int64_t i = 0, n = x.getNumElements() / size; i < n; ++i) {
    int64_t index = offset + i / rowsPerPosition % length;
    double position =
        op.getOrder() ? op.getOrderAttr().getPosition(index) : index;
    Cell *row = x.data() + i * size;
    for (int64_t j = 0; j < half; ++j) {
      double c = std::cos(position * frequencies[j]);
      double s = turn * std::sin(position * frequencies[j]);
      Cell &first = row[j * step], &second = row[j * step + apart];
      double a = first.f, b = second.f;
      first.f = a * c - b * s;
      second.f = b * c + a * s;
    }
  }
  return e.yieldRounded(std::move(x));
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

template <double (*fn)(double)>
static LogicalResult mapElements(Evaluation &e) {
  Tensor x = e.operand(0);
  for (int64_t i = 0, n = x.getNumElements(); i < n; ++i)
    x[i].f = fn(x[i].f);
  return e.yieldRounded(std::move(x));
}

double interp::geluErf(double x) {
  return 0.5 * x * (1 + std::erf(x * M_SQRT1_2));
}
double interp::geluTanh(double x) {
  double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}
static double identity(double x) { return x; }
double interp::silu(double x) { return x / (1 + std::exp(-x)); }

static LogicalResult evaluateGelu(nn::GeluOp op, Evaluation &e) {
  return op.getKind() == nn::GeluKind::Erf ? mapElements<geluErf>(e)
                                           : mapElements<geluTanh>(e);
}

void tessera::interp::addNNHandlers(Registry &r) {
  r.addLocal<nn::AttentionOp, evaluateAttentionOp>();
  r.addLocal<nn::ConvolutionOp, evaluateConvolution>();
  r.addLocal<nn::CrossEntropyOp, evaluateCrossEntropy>();
  r.addLocal<nn::EinsumOp, evaluateEinsum>();
  r.addLocal<nn::GeluOp, evaluateGelu>();
  r.addLocal<nn::LayerNormOp, evaluateLayerNorm>();
  r.addLocal<nn::QuantizeOp, evaluateQuantize>();
  r.addLocal<nn::RMSNormOp, evaluateRMSNorm>();
  r.addLocal<nn::RopeOp, evaluateRope>();
  r.addLocal<nn::SoftmaxOp, evaluateSoftmax>();
  r.addLocal(nn::SiluOp::getOperationName(), mapElements<silu>);
  r.addLocal(nn::StopGradientOp::getOperationName(), mapElements<identity>);
}
