//===- AttentionBuilder.cpp - Builds the attention of a block -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockBuilder.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

Value BlockBuilder::attention(int64_t index, Value x) {
  if (config.latent)
    return latentAttention(*config.latent, x);
  locate("attn");
  IntegerAttr window;
  if (std::optional<int64_t> size = config.windowOf(index))
    window = builder.getI64IntegerAttr(*size);
  Value q = linear("bsd,dgrk->bsgrk", x, "attn.wq", "attn.bq");
  Value k = linear("bsd,dgk->bsgk", x, "attn.wk", "attn.bk");
  Value v = linear("bsd,dgk->bsgk", x, "attn.wv", "attn.bv");
  if (config.headNorms != HeadNorms::None) {
    q = headNorm("attn.q_norm", q);
    k = headNorm("attn.k_norm", k);
  }
  double scale = config.attentionScale();
  if (config.scaleByInverseLayer)
    scale /= double(index + 1);
  if (!config.positionTable) {
    const RotaryEmbedding &embedding =
        window && config.windowRope ? *config.windowRope : config.rope;
    q = rope(q, embedding);
    k = rope(k, embedding);
    // A factor of q and k is its square on either, or on scores.
    double factor = std::pow(embedding.rotatedFactor(), 2);
    if (factor != 1.0 && config.rotaryWidth)
      k = scaleRotated(k, factor);
    else
      scale *= factor;
  }
  return linear("bsgrk,grkd->bsd", attend(q, k, v, window, scale), "attn.wo",
                "attn.bo");
}

Value BlockBuilder::headNorm(StringRef name, Value x) {
  switch (config.headNorms) {
  case HeadNorms::None:
    return x;
  case HeadNorms::Shared:
    return norm(name, x);
  case HeadNorms::Own:
    return ownNorm(name, x);
  case HeadNorms::Whole:
    return wholeNorm(name, x);
  }
  llvm_unreachable("a HeadNorms");
}

Value BlockBuilder::ownNorm(StringRef name, Value x) {
  locate(name);
  auto row = RankedTensorType::get({config.headDim}, element);
  Value y = nn::LayerNormOp::create(builder, x.getType(), x, splatOf(row, 1.0),
                                    splatOf(row, 0.0),
                                    builder.getF64FloatAttr(config.normEps))
                .getResult();
  Value gamma = parameter((name + ".gamma").str());
  auto heads = cast<RankedTensorType>(x.getType()).getShape().drop_front(2);
  if (heads.size() == 3)
    gamma = tensor::ExpandShapeOp::create(
        builder, RankedTensorType::get(heads, element), gamma,
        SmallVector<ReassociationIndices>{{0, 1}, {2}});
  return arith::MulFOp::create(builder, y, broadcastTo(gamma, y));
}

Value BlockBuilder::wholeNorm(StringRef name, Value x) {
  locate(name);
  ReassociationIndices merged, mergedGamma;
  for (int64_t i = 2; i < cast<RankedTensorType>(x.getType()).getRank(); ++i) {
    merged.push_back(i);
    mergedGamma.push_back(i - 2);
  }
  SmallVector<ReassociationIndices> dims{{0}, {1}, merged};
  Value row = tensor::CollapseShapeOp::create(builder, x, dims);
  Value gamma = tensor::CollapseShapeOp::create(
      builder, parameter((name + ".gamma").str()),
      SmallVector<ReassociationIndices>{mergedGamma});
  row = nn::RMSNormOp::create(builder, row.getType(), row, gamma,
                              builder.getF64FloatAttr(config.normEps))
            .getResult();
  return tensor::ExpandShapeOp::create(builder, x.getType(), row, dims);
}

