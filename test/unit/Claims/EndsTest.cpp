//===- EndsTest.cpp - Each op with an operand that ends early -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The proof treats a splat as having any length until something limits it. Each
// sample gets a splat for one operand. In the local program a mask or appended
// zeros end the splat before the last element. If that changes a result, or the
// last elements of one, the program must not be proven.
//
//===----------------------------------------------------------------------===//

#include "Claims.h"
#include "Data.h"
#include "Samples.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "tessera/Interfaces/ShardingRule.h"
#include "tessera/Proof/VerifyPartition.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::claims;

namespace {

/// The operand that ends early, its dimension, and the functions' results.
struct Case {
  unsigned operand;
  int64_t dim;
  /// True if a concatenation with a zero ends it; else a mask of the last
  /// element.
  bool appends;
  /// The dimension of the first result whose last element is returned; -1: the
  /// whole results are returned.
  int64_t sliced;
};

Value makeSplat(OpBuilder &b, Location loc, RankedTensorType type, bool isOne) {
  Type element = type.getElementType();
  TypedAttr attr = isa<FloatType>(element)
                       ? TypedAttr(b.getFloatAttr(element, isOne))
                       : TypedAttr(b.getIntegerAttr(element, isOne));
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, Attribute(attr)));
}

RankedTensorType withSize(RankedTensorType type, int64_t dim, int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return type.clone(shape);
}

/// Makes ones; in the local program the last one along a dimension is zero.
Value makeOperand(OpBuilder &b, Location loc, RankedTensorType type,
                  const Case &how, bool isLocal) {
  if (!isLocal)
    return makeSplat(b, loc, type, true);
  int64_t size = type.getDimSize(how.dim) - 1;
  if (!how.appends)
    return nn::MaskPaddingOp::create(
        b, loc, type, makeSplat(b, loc, type, true), /*offset=*/Value(),
        how.dim, size,
        getNeutralElement(type.getElementType(), ReductionKind::Sum));
  Value ones = makeSplat(b, loc, withSize(type, how.dim, size), true);
  Value zero = makeSplat(b, loc, withSize(type, how.dim, 1), false);
  return tensor::ConcatOp::create(b, loc, how.dim, ValueRange{ones, zero});
}

/// The last element of `value` along a dimension.
Value sliceLast(OpBuilder &b, Location loc, Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(b.getIndexAttr(size));
  offsets[dim] = b.getIndexAttr(type.getDimSize(dim) - 1);
  sizes[dim] = b.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(b, loc, value, offsets, sizes, strides);
}

/// Adds a copy of the sample's function that computes the operand itself.
func::FuncOp addFunction(ModuleOp module, const Sample &sample, const Case &how,
                         bool isLocal) {
  func::FuncOp func = sample.getFunction().clone();
  module.push_back(func);
  func.setName(isLocal ? "local" : "global");
  if (isLocal)
    func->setAttr(dist::DistDialect::kLocalAttr,
                  UnitAttr::get(func.getContext()));
  Block &block = func.front();
  Operation *terminator = block.getTerminator();
  Operation *op = terminator->getOperand(0).getDefiningOp();
  OpBuilder b(op);
  auto type = cast<RankedTensorType>(op->getOperand(how.operand).getType());
  op->setOperand(how.operand, makeOperand(b, op->getLoc(), type, how, isLocal));
  if (how.sliced >= 0) {
    b.setInsertionPoint(terminator);
    Value last = sliceLast(b, op->getLoc(), op->getResult(0), how.sliced);
    terminator->setOperands(last);
    func.setType(b.getFunctionType(block.getArgumentTypes(), last.getType()));
  }
  return func;
}

/// The results on ordinary data; none if the op is not defined on it.
std::optional<interp::RankTensors> evaluate(func::FuncOp func) {
  ScopedDiagnosticHandler silence(func.getContext(), [](Diagnostic &) {});
  Generator generator;
  interp::RankTensors arguments;
  for (Type type : func.getArgumentTypes())
    arguments.push_back(generator.draw(type, Draw::Ordinary));
  auto results = interp::interpret(func, {arguments});
  if (failed(results))
    return std::nullopt;
  return results->front();
}

/// Numbers of cases of a sample.
struct Counts {
  int differ = 0, proven = 0;
};

void check(const Sample &sample, const Case &how, Counts &counts) {
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(sample.getFunction().getLoc());
  func::FuncOp global = addFunction(*module, sample, how, false);
  func::FuncOp local = addFunction(*module, sample, how, true);
  ScopedDiagnosticHandler silence(module->getContext(), [](Diagnostic &) {});
  if (failed(verify(*module)))
    return;
  std::optional<interp::RankTensors> expected = evaluate(global);
  std::optional<interp::RankTensors> got = evaluate(local);
  if (!expected || !got)
    return;
  bool isSame = llvm::all_of_zip(*expected, *got, [](auto &a, auto &b) {
    return areClose(*a, *b, {getMagnitude(*a), false});
  });
  if (isSame)
    return;
  ++counts.differ;
  Mesh mesh;
  mesh.names = {"x"};
  mesh.sizes = {2};
  PartitionVerdict verdict = verifyPartition(local, mesh, global);
  counts.proven += verdict.answer == PartitionAnswer::Proven;
  if (verdict.answer == PartitionAnswer::Proven) {
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os);
    ADD_FAILURE() << "proven though results differ:\n" << text;
  }
}

/// Checks all cases of a sample.
void checkSample(const Sample &sample, Counts &counts) {
  ShardingRuleOpInterface op = sample.getOp();
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    auto type = dyn_cast<RankedTensorType>(op->getOperand(i).getType());
    if (!type || !type.getElementType().isIntOrFloat() || !sample.isArgument(i))
      continue;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (type.getDimSize(dim) < 2)
        continue;
      for (bool appends : {false, true})
        for (int64_t sliced = -1; sliced < (result ? result.getRank() : 0);
             ++sliced)
          if (sliced < 0 || result.getDimSize(sliced) > 1)
            check(sample, {i, dim, appends, sliced}, counts);
    }
  }
}

class EndsTest : public testing::TestWithParam<std::string> {};

TEST_P(EndsTest, too_early) {
  Counts counts;
  for (const Sample &sample : getSamples(GetParam()))
    checkSample(sample, counts);
  EXPECT_EQ(counts.proven, 0);
}

TEST_P(EndsTest, in_bodies) {
  Counts counts;
  if (!StringRef(GetParam()).starts_with("linalg."))
    for (const Sample &sample : findBodies(getContext(), GetParam()))
      checkSample(sample, counts);
  EXPECT_EQ(counts.proven, 0);
}

INSTANTIATE_TEST_SUITE_P(Ops, EndsTest, testing::ValuesIn(getOps()),
                         [](const auto &info) {
                           std::string name = info.param;
                           llvm::replace(name, '.', '_');
                           return name;
                         });

/// Most ops depend on whether an operand ends early, so the test has cases.
TEST(EndsTest, has_cases) {
  Counts counts;
  for (StringRef name : {"arith.addf", "nn.einsum", "nn.softmax",
                         "tensor.extract_slice", "nn.transpose"})
    for (const Sample &sample : getSamples(name))
      checkSample(sample, counts);
  EXPECT_GT(counts.differ, 50);
}

} // namespace
