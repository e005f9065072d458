//===- AttentionBuilder.cpp - Builds the attention of a block -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockBuilder.h"

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
  if (config.headNorms) {
    q = norm("attn.q_norm", q);
    k = norm("attn.k_norm", k);
  }
  if (!config.positionTable) {
    const RotaryEmbedding &embedding =
        window && config.windowRope ? *config.windowRope : config.rope;
    q = rope(q, embedding);
    k = rope(k, embedding);
  }
  double scale = config.attentionScale();
  if (config.scaleByInverseLayer)
    scale /= double(index + 1);
  return linear("bsgrk,grkd->bsd", attend(q, k, v, window, scale), "attn.wo",
                "attn.bo");
}

Value BlockBuilder::attend(Value q, Value k, Value v, IntegerAttr window,
                           double scale) {
  auto type = cast<RankedTensorType>(q.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = cast<RankedTensorType>(v.getType()).getShape().back();
  return nn::AttentionOp::create(
             builder, type.clone(shape), q, k, v, /*q_offset=*/Value(),
             /*k_offset=*/Value(), starts, /*causal=*/builder.getUnitAttr(),
             window, builder.getF64FloatAttr(scale),
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
  if (const auto &yarn = config.rope.yarn; yarn && yarn->rotatedFactor != 1.0)
    rotated = scaleBy(rotated, yarn->rotatedFactor * yarn->rotatedFactor);
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
  llvm::append_range(frequencies, config.rope.listFrequencies(width));
  return nn::RopeOp::create(builder, x.getType(), x, /*offset=*/Value(),
                            builder.getI64IntegerAttr(1), /*theta=*/FloatAttr(),
                            /*scaling=*/nn::RopeScalingAttr(),
                            builder.getDenseF64ArrayAttr(frequencies),
                            /*width=*/IntegerAttr(),
                            /*interleaved=*/builder.getUnitAttr(),
                            /*inverse=*/UnitAttr(), nn::ZigzagAttr());
}

Value BlockBuilder::rope(Value x, const RotaryEmbedding &embedding) {
  nn::RopeScalingAttr scaling;
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
  return nn::RopeOp::create(builder, x.getType(), x, /*offset=*/Value(),
                            builder.getI64IntegerAttr(1),
                            builder.getF64FloatAttr(embedding.theta), scaling,
                            /*frequencies=*/DenseF64ArrayAttr(), width,
                            /*interleaved=*/UnitAttr(),
                            /*inverse=*/UnitAttr(), nn::ZigzagAttr());
}
