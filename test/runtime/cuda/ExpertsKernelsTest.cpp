//===- ExpertsKernelsTest.cpp - Kernels of experts against the host -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Routings and capacities have the host's numbers. MLPs and gradients are the
// host's within rounding, with the same bits in five orders of threads and
// blocks: experts without rows, all rows at one, one expert, all experts, ids
// of other devices.
//
//===----------------------------------------------------------------------===//

#include "DeviceKernels.h"

#include "Ranks.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {

//===----------------------------------------------------------------------===//
// Routings
//===----------------------------------------------------------------------===//

enum class Choice { Any, First, All };

/// Sizes of a call, and how tokens choose among `all` experts.
struct Case {
  const char *name;
  int64_t tokens, choices, experts, all, offset, in, ffn, out;
  Choice choice;

  int64_t count() const { return tokens * choices; }
  int64_t room() const { return tokens * std::min(choices, experts); }
  size_t routingSize() const { return size_t(experts + 1 + room() + count()); }
};

const Case cases[] = {
    {"any", 70, 3, 5, 9, 2, 20, 33, 18, Choice::Any},
    {"packed", 150, 2, 3, 4, 1, 72, 136, 80, Choice::Any},
    {"all to one", 90, 1, 4, 4, 0, 16, 24, 8, Choice::First},
    {"k = E", 40, 3, 3, 3, 0, 8, 16, 8, Choice::All},
    {"E = 1", 66, 1, 1, 1, 0, 24, 8, 16, Choice::First},
    {"none held", 5, 2, 2, 8, 6, 8, 8, 8, Choice::First},
    {"no tokens", 0, 2, 2, 2, 0, 8, 8, 8, Choice::Any},
};

/// Ids that differ within a token; some choices are dropped. Expert 4 has none.
template <typename Id> std::vector<Id> drawIds(const Case &c) {
  std::mt19937 random(7);
  std::vector<Id> ids;
  for (int64_t t = 0; t < c.tokens; ++t) {
    int64_t start = int64_t(random() % unsigned(c.all));
    for (int64_t j = 0; j < c.choices; ++j) {
      int64_t id = c.choice == Choice::Any ? (start + 2 * j) % c.all : j;
      bool isDropped = c.choice == Choice::Any && (id == 4 || t % 11 == 3);
      ids.push_back(Id(isDropped ? -1 : id));
    }
  }
  return ids;
}

tessera_rt_route_desc routeOf(const Case &c, int64_t idType, int64_t room) {
  return {idType, c.tokens, c.choices, c.experts, c.all, room, /*layer=*/-1};
}

std::vector<int32_t> routeOnHost(const Case &c) {
  std::vector<int32_t> ids = drawIds<int32_t>(c), routing(c.routingSize());
  SingleRank rank(1, 4096);
  tessera_rt_route_desc d = routeOf(c, TESSERA_RT_I32, c.room());
  EXPECT_EQ(tessera_rt_route(rank, &d, ids.data(), c.offset, routing.data()),
            0);
  return routing;
}

