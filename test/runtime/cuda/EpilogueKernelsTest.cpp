//===- EpilogueKernelsTest.cpp - Epilogues on the emulator ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Epilogues and column reductions in blocks that end at a guard page, with odd
// sizes and addresses, in several orders of threads. Sums have the same bits in
// all orders. Elements are compared with arithmetic in f64.
//
//===----------------------------------------------------------------------===//

#include "DeviceKernels.h"

#include "runtime/cuda/kernels/Gelu.h"
#include "runtime/src/support/Support.h"

#include <cmath>
#include <cstring>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
/// Storage of a type's numbers.
template <typename T> struct Stored;
template <> struct Stored<float> {
  static constexpr int32_t dtype = TESSERA_RT_F32;
  static constexpr double accuracy = 2e-6;
  static double read(float value) { return value; }
  static float write(double value) { return float(value); }
};
template <> struct Stored<double> {
  static constexpr int32_t dtype = TESSERA_RT_F64;
  static constexpr double accuracy = 1e-14;
  static double read(double value) { return value; }
  static double write(double value) { return value; }
};
template <> struct Stored<_Float16> {
  static constexpr int32_t dtype = TESSERA_RT_F16;
  static constexpr double accuracy = 1e-3;
  static double read(_Float16 value) { return double(value); }
  static _Float16 write(double value) { return _Float16(float(value)); }
};
template <> struct Stored<uint16_t> {
  static constexpr int32_t dtype = TESSERA_RT_BF16;
  static constexpr double accuracy = 1.0 / 256;
  static double read(uint16_t value) { return bf16ToFloat(value); }
  static uint16_t write(double value) { return floatToBf16(float(value)); }
};

template <typename T> std::vector<T> numbers(int64_t count, int seed) {
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(
        Stored<T>::write(double((i * 53 + seed * 17 + i / 5) % 61 - 30) / 8));
  return values;
}

/// Applies an epilogue to a result in C. All rows of C and of the argument
/// except the last are longer than n by `gap`.
template <typename T, typename B>
void finish(DeviceKernels &device, int64_t kind, bool hasBias, bool hasAux,
            int64_t m, int64_t n, int64_t gap) {
  using S = Stored<T>;
  int64_t ldc = n + gap, auxLd = n + 2 * gap;
  std::vector<T> before = numbers<T>((m - 1) * ldc + n, 1);
  std::vector<T> argument = numbers<T>((m - 1) * auxLd + n, 2);
  std::vector<B> bias = numbers<B>(n, 3);
  DeviceBlock<T> c(before), aux(argument);
  DeviceBlock<B> biasBlock(bias);
  device.finish(launchEpilogue(
      device.kernels, device.stream,
      {kind, S::dtype, Stored<B>::dtype, m, n, ldc, auxLd, c.data(),
       hasBias ? biasBlock.data() : nullptr, hasAux ? aux.data() : nullptr}));
  std::vector<T> result = c.values(), written = aux.values();
  std::vector<bool> isInside(before.size(), false);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      size_t at = size_t(i * ldc + j), auxAt = size_t(i * auxLd + j);
      isInside[at] = true;
      double x = S::read(before[at]);
      if (kind == TESSERA_RT_FUSE_GELU_GRADIENT) {
        x *= device::geluSlope(S::read(argument[auxAt]));
      } else {
        x += hasBias ? Stored<B>::read(bias[size_t(j)]) : 0;
        if (hasAux && kind == TESSERA_RT_FUSE_GELU) {
          ASSERT_NEAR(S::read(written[auxAt]), x, S::accuracy * std::fabs(x));
          argument[auxAt] = written[auxAt];
        }
        if (kind == TESSERA_RT_FUSE_GELU)
          x = device::gelu(x);
      }
      ASSERT_NEAR(S::read(result[at]), x, S::accuracy * (1 + std::fabs(x)))
          << i << ", " << j;
    }
  for (size_t i = 0; i < before.size(); ++i)
    if (!isInside[i]) {
      ASSERT_EQ(memcmp(&result[i], &before[i], sizeof(T)), 0);
    }
  ASSERT_EQ(
      memcmp(written.data(), argument.data(), argument.size() * sizeof(T)), 0);
}

