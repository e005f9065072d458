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
// heads per key/value head, k head_dim, f ffn, v vocab, e experts, q and c the
// latents of queries and of keys and values.
//
//===----------------------------------------------------------------------===//

#include "tessera/Import/ModelBuilder.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

namespace {

/// The number that DeepSeek-V3 adds to a sum of sigmoids before it divides by
/// it.
constexpr double kSigmoidSumEps = 1e-20;

/// The `eps` of norms of latents, which no config gives.
constexpr double kLatentNormEps = 1e-6;

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
    for (int64_t i = 0; i < config.layers; ++i) {
      prefix = "blocks." + std::to_string(i) + ".";
      x = block(i, x);
    }
    prefix.clear();
    x = norm("ln_f", x);
    SmallVector<Value> results{head(x)};
    if (options.train)
      results = losses(results.front(), x);
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
    using Numbers = SmallVector<std::pair<StringRef, int64_t>, 2>;
    auto addInput = [&](const std::string &name, const Numbers &numbers) {
      SmallVector<NamedAttribute> all{
          named(nn::NNDialect::kInputAttr, builder.getStringAttr(name)),
          named(nn::NNDialect::kDimsAttr,
                builder.getStrArrayAttr({"batch", "seq"}))};
      for (auto [key, number] : numbers)
        all.push_back(named(key, builder.getI64IntegerAttr(number)));
      types.push_back(batchType);
      attrs.push_back(builder.getDictionaryAttr(all));
    };
    auto vocab = std::pair(nn::NNDialect::kVocabAttr, config.vocab);
    addInput("tokens", {vocab});
    int64_t numLabels = options.train ? 1 + config.predictionModules : 0;
    if (options.train)
      addInput("labels", {vocab});
    for (int64_t i = 1; i < numLabels; ++i)
      addInput("labels." + std::to_string(i),
               {vocab, {nn::NNDialect::kLabelShiftAttr, 1 + i}});
    if (options.eod)
      addInput("starts", {{nn::NNDialect::kEodAttr, *options.eod}});
    size_t numInputs = types.size();
    std::vector<Parameter> parameters = listParameters(config);
    for (auto [parameter, source] :
         llvm::zip_equal(parameters, listSources(config, parameters))) {
      types.push_back(RankedTensorType::get(
          parameter.shape,
          parameter.isChoiceBias ? Type(builder.getF32Type()) : element));
      attrs.push_back(attributesOf(parameter, source));
    }

    SmallVector<Type> resultTypes{RankedTensorType::get(
        {options.batch, options.seq, config.vocab}, element)};
    SmallVector<std::string> outputs{"logits"};
    if (options.train) {
      outputs = {"loss", "loss_sum", "tokens"};
      if (options.hasRouterLosses())
        outputs.push_back("aux_sum");
      if (options.hasObjective())
        outputs.push_back("objective_sum");
      resultTypes.assign(outputs.size(),
                         RankedTensorType::get({}, builder.getF32Type()));
      for (const Parameter &parameter : parameters)
        if (parameter.isChoiceBias) {
          outputs.push_back(parameter.name + nn::NNDialect::kLoadSuffix.str());
          resultTypes.push_back(
              RankedTensorType::get(parameter.shape, builder.getF32Type()));
        }
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
    for (int64_t i = 0; i < numLabels; ++i)
      labels.push_back(entry->getArgument(1 + i));
    if (options.eod)
      starts = entry->getArgument(numInputs - 1);
    auto arguments = entry->getArguments().drop_front(numInputs);
    for (auto [parameter, argument] : llvm::zip_equal(parameters, arguments)) {
      argument.setLoc(at(parameter.name));
      values[parameter.name] = argument;
    }
  }

