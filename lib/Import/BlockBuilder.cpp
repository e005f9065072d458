//===- BlockBuilder.cpp - Builds the blocks of a model --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockBuilder.h"

using namespace mlir;
using namespace tessera;

/// The `eps` of norms of latents, which no config gives.
static constexpr double kLatentNormEps = 1e-6;

Value BlockBuilder::block(int64_t index, Value x) {
  Value normal = config.preNorms ? norm("ln1", x) : x;
  Value attended = attention(index, normal);
  if (config.postNorms)
    attended = norm("ln1_post", attended);
  if (config.parallelBlock) {
    Value transformed = transform(index, normal);
    return addTo(x, arith::AddFOp::create(builder, attended, transformed));
  }
  x = addTo(x, attended);
  Value transformed = transform(index, config.preNorms ? norm("ln2", x) : x);
  if (config.postNorms)
    transformed = norm("ln2_post", transformed);
  return addTo(x, transformed);
}

Value BlockBuilder::transform(int64_t index, Value x) {
  return config.hasExperts(index) ? experts(x) : mlp(x);
}

Value BlockBuilder::addTo(Value stream, Value x) {
  if (config.residualFactor != 1.0)
    x = scaleBy(x, config.residualFactor);
  return onResidualStream(arith::AddFOp::create(builder, stream, x));
}

Value BlockBuilder::norm(StringRef name, Value x) {
  return norm(name, x, config.normEps);
}

Value BlockBuilder::norm(StringRef name, Value x, double epsilon) {
  locate(name);
  FloatAttr eps = builder.getF64FloatAttr(epsilon);
  Value gamma = parameter((name + ".gamma").str());
  if (config.norm == NormKind::RMSPlusOne) {
    auto one = DenseElementsAttr::get(cast<RankedTensorType>(gamma.getType()),
                                      builder.getFloatAttr(element, 1.0));
    gamma = arith::AddFOp::create(builder, gamma,
                                  arith::ConstantOp::create(builder, one));
  }
  Value beta = parameter((name + ".beta").str());
  if (config.norm == NormKind::LayerNoBeta)
    beta = splat(gamma, 0.0);
  if (beta)
    return nn::LayerNormOp::create(builder, x.getType(), x, gamma, beta, eps)
        .getResult();
  return nn::RMSNormOp::create(builder, x.getType(), x, gamma, eps).getResult();
}

Value BlockBuilder::latentNorm(StringRef name, Value x) {
  return norm(name, x, kLatentNormEps);
}

Value BlockBuilder::mlp(Value x) {
  locate("mlp");
  if (!config.gatedMlp) {
    Value hidden = activate(config.activation,
                            linear("bsd,df->bsf", x, "mlp.w1", "mlp.b1"));
    return linear("bsf,fd->bsd", hidden, "mlp.w2", "mlp.b2");
  }
  return gatedMlp("mlp", x);
}

Value BlockBuilder::gatedMlp(const std::string &name, Value x) {
  Value gate = linear("bsd,df->bsf", x, name + ".w_gate", name + ".b_gate");
  Value up = linear("bsd,df->bsf", x, name + ".w_up", name + ".b_up");
  Value hidden =
      arith::MulFOp::create(builder, activate(config.activation, gate), up);
  return linear("bsf,fd->bsd", hidden, name + ".w_down", name + ".b_down");
}

Value BlockBuilder::linear(StringRef spec, Value x, StringRef weight,
                           StringRef bias) {
  Value y = einsum(spec, x, parameter(weight));
  if (Value vector = parameter(bias))
    y = arith::AddFOp::create(builder, y, broadcastTo(vector, y));
  return y;
}

RankedTensorType BlockBuilder::residualType() {
  return RankedTensorType::get({options.batch, options.seq, config.hidden},
                               element);
}

Value BlockBuilder::onResidualStream(Value x) {
  x.getDefiningOp()->setDiscardableAttr(
      nn::NNDialect::kDimsAttr,
      builder.getStrArrayAttr({"batch", "seq", "embed"}));
  return x;
}

Value BlockBuilder::parameter(StringRef name) {
  return values.lookup(prefix + name.str());
}

void BlockBuilder::locate(StringRef part) {
  builder.setLoc(at(prefix + part.str()));
}
