//===- Manifest.cpp - The manifest of a program ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manifest is the runtime's only description of a program.
// runtime/include/tessera_manifest.h documents the format.
//
//===----------------------------------------------------------------------===//

#include "Manifest.h"
#include "PlanLines.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "runtime/include/tessera_manifest.h"
#include "tessera/Training/FlatState.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/xxhash.h"
#include <map>

using namespace mlir;
using namespace tessera;
namespace json = llvm::json;

FailureOr<Mesh> tessera::getMeshOrSingle(ModuleOp module) {
  if (module.getOps<dist::MeshOp>().empty())
    return Mesh();
  FailureOr<dist::MeshOp> op = dist::getOnlyMesh(module);
  if (failed(op))
    return failure();
  return op->getMesh().toMesh();
}

/// Returns an empty name for types that no argument or result may have: 8-bit
/// floats are internal to the program.
static StringRef getTypeName(Type type) {
  std::optional<int32_t> dtype = rt::getRuntimeType(type);
  if (!dtype || *dtype == TESSERA_RT_F8E4M3 || *dtype == TESSERA_RT_F8E5M2)
    return StringRef();
  return manifest::kDTypes[*dtype];
}

/// Returns {"kind": "normal", "std": ...} for a #nn.init.
static json::Value getInit(nn::InitAttr init) {
  switch (init.getKind()) {
  case nn::InitKind::Zeros:
    return json::Object{{manifest::init::kKind, manifest::init::kZeros}};
  case nn::InitKind::Ones:
    return json::Object{{manifest::init::kKind, manifest::init::kOnes}};
  case nn::InitKind::Constant:
    return json::Object{
        {manifest::init::kKind, manifest::init::kConstant},
        {manifest::init::kValue, init.getNumber().getValueAsDouble()}};
  case nn::InitKind::Normal:
    break;
  }
  return json::Object{
      {manifest::init::kKind, manifest::init::kNormal},
      {manifest::init::kMean, 0.0},
      {manifest::init::kStd, init.getNumber().getValueAsDouble()}};
}

namespace {
/// The manifest's fields of an argument or result.
struct Described {
  std::string name;
  Type type;
  dist::ShardingAttr sharding;
  DenseI64ArrayAttr globalShape;
  json::Value offset;
  /// Set if a value is stored in another shape than its own.
  DenseI64ArrayAttr storedShape, logicalShape, tiles;
  /// The order in which dimensions are stored (nn.order), or null.
  ArrayAttr order;
};
} // namespace

/// Returns, for each dimension, the chunks in storage order; empty for a
/// dimension in its own order.
static json::Array getOrder(ArrayAttr orders) {
  json::Array dims;
  for (Attribute attr : orders) {
    json::Array chunks;
    if (auto zigzag = dyn_cast<nn::ZigzagAttr>(attr))
      for (int64_t i = 0; i < 2 * zigzag.getShards(); ++i)
        chunks.push_back(zigzag.getChunkAt(i));
    dims.push_back(std::move(chunks));
  }
  return dims;
}

static FailureOr<json::Object> describe(func::FuncOp step, const Mesh &mesh,
                                        Described d) {
  auto type = cast<RankedTensorType>(d.type);
  StringRef dtype = getTypeName(type.getElementType());
  if (dtype.empty())
    return step.emitError("expects a type that the runtime has for \"")
           << d.name << "\" but got " << type;
  json::Array axes, shape, padded, local;
  std::optional<Sharding> sharding;
  if (d.sharding)
    sharding = d.sharding.toSharding(mesh);
  for (int64_t i = 0; i < type.getRank(); ++i) {
    json::Array dim;
    int64_t shards = 1;
    if (sharding)
      for (const AxisRef &ref : sharding->dims[i].axes) {
        AxisStride axis = mesh.axisStride(ref);
        dim.push_back(json::Object{{manifest::axis::kStride, axis.stride},
                                   {manifest::axis::kSize, axis.size}});
        shards *= axis.size;
      }
    int64_t whole = type.getDimSize(i) * shards;
    axes.push_back(std::move(dim));
    local.push_back(type.getDimSize(i));
    padded.push_back(whole);
    shape.push_back(d.storedShape   ? d.storedShape[i]
                    : d.globalShape ? d.globalShape[i]
                                    : whole);
  }
  json::Object value{{manifest::value::kName, d.name},
                     {manifest::value::kDType, dtype},
                     {manifest::value::kShape, std::move(shape)},
                     {manifest::value::kPaddedShape, std::move(padded)},
                     {manifest::value::kSharding, std::move(axes)},
                     {manifest::value::kLocalShape, std::move(local)},
                     {manifest::value::kOffset, std::move(d.offset)},
                     {manifest::value::kBytes, rt::getTensorBytes(type)}};
  if (d.logicalShape)
    value[manifest::value::kLogicalShape] =
        json::Array(d.logicalShape.asArrayRef());
  if (d.tiles)
    value[manifest::value::kTiles] = json::Array(d.tiles.asArrayRef());
  if (d.order)
    value[manifest::value::kOrder] = getOrder(d.order);
  return value;
}

