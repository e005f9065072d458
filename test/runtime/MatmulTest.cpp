//===- MatmulTest.cpp - Matmuls against a naive reference -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All layouts, odd sizes, batches, types and the epilogue. The reference sums
// in double; a matmul of depth k may differ by the rounding of k additions.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace tessera::rt;

namespace {
float element(int64_t i) {
  return float((uint64_t(i) * 2654435761u >> 7) % 2001) / 1000.0f - 1.0f;
}

uint16_t toHalf(float x, int32_t dtype) {
  if (dtype == TESSERA_RT_BF16)
    return floatToBf16(x);
  _Float16 half = _Float16(x);
  uint16_t bits;
  memcpy(&bits, &half, 2);
  return bits;
}

float fromHalf(uint16_t bits, int32_t dtype) {
  if (dtype == TESSERA_RT_BF16)
    return bf16ToFloat(bits);
  _Float16 half;
  memcpy(&half, &bits, 2);
  return float(half);
}

bool isHalf(int32_t dtype) {
  return dtype == TESSERA_RT_BF16 || dtype == TESSERA_RT_F16;
}

/// A matrix as stored, in f32 and, for a 16-bit type, rounded to it.
struct Operand {
  std::vector<float> exact;
  std::vector<uint16_t> half;
  Operand(size_t size, int32_t dtype, int64_t salt) : exact(size) {
    for (size_t i = 0; i < size; ++i)
      exact[i] = element(int64_t(i) * 3 + salt);
    if (!isHalf(dtype))
      return;
    for (float &x : exact) {
      half.push_back(toHalf(x, dtype));
      x = fromHalf(half.back(), dtype);
    }
  }
  const void *data() const {
    return half.empty() ? static_cast<const void *>(exact.data()) : half.data();
  }
};

struct Shape {
  int64_t batch, m, n, k;
};

/// Epilogue of the tests: counts how often each row is called.
void countRows(const int64_t *args, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    ++reinterpret_cast<int32_t *>(args[0])[i];
}

void check(tessera_rt_context *ctx, Shape s, bool transA, bool transB,
           bool accumulate, int32_t dtype, int32_t typeC, bool epilogue) {
  SCOPED_TRACE(format("%lld x [%lld, %lld, %lld] %d%d%d %s to %s",
                      (long long)s.batch, (long long)s.m, (long long)s.n,
                      (long long)s.k, transA, transB, accumulate,
                      dtypeName(dtype), dtypeName(typeC)));
  tessera_rt_matmul_desc d = {};
  d.dtype = dtype;
  d.c_dtype = typeC;
  d.batch = s.batch;
  d.m = s.m;
  d.n = s.n;
  d.k = s.k;
  d.trans_a = transA;
  d.trans_b = transB;
  d.accumulate = accumulate;
  // Rows are longer than necessary.
  d.lda = (transA ? s.m : s.k) + 3;
  d.ldb = (transB ? s.k : s.n) + 1;
  d.ldc = s.n + 2;
  d.stride_a = d.lda * (transA ? s.k : s.m) + 5;
  d.stride_b = s.batch == 3 ? 0 : d.ldb * (transB ? s.n : s.k);
  d.stride_c = d.ldc * s.m;
  Operand a(size_t(d.stride_a * s.batch + d.lda), dtype, 1);
  Operand b(size_t(d.ldb * (transB ? s.n : s.k) * s.batch + d.ldb), dtype, 2);
  Operand c(size_t(d.stride_c * s.batch), typeC, 3);
  std::vector<float> before = c.exact;
  std::vector<int32_t> rows(size_t(s.batch * s.m), 0);
  int64_t args[1] = {int64_t(rows.data())};
  void *target = isHalf(typeC) ? static_cast<void *>(c.half.data())
                               : static_cast<void *>(c.exact.data());
  ASSERT_EQ(tessera_rt_matmul(ctx, &d, a.data(), b.data(), target,
                              epilogue ? countRows : nullptr, args),
            0);
  for (int32_t calls : rows)
    ASSERT_EQ(calls, epilogue ? 1 : 0);
  for (int64_t p = 0; p < s.batch; ++p)
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < d.ldc; ++j) {
        size_t at = size_t(p * d.stride_c + i * d.ldc + j);
        float got = isHalf(typeC) ? fromHalf(c.half[at], typeC) : c.exact[at];
        if (j >= s.n) {
          // Memory between the rows is not written.
          ASSERT_EQ(got, before[at]);
          continue;
        }
        double sum = accumulate ? double(before[at]) : 0;
        for (int64_t x = 0; x < s.k; ++x)
          sum +=
              double(a.exact[size_t(
                  p * d.stride_a + (transA ? x * d.lda + i : i * d.lda + x))]) *
              double(b.exact[size_t(p * d.stride_b +
                                    (transB ? j * d.ldb + x : x * d.ldb + j))]);
        double bound = 1e-6 * double(s.k + 1);
        if (isHalf(typeC))
          bound += std::fabs(sum) / (typeC == TESSERA_RT_BF16 ? 256 : 2048);
        ASSERT_NEAR(got, sum, bound) << p << " " << i << " " << j;
      }
}

