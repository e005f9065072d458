//===- ModelBuilder.cpp - Builds the graph of a model's config ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds pre-norm decoder blocks on the residual stream [batch, seq, embed].
// listParameters alone decides which parameters exist: a bias is added if there
// is one. Shardings and parallelism are not set here.
//
// Letters of the einsums: b batch, s seq, d embed, g key/value heads, r query
// heads per key/value head, k head_dim, f ffn, v vocab, e experts.
//
//===----------------------------------------------------------------------===//

#include "tessera/Import/ModelBuilder.h"

#include "dialects/NN/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;
using namespace tessera;

namespace {

/// The label that the loss ignores, as in all trainers that read such configs.
constexpr int64_t kIgnoredLabel = -100;

Type getElementType(MLIRContext &context, ModelDType dtype) {
  switch (dtype) {
  case ModelDType::F32:
    return Float32Type::get(&context);
  case ModelDType::BF16:
    return BFloat16Type::get(&context);
  case ModelDType::F16:
    return Float16Type::get(&context);
  }
  llvm_unreachable("a ModelDType");
}

class ModelBuilder {
public:
  ModelBuilder(MLIRContext &context, const ModelConfig &config,
               const ModelOptions &options)
      : config(config), options(options),
        element(getElementType(context, options.dtype)),
        builder(UnknownLoc::get(&context), &context) {}

  OwningOpRef<ModuleOp> build() {
    OwningOpRef<ModuleOp> module =
        ModuleOp::create(at(config.name), StringRef(config.name));
    builder.setInsertionPointToStart(module->getBody());
    createFunction();

    Value x = embeddings();
    for (int64_t i = 0; i < config.layers; ++i)
      x = block(i, x);
    prefix.clear();
    x = norm("ln_f", x);
    locate("head");
    Value logits = einsum("bsd,vd->bsv", x,
                          parameter(config.tiedHead ? "wte" : "lm_head"));
    SmallVector<Value> results{logits};
    if (options.train)
      results = losses(logits);
    func::ReturnOp::create(builder, results);
    return module;
  }

private:
  //===--------------------------------------------------------------------===//
  // The function and its arguments
  //===--------------------------------------------------------------------===//

  void createFunction() {
    SmallVector<Type> types;
    SmallVector<DictionaryAttr> attrs;
    auto batchType = RankedTensorType::get({options.batch, options.seq},
                                           builder.getI32Type());
    auto addInput = [&](StringRef name, StringRef key, int64_t number) {
      types.push_back(batchType);
      attrs.push_back(builder.getDictionaryAttr(
          {named(nn::NNDialect::kInputAttr, builder.getStringAttr(name)),
           named(nn::NNDialect::kDimsAttr,
                 builder.getStrArrayAttr({"batch", "seq"})),
           named(key, builder.getI64IntegerAttr(number))}));
    };
    addInput("tokens", nn::NNDialect::kVocabAttr, config.vocab);
    if (options.train)
      addInput("labels", nn::NNDialect::kVocabAttr, config.vocab);
    if (options.eod)
      addInput("starts", nn::NNDialect::kEodAttr, *options.eod);
    size_t numInputs = types.size();
    std::vector<Parameter> parameters = listParameters(config);
    for (auto [parameter, source] :
         llvm::zip_equal(parameters, listSources(config, parameters))) {
      types.push_back(RankedTensorType::get(parameter.shape, element));
      attrs.push_back(builder.getDictionaryAttr(
          {named(nn::NNDialect::kParamAttr,
                 builder.getStringAttr(parameter.name)),
           named(nn::NNDialect::kDimsAttr,
                 builder.getStrArrayAttr(parameter.dims)),
           named(nn::NNDialect::kInitAttr, initOf(parameter)),
           named(nn::NNDialect::kSourceAttr, toAttr(source))}));
    }

    SmallVector<Type> resultTypes{RankedTensorType::get(
        {options.batch, options.seq, config.vocab}, element)};
    SmallVector<StringRef> outputs{"logits"};
    if (options.train) {
      outputs = {"loss", "loss_sum", "tokens"};
      resultTypes.assign(3, RankedTensorType::get({}, builder.getF32Type()));
    }
    locate("forward");
    auto function = func::FuncOp::create(
        builder, "forward", builder.getFunctionType(types, resultTypes));
    function.setAllArgAttrs(attrs);
    for (auto [i, name] : llvm::enumerate(outputs))
      function.setResultAttr(i, nn::NNDialect::kOutputAttr,
                             builder.getStringAttr(name));

    Block *entry = function.addEntryBlock();
    builder.setInsertionPointToStart(entry);
    tokens = entry->getArgument(0);
    labels = options.train ? Value(entry->getArgument(1)) : Value();
    if (options.eod)
      starts = entry->getArgument(numInputs - 1);
    auto arguments = entry->getArguments().drop_front(numInputs);
    for (auto [parameter, argument] : llvm::zip_equal(parameters, arguments)) {
      argument.setLoc(at(parameter.name));
      values[parameter.name] = argument;
    }
  }

