//===- MatmulPlanTest.cpp - An einsum as one library call -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the expected layouts of common einsums. Every plan is also executed on
// small integers and compared with the sum over letters.
//
//===----------------------------------------------------------------------===//

#include "tessera/Kernels/MatmulPlan.h"
#include "llvm/ADT/StringRef.h"
#include "gtest/gtest.h"
#include <map>
#include <random>
#include <vector>

using namespace tessera;
using Letters = Einsum::Letters;
using Data = std::vector<int64_t>;

namespace {

/// "bsd,dh->bsh" with sizes by letter.
Einsum parse(llvm::StringRef spec, const std::map<char, int64_t> &sizes) {
  Einsum e;
  std::map<char, unsigned> numbers;
  for (auto [letter, size] : sizes) {
    if (!spec.contains(letter))
      continue;
    numbers[letter] = e.sizes.size();
    e.sizes.push_back(size);
  }
  auto [operands, result] = spec.split("->");
  auto [lhs, rhs] = operands.split(",");
  for (char c : lhs)
    e.lhs.push_back(numbers[c]);
  for (char c : rhs)
    e.rhs.push_back(numbers[c]);
  for (char c : result)
    e.result.push_back(numbers[c]);
  return e;
}

/// Offset of the letters' values in a row-major tensor.
int64_t locate(const Einsum &e, const Letters &tensor,
               llvm::ArrayRef<int64_t> values) {
  int64_t position = 0;
  for (unsigned letter : tensor)
    position = position * e.sizes[letter] + values[letter];
  return position;
}

/// Calls `body` with all values of all letters.
template <typename Body> void forAll(const Einsum &e, Body body) {
  llvm::SmallVector<int64_t> values(e.sizes.size(), 0);
  for (int64_t i = 0, n = e.size(llvm::to_vector(
                          llvm::seq<unsigned>(0, e.sizes.size())));
       i < n; ++i) {
    int64_t rest = i;
    for (size_t l = values.size(); l-- > 0;) {
      values[l] = rest % e.sizes[l];
      rest /= e.sizes[l];
    }
    body(values);
  }
}

Data copy(const Einsum &e, const Data &data, const Letters &from,
          const Letters &to) {
  Data result(data.size());
  forAll(e, [&](llvm::ArrayRef<int64_t> values) {
    result[locate(e, to, values)] = data[locate(e, from, values)];
  });
  return result;
}

/// The library's result for a plan.
Data carryOut(const Einsum &e, const MatmulPlan &p, Data lhs, Data rhs) {
  if (p.lhsOrder)
    lhs = copy(e, lhs, e.lhs, *p.lhsOrder);
  if (p.rhsOrder)
    rhs = copy(e, rhs, e.rhs, *p.rhsOrder);
  const Data &a = p.swapped ? rhs : lhs, &b = p.swapped ? lhs : rhs;
  Data c(e.size(e.result), 0);
  for (int64_t batch = 0; batch < p.batch; ++batch)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        int64_t sum = 0;
        for (int64_t l = 0; l < p.k; ++l)
          sum += a.at(batch * p.strideA +
                      (p.transA ? l * p.lda + i : i * p.lda + l)) *
                 b.at(batch * p.strideB +
                      (p.transB ? j * p.ldb + l : l * p.ldb + j));
        c.at(batch * p.strideC + i * p.ldc + j) = sum;
      }
  if (p.resultOrder)
    c = copy(e, c, *p.resultOrder, e.result);
  return c;
}

/// Plans the einsum, executes the plan, and compares.
MatmulPlan planAndTry(const Einsum &e) {
  EXPECT_EQ(llvm::toString(e.check()), "");
  MatmulPlan plan = planMatmul(e);
  std::mt19937 random(1);
  auto fill = [&](int64_t size) {
    Data data(size);
    for (int64_t &x : data)
      x = int64_t(random() % 9) - 4;
    return data;
  };
  Data lhs = fill(e.size(e.lhs)), rhs = fill(e.size(e.rhs));
  Data expected(e.size(e.result), 0);
  forAll(e, [&](llvm::ArrayRef<int64_t> values) {
    expected[locate(e, e.result, values)] +=
        lhs[locate(e, e.lhs, values)] * rhs[locate(e, e.rhs, values)];
  });
  EXPECT_EQ(carryOut(e, plan, lhs, rhs), expected);
  return plan;
}

