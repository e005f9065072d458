//===- Manifest.cpp - A program's description of itself -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Manifest.h.
//
//===----------------------------------------------------------------------===//

#include "Manifest.h"

#include "support/Json.h"
#include "tessera_manifest.h"

#include <algorithm>

using namespace tessera::manifest;
using namespace tessera::rt;

int64_t Value::elements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

int64_t Value::localElements() const {
  int64_t count = 1;
  for (int64_t extent : localShape)
    count *= extent;
  return count;
}

bool Manifest::isTraining() const {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const Value &value) { return value.donate >= 0; });
}

bool Manifest::hasLimits() const {
  return findScalar("skipped") &&
         std::any_of(
             arguments.begin(), arguments.end(),
             [](const Value &value) { return value.role == Role::Control; });
}

bool Manifest::scalesLoss() const {
  return std::any_of(
      arguments.begin(), arguments.end(), [](const Value &value) {
        return value.role == Role::State && value.name == "loss_scale";
      });
}

const Value *Manifest::findScalar(const char *name) const {
  for (const Value &value : results)
    if (value.name == name && value.elements() == 1)
      return &value;
  return nullptr;
}

std::string tessera::rt::describeShape(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += format(i ? ", %lld" : "%lld", (long long)shape[i]);
  return text + "]";
}

std::string tessera::rt::fileTypeName(int32_t dtype, bool isUnsigned) {
  std::string name = dtypeName(dtype);
  return isUnsigned ? "u" + name.substr(1) : name;
}

std::string tessera::rt::describeType(int32_t dtype,
                                      const std::vector<int64_t> &shape,
                                      bool isUnsigned) {
  return fileTypeName(dtype, isUnsigned) + describeShape(shape);
}

/// Whether integers of a type have a sign in some files and none in others.
static bool mayBeUnsigned(int32_t dtype) {
  return dtype == TESSERA_RT_I8 || dtype == TESSERA_RT_I16 ||
         dtype == TESSERA_RT_I32 || dtype == TESSERA_RT_I64;
}

static std::vector<int64_t> readIntegers(const Json &json, const char *name) {
  std::vector<int64_t> values;
  for (const Json &item : json.getArray(name))
    values.push_back(item.isInteger ? item.integer : -1);
  return values;
}

static bool readInit(const Json &json, Initialiser &init) {
  std::string kind = json.getString(init::kKind);
  if (kind == init::kZeros)
    init = {Initialiser::Zeros, 0, 0};
  else if (kind == init::kOnes)
    init = {Initialiser::Ones, 1, 0};
  else if (kind == init::kConstant)
    init = {Initialiser::Constant, json.getNumber(init::kValue, 0), 0};
  else if (kind == init::kNormal)
    init = {Initialiser::Normal, json.getNumber(init::kMean, 0),
            json.getNumber(init::kStd, 1)};
  else if (kind == init::kUniform)
    init = {Initialiser::Uniform, json.getNumber(init::kLow, 0),
            json.getNumber(init::kHigh, 1)};
  else
    return false;
  return true;
}

/// The shape of a tiled value; empty if the tiles do not divide its logical
/// shape.
static std::vector<int64_t> tiledShape(const Value &value) {
  std::vector<int64_t> shape;
  int64_t elements = 1;
  if (value.tiles.size() != value.logicalShape.size())
    return shape;
  for (size_t d = 0; d < value.tiles.size(); ++d) {
    int64_t tiles = value.tiles[d];
    if (tiles < 1 || value.logicalShape[d] % tiles != 0)
      return {};
    if (tiles > 1)
      shape.push_back(tiles);
    elements *= value.logicalShape[d] / tiles;
  }
  shape.push_back(elements);
  return shape;
}

/// True if no size of a shape is negative and the bytes of its elements do not
/// overflow.
static bool isCountable(const std::vector<int64_t> &shape) {
  int64_t count = 16;
  for (int64_t extent : shape)
    if (extent < 0 ||
        __builtin_mul_overflow(count, std::max<int64_t>(extent, 1), &count))
      return false;
  return true;
}

/// True if stride * size divides the ranks. Avoids that product, which may
/// overflow.
static bool dividesRanks(const StridedAxis &axis, int64_t ranks) {
  return axis.stride >= 1 && axis.size >= 1 && ranks % axis.size == 0 &&
         ranks / axis.size % axis.stride == 0;
}

