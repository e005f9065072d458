//===- ExpertsTest.cpp - Routing and experts ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls on experts against sums in f64 by definition, in all types and for all
// activations, on several threads: experts without rows, ids of other devices,
// dropped choices.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace tessera::rt;

namespace {

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

double widen(float x) { return x; }
double widen(double x) { return x; }
double widen(uint16_t x) { return bf16ToFloat(x); }
double widen(_Float16 x) { return float(x); }
template <typename T> T narrow(double x) { return T(x); }
template <> uint16_t narrow<uint16_t>(double x) {
  return floatToBf16(float(x));
}

template <typename T> std::vector<T> draw(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(narrow<T>(number(random)));
  return values;
}

double act(int64_t kind, double x) {
  if (kind == TESSERA_RT_SILU)
    return x / (1 + std::exp(-x));
  if (kind == TESSERA_RT_GELU)
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2)));
  return 0.5 * x *
         (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
/// The derivative by differences, exact to some 1e-9.
double slope(int64_t kind, double x) {
  return (act(kind, x + 1e-5) - act(kind, x - 1e-5)) / 2e-5;
}

//===----------------------------------------------------------------------===//
// One case
//===----------------------------------------------------------------------===//

constexpr int64_t tokens = 37, choices = 3, experts = 5, offset = 2, in = 20,
                  ffn = 33, out = 18, room = tokens * choices;

/// Ids of 9 experts. Experts 2 to 6 are held; number 4 is never chosen, and
/// some choices are dropped.
std::vector<int32_t> makeIds() {
  std::vector<int32_t> ids;
  for (int32_t t = 0; t < tokens; ++t)
    for (int32_t j = 0; j < choices; ++j) {
      int32_t id = (t * 5 + j * 2) % 9;
      ids.push_back(id == 4 || (t + j) % 11 == 0 ? -1 : id);
    }
  return ids;
}

template <typename T>
using Gate = std::conditional_t<sizeof(T) == 8, double, float>;

/// Compares each element with a bound relative to the largest.
template <typename T>
void expectNear(const char *name, const std::vector<T> &got,
                const std::vector<double> &wanted, double bound) {
  double largest = 0, difference = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, std::fabs(wanted[i]));
    double off = std::fabs(widen(got[i]) - wanted[i]);
    difference = off <= difference ? difference : off;
  }
  EXPECT_LE(difference, bound * largest) << name;
}

