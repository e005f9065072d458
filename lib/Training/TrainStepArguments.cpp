//===- TrainStepArguments.cpp - Parameters, state and batch inputs --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MicroBatchAttributes.h"
#include "StateSharding.h"
#include "TrainStepBuilder.h"
#include "tessera/Support/Spelling.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace tessera;
using nn::NNDialect;

Type TrainStepBuilder::getParameterElement(Type was) const {
  if (!was.isF32() || !isNarrow())
    return was;
  return scalesLoss() ? Type(Float16Type::get(was.getContext()))
                      : Type(BFloat16Type::get(was.getContext()));
}

/// Fails with an error if a group's pattern matches none of the names: it would
/// have no effect. Invalid patterns were reported before.
static LogicalResult checkGroups(Operation *op, const Plan &plan,
                                 ArrayRef<StringRef> names) {
  for (const ParameterGroup &group : plan.groups) {
    llvm::Expected<llvm::GlobPattern> pattern =
        llvm::GlobPattern::create(group.pattern);
    if (!pattern) {
      llvm::consumeError(pattern.takeError());
      continue;
    }
    if (llvm::none_of(names,
                      [&](StringRef name) { return pattern->match(name); }))
      return op->emitError("expects a parameter that the group '")
             << group.pattern << "' matches but got '" << names.front() << "'"
             << (names.size() > 1
                     ? " and " + std::to_string(names.size() - 1) + " others"
                     : "")
             << didYouMean(group.pattern, names);
  }
  return success();
}

LogicalResult TrainStepBuilder::collectParameters() {
  wide = builder.getF32Type();
  for (BlockArgument argument : trained.parameters) {
    unsigned number = argument.getArgNumber();
    TrainedParameter &parameter = parameters.emplace_back();
    parameter.forward = argument;
    parameter.name =
        forward.getArgAttrOfType<StringAttr>(number, NNDialect::kParamAttr)
            .getValue();
    auto type = cast<RankedTensorType>(argument.getType());
    bool isWide = bool(forward.getArgAttr(number, NNDialect::kWideAttr));
    Type element = isWide ? type.getElementType()
                          : getParameterElement(type.getElementType());
    bool fits =
        isWide || (isNarrow() == (element.getIntOrFloatBitWidth() < 32) &&
                   (!isNarrow() || scalesLoss() == element.isF16()));
    if (!fits)
      return forward.emitError("parameter '")
             << parameter.name << "' expects precision "
             << stringify(plan.precision) << " but got " << type;
    if (element.isF64())
      wide = element;
    parameter.type = type.clone(element);
    FailureOr<ParameterSettings> settings =
        getParameterSettings(forward, plan, parameter.name, argument);
    if (failed(settings))
      return failure();
    parameter.settings = *settings;
    parameter.isFrozen = forward.getArgAttr(number, NNDialect::kFrozenAttr) ||
                         forward.getArgAttr(number, NNDialect::kTrainedAttr);
  }
  return checkGroups(forward, plan,
                     llvm::map_to_vector(parameters, [](auto &parameter) {
                       return StringRef(parameter.name);
                     }));
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
                                StringRef of, Attribute init, Location loc,
                                ArrayRef<NamedAttribute> more) {
  SmallVector<NamedAttribute> attributes{
      named(NNDialect::kStateAttr, builder.getStringAttr(name)),
      named(NNDialect::kInitAttr, init)};
  llvm::append_range(attributes, more);
  if (!of.empty())
    attributes.push_back(named(NNDialect::kOfAttr, builder.getStringAttr(of)));
  addArgument(type, attributes, loc);
}

/// Finds layouts of parameters with seeds that the axes of state do not divide.
void TrainStepBuilder::findLayouts() {
  auto module = forward->getParentOfType<ModuleOp>();
  auto meshes = module.getOps<dist::MeshOp>();
  if (plan.zero == 0 || !llvm::hasSingleElement(meshes))
    return;
  mesh = (*meshes.begin()).getMesh().toMesh();
  meshSymbol = FlatSymbolRefAttr::get((*meshes.begin()).getSymNameAttr());
  AxisList axes = getStateAxes(module, mesh);
  for (TrainedParameter &parameter : parameters)
    if (dist::ShardingAttr seed = dist::getSharding(parameter.forward)) {
      Sharding inUse = seed.toSharding(mesh);
      parameter.flat = FlatState::get(parameter.type.getShape(), inUse,
                                      dropUsed(axes, inUse.dimAxes()));
    }
}

