//===- EpilogueCases.h - Matmuls with epilogues -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls of every kind of tessera_rt_matmul_fused, and their results by
// definition, in f64. For tests on the host and for measurements on a device.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RUNTIME_EPILOGUECASES_H
#define TESSERA_TEST_RUNTIME_EPILOGUECASES_H

#include "runtime/cuda/Matmul.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera::rt::cuda {

/// A tensor of any float type, row by row, with numbers from a seed.
class FloatTensor {
public:
  FloatTensor(int32_t dtype, int64_t rows, int64_t columns, int seed)
      : dtype(dtype), rows(rows), columns(columns),
        lines(size_t(rows * columns * dtypeSize(dtype) / 256 + 1)) {
    for (int64_t i = 0; i < rows * columns; ++i)
      set(i, double((i * 37 + seed * 11 + i / 7) % 33 - 16) / 16);
  }
  void *data() { return lines.data(); }
  double get(int64_t i) const {
    const void *base = lines.data();
    switch (dtype) {
    case TESSERA_RT_BF16:
      return bf16ToFloat(static_cast<const uint16_t *>(base)[i]);
    case TESSERA_RT_F16:
      return double(static_cast<const _Float16 *>(base)[i]);
    case TESSERA_RT_F64:
      return static_cast<const double *>(base)[i];
    default:
      return static_cast<const float *>(base)[i];
    }
  }
  void set(int64_t i, double value) {
    void *base = lines.data();
    if (dtype == TESSERA_RT_BF16)
      static_cast<uint16_t *>(base)[i] = floatToBf16(float(value));
    else if (dtype == TESSERA_RT_F16)
      static_cast<_Float16 *>(base)[i] = _Float16(float(value));
    else if (dtype == TESSERA_RT_F64)
      static_cast<double *>(base)[i] = value;
    else
      static_cast<float *>(base)[i] = float(value);
  }
  int64_t size() const { return rows * columns; }
  /// Copies the numbers of another tensor to its own address.
  void take(const FloatTensor &other) {
    std::copy(other.lines.begin(), other.lines.end(), lines.begin());
  }

  int32_t dtype;
  int64_t rows, columns;

private:
  /// All tensors have the same alignment, so that equal calls have equal keys.
  struct alignas(256) Line {
    uint8_t bytes[256];
  };
  std::vector<Line> lines;
};

/// Description of a call.
struct EpilogueCase {
  int64_t kind;
  int32_t dtype, cDtype, biasDtype;
  bool hasBias, hasAux;
  /// 0: nothing is added; 1: C is added; 2: another tensor is added.
  int added;
  int64_t m, n, k;
  int64_t transA = 0, transB = 0;
};

/// EpilogueOperands of a case, and the results by definition.
struct EpilogueOperands {
  FloatTensor a, b, addend, c, bias, aux;
  std::vector<double> wantedC, wantedAux, wantedSums;
  std::vector<double> sizeOfSums;

  explicit EpilogueOperands(const EpilogueCase &t)
      : a(t.dtype, t.transA ? t.k : t.m, t.transA ? t.m : t.k, 1),
        b(t.dtype, t.transB ? t.n : t.k, t.transB ? t.k : t.n, 2),
        addend(t.cDtype, t.m, t.n, 3), c(t.cDtype, t.m, t.n, 4),
        bias(t.biasDtype, 1, std::max(t.m, t.n), 5), aux(t.cDtype, t.m, t.n, 6),
        wantedC(size_t(t.m * t.n)), wantedAux(wantedC),
        wantedSums(size_t(std::max(t.m, t.n))), sizeOfSums(wantedSums) {
    for (int64_t i = 0; i < t.m; ++i)
      for (int64_t j = 0; j < t.n; ++j)
        define(t, i, j);
    auto sum = [&](const FloatTensor &from, int64_t size) {
      for (int64_t d = 0; d < t.k; ++d)
        for (int64_t j = 0; j < size; ++j)
          add(j, from.get(d * size + j));
    };
    if (t.kind == TESSERA_RT_FUSE_LHS_SUMS)
      sum(a, t.m);
    if (t.kind == TESSERA_RT_FUSE_RHS_SUMS)
      sum(b, t.n);
  }

  MatmulCall call(const EpilogueCase &t) {
    MatmulCall call;
    call.desc = {t.dtype, t.cDtype,  1,         t.m,      t.n,
                 t.k,     a.columns, b.columns, t.n,      0,
                 0,       0,         t.transA,  t.transB, t.added != 0};
    call.fusion = {t.kind, t.biasDtype, t.n};
    call.a = a.data();
    call.b = b.data();
    call.addend = t.added == 2 ? addend.data() : nullptr;
    call.c = c.data();
    call.bias = t.hasBias ? bias.data() : nullptr;
    call.aux = t.hasAux ? aux.data() : nullptr;
    return call;
  }