const std::map<char, int64_t> kSizes = {{'b', 2}, {'s', 3}, {'d', 4}, {'g', 5},
                                        {'r', 2}, {'k', 3}, {'t', 4}, {'f', 6}};

TEST(MatmulPlan, linear_layers_need_no_copy) {
  for (const char *spec :
       {"bsd,df->bsf", "bsd,fd->bsf", "bsd,dgrk->bsgrk", "bsgrk,grkd->bsd",
        "bsd,dgk->bsgk", "bd,bsd->bs", "sd,sf->df", "bs,bd->sd"}) {
    SCOPED_TRACE(spec);
    EXPECT_EQ(planAndTry(parse(spec, kSizes)).copied, 0);
  }
}

TEST(MatmulPlan, projection_to_heads) {
  MatmulPlan p = planAndTry(parse("bsd,dgrk->bsgrk", kSizes));
  EXPECT_EQ(p.batch, 1);
  EXPECT_EQ(p.m, 6);
  EXPECT_EQ(p.n, 30);
  EXPECT_EQ(p.k, 4);
  EXPECT_FALSE(p.transA);
  EXPECT_FALSE(p.transB);
}

TEST(MatmulPlan, tied_head_is_transposed) {
  MatmulPlan p = planAndTry(parse("bsd,fd->bsf", kSizes));
  EXPECT_FALSE(p.transA);
  EXPECT_TRUE(p.transB);
  EXPECT_EQ(p.ldb, 4);
}

TEST(MatmulPlan, batches_may_lie_between) {
  // Heads are a batch of stride K inside a row of G*K.
  MatmulPlan p = planAndTry(parse("sgk,tgk->gst", kSizes));
  EXPECT_EQ(p.copied, 0);
  EXPECT_EQ(p.batch, 5);
  EXPECT_EQ(p.lda, 15);
  EXPECT_EQ(p.strideA, 3);
}

TEST(MatmulPlan, result_by_columns_swaps_the_operands) {
  MatmulPlan p = planAndTry(parse("sd,df->fs", kSizes));
  EXPECT_EQ(p.copied, 0);
  EXPECT_TRUE(p.swapped);
  EXPECT_EQ(p.m, 6);
  EXPECT_EQ(p.n, 3);
}

TEST(MatmulPlan, copies_the_smaller_tensor) {
  // The contracted letters have different orders.
  MatmulPlan p = planAndTry(parse("bsdf,fdk->bsk", kSizes));
  EXPECT_FALSE(p.lhsOrder);
  EXPECT_TRUE(p.rhsOrder.has_value());
  EXPECT_EQ(p.copied, 6 * 4 * 3);
}

TEST(MatmulPlan, dimensions_of_size_one_are_free) {
  auto sizes = kSizes;
  sizes['r'] = 1;
  EXPECT_EQ(planAndTry(parse("bsd,rdg->brsg", sizes)).copied, 0);
}

TEST(MatmulPlan, dot_and_outer_products) {
  EXPECT_EQ(planAndTry(parse("d,d->", kSizes)).k, 4);
  EXPECT_EQ(planAndTry(parse("s,d->sd", kSizes)).k, 1);
  EXPECT_EQ(planAndTry(parse("s,s->s", kSizes)).batch, 3);
}

TEST(MatmulPlan, any_order_of_letters_is_right) {
  std::mt19937 random(3);
  const std::string letters = "bsdgrkt";
  for (int i = 0; i < 300; ++i) {
    std::string lhs, rhs, result;
    auto sizes = kSizes;
    for (char c : letters) {
      sizes[c] = 1 + random() % 3;
      unsigned kind = random() % 4;
      if (kind != 1)
        lhs += c;
      if (kind != 0)
        rhs += c;
      if (kind != 3)
        result += c;
    }
    sizes.erase('f');
    for (std::string *tensor : {&lhs, &rhs, &result})
      std::shuffle(tensor->begin(), tensor->end(), random);
    std::string spec = lhs + "," + rhs + "->" + result;
    SCOPED_TRACE(spec);
    planAndTry(parse(spec, sizes));
  }
}

TEST(MatmulPlan, check_finds_what_is_wrong) {
  std::map<char, int64_t> sizes = {{'a', 2}, {'b', 2}};
  EXPECT_EQ(llvm::toString(parse("aa,ab->b", sizes).check()),
            "a letter twice in one tensor");
  EXPECT_EQ(llvm::toString(parse("a,ab->a", sizes).check()),
            "a letter in one tensor only");
}

} // namespace