/// True if each dimension with an order lists each of its chunks once.
static bool isOrder(const Value &value) {
  if (value.order.size() != value.shape.size() || !value.tiles.empty() ||
      value.shape != value.logicalShape)
    return false;
  for (size_t d = 0; d < value.order.size(); ++d) {
    std::vector<int64_t> chunks = value.order[d];
    std::sort(chunks.begin(), chunks.end());
    for (size_t i = 0; i < chunks.size(); ++i)
      if (chunks[i] != int64_t(i))
        return false;
    if (!chunks.empty() && value.shape[d] % int64_t(chunks.size()) != 0)
      return false;
  }
  return true;
}

/// Checks sizes against each other. Returns a message, or nothing.
static std::string checkValue(const Value &value, const Manifest &manifest) {
  size_t rank = value.shape.size();
  if (value.name.empty() || value.name.find('/') != std::string::npos)
    return "expects a name without '/'";
  if (value.dtype < 0)
    return "expects a dtype";
  for (const auto *shape : {&value.shape, &value.paddedShape, &value.localShape,
                            &value.tiles, &value.logicalShape})
    if (!isCountable(*shape))
      return "expects sizes of 0 or more, and fewer elements";
  if (value.paddedShape.size() != rank || value.localShape.size() != rank ||
      value.sharding.size() != rank)
    return "expects shapes and sharding of one rank";
  int64_t size = dtypeSize(value.dtype);
  for (size_t d = 0; d < rank; ++d) {
    int64_t shards = 1;
    for (const StridedAxis &axis : value.sharding[d]) {
      if (!dividesRanks(axis, manifest.ranks) ||
          __builtin_mul_overflow(shards, axis.size, &shards))
        return "expects axes that divide the ranks";
    }
    int64_t padded = 0;
    if (value.paddedShape[d] < value.shape[d] ||
        __builtin_mul_overflow(value.localShape[d], shards, &padded) ||
        padded != value.paddedShape[d])
      return format(
          "expects a padded dim %zu of at least %lld, in %lld shards of "
          "the local dim, but got %lld and %lld",
          d, (long long)value.shape[d], (long long)shards,
          (long long)value.paddedShape[d], (long long)value.localShape[d]);
  }
  int64_t logical = 1;
  for (int64_t extent : value.logicalShape)
    logical *= extent;
  if (logical != value.elements())
    return format("expects a logical shape of %lld elements, but got %lld",
                  (long long)value.elements(), (long long)logical);
  if (!value.order.empty() && !isOrder(value))
    return "expects an order with, for each dim, all chunks that it is divided "
           "into, or none, of a value in its logical shape";
  if (!value.tiles.empty() && value.shape != tiledShape(value))
    return "expects tiles that divide the logical shape, and the shape of "
           "tiles and their elements";
  if (value.bytes != value.localElements() * size)
    return format("expects %lld bytes, but got %lld",
                  (long long)(value.localElements() * size),
                  (long long)value.bytes);
  if (int64_t(value.offsets.size()) != manifest.stageAxis.size)
    return format("expects an offset for each of %lld pp ranks, but got %zu",
                  (long long)manifest.stageAxis.size, value.offsets.size());
  bool isPipeline = manifest.stageAxis.size > 1, isThere = false;
  for (int64_t offset : value.offsets) {
    isThere |= offset >= 0;
    if (offset == -1 && isPipeline)
      continue;
    if (offset < 0 || offset % size ||
        offset > manifest.arenaBytes - value.bytes)
      return format("expects an aligned offset within the arena, but got %lld",
                    (long long)offset);
  }
  return isThere ? "" : "expects an offset on some pp rank, but got none";
}