Value BlockBuilder::attend(Value q, Value k, Value v, IntegerAttr window,
                           double scale) {
  auto type = cast<RankedTensorType>(q.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = cast<RankedTensorType>(v.getType()).getShape().back();
  return nn::AttentionOp::create(
             builder, type.clone(shape), q, k, v, /*q_offset=*/Value(),
             /*k_offset=*/Value(), starts, /*bias=*/Value(), /*sinks=*/Value(),
             /*bias_dims=*/DenseI64ArrayAttr(),
             /*causal=*/builder.getUnitAttr(), window,
             builder.getF64FloatAttr(scale),
             config.scoreCap != 0.0 ? builder.getF64FloatAttr(config.scoreCap)
                                    : FloatAttr(),
             /*key_size=*/IntegerAttr(), nn::ZigzagAttr())
      .getResult();
}

Value BlockBuilder::latentAttention(const LatentAttention &latent, Value x) {
  locate("attn");
  Value query = x;
  if (latent.queryRank) {
    query = latentNorm("attn.q_a_norm",
                       einsum("bsd,dq->bsq", x, parameter("attn.wq_a")));
    locate("attn");
  }
  Value q = einsum("bsq,qgrk->bsgrk", query,
                   parameter(latent.queryRank ? "attn.wq_b" : "attn.wq"));
  Value both = latentNorm("attn.kv_a_norm",
                          einsum("bsd,dc->bsc", x, parameter("attn.wkv_a")));
  locate("attn");
  Value rotated = einsum("bsd,dk->bsk", x, parameter("attn.wk_rope"));
  q = rotateLast(q, latent.rotaryWidth);
  rotated = rotateLast(rotated, latent.rotaryWidth);
  // A factor of q and k is its square on either.
  if (double factor = config.rope.rotatedFactor(); factor != 1.0)
    rotated = scaleBy(rotated, factor * factor);
  Value k = einsum("bsc,cgk->bsgk", both, parameter("attn.wk_b"));
  SmallVector<int64_t> shape(cast<RankedTensorType>(k.getType()).getShape());
  shape.back() = latent.rotaryWidth;
  rotated =
      nn::BroadcastOp::create(builder, RankedTensorType::get(shape, element),
                              rotated, ArrayRef<int64_t>{0, 1, 3});
  k = tensor::ConcatOp::create(builder, /*dim=*/3, ValueRange{k, rotated});
  Value v = einsum("bsc,cgk->bsgk", both, parameter("attn.wv_b"));
  return einsum("bsgrk,grkd->bsd",
                attend(q, k, v, IntegerAttr(), config.attentionScale()),
                parameter("attn.wo"));
}

Value BlockBuilder::rotateLast(Value x, int64_t width) {
  int64_t all = cast<RankedTensorType>(x.getType()).getShape().back();
  SmallVector<double> frequencies((all - width) / 2, 0.0);
  llvm::append_range(frequencies,
                     config.rope.listFrequencies(width, options.seq));
  return nn::RopeOp::create(builder, x.getType(), x, /*offset=*/Value(),
                            builder.getI64IntegerAttr(1), /*theta=*/FloatAttr(),
                            /*scaling=*/nn::RopeScalingAttr(),
                            builder.getDenseF64ArrayAttr(frequencies),
                            /*width=*/IntegerAttr(),
                            /*interleaved=*/builder.getUnitAttr(),
                            /*inverse=*/UnitAttr(), nn::ZigzagAttr());
}

Value BlockBuilder::rope(Value x, const RotaryEmbedding &embedding) {
  FloatAttr theta;
  nn::RopeScalingAttr scaling;
  DenseF64ArrayAttr frequencies;
  if (embedding.needsList())
    frequencies = builder.getDenseF64ArrayAttr(
        embedding.listFrequencies(config.rotatedElements(), options.seq));
  else
    theta = builder.getF64FloatAttr(embedding.theta);
  if (const std::optional<RopeScaling> &s = embedding.scaling) {
    FloatAttr low, high;
    if (s->originalContext) {
      low = builder.getF64FloatAttr(s->lowFreqFactor);
      high = builder.getF64FloatAttr(s->highFreqFactor);
    }
    scaling = nn::RopeScalingAttr::get(builder.getContext(),
                                       builder.getF64FloatAttr(s->factor), low,
                                       high, s->originalContext);
  }
  IntegerAttr width;
  if (config.rotaryWidth != 0)
    width = builder.getI64IntegerAttr(config.rotaryWidth);
  UnitAttr interleaved;
  if (config.interleavedRope)
    interleaved = builder.getUnitAttr();
  return nn::RopeOp::create(builder, x.getType(), x, /*offset=*/Value(),
                            builder.getI64IntegerAttr(1), theta, scaling,
                            frequencies, width, interleaved,
                            /*inverse=*/UnitAttr(), nn::ZigzagAttr());
}

Value BlockBuilder::scaleRotated(Value x, double factor) {
  SmallVector<Attribute> factors(config.headDim,
                                 builder.getFloatAttr(element, 1.0));
  std::fill_n(factors.begin(), config.rotaryWidth,
              builder.getFloatAttr(element, factor));
  auto type = RankedTensorType::get({config.headDim}, element);
  Value row =
      arith::ConstantOp::create(builder, DenseElementsAttr::get(type, factors));
  return arith::MulFOp::create(builder, x, broadcastTo(row, x));
}