/// Returns `name`, with a number appended if it is taken.
static std::string makeUnique(StringRef name, llvm::StringSet<> &taken) {
  std::string unique = name.str();
  for (unsigned i = 1; !taken.insert(unique).second; ++i)
    unique = (name + "_" + Twine(i)).str();
  return unique;
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

namespace {
/// An argument or a result of the program, in a step function that has it.
struct ProgramValue {
  func::FuncOp step;
  unsigned index;
  /// The offset by pp rank; -1 on ranks without the value.
  SmallVector<int64_t> offsets;
  /// The position among all arguments or results.
  int64_t position = 0;
  /// The argument donated to this value, if it is a result.
  std::optional<unsigned> donor;

  /// Returns an integer without a pipeline, otherwise an array by pp rank.
  json::Value getOffset() const {
    if (offsets.size() == 1)
      return offsets.front();
    return json::Array(offsets);
  }
};
/// Values by their numbers in the program before it was split over pp ranks.
using ProgramValues = std::map<int64_t, ProgramValue>;
} // namespace

static int64_t getNumber(DictionaryAttr attrs, unsigned index) {
  auto number = attrs ? attrs.getAs<IntegerAttr>(dist::DistDialect::kNumberAttr)
                      : nullptr;
  return number ? number.getInt() : index;
}

static int64_t getArgumentNumber(func::FuncOp step, unsigned i) {
  return getNumber(step.getArgAttrDict(i), i);
}

static int64_t getResultNumber(func::FuncOp step, unsigned i) {
  return getNumber(step.getResultAttrDict(i), i);
}

static void addValue(ProgramValues &values, int64_t number, func::FuncOp step,
                     unsigned index, unsigned rank, unsigned ranks,
                     int64_t offset) {
  auto [it, isNew] = values.try_emplace(
      number,
      ProgramValue{step, index, SmallVector<int64_t>(ranks, -1), 0, {}});
  it->second.offsets[rank] = offset;
}

static ProgramValues collectArguments(ArrayRef<func::FuncOp> steps) {
  ProgramValues values;
  for (unsigned rank = 0; rank < steps.size(); ++rank) {
    func::FuncOp step = steps[rank];
    auto offsets =
        step->getAttrOfType<DenseI64ArrayAttr>(rt::RTDialect::kOffsetsAttr);
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      addValue(values, getArgumentNumber(step, i), step, i, rank, steps.size(),
               offsets[i]);
  }
  return values;
}

static ProgramValues
collectResults(ArrayRef<func::FuncOp> steps,
               ArrayRef<SmallVector<int64_t>> resultOffsets) {
  ProgramValues values;
  for (unsigned rank = 0; rank < steps.size(); ++rank) {
    func::FuncOp step = steps[rank];
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      addValue(values, getResultNumber(step, i), step, i, rank, steps.size(),
               resultOffsets[rank][i]);
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      if (auto donated = step.getArgAttrOfType<IntegerAttr>(
              i, dist::DistDialect::kDonateAttr)) {
        ProgramValue &result =
            values.at(getResultNumber(step, donated.getInt()));
        if (result.step == step)
          result.donor = i;
      }
  }
  for (auto [position, entry] : llvm::enumerate(values))
    entry.second.position = position;
  return values;
}

/// Returns the name of an argument, its number if it has none.
static std::string getArgumentName(func::FuncOp step, unsigned i) {
  for (StringRef key : nn::NNDialect::kArgumentNames)
    if (auto name = step.getArgAttrOfType<StringAttr>(i, key))
      return name.str();
  return "arg" + std::to_string(getArgumentNumber(step, i));
}

/// Returns the name of a result: its own, or its donated argument's.
static std::string getResultName(const ProgramValue &result) {
  func::FuncOp step = result.step;
  if (auto name = step.getResultAttrOfType<StringAttr>(
          result.index, nn::NNDialect::kOutputAttr))
    return name.str();
  if (result.donor)
    return getArgumentName(step, *result.donor);
  return "result" + std::to_string(getResultNumber(step, result.index));
}

/// Adds the runtime's information on argument `i`: its role, the parameter that
/// it copies, the result that follows it.
static void addRole(func::FuncOp step, unsigned i, StringRef name,
                    const ProgramValues &results, json::Object &value) {
  Type element =
      cast<RankedTensorType>(step.getArgumentTypes()[i]).getElementType();
  auto of = step.getArgAttrOfType<StringAttr>(i, nn::NNDialect::kOfAttr);
  auto init = step.getArgAttrOfType<nn::InitAttr>(i, nn::NNDialect::kInitAttr);
  if (step.getArgAttr(i, nn::NNDialect::kParamAttr)) {
    value[manifest::value::kRole] = manifest::role::kParam;
  } else if (step.getArgAttr(i, nn::NNDialect::kStateAttr)) {
    value[manifest::value::kRole] = manifest::role::kState;
    // Moments have their parameter's name too, but not its numbers.
    bool isMaster = bool(step.getArgAttr(i, nn::NNDialect::kMasterAttr));
    if (of && (isMaster || (init && init.getKind() == nn::InitKind::Normal)))
      value[manifest::value::kOf] = of.getValue();
  } else if (step.getArgAttr(i, nn::NNDialect::kControlAttr)) {
    value[manifest::value::kRole] = manifest::role::kControl;
  } else {
    auto shift =
        step.getArgAttrOfType<IntegerAttr>(i, nn::NNDialect::kLabelShiftAttr);
    bool isTokens = name == manifest::role::kTokens;
    bool isLabels = name == manifest::role::kLabels || shift;
    bool isText = step.getArgAttr(i, nn::NNDialect::kInputAttr) &&
                  (element.isInteger(32) || element.isInteger(64));
    value[manifest::value::kRole] = isText && isTokens ? manifest::role::kTokens
                                    : isText && isLabels
                                        ? manifest::role::kLabels
                                        : manifest::role::kInput;
    if (shift)
      value[manifest::value::kShift] = shift.getInt();
    if (auto eod =
            step.getArgAttrOfType<IntegerAttr>(i, nn::NNDialect::kEodAttr)) {
      value[manifest::value::kRole] = manifest::role::kStarts;
      value[manifest::value::kEod] = eod.getInt();
    }
  }
  if (auto donated =
          step.getArgAttrOfType<IntegerAttr>(i, dist::DistDialect::kDonateAttr))
    value[manifest::value::kDonate] =
        results.at(getResultNumber(step, donated.getInt())).position;
}

/// Adds the location of a parameter in weight files.
static LogicalResult addSource(func::FuncOp step, unsigned i, StringRef name,
                               json::Object &value) {
  auto source =
      step.getArgAttrOfType<nn::SourceAttr>(i, nn::NNDialect::kSourceAttr);
  if (!source)
    return success();
  json::Array *logical = value.getArray(manifest::value::kLogicalShape);
  SmallVector<int64_t> shape;
  for (const json::Value &size :
       logical ? *logical : *value.getArray(manifest::value::kShape))
    shape.push_back(*size.getAsInteger());
  if (const char *fault = source.findFault(shape))
    return step.emitError("parameter '")
           << name << "' expects of its nn.source " << fault << " but got "
           << source;
  value[manifest::value::kSource] = json::Object{
      {manifest::source::kTensor, source.getTensor()},
      {manifest::source::kShape, json::Array(source.getShape())},
      {manifest::source::kOffset, source.getOffset()},
      {manifest::source::kStrides, json::Array(source.getStrides())}};
  return success();
}

static FailureOr<json::Array> describeArguments(ArrayRef<func::FuncOp> steps,
                                                const Mesh &mesh,
                                                const ProgramValues &results) {
  json::Array arguments;
  llvm::StringSet<> taken;
  for (const auto &[number, argument] : collectArguments(steps)) {
    func::FuncOp step = argument.step;
    unsigned i = argument.index;
    std::string name = getArgumentName(step, i);
    FailureOr<json::Object> value = describe(
        step, mesh,
        {makeUnique(name, taken), step.getArgumentTypes()[i],
         step.getArgAttrOfType<dist::ShardingAttr>(
             i, dist::DistDialect::kShardingAttr),
         step.getArgAttrOfType<DenseI64ArrayAttr>(
             i, dist::DistDialect::kGlobalShapeAttr),
         argument.getOffset(),
         step.getArgAttrOfType<DenseI64ArrayAttr>(
             i, nn::NNDialect::kStoredShapeAttr),
         step.getArgAttrOfType<DenseI64ArrayAttr>(
             i, nn::NNDialect::kLogicalShapeAttr),
         step.getArgAttrOfType<DenseI64ArrayAttr>(i, nn::NNDialect::kTilesAttr),
         step.getArgAttrOfType<ArrayAttr>(i, nn::NNDialect::kOrderAttr)});
    if (failed(value))
      return failure();
    if (step.getArgAttr(i, nn::NNDialect::kUnsignedAttr))
      (*value)[manifest::value::kUnsigned] = true;
    if (auto vocab =
            step.getArgAttrOfType<IntegerAttr>(i, nn::NNDialect::kVocabAttr))
      (*value)[manifest::value::kVocab] = vocab.getInt();
    if (auto ignored =
            step.getArgAttrOfType<IntegerAttr>(i, nn::NNDialect::kIgnoredAttr))
      (*value)[manifest::value::kIgnored] = ignored.getInt();
    if (failed(addSource(step, i, name, *value)))
      return failure();
    addRole(step, i, name, results, *value);
    if (auto init =
            step.getArgAttrOfType<nn::InitAttr>(i, nn::NNDialect::kInitAttr))
      (*value)[manifest::value::kInit] = getInit(init);
    else if (step.getArgAttr(i, nn::NNDialect::kParamAttr) ||
             step.getArgAttr(i, nn::NNDialect::kStateAttr))
      (*value)[manifest::value::kInit] =
          json::Object{{manifest::init::kKind, manifest::init::kZeros}};
    arguments.push_back(std::move(*value));
  }
  return arguments;
}

static FailureOr<json::Array> describeResults(const ProgramValues &results,
                                              const Mesh &mesh) {
  json::Array described;
  llvm::StringSet<> taken;
  for (const auto &entry : results) {
    const ProgramValue &result = entry.second;
    func::FuncOp step = result.step;
    unsigned i = result.index;
    auto getShape = [&](StringRef name) {
      return result.donor
                 ? step.getArgAttrOfType<DenseI64ArrayAttr>(*result.donor, name)
                 : DenseI64ArrayAttr();
    };
    FailureOr<json::Object> value = describe(
        step, mesh,
        {makeUnique(getResultName(result), taken), step.getResultTypes()[i],
         dist::getResultSharding(step, i),
         step.getResultAttrOfType<DenseI64ArrayAttr>(
             i, dist::DistDialect::kGlobalShapeAttr),
         result.getOffset(), getShape(nn::NNDialect::kStoredShapeAttr),
         getShape(nn::NNDialect::kLogicalShapeAttr),
         getShape(nn::NNDialect::kTilesAttr),
         step.getResultAttrOfType<ArrayAttr>(i, nn::NNDialect::kOrderAttr)});
    if (failed(value))
      return failure();
    if (step.getResultAttr(i, nn::NNDialect::kUnsignedAttr))
      (*value)[manifest::value::kUnsigned] = true;
    described.push_back(std::move(*value));
  }
  return described;
}

/// Returns the bytes at the peak, by category.
static json::Object describeMemory(func::FuncOp step) {
  json::Object entries;
  if (auto memory =
          step->getAttrOfType<DictionaryAttr>(rt::RTDialect::kMemoryAttr))
    for (NamedAttribute entry : memory)
      entries[entry.getName().getValue()] =
          cast<IntegerAttr>(entry.getValue()).getInt();
  return entries;
}

/// Returns the traffic that a rank receives per step, by axes.
static json::Array describeTraffic(func::FuncOp step, const Mesh &mesh) {
  json::Array entries;
  for (const PlannedTraffic &traffic : planTraffic(step, mesh)) {
    json::Object calls;
    for (const auto &[kind, count] : traffic.calls)
      calls[kind] = count;
    entries.push_back(
        json::Object{{manifest::traffic::kAxes, traffic.axes},
                     {manifest::traffic::kBytes, traffic.bytes},
                     {manifest::traffic::kCalls, std::move(calls)}});
  }
  return entries;
}

/// Describes the lists of the pp ranks; nothing if no list is run.
static std::optional<json::Object>
describePipeline(ArrayRef<func::FuncOp> steps) {
  std::optional<json::Object> described;
  int64_t longest = 0;
  for (func::FuncOp step : steps)
    for (auto op : step.front().getOps<rt::PipelineOp>()) {
      int64_t entries = 0;
      rt::forEachEntry(
          op->getAttrOfType<DenseI64ArrayAttr>(rt::RTDialect::kEntriesAttr),
          [&](ArrayRef<int64_t>) { ++entries; });
      longest = std::max(longest, entries);
      int64_t stages = op.getStageRanks().front().size();
      described = json::Object{
          {manifest::pipeline::kSchedule, getScheduleName(step)},
          {manifest::pipeline::kStages, stages},
          {manifest::pipeline::kMicroBatches, int64_t(op.getMicroBatches())},
          {manifest::pipeline::kEntries, longest}};
      if (auto bubble =
              step->getAttrOfType<FloatAttr>(dist::DistDialect::kBubbleAttr))
        (*described)[manifest::pipeline::kBubble] = bubble.getValueAsDouble();
    }
  return described;
}

/// Returns the layers of experts whose loads are counted; none without any.
static std::optional<json::Object> describeExperts(func::FuncOp step) {
  int64_t layers = 0, most = 0;
  step->getParentOfType<ModuleOp>().walk([&](rt::RouteOp op) {
    if (!op.getLayer())
      return;
    layers = std::max<int64_t>(layers, *op.getLayer() + 1);
    most = std::max<int64_t>(most, op.getAll());
  });
  if (layers == 0)
    return std::nullopt;
  return json::Object{{manifest::experts::kLayers, layers},
                      {manifest::experts::kMost, most}};
}

FailureOr<std::string>
tessera::buildManifest(ArrayRef<func::FuncOp> steps, const Mesh &mesh,
                       ArrayRef<SmallVector<int64_t>> resultOffsets,
                       StringRef program) {
  ProgramValues resultValues = collectResults(steps, resultOffsets);
  FailureOr<json::Array> arguments =
      describeArguments(steps, mesh, resultValues);
  if (failed(arguments))
    return failure();
  FailureOr<json::Array> results = describeResults(resultValues, mesh);
  if (failed(results))
    return failure();
  func::FuncOp largest = getLargest(steps);
  json::Array axes;
  for (auto [name, size] : llvm::zip(mesh.names, mesh.sizes))
    axes.push_back(json::Object{{manifest::axis::kName, name},
                                {manifest::axis::kSize, size}});
  if (axes.empty())
    axes.push_back(json::Object{{manifest::axis::kName, "device"},
                                {manifest::axis::kSize, 1}});

  // The hash of the program's text identifies it: equal text gives equal code.
  std::string text;
  llvm::raw_string_ostream os(text);
  largest->getParentOfType<ModuleOp>().print(os,
                                             OpPrintingFlags().useLocalScope());
  json::Value described =
      json::Object{{manifest::kVersion, TESSERA_RT_ABI_VERSION},
                   {manifest::kProgram, program},
                   {manifest::kHash,
                    llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true,
                                    /*Width=*/16)},
                   {manifest::kRanks, mesh.numDevices()},
                   {manifest::kMesh, std::move(axes)},
                   {manifest::kArenaBytes, getArenaBytes(largest)},
                   {manifest::kPlan, json::Array(describePlan(steps, mesh))},
                   {manifest::kMemory, describeMemory(largest)},
                   {manifest::kCommunication, describeTraffic(largest, mesh)},
                   {manifest::kArguments, std::move(*arguments)},
                   {manifest::kResults, std::move(*results)}};
  json::Object &object = *described.getAsObject();
  if (steps.size() > 1) {
    AxisStride axis = mesh.axisStride(mesh.fullAxis(*mesh.stageAxis));
    object[manifest::kPPAxis] =
        json::Object{{manifest::axis::kStride, axis.stride},
                     {manifest::axis::kSize, axis.size}};
  }
  // A list on a single pp rank, which stacks results, is not a pipeline.
  std::optional<json::Object> pipeline = describePipeline(steps);
  if (pipeline && steps.size() > 1)
    object[manifest::kPipeline] = std::move(*pipeline);
  if (std::optional<json::Object> experts = describeExperts(largest))
    object[manifest::kExperts] = std::move(*experts);
  // The runtime to link the program with; an emulated GPU counts as CUDA too.
  if (rt::getTarget(largest) != rt::Target::Host)
    object[manifest::kTarget] = manifest::target::kCuda;
  return llvm::formatv("{0}", described).str();
}