  /// Resets everything that a call may have written.
  void restart(const EpilogueCase &t) {
    EpilogueOperands fresh(t);
    c.take(fresh.c);
    bias.take(fresh.bias);
    aux.take(fresh.aux);
  }

private:
  void add(int64_t j, double value) {
    wantedSums[size_t(j)] += value;
    sizeOfSums[size_t(j)] += std::fabs(value);
  }
  void define(const EpilogueCase &t, int64_t i, int64_t j) {
    double x = 0;
    for (int64_t d = 0; d < t.k; ++d)
      x += a.get(t.transA ? d * t.m + i : i * t.k + d) *
           b.get(t.transB ? j * t.k + d : d * t.n + j);
    size_t at = size_t(i * t.n + j);
    if (t.added)
      x += (t.added == 1 ? c : addend).get(int64_t(at));
    if (t.kind == TESSERA_RT_FUSE_BIAS || t.kind == TESSERA_RT_FUSE_GELU)
      x += t.hasBias ? bias.get(j) : 0;
    wantedAux[at] = x;
    auto inner = [](double y) {
      return std::sqrt(2 / M_PI) * (y + 0.044715 * y * y * y);
    };
    if (t.kind == TESSERA_RT_FUSE_GELU)
      x = 0.5 * x * (1 + std::tanh(inner(x)));
    if (t.kind == TESSERA_RT_FUSE_GELU_GRADIENT) {
      // Computes the derivative by a finite difference.
      double y = aux.get(int64_t(at)), h = 1e-5;
      auto gelu = [&](double z) { return 0.5 * z * (1 + std::tanh(inner(z))); };
      x *= (gelu(y + h) - gelu(y - h)) / (2 * h);
    }
    wantedC[at] = x;
    if (t.kind == TESSERA_RT_FUSE_GELU_GRADIENT)
      add(j, x);
  }
};

inline double accuracyOf(int32_t dtype) {
  return dtype == TESSERA_RT_BF16  ? 1.0 / 128
         : dtype == TESSERA_RT_F16 ? 1.0 / 1024
         : dtype == TESSERA_RT_F32 ? 1e-5
                                   : 1e-9;
}

/// The largest error of a call's results, in units of the error that its types
/// allow.
inline double worstEpilogueError(const EpilogueCase &t,
                                 const EpilogueOperands &o) {
  double worst = 0, accuracy = accuracyOf(t.cDtype);
  auto compare = [&](double got, double wanted, double allowed) {
    double error = std::fabs(got - wanted) / allowed;
    worst = std::isfinite(error) ? std::max(worst, error) : 1e30;
  };
  for (int64_t i = 0; i < o.c.size(); ++i) {
    // A result that was rounded before has an additional relative error.
    double size =
        2 + std::fabs(o.wantedC[size_t(i)]) + std::fabs(o.wantedAux[size_t(i)]);
    compare(o.c.get(i), o.wantedC[size_t(i)], accuracy * size);
    if (t.kind == TESSERA_RT_FUSE_GELU && t.hasAux)
      compare(o.aux.get(i), o.wantedAux[size_t(i)], accuracy * size);
  }
  bool ofOperand =
      t.kind == TESSERA_RT_FUSE_LHS_SUMS || t.kind == TESSERA_RT_FUSE_RHS_SUMS;
  if (t.hasBias && (ofOperand || t.kind == TESSERA_RT_FUSE_GELU_GRADIENT)) {
    double rough = std::max(accuracyOf(t.biasDtype),
                            ofOperand ? 0.0 : accuracyOf(t.cDtype));
    for (int64_t j = 0; j < (t.kind == TESSERA_RT_FUSE_LHS_SUMS ? t.m : t.n);
         ++j)
      compare(o.bias.get(j), o.wantedSums[size_t(j)],
              rough * (2 + o.sizeOfSums[size_t(j)] +
                       (ofOperand ? 0.0 : 4.0 * double(t.m))));
  }
  return worst;
}

/// Every kind in every type, over odd sizes.
inline std::vector<EpilogueCase> epilogueCases() {
  const int32_t f32 = TESSERA_RT_F32, bf16 = TESSERA_RT_BF16,
                f16 = TESSERA_RT_F16, f64 = TESSERA_RT_F64;
  const int32_t types[][3] = {
      {f32, f32, f32}, {bf16, bf16, bf16}, {bf16, bf16, f32}, {bf16, f32, f32},
      {f16, f16, f16}, {f16, f16, f32},    {f64, f64, f64}};
  const int64_t sizes[][3] = {{1, 1, 1},   {5, 7, 3},    {16, 24, 8},
                              {33, 40, 5}, {70, 129, 6}, {3, 8, 100}};
  std::vector<EpilogueCase> cases;
  for (auto &d : types)
    for (auto &s : sizes) {
      auto add = [&](int64_t kind, bool hasBias, bool hasAux, int added,
                     int64_t transA = 0, int64_t transB = 0) {
        cases.push_back({kind, d[0], d[1], d[2], hasBias, hasAux, added, s[0],
                         s[1], s[2], transA, transB});
      };
      add(TESSERA_RT_FUSE_NONE, false, false, 2);
      add(TESSERA_RT_FUSE_BIAS, true, false, 0, 0, 1);
      add(TESSERA_RT_FUSE_BIAS, true, false, 2);
      add(TESSERA_RT_FUSE_BIAS, true, false, 1, 1, 1);
      add(TESSERA_RT_FUSE_GELU, false, false, 0);
      add(TESSERA_RT_FUSE_GELU, true, false, 0);
      add(TESSERA_RT_FUSE_GELU, true, true, 0);
      add(TESSERA_RT_FUSE_GELU, false, true, 2);
      add(TESSERA_RT_FUSE_GELU_GRADIENT, false, true, 0, 0, 1);
      add(TESSERA_RT_FUSE_GELU_GRADIENT, true, true, 0, 0, 1);
      add(TESSERA_RT_FUSE_LHS_SUMS, true, false, 0, 1, 1);
      add(TESSERA_RT_FUSE_RHS_SUMS, true, false, 1, 1, 0);
      add(TESSERA_RT_FUSE_RHS_SUMS, true, false, 2, 0, 0);
    }
  return cases;
}
} // namespace tessera::rt::cuda

#endif // TESSERA_TEST_RUNTIME_EPILOGUECASES_H
