//===- FakeCublasLt.cpp - cuBLASLt on the host, for tests -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of cuBLASLt that the runtime calls, with cuBLASLt's semantics:
// column-major matrices, attributes, epilogues. Matmuls are computed on the
// host, element by element. There are four algorithms; number 2 is the only
// fast one, and number 3 cannot run.
//
//===----------------------------------------------------------------------===//

#include "FakeStream.h"
#include "runtime/cuda/CublasLtApi.h"

#include <cmath>
#include <cstring>
#include <map>
#include <unistd.h>

using namespace tessera::rt::cuda;

#ifndef FAKE_VERSION
#define FAKE_VERSION 130100
#endif

FAKE_STREAM_HOOK

static int64_t numMatmuls = 0, numHeuristics = 0;
static std::map<int, int64_t> numByEpilogue;
static bool areEpiloguesSlow = false, areEpiloguesRefused = false;
extern "C" int64_t tessera_fake_matmuls() { return numMatmuls; }
/// Number of matmuls with an epilogue so far.
extern "C" int64_t tessera_fake_epilogue(int epilogue) {
  return numByEpilogue[epilogue];
}
/// Makes all matmuls with an epilogue slow.
extern "C" void tessera_fake_slow_epilogues(int areSlow) {
  areEpiloguesSlow = areSlow;
}
/// Makes all algorithms for matmuls with an epilogue fail when they run.
extern "C" void tessera_fake_refuse_epilogues(int areRefused) {
  areEpiloguesRefused = areRefused;
}
extern "C" int64_t tessera_fake_heuristics() { return numHeuristics; }

namespace tessera::rt::cuda::lt {
struct HandleT {};
struct DescT {
  int compute, scale, transA = 0, transB = 0, epilogue = EpilogueDefault;
  int biasType = R32F;
  void *bias = nullptr, *aux = nullptr;
  int64_t auxLd = 0;
  const float *scaleA = nullptr, *scaleB = nullptr;
};
struct LayoutT {
  int type;
  uint64_t rows, columns;
  int64_t ld;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct PreferenceT {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};
};
} // namespace tessera::rt::cuda::lt

using namespace tessera::rt::cuda::lt;

/// Decodes an 8-bit number with `fraction` bits of fraction.
static double decode(int code, int fraction, int bias) {
  int exponent = (code & 0x7f) >> fraction;
  int digits = code & ((1 << fraction) - 1);
  double whole = digits + (exponent ? 1 << fraction : 0);
  double value = std::ldexp(whole, (exponent ? exponent : 1) - bias - fraction);
  return code & 0x80 ? -value : value;
}

static bool isF8(int type) { return type == R8FE4M3 || type == R8FE5M2; }

static double load(int type, const void *data, int64_t index) {
  switch (type) {
  case R8FE4M3:
    return decode(static_cast<const uint8_t *>(data)[index], 3, 7);
  case R8FE5M2:
    return decode(static_cast<const uint8_t *>(data)[index], 2, 15);
  case R64F:
    return static_cast<const double *>(data)[index];
  case R16F:
    return double(static_cast<const _Float16 *>(data)[index]);
  case R16BF: {
    uint32_t bits = uint32_t(static_cast<const uint16_t *>(data)[index]) << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
  }
  default:
    return static_cast<const float *>(data)[index];
  }
}

static void store(int type, void *data, int64_t index, double value) {
  switch (type) {
  case R64F:
    static_cast<double *>(data)[index] = value;
    return;
  case R16F:
    static_cast<_Float16 *>(data)[index] = _Float16(value);
    return;
  case R16BF: {
    float narrow = float(value);
    uint32_t bits;
    memcpy(&bits, &narrow, 4);
    bits += 0x7fff + ((bits >> 16) & 1);
    static_cast<uint16_t *>(data)[index] = uint16_t(bits >> 16);
    return;
  }
  default:
    static_cast<float *>(data)[index] = float(value);
  }
}