static int64_t countElements(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

std::vector<std::string>
Source::names(const std::vector<int64_t> &logicalShape) const {
  size_t star = tensor.find('*');
  if (star == std::string::npos)
    return {tensor};
  std::vector<std::string> all;
  for (int64_t i = 0; i < logicalShape.front(); ++i)
    all.push_back(tensor.substr(0, star) + std::to_string(i) +
                  tensor.substr(star + 1));
  return all;
}

/// True if a view stays in its tensor and has each element once. With the
/// dimensions sorted by stride, each must step over the whole extent of the
/// dimensions before it.
static bool isView(const Source &source, const std::vector<int64_t> &shape) {
  if (!isCountable(source.shape) || source.offset < 0 ||
      source.strides.size() != shape.size())
    return false;
  std::vector<std::pair<int64_t, int64_t>> dims;
  size_t first = source.hasTensors();
  if (first && (shape.empty() || source.strides.front() != 0))
    return false;
  for (size_t d = first; d < shape.size(); ++d)
    if (shape[d] != 1)
      dims.push_back({source.strides[d], shape[d]});
  std::sort(dims.begin(), dims.end());
  int64_t last = source.offset, reach = 1;
  for (auto [stride, extent] : dims) {
    int64_t span;
    if (extent == 0)
      return true;
    if (stride < reach || __builtin_mul_overflow(stride, extent, &reach) ||
        __builtin_mul_overflow(stride, extent - 1, &span) ||
        __builtin_add_overflow(last, span, &last))
      return false;
  }
  return last < countElements(source.shape);
}

/// Reads the location of a parameter in files of weights.
static std::string readSource(const Json &json, Value &value) {
  Source &source = value.source;
  const Json *given = json.find(value::kSource);
  if (!given) {
    source.tensor = value.name;
    source.shape = value.logicalShape;
    source.strides.assign(source.shape.size(), 1);
    for (size_t d = source.shape.size(); d-- > 1;)
      source.strides[d - 1] = source.strides[d] * source.shape[d];
    return std::string();
  }
  source.tensor = given->getString(source::kTensor);
  source.shape = readIntegers(*given, source::kShape);
  source.offset = given->getInteger(source::kOffset, 0);
  source.strides = readIntegers(*given, source::kStrides);
  return !source.tensor.empty() && isView(source, value.logicalShape)
             ? std::string()
             : "expects a source that is a view of its tensor with each "
               "element once";
}

static constexpr const char *roleNames[] = {
    role::kParam,  role::kState, role::kTokens, role::kLabels,
    role::kStarts, role::kInput, role::kControl};

const char *tessera::rt::roleName(Role role) { return roleNames[int(role)]; }

static bool readRole(const std::string &name, Role &role) {
  const auto *found =
      std::find(std::begin(roleNames), std::end(roleNames), name);
  role = Role(found - roleNames);
  return found != std::end(roleNames);
}

static std::string readValue(const Json &json, bool isArgument,
                             const Manifest &manifest, Value &value) {
  value.name = json.getString(value::kName);
  value.dtype = dtypeFromName(json.getString(value::kDType));
  const Json *isUnsigned = json.find(value::kUnsigned);
  value.isUnsigned =
      isUnsigned && isUnsigned->kind == Json::Bool && isUnsigned->boolean;
  if (value.isUnsigned && !mayBeUnsigned(value.dtype))
    return "expects integers that are unsigned";
  value.shape = readIntegers(json, value::kShape);
  value.logicalShape = json.find(value::kLogicalShape)
                           ? readIntegers(json, value::kLogicalShape)
                           : value.shape;
  value.tiles = readIntegers(json, value::kTiles);
  for (const Json &dim : json.getArray(value::kOrder)) {
    value.order.emplace_back();
    for (const Json &chunk : dim.items)
      value.order.back().push_back(chunk.integer);
  }
  value.paddedShape = json.find(value::kPaddedShape)
                          ? readIntegers(json, value::kPaddedShape)
                          : value.shape;
  for (const Json &dim : json.getArray(value::kSharding)) {
    value.sharding.emplace_back();
    for (const Json &axis : dim.items)
      value.sharding.back().push_back(
          {axis.getInteger(axis::kStride, 0), axis.getInteger(axis::kSize, 0)});
  }
  value.sharding.resize(std::max(value.sharding.size(), value.shape.size()));
  value.localShape = json.find(value::kLocalShape)
                         ? readIntegers(json, value::kLocalShape)
                         : value.shape;
  value.stageAxis = manifest.stageAxis;
  const Json *offset = json.find(value::kOffset);
  if (offset && offset->kind == Json::Array)
    value.offsets = readIntegers(json, value::kOffset);
  else
    value.offsets = {json.getInteger(value::kOffset, -1)};
  value.bytes = json.getInteger(value::kBytes, -1);
  value.vocab = json.getInteger(value::kVocab, 0);
  value.eod = json.getInteger(value::kEod, 0);
  if (isArgument) {
    std::string role = json.getString(value::kRole);
    if (!readRole(role, value.role))
      return "expects the role param, state, tokens, labels, starts, input or "
             "control, but got '" +
             role + "'";
    value.ignored =
        json.getInteger(value::kIgnored, value.role == Role::Labels ? -100 : 0);
    value.shift = json.getInteger(value::kShift, 1);
    if (value.shift < 0 || value.shift > 1024)
      return "expects a shift of 0 to 1024";
    value.of = json.getString(value::kOf);
    value.donate = json.getInteger(value::kDonate, -1);
    if (isData(value) &&
        ((value.dtype != TESSERA_RT_I32 && value.dtype != TESSERA_RT_I64) ||
         value.shape.empty()))
      return "expects tokens of i32 or i64 with a sequence dim";
    if (value.role == Role::Control &&
        (value.dtype != TESSERA_RT_F32 || !value.shape.empty() ||
         value.donate >= 0))
      return "expects a control of one f32 that no result replaces";
    const Json *init = json.find(value::kInit);
    if (init && !readInit(*init, value.init))
      return "expects an init kind zeros, ones, constant, normal or uniform";
  }
  std::string error = checkValue(value, manifest);
  if (error.empty() && isArgument && value.role == Role::Param)
    error = readSource(json, value);
  return error;
}

/// True if a result is in the memory of an argument other than `donated`, on a
/// pp rank whose arguments have these sorted offsets.
static bool isInAnother(const Value &result, const Value &donated, size_t rank,
                        const std::vector<int64_t> &offsets) {
  int64_t offset = result.offsets[rank];
  return offset != donated.offsets[rank] && result.bytes > 0 &&
         std::binary_search(offsets.begin(), offsets.end(), offset);
}

/// Checks that each donated argument has a matching result, and that no result
/// is donated to twice.
static std::string checkDonations(const Manifest &manifest) {
  std::vector<bool> taken(manifest.results.size());
  std::vector<std::vector<int64_t>> offsets(size_t(manifest.stageAxis.size));
  for (size_t rank = 0; rank < offsets.size(); ++rank) {
    for (const Value &value : manifest.arguments)
      offsets[rank].push_back(value.offsets[rank]);
    std::sort(offsets[rank].begin(), offsets[rank].end());
  }
  for (const Value &value : manifest.arguments) {
    if (value.donate == -1)
      continue;
    std::string where = "arguments '" + value.name + "' ";
    if (value.donate < 0 || value.donate >= int64_t(taken.size()) ||
        taken[size_t(value.donate)])
      return where +
             format("expects to be donated to a result that is no other "
                    "argument's, below %zu, but got %lld",
                    taken.size(), (long long)value.donate);
    taken[size_t(value.donate)] = true;
    const Value &result = manifest.results[size_t(value.donate)];
    if (value.dtype != result.dtype || value.shape != result.shape ||
        value.localShape != result.localShape ||
        value.sharding != result.sharding)
      return where + "expects the type and sharding of the result '" +
             result.name + "', which takes its place, but got another";
    for (size_t rank = 0; rank < offsets.size(); ++rank) {
      if ((result.offsets[rank] < 0) != (value.offsets[rank] < 0))
        return where + "expects the result '" + result.name +
               "' on the same pp ranks, but got it on others";
      // The result is copied while other arguments are.
      if (isInAnother(result, value, rank, offsets[rank]))
        return where +
               "expects a result in its own memory or in that of no "
               "argument, but got '" +
               result.name + "' in another argument's";
    }
  }
  return std::string();
}

static std::string readValues(const Json &json, const char *name,
                              bool isArgument, const Manifest &manifest,
                              std::vector<Value> &values) {
  for (const Json &item : json.getArray(name)) {
    values.emplace_back();
    std::string error = readValue(item, isArgument, manifest, values.back());
    if (!error.empty())
      return format("%s '%s' ", name, values.back().name.c_str()) + error;
  }
  return std::string();
}

static std::string readPipeline(const Json &json, PipelineFacts &facts) {
  constexpr int64_t maxCount = int64_t(1) << 24;
  facts.schedule = json.getString(pipeline::kSchedule, "list");
  facts.stages = json.getInteger(pipeline::kStages, 0);
  facts.microBatches = json.getInteger(pipeline::kMicroBatches, 0);
  facts.entries = json.getInteger(pipeline::kEntries, -1);
  facts.bubble = json.getNumber(pipeline::kBubble, std::nan(""));
  if (facts.stages >= 1 && facts.stages <= maxCount &&
      facts.microBatches >= 1 && facts.entries >= 0 &&
      facts.entries <= maxCount && !(facts.bubble < 0 || facts.bubble > 1))
    return std::string();
  return format("expects a pipeline of at least 1 stage and 1 micro-batch, at "
                "most %lld entries and a bubble from 0 to 1, but got %lld "
                "stages, %lld micro-batches, %lld entries and %g",
                (long long)maxCount, (long long)facts.stages,
                (long long)facts.microBatches, (long long)facts.entries,
                facts.bubble);
}

static std::string readExperts(const Json &json, ExpertFacts &facts) {
  constexpr int64_t most = int64_t(1) << 20;
  facts.layers = json.getInteger(experts::kLayers, 0);
  facts.most = json.getInteger(experts::kMost, 0);
  if (facts.layers >= 1 && facts.layers <= most && facts.most >= 1 &&
      facts.most <= most)
    return std::string();
  return format("expects 1 to %lld layers of as many experts, but got %lld of "
                "%lld",
                (long long)most, (long long)facts.layers,
                (long long)facts.most);
}

/// Reads the ranks, the mesh and the stage axis.
static std::string readMesh(const Json &json, Manifest &manifest) {
  int64_t ranks = json.getInteger(kRanks, 0), product = 1;
  for (const Json &axis : json.getArray(kMesh)) {
    int64_t size = axis.getInteger(axis::kSize, 0);
    manifest.mesh.push_back({axis.getString(axis::kName), size});
    if (__builtin_mul_overflow(product, size, &product))
      product = 0;
  }
  if (ranks < 1 || ranks > maxJobRanks || product != ranks ||
      manifest.arenaBytes < 0)
    return format("expects 1 to %d ranks in the mesh and an arena, but got "
                  "%lld ranks, a mesh of %lld and %lld bytes",
                  maxJobRanks, (long long)ranks, (long long)product,
                  (long long)manifest.arenaBytes);
  manifest.ranks = int(ranks);
  const Json *axis = json.find(kPPAxis);
  if (!axis)
    return std::string();
  manifest.stageAxis = {axis->getInteger(axis::kStride, 0),
                        axis->getInteger(axis::kSize, 0)};
  return dividesRanks(manifest.stageAxis, ranks)
             ? std::string()
             : format("expects a pp_axis that divides %lld ranks, but got "
                      "stride %lld and size %lld",
                      (long long)ranks, (long long)manifest.stageAxis.stride,
                      (long long)manifest.stageAxis.size);
}

std::string tessera::rt::readLayout(const Json &json, const char *values,
                                    Manifest &manifest) {
  manifest.arenaBytes = INT64_MAX;
  std::string error = readMesh(json, manifest);
  return error.empty() ? readValues(json, values, /*isArgument=*/true, manifest,
                                    manifest.arguments)
                       : error;
}

bool tessera::rt::parseManifest(const char *text, Manifest &manifest,
                                std::string &error) {
  Json json;
  if (!parseJson(text, json, error))
    return false;
  if (json.getInteger(kVersion, 0) != TESSERA_RT_ABI_VERSION) {
    error = format("expects version %d, but got %lld", TESSERA_RT_ABI_VERSION,
                   (long long)json.getInteger(kVersion, 0));
    return false;
  }
  manifest.program = json.getString(kProgram, "program");
  manifest.hash = json.getString(kHash);
  manifest.target = json.getString(kTarget, target::kHost);
  manifest.arenaBytes = json.getInteger(kArenaBytes, -1);
  error = readMesh(json, manifest);
  if (!error.empty())
    return false;
  if (const Json *pipeline = json.find(kPipeline)) {
    error = readPipeline(*pipeline, manifest.pipeline);
    if (!error.empty())
      return false;
  }
  if (const Json *given = json.find(kExperts)) {
    error = readExperts(*given, manifest.experts);
    if (!error.empty())
      return false;
  }
  for (const Json &line : json.getArray(kPlan))
    manifest.plan.push_back(line.string);
  if (const Json *memory = json.find(kMemory))
    for (const auto &member : memory->members)
      manifest.memory.push_back({member.first, member.second.integer});
  error = readValues(json, kArguments, true, manifest, manifest.arguments);
  if (error.empty())
    error = readValues(json, kResults, false, manifest, manifest.results);
  if (error.empty())
    error = checkDonations(manifest);
  return error.empty();
}