template <typename T, typename Result>
void check(int64_t dtype, int64_t resultType, int64_t activation, int threads,
           bool inRows, double bound) {
  SingleRank rank(threads, 4096);
  std::vector<int32_t> ids = makeIds();
  std::vector<int32_t> routing(size_t(experts + 1 + room + tokens * choices),
                               -7);
  tessera_rt_route_desc route{TESSERA_RT_I32, tokens, choices, experts, 9,
                              room,           -1,     0,       0};
  ASSERT_EQ(tessera_rt_route(rank, &route, ids.data(), offset, routing.data()),
            0);
  // Rows by expert, then by choice.
  std::vector<int64_t> choiceOf, expertOf;
  for (int64_t e = 0; e < experts; ++e) {
    ASSERT_EQ(routing[size_t(e)], int64_t(choiceOf.size()));
    for (int64_t i = 0; i < tokens * choices; ++i)
      if (ids[size_t(i)] == e + offset) {
        ASSERT_EQ(routing[size_t(experts + 1) + choiceOf.size()], i);
        ASSERT_EQ(routing[size_t(experts + 1 + room + i)],
                  int64_t(choiceOf.size()));
        choiceOf.push_back(i);
        expertOf.push_back(e);
      }
  }
  ASSERT_EQ(routing[size_t(experts)], int64_t(choiceOf.size()));
  ASSERT_EQ(routing[size_t(experts + 1) + choiceOf.size()], -1);

  auto x = draw<T>(tokens * in, 1), grad = draw<T>(tokens * out, 2);
  auto wg = draw<T>(experts * in * ffn, 3), wu = draw<T>(experts * in * ffn, 4);
  auto wd = draw<T>(experts * ffn * out, 5);
  auto gates = draw<Gate<T>>(tokens * choices, 6);
  std::vector<T> y(tokens * out), g(room * ffn), u(room * ffn), dg(room * ffn),
      du(room * ffn), dx(tokens * in);
  std::vector<Gate<T>> dgates(tokens * choices, 9);
  std::vector<Result> dwg(experts * in * ffn), dwu(dwg),
      dwd(experts * ffn * out);
  tessera_rt_experts_desc d{dtype,   resultType, activation, tokens,
                            choices, experts,    room,       in,
                            ffn,     out,        inRows,     inRows};
  ASSERT_EQ(tessera_rt_experts(rank, &d, routing.data(), x.data(), gates.data(),
                               wg.data(), wu.data(), wd.data(), y.data(),
                               g.data(), u.data()),
            0);
  std::vector<T> again(tokens * out);
  ASSERT_EQ(tessera_rt_experts(rank, &d, routing.data(), x.data(), gates.data(),
                               wg.data(), wu.data(), wd.data(), again.data(),
                               nullptr, nullptr),
            0);
  EXPECT_EQ(y, again) << "without rows of stats";
  ASSERT_EQ(tessera_rt_experts_backward(
                rank, &d, routing.data(), grad.data(), gates.data(), wg.data(),
                wu.data(), wd.data(), g.data(), u.data(), dx.data(),
                dgates.data(), dg.data(), du.data()),
            0);
  std::vector<T> xRows(room * in), gradRows(room * out);
  for (size_t row = 0; row < choiceOf.size(); ++row) {
    size_t token = size_t(choiceOf[row] / choices);
    std::copy_n(&x[token * in], in, &xRows[row * in]);
    std::copy_n(&grad[token * out], out, &gradRows[row * out]);
  }
  ASSERT_EQ(tessera_rt_experts_weight_gradient(
                rank, &d, routing.data(), inRows ? xRows.data() : x.data(),
                inRows ? gradRows.data() : grad.data(), gates.data(), g.data(),
                u.data(), dg.data(), du.data(), dwg.data(), dwu.data(),
                dwd.data()),
            0);

  std::vector<double> yW(y.size()), gW(g.size()), uW(u.size()), dgW(g.size()),
      duW(u.size()), dxW(dx.size()), dgatesW(dgates.size()), dwgW(dwg.size()),
      dwuW(dwu.size()), dwdW(dwd.size());
  for (size_t row = 0; row < choiceOf.size(); ++row) {
    size_t choice = size_t(choiceOf[row]), e = size_t(expertOf[row]);
    size_t t = choice / choices;
    double gate = widen(gates[choice]);
    for (size_t f = 0; f < ffn; ++f) {
      double a = 0, b = 0, dh = 0;
      for (size_t i = 0; i < in; ++i) {
        a += widen(x[t * in + i]) * widen(wg[(e * in + i) * ffn + f]);
        b += widen(x[t * in + i]) * widen(wu[(e * in + i) * ffn + f]);
      }
      for (size_t o = 0; o < out; ++o)
        dh += widen(grad[t * out + o]) * widen(wd[(e * ffn + f) * out + o]);
      double h = gate * act(activation, a) * b;
      double da = gate * dh * b * slope(activation, a);
      double db = gate * dh * act(activation, a);
      gW[row * ffn + f] = a;
      uW[row * ffn + f] = b;
      dgW[row * ffn + f] = da;
      duW[row * ffn + f] = db;
      dgatesW[choice] += dh * act(activation, a) * b;
      for (size_t o = 0; o < out; ++o) {
        yW[t * out + o] += h * widen(wd[(e * ffn + f) * out + o]);
        dwdW[(e * ffn + f) * out + o] += h * widen(grad[t * out + o]);
      }
      for (size_t i = 0; i < in; ++i) {
        dxW[t * in + i] += da * widen(wg[(e * in + i) * ffn + f]) +
                           db * widen(wu[(e * in + i) * ffn + f]);
        dwgW[(e * in + i) * ffn + f] += widen(x[t * in + i]) * da;
        dwuW[(e * in + i) * ffn + f] += widen(x[t * in + i]) * db;
      }
    }
  }
  expectNear("g", g, gW, bound);
  expectNear("u", u, uW, bound);
  expectNear("y", y, yW, bound);
  expectNear("dg", dg, dgW, bound);
  expectNear("du", du, duW, bound);
  expectNear("dx", dx, dxW, bound);
  expectNear("dgates", dgates, dgatesW, bound);
  expectNear("dw_gate", dwg, dwgW, bound);
  expectNear("dw_up", dwu, dwuW, bound);
  expectNear("dw_down", dwd, dwdW, bound);
}
} // namespace

TEST(experts, against_sums_by_definition) {
  for (int64_t activation :
       {TESSERA_RT_SILU, TESSERA_RT_GELU, TESSERA_RT_GELU_TANH})
    for (int threads : {1, 3})
      for (bool inRows : {false, true}) {
        check<float, float>(TESSERA_RT_F32, TESSERA_RT_F32, activation, threads,
                            inRows, 1e-5);
        check<double, double>(TESSERA_RT_F64, TESSERA_RT_F64, activation,
                              threads, inRows, 1e-8);
        check<uint16_t, float>(TESSERA_RT_BF16, TESSERA_RT_F32, activation,
                               threads, inRows, 0.03);
        check<uint16_t, uint16_t>(TESSERA_RT_BF16, TESSERA_RT_BF16, activation,
                                  threads, inRows, 0.03);
        check<_Float16, float>(TESSERA_RT_F16, TESSERA_RT_F32, activation,
                               threads, inRows, 0.004);
      }
}