  NamedAttribute named(StringRef name, Attribute value) {
    return builder.getNamedAttr(name, value);
  }

  Attribute initOf(const Parameter &parameter) {
    MLIRContext *context = builder.getContext();
    switch (parameter.init) {
    case ParameterInit::Zeros:
      return nn::InitAttr::get(context, nn::InitKind::Zeros, FloatAttr());
    case ParameterInit::Ones:
      return nn::InitAttr::get(context, nn::InitKind::Ones, FloatAttr());
    case ParameterInit::Normal:
      return nn::InitAttr::get(context, nn::InitKind::Normal,
                               builder.getF64FloatAttr(parameter.stddev));
    }
    llvm_unreachable("a ParameterInit");
  }

  Attribute toAttr(const ParameterSource &source) {
    return nn::SourceAttr::get(builder.getContext(), source.tensor,
                               source.shape, source.offset, source.strides);
  }

  /// Returns the parameter with this name in the current block; null if there
  /// is none.
  Value parameter(StringRef name) { return values.lookup(prefix + name.str()); }

  //===--------------------------------------------------------------------===//
  // The model
  //===--------------------------------------------------------------------===//

  Value embeddings() {
    locate("wte");
    Value x = nn::EmbeddingOp::create(builder, residualType(), parameter("wte"),
                                      tokens, Value(), IntegerAttr());
    if (options.train && config.paddingToken)
      x = keepRow(x, *config.paddingToken);
    if (config.scaledEmbeddings) {
      auto type = cast<RankedTensorType>(x.getType());
      Attribute root = builder.getFloatAttr(element, std::sqrt(config.hidden));
      x = arith::MulFOp::create(
          builder, x,
          arith::ConstantOp::create(
              builder, cast<TypedAttr>(DenseElementsAttr::get(type, root))));
    }
    if (Value table = parameter("wpe")) {
      locate("wpe");
      Value positions = nn::IotaOp::create(
          builder, RankedTensorType::get({options.seq}, builder.getI32Type()),
          Value(), nn::ZigzagAttr());
      if (starts)
        positions = arith::SubIOp::create(
            builder, broadcastTo(positions, starts), starts);
      SmallVector<int64_t> shape(
          cast<RankedTensorType>(positions.getType()).getShape());
      shape.push_back(config.hidden);
      Value rows = nn::EmbeddingOp::create(
          builder, RankedTensorType::get(shape, element), table, positions,
          Value(), IntegerAttr());
      x = arith::AddFOp::create(builder, x,
                                starts ? rows : broadcastTo(rows, x));
    }
    return onResidualStream(x);
  }

  /// Returns `rows` without the gradient of the rows of one token.
  Value keepRow(Value rows, int64_t token) {
    auto ids = cast<RankedTensorType>(tokens.getType());
    Value id = arith::ConstantOp::create(
        builder,
        cast<TypedAttr>(DenseElementsAttr::get(
            ids, builder.getIntegerAttr(ids.getElementType(), token))));
    Value isToken =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, tokens, id);
    auto type = cast<RankedTensorType>(rows.getType());
    isToken = nn::BroadcastOp::create(builder, type.clone(builder.getI1Type()),
                                      isToken, ArrayRef<int64_t>{0, 1});
    Value kept = nn::StopGradientOp::create(builder, type, rows);
    return arith::SelectOp::create(builder, isToken, kept, rows);
  }

