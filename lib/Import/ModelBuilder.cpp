//===- ModelBuilder.cpp - Builds the graph of a model's config ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the function, its arguments, embeddings, the head and the losses.
// BlockBuilder.h builds the blocks between. Shardings and parallelism are not
// set here.
//
//===----------------------------------------------------------------------===//

#include "tessera/Import/ModelBuilder.h"
#include "BlockBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
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

class ModelBuilder : BlockBuilder {
public:
  ModelBuilder(MLIRContext &context, const ModelConfig &config,
               const ModelOptions &options)
      : BlockBuilder(context, config, options,
                     getElementType(context, options.dtype)) {}

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
    double factor = config.embeddingFactor;
    if (config.scaledEmbeddings)
      factor *= std::sqrt(config.hidden);
    return factor == 1.0 ? x : scaleBy(x, factor);
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
    Value logits =
        einsum("bsd,vd->bsv", x, values[config.tiedHead ? "wte" : "lm_head"]);
    if (config.logitsFactor != 1.0)
      logits = scaleBy(logits, config.logitsFactor);
    return config.logitsCap == 0.0 ? logits : limit(logits, config.logitsCap);
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

  Value tokens;
  /// The labels, then those of each prediction module.
  SmallVector<Value> labels;
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