TEST(experts, no_tokens) {
  SingleRank rank(1, 4096);
  std::vector<int32_t> routing(3, -7);
  tessera_rt_route_desc route{TESSERA_RT_I64, 0, 2, 2, 2, 0, -1, 0, 0};
  ASSERT_EQ(tessera_rt_route(rank, &route, nullptr, 0, routing.data()), 0);
  EXPECT_EQ(routing, (std::vector<int32_t>{0, 0, 0}));
  tessera_rt_experts_desc d{
      TESSERA_RT_F32, TESSERA_RT_F32, 0, 0, 2, 2, 0, 3, 4, 3, 0, 0};
  std::vector<float> weights(24, 1), dwg(24, 5), dwu(24, 5), dwd(24, 5);
  ASSERT_EQ(tessera_rt_experts_weight_gradient(
                rank, &d, routing.data(), nullptr, nullptr, nullptr, nullptr,
                nullptr, nullptr, nullptr, dwg.data(), dwu.data(), dwd.data()),
            0);
  EXPECT_EQ(dwg, std::vector<float>(24, 0));
  EXPECT_EQ(dwd, std::vector<float>(24, 0));
}

TEST(experts, more_rows_than_room) {
  SingleRank rank(1, 4096);
  std::vector<int32_t> ids{0, 0, 0, 0}, routing(2 + 2 + 4);
  tessera_rt_route_desc route{TESSERA_RT_I32, 2, 2, 1, 2, 2, -1, 0, 0};
  EXPECT_EQ(tessera_rt_route(rank, &route, ids.data(), 0, routing.data()),
            TESSERA_RT_INVALID);
}

/// No choice has a row, and all results are NaN, if there are fewer rows than
/// different ids may need.
TEST(experts, too_little_room) {
  SingleRank rank(1, 4096);
  std::vector<int32_t> ids{0, 1, 2, 0}, routing(3 + 2 + 4, 7);
  tessera_rt_route_desc route{TESSERA_RT_I32, 2, 2, 2, 4, 2, -1, 0, 0};
  ASSERT_EQ(tessera_rt_route(rank, &route, ids.data(), 0, routing.data()), 0);
  EXPECT_EQ(routing, (std::vector<int32_t>{0, 2, 3, -1, -1, -1, -1, -1, -1}));
  tessera_rt_experts_desc d{
      TESSERA_RT_F32, TESSERA_RT_F32, 0, 2, 2, 2, 2, 3, 4, 3, 0, 0};
  std::vector<float> tokens(6, 1), gates(4, 1), weights(24, 1), rows(8, 1);
  std::vector<float> y(6), dx(6), dgates(4), dwg(24), dwu(24), dwd(24);
  ASSERT_EQ(tessera_rt_experts(rank, &d, routing.data(), tokens.data(),
                               gates.data(), weights.data(), weights.data(),
                               weights.data(), y.data(), rows.data(),
                               rows.data()),
            0);
  ASSERT_EQ(tessera_rt_experts_backward(
                rank, &d, routing.data(), tokens.data(), gates.data(),
                weights.data(), weights.data(), weights.data(), rows.data(),
                rows.data(), dx.data(), dgates.data(), rows.data(),
                rows.data()),
            0);
  ASSERT_EQ(tessera_rt_experts_weight_gradient(
                rank, &d, routing.data(), tokens.data(), tokens.data(),
                gates.data(), rows.data(), rows.data(), rows.data(),
                rows.data(), dwg.data(), dwu.data(), dwd.data()),
            0);
  for (const std::vector<float> &made : {y, dx, dgates, dwg, dwu, dwd})
    for (float value : made)
      EXPECT_TRUE(std::isnan(value));
}

TEST(experts, capacity) {
  SingleRank rank(1, 4096);
  float nan = std::nanf("");
  // Two sequences of three tokens, one id each but for the last.
  std::vector<int64_t> ids{0, 1, 0, 2, 0, 1, 1, 0, 1, 2, 1, -1};
  std::vector<float> scores{.5f, 1, .5f, 1, .9f, 1, .1f, 2, nan, 1, .2f, 9};
  std::vector<int64_t> kept(12, 77);
  tessera_rt_capacity_desc d{
      TESSERA_RT_I64, TESSERA_RT_F32, 2, 3, 2, 3, 1, 0, 0};
  ASSERT_EQ(tessera_rt_expert_capacity(rank, &d, ids.data(), scores.data(),
                                       kept.data()),
            0);
  EXPECT_EQ(kept,
            (std::vector<int64_t>{-1, 1, -1, 2, 0, -1, -1, 0, 1, 2, -1, -1}));
  d.capacity = 0;
  EXPECT_EQ(tessera_rt_expert_capacity(rank, &d, ids.data(), scores.data(),
                                       kept.data()),
            TESSERA_RT_INVALID);
}