/// A parameter that is stored in another shape has no dimension names.
void TrainStepBuilder::addParameter(TrainedParameter &parameter) {
  NamedAttrList all(forward.getArgAttrDict(parameter.forward.getArgNumber()));
  RankedTensorType type = parameter.type;
  if (isStoredFlat(parameter)) {
    type = parameter.flat->getType(type.getElementType());
    all.erase(NNDialect::kDimsAttr);
    all.set(dist::DistDialect::kShardingAttr,
            toAttr(parameter.flat->getInUse()));
    for (NamedAttribute attr : parameter.flat->getAttributes(builder))
      all.set(attr.getName(), attr.getValue());
  }
  parameter.argument =
      addArgument(type, all.getAttrs(), parameter.forward.getLoc());
}

/// Adds parameters, then the state of each, then the state of the step.
void TrainStepBuilder::addArguments() {
  MLIRContext *context = builder.getContext();
  Attribute zeros =
      nn::InitAttr::get(context, nn::InitKind::Zeros, FloatAttr());
  for (TrainedParameter &parameter : parameters)
    addParameter(parameter);
  SmallVector<StringRef> moments{"m", "v"};
  if (plan.optimizer == OptimizerKind::SGD) {
    moments = {"velocity"};
    if (plan.momentum == 0)
      moments.clear();
  }
  for (TrainedParameter &parameter : parameters) {
    if (parameter.isFrozen)
      continue;
    RankedTensorType type = parameter.type.clone(wide);
    SmallVector<NamedAttribute> more;
    if (parameter.flat) {
      type = parameter.flat->getType(wide);
      more = parameter.flat->getAttributes(builder);
      more.push_back(named(dist::DistDialect::kShardingAttr,
                           toAttr(parameter.flat->getSharding())));
    }
    auto add = [&](StringRef suffix, Attribute init,
                   ArrayRef<NamedAttribute> more) {
      addState((parameter.name + "." + suffix).str(), type, parameter.name,
               init, parameter.forward.getLoc(), more);
      return static_cast<unsigned>(types.size() - 1);
    };
    if (isNarrow()) {
      Attribute init = forward.getArgAttr(parameter.forward.getArgNumber(),
                                          NNDialect::kInitAttr);
      SmallVector<NamedAttribute> marked(more);
      marked.push_back(named(NNDialect::kMasterAttr, builder.getUnitAttr()));
      parameter.master = add("master", init ? init : zeros, marked);
    }
    for (StringRef moment : moments)
      parameter.moments.push_back(add(moment, zeros, more));
  }
  auto scalar = RankedTensorType::get({}, wide);
  stepCount = types.size();
  addState("step", scalar, "", zeros, loc);
  if (scalesLoss()) {
    lossScale = types.size();
    addState("loss_scale", scalar, "",
             nn::InitAttr::get(context, nn::InitKind::Constant,
                               builder.getF64FloatAttr(plan.lossScale)),
             loc);
    goodSteps = types.size();
    addState("good_steps", scalar, "", zeros, loc);
  }
  numDonated = types.size();
}

/// Adds the batch inputs with micro-batches as a new first dimension.
void TrainStepBuilder::addBatchArguments(const BatchSplit &split) {
  for (BlockArgument input : trained.inputs) {
    DictionaryAttr attributes =
        withMicroBatches(forward.getArgAttrDict(input.getArgNumber()));
    auto part = cast<RankedTensorType>(split.getType(input));
    addArgument(withMicroBatches(part, plan.microBatches),
                attributes.getValue(), input.getLoc());
  }
}

/// Adds the limits of norm and loss.
void TrainStepBuilder::addLimits() {
  auto add = [&](StringRef name) {
    return addArgument(
        RankedTensorType::get({}, builder.getF32Type()),
        named(NNDialect::kControlAttr, builder.getStringAttr(name)), loc);
  };
  normLimit = add(NNDialect::kNormLimit);
  lossLimit = add(NNDialect::kLossLimit);
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