  Value block(int64_t index, Value x) {
    prefix = "blocks." + std::to_string(index) + ".";
    Value attended = attention(index, norm("ln1", x));
    if (config.postNorms)
      attended = norm("ln1_post", attended);
    x = onResidualStream(arith::AddFOp::create(builder, x, attended));
    Value normal = norm("ln2", x);
    Value transformed =
        config.hasExperts(index) ? experts(normal) : mlp(normal);
    if (config.postNorms)
      transformed = norm("ln2_post", transformed);
    return onResidualStream(arith::AddFOp::create(builder, x, transformed));
  }

  Value attention(int64_t index, Value x) {
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
    auto mixed = nn::AttentionOp::create(
        builder, q.getType(), q, k, v, /*q_offset=*/Value(),
        /*k_offset=*/Value(), starts, /*causal=*/builder.getUnitAttr(), window,
        builder.getF64FloatAttr(scale), /*key_size=*/IntegerAttr(),
        nn::ZigzagAttr());
    return linear("bsgrk,grkd->bsd", mixed.getResult(), "attn.wo", "attn.bo");
  }

  Value mlp(Value x) {
    locate("mlp");
    if (!config.gatedMlp) {
      Value hidden = activate(linear("bsd,df->bsf", x, "mlp.w1", "mlp.b1"));
      return linear("bsf,fd->bsd", hidden, "mlp.w2", "mlp.b2");
    }
    // A gated linear unit (Shazeer 2020): down(activation(gate(x)) * up(x)).
    Value gate = linear("bsd,df->bsf", x, "mlp.w_gate", "mlp.b_gate");
    Value up = linear("bsd,df->bsf", x, "mlp.w_up", "mlp.b_up");
    Value hidden = arith::MulFOp::create(builder, activate(gate), up);
    return linear("bsf,fd->bsd", hidden, "mlp.w_down", "mlp.b_down");
  }

  /// Returns the sum of the outputs of each token's experts, weighted by gates.
  Value experts(Value x) {
    const MixtureOfExperts &mixture = *config.experts;
    locate("moe");
    // Choices compare probabilities in f32.
    Value logits =
        einsum("bsd,de->bse", x, parameter("moe.router"), builder.getF32Type());
    logits.getDefiningOp()->setDiscardableAttr(nn::NNDialect::kWideAttr,
                                               builder.getUnitAttr());
    Value scores = nn::SoftmaxOp::create(builder, logits, /*dim=*/2);
    auto choices = RankedTensorType::get(
        {options.batch, options.seq, mixture.expertsPerToken},
        builder.getI32Type());
    Value ids = nn::TopKOp::create(
        builder, choices, scores, mixture.expertsPerToken, /*smallest=*/false,
        /*chosen_groups=*/IntegerAttr(), /*groups=*/IntegerAttr(),
        /*group_score=*/nn::GroupScoreAttr());
    Value gates = nn::TakeAlongAxisOp::create(
        builder, choices.clone(builder.getF32Type()), scores, ids,
        /*offset=*/Value(), /*size=*/IntegerAttr());
    if (mixture.normalizedGates)
      gates = divideBySum(gates);
    return nn::ExpertsOp::create(builder, TypeRange{x.getType()}, x, ids, gates,
                                 parameter("moe.w_gate"), parameter("moe.w_up"),
                                 parameter("moe.w_down"), /*offset=*/Value(),
                                 nn::Activation::Silu, mixture.experts)
        .getResult();
  }

