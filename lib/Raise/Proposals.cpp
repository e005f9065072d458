//===- Proposals.cpp - Candidate ops for a region -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Proposals.h"
#include "TensorTypes.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"

using namespace mlir;
using namespace tessera;

/// The largest number that counts as an eps.
static constexpr double kMaxEps = 0.1;

/// How often ops of the region read x, directly or through float casts and
/// constraints.
static int64_t countReads(const RowRegion &region) {
  SmallVector<Value> same{region.x};
  int64_t reads = 0;
  for (Operation *op : region.ops) {
    if (isa<arith::ExtFOp, arith::TruncFOp, dist::ConstraintOp>(op) &&
        llvm::is_contained(same, op->getOperand(0))) {
      same.push_back(op->getResult(0));
      continue;
    }
    reads += llvm::count_if(op->getOperands(), [&](Value operand) {
      return llvm::is_contained(same, operand);
    });
  }
  return reads;
}

static bool hasSum(const RowRegion &region) {
  return llvm::any_of(region.ops, [](Operation *op) {
    auto reduce = dyn_cast<nn::ReduceOp>(op);
    return reduce && reduce.getKind() == nn::ReduceKind::Sum;
  });
}

static void proposeActivations(SmallVectorImpl<Proposal> &proposals) {
  auto gelu = [](nn::GeluKind kind) {
    return [kind](OpBuilder &b, Location loc, const RowInputs &in) -> Value {
      return nn::GeluOp::create(b, loc, in.x, kind);
    };
  };
  proposals.push_back({"gelu <tanh>", gelu(nn::GeluKind::Tanh)});
  proposals.push_back({"gelu <erf>", gelu(nn::GeluKind::Erf)});
  proposals.push_back(
      {"silu", [](OpBuilder &b, Location loc, const RowInputs &in) -> Value {
         return nn::SiluOp::create(b, loc, in.x);
       }});
}

static void proposeSoftmax(SmallVectorImpl<Proposal> &proposals) {
  proposals.push_back(
      {"softmax",
       [](OpBuilder &b, Location loc, const RowInputs &in) -> Value {
         return nn::SoftmaxOp::create(b, loc, in.x, typeOf(in.x).getRank() - 1);
       },
       /*takesHidden=*/true});
}

/// A vector along the last dimension of `x`, filled with one number.
static Value makeVector(OpBuilder &b, Location loc, Value x, double number) {
  ElementwiseBuilder builder{b, loc};
  return builder.splatOf(RankedTensorType::get(typeOf(x).getShape().back(),
                                               typeOf(x).getElementType()),
                         number);
}

/// gamma and beta are the vectors with these numbers; ones and zeros if not
/// given.
static Proposal makeLayerNorm(double eps, std::optional<unsigned> gamma,
                              std::optional<unsigned> beta) {
  return {"layer_norm",
          [=](OpBuilder &b, Location loc, const RowInputs &in) -> Value {
            Value scale =
                gamma ? in.vectors[*gamma] : makeVector(b, loc, in.x, 1);
            Value shift =
                beta ? in.vectors[*beta] : makeVector(b, loc, in.x, 0);
            return nn::LayerNormOp::create(b, loc, in.x.getType(), in.x, scale,
                                           shift, b.getF64FloatAttr(eps))
                .getResult();
          }};
}

static Proposal makeRMSNorm(double eps, std::optional<unsigned> gamma) {
  return {"rms_norm",
          [=](OpBuilder &b, Location loc, const RowInputs &in) -> Value {
            Value scale =
                gamma ? in.vectors[*gamma] : makeVector(b, loc, in.x, 1);
            return nn::RMSNormOp::create(b, loc, in.x.getType(), in.x, scale,
                                         b.getF64FloatAttr(eps))
                .getResult();
          }};
}

static void proposeNorms(const RowRegion &region,
                         SmallVectorImpl<Proposal> &proposals) {
  for (double eps : findConstants(region)) {
    if (eps > kMaxEps)
      continue;
    switch (region.vectors.size()) {
    case 0:
      proposals.push_back(makeLayerNorm(eps, std::nullopt, std::nullopt));
      proposals.push_back(makeRMSNorm(eps, std::nullopt));
      break;
    case 1:
      proposals.push_back(makeLayerNorm(eps, 0, std::nullopt));
      proposals.push_back(makeLayerNorm(eps, std::nullopt, 0));
      proposals.push_back(makeRMSNorm(eps, 0));
      break;
    default:
      proposals.push_back(makeLayerNorm(eps, 0, 1));
      proposals.push_back(makeLayerNorm(eps, 1, 0));
      break;
    }
  }
}

/// Proposes the loss of each row and its negative, a log probability.
static void proposeCrossEntropy(SmallVectorImpl<Proposal> &proposals) {
  auto build = [](OpBuilder &b, Location loc, const RowInputs &in) -> Value {
    RankedTensorType type = typeOf(in.x);
    Type element = type.getElementType();
    if (element.getIntOrFloatBitWidth() < 32)
      element = b.getF32Type();
    return nn::CrossEntropyOp::create(
               b, loc,
               RankedTensorType::get(type.getShape().drop_back(), element),
               in.x, in.indices[0], /*ignore=*/-100, /*classes=*/IntegerAttr())
        .getResult();
  };
  proposals.push_back({"cross_entropy", build, /*takesHidden=*/true});
  proposals.push_back(
      {"cross_entropy",
       [build](OpBuilder &b, Location loc, const RowInputs &in) -> Value {
         return arith::NegFOp::create(b, loc, build(b, loc, in));
       },
       /*takesHidden=*/true});
}

SmallVector<Proposal> tessera::proposeOps(const RowRegion &region,
                                          ArrayRef<std::string> skipped) {
  SmallVector<Proposal> proposals;
  bool isWhole = typeOf(region.y).getRank() == region.rank();
  bool hasExp = region.has<math::ExpOp>();
  bool reduces = region.has<nn::ReduceOp, nn::SoftmaxOp>();
  if (!isWhole) {
    if (region.indices.size() == 1 && region.vectors.empty() &&
        (hasExp || region.has<nn::SoftmaxOp>()))
      proposeCrossEntropy(proposals);
  } else if (region.indices.empty()) {
    if (!reduces && region.vectors.empty() && countReads(region) > 1 &&
        region.has<math::ExpOp, math::TanhOp, math::ErfOp>())
      proposeActivations(proposals);
    if (hasExp && hasSum(region) && region.vectors.empty())
      proposeSoftmax(proposals);
    if (!hasExp && hasSum(region) && region.vectors.size() <= 2 &&
        countReads(region) > 1)
      proposeNorms(region, proposals);
  }
  llvm::erase_if(proposals, [&](const Proposal &proposal) {
    return llvm::is_contained(skipped,
                              StringRef(proposal.name).split(' ').first);
  });
  return proposals;
}
