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

namespace {
/// The attention of one query of one head.
struct QueryAttention {
  const AttentionMask &mask;
  const Tensor &q, &k, &v;
  /// Batch, query, group and head.
  std::array<int64_t, 4> at;
  std::vector<double> scores;
  /// The largest score, and the sum of exponentials of differences to it.
  double max = -INFINITY, total = 0;

  /// Computes the scores; keys that are not seen have minus infinity.
  void score(const Cell *query) {
    auto [b, s, g, r] = at;
    int64_t keys = k.getShape()[1], groups = k.getShape()[2],
            dim = k.getShape()[3], queries = q.getShape()[1];
    scores.assign(keys, -INFINITY);
    double slope;
    for (int64_t t = 0; t < keys; ++t) {
      if (!mask.sees(b, queries, s, t))
        continue;
      const Cell *key = k.data() + ((b * keys + t) * groups + g) * dim;
      double sum = 0;
      for (int64_t d = 0; d < dim; ++d)
        sum += query[d].f * key[d].f;
      scores[t] = mask.cap(sum * mask.scale, slope);
      if (mask.bias)
        scores[t] = roundAs(scores[t] + mask.biasAt({b, s, g, r, t}));
      max = std::fmax(max, scores[t]);
    }
    if (mask.sinks)
      max = std::fmax(max, sink());
  }
  double sink() const {
    return (*mask.sinks)[at[2] * mask.sinks->getShape()[1] + at[3]].f;
  }

  /// Rounds a score with a bias to f32, in which the lowest number absorbs it.
  double roundAs(double score) const {
    return mask.bias->getElementType().getWidth() == 64 ? score : float(score);
  }

  /// Computes the weighted mean of the values.
  void mean(Cell *result) {
    int64_t keys = v.getShape()[1], groups = v.getShape()[2],
            dim = v.getShape()[3];
    std::vector<double> sums(dim);
    for (int64_t t = 0; t < keys; ++t) {
      if (scores[t] == -INFINITY)
        continue;
      double weight = std::exp(scores[t] - max);
      total += weight;
      const Cell *value =
          v.data() + ((at[0] * keys + t) * groups + at[2]) * dim;
      for (int64_t d = 0; d < dim; ++d)
        sums[d] += weight * value[d].f;
    }
    if (mask.sinks && sink() > -INFINITY)
      total += std::exp(sink() - max);
    for (int64_t d = 0; d < dim; ++d)
      result[d] = floatCell(total == 0 ? 0.0 : sums[d] / total);
  }
};
} // namespace

LogicalResult interp::evaluateAttention(const AttentionMask &mask,
                                        Evaluation &e) {
  const Tensor &q = e.operand(0), &k = e.operand(1), &v = e.operand(2);
  ArrayRef<int64_t> shape = q.getShape();
  Tensor result = e.makeResult();
  int64_t queries = shape[1], groups = shape[2], heads = shape[3];
  double lowest = -std::numeric_limits<double>::max();
  if (mask.bias && mask.bias->getElementType().getWidth() < 64)
    lowest = -std::numeric_limits<float>::max();
  std::vector<double> stats;
  int64_t rows = shape[0] * queries * groups * heads;
  for (int64_t row = 0; row < rows; ++row) {
    QueryAttention one{mask,
                       q,
                       k,
                       v,
                       {row / heads / groups / queries,
                        row / heads / groups % queries, row / heads % groups,
                        row % heads}};
    one.score(q.data() + row * shape[4]);
    one.mean(result.data() + row * v.getShape()[3]);
    double log = one.total == 0 ? -INFINITY : std::log(one.total);
    if (mask.bias)
      stats.push_back(one.total == 0 ? lowest : one.max);
    stats.push_back(mask.bias || one.total == 0 ? log : log + one.max);
  }
  return yieldWithStats(e, std::move(result), {stats});
}

static LogicalResult evaluateAttentionOp(nn::AttentionOp op, Evaluation &e) {
  auto mask = AttentionMask::get(op, e);
  mask.queryOffset = e.getIndex(op.getQOffset());
  mask.keyOffset = e.getIndex(op.getKOffset());
  mask.order = op.getOrderAttr();
  if (op.getSinks())
    mask.sinks = e.get(op.getSinks()).get();
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
