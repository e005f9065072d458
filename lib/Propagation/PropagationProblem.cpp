//===- PropagationProblem.cpp - Building and checking a problem -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Propagation/PropagationProblem.h"
#include "tessera/Support/Errors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Twine;

/// True if the rules are equal, including the letters used in explanations.
static bool readsAs(const ShardingRule &rule, const ShardingRule &other) {
  return rule == other &&
         llvm::equal(rule.factors, other.factors,
                     [](const Factor &factor, const Factor &otherFactor) {
                       return factor.letter == otherFactor.letter;
                     });
}

unsigned PropagationProblem::addRule(ShardingRule rule) {
  // The rules of a model's layers repeat; the newest ones match most often.
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

/// Fails if a sharding is not valid on this mesh for a tensor of this rank.
static Error checkSharding(const Mesh &mesh, const Sharding &sharding,
                           size_t rank) {
  if (sharding.dims.size() != rank)
    return createStringError("expects a sharding of " + Twine(rank) +
                             " dimensions but got " +
                             Twine(sharding.dims.size()));
  auto print = [&](const AxisRef &axis) {
    std::string text;
    llvm::raw_string_ostream os(text);
    mesh.print(os, axis);
    return text;
  };
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
      return createStringError("expects axes and sub-axes of the mesh but got "
                               "axis " +
                               Twine(a.axis) + ":(" + Twine(a.preSize) + ")" +
                               Twine(a.size));
    }
    if (overlapsAny(ArrayRef<AxisRef>(all).take_front(i), a))
      return createStringError("expects each axis once but got " + print(a) +
                               " twice");
    if (mesh.stageAxis == a.axis)
      return createStringError("expects no stage axis but got " + print(a));
  }
  return Error::success();
}

/// Fails if `dims` are not factors of `shape`.
static Error checkDims(const ShardingRule &rule, const TensorFactors &dims,
                       ArrayRef<int64_t> shape) {
  if (dims.empty())
    return Error::success(); // No dimension of the tensor is tied.
  if (dims.size() != shape.size())
    return createStringError("expects factors for " + Twine(shape.size()) +
                             " dimensions but got " + Twine(dims.size()));
  for (auto [i, dim] : llvm::enumerate(dims)) {
    int64_t product = 1;
    for (unsigned f : dim) {
      if (f >= rule.factors.size())
        return createStringError("expects a factor below " +
                                 Twine(rule.factors.size()) + " but got " +
                                 Twine(f));
      product *= rule.factors[f].size;
    }
    if (!dim.empty() && product != shape[i])
      return createStringError("expects factors of product " + Twine(shape[i]) +
                               " for dimension " + Twine(i) + " but got " +
                               Twine(product));
  }
  return Error::success();
}

/// Fails if the tensors `ids` of an op do not have these factors.
static Error checkTensors(const PropagationProblem &problem,
                          const ShardingRule &rule,
                          ArrayRef<TensorFactors> factors,
                          ArrayRef<unsigned> ids) {
  for (auto [dims, id] : llvm::zip(factors, ids)) {
    if (id == PropagationProblem::kNone)
      continue;
    if (id >= problem.tensors.size())
      return createStringError("expects a known tensor");
    if (Error error = checkDims(rule, dims, problem.tensors[id].shape))
      return error;
  }
  return Error::success();
}

static Error checkOp(const PropagationProblem &problem,
                     const PropagationProblem::Op &op) {
  if (op.rule >= problem.rules.size())
    return createStringError("expects a known rule");
  const ShardingRule &rule = problem.rules[op.rule];
  if (rule.operands.size() != op.operands.size() ||
      rule.results.size() != op.results.size())
    return createStringError(
        "expects as many operands and results as its rule has");
  if (!op.pinned.empty() && op.pinned.size() != rule.factors.size())
    return createStringError("expects axes for " + Twine(rule.factors.size()) +
                             " factors but got " + Twine(op.pinned.size()));
  if (Error error = checkTensors(problem, rule, rule.operands, op.operands))
    return error;
  return checkTensors(problem, rule, rule.results, op.results);
}

Error PropagationProblem::check() const {
  for (auto [i, tensor] : llvm::enumerate(tensors))
    if (Error error = checkSharding(mesh, tensor.seed, tensor.shape.size()))
      return prefixError("tensor " + Twine(i) + ": ", std::move(error));
  for (auto [i, op] : llvm::enumerate(ops))
    if (Error error = checkOp(*this, op))
      return prefixError("op " + Twine(i) + ": ", std::move(error));
  return Error::success();
}

/// Fails if `got` is not a solution for a tensor.
static Error verifyTensor(const Mesh &mesh,
                          const PropagationProblem::Tensor &tensor,
                          const Sharding &got) {
  if (Error error = checkSharding(mesh, got, tensor.shape.size()))
    return error;
  if (got.unreduced != tensor.seed.unreduced)
    return createStringError("expects the seed's unreduced axes");
  for (auto [d, dim] : llvm::enumerate(tensor.seed.dims)) {
    const AxisList &axes = got.dims[d].axes;
    if (got.dims[d].open)
      return createStringError("expects closed dimensions");
    if (dim.open ? !isPrefix(dim.axes, axes) : dim.axes != axes)
      return createStringError("expects the seed's axes on dimension " +
                               Twine(d));
    if (overlapsAny(axes, tensor.seed.replicated))
      return createStringError("expects no axis that is to be replicated");
  }
  return Error::success();
}

Error tessera::verify(const PropagationProblem &problem,
                      const PropagationSolution &solution) {
  if (solution.shardings.size() != problem.tensors.size())
    return createStringError("expects one sharding a tensor");
  for (auto [i, tensor] : llvm::enumerate(problem.tensors))
    if (Error error = verifyTensor(problem.mesh, tensor, solution.shardings[i]))
      return prefixError("tensor " + Twine(i) + ": ", std::move(error));
  return Error::success();
}
