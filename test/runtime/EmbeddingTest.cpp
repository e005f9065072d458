//===- EmbeddingTest.cpp - Gradient of a table of rows --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Repeated ids, ids outside the table, an offset, all types and modes, on
// several threads. Sums are in the specified order, so results are exact.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <gtest/gtest.h>

using namespace tessera::rt;

namespace {
constexpr int64_t positions = 200, rows = 37, width = 19, offset = 5;

float widen(float x) { return x; }
double widen(double x) { return x; }
float widen(uint16_t x) { return bf16ToFloat(x); }
template <typename T> T narrow(double x) { return T(x); }
template <> uint16_t narrow<uint16_t>(double x) {
  return floatToBf16(float(x));
}

template <typename In, typename Out, typename Id>
void check(int64_t dtype, int64_t resultType, int64_t idType, int64_t mode,
           int threads) {
  std::vector<In> grad;
  std::vector<Id> ids;
  for (int64_t i = 0; i < positions * width; ++i)
    grad.push_back(narrow<In>(double((i * 7919) % 1000) / 999 - 0.5));
  for (int64_t i = 0; i < positions; ++i)
    ids.push_back(Id((i * i) % 61 - 6));
  std::vector<Out> got(size_t(rows * width) + 1, narrow<Out>(3.0)), wanted;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t x = 0; x < width; ++x) {
      decltype(widen(Out())) sum = 0;
      bool first = true;
      for (int64_t p = 0; p < positions; ++p)
        if (int64_t(ids[size_t(p)]) - offset == r) {
          auto value = widen(grad[size_t(p * width + x)]);
          sum = first || mode == TESSERA_RT_ROWS_SET ? value : sum + value;
          first = false;
        }
      if (mode == TESSERA_RT_ROWS_ADD && !first)
        sum = widen(narrow<Out>(3.0)) + sum;
      else if (mode != TESSERA_RT_ROWS_SUM && first)
        sum = 3;
      wanted.push_back(narrow<Out>(double(sum)));
    }
  wanted.push_back(narrow<Out>(3.0));
  SingleRank rank(threads, 4096);
  tessera_rt_embedding_desc d{dtype, resultType, idType, positions,
                              rows,  width,      mode,   /*limit=*/0};
  ASSERT_EQ(tessera_rt_embedding_backward(rank, &d, grad.data(), ids.data(),
                                          got.data(), offset),
            0);
  EXPECT_EQ(got, wanted);
}
} // namespace

TEST(embedding, backward) {
  for (int threads : {1, 3})
    for (int64_t mode :
         {TESSERA_RT_ROWS_SUM, TESSERA_RT_ROWS_ADD, TESSERA_RT_ROWS_SET}) {
      check<float, float, int32_t>(TESSERA_RT_F32, TESSERA_RT_F32,
                                   TESSERA_RT_I32, mode, threads);
      check<double, double, int64_t>(TESSERA_RT_F64, TESSERA_RT_F64,
                                     TESSERA_RT_I64, mode, threads);
      check<uint16_t, uint16_t, int32_t>(TESSERA_RT_BF16, TESSERA_RT_BF16,
                                         TESSERA_RT_I32, mode, threads);
      check<uint16_t, float, int64_t>(TESSERA_RT_BF16, TESSERA_RT_F32,
                                      TESSERA_RT_I64, mode, threads);
    }
}

// Rows 3 and 4 of a table of 4 rows; the last one is padding.
TEST(embedding, ids_from_the_limit_on_count_nowhere) {
  SingleRank rank(1, 4096);
  tessera_rt_embedding_desc d{
      TESSERA_RT_F32, TESSERA_RT_F32, TESSERA_RT_I32, 4, 2, 1, 0,
      /*limit=*/4};
  float grad[] = {1, 2, 4, 8}, result[] = {9, 9};
  int32_t ids[] = {3, 4, 2, 3};
  ASSERT_EQ(tessera_rt_embedding_backward(rank, &d, grad, ids, result, 3), 0);
  EXPECT_EQ(result[0], 9);
  EXPECT_EQ(result[1], 0);
}

TEST(embedding, types_that_do_not_fit_are_refused) {
  SingleRank rank(1, 4096);
  tessera_rt_embedding_desc d{
      TESSERA_RT_F32, TESSERA_RT_BF16, TESSERA_RT_I32, 1, 1, 1, 0, 0};
  float grad = 1, result = 2;
  int32_t id = 0;
  EXPECT_EQ(tessera_rt_embedding_backward(rank, &d, &grad, &id, &result, 0),
            TESSERA_RT_INVALID);
  d.result_dtype = TESSERA_RT_F32;
  d.mode = TESSERA_RT_ROWS_SET + 1;
  EXPECT_EQ(tessera_rt_embedding_backward(rank, &d, &grad, &id, &result, 0),
            TESSERA_RT_INVALID);
  EXPECT_EQ(result, 2);
}