const Shape shapes[] = {{1, 1, 1, 1},    {1, 14, 32, 16},   {1, 15, 33, 17},
                        {1, 3, 100, 5},  {2, 7, 9, 11},     {3, 29, 65, 40},
                        {1, 130, 70, 0}, {1, 61, 50, 900},  {1, 1, 300, 64},
                        {1, 200, 1, 31}, {1, 77, 40, 1000}, {1, 77, 56, 33}};
} // namespace

TEST(matmul, f32_all_layouts) {
  SingleRank rank(2, 4096);
  for (const Shape &shape : shapes)
    for (int bits = 0; bits < 8; ++bits)
      check(rank, shape, bits & 1, bits & 2, bits & 4, TESSERA_RT_F32,
            TESSERA_RT_F32, false);
}

TEST(matmul, bf16_operands) {
  SingleRank rank(2, 4096);
  for (const Shape &shape : shapes)
    for (int bits = 0; bits < 8; ++bits)
      for (int32_t typeC : {TESSERA_RT_F32, TESSERA_RT_BF16})
        check(rank, shape, bits & 1, bits & 2, bits & 4, TESSERA_RT_BF16, typeC,
              false);
}

TEST(matmul, f16_operands) {
  SingleRank rank(2, 4096);
  for (const Shape &shape : shapes)
    for (int bits = 0; bits < 8; ++bits)
      for (int32_t typeC : {TESSERA_RT_F32, TESSERA_RT_F16})
        check(rank, shape, bits & 1, bits & 2, bits & 4, TESSERA_RT_F16, typeC,
              false);
  check(rank, {1, 300, 290, 1601}, false, true, true, TESSERA_RT_F16,
        TESSERA_RT_F16, false);
}

/// The number of a code; e4m3 has no infinities.
static float f8Value(int32_t dtype, int code) {
  bool isE4M3 = dtype == TESSERA_RT_F8E4M3;
  int fraction = isE4M3 ? 3 : 2, bias = isE4M3 ? 7 : 15;
  int exponent = (code & 0x7f) >> fraction,
      digits = code & ((1 << fraction) - 1);
  float sign = code & 0x80 ? -1.0f : 1.0f;
  if (isE4M3 ? (code & 0x7f) == 0x7f : (code & 0x7f) > 0x7c)
    return NAN;
  if (!isE4M3 && (code & 0x7f) == 0x7c)
    return sign * INFINITY;
  float whole = float(digits) + (exponent ? float(1 << fraction) : 0.0f);
  return sign * std::ldexp(whole, std::max(exponent, 1) - bias - fraction);
}

TEST(matmul, codes_of_8_bits_are_numbers_of_bf16) {
  for (int32_t dtype : {TESSERA_RT_F8E4M3, TESSERA_RT_F8E5M2})
    for (int code = 0; code < 256; ++code) {
      float expected = f8Value(dtype, code);
      float got = bf16ToFloat(f8Codes(dtype)[code]);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(got)) << code;
      else
        EXPECT_EQ(got, expected) << code;
      EXPECT_EQ(std::signbit(got), code >= 0x80) << code;
    }
}

