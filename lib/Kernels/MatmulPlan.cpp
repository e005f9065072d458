//===- MatmulPlan.cpp - An einsum as one library call ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tries each order of each group that occurs in some tensor (a few dozen at
// most) and keeps the one that copies least.
//
//===----------------------------------------------------------------------===//

#include "tessera/Kernels/MatmulPlan.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using Letters = Einsum::Letters;

namespace {

/// The letters of each group in one order.
struct Groups {
  Letters batch, rows, columns, contracted;
};

/// A tensor seen as batch x first x second, with the stride of each.
struct View {
  int64_t batchStride = 0, firstStride = 1, secondStride = 1;
};

/// Returns the stride of `group` in a tensor with these letters; none if its
/// letters are not contiguous and in order. An empty group has stride 0.
std::optional<int64_t> strideOf(const Einsum &e,
                                llvm::ArrayRef<unsigned> tensor,
                                llvm::ArrayRef<unsigned> group) {
  if (group.empty())
    return 0;
  const unsigned *begin = llvm::find(tensor, group.front());
  size_t position = begin - tensor.begin();
  if (tensor.size() - position < group.size() ||
      tensor.slice(position, group.size()) != group)
    return std::nullopt;
  return e.size(tensor.drop_front(position + group.size()));
}

std::optional<View> viewOf(const Einsum &e, llvm::ArrayRef<unsigned> tensor,
                           llvm::ArrayRef<unsigned> batch,
                           llvm::ArrayRef<unsigned> first,
                           llvm::ArrayRef<unsigned> second) {
  auto b = strideOf(e, tensor, batch), f = strideOf(e, tensor, first),
       s = strideOf(e, tensor, second);
  if (!b || !f || !s)
    return std::nullopt;
  // One of the matrix's dimensions must be contiguous, or have one element.
  if (*f > 1 && *s > 1)
    return std::nullopt;
  return View{*b, *f, *s};
}

Letters concat(llvm::ArrayRef<unsigned> a, llvm::ArrayRef<unsigned> b,
               llvm::ArrayRef<unsigned> c) {
  Letters all(a);
  all.append(b.begin(), b.end());
  all.append(c.begin(), c.end());
  return all;
}

/// Returns the letters of `order` for which `inGroup` holds.
template <typename Predicate>
Letters filter(llvm::ArrayRef<unsigned> order, Predicate inGroup) {
  Letters kept;
  llvm::copy_if(order, std::back_inserter(kept), inGroup);
  return kept;
}

/// Sets the leading dimension and transposition of an operand whose
/// untransposed form is [first, second].
void storeOperand(const View &view, int64_t first, int64_t second, int64_t &ld,
                  bool &trans) {
  trans = view.secondStride > 1;
  ld = trans ? std::max(view.secondStride, first)
             : std::max(view.firstStride, second);
}

/// Returns the plan for given orders of letters; `e` has no letter of size 1.
MatmulPlan planFor(const Einsum &e, const Groups &g) {
  MatmulPlan plan;
  Letters lhs = e.lhs, rhs = e.rhs, result = e.result;
  auto view = [&](Letters &tensor, std::optional<Letters> &order,
                  llvm::ArrayRef<unsigned> first,
                  llvm::ArrayRef<unsigned> second) {
    auto view = viewOf(e, tensor, g.batch, first, second);
    if (view)
      return *view;
    tensor = concat(g.batch, first, second);
    order = tensor;
    plan.copied += e.size(tensor);
    return *viewOf(e, tensor, g.batch, first, second);
  };
  View a = view(lhs, plan.lhsOrder, g.rows, g.contracted);
  View b = view(rhs, plan.rhsOrder, g.contracted, g.columns);
  View c = view(result, plan.resultOrder, g.rows, g.columns);
  plan.batch = e.size(g.batch);
  plan.m = e.size(g.rows);
  plan.n = e.size(g.columns);
  plan.k = e.size(g.contracted);
  if (c.secondStride > 1) {
    // The result is column-major: the transposed result is row-major.
    plan.swapped = true;
    std::swap(plan.m, plan.n);
    std::swap(a, b);
    for (View *view : {&a, &b, &c})
      std::swap(view->firstStride, view->secondStride);
  }
  storeOperand(a, plan.m, plan.k, plan.lda, plan.transA);
  storeOperand(b, plan.k, plan.n, plan.ldb, plan.transB);
  plan.ldc = std::max(c.firstStride, plan.n);
  plan.strideA = a.batchStride;
  plan.strideB = b.batchStride;
  plan.strideC = c.batchStride;
  return plan;
}

} // namespace

MatmulPlan tessera::planMatmul(const Einsum &full) {
  Einsum e = full;
  for (Letters *tensor : {&e.lhs, &e.rhs, &e.result})
    llvm::erase_if(*tensor, [&](unsigned l) { return e.sizes[l] == 1; });
  auto inLhs = [&](unsigned l) { return llvm::is_contained(e.lhs, l); };
  auto inRhs = [&](unsigned l) { return llvm::is_contained(e.rhs, l); };
  auto inResult = [&](unsigned l) { return llvm::is_contained(e.result, l); };
  auto isBatch = [&](unsigned l) {
    return inLhs(l) && inRhs(l) && inResult(l);
  };
  auto isRow = [&](unsigned l) { return inLhs(l) && !inRhs(l); };
  auto isColumn = [&](unsigned l) { return inRhs(l) && !inLhs(l); };
  auto isContracted = [&](unsigned l) { return !inResult(l); };

  std::optional<MatmulPlan> best;
  for (const Letters *batch : {&e.result, &e.lhs, &e.rhs})
    for (const Letters *rows : {&e.result, &e.lhs})
      for (const Letters *columns : {&e.result, &e.rhs})
        for (const Letters *contracted : {&e.rhs, &e.lhs}) {
          MatmulPlan plan =
              planFor(e, {filter(*batch, isBatch), filter(*rows, isRow),
                          filter(*columns, isColumn),
                          filter(*contracted, isContracted)});
          if (!best || plan.copied < best->copied)
            best = plan;
        }
  // Letters of size 1 come last in an order: they move nothing.
  auto complete = [&](std::optional<Letters> &order, const Letters &tensor) {
    if (order)
      for (unsigned l : tensor)
        if (full.sizes[l] == 1)
          order->push_back(l);
  };
  complete(best->lhsOrder, full.lhs);
  complete(best->rhsOrder, full.rhs);
  complete(best->resultOrder, full.result);
  return *best;
}