template <typename Id> void checkRoute(const Case &c, int64_t idType) {
  SCOPED_TRACE(c.name);
  std::vector<int32_t> wanted = routeOnHost(c);
  tessera_rt_route_desc d = routeOf(c, idType, c.room());
  for (uint64_t seed : {1, 2}) {
    DeviceKernels device(seed);
    DeviceBlock<Id> ids(drawIds<Id>(c));
    DeviceBlock<int32_t> routing(c.routingSize(), 4);
    DeviceBlock<int64_t> loads(std::vector<int64_t>(size_t(8 + c.all), 10));
    DeviceBlock<int64_t> fault(std::vector<int64_t>(3, 0));
    DeviceBlock<uint8_t> workspace(size_t(routeWorkspace(d)), 256);
    RoutingCounts counts{reinterpret_cast<LayerLoads *>(loads.data()),
                         reinterpret_cast<RoutingFault *>(fault.data())};
    device.finish(launchRoute(device.kernels, device.stream, d, ids.data(),
                              c.offset, routing.data(), counts,
                              workspace.data()));
    ASSERT_EQ(routing.values(), wanted);
    double even = evenRows(d);
    std::vector<int64_t> sums{10 + c.tokens, c.choices, c.offset, c.experts,
                              c.all};
    sums.push_back(std::max<int64_t>(10, wanted[size_t(c.experts)]));
    sums.push_back(d.room);
    sums.push_back(0);
    memcpy(&sums.back(), &even, sizeof(even));
    sums.resize(size_t(8 + c.all), 10);
    for (int64_t e = 0; e < std::min(c.experts, c.all - c.offset); ++e)
      sums[size_t(8 + c.offset + e)] +=
          wanted[size_t(e + 1)] - wanted[size_t(e)];
    EXPECT_EQ(loads.values(), sums);
    EXPECT_EQ(fault.values(), std::vector<int64_t>(3, 0));
  }
}
} // namespace

TEST(device_experts, routings_as_the_host) {
  for (const Case &c : cases) {
    checkRoute<int32_t>(c, TESSERA_RT_I32);
    checkRoute<int64_t>(c, TESSERA_RT_I64);
  }
  // Two bytes of keys, several tiles of the sort, experts that are padding.
  checkRoute<int32_t>({"large", 1500, 3, 300, 340, 100, 1, 1, 1, Choice::Any},
                      TESSERA_RT_I32);
}

TEST(device_experts, more_rows_than_room) {
  const Case &c = cases[0];
  int64_t room = 30, rows = routeOnHost(c)[size_t(c.experts)];
  ASSERT_GT(rows, room);
  tessera_rt_route_desc d = routeOf(c, TESSERA_RT_I32, room);
  DeviceKernels device(3);
  DeviceBlock<int32_t> ids(drawIds<int32_t>(c));
  DeviceBlock<int32_t> routing(size_t(c.experts + 1 + room + c.count()), 4);
  DeviceBlock<int64_t> fault(std::vector<int64_t>(3, 0));
  DeviceBlock<uint8_t> workspace(size_t(routeWorkspace(d)), 256);
  RoutingCounts counts{nullptr, reinterpret_cast<RoutingFault *>(fault.data())};
  device.finish(launchRoute(device.kernels, device.stream, d, ids.data(),
                            c.offset, routing.data(), counts,
                            workspace.data()));
  EXPECT_EQ(fault.values(), (std::vector<int64_t>{rows, room, c.offset}));
  // Nothing that reads the routing leaves its memory.
  for (int64_t e = 0; e <= c.experts; ++e)
    EXPECT_LE(routing.data()[e], room);
  for (int64_t i = 0; i < c.count(); ++i)
    EXPECT_LT(routing.data()[c.experts + 1 + room + i], room);
}

//===----------------------------------------------------------------------===//
// Capacities
//===----------------------------------------------------------------------===//

namespace {
template <typename Id, typename Score>
void checkCapacity(tessera_rt_capacity_desc d) {
  std::mt19937 random(11);
  std::vector<Id> ids;
  std::vector<Score> scores;
  int64_t count = d.sequences * d.tokens * d.choices;
  for (int64_t i = 0; i < count; ++i) {
    ids.push_back(Id(int64_t(random() % unsigned(d.experts + 2)) - 1));
    // Many are equal, some are NaN.
    scores.push_back(random() % 17 ? Score(random() % 5) : Score(NAN));
  }
  std::vector<Id> wanted(size_t(count), 77);
  SingleRank rank(1, 4096);
  ASSERT_EQ(tessera_rt_expert_capacity(rank, &d, ids.data(), scores.data(),
                                       wanted.data()),
            0);
  for (uint64_t seed : {1, 2}) {
    DeviceKernels device(seed);
    DeviceBlock<Id> given(ids), result(ids.size());
    DeviceBlock<Score> keys(scores);
    DeviceBlock<uint8_t> workspace(size_t(capacityWorkspace(d)), 256);
    device.finish(launchExpertCapacity(device.kernels, device.stream, d,
                                       given.data(), keys.data(), result.data(),
                                       workspace.data()));
    EXPECT_EQ(result.values(), wanted);
  }
}
} // namespace