/// A matmul of 8-bit operands, small enough that all sums are exact.
static void checkScaled(tessera_rt_context *ctx, Shape s, int bits,
                        int32_t typeA, int32_t typeB, int32_t typeC) {
  SCOPED_TRACE(format("%lld x [%lld, %lld, %lld] %d %s by %s to %s",
                      (long long)s.batch, (long long)s.m, (long long)s.n,
                      (long long)s.k, bits, dtypeName(typeA), dtypeName(typeB),
                      dtypeName(typeC)));
  bool transA = bits & 1, transB = bits & 2;
  tessera_rt_matmul_desc d = {};
  d.dtype = typeA;
  d.c_dtype = typeC;
  d.batch = s.batch;
  d.m = s.m;
  d.n = s.n;
  d.k = s.k;
  d.trans_a = transA;
  d.trans_b = transB;
  d.accumulate = (bits & 4) != 0;
  d.lda = (transA ? s.m : s.k) + 3;
  d.ldb = (transB ? s.k : s.n) + 1;
  d.ldc = s.n + 2;
  d.stride_a = d.lda * (transA ? s.k : s.m) + 5;
  d.stride_b = s.batch == 3 ? 0 : d.ldb * (transB ? s.n : s.k);
  d.stride_c = d.ldc * s.m;
  // Codes from 2^-4 to 2^1 and 0, with both signs.
  auto codes = [](size_t size, int32_t type, uint64_t salt) {
    std::vector<uint8_t> values(size);
    int first = type == TESSERA_RT_F8E4M3 ? 0x18 : 0x2c;
    int count = type == TESSERA_RT_F8E4M3 ? 40 : 20;
    for (size_t i = 0; i < size; ++i) {
      uint64_t draw = ((i + salt) * 2654435761u) >> 9;
      values[i] =
          uint8_t(draw % 13 == 0 ? 0 : first + int(draw % uint64_t(count)));
      values[i] |= uint8_t(draw & 0x100 ? 0x80 : 0);
    }
    return values;
  };
  std::vector<uint8_t> a =
      codes(size_t(d.stride_a * s.batch + d.lda), typeA, 1);
  std::vector<uint8_t> b =
      codes(size_t(d.ldb * (transB ? s.n : s.k) * s.batch + d.ldb), typeB, 2);
  Operand c(size_t(d.stride_c * s.batch), typeC, 3);
  std::vector<float> before = c.exact;
  void *target = typeC == TESSERA_RT_BF16 ? static_cast<void *>(c.half.data())
                                          : static_cast<void *>(c.exact.data());
  float scaleA = 0.25f, scaleB = 3.0f;
  ASSERT_EQ(tessera_rt_scaled_matmul(ctx, &d, typeB, a.data(), b.data(),
                                     &scaleA, &scaleB, target),
            0);
  for (int64_t p = 0; p < s.batch; ++p)
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < d.ldc; ++j) {
        size_t at = size_t(p * d.stride_c + i * d.ldc + j);
        float got =
            typeC == TESSERA_RT_BF16 ? bf16ToFloat(c.half[at]) : c.exact[at];
        if (j >= s.n) {
          ASSERT_EQ(got, before[at]);
          continue;
        }
        double sum = 0;
        for (int64_t x = 0; x < s.k; ++x)
          sum +=
              double(f8Value(
                  typeA, a[size_t(p * d.stride_a +
                                  (transA ? x * d.lda + i : i * d.lda + x))])) *
              double(f8Value(
                  typeB, b[size_t(p * d.stride_b +
                                  (transB ? j * d.ldb + x : x * d.ldb + j))]));
        float expected = float(sum) * 0.75f;
        if (d.accumulate)
          expected += before[at];
        if (typeC == TESSERA_RT_BF16)
          expected = bf16ToFloat(floatToBf16(expected));
        ASSERT_EQ(got, expected) << p << " " << i << " " << j;
      }
}

TEST(matmul, operands_of_8_bits) {
  SingleRank rank(2, 4096);
  constexpr int32_t e4m3 = TESSERA_RT_F8E4M3, e5m2 = TESSERA_RT_F8E5M2;
  for (const Shape &shape : shapes)
    for (int bits = 0; bits < 8; ++bits)
      for (int32_t typeC : {TESSERA_RT_F32, TESSERA_RT_BF16}) {
        checkScaled(rank, shape, bits, e4m3, e4m3, typeC);
        checkScaled(rank, shape, bits, bits & 1 ? e4m3 : e5m2,
                    bits & 1 ? e5m2 : e4m3, typeC);
      }
}