  /// Divides rows by their sums.
  Value divideBySum(Value rows) {
    auto type = cast<RankedTensorType>(rows.getType());
    int64_t last = type.getRank() - 1;
    Value sums = nn::ReduceOp::create(
        builder,
        RankedTensorType::get(type.getShape().drop_back(),
                              type.getElementType()),
        nn::ReduceKind::Sum, rows, ArrayRef<int64_t>{last});
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, last));
    return arith::DivFOp::create(
        builder, rows, nn::BroadcastOp::create(builder, type, sums, dims));
  }

  Value activate(Value x) {
    switch (config.activation) {
    case Activation::GeluErf:
      return nn::GeluOp::create(builder, x, nn::GeluKind::Erf);
    case Activation::GeluTanh:
      return nn::GeluOp::create(builder, x, nn::GeluKind::Tanh);
    case Activation::Silu:
      return nn::SiluOp::create(builder, x);
    }
    llvm_unreachable("an Activation");
  }

  /// Returns the mean loss, the sum of the tokens' losses, and the number of
  /// labels that are not ignored.
  SmallVector<Value> losses(Value logits) {
    locate("loss");
    auto labelsType = cast<RankedTensorType>(labels.getType());
    auto perToken = labelsType.clone(builder.getF32Type());
    auto constant = [&](int64_t number) -> Value {
      return arith::ConstantOp::create(
          builder,
          DenseElementsAttr::get(labelsType,
                                 builder.getI32IntegerAttr(number).getValue()));
    };
    Value labels = this->labels;
    if (options.eod) {
      Value isLast = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                           tokens, constant(*options.eod));
      labels = arith::SelectOp::create(builder, isLast, constant(kIgnoredLabel),
                                       labels);
    }
    auto each =
        nn::CrossEntropyOp::create(builder, perToken, logits, labels,
                                   kIgnoredLabel, /*classes=*/IntegerAttr());
    Value counts = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne,
                                         labels, constant(kIgnoredLabel));
    counts = arith::UIToFPOp::create(builder, perToken, counts);
    Value total = sum(each.getResult()), count = sum(counts);
    return {arith::DivFOp::create(builder, total, count), total, count};
  }

  //===--------------------------------------------------------------------===//
  // Parts
  //===--------------------------------------------------------------------===//

  Value norm(StringRef name, Value x) {
    locate(name);
    FloatAttr eps = builder.getF64FloatAttr(config.normEps);
    Value gamma = parameter((name + ".gamma").str());
    if (config.norm == NormKind::RMSPlusOne) {
      auto one = DenseElementsAttr::get(cast<RankedTensorType>(gamma.getType()),
                                        builder.getFloatAttr(element, 1.0));
      gamma = arith::AddFOp::create(builder, gamma,
                                    arith::ConstantOp::create(builder, one));
    }
    if (Value beta = parameter((name + ".beta").str()))
      return nn::LayerNormOp::create(builder, x.getType(), x, gamma, beta, eps)
          .getResult();
    return nn::RMSNormOp::create(builder, x.getType(), x, gamma, eps)
        .getResult();
  }

  /// Rotates by the position in the sequence, dimension 1.
  Value rope(Value x, const RotaryEmbedding &embedding) {
    nn::RopeScalingAttr scaling;
    if (const std::optional<RopeScaling> &s = embedding.scaling) {
      FloatAttr low, high;
      if (s->originalContext) {
        low = builder.getF64FloatAttr(s->lowFreqFactor);
        high = builder.getF64FloatAttr(s->highFreqFactor);
      }
      scaling = nn::RopeScalingAttr::get(builder.getContext(),
                                         builder.getF64FloatAttr(s->factor),
                                         low, high, s->originalContext);
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

  /// Builds a matmul with a weight, plus the bias if the model has one.
  Value linear(StringRef spec, Value x, StringRef weight, StringRef bias) {
    Value y = einsum(spec, x, parameter(weight));
    if (Value vector = parameter(bias))
      y = arith::AddFOp::create(builder, y, broadcastTo(vector, y));
    return y;
  }

  Value einsum(StringRef spec, Value lhs, Value rhs) {
    return einsum(spec, lhs, rhs, element);
  }
  Value einsum(StringRef spec, Value lhs, Value rhs, Type resultElement) {
    auto [operands, result] = spec.split("->");
    auto [lhsLetters, rhsLetters] = operands.split(',');
    auto lhsType = cast<RankedTensorType>(lhs.getType());
    auto rhsType = cast<RankedTensorType>(rhs.getType());
    SmallVector<int64_t> shape;
    for (char letter : result) {
      size_t inLhs = lhsLetters.find(letter);
      shape.push_back(inLhs != StringRef::npos
                          ? lhsType.getDimSize(inLhs)
                          : rhsType.getDimSize(rhsLetters.find(letter)));
    }
    return nn::EinsumOp::create(
        builder, RankedTensorType::get(shape, resultElement), spec, lhs, rhs);
  }

  /// Repeats `x` along the leading dimensions that only `like` has.
  Value broadcastTo(Value x, Value like) {
    auto type = cast<RankedTensorType>(like.getType());
    int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
    SmallVector<int64_t> dims =
        llvm::to_vector(llvm::seq(type.getRank() - rank, type.getRank()));
    return nn::BroadcastOp::create(builder, type, x, dims);
  }

  /// Returns the sum of all elements, as a scalar.
  Value sum(Value x) {
    auto type = cast<RankedTensorType>(x.getType());
    SmallVector<int64_t> dims =
        llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    return nn::ReduceOp::create(
        builder, RankedTensorType::get({}, type.getElementType()),
        nn::ReduceKind::Sum, x, dims);
  }

  RankedTensorType residualType() {
    return RankedTensorType::get({options.batch, options.seq, config.hidden},
                                 element);
  }

  /// Names the dimensions of a value of the residual stream, at which
  /// strategies start their shardings.
  Value onResidualStream(Value x) {
    x.getDefiningOp()->setDiscardableAttr(
        nn::NNDialect::kDimsAttr,
        builder.getStrArrayAttr({"batch", "seq", "embed"}));
    return x;
  }

  Location at(StringRef name) {
    return NameLoc::get(StringAttr::get(builder.getContext(), name));
  }
  /// Assigns the following ops to this part of the current block.
  void locate(StringRef part) { builder.setLoc(at(prefix + part.str())); }

  const ModelConfig &config;
  const ModelOptions &options;
  const Type element;
  ImplicitLocOpBuilder builder;
  Value tokens, labels, starts;
  /// "blocks.3." within block 3.
  std::string prefix;
  llvm::StringMap<Value> values;
};

} // namespace