TEST(device_experts, capacities_as_the_host) {
  checkCapacity<int32_t, float>(
      {TESSERA_RT_I32, TESSERA_RT_F32, 3, 40, 2, 5, 7, 0, 0});
  // Zig-zag order of two shards, whose last tokens are padding.
  checkCapacity<int64_t, double>(
      {TESSERA_RT_I64, TESSERA_RT_F64, 2, 36, 3, 4, 9, 2, 32});
  checkCapacity<int32_t, double>(
      {TESSERA_RT_I32, TESSERA_RT_F64, 4, 300, 2, 90, 1, 0, 0});
  checkCapacity<int64_t, float>(
      {TESSERA_RT_I64, TESSERA_RT_F32, 1, 9, 1, 1, 20, 0, 0});
  checkCapacity<int32_t, float>(
      {TESSERA_RT_I32, TESSERA_RT_F32, 0, 9, 1, 1, 20, 0, 0});
}

//===----------------------------------------------------------------------===//
// MLPs
//===----------------------------------------------------------------------===//

namespace {
double widen(float x) { return x; }
double widen(double x) { return x; }
double widen(uint16_t x) { return bf16ToFloat(x); }
double widen(_Float16 x) { return double(x); }
template <typename T> T narrow(double x) { return T(x); }
template <> uint16_t narrow<uint16_t>(double x) {
  return floatToBf16(float(x));
}

template <typename T> std::vector<T> draw(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(narrow<T>(number(random)));
  return values;
}

template <typename T>
using Gate = std::conditional_t<sizeof(T) == 8, double, float>;

/// The results of the three calls of a case. Elements of rows after the last
/// one are left as they were.
template <typename T, typename Result> struct Results {
  std::vector<T> y, g, u, dx, dg, du;
  std::vector<Gate<T>> dgates;
  std::vector<Result> dwGate, dwUp, dwDown;
};

template <typename T, typename Result> struct Operands {
  const Case &c;
  tessera_rt_experts_desc d;
  std::vector<int32_t> routing;
  std::vector<T> x, grad, wGate, wUp, wDown, xRows, gradRows;
  std::vector<Gate<T>> gates;
  bool inRows;

  Operands(const Case &c, int64_t dtype, int64_t resultType, int64_t activation,
           bool inRows)
      : c(c),
        d{dtype,    resultType, activation, c.tokens, c.choices, c.experts,
          c.room(), c.in,       c.ffn,      c.out,    inRows,    inRows},
        routing(routeOnHost(c)), x(draw<T>(c.tokens * c.in, 1)),
        grad(draw<T>(c.tokens * c.out, 2)),
        wGate(draw<T>(c.experts * c.in * c.ffn, 3)),
        wUp(draw<T>(c.experts * c.in * c.ffn, 4)),
        wDown(draw<T>(c.experts * c.ffn * c.out, 5)), xRows(byRow(x, c.in)),
        gradRows(byRow(grad, c.out)), gates(draw<Gate<T>>(c.count(), 6)),
        inRows(inRows) {}

  int64_t rows() const { return routing[size_t(c.experts)]; }

  std::vector<T> byRow(const std::vector<T> &tokens, int64_t width) const {
    std::vector<T> result(size_t(c.room() * width));
    for (int64_t row = 0; row < rows(); ++row)
      std::copy_n(tokens.begin() +
                      routing[size_t(c.experts + 1 + row)] / c.choices * width,
                  width, result.begin() + row * width);
    return result;
  }

  /// Room for the results.
  Results<T, Result> makeResults() const {
    Results<T, Result> r;
    r.y.resize(x.size() / size_t(c.in) * size_t(c.out));
    r.dx.resize(x.size());
    for (std::vector<T> *rowsOf : {&r.g, &r.u, &r.dg, &r.du})
      rowsOf->resize(size_t(c.room() * c.ffn));
    r.dgates.resize(gates.size());
    r.dwGate.resize(wGate.size());
    r.dwUp.resize(wUp.size());
    r.dwDown.resize(wDown.size());
    return r;
  }
};

template <typename T, typename Result>
Results<T, Result> runOnHost(const Operands<T, Result> &o) {
  Results<T, Result> r = o.makeResults();
  SingleRank rank(1, 4096);
  EXPECT_EQ(tessera_rt_experts(rank, &o.d, o.routing.data(), o.x.data(),
                               o.gates.data(), o.wGate.data(), o.wUp.data(),
                               o.wDown.data(), r.y.data(), r.g.data(),
                               r.u.data()),
            0);
  EXPECT_EQ(tessera_rt_experts_backward(
                rank, &o.d, o.routing.data(), o.grad.data(), o.gates.data(),
                o.wGate.data(), o.wUp.data(), o.wDown.data(), r.g.data(),
                r.u.data(), r.dx.data(), r.dgates.data(), r.dg.data(),
                r.du.data()),
            0);
  EXPECT_EQ(tessera_rt_experts_weight_gradient(
                rank, &o.d, o.routing.data(),
                o.inRows ? o.xRows.data() : o.x.data(),
                o.inRows ? o.gradRows.data() : o.grad.data(), o.gates.data(),
                r.g.data(), r.u.data(), r.dg.data(), r.du.data(),
                r.dwGate.data(), r.dwUp.data(), r.dwDown.data()),
            0);
  return r;
}

/// Device memory of the operands and results of a case.
template <typename T, typename Result> class OnDevice {
public:
  OnDevice(const Operands<T, Result> &o, uint64_t seed)
      : o(o), device(seed), routing(o.routing), gates(o.gates, 16), x(o.x),
        grad(o.grad), xRows(o.xRows), gradRows(o.gradRows), wGate(o.wGate),
        wUp(o.wUp), wDown(o.wDown), results(o.makeResults()), y(results.y),
        g(results.g), u(results.u), dx(results.dx), dg(results.dg),
        du(results.du), dgates(results.dgates, 16), dwGate(results.dwGate),
        dwUp(results.dwUp), dwDown(results.dwDown) {}

  Results<T, Result> run() {
    call(ExpertsCall::Forward, /*inRows=*/false);
    call(ExpertsCall::Backward, /*inRows=*/false);
    call(ExpertsCall::WeightGradient, o.inRows);
    return {y.values(),    g.values(),     u.values(),      dx.values(),
            dg.values(),   du.values(),    dgates.values(), dwGate.values(),
            dwUp.values(), dwDown.values()};
  }

private:
  void call(ExpertsCall kind, bool inRows) {
    ExpertTensors t = {};
    t.routing = routing.data();
    t.x = inRows ? xRows.data() : x.data();
    t.grad = inRows ? gradRows.data() : grad.data();
    t.gates = gates.data();
    t.wGate = wGate.data();
    t.wUp = wUp.data();
    t.wDown = wDown.data();
    t.y = y.data();
    t.g = g.data();
    t.u = u.data();
    t.dx = dx.data();
    t.dgates = dgates.data();
    t.dg = dg.data();
    t.du = du.data();
    t.dwGate = dwGate.data();
    t.dwUp = dwUp.data();
    t.dwDown = dwDown.data();
    DeviceBlock<uint8_t> workspace(size_t(expertsWorkspace(kind, o.d)), 256);
    device.finish(launchExperts(device.kernels, device.stream, kind, o.d, t,
                                workspace.data()));
  }

  const Operands<T, Result> &o;
  DeviceKernels device;
  DeviceBlock<int32_t> routing;
  DeviceBlock<Gate<T>> gates;
  DeviceBlock<T> x, grad, xRows, gradRows, wGate, wUp, wDown;
  Results<T, Result> results;
  DeviceBlock<T> y, g, u, dx, dg, du;
  DeviceBlock<Gate<T>> dgates;
  DeviceBlock<Result> dwGate, dwUp, dwDown;
};

/// Calls body(name, a's tensor, b's tensor) for all results.
template <typename R, typename Body>
void forEachResult(const R &a, const R &b, Body body) {
  body("y", a.y, b.y);
  body("g", a.g, b.g);
  body("u", a.u, b.u);
  body("dx", a.dx, b.dx);
  body("dg", a.dg, b.dg);
  body("du", a.du, b.du);
  body("dgates", a.dgates, b.dgates);
  body("dw_gate", a.dwGate, b.dwGate);
  body("dw_up", a.dwUp, b.dwUp);
  body("dw_down", a.dwDown, b.dwDown);
}

template <typename T>
void expectNear(const char *name, const std::vector<T> &got,
                const std::vector<T> &wanted, double bound) {
  ASSERT_EQ(got.size(), wanted.size()) << name;
  double largest = 0, difference = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, std::fabs(widen(wanted[i])));
    double off = std::fabs(widen(got[i]) - widen(wanted[i]));
    difference = off <= difference ? difference : off;
  }
  EXPECT_LE(difference, bound * largest) << name;
}