  DictionaryAttr attributesOf(const Parameter &parameter,
                              const ParameterSource &source) {
    SmallVector<NamedAttribute> list{
        named(nn::NNDialect::kParamAttr, builder.getStringAttr(parameter.name)),
        named(nn::NNDialect::kDimsAttr,
              builder.getStrArrayAttr(parameter.dims)),
        named(nn::NNDialect::kInitAttr, initOf(parameter)),
        named(nn::NNDialect::kSourceAttr, toAttr(source))};
    if (parameter.isChoiceBias) {
      list.push_back(named(nn::NNDialect::kWideAttr, builder.getUnitAttr()));
      list.push_back(named(nn::NNDialect::kTrainedAttr,
                           builder.getStringAttr(nn::NNDialect::kBalanceRule)));
    }
    return builder.getDictionaryAttr(list);
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
    Value x = lookUp(tokens);
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

  /// Returns the rows of the embedding table of ids.
  Value lookUp(Value ids) {
    Value x = nn::EmbeddingOp::create(builder, residualType(), values["wte"],
                                      ids, Value(), IntegerAttr());
    if (options.train && config.paddingToken)
      x = keepRow(x, ids, *config.paddingToken);
    return config.scaledEmbeddings ? scaleBy(x, std::sqrt(config.hidden)) : x;
  }

  /// Returns `rows` without the gradient of the rows of one token.
  Value keepRow(Value rows, Value ids, int64_t token) {
    Value id = idOf(token);
    Value isToken =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, ids, id);
    auto type = cast<RankedTensorType>(rows.getType());
    isToken = nn::BroadcastOp::create(builder, type.clone(builder.getI1Type()),
                                      isToken, ArrayRef<int64_t>{0, 1});
    Value kept = nn::StopGradientOp::create(builder, type, rows);
    return arith::SelectOp::create(builder, isToken, kept, rows);
  }

  /// Returns the logits of a normalized value of the residual stream.
  Value head(Value x) {
    locate("head");
    return einsum("bsd,vd->bsv", x,
                  values[config.tiedHead ? "wte" : "lm_head"]);
  }