template <typename T, typename B> void finishAll() {
  const int64_t sizes[][3] = {{1, 1, 0},  {3, 7, 0},  {5, 16, 0},
                              {4, 16, 8}, {9, 33, 1}, {65, 24, 3}};
  for (uint64_t seed : {1, 7})
    for (const auto &[m, n, gap] : sizes) {
      SCOPED_TRACE(m * 1000 + n);
      DeviceKernels device(seed);
      finish<T, B>(device, TESSERA_RT_FUSE_BIAS, true, false, m, n, gap);
      finish<T, B>(device, TESSERA_RT_FUSE_GELU, true, true, m, n, gap);
      finish<T, B>(device, TESSERA_RT_FUSE_GELU, false, true, m, n, gap);
      finish<T, B>(device, TESSERA_RT_FUSE_GELU, true, false, m, n, gap);
      finish<T, T>(device, TESSERA_RT_FUSE_GELU_GRADIENT, false, true, m, n,
                   gap);
    }
}

/// Checks column reductions, and that no order of threads changes a bit.
template <typename T, typename R> void sumAll() {
  using S = Stored<T>;
  const int64_t sizes[][3] = {
      {1, 1, 0}, {15, 7, 1}, {40, 24, 0}, {17, 64, 8}, {300, 33, 0}};
  for (const auto &[rows, columns, gap] : sizes) {
    SCOPED_TRACE(rows * 1000 + columns);
    int64_t ld = columns + gap;
    std::vector<T> from = numbers<T>((rows - 1) * ld + columns, 4);
    std::vector<R> first;
    for (uint64_t seed : {1, 5, 9}) {
      DeviceKernels device(seed);
      DeviceBlock<T> block(from);
      DeviceBlock<R> result(numbers<R>(columns, 5));
      ColumnReduction sums{S::dtype, Stored<R>::dtype, rows,         columns,
                           ld,       block.data(),     result.data()};
      DeviceBlock<uint8_t> workspace(size_t(columnReductionWorkspace(sums)),
                                     256);
      device.finish(launchColumnReduction(device.kernels, device.stream, sums,
                                          workspace.data()));
      if (first.empty())
        first = result.values();
      ASSERT_EQ(memcmp(first.data(), result.values().data(),
                       first.size() * sizeof(R)),
                0);
    }
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0, size = 0;
      for (int64_t i = 0; i < rows; ++i) {
        sum += S::read(from[size_t(i * ld + j)]);
        size += std::fabs(S::read(from[size_t(i * ld + j)]));
      }
      double accuracy = Stored<R>::accuracy;
      ASSERT_NEAR(Stored<R>::read(first[size_t(j)]), sum,
                  accuracy * std::fabs(sum) + 1e-6 * size);
    }
  }
}
} // namespace

TEST(epilogue_kernels, bf16) {
  finishAll<uint16_t, uint16_t>();
  finishAll<uint16_t, float>();
}
TEST(epilogue_kernels, f16) {
  finishAll<_Float16, _Float16>();
  finishAll<_Float16, float>();
}
TEST(epilogue_kernels, f32) { finishAll<float, float>(); }
TEST(epilogue_kernels, f64) { finishAll<double, double>(); }

TEST(epilogue_kernels, sums_of_columns) {
  sumAll<uint16_t, uint16_t>();
  sumAll<uint16_t, float>();
  sumAll<_Float16, float>();
  sumAll<float, float>();
  sumAll<double, double>();
}

TEST(epilogue_kernels, the_derivative_is_that_of_gelu) {
  for (double x = -6; x <= 6; x += 0.37) {
    double h = 1e-6;
    EXPECT_NEAR(device::geluSlope(x),
                (device::gelu(x + h) - device::gelu(x - h)) / (2 * h), 1e-8);
  }
}

TEST(epilogue_kernels, types_are_checked) {
  DeviceKernels device(1);
  EXPECT_EQ(
      launchEpilogue(device.kernels, device.stream,
                     {TESSERA_RT_FUSE_BIAS, TESSERA_RT_I32, TESSERA_RT_F32, 1,
                      1, 1, 1, nullptr, nullptr, nullptr}),
      "what follows a matmul expects floats but got i32 and f32");
  EXPECT_EQ(launchColumnReduction(
                device.kernels, device.stream,
                {TESSERA_RT_F64, TESSERA_RT_F32, 1, 1, 1, nullptr, nullptr},
                nullptr),
            "column reductions expects floats but got f64 and f32");
}
