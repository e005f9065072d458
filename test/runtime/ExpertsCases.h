//===- ExpertsCases.h - Calls on experts ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Routings, MLPs of experts and their gradients, and the host's results. For
// tests on the emulator and for measurements on a device.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RUNTIME_EXPERTSCASES_H
#define TESSERA_TEST_RUNTIME_EXPERTSCASES_H

#include "EpilogueCases.h"
#include "Ranks.h"
#include "runtime/src/host/HostTarget.h"

#include <random>

namespace tessera::rt::cuda {

/// How tokens choose: any experts, the first ones, or any with some choices
/// dropped and none of expert 4.
enum class Choice { Any, First, Some };

/// Sizes of a call on `experts` of `all` experts, from `offset` on.
struct ExpertsCase {
  const char *name;
  int64_t tokens, choices, experts, all, offset, in, ffn, out;
  Choice choice;

  int64_t count() const { return tokens * choices; }
  int64_t room() const { return tokens * std::min(choices, experts); }
  tessera_rt_route_desc route(int64_t idType, int64_t room) const {
    return {idType,
            tokens,
            choices,
            experts,
            all,
            room,
            /*layer=*/-1,
            /*room_of_each=*/0,
            /*even_of_each=*/0};
  }
};

inline const ExpertsCase expertsCases[] = {
    {"some", 70, 3, 5, 9, 2, 20, 33, 18, Choice::Some},
    {"packed", 150, 2, 3, 4, 1, 72, 136, 80, Choice::Any},
    {"all to one", 90, 1, 4, 4, 0, 16, 24, 8, Choice::First},
    {"k = E", 40, 3, 3, 3, 0, 8, 16, 8, Choice::First},
    {"E = 1", 66, 1, 1, 1, 0, 24, 8, 16, Choice::First},
    {"many tiles", 600, 2, 20, 20, 0, 72, 136, 8, Choice::Any},
    {"none held", 5, 2, 2, 8, 6, 8, 8, 8, Choice::First},
    {"no tokens", 0, 2, 2, 2, 0, 8, 8, 8, Choice::Any},
};

/// Returns ids that differ within a token.
inline std::vector<int32_t> drawIds(const ExpertsCase &c) {
  std::mt19937 random(7);
  std::vector<int32_t> ids;
  for (int64_t t = 0; t < c.tokens; ++t) {
    int64_t start = int64_t(random() % unsigned(c.all));
    int64_t stride = c.all % 2 ? 2 : 1;
    for (int64_t j = 0; j < c.choices; ++j) {
      int64_t id = c.choice == Choice::First ? j : (start + stride * j) % c.all;
      bool isDropped = c.choice == Choice::Some && (id == 4 || t % 11 == 3);
      ids.push_back(isDropped ? -1 : int32_t(id));
    }
  }
  return ids;
}

/// Returns the host's routing of a case.
inline std::vector<int32_t> routeOnHost(const ExpertsCase &c) {
  SingleRank rank(1, 4096);
  std::vector<int32_t> ids = drawIds(c);
  std::vector<int32_t> routing(size_t(c.experts + 1 + c.room() + c.count()));
  host::route(rank, c.route(TESSERA_RT_I32, c.room()), ids.data(), c.offset,
              routing.data(), nullptr);
  return routing;
}

/// The tensors of a case: operands, then results from `Y` on. XRows and
/// GradRows are X and Grad by row.
enum ExpertsTensor {
  X,
  Grad,
  XRows,
  GradRows,
  Gates,
  WGate,
  WUp,
  WDown,
  Y,
  G,
  U,
  Dx,
  Dgates,
  Dg,
  Du,
  DwGate,
  DwUp,
  DwDown,
  NumExpertsTensors
};
inline const char *const expertsTensorNames[] = {
    "x",      "grad",   "x by row", "grad by row", "gates", "w_gate",
    "w_up",   "w_down", "y",        "g",           "u",     "dx",
    "dgates", "dg",     "du",       "dw_gate",     "dw_up", "dw_down"};

/// The operands of calls whose tensor i is at at(i).
template <typename At>
ExpertTensors expertTensors(const int32_t *routing, bool inRows, At at) {
  ExpertTensors t = {};
  t.routing = routing;
  t.x = at(inRows ? XRows : X);
  t.grad = at(inRows ? GradRows : Grad);
  t.gates = at(Gates);
  t.wGate = at(WGate);
  t.wUp = at(WUp);
  t.wDown = at(WDown);
  t.y = at(Y);
  t.g = at(G);
  t.u = at(U);
  t.dx = at(Dx);
  t.dgates = at(Dgates);
  t.dg = at(Dg);
  t.du = at(Du);
  t.dwGate = at(DwGate);
  t.dwUp = at(DwUp);
  t.dwDown = at(DwDown);
  return t;
}

/// A case's tensors on the host.
struct ExpertsOperands {
  const ExpertsCase &c;
  tessera_rt_experts_desc d;
  std::vector<int32_t> routing;
  std::vector<FloatTensor> tensors;

