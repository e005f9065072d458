//===- PropagationProblem.cpp - Building and checking a problem -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Propagation/PropagationProblem.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::ArrayRef;

/// Equal also in the letters that say why a sharding was chosen.
static bool readsAs(const ShardingRule &rule, const ShardingRule &other) {
  return rule == other &&
         llvm::equal(rule.factors, other.factors,
                     [](const Factor &factor, const Factor &otherFactor) {
                       return factor.letter == otherFactor.letter;
                     });
}

unsigned PropagationProblem::addRule(ShardingRule rule) {
  // The rules of a model's layers repeat; the newest are the likeliest.
  constexpr size_t kWindow = 64;
  size_t end = rules.size(), begin = end > kWindow ? end - kWindow : 0;
  for (size_t i = end; i > begin; --i)
    if (readsAs(rules[i - 1], rule))
      return i - 1;
  rules.push_back(std::move(rule));
  return end;
}

unsigned PropagationProblem::addTensor(ArrayRef<int64_t> shape,
                                       int64_t elementBytes, Sharding seed) {
  Tensor tensor;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.bytes = elementBytes;
  for (int64_t size : shape)
    tensor.bytes *= size;
  tensor.seed = std::move(seed);
  tensors.push_back(std::move(tensor));
  return tensors.size() - 1;
}

void PropagationProblem::addOp(unsigned rule, ArrayRef<unsigned> operands,
                               ArrayRef<unsigned> results) {
  Op op;
  op.rule = rule;
  op.operands.assign(operands.begin(), operands.end());
  op.results.assign(results.begin(), results.end());
  ops.push_back(std::move(op));
}

void PropagationProblem::addIdentity(unsigned from, unsigned to) {
  ShardingRule rule;
  TensorFactors dims;
  for (int64_t size : tensors[from].shape)
    dims.push_back({rule.addFactor(size)});
  rule.operands = {dims};
  rule.results = {dims};
  addOp(addRule(std::move(rule)), {from}, {to});
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Why a sharding cannot be one on this mesh for a tensor of this rank.
static std::string checkSharding(const Mesh &mesh, const Sharding &sharding,
                                 size_t rank) {
  std::string why;
  llvm::raw_string_ostream os(why);
  if (sharding.dims.size() != rank) {
    os << "expects a sharding of " << rank << " dimensions but got "
       << sharding.dims.size();
    return why;
  }
  AxisList all = sharding.dimAxes();
  llvm::append_range(all, sharding.replicated);
  llvm::append_range(all, sharding.unreduced);
  for (size_t i = 0; i < all.size(); ++i) {
    const AxisRef &a = all[i];
    if (a.axis >= mesh.sizes.size() || a.size < 2 ||
        mesh.sizes[a.axis] % a.end() != 0) {
      // An axis of size 1 shards nothing but may be named.
      if (a.axis < mesh.sizes.size() && a == mesh.fullAxis(a.axis))
        continue;
      os << "expects parts of axes of the mesh but got axis " << a.axis << ":("
         << a.preSize << ")" << a.size;
      return why;
    }
    if (overlapsAny(ArrayRef<AxisRef>(all).take_front(i), a)) {
      os << "expects each axis once but got ";
      mesh.print(os, a);
      os << " twice";
      return why;
    }
    if (mesh.stageAxis == a.axis) {
      os << "expects no stage axis but got ";
      mesh.print(os, a);
      return why;
    }
  }
  return why;
}

/// Why `dims` are no factors of `shape`.
static std::string checkDims(const ShardingRule &rule,
                             const TensorFactors &dims,
                             ArrayRef<int64_t> shape) {
  std::string why;
  llvm::raw_string_ostream os(why);
  if (dims.empty())
    return why; // Nothing of the tensor is tied.
  if (dims.size() != shape.size()) {
    os << "expects factors for " << shape.size() << " dimensions but got "
       << dims.size();
    return why;
  }
  for (auto [i, dim] : llvm::enumerate(dims)) {
    int64_t product = 1;
    for (unsigned f : dim) {
      if (f >= rule.factors.size()) {
        os << "expects a factor below " << rule.factors.size() << " but got "
           << f;
        return why;
      }
      product *= rule.factors[f].size;
    }
    if (!dim.empty() && product != shape[i]) {
      os << "expects factors of product " << shape[i] << " for dimension " << i
         << " but got " << product;
      return why;
    }
  }
  return why;
}

std::string PropagationProblem::check() const {
  for (auto [i, tensor] : llvm::enumerate(tensors)) {
    std::string why = checkSharding(mesh, tensor.seed, tensor.shape.size());
    if (!why.empty())
      return "tensor " + std::to_string(i) + ": " + why;
  }
  for (auto [i, op] : llvm::enumerate(ops)) {
    std::string where = "op " + std::to_string(i) + ": ";
    if (op.rule >= rules.size())
      return where + "expects a known rule";
    const ShardingRule &rule = rules[op.rule];
    if (rule.operands.size() != op.operands.size() ||
        rule.results.size() != op.results.size())
      return where + "expects as many operands and results as its rule has";
    auto checkAll = [&](ArrayRef<TensorFactors> factors,
                        ArrayRef<unsigned> ids) -> std::string {
      for (auto [dims, id] : llvm::zip(factors, ids)) {
        if (id == kNone)
          continue;
        if (id >= tensors.size())
          return "expects a known tensor";
        if (std::string why = checkDims(rule, dims, tensors[id].shape);
            !why.empty())
          return why;
      }
      return "";
    };
    std::string why = checkAll(rule.operands, op.operands);
    if (why.empty())
      why = checkAll(rule.results, op.results);
    if (!why.empty())
      return where + why;
  }
  return "";
}

std::string tessera::verify(const PropagationProblem &problem,
                            const PropagationSolution &solution) {
  if (solution.shardings.size() != problem.tensors.size())
    return "expects one sharding a tensor";
  for (auto [i, tensor] : llvm::enumerate(problem.tensors)) {
    std::string where = "tensor " + std::to_string(i) + ": ";
    const Sharding &got = solution.shardings[i];
    std::string why = checkSharding(problem.mesh, got, tensor.shape.size());
    if (!why.empty())
      return where + why;
    if (got.unreduced != tensor.seed.unreduced)
      return where + "expects the seed's unreduced axes";
    for (auto [d, dim] : llvm::enumerate(tensor.seed.dims)) {
      const AxisList &axes = got.dims[d].axes;
      if (got.dims[d].open)
        return where + "expects closed dimensions";
      if (dim.open ? !isPrefix(dim.axes, axes) : dim.axes != axes)
        return where + "expects the seed's axes on dimension " +
               std::to_string(d);
      if (overlapsAny(axes, tensor.seed.replicated))
        return where + "expects no axis that is to be replicated";
    }
  }
  return "";
}