template <typename T, typename Result>
void check(const Case &c, int64_t dtype, int64_t resultType, double bound,
           int64_t activation = TESSERA_RT_SILU, bool inRows = false) {
  SCOPED_TRACE(std::string(c.name) + " " + dtypeName(int32_t(dtype)) + " " +
               std::to_string(activation));
  Operands<T, Result> operands(c, dtype, resultType, activation, inRows);
  Results<T, Result> wanted = runOnHost(operands), first;
  for (uint64_t seed : {1, 2, 3, 4, 5}) {
    Results<T, Result> got = OnDevice<T, Result>(operands, seed).run();
    if (seed == 1) {
      first = got;
      forEachResult(got, wanted, [&](const char *name, auto &a, auto &b) {
        expectNear(name, a, b, bound);
      });
    }
    forEachResult(got, first, [&](const char *name, auto &a, auto &b) {
      EXPECT_EQ(memcmp(a.data(), b.data(), a.size() * sizeof(a[0])), 0)
          << name << " with seed " << seed;
    });
  }
}

void checkAll(const Case &c, int64_t activation, bool inRows) {
  check<float, float>(c, TESSERA_RT_F32, TESSERA_RT_F32, 2e-5, activation,
                      inRows);
  check<double, double>(c, TESSERA_RT_F64, TESSERA_RT_F64, 1e-12, activation,
                        inRows);
  check<uint16_t, float>(c, TESSERA_RT_BF16, TESSERA_RT_F32, 0.02, activation,
                         inRows);
  check<uint16_t, uint16_t>(c, TESSERA_RT_BF16, TESSERA_RT_BF16, 0.02,
                            activation, inRows);
  check<_Float16, float>(c, TESSERA_RT_F16, TESSERA_RT_F32, 0.003, activation,
                         inRows);
  check<_Float16, _Float16>(c, TESSERA_RT_F16, TESSERA_RT_F16, 0.003,
                            activation, inRows);
}
} // namespace

TEST(device_experts, all_types_and_activations) {
  checkAll(cases[0], TESSERA_RT_SILU, true);
  checkAll(cases[0], TESSERA_RT_GELU, false);
  checkAll(cases[1], TESSERA_RT_GELU_TANH, true);
}

TEST(device_experts, all_ways_to_choose) {
  for (const Case &c : cases) {
    check<float, float>(c, TESSERA_RT_F32, TESSERA_RT_F32, 2e-5);
    check<uint16_t, float>(c, TESSERA_RT_BF16, TESSERA_RT_F32, 0.02);
  }
}