ModelConfig tessera::applyOptions(ModelConfig config,
                                  const ModelOptions &options) {
  config.layers = options.layers.value_or(config.layers);
  return config;
}

llvm::Error tessera::checkOptions(const ModelConfig &config,
                                  const ModelOptions &options) {
  auto error = [&](const Twine &text) {
    return llvm::createStringError("model " + config.name + ": " + text);
  };
  std::pair<StringRef, int64_t> sizes[] = {
      {"batch", options.batch},
      {"seq", options.seq},
      {"layers", options.layers.value_or(config.layers)}};
  for (auto [name, size] : sizes)
    if (size < 1)
      return error(name + " expects a positive integer but got " + Twine(size));
  if (config.positionTable && options.seq > config.maxPositions)
    return error("seq expects at most n_positions = " +
                 Twine(config.maxPositions) + " but got " + Twine(options.seq));
  if (options.eod && (*options.eod < 0 || *options.eod >= config.vocab))
    return error("eod expects an id below " + Twine(config.vocab) +
                 ", the vocabulary, but got " + Twine(*options.eod));
  double largest =
      std::max({config.vocab, config.ffn, config.heads * config.headDim});
  if (double(options.batch) * double(options.seq) * largest > 0x1p62)
    return error("batch x seq = " + Twine(options.batch) + " x " +
                 Twine(options.seq) +
                 " expects tensors of at most 2^62 elements");
  return llvm::Error::success();
}

OwningOpRef<ModuleOp> tessera::buildModel(MLIRContext &context,
                                          const ModelConfig &config,
                                          const ModelOptions &options) {
  if (llvm::Error error = checkOptions(config, options)) {
    emitError(UnknownLoc::get(&context), llvm::toString(std::move(error)));
    return nullptr;
  }
  context.loadDialect<arith::ArithDialect, func::FuncDialect, nn::NNDialect>();
  ModelConfig effective = applyOptions(config, options);
  OwningOpRef<ModuleOp> module =
      ModelBuilder(context, effective, options).build();
  if (failed(verify(*module)))
    return nullptr;
  return module;
}