  /// Operands of a call with `dtype`, gradients of weights of `resultType`, and
  /// x and grad by row for these if `inRows`.
  ExpertsOperands(const ExpertsCase &c, int32_t dtype, int32_t resultType,
                  int64_t activation, bool inRows)
      : c(c),
        d{dtype,    resultType, activation, c.tokens, c.choices, c.experts,
          c.room(), c.in,       c.ffn,      c.out,    inRows,    inRows},
        routing(routeOnHost(c)) {
    int32_t wide = dtype == TESSERA_RT_F64 ? TESSERA_RT_F64 : TESSERA_RT_F32;
    int64_t ins = c.experts * c.in, hidden = c.experts * c.ffn;
    auto add = [&](int32_t type, int64_t rows, int64_t columns) {
      tensors.emplace_back(type, rows, columns, int(tensors.size()));
    };
    add(dtype, c.tokens, c.in);
    add(dtype, c.tokens, c.out);
    add(dtype, c.room(), c.in);
    add(dtype, c.room(), c.out);
    add(wide, c.tokens, c.choices);
    add(dtype, ins, c.ffn);
    add(dtype, ins, c.ffn);
    add(dtype, hidden, c.out);
    add(dtype, c.tokens, c.out);
    for (int i = 0; i < 2; ++i)
      add(dtype, c.room(), c.ffn);
    add(dtype, c.tokens, c.in);
    add(wide, c.tokens, c.choices);
    for (int i = 0; i < 2; ++i)
      add(dtype, c.room(), c.ffn);
    for (int i = 0; i < 2; ++i)
      add(resultType, ins, c.ffn);
    add(resultType, hidden, c.out);
    takeRows(X, XRows, c.in);
    takeRows(Grad, GradRows, c.out);
  }

  int64_t bytesOf(int tensor) const {
    return tensors[size_t(tensor)].size() *
           dtypeSize(tensors[size_t(tensor)].dtype);
  }

  /// Runs all calls on the host, into `tensors`.
  void runOnHost() {
    SingleRank rank(1, 4096);
    auto at = [&](int tensor) { return tensors[size_t(tensor)].data(); };
    for (ExpertsCall call : {ExpertsCall::Forward, ExpertsCall::Backward,
                             ExpertsCall::WeightGradient})
      host::experts(rank, call, d, pointers(call, routing.data(), at));
  }

  /// The operands of a call whose tensor i is at at(i).
  template <typename At>
  ExpertTensors pointers(ExpertsCall call, const int32_t *routed, At at) const {
    return expertTensors(
        routed, call == ExpertsCall::WeightGradient && d.x_in_rows, at);
  }

private:
  void takeRows(int from, int to, int64_t width) {
    for (int64_t row = 0; row < routing[size_t(c.experts)]; ++row)
      for (int64_t j = 0; j < width; ++j)
        tensors[size_t(to)].set(
            row * width + j,
            tensors[size_t(from)].get(
                routing[size_t(c.experts + 1 + row)] / c.choices * width + j));
  }
};

/// The largest difference of two tensors over the largest number.
inline double differenceOf(const FloatTensor &got, const FloatTensor &wanted) {
  double largest = 1e-30, difference = 0;
  for (int64_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, std::fabs(wanted.get(i)));
    double off = std::fabs(got.get(i) - wanted.get(i));
    difference = off <= difference ? difference : off;
  }
  return difference / largest;
}

/// The difference that rounding to a type explains.
inline double boundOf(int32_t dtype) {
  return dtype == TESSERA_RT_F64    ? 1e-12
         : dtype == TESSERA_RT_F32  ? 2e-5
         : dtype == TESSERA_RT_BF16 ? 0.02
                                    : 0.003;
}

} // namespace tessera::rt::cuda

#endif // TESSERA_TEST_RUNTIME_EXPERTSCASES_H
