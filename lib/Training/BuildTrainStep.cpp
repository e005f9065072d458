//===- BuildTrainStep.cpp - From a forward function to a training step ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds `@train_step(parameters, state, batch)` of a forward function and
// takes its place. Gradients are of the sum of the tokens' losses and are not
// normalised before the optimizer, which scales them once by the true number of
// labels of the whole batch.
//
//===----------------------------------------------------------------------===//

#include "ForwardCopy.h"
#include "Optimizer.h"
#include "dialects/NN/NN.h"
#include "tessera/Training/Backward.h"
#include "tessera/Training/Passes.h"
#include "tessera/Training/TrainedFunction.h"

namespace tessera {
#define GEN_PASS_DEF_BUILDTRAINSTEPPASS
#include "tessera/Training/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using nn::NNDialect;

namespace {

/// A parameter, its place in the new function, and its state.
struct Parameter {
  BlockArgument forward;
  StringRef name;
  RankedTensorType type;
  ParameterSettings settings;
  /// Numbers of arguments of the new function; none: no master copy.
  unsigned argument = 0;
  std::optional<unsigned> master;
  SmallVector<unsigned, 2> moments;
  Value gradient;
};

class TrainStepBuilder {
public:
  TrainStepBuilder(const TrainedFunction &trained, dist::PlanAttr plan)
      : trained(trained), forward(trained.function), plan(plan),
        builder(forward.getContext()), loc(forward.getLoc()) {}

  LogicalResult run();

private:
  bool isNarrow() const { return plan.getPrecision() != dist::Precision::F32; }
  bool scalesLoss() const {
    return plan.getPrecision() == dist::Precision::F16;
  }
  Type getParameterElement(Type was) const;

  LogicalResult collectParameters();
  unsigned addArgument(Type type, ArrayRef<NamedAttribute> attrs, Location loc);
  void addState(StringRef name, RankedTensorType type, StringRef of,
                Attribute init, Location loc);
  void addArguments();
  void addBatchArguments(const BatchSplit &split);
  void createFunction();
  LogicalResult buildAccumulate(const BatchSplit &split);
  LogicalResult buildGradients(dist::YieldOp yield);
  void seedGradients(Block &body);
  void buildStep();
  void updateParameters(OptimizerBuilder &optimizer, Value gradScale,
                        Value skip);
  void updateLossScale(OptimizerBuilder &optimizer, Value skip);
  void finish();

  NamedAttribute named(StringRef name, Attribute value) {
    return builder.getNamedAttr(name, value);
  }
  Value getArgument(unsigned number) { return step.getArgument(number); }

