//===- Experts.cpp - The library calls on experts -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of an expert are gathered, multiplied by its matrices by the matmul
// of Matmul.cpp, and added to their tokens. Sums over rows have the order of
// the experts, whatever the threads, and a row's result does not depend on the
// other rows.
//
//===----------------------------------------------------------------------===//

#include "HostTarget.h"

#include "kernels/CpuKernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace tessera::rt;

namespace {

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Rows of an element type, read and written as f32; f64 as f64.
struct F32Rows {
  using Element = float;
  using Wide = float;
  static const float *read(const float *row, int64_t, float *) { return row; }
  static float *place(float *row, float *) { return row; }
  static void write(const float *, float *, int64_t) {}
};
struct F64Rows {
  using Element = double;
  using Wide = double;
  static const double *read(const double *row, int64_t, double *) {
    return row;
  }
  static double *place(double *row, double *) { return row; }
  static void write(const double *, double *, int64_t) {}
};
struct Bf16Rows {
  using Element = uint16_t;
  using Wide = float;
  static const float *read(const uint16_t *row, int64_t count, float *room) {
    cpuKernels().bf16ToF32(row, room, count);
    return room;
  }
  static float *place(uint16_t *, float *room) { return room; }
  static void write(const float *from, uint16_t *row, int64_t count) {
    cpuKernels().f32ToBf16(from, row, count);
  }
};
struct F16Rows {
  using Element = _Float16;
  using Wide = float;
  static const float *read(const _Float16 *row, int64_t count, float *room) {
    for (int64_t i = 0; i < count; ++i)
      room[i] = float(row[i]);
    return room;
  }
  static float *place(_Float16 *, float *room) { return room; }
  static void write(const float *from, _Float16 *row, int64_t count) {
    cpuKernels().f32ToF16(from, row, count);
  }
};

/// The value of an activation in f64, for checks and not for speed.
double activate(int64_t activation, double x) {
  constexpr double scale = 0.7978845608028654, cubic = 0.044715;
  if (activation == TESSERA_RT_SILU)
    return x / (1 + std::exp(-x));
  if (activation == TESSERA_RT_GELU)
    return 0.5 * x * (1 + std::erf(x * M_SQRT1_2));
  return 0.5 * x * (1 + std::tanh(scale * (x + cubic * x * x * x)));
}
double activationSlope(int64_t activation, double x) {
  constexpr double scale = 0.7978845608028654, cubic = 0.044715;
  if (activation == TESSERA_RT_SILU) {
    double s = 1 / (1 + std::exp(-x));
    return s + x * s * (1 - s);
  }
  if (activation == TESSERA_RT_GELU)
    return 0.5 * (1 + std::erf(x * M_SQRT1_2)) +
           x * std::exp(-0.5 * x * x) * 0.3989422804014327;
  double t = std::tanh(scale * (x + cubic * x * x * x));
  return 0.5 * (1 + t) +
         0.5 * x * (1 - t * t) * scale * (1 + 3 * cubic * x * x);
}

void hidden(int64_t activation, float gate, const float *g, const float *u,
            float *h, int64_t count) {
  cpuKernels().expertHidden(int32_t(activation), gate, g, u, h, count);
}
void hidden(int64_t activation, double gate, const double *g, const double *u,
            double *h, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    h[i] = gate * activate(activation, g[i]) * u[i];
}
float hiddenBackward(int64_t activation, float gate, const float *dh,
                     const float *g, const float *u, float *dg, float *du,
                     int64_t count) {
  return cpuKernels().expertHiddenBackward(int32_t(activation), gate, dh, g, u,
                                           dg, du, count);
}
double hiddenBackward(int64_t activation, double gate, const double *dh,
                      const double *g, const double *u, double *dg, double *du,
                      int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    double value = activate(activation, g[i]);
    sum += dh[i] * value * u[i];
    dg[i] = gate * dh[i] * u[i] * activationSlope(activation, g[i]);
    du[i] = gate * dh[i] * value;
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Parts of the rank's scratch memory, one after the other.
class Parts {
public:
  /// Bytes that `size` bytes take.
  static size_t room(size_t size) { return (size + 63) / 64 * 64; }
  explicit Parts(void *memory) : next(static_cast<uint8_t *>(memory)) {}
  void *take(size_t size) {
    uint8_t *part = next;
    next += room(size);
    return part;
  }

private:
  uint8_t *next;
};

/// A call on experts with rows of this element type.
template <typename Rows> struct Call {
  using Element = typename Rows::Element;
  using Wide = typename Rows::Wide;

  tessera_rt_context *ctx;
  const tessera_rt_experts_desc &d;
  const int32_t *first, *choiceOf;

  Call(tessera_rt_context *ctx, const tessera_rt_experts_desc &d,
       const int32_t *routing)
      : ctx(ctx), d(d), first(routing), choiceOf(routing + d.experts + 1) {}

  static constexpr bool isWide() { return sizeof(Element) == sizeof(Wide); }
  static int64_t wideType() {
    return sizeof(Wide) == 8 ? TESSERA_RT_F64 : TESSERA_RT_F32;
  }
  int64_t rowsOf(int64_t expert) const {
    return first[expert + 1] - first[expert];
  }
  int64_t mostRows() const {
    int64_t most = 0;
    for (int64_t expert = 0; expert < d.experts; ++expert)
      most = std::max(most, rowsOf(expert));
    return most;
  }
  int64_t tokenOf(int64_t row) const { return choiceOf[row] / d.choices; }

  /// Calls body(i, room of the thread) for the rows i of an expert, counted
  /// from 0; the room holds `floats` elements.
  template <typename Body>
  void forEachRow(int64_t rows, int64_t floats, Body &&body) const {
    size_t bytes = size_t(floats) * sizeof(Wide);
    for (ScratchBuffer &buffer : ctx->scratch.perThread)
      buffer.get(bytes);
    int64_t chunks = std::min<int64_t>(rows, ctx->pool->size() * 4);
    ctx->pool->forEach(chunks, [&](int64_t chunk, int thread) {
      auto *room = static_cast<Wide *>(
          ctx->scratch.perThread[size_t(thread)].get(bytes));
      for (int64_t i = rows * chunk / chunks; i < rows * (chunk + 1) / chunks;
           ++i)
        body(i, room);
    });
  }

  /// Copies the tokens of an expert's rows to `to`, [rows, width].
  void gather(int64_t expert, const Element *tokens, int64_t width,
              Element *to) const {
    forEachRow(rowsOf(expert), 0, [&](int64_t i, Wide *) {
      memcpy(to + i * width, tokens + tokenOf(first[expert] + i) * width,
             size_t(width) * sizeof(Element));
    });
  }

  /// Returns the rows of an expert of a tensor by token, gathered at `room`, or
  /// of a tensor by row.
  const Element *rowsAt(int64_t expert, const void *tensor, int64_t width,
                        bool isInRows, Element *room) const {
    auto *elements = static_cast<const Element *>(tensor);
    if (isInRows)
      return elements + first[expert] * width;
    gather(expert, elements, width, room);
    return room;
  }

  /// Adds rows of an expert to their tokens.
  void scatter(int64_t expert, const Wide *rows, int64_t width,
               Wide *tokens) const {
    forEachRow(rowsOf(expert), 0, [&](int64_t i, Wide *) {
      Wide *to = tokens + tokenOf(first[expert] + i) * width;
      for (int64_t j = 0; j < width; ++j)
        to[j] += rows[i * width + j];
    });
  }

  /// Rounds [tokens, width] sums to the result, unless they are in it.
  void finish(const Wide *sums, int64_t width, void *result) const {
    auto *to = static_cast<Element *>(result);
    if (!isWide())
      forEachRow(d.tokens, 0, [&](int64_t i, Wide *) {
        Rows::write(sums + i * width, to + i * width, width);
      });
  }

  /// c [m, n] (+)= a * b, or a * transpose of b, or transpose of a * b.
  void multiply(int64_t m, int64_t n, int64_t k, const void *a, const void *b,
                void *c, int64_t resultType, bool transposesA = false,
                bool transposesB = false, bool accumulates = false) const {
    tessera_rt_matmul_desc desc = {};
    desc.dtype = d.dtype;
    desc.c_dtype = resultType;
    desc.batch = 1;
    desc.m = m;
    desc.n = n;
    desc.k = k;
    desc.lda = transposesA ? m : k;
    desc.ldb = transposesB ? k : n;
    desc.ldc = n;
    desc.trans_a = transposesA;
    desc.trans_b = transposesB;
    desc.accumulate = accumulates;
    host::matmul(ctx, desc, a, b, c, nullptr, nullptr);
  }

  /// The matrix of an expert.
  static const Element *matrix(const void *weights, int64_t expert,
                               int64_t size) {
    return static_cast<const Element *>(weights) + expert * size;
  }
  static Element *matrix(void *rows, int64_t expert, int64_t size) {
    return static_cast<Element *>(rows) + expert * size;
  }

  /// h = gate act(g) u of an expert's rows.
  void makeHidden(int64_t expert, const Wide *gates, const Element *g,
                  const Element *u, Element *h) const {
    forEachRow(rowsOf(expert), 3 * d.ffn, [&](int64_t i, Wide *room) {
      int64_t at = i * d.ffn;
      Wide *to = Rows::place(h + at, room + 2 * d.ffn);
      hidden(d.activation, gates[choiceOf[first[expert] + i]],
             Rows::read(g + at, d.ffn, room),
             Rows::read(u + at, d.ffn, room + d.ffn), to, d.ffn);
      Rows::write(to, h + at, d.ffn);
    });
  }

  void forward(const ExpertTensors &t) const;
  void backward(const ExpertTensors &t) const;
  void weightGradient(const ExpertTensors &t) const;
};

template <typename Rows>
void Call<Rows>::forward(const ExpertTensors &t) const {
  size_t most = size_t(mostRows()), e = sizeof(Element), w = sizeof(Wide);
  size_t x = most * size_t(d.in) * e, f = most * size_t(d.ffn) * e,
         y = most * size_t(d.out) * w,
         sums = isWide() ? 0 : size_t(d.tokens * d.out) * w;
  Parts parts(ctx->scratch.rows.get(Parts::room(x) + 3 * Parts::room(f) +
                                    Parts::room(y) + Parts::room(sums)));
  auto *xRows = static_cast<Element *>(parts.take(x));
  auto *h = static_cast<Element *>(parts.take(f));
  auto *gRoom = static_cast<Element *>(parts.take(f));
  auto *uRoom = static_cast<Element *>(parts.take(f));
  auto *yRows = static_cast<Wide *>(parts.take(y));
  auto *total = static_cast<Wide *>(isWide() ? t.y : parts.take(sums));
  std::fill_n(total, d.tokens * d.out, Wide(0));
  for (int64_t expert = 0; expert < d.experts; ++expert) {
    int64_t rows = rowsOf(expert), at = first[expert] * d.ffn;
    if (rows == 0)
      continue;
    Element *g = t.g ? static_cast<Element *>(t.g) + at : gRoom;
    Element *u = t.u ? static_cast<Element *>(t.u) + at : uRoom;
    gather(expert, static_cast<const Element *>(t.x), d.in, xRows);
    multiply(rows, d.ffn, d.in, xRows, matrix(t.wGate, expert, d.in * d.ffn), g,
             d.dtype);
    multiply(rows, d.ffn, d.in, xRows, matrix(t.wUp, expert, d.in * d.ffn), u,
             d.dtype);
    makeHidden(expert, static_cast<const Wide *>(t.gates), g, u, h);
    multiply(rows, d.out, d.ffn, h, matrix(t.wDown, expert, d.ffn * d.out),
             yRows, wideType());
    scatter(expert, yRows, d.out, total);
  }
  finish(total, d.out, t.y);
}

template <typename Rows>
void Call<Rows>::backward(const ExpertTensors &t) const {
  size_t most = size_t(mostRows()), e = sizeof(Element), w = sizeof(Wide);
  size_t y = most * size_t(d.out) * e, f = most * size_t(d.ffn) * w,
         x = most * size_t(d.in) * w,
         sums = isWide() ? 0 : size_t(d.tokens * d.in) * w;
  Parts parts(ctx->scratch.rows.get(Parts::room(y) + Parts::room(f) +
                                    Parts::room(x) + Parts::room(sums)));
  auto *gradRows = static_cast<Element *>(parts.take(y));
  auto *dh = static_cast<Wide *>(parts.take(f));
  auto *xRows = static_cast<Wide *>(parts.take(x));
  auto *total = static_cast<Wide *>(isWide() ? t.dx : parts.take(sums));
  auto *gates = static_cast<const Wide *>(t.gates);
  auto *dgates = static_cast<Wide *>(t.dgates);
  std::fill_n(total, d.tokens * d.in, Wide(0));
  std::fill_n(dgates, d.tokens * d.choices, Wide(0));
  for (int64_t expert = 0; expert < d.experts; ++expert) {
    int64_t rows = rowsOf(expert), start = first[expert], at = start * d.ffn;
    if (rows == 0)
      continue;
    auto *g = static_cast<const Element *>(t.g) + at;
    auto *u = static_cast<const Element *>(t.u) + at;
    auto *dg = static_cast<Element *>(t.dg) + at;
    auto *du = static_cast<Element *>(t.du) + at;
    gather(expert, static_cast<const Element *>(t.grad), d.out, gradRows);
    multiply(rows, d.ffn, d.out, gradRows,
             matrix(t.wDown, expert, d.ffn * d.out), dh, wideType(),
             /*transposesA=*/false, /*transposesB=*/true);
    forEachRow(rows, 4 * d.ffn, [&](int64_t i, Wide *room) {
      int64_t row = i * d.ffn, choice = choiceOf[start + i];
      Wide *toG = Rows::place(dg + row, room + 2 * d.ffn);
      Wide *toU = Rows::place(du + row, room + 3 * d.ffn);
      dgates[choice] = hiddenBackward(d.activation, gates[choice], dh + row,
                                      Rows::read(g + row, d.ffn, room),
                                      Rows::read(u + row, d.ffn, room + d.ffn),
                                      toG, toU, d.ffn);
      Rows::write(toG, dg + row, d.ffn);
      Rows::write(toU, du + row, d.ffn);
    });
    multiply(rows, d.in, d.ffn, dg, matrix(t.wGate, expert, d.in * d.ffn),
             xRows, wideType(), /*transposesA=*/false, /*transposesB=*/true);
    multiply(rows, d.in, d.ffn, du, matrix(t.wUp, expert, d.in * d.ffn), xRows,
             wideType(), /*transposesA=*/false, /*transposesB=*/true,
             /*accumulates=*/true);
    scatter(expert, xRows, d.in, total);
  }
  finish(total, d.in, t.dx);
}

template <typename Rows>
void Call<Rows>::weightGradient(const ExpertTensors &t) const {
  size_t most = size_t(mostRows()), e = sizeof(Element);
  size_t x = most * size_t(d.in) * e, y = most * size_t(d.out) * e,
         f = most * size_t(d.ffn) * e;
  Parts parts(
      ctx->scratch.rows.get(Parts::room(x) + Parts::room(y) + Parts::room(f)));
  auto *xRoom = static_cast<Element *>(parts.take(x));
  auto *gradRoom = static_cast<Element *>(parts.take(y));
  auto *h = static_cast<Element *>(parts.take(f));
  auto size = size_t(dtypeSize(int32_t(d.result_dtype)));
  auto place = [&](void *weights, int64_t expert, int64_t elements) {
    return static_cast<uint8_t *>(weights) + size_t(expert * elements) * size;
  };
  for (int64_t expert = 0; expert < d.experts; ++expert) {
    int64_t rows = rowsOf(expert), at = first[expert] * d.ffn;
    auto *g = static_cast<const Element *>(t.g) + at;
    auto *u = static_cast<const Element *>(t.u) + at;
    auto *dg = static_cast<const Element *>(t.dg) + at;
    auto *du = static_cast<const Element *>(t.du) + at;
    const Element *xRows = rowsAt(expert, t.x, d.in, d.x_in_rows, xRoom);
    const Element *gradRows =
        rowsAt(expert, t.grad, d.out, d.grad_in_rows, gradRoom);
    makeHidden(expert, static_cast<const Wide *>(t.gates), g, u, h);
    multiply(d.in, d.ffn, rows, xRows, dg,
             place(t.dwGate, expert, d.in * d.ffn), d.result_dtype,
             /*transposesA=*/true);
    multiply(d.in, d.ffn, rows, xRows, du, place(t.dwUp, expert, d.in * d.ffn),
             d.result_dtype, /*transposesA=*/true);
    multiply(d.ffn, d.out, rows, h, gradRows,
             place(t.dwDown, expert, d.ffn * d.out), d.result_dtype,
             /*transposesA=*/true);
  }
}

/// Calls body with the Call of the descriptor's element type.
template <typename Body>
void withCall(tessera_rt_context *ctx, const tessera_rt_experts_desc &d,
              const ExpertTensors &t, Body &&body) {
  if (d.dtype == TESSERA_RT_F32)
    body(Call<F32Rows>(ctx, d, t.routing));
  else if (d.dtype == TESSERA_RT_F64)
    body(Call<F64Rows>(ctx, d, t.routing));
  else if (d.dtype == TESSERA_RT_BF16)
    body(Call<Bf16Rows>(ctx, d, t.routing));
  else
    body(Call<F16Rows>(ctx, d, t.routing));
}

/// Checks a descriptor and records an error.
Status check(tessera_rt_context *ctx, const tessera_rt_experts_desc &d) {
  bool isKnown = d.dtype == TESSERA_RT_F32 || d.dtype == TESSERA_RT_F64 ||
                 d.dtype == TESSERA_RT_BF16 || d.dtype == TESSERA_RT_F16;
  bool fits = d.result_dtype == d.dtype || d.result_dtype == TESSERA_RT_F32;
  if (isKnown && fits && d.activation >= TESSERA_RT_SILU &&
      d.activation <= TESSERA_RT_GELU_TANH && d.choices >= 1 &&
      std::min({d.tokens, d.experts, d.room, d.in, d.ffn, d.out}) >= 0)
    return TESSERA_RT_OK;
  return fail(ctx, TESSERA_RT_INVALID,
              format("experts expect f32, f64, bf16 or f16, gradients of "
                     "weights of the same type or f32, an activation of 0 to 2 "
                     "and no negative size, but got %s, %s and activation %lld",
                     dtypeName(int32_t(d.dtype)),
                     dtypeName(int32_t(d.result_dtype)),
                     (long long)d.activation));
}

/// True if tokens have more rows than there is room for. Results are NaN then.
bool overflows(const tessera_rt_experts_desc &d, const ExpertTensors &t) {
  return t.routing[d.experts] > d.room;
}

/// Makes a tensor NaN.
void fillNaN(void *tensor, int64_t elements, int64_t dtype) {
  if (dtype == TESSERA_RT_F64)
    std::fill_n(static_cast<double *>(tensor), elements, std::nan(""));
  else if (dtype == TESSERA_RT_F32)
    std::fill_n(static_cast<float *>(tensor), elements, std::nanf(""));
  else
    // A NaN of bf16 and of f16.
    std::fill_n(static_cast<uint16_t *>(tensor), elements, uint16_t(0x7fc0));
}

/// Makes the results of a call NaN, except rows.
void fillResults(ExpertsCall call, const tessera_rt_experts_desc &d,
                 const ExpertTensors &t) {
  if (call == ExpertsCall::Forward)
    return fillNaN(t.y, d.tokens * d.out, d.dtype);
  if (call == ExpertsCall::Backward) {
    bool isWide = d.dtype == TESSERA_RT_F64;
    fillNaN(t.dx, d.tokens * d.in, d.dtype);
    return fillNaN(t.dgates, d.tokens * d.choices,
                   isWide ? TESSERA_RT_F64 : TESSERA_RT_F32);
  }
  for (void *gradient : {t.dwGate, t.dwUp})
    fillNaN(gradient, d.experts * d.in * d.ffn, d.result_dtype);
  fillNaN(t.dwDown, d.experts * d.ffn * d.out, d.result_dtype);
}

} // namespace

void tessera::rt::host::experts(tessera_rt_context *ctx, ExpertsCall kind,
                                const tessera_rt_experts_desc &d,
                                const ExpertTensors &tensors) {
  if (overflows(d, tensors))
    return fillResults(kind, d, tensors);
  withCall(ctx, d, tensors, [&](auto call) {
    if (kind == ExpertsCall::Forward)
      call.forward(tensors);
    else if (kind == ExpertsCall::Backward)
      call.backward(tensors);
    else
      call.weightGradient(tensors);
  });
}

Status HostTarget::experts(ExpertsCall call,
                           const tessera_rt_experts_desc &desc,
                           const ExpertTensors &tensors) {
  host::experts(ctx, call, desc, tensors);
  return TESSERA_RT_OK;
}

extern "C" int32_t tessera_rt_experts(tessera_rt_context *ctx,
                                      const tessera_rt_experts_desc *desc,
                                      const int32_t *routing, const void *x,
                                      const void *gates, const void *w_gate,
                                      const void *w_up, const void *w_down,
                                      void *y, void *gate_rows, void *up_rows) {
  if (Status status = check(ctx, *desc))
    return status;
  ExpertTensors tensors = {};
  tensors.routing = routing;
  tensors.x = x;
  tensors.gates = gates;
  tensors.wGate = w_gate;
  tensors.wUp = w_up;
  tensors.wDown = w_down;
  tensors.y = y;
  tensors.g = gate_rows;
  tensors.u = up_rows;
  return ctx->target->experts(ExpertsCall::Forward, *desc, tensors);
}

extern "C" int32_t tessera_rt_experts_backward(
    tessera_rt_context *ctx, const tessera_rt_experts_desc *desc,
    const int32_t *routing, const void *grad, const void *gates,
    const void *w_gate, const void *w_up, const void *w_down,
    const void *gate_rows, const void *up_rows, void *dx, void *dgates,
    void *dgate_rows, void *dup_rows) {
  if (Status status = check(ctx, *desc))
    return status;
  ExpertTensors tensors = {};
  tensors.routing = routing;
  tensors.grad = grad;
  tensors.gates = gates;
  tensors.wGate = w_gate;
  tensors.wUp = w_up;
  tensors.wDown = w_down;
  tensors.g = const_cast<void *>(gate_rows);
  tensors.u = const_cast<void *>(up_rows);
  tensors.dx = dx;
  tensors.dgates = dgates;
  tensors.dg = dgate_rows;
  tensors.du = dup_rows;
  return ctx->target->experts(ExpertsCall::Backward, *desc, tensors);
}

extern "C" int32_t tessera_rt_experts_weight_gradient(
    tessera_rt_context *ctx, const tessera_rt_experts_desc *desc,
    const int32_t *routing, const void *x, const void *grad, const void *gates,
    const void *gate_rows, const void *up_rows, const void *dgate_rows,
    const void *dup_rows, void *dw_gate, void *dw_up, void *dw_down) {
  if (Status status = check(ctx, *desc))
    return status;
  ExpertTensors tensors = {};
  tensors.routing = routing;
  tensors.x = x;
  tensors.grad = grad;
  tensors.gates = gates;
  tensors.g = const_cast<void *>(gate_rows);
  tensors.u = const_cast<void *>(up_rows);
  tensors.dg = const_cast<void *>(dgate_rows);
  tensors.du = const_cast<void *>(dup_rows);
  tensors.dwGate = dw_gate;
  tensors.dwUp = dw_up;
  tensors.dwDown = dw_down;
  return ctx->target->experts(ExpertsCall::WeightGradient, *desc, tensors);
}
