//===- BuildTrainStep.cpp - From a forward function to a training step ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds `@train_step(parameters, state, batch, limits)` from a forward
// function and replaces it. Gradients belong to the sum of the tokens' losses
// and are not normalized before the optimizer, which scales them once by the
// true number of labels of the whole batch.
//
//===----------------------------------------------------------------------===//

#include "TrainStepBuilder.h"
#include "tessera/Training/Backward.h"
#include "tessera/Training/Passes.h"
#include "tessera/Training/TrainingPlan.h"

namespace tessera {
#define GEN_PASS_DEF_BUILDTRAINSTEPPASS
#include "tessera/Training/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using nn::NNDialect;

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Yields the gradients of all parameters after the losses.
LogicalResult TrainStepBuilder::buildGradients(dist::YieldOp yield) {
  OpBuilder inner(yield);
  ElementwiseBuilder b{inner, loc};
  Value loss = yield.getValues().front();
  Value seed = b.splat(loss, 1);
  if (scalesLoss())
    seed = b.cast(getArgument(lossScale), getElementTypeOrSelf(loss.getType()));
  SmallVector<Value> wrt, gradients;
  SmallVector<Type> elements;
  SmallVector<TrainedParameter *> trainable;
  for (TrainedParameter &parameter : parameters) {
    if (parameter.isFrozen)
      continue;
    trainable.push_back(&parameter);
    wrt.push_back(parameter.inUse);
    bool keeps = plan.gradDType == GradDType::BF16;
    elements.push_back(keeps ? parameter.type.getElementType() : wide);
  }
  if (failed(buildBackward(inner, loss, seed, wrt, elements, gradients)))
    return failure();
  SmallVector<Value> yielded(yield.getValues());
  for (auto [parameter, gradient] : llvm::zip_equal(trainable, gradients))
    if (gradient) {
      if (parameter->flat && reducesEach())
        gradient = parameter->flat->flatten(inner, loc, gradient);
      parameter->gradient = gradient;
      yielded.push_back(gradient);
    }
  yield->setOperands(yielded);
  return success();
}

/// Gives gradients on the residual stream the seeds of their values.
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

/// Reshapes a parameter with another stored shape for its first use, and again
/// for all later uses, like the gathers that will follow.
void TrainStepBuilder::separateUses(const TrainedParameter &parameter) {
  SmallVector<Operation *> users(parameter.inUse.getUsers());
  llvm::sort(users,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  users.erase(llvm::unique(users), users.end());
  Value value = parameter.source;
  for (auto [i, user] : llvm::enumerate(users)) {
    OpBuilder b(user);
    if (i < 2)
      value = parameter.flat->unflatten(b, loc, parameter.source);
    user->replaceUsesOfWith(parameter.inUse, value);
  }
  for (Operation *op = parameter.inUse.getDefiningOp();
       op && op->use_empty();) {
    Operation *before = op->getOperand(0).getDefiningOp();
    op->erase();
    op = before;
  }
}

/// Shards the sum over micro-batches at least like the parameter in use.
void TrainStepBuilder::takeGradient(TrainedParameter &parameter, Value sum) {
  parameter.gradient = sum;
  if (!parameter.flat)
    return;
  Sharding open = parameter.flat->getInUse();
  if (!reducesEach())
    open = dist::getSharding(parameter.forward).toSharding(mesh);
  for (DimSharding &dim : open.dims)
    dim.open = true;
  dist::setSharding(sum, toAttr(open));
  if (!reducesEach())
    parameter.gradient = parameter.flat->flatten(builder, loc, sum);
}

/// A single micro-batch has no sum to keep in shards.
bool TrainStepBuilder::reducesEach() const {
  return plan.zero >= 2 && plan.microBatches > 1 &&
         plan.scatter == Scatter::Each;
}

LogicalResult TrainStepBuilder::buildAccumulate(const BatchSplit &split) {
  SmallVector<Value> slices(
      step.getArguments().slice(numDonated, trained.inputs.size()));
  auto make = [&](TypeRange types) {
    return dist::AccumulateOp::create(builder, loc, types, plan.microBatches,
                                      reducesEach(), slices);
  };
  dist::AccumulateOp draft = make({});
  Block &body = draft.getBody().emplaceBlock();
  IRMapping mapping;
  for (BlockArgument input : trained.inputs)
    mapping.map(input, body.addArgument(split.getType(input), input.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  for (TrainedParameter &parameter : parameters) {
    parameter.source = parameter.inUse = getArgument(parameter.argument);
    if (isStoredFlat(parameter))
      parameter.inUse = parameter.flat->unflatten(inner, loc, parameter.inUse);
    mapping.map(parameter.forward, parameter.inUse);
  }
  if (failed(copyForward(inner, split, mapping)))
    return failure();
  SmallVector<Value> yielded;
  for (Value output : trained.getOutputs())
    yielded.push_back(mapping.lookup(output));
  auto yield = dist::YieldOp::create(inner, loc, yielded);
  if (plan.precision == Precision::FP8)
    quantizeMatmuls(draft, body);
  if (failed(buildGradients(yield)))
    return failure();
  seedGradients(body);
  for (TrainedParameter &parameter : parameters)
    if (isStoredFlat(parameter))
      separateUses(parameter);

  builder.setInsertionPoint(draft);
  dist::AccumulateOp final = make(yield.getOperandTypes());
  final.getBody().takeBody(draft.getBody());
  draft.erase();
  builder.setInsertionPointAfter(final);
  unsigned next = 0;
  lossSum = final.getResult(next++);
  if (trained.tokens)
    tokens = final.getResult(next++);
  if (trained.lossSum)
    lossSum = final.getResult(next++);
  if (trained.auxSum)
    auxSum = final.getResult(next++);
  for (auto [number, load] : trained.loads)
    llvm::find_if(parameters, [number = number](const auto &parameter) {
      return parameter.forward.getArgNumber() == number;
    })->load = final.getResult(next++);
  for (TrainedParameter &parameter : parameters)
    if (parameter.gradient)
      takeGradient(parameter, final.getResult(next++));
  return success();
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

void TrainStepBuilder::updateParameters(OptimizerBuilder &optimizer,
                                        Value gradScale, Value skip) {
  for (TrainedParameter &parameter : parameters) {
    if (!parameter.gradient)
      continue; // No loss depends on it: it stays.
    ParameterUpdate update;
    unsigned target = parameter.master.value_or(parameter.argument);
    // The parameter itself has another shape than its state.
    bool moves = parameter.flat && !isStoredFlat(parameter);
    update.param = getArgument(target);
    if (moves && !parameter.master)
      update.param = parameter.flat->flatten(builder, loc, update.param);
    update.gradient = parameter.gradient;
    for (unsigned moment : parameter.moments)
      update.moments.push_back(getArgument(moment));
    update.settings = parameter.settings;
    SmallVector<Value> updated = optimizer.buildUpdate(update, gradScale, skip);
    results[target] = updated.front();
    for (auto [number, value] :
         llvm::zip(parameter.moments, llvm::drop_begin(updated)))
      results[number] = value;
    Value &result = results[parameter.argument];
    if (parameter.master)
      result = ElementwiseBuilder{builder, loc}.cast(
          updated.front(), parameter.type.getElementType());
    if (moves)
      result = parameter.flat->unflatten(builder, loc, result);
  }
}

/// Adds the rate to the bias of experts with less than an even share of the
/// choices, and subtracts it from those of experts with more: a step of SGD
/// along the signs.
void TrainStepBuilder::updateBias(TrainedParameter &parameter,
                                  OptimizerBuilder &optimizer, Value skip) {
  ElementwiseBuilder b{builder, loc};
  // Integers: an even load has the sign 0.
  RankedTensorType type = parameter.type.clone(builder.getI64Type());
  Value counts = b.make<arith::FPToSIOp>(type, parameter.load);
  Value total =
      b.make<nn::ReduceOp>(RankedTensorType::get({}, type.getElementType()),
                           nn::ReduceKind::Sum, counts, ArrayRef<int64_t>{0});
  total = b.make<nn::BroadcastOp>(type, total, ArrayRef<int64_t>{});
  Value experts = b.splatOf(type, double(type.getDimSize(0)));
  Value mine = b.make<arith::MulIOp>(counts, experts);
  auto oneWhere = [&](arith::CmpIPredicate predicate) -> Value {
    Value isSo = b.make<arith::CmpIOp>(predicate, mine, total);
    return b.make<arith::UIToFPOp>(parameter.type, isSo);
  };
  Value sign = b.make<arith::SubFOp>(oneWhere(arith::CmpIPredicate::sgt),
                                     oneWhere(arith::CmpIPredicate::slt));
  if (isStoredFlat(parameter))
    sign = parameter.flat->flatten(builder, loc, sign);
  Value bias = getArgument(parameter.argument);
  FloatAttr none = builder.getF64FloatAttr(0);
  results[parameter.argument] =
      nn::SGDOp::create(builder, loc, bias.getType(), TypeRange(), bias, sign,
                        optimizer.scalar(1), optimizer.scalar(plan.balanceRate),
                        /*velocity=*/Value(), skip, none, none)
          ->getResult(0);
}

/// Returns whether the step changes nothing: true if the norm or the loss is
/// NaN or not below its limit.
Value TrainStepBuilder::buildSkip(Value norm, Value loss) {
  ElementwiseBuilder b{builder, loc};
  auto isOver = [&](Value value, unsigned limit) {
    return b.compare(arith::CmpFPredicate::UGE, value,
                     b.cast(getArgument(limit), wide));
  };
  Value ofNorm = isOver(norm, normLimit), ofLoss = isOver(loss, lossLimit);
  return b.make<arith::OrIOp>(ofNorm, ofLoss);
}

/// Halves the loss scale after an overflow; doubles it after the plan's number
/// of steps without one. Keeps it in other steps that change nothing. Returns
/// the norm, infinite after an overflow.
Value TrainStepBuilder::updateLossScale(OptimizerBuilder &optimizer, Value norm,
                                        Value skip) {
  ElementwiseBuilder b{builder, loc};
  double most = std::numeric_limits<double>::infinity();
  Value infinity = optimizer.scalar(most);
  // Also true for NaN.
  Value overflows = b.compare(arith::CmpFPredicate::UGE, norm, infinity);
  // No norm is below a limit of -infinity: the step is an evaluation.
  Value limit = b.cast(getArgument(normLimit), wide);
  Value mayChange =
      b.compare(arith::CmpFPredicate::OGT, limit, optimizer.scalar(-most));
  Value shrinks = b.make<arith::AndIOp>(overflows, mayChange);
  Value scale = getArgument(lossScale);
  Value zero = optimizer.scalar(0), one = optimizer.scalar(1);
  Value good = b.add(getArgument(goodSteps), one);
  Value isFull = b.compare(arith::CmpFPredicate::OGE, good,
                           optimizer.scalar(plan.scaleWindow));
  Value grown = b.select(isFull, b.mul(scale, optimizer.scalar(2)), scale);
  Value shrunk =
      b.make<arith::MaximumFOp>(one, b.mul(scale, optimizer.scalar(0.5)));
  auto update = [&](unsigned number, Value afterOverflow, Value otherwise) {
    Value kept = b.select(skip, getArgument(number), otherwise);
    results[number] = b.select(shrinks, afterOverflow, kept);
  };
  update(lossScale, shrunk, grown);
  update(goodSteps, zero, b.select(isFull, zero, good));
  return b.select(overflows, infinity, norm);
}

void TrainStepBuilder::buildStep() {
  ElementwiseBuilder b{builder, loc};
  OptimizerBuilder optimizer(builder, loc, plan, wide);
  results.assign(step.getArguments().begin(),
                 step.getArguments().begin() + numDonated);
  Value one = optimizer.scalar(1);
  Value sum = b.cast(lossSum, wide);
  // A batch without labels has zero loss and gradients.
  Value count = tokens ? b.cast(tokens, wide) : one;
  Value divisor = b.make<arith::MaximumFOp>(count, one);
  Value loss = b.div(sum, divisor), aux;
  if (auxSum)
    aux = b.div(b.cast(auxSum, wide), divisor);
  if (scalesLoss())
    divisor = b.mul(divisor, getArgument(lossScale));

  SmallVector<Value> gradients;
  for (TrainedParameter &parameter : parameters)
    if (parameter.gradient)
      gradients.push_back(parameter.gradient);
  Value norm = b.div(optimizer.buildNorm(gradients), divisor);
  Value gradScale = b.div(optimizer.buildClip(norm), divisor);
  Value steps = getArgument(stepCount);
  optimizer.buildSchedule(b.add(steps, one));
  Value skip = buildSkip(norm, loss);
  if (scalesLoss())
    norm = updateLossScale(optimizer, norm, skip);
  Value skipped =
      b.make<arith::UIToFPOp>(RankedTensorType::get({}, wide), skip);
  // Not the schedule's sum, so that the schedule does not wait for the norm.
  results[stepCount] = b.add(steps, b.sub(one, skipped));
  updateParameters(optimizer, gradScale, skip);
  for (TrainedParameter &parameter : parameters)
    if (parameter.load && plan.balanceRate != 0)
      updateBias(parameter, optimizer, skip);

  auto output = [&](StringRef name, Value value) {
    outputs.push_back(name);
    results.push_back(value);
  };
  output("loss", loss);
  output("grad_norm", norm);
  output("lr", optimizer.getLearningRate());
  output("num_labels", count);
  if (aux)
    output("aux_loss", aux);
  output("skipped", skipped);
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
                   plan.microBatches);
  if (failed(split.run(trained.getOutputs())) || failed(collectParameters()))
    return failure();
  findLayouts();
  addArguments();
  addBatchArguments(split);
  addLimits();
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
    if (!plan || plan.getPlan().forward)
      return;
    if (llvm::Error error = checkCompiled(plan.getPlan())) {
      module.emitError(llvm::toString(std::move(error)));
      return signalPassFailure();
    }
    FailureOr<std::optional<TrainedFunction>> trained =
        findTrainedFunction(module);
    bool balances = plan.getPlan().balanceRate != 0;
    if (succeeded(trained) && *trained && balances &&
        (*trained)->loads.empty()) {
      module.emitError("balance-rate: expects a router with a bias, as models "
                       "of deepseek_v3 have, but got none");
      return signalPassFailure();
    }
    if (failed(trained) ||
        (*trained && failed(TrainStepBuilder(**trained, plan.getPlan()).run())))
      signalPassFailure();
  }
};
} // namespace