static double gelu(double x) {
  double inner = 0.7978845608028654 * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

static double geluGradient(double x) {
  double inner = 0.7978845608028654 * (x + 0.044715 * x * x * x);
  double t = std::tanh(inner);
  double slope = 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope;
}

namespace {
/// One call, with copies of the descriptors on the caller's stack.
struct Matmul {
  DescT desc;
  LayoutT a, b, c;
  double alpha, beta;
  const void *dataA, *dataB, *dataC;
  void *dataD;

  void run() const;
  /// Bias gradient: sums an operand over the depth.
  void sumOperand(const void *data, const LayoutT &layout, int64_t size,
                  int64_t depth) const {
    for (int64_t i = 0; i < size; ++i) {
      double sum = 0;
      for (int64_t d = 0; d < depth; ++d)
        sum += load(layout.type, data, d * layout.ld + i);
      store(desc.biasType, desc.bias, i, sum);
    }
  }
  double finishElement(double value, int64_t row, int64_t column) const;
};
} // namespace

double Matmul::finishElement(double value, int64_t row, int64_t column) const {
  bool isGradient = desc.epilogue == EpilogueDGelu ||
                    desc.epilogue == EpilogueDGeluBiasGradient;
  if (isGradient)
    return value *
           geluGradient(load(c.type, desc.aux, column * desc.auxLd + row));
  if (desc.epilogue & EpilogueBias)
    value += load(desc.biasType, desc.bias, row);
  if (desc.epilogue == EpilogueGeluAux || desc.epilogue == EpilogueGeluAuxBias)
    store(c.type, desc.aux, column * desc.auxLd + row, value);
  return desc.epilogue & EpilogueGelu ? gelu(value) : value;
}

void Matmul::run() const {
  int64_t m = int64_t(c.rows), n = int64_t(c.columns);
  int64_t k = int64_t(desc.transA ? a.rows : a.columns);
  for (int32_t i = 0; i < c.batch; ++i)
    for (int64_t row = 0; row < m; ++row) {
      double sumOfRow = 0;
      for (int64_t column = 0; column < n; ++column) {
        double sum = 0;
        for (int64_t d = 0; d < k; ++d)
          sum += load(a.type, dataA,
                      i * a.stride +
                          (desc.transA ? row * a.ld + d : d * a.ld + row)) *
                 load(b.type, dataB,
                      i * b.stride + (desc.transB ? d * b.ld + column
                                                  : column * b.ld + d));
        int64_t at = i * c.stride + column * c.ld + row;
        double value = alpha * sum;
        if (desc.scaleA)
          value *= double(*desc.scaleA) * double(*desc.scaleB);
        if (beta != 0)
          value += beta * load(c.type, dataC, at);
        value = finishElement(value, row, column);
        store(c.type, dataD, at, value);
        sumOfRow += value;
      }
      if (desc.epilogue == EpilogueDGeluBiasGradient)
        store(desc.biasType, desc.bias, row, sumOfRow);
    }
  if (desc.epilogue == EpilogueBiasGradientA)
    sumOperand(dataA, a, m, k);
  if (desc.epilogue == EpilogueBiasGradientB)
    sumOperand(dataB, b, n, k);
}

extern "C" {
size_t cublasLtGetVersion() { return FAKE_VERSION; }
const char *cublasLtGetStatusName(int status) {
  return status == NotSupported ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                : "CUBLAS_STATUS_INVALID_VALUE";
}
int cublasLtCreate(Handle *handle) {
  *handle = new HandleT;
  return Success;
}
int cublasLtDestroy(Handle handle) {
  delete handle;
  return Success;
}
int cublasLtMatmulDescCreate(Desc *desc, int compute, int scale) {
  *desc = new DescT{compute, scale};
  return Success;
}
int cublasLtMatmulDescDestroy(Desc desc) {
  delete desc;
  return Success;
}
int cublasLtMatmulDescSetAttribute(Desc desc, int attribute, const void *value,
                                   size_t bytes) {
  struct {
    int attribute;
    void *target;
    size_t bytes;
  } known[] = {{DescTransA, &desc->transA, 4},
               {DescTransB, &desc->transB, 4},
               {DescEpilogue, &desc->epilogue, 4},
               {DescBiasDataType, &desc->biasType, 4},
               {DescBiasPointer, &desc->bias, 8},
               {DescAuxPointer, &desc->aux, 8},
               {DescAuxLd, &desc->auxLd, 8},
               {DescScaleA, &desc->scaleA, 8},
               {DescScaleB, &desc->scaleB, 8}};
  for (auto &entry : known)
    if (entry.attribute == attribute && entry.bytes == bytes) {
      memcpy(entry.target, value, bytes);
      return Success;
    }
  return 7;
}
int cublasLtMatrixLayoutCreate(Layout *layout, int type, uint64_t rows,
                               uint64_t columns, int64_t ld) {
  *layout = new LayoutT{type, rows, columns, ld};
  return Success;
}
int cublasLtMatrixLayoutDestroy(Layout layout) {
  delete layout;
  return Success;
}
int cublasLtMatrixLayoutSetAttribute(Layout layout, int attribute,
                                     const void *value, size_t bytes) {
  if (attribute == LayoutBatchCount && bytes == 4)
    memcpy(&layout->batch, value, 4);
  else if (attribute == LayoutBatchStride && bytes == 8)
    memcpy(&layout->stride, value, 8);
  else
    return 7;
  return Success;
}
int cublasLtMatmulPreferenceCreate(Preference *preference) {
  *preference = new PreferenceT;
  return Success;
}
int cublasLtMatmulPreferenceDestroy(Preference preference) {
  delete preference;
  return Success;
}
int cublasLtMatmulPreferenceSetAttribute(Preference preference, int attribute,
                                         const void *value, size_t bytes) {
  if (attribute == PreferenceWorkspaceBytes && bytes == 8)
    memcpy(&preference->workspace, value, 8);
  else if (attribute >= PreferenceAlignmentA &&
           attribute <= PreferenceAlignmentD && bytes == 4)
    memcpy(&preference->alignment[attribute - PreferenceAlignmentA], value, 4);
  else
    return 7;
  return Success;
}

/// Refuses the same calls as the library.
static int checkShapes(Desc desc, Layout a, Layout b, Layout c) {
  uint64_t rows = desc->transA ? a->columns : a->rows;
  uint64_t depth = desc->transA ? a->rows : a->columns;
  uint64_t depthB = desc->transB ? b->columns : b->rows;
  uint64_t columns = desc->transB ? b->rows : b->columns;
  bool fits = rows == c->rows && columns == c->columns && depth == depthB &&
              a->ld >= int64_t(a->rows) && b->ld >= int64_t(b->rows) &&
              c->ld >= int64_t(c->rows) && a->batch == c->batch &&
              b->batch == c->batch;
  if (!fits)
    return 7;
  // Epilogues have rules of their own.
  bool hasAux = desc->epilogue & 128;
  bool isGradient = desc->epilogue == EpilogueDGeluBiasGradient;
  if (hasAux && desc->auxLd % 8 != 0)
    return 7;
  if ((isGradient && desc->biasType != c->type) ||
      (desc->epilogue == EpilogueBiasGradientA && desc->transA) ||
      (desc->epilogue == EpilogueBiasGradientB && !desc->transB))
    return NotSupported;
  if (!isF8(a->type))
    return Success;
  // 8-bit matmuls need contiguous columns and sizes that are multiples of 16,
  // and one of the types must be e4m3.
  bool isTN = desc->transA && !desc->transB;
  bool isAligned = rows % 16 == 0 && columns % 16 == 0 && depth % 16 == 0 &&
                   a->ld % 16 == 0 && b->ld % 16 == 0;
  bool hasTypes = isF8(b->type) && (a->type == R8FE4M3 || b->type == R8FE4M3) &&
                  (c->type == R16BF || c->type == R32F);
  return isTN && isAligned && hasTypes ? Success : NotSupported;
}

int cublasLtMatmulAlgoGetHeuristic(Handle, Desc desc, Layout a, Layout b,
                                   Layout c, Layout, Preference, int requested,
                                   Heuristic *results, int *returned) {
  ++numHeuristics;
  if (int status = checkShapes(desc, a, b, c))
    return status;
  *returned = 0;
  for (int i = 0; i < 4 && i < requested; ++i) {
    Heuristic &result = results[(*returned)++];
    result = {};
    result.algo.data[0] = 0xA160 + uint64_t(i);
    result.workspaceSize = size_t(i) * 1024;
  }
  return Success;
}

int cublasLtMatmulAlgoCheck(Handle, Desc desc, Layout a, Layout b, Layout c,
                            Layout, const Algo *algo, Heuristic *result) {
  *result = {};
  result->algo = *algo;
  if (algo->data[0] < 0xA160 || algo->data[0] > 0xA162)
    return NotSupported;
  return checkShapes(desc, a, b, c);
}

int cublasLtMatmul(Handle, Desc desc, const void *alpha, const void *a,
                   Layout layoutA, const void *b, Layout layoutB,
                   const void *beta, const void *c, Layout layoutC, void *d,
                   Layout, const Algo *algo, void *, size_t, void *stream) {
  if (int status = checkShapes(desc, layoutA, layoutB, layoutC))
    return status;
  if (algo->data[0] < 0xA160 || algo->data[0] > 0xA162 ||
      (areEpiloguesRefused && desc->epilogue != EpilogueDefault))
    return NotSupported;
  ++numMatmuls;
  Matmul matmul{*desc,
                *layoutA,
                *layoutB,
                *layoutC,
                load(desc->scale, alpha, 0),
                load(desc->scale, beta, 0),
                a,
                b,
                c,
                d};
  ++numByEpilogue[desc->epilogue];
  bool isSlow = algo->data[0] != 0xA162 ||
                (areEpiloguesSlow && desc->epilogue != EpilogueDefault);
  enqueueFake(stream, [matmul, isSlow] {
    if (isSlow)
      usleep(500);
    matmul.run();
  });
  return Success;
}
}