  const TrainedFunction &trained;
  func::FuncOp forward;
  dist::PlanAttr plan;
  OpBuilder builder;
  Location loc;
  func::FuncOp step;
  std::vector<Parameter> parameters;
  /// Element type of state and of the optimizer's scalars.
  Type wide;
  unsigned stepCount = 0, lossScale = 0, goodSteps = 0, numDonated = 0;

  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  SmallVector<Location> locations;
  Value lossSum, tokens;
  /// By result number; parameters and state first.
  SmallVector<Value> results;
  SmallVector<StringRef> outputs;
};

} // namespace

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Type TrainStepBuilder::getParameterElement(Type was) const {
  if (!was.isF32() || !isNarrow())
    return was;
  return scalesLoss() ? Type(Float16Type::get(was.getContext()))
                      : Type(BFloat16Type::get(was.getContext()));
}

LogicalResult TrainStepBuilder::collectParameters() {
  wide = builder.getF32Type();
  for (BlockArgument argument : trained.parameters) {
    unsigned number = argument.getArgNumber();
    Parameter &parameter = parameters.emplace_back();
    parameter.forward = argument;
    parameter.name =
        forward.getArgAttrOfType<StringAttr>(number, NNDialect::kParamAttr)
            .getValue();
    auto type = cast<RankedTensorType>(argument.getType());
    Type element = getParameterElement(type.getElementType());
    bool fits = isNarrow() == (element.getIntOrFloatBitWidth() < 32) &&
                (!isNarrow() || scalesLoss() == element.isF16());
    if (!fits)
      return forward.emitError("parameter '")
             << parameter.name << "' expects precision "
             << stringifyPrecision(plan.getPrecision()) << " but got " << type;
    if (element.isF64())
      wide = element;
    parameter.type = type.clone(element);
    FailureOr<ParameterSettings> settings = getParameterSettings(
        forward, plan, parameter.name, type,
        forward.getArgAttrOfType<ArrayAttr>(number, NNDialect::kDimsAttr));
    if (failed(settings))
      return failure();
    parameter.settings = *settings;
  }
  return success();
}

unsigned TrainStepBuilder::addArgument(Type type,
                                       ArrayRef<NamedAttribute> attributes,
                                       Location loc) {
  types.push_back(type);
  attrs.push_back(builder.getDictionaryAttr(attributes));
  locations.push_back(loc);
  return types.size() - 1;
}

void TrainStepBuilder::addState(StringRef name, RankedTensorType type,
                                StringRef of, Attribute init, Location loc) {
  SmallVector<NamedAttribute> attributes{
      named(NNDialect::kStateAttr, builder.getStringAttr(name)),
      named(NNDialect::kInitAttr, init)};
  if (!of.empty())
    attributes.push_back(named(NNDialect::kOfAttr, builder.getStringAttr(of)));
  addArgument(type, attributes, loc);
}

/// Parameters, then the state of each, then that of the step.
void TrainStepBuilder::addArguments() {
  MLIRContext *context = builder.getContext();
  Attribute zeros =
      nn::InitAttr::get(context, nn::InitKind::Zeros, FloatAttr());
  for (Parameter &parameter : parameters) {
    DictionaryAttr all =
        forward.getArgAttrDict(parameter.forward.getArgNumber());
    parameter.argument =
        addArgument(parameter.type, all.getValue(), parameter.forward.getLoc());
  }
  SmallVector<StringRef> moments{"m", "v"};
  if (plan.getOptimizer() == dist::OptimizerKind::SGD) {
    moments = {"velocity"};
    if (plan.getMomentum().getValueAsDouble() == 0)
      moments.clear();
  }
  for (Parameter &parameter : parameters) {
    RankedTensorType type = parameter.type.clone(wide);
    auto add = [&](StringRef suffix, Attribute init) {
      addState((parameter.name + "." + suffix).str(), type, parameter.name,
               init, parameter.forward.getLoc());
      return static_cast<unsigned>(types.size() - 1);
    };
    if (isNarrow()) {
      Attribute init = forward.getArgAttr(parameter.forward.getArgNumber(),
                                          NNDialect::kInitAttr);
      parameter.master = add("master", init ? init : zeros);
    }
    for (StringRef moment : moments)
      parameter.moments.push_back(add(moment, zeros));
  }
  auto scalar = RankedTensorType::get({}, wide);
  stepCount = types.size();
  addState("step", scalar, "", zeros, loc);
  if (scalesLoss()) {
    lossScale = types.size();
    addState(
        "loss_scale", scalar, "",
        nn::InitAttr::get(context, nn::InitKind::Constant, plan.getLossScale()),
        loc);
    goodSteps = types.size();
    addState("good_steps", scalar, "", zeros, loc);
  }
  numDonated = types.size();
}

/// `attr`, an array, with another first entry.
static ArrayAttr prepend(Attribute first, ArrayAttr attr) {
  SmallVector<Attribute> all{first};
  all.append(attr.begin(), attr.end());
  return ArrayAttr::get(attr.getContext(), all);
}

/// The batch inputs with the micro-batches as a dimension before the others.
void TrainStepBuilder::addBatchArguments(const BatchSplit &split) {
  for (BlockArgument input : trained.inputs) {
    unsigned number = input.getArgNumber();
    NamedAttrList attributes(forward.getArgAttrDict(number));
    if (auto dims =
            forward.getArgAttrOfType<ArrayAttr>(number, NNDialect::kDimsAttr))
      attributes.set(NNDialect::kDimsAttr,
                     prepend(builder.getStringAttr("micro_batch"), dims));
    if (dist::ShardingAttr sharding = dist::getSharding(input)) {
      SmallVector<dist::DimShardingAttr> dims{dist::DimShardingAttr::get(
          builder.getContext(), {}, /*open=*/false, /*priority=*/-1)};
      llvm::append_range(dims, sharding.getDims());
      attributes.set(dist::DistDialect::kShardingAttr,
                     dist::ShardingAttr::get(
                         builder.getContext(), sharding.getMesh(), dims,
                         sharding.getReplicated(), sharding.getUnreduced(),
                         sharding.getReduction()));
    }
    auto part = cast<RankedTensorType>(split.getType(input));
    SmallVector<int64_t> shape{plan.getMicroBatches()};
    llvm::append_range(shape, part.getShape());
    addArgument(part.clone(shape), attributes.getAttrs(), input.getLoc());
  }
}

void TrainStepBuilder::createFunction() {
  builder.setInsertionPoint(forward);
  step = func::FuncOp::create(builder, loc, "train_step",
                              builder.getFunctionType(types, {}));
  Block *entry = step.addEntryBlock();
  step.setAllArgAttrs(attrs);
  for (auto [argument, location] : llvm::zip(entry->getArguments(), locations))
    argument.setLoc(location);
  builder.setInsertionPointToStart(entry);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Puts the gradients of all parameters behind the losses that are yielded.
LogicalResult TrainStepBuilder::buildGradients(dist::YieldOp yield) {
  OpBuilder inner(yield);
  ElementwiseBuilder b{inner, loc};
  Value loss = yield.getValues().front();
  Value seed = b.splat(loss, 1);
  if (scalesLoss())
    seed = b.cast(getArgument(lossScale), getElementTypeOrSelf(loss.getType()));
  SmallVector<Value> wrt, gradients;
  SmallVector<Type> elements;
  for (Parameter &parameter : parameters) {
    wrt.push_back(getArgument(parameter.argument));
    bool keeps = plan.getGrad() == dist::Precision::BF16;
    elements.push_back(keeps ? parameter.type.getElementType() : wide);
  }
  if (failed(buildBackward(inner, loss, seed, wrt, elements, gradients)))
    return failure();
  SmallVector<Value> yielded(yield.getValues());
  for (auto [parameter, gradient] : llvm::zip(parameters, gradients))
    if (gradient) {
      parameter.gradient = gradient;
      yielded.push_back(gradient);
    }
  yield->setOperands(yielded);
  return success();
}

/// Gradients on the residual stream are seeded as what they are gradients of.
void TrainStepBuilder::seedGradients(Block &body) {
  llvm::DenseMap<Attribute, Attribute> seeds;
  StringRef name = dist::DistDialect::kShardingsAttr;
  for (Operation &op : body)
    if (Attribute dims = op.getDiscardableAttr(NNDialect::kDimsAttr)) {
      Attribute seed = op.getDiscardableAttr(name);
      if (seed)
        seeds.try_emplace(dims, seed);
      else if (Attribute known = seeds.lookup(dims))
        op.setDiscardableAttr(name, known);
    }
}

LogicalResult TrainStepBuilder::buildAccumulate(const BatchSplit &split) {
  unsigned firstInput = types.size() - trained.inputs.size();
  SmallVector<Value> slices(step.getArguments().drop_front(firstInput));
  // Of one micro-batch there is no sum to keep in shards.
  bool reduceEach = plan.getZero() >= 2 && plan.getMicroBatches() > 1 &&
                    plan.getZero2Reduce() == dist::ReduceWhen::Each;
  auto make = [&](TypeRange types) {
    return dist::AccumulateOp::create(
        builder, loc, types, plan.getMicroBatches(), reduceEach, slices);
  };
  dist::AccumulateOp draft = make({});
  Block &body = draft.getBody().emplaceBlock();
  IRMapping mapping;
  for (BlockArgument input : trained.inputs)
    mapping.map(input, body.addArgument(split.getType(input), input.getLoc()));
  for (Parameter &parameter : parameters)
    mapping.map(parameter.forward, getArgument(parameter.argument));
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  if (failed(copyForward(inner, split, mapping)))
    return failure();
  SmallVector<Value> yielded;
  for (Value output : trained.getOutputs())
    yielded.push_back(mapping.lookup(output));
  auto yield = dist::YieldOp::create(inner, loc, yielded);
  if (failed(buildGradients(yield)))
    return failure();
  seedGradients(body);

  builder.setInsertionPoint(draft);
  dist::AccumulateOp final = make(yield.getOperandTypes());
  final.getBody().takeBody(draft.getBody());
  draft.erase();
  builder.setInsertionPointAfter(final);
  unsigned next = 0;
  lossSum = final.getResult(next++);
  if (trained.tokens)
    tokens = final.getResult(next++);
  for (Parameter &parameter : parameters)
    if (parameter.gradient)
      parameter.gradient = final.getResult(next++);
  return success();
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

void TrainStepBuilder::updateParameters(OptimizerBuilder &optimizer,
                                        Value gradScale, Value skip) {
  for (Parameter &parameter : parameters) {
    if (!parameter.gradient)
      continue; // Nothing depends on it: it stays.
    ParameterUpdate update;
    unsigned target = parameter.master.value_or(parameter.argument);
    update.param = getArgument(target);
    update.gradient = parameter.gradient;
    for (unsigned moment : parameter.moments)
      update.moments.push_back(getArgument(moment));
    update.settings = parameter.settings;
    SmallVector<Value> updated = optimizer.buildUpdate(update, gradScale, skip);
    results[target] = updated.front();
    for (auto [number, value] :
         llvm::zip(parameter.moments, llvm::drop_begin(updated)))
      results[number] = value;
    if (parameter.master)
      results[parameter.argument] = ElementwiseBuilder{builder, loc}.cast(
          updated.front(), parameter.type.getElementType());
  }
}

/// Halves the scale of the loss after an overflow, doubles it after as many
/// steps without one as the plan says.
void TrainStepBuilder::updateLossScale(OptimizerBuilder &optimizer,
                                       Value skip) {
  ElementwiseBuilder b{builder, loc};
  Value scale = getArgument(lossScale);
  Value zero = optimizer.scalar(0), one = optimizer.scalar(1);
  Value good = b.add(getArgument(goodSteps), one);
  Value isFull = b.compare(arith::CmpFPredicate::OGE, good,
                           optimizer.scalar(plan.getScaleWindow()));
  Value grown = b.select(isFull, b.mul(scale, optimizer.scalar(2)), scale);
  Value shrunk =
      b.make<arith::MaximumFOp>(one, b.mul(scale, optimizer.scalar(0.5)));
  results[lossScale] = b.select(skip, shrunk, grown);
  results[goodSteps] = b.select(skip, zero, b.select(isFull, zero, good));
}

void TrainStepBuilder::buildStep() {
  ElementwiseBuilder b{builder, loc};
  OptimizerBuilder optimizer(builder, loc, plan, wide);
  results.assign(step.getArguments().begin(),
                 step.getArguments().begin() + numDonated);
  Value one = optimizer.scalar(1);
  Value sum = b.cast(lossSum, wide);
  // A batch without labels has a loss and gradients of 0.
  Value count = tokens ? b.cast(tokens, wide) : one;
  Value divisor = b.make<arith::MaximumFOp>(count, one);
  Value loss = b.div(sum, divisor);
  if (scalesLoss())
    divisor = b.mul(divisor, getArgument(lossScale));

  SmallVector<Value> gradients;
  for (Parameter &parameter : parameters)
    if (parameter.gradient)
      gradients.push_back(parameter.gradient);
  Value norm = b.div(optimizer.buildNorm(gradients), divisor);
  Value gradScale = b.div(optimizer.buildClip(norm), divisor);
  Value next = b.add(getArgument(stepCount), one), skip;
  optimizer.buildSchedule(next);
  if (scalesLoss()) {
    // True for no number as well.
    Value infinity = optimizer.scalar(std::numeric_limits<double>::infinity());
    skip = b.compare(arith::CmpFPredicate::UGE, norm, infinity);
    norm = b.select(skip, infinity, norm);
    updateLossScale(optimizer, skip);
    next = b.select(skip, getArgument(stepCount), next);
  }
  results[stepCount] = next;
  updateParameters(optimizer, gradScale, skip);

  auto output = [&](StringRef name, Value value) {
    outputs.push_back(name);
    results.push_back(value);
  };
  output("loss", loss);
  output("grad_norm", norm);
  output("lr", optimizer.getLearningRate());
  output("tokens", count);
  if (skip)
    output("skipped",
           b.make<arith::UIToFPOp>(RankedTensorType::get({}, wide), skip));
}

void TrainStepBuilder::finish() {
  func::ReturnOp::create(builder, loc, results);
  step.setType(builder.getFunctionType(
      types, llvm::to_vector(TypeRange(ValueRange(results)))));
  SmallVector<DictionaryAttr> resultAttrs(results.size(),
                                          builder.getDictionaryAttr({}));
  for (auto [i, name] : llvm::enumerate(outputs))
    resultAttrs[numDonated + i] = builder.getDictionaryAttr(
        named(NNDialect::kOutputAttr, builder.getStringAttr(name)));
  step.setAllResultAttrs(resultAttrs);
  for (unsigned i = 0; i < numDonated; ++i) {
    NamedAttrList list(attrs[i]);
    list.set(dist::DistDialect::kDonateAttr, builder.getI64IntegerAttr(i));
    attrs[i] = list.getDictionary(builder.getContext());
  }
  step.setAllArgAttrs(attrs);
  forward.erase();
}

LogicalResult TrainStepBuilder::run() {
  BatchSplit split(forward, trained.getInputs(), trained.batchDims,
                   plan.getMicroBatches());
  if (failed(split.run(trained.getOutputs())) || failed(collectParameters()))
    return failure();
  addArguments();
  addBatchArguments(split);
  createFunction();
  if (failed(buildAccumulate(split))) {
    step.erase();
    return failure();
  }
  buildStep();
  finish();
  return success();
}

namespace {
struct BuildTrainStepPass
    : tessera::impl::BuildTrainStepPassBase<BuildTrainStepPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto plan =
        module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr);
    if (!plan)
      return;
    FailureOr<std::optional<TrainedFunction>> trained =
        findTrainedFunction(module);
    if (failed(trained) ||
        (*trained && failed(TrainStepBuilder(**trained, plan).run())))
      signalPassFailure();
  }
};
} // namespace