  /// Builds the block that `prefix` names, which is of the kind of a layer.
  Value block(int64_t index, Value x) {
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

  Value attend(Value q, Value k, Value v, IntegerAttr window, double scale) {
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

  /// Keys of a head are a matmul of the latent, and elements with positions
  /// that are the same for all heads.
  Value latentAttention(const LatentAttention &latent, Value x) {
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

  /// Rotates the last `width` elements by the position in the sequence,
  /// neighbours as a pair: the frequencies of the others are 0.
  Value rotateLast(Value x, int64_t width) {
    int64_t all = cast<RankedTensorType>(x.getType()).getShape().back();
    SmallVector<double> frequencies((all - width) / 2, 0.0);
    llvm::append_range(frequencies, config.rope.listFrequencies(width));
    return nn::RopeOp::create(
        builder, x.getType(), x, /*offset=*/Value(),
        builder.getI64IntegerAttr(1), /*theta=*/FloatAttr(),
        /*scaling=*/nn::RopeScalingAttr(),
        builder.getDenseF64ArrayAttr(frequencies), /*width=*/IntegerAttr(),
        /*interleaved=*/builder.getUnitAttr(), /*inverse=*/UnitAttr(),
        nn::ZigzagAttr());
  }

  Value mlp(Value x) {
    locate("mlp");
    if (!config.gatedMlp) {
      Value hidden = activate(linear("bsd,df->bsf", x, "mlp.w1", "mlp.b1"));
      return linear("bsf,fd->bsd", hidden, "mlp.w2", "mlp.b2");
    }
    return gatedMlp("mlp", x);
  }

  /// Builds a gated linear unit (Shazeer 2020): down(activation(gate(x)) *
  /// up(x)).
  Value gatedMlp(const std::string &name, Value x) {
    Value gate = linear("bsd,df->bsf", x, name + ".w_gate", name + ".b_gate");
    Value up = linear("bsd,df->bsf", x, name + ".w_up", name + ".b_up");
    Value hidden = arith::MulFOp::create(builder, activate(gate), up);
    return linear("bsf,fd->bsd", hidden, name + ".w_down", name + ".b_down");
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
    Value scores = mixture.scores == ScoreKind::Sigmoid
                       ? sigmoid(logits)
                       : nn::SoftmaxOp::create(builder, logits, /*dim=*/2);
    Value ids = choose(mixture, scores);
    Value gates = nn::TakeAlongAxisOp::create(
        builder,
        cast<RankedTensorType>(ids.getType()).clone(builder.getF32Type()),
        scores, ids, /*offset=*/Value(), /*size=*/IntegerAttr());
    if (options.train && options.auxLoss != 0.0)
      addRouterLoss(balanceLoss(mixture, scores, ids));
    if (options.train && options.zLoss != 0.0)
      addRouterLoss(zLoss(logits));
    if (options.train && mixture.choiceBias)
      loads.push_back(nn::ReduceOp::create(
          builder,
          RankedTensorType::get({mixture.experts}, builder.getF32Type()),
          nn::ReduceKind::Sum, countChoices(mixture, ids),
          ArrayRef<int64_t>{0}));
    if (options.capacity)
      ids = nn::ExpertCapacityOp::create(builder, ids.getType(), ids, gates,
                                         capacityOf(mixture), mixture.experts,
                                         nn::ZigzagAttr());
    if (mixture.normalizedGates)
      gates = divideBySum(
          gates, mixture.scores == ScoreKind::Sigmoid ? kSigmoidSumEps : 0.0);
    if (mixture.gateFactor != 1.0)
      gates = scaleBy(gates, mixture.gateFactor);
    Value y =
        nn::ExpertsOp::create(builder, TypeRange{x.getType()}, x, ids, gates,
                              parameter("moe.w_gate"), parameter("moe.w_up"),
                              parameter("moe.w_down"), /*offset=*/Value(),
                              nn::Activation::Silu, mixture.experts)
            .getResult();
    return mixture.sharedExperts
               ? arith::AddFOp::create(builder, y, gatedMlp("moe.shared", x))
               : y;
  }

  /// The choices that an expert takes of a sequence.
  int64_t capacityOf(const MixtureOfExperts &mixture) const {
    double even = double(mixture.expertsPerToken) * double(options.seq) /
                  double(mixture.experts);
    return static_cast<int64_t>(std::ceil(*options.capacity * even));
  }

  void addRouterLoss(Value loss) {
    routerLosses = routerLosses
                       ? arith::AddFOp::create(builder, routerLosses, loss)
                       : loss;
  }

  /// Returns the number of each expert's choices of each sequence, in f32.
  Value countChoices(const MixtureOfExperts &mixture, Value ids) {
    auto typeOf = [&](ArrayRef<int64_t> shape) {
      return RankedTensorType::get(shape, builder.getF32Type());
    };
    Value one = splatOf(typeOf({options.batch, options.seq, 1}), 1.0);
    Value chosen = nn::ExpertRowsOp::create(
        builder, typeOf({options.batch, options.seq, mixture.experts, 1}), one,
        ids, /*offset=*/Value());
    return nn::ReduceOp::create(
        builder, typeOf({options.batch, mixture.experts}), nn::ReduceKind::Sum,
        chosen, ArrayRef<int64_t>{1, 3});
  }

  /// Builds the balance loss of all sequences: of each the product of an
  /// expert's choices and its summed probability, summed over experts.
  Value balanceLoss(const MixtureOfExperts &mixture, Value scores, Value ids) {
    Value probabilities = mixture.scores == ScoreKind::Sigmoid
                              ? divideBySum(scores, kSigmoidSumEps)
                              : scores;
    Value counts = countChoices(mixture, ids);
    Value sums =
        nn::ReduceOp::create(builder, counts.getType(), nn::ReduceKind::Sum,
                             probabilities, ArrayRef<int64_t>{1});
    double choices = double(mixture.expertsPerToken) * double(options.seq);
    return scaleBy(sum(arith::MulFOp::create(builder, counts, sums)),
                   options.auxLoss * double(mixture.experts) / choices);
  }

  /// Builds the z loss of all tokens.
  Value zLoss(Value logits) {
    auto type = cast<RankedTensorType>(logits.getType());
    auto rows = RankedTensorType::get(type.getShape().drop_back(),
                                      type.getElementType());
    constexpr int64_t leading[] = {0, 1}, last[] = {2};
    Value largest =
        nn::ReduceOp::create(builder, rows, nn::ReduceKind::Max, logits, last);
    // The gradient of the logarithm does not depend on the shift.
    largest = nn::StopGradientOp::create(builder, rows, largest);
    Value shifted = arith::SubFOp::create(
        builder, logits,
        nn::BroadcastOp::create(builder, type, largest, leading));
    Value total =
        nn::ReduceOp::create(builder, rows, nn::ReduceKind::Sum,
                             math::ExpOp::create(builder, shifted), last);
    Value logarithm = arith::AddFOp::create(
        builder, math::LogOp::create(builder, total), largest);
    return scaleBy(sum(arith::MulFOp::create(builder, logarithm, logarithm)),
                   options.zLoss);
  }

  /// Returns the ids of each token's experts.
  Value choose(const MixtureOfExperts &mixture, Value scores) {
    if (Value bias = parameter("moe.bias"))
      scores =
          arith::AddFOp::create(builder, scores, broadcastTo(bias, scores));
    IntegerAttr chosen, groups;
    nn::GroupScoreAttr score;
    if (mixture.groups) {
      chosen = builder.getI64IntegerAttr(mixture.chosenGroups);
      groups = builder.getI64IntegerAttr(mixture.groups);
      score = nn::GroupScoreAttr::get(
          builder.getContext(), mixture.groupScore == ExpertGroupScore::Sum2
                                    ? nn::GroupScore::Sum2
                                    : nn::GroupScore::Max);
    }
    auto type = RankedTensorType::get(
        {options.batch, options.seq, mixture.expertsPerToken},
        builder.getI32Type());
    return nn::TopKOp::create(builder, type, scores, mixture.expertsPerToken,
                              /*smallest=*/false, chosen, groups, score);
  }

  /// Builds e / (1 + e) for x below 0, else 1 / (1 + e), with e = exp(-|x|):
  /// precise also for results near 0, and with a finite gradient everywhere.
  Value sigmoid(Value x) {
    Value zero = splat(x, 0.0), one = splat(x, 1.0);
    Value isBelow =
        arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT, x, zero);
    Value minus = arith::SelectOp::create(builder, isBelow, x,
                                          arith::NegFOp::create(builder, x));
    Value e = math::ExpOp::create(builder, minus);
    return arith::DivFOp::create(
        builder, arith::SelectOp::create(builder, isBelow, e, one),
        arith::AddFOp::create(builder, one, e));
  }

  /// Divides rows by their sums, which are `eps` larger.
  Value divideBySum(Value rows, double eps) {
    auto type = cast<RankedTensorType>(rows.getType());
    int64_t last = type.getRank() - 1;
    Value sums = nn::ReduceOp::create(
        builder,
        RankedTensorType::get(type.getShape().drop_back(),
                              type.getElementType()),
        nn::ReduceKind::Sum, rows, ArrayRef<int64_t>{last});
    if (eps != 0.0)
      sums = arith::AddFOp::create(builder, sums, splat(sums, eps));
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
  /// labels that are not ignored; then the sum of the routers' losses, and all
  /// that training minimizes, where these are more; then the loads of experts.
  SmallVector<Value> losses(Value logits, Value x) {
    locate("loss");
    Value labels = labelsOf(0);
    auto perToken =
        cast<RankedTensorType>(labels.getType()).clone(builder.getF32Type());
    Value each = lossOfTokens(logits, labels);
    Value counts = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne,
                                         labels, idOf(kIgnoredLabel));
    counts = arith::UIToFPOp::create(builder, perToken, counts);
    Value total = sum(each), count = sum(counts), objective = total;
    SmallVector<Value> results{arith::DivFOp::create(builder, total, count),
                               total, count};
    for (int64_t i = 0; i < config.predictionModules; ++i)
      objective =
          arith::AddFOp::create(builder, objective, predictionLoss(i, x));
    if (options.hasRouterLosses()) {
      results.push_back(routerLosses);
      objective = arith::AddFOp::create(builder, objective, routerLosses);
    }
    if (options.hasObjective())
      results.push_back(objective);
    llvm::append_range(results, loads);
    return results;
  }

  /// Returns the labels of the main model (0) or of a prediction module,
  /// ignored where the label is in another document.
  Value labelsOf(int64_t number) {
    Value result = labels[number];
    for (int64_t i = 0; options.eod && i <= number; ++i) {
      Value isLast = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                           i == 0 ? tokens : labels[i - 1],
                                           idOf(*options.eod));
      Value ignored = idOf(kIgnoredLabel);
      result = arith::SelectOp::create(builder, isLast, ignored, result);
    }
    return result;
  }

  Value lossOfTokens(Value logits, Value labels) {
    auto type = cast<RankedTensorType>(labels.getType());
    return nn::CrossEntropyOp::create(builder, type.clone(builder.getF32Type()),
                                      logits, labels, kIgnoredLabel,
                                      /*classes=*/IntegerAttr())
        .getResult();
  }

  /// Builds a prediction module (DeepSeek-AI 2024, section 2.2): a block on the
  /// embedding of the next token and the normalized value `x` before it, which
  /// becomes the module's own. Returns its weighted loss.
  Value predictionLoss(int64_t module, Value &x) {
    const std::string name = "mtp." + std::to_string(module) + ".";
    prefix = name;
    locate("wte");
    // An ignored label is no row of the table.
    Value next = arith::MaxSIOp::create(builder, labels[module], idOf(0));
    Value embedded = norm("norm_e", lookUp(next));
    Value previous = norm("norm_h", x);
    locate("proj");
    Value pair = tensor::ConcatOp::create(builder, /*dim=*/2,
                                          ValueRange{embedded, previous});
    x = onResidualStream(einsum("bsp,pd->bsd", pair, parameter("proj")));
    prefix = name + "block.";
    x = block(config.predictionLayer + module, x);
    prefix = name;
    x = norm("norm", x);
    Value loss = sum(lossOfTokens(head(x), labelsOf(module + 1)));
    return scaleBy(loss,
                   options.predictionWeight / double(config.predictionModules));
  }

  /// Returns an id for each token.
  Value idOf(int64_t number) {
    return arith::ConstantOp::create(
        builder,
        DenseElementsAttr::get(cast<RankedTensorType>(tokens.getType()),
                               builder.getI32IntegerAttr(number).getValue()));
  }

  //===--------------------------------------------------------------------===//
  // Parts
  //===--------------------------------------------------------------------===//

  Value latentNorm(StringRef name, Value x) {
    return norm(name, x, kLatentNormEps);
  }

  Value norm(StringRef name, Value x) { return norm(name, x, config.normEps); }
  Value norm(StringRef name, Value x, double epsilon) {
    locate(name);
    FloatAttr eps = builder.getF64FloatAttr(epsilon);
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

  /// Returns a number in each element of a tensor like `like`.
  Value splat(Value like, double number) {
    return splatOf(cast<RankedTensorType>(like.getType()), number);
  }
  Value splatOf(RankedTensorType type, double number) {
    Attribute value = builder.getFloatAttr(type.getElementType(), number);
    return arith::ConstantOp::create(
        builder, cast<TypedAttr>(DenseElementsAttr::get(type, value)));
  }

  Value scaleBy(Value x, double factor) {
    return arith::MulFOp::create(builder, x, splat(x, factor));
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
  Value tokens, starts;
  /// The labels, then those of each prediction module.
  SmallVector<Value> labels;
  /// The sum of the losses of the routers so far; null: none.
  Value routerLosses;
  /// The choices of each expert, of each router with a bias.
  SmallVector<Value> loads;
  /// "blocks.3." within block 3.
  std::string prefix;
  llvm::StringMap<Value> values;
};

} // namespace

OwningOpRef<ModuleOp> tessera::buildModel(MLIRContext &context,
                                          const ModelConfig &config,
                                          const ModelOptions &options) {
  if (llvm::Error error = checkOptions(config, options)) {
    emitError(UnknownLoc::get(&context), llvm::toString(std::move(error)));
    return nullptr;
  }
  context.loadDialect<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                      nn::NNDialect, tensor::TensorDialect>();
  ModelConfig effective = applyOptions(config, options);
  OwningOpRef<ModuleOp> module =
      ModelBuilder(context, effective, options).build();
  if (failed(verify(*module)))
    return nullptr;
  return module;
}