TEST(matmul, wrong_types_of_8_bits_are_refused) {
  SingleRank rank(1, 4096);
  tessera_rt_matmul_desc d = {
      TESSERA_RT_F8E4M3, TESSERA_RT_F32, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  uint8_t a[4] = {}, b[4] = {};
  float one = 1, c = 5;
  EXPECT_NE(
      tessera_rt_scaled_matmul(rank, &d, TESSERA_RT_BF16, a, b, &one, &one, &c),
      0);
  d.c_dtype = TESSERA_RT_F16;
  EXPECT_NE(tessera_rt_scaled_matmul(rank, &d, TESSERA_RT_F8E4M3, a, b, &one,
                                     &one, &c),
            0);
  EXPECT_EQ(c, 5);
}

TEST(matmul, epilogue_sees_each_row_once) {
  for (int threads : {1, 3}) {
    SingleRank rank(threads, 4096);
    for (const Shape &shape : shapes) {
      check(rank, shape, false, false, false, TESSERA_RT_F32, TESSERA_RT_F32,
            true);
      check(rank, shape, false, true, false, TESSERA_RT_BF16, TESSERA_RT_BF16,
            true);
    }
  }
}

TEST(matmul, larger_than_all_blocks) {
  SingleRank rank(3, 4096);
  check(rank, {1, 300, 290, 1600}, false, false, false, TESSERA_RT_F32,
        TESSERA_RT_F32, false);
  check(rank, {1, 300, 290, 1600}, false, true, true, TESSERA_RT_F32,
        TESSERA_RT_F32, true);
  for (bool transA : {false, true})
    check(rank, {1, 300, 290, 1601}, transA, !transA, true, TESSERA_RT_BF16,
          TESSERA_RT_F32, !transA);
}

/// Rows of C depend neither on the number of rows nor on the threads.
TEST(matmul, same_bits_for_any_m_and_threads) {
  int64_t n = 70, k = 1000;
  std::vector<float> a(size_t(100 * k)), b(size_t(k * n)),
      first(size_t(100 * n)), second(size_t(100 * n));
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = element(int64_t(i));
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = element(int64_t(i) + 9);
  tessera_rt_matmul_desc d = {};
  d.batch = 1;
  d.m = 100;
  d.n = d.ldb = d.ldc = n;
  d.k = d.lda = k;
  SingleRank one(1, 4096), three(3, 4096);
  ASSERT_EQ(tessera_rt_matmul(one, &d, a.data(), b.data(), first.data(),
                              nullptr, nullptr),
            0);
  for (int64_t m : {100, 37, 1}) {
    d.m = m;
    std::fill(second.begin(), second.end(), 0.0f);
    ASSERT_EQ(tessera_rt_matmul(three, &d, a.data(), b.data(), second.data(),
                                nullptr, nullptr),
              0);
    for (int64_t i = 0; i < m * n; ++i)
      ASSERT_EQ(first[size_t(i)], second[size_t(i)]) << m << " " << i;
  }
}

TEST(matmul, f64) {
  SingleRank rank(2, 4096);
  double a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 2, 1, 0, 3},
         c[4] = {1, 1, 1, 1};
  tessera_rt_matmul_desc d = {};
  d.dtype = d.c_dtype = TESSERA_RT_F64;
  d.batch = 1;
  d.m = d.n = d.ldb = d.ldc = 2;
  d.k = d.lda = 3;
  d.accumulate = 1;
  ASSERT_EQ(tessera_rt_matmul(rank, &d, a, b, c, nullptr, nullptr), 0);
  EXPECT_EQ(c[0], 6);
  EXPECT_EQ(c[1], 12);
  EXPECT_EQ(c[2], 15);
  EXPECT_EQ(c[3], 24);
}

TEST(matmul, operands_without_elements_may_be_null) {
  SingleRank rank(1, 1 << 20);
  for (int32_t dtype : {TESSERA_RT_F32, TESSERA_RT_BF16, TESSERA_RT_F16})
    for (bool transposes : {false, true})
      for (bool accumulates : {false, true}) {
        // More rows and columns than a panel has, so that each has a next one.
        constexpr int64_t m = 40, n = 70;
        std::vector<float> c(2 * m * n, 3.0f);
        tessera_rt_matmul_desc d = {};
        d.dtype = dtype;
        d.c_dtype = TESSERA_RT_F32;
        d.batch = 2;
        d.m = m;
        d.n = d.ldc = n;
        d.lda = transposes ? m : 1;
        d.ldb = transposes ? 1 : n;
        d.stride_a = d.stride_b = 8;
        d.stride_c = m * n;
        d.trans_a = d.trans_b = transposes;
        d.accumulate = accumulates;
        ASSERT_EQ(tessera_rt_matmul(rank, &d, nullptr, nullptr, c.data(),
                                    nullptr, nullptr),
                  0);
        for (float x : c)
          ASSERT_EQ(x, accumulates ? 3.0f : 0.0f);
      }
}

TEST(matmul, invalid_descriptor_is_refused) {
  SingleRank rank(1, 4096);
  tessera_rt_matmul_desc d = {};
  d.batch = d.m = d.n = d.k = 4;
  d.lda = d.ldb = d.ldc = 3;
  testing::internal::CaptureStderr();
  EXPECT_EQ(
      tessera_rt_matmul(rank, &d, nullptr, nullptr, nullptr, nullptr, nullptr),
      TESSERA_RT_INVALID);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("leading"),
            std::string::npos);
}
