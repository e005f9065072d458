//===- ParseFile.cpp - The text of a sharding file ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks a file by itself; SeedShardings.cpp compares it with a program.
//
//===----------------------------------------------------------------------===//

#include "FileKeys.h"
#include "tessera/Support/Errors.h"
#include "tessera/Support/Json.h"
#include "tessera/Support/Spelling.h"
#include "tessera/Training/DecisionFile.h"
#include "tessera/Training/TrainingPlan.h"

using namespace tessera;
using llvm::createStringError;
using llvm::StringRef;
using llvm::Twine;
using llvm::json::Array;
using llvm::json::Object;

/// Returns "expects WHAT but got VALUE".
static llvm::Error expects(const Twine &what, const llvm::json::Value *got) {
  /// Characters of a value that an error quotes.
  constexpr size_t kMostQuoted = 80;
  std::string text;
  llvm::raw_string_ostream os(text);
  if (got)
    os << *got;
  else
    os << "none";
  if (text.size() > kMostQuoted)
    text = text.substr(0, kMostQuoted) + "...";
  return createStringError("expects " + what + " but got " + text);
}

/// Fails for a key that is not known.
static llvm::Error checkKeys(const Object &object,
                             llvm::ArrayRef<StringRef> known) {
  for (StringRef key : sortKeys(object))
    if (!llvm::is_contained(known, key))
      return createStringError(key + ": expects a known key" +
                               didYouMean(key, known));
  return llvm::Error::success();
}

/// Lists the keys of the object that is the value of the top-level key `name`,
/// in the order of the text, which must be JSON: a parsed object has none.
static std::vector<std::string> listKeys(StringRef text, StringRef name) {
  std::vector<std::string> keys;
  std::string outer;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += StringRef("[{").contains(text[i]);
    depth -= StringRef("]}").contains(text[i]);
    if (text[i] != '"')
      continue;
    size_t begin = i++;
    for (; text[i] != '"'; ++i)
      i += text[i] == '\\';
    if (!text.drop_front(i + 1).ltrim().starts_with(":"))
      continue;
    auto key = llvm::cantFail(parseJson(text.slice(begin, i + 1)));
    if (depth == 1)
      outer = key.getAsString()->str();
    else if (depth == 2 && outer == name)
      keys.push_back(key.getAsString()->str());
  }
  return keys;
}

namespace {
class FileParser {
public:
  explicit FileParser(StringRef text) : text(text) {}
  llvm::Expected<ShardingFile> parse();

private:
  llvm::Error checkHead();
  llvm::Error readMesh();
  llvm::Error readLayout();
  llvm::Error checkLayout();
  llvm::Error readDecisions();
  llvm::Expected<AxisRef> readAxis(const llvm::json::Value &value);
  llvm::Expected<AxisList> readAxes(const llvm::json::Value &value);
  llvm::Error readDims(const Object &from, StringRef key, DimAxes &to,
                       std::optional<size_t> rank = std::nullopt);
  llvm::Error readTensor(const Object &from, ShardedTensor &to);
  llvm::Error readView(const Object &from, ShardedView &to);
  llvm::Error readInput(const Object &from, ShardedInput &to);
  llvm::Error readModule(const Object &from, ShardedModule &to);
  template <typename T>
  llvm::Error readEach(StringRef key, std::map<std::string, T> &to,
                       llvm::Error (FileParser::*read)(const Object &, T &));

  StringRef text;
  Object root;
  ShardingFile file;
};
} // namespace

static llvm::Error readSizes(const Object &from, StringRef key, int64_t least,
                             llvm::SmallVector<int64_t> &to) {
  const llvm::json::Value *value = from.get(key);
  const Array *list = value ? value->getAsArray() : nullptr;
  for (const llvm::json::Value &entry : list ? *list : Array()) {
    std::optional<int64_t> size = entry.getAsInteger();
    if (!size || *size < least)
      list = nullptr;
    else
      to.push_back(*size);
    if (!list)
      break;
  }
  if (list)
    return llvm::Error::success();
  return prefixError(
      key + ": ",
      expects("a list of integers of at least " + Twine(least), value));
}

static llvm::Error readFlag(const Object &from, StringRef key, bool &to) {
  const llvm::json::Value *value = from.get(key);
  if (!value)
    return llvm::Error::success();
  std::optional<bool> flag = value->getAsBoolean();
  to = flag.value_or(false);
  return flag ? llvm::Error::success()
              : prefixError(key + ": ", expects("true or false", value));
}

llvm::Error FileParser::checkHead() {
  if (root.getString("tessera") != StringRef(kFileMagic))
    return prefixError("tessera: ", expects("\"" + Twine(kFileMagic) + "\"",
                                            root.get("tessera")));
  if (root.getInteger("version") != kFileVersion)
    return prefixError("version: ",
                       expects(Twine(kFileVersion), root.get("version")));
  return checkKeys(root, {"tessera", "version", "mesh", "plan", "strategy",
                          "decisions", "tensors", "modules", "inputs"});
}

llvm::Error FileParser::readMesh() {
  const Object *sizes = root.getObject("mesh");
  if (!sizes)
    return expects("an object of axes and their sizes", root.get("mesh"));
  std::string axes;
  for (const std::string &name : listKeys(text, "mesh")) {
    const llvm::json::Value *size = sizes->get(name);
    if (!size || !size->getAsInteger())
      return prefixError(name + ": ", expects("a number of devices", size));
    axes += (axes.empty() ? "" : ",") + name + "=" +
            std::to_string(*size->getAsInteger());
  }
  auto mesh = parseMesh(axes);
  if (!mesh)
    return mesh.takeError();
  file.mesh = std::move(*mesh);
  return llvm::Error::success();
}

llvm::Error FileParser::readLayout() {
  if (const llvm::json::Value *plan = root.get("plan")) {
    const Object *fields = plan->getAsObject();
    if (!fields)
      return prefixError("plan: ", expects("an object of fields", plan));
    if (llvm::Error error = checkKeys(*fields, kLayoutFields))
      return prefixError("plan: ", std::move(error));
    if (llvm::Error error = file.plan.read(*fields))
      return prefixError("plan: ", std::move(error));
    if (llvm::Error error = file.plan.plan.checkFields())
      return prefixError("plan: ", takeFirst(std::move(error)));
  }
  if (const llvm::json::Value *value = root.get("strategy")) {
    if (!value->getAsString())
      return prefixError("strategy: ", expects("a text", value));
    auto strategy = parseStrategy(*value->getAsString());
    if (!strategy)
      return prefixError("strategy: ", strategy.takeError());
    file.strategy = *strategy;
  }
  return checkLayout();
}

/// Fails if a field of the plan has another value than the strategy gives it.
llvm::Error FileParser::checkLayout() {
  if (!file.strategy || file.strategy->isSearched)
    return llvm::Error::success();
  if (llvm::Error error = checkStrategy(*file.strategy, file.mesh))
    return prefixError("strategy: ", std::move(error));
  Plan plan = file.plan.plan;
  setLayout(plan, *file.strategy, file.mesh);
  for (const PlanField &field : getFields<Plan>())
    if (file.plan.has(field.name) && !field.isEqual(plan, file.plan.plan))
      return createStringError("plan: " + field.name + ": expects " +
                               field.print(plan) + ", as strategy '" +
                               print(*file.strategy) + "' says, but got " +
                               field.print(file.plan.plan));
  return llvm::Error::success();
}

llvm::Error FileParser::readDecisions() {
  const llvm::json::Value *value = root.get("decisions");
  if (!value)
    return llvm::Error::success();
  const Object *decisions = value->getAsObject();
  Object none;
  if (llvm::Error error = checkDecisionFile(decisions ? *decisions : none))
    return prefixError("decisions: ", std::move(error));
  llvm::raw_string_ostream(file.decisions) << *value;
  return llvm::Error::success();
}

/// Reads "tp", or the sub-axis "tp:(1)2".
llvm::Expected<AxisRef> FileParser::readAxis(const llvm::json::Value &value) {
  const Mesh &mesh = file.mesh;
  std::optional<StringRef> name = value.getAsString();
  if (!name)
    return expects("the name of an axis", &value);
  auto [axisName, part] = name->split(":(");
  std::optional<unsigned> axis = mesh.find(axisName);
  if (!axis) {
    llvm::SmallVector<StringRef> known(mesh.names.begin(), mesh.names.end());
    return createStringError("expects an axis of mesh " + print(mesh) +
                             " but got '" + axisName + "'" +
                             didYouMean(axisName, known));
  }
  AxisRef ref = mesh.fullAxis(*axis);
  if (axisName.size() == name->size())
    return ref;
  int64_t all = ref.size;
  if (part.consumeInteger(10, ref.preSize) || !part.consume_front(")") ||
      part.getAsInteger(10, ref.size) || ref.preSize < 1 || ref.size < 1 ||
      ref.preSize > all || ref.size > all || all % ref.end() != 0)
    return createStringError("expects a sub-axis, as " + axisName +
                             ":(1)2, of the " + Twine(all) + " devices of '" +
                             axisName + "' but got '" + *name + "'");
  return ref;
}

llvm::Expected<AxisList> FileParser::readAxes(const llvm::json::Value &value) {
  const Array *names = value.getAsArray();
  if (!names)
    return expects("a list of axes", &value);
  AxisList axes;
  for (const llvm::json::Value &name : *names) {
    auto axis = readAxis(name);
    if (!axis)
      return axis.takeError();
    if (overlapsAny(axes, *axis))
      return createStringError("expects each axis once but got '" +
                               *name.getAsString() + "' twice");
    // An axis with one device shards nothing.
    if (axis->size > 1)
      axes.push_back(*axis);
  }
  return mergeAdjacent(axes);
}

/// Reads a list of axes for each dimension; none has an axis of another.
llvm::Error FileParser::readDims(const Object &from, StringRef key, DimAxes &to,
                                 std::optional<size_t> rank) {
  const llvm::json::Value *value = from.get(key);
  const Array *dims = value ? value->getAsArray() : nullptr;
  if (!dims)
    return prefixError(key + ": ",
                       expects("a list of axes for each dimension", value));
  AxisList used;
  for (auto [i, dim] : llvm::enumerate(*dims)) {
    auto axes = readAxes(dim);
    std::string place = (key + ": dimension " + Twine(i) + ": ").str();
    if (!axes)
      return prefixError(place, axes.takeError());
    for (const AxisRef &axis : *axes)
      if (overlapsAny(used, axis))
        return createStringError(place + "expects each axis once but got '" +
                                 file.mesh.names[axis.axis] +
                                 "', which another dimension has");
    used.append(*axes);
    to.push_back(*axes);
  }
  if (rank && to.size() != *rank)
    return createStringError(key + ": expects axes for " + Twine(*rank) +
                             " dimensions but got " + Twine(to.size()));
  return llvm::Error::success();
}

llvm::Error FileParser::readView(const Object &from, ShardedView &to) {
  if (llvm::Error error = checkKeys(
          from, {"name", "offset", "shape", "strides", "axes", "propagated"}))
    return error;
  std::optional<StringRef> name = from.getString("name");
  if (!name)
    return prefixError("name: ", expects("a parameter", from.get("name")));
  to.name = name->str();
  std::optional<int64_t> offset = from.getInteger("offset");
  if (!offset || *offset < 0)
    return prefixError("offset: ",
                       expects("an integer of at least 0", from.get("offset")));
  to.offset = *offset;
  if (llvm::Error error = readSizes(from, "shape", 1, to.shape))
    return error;
  if (llvm::Error error = readSizes(from, "strides", 0, to.strides))
    return error;
  if (llvm::Error error = readFlag(from, "propagated", to.isPropagated))
    return error;
  return readDims(from, "axes", to.axes, to.shape.size());
}

llvm::Error FileParser::readTensor(const Object &from, ShardedTensor &to) {
  if (llvm::Error error =
          checkKeys(from, {"shape", "axes", "views", "propagated"}))
    return error;
  if (llvm::Error error = readSizes(from, "shape", 1, to.shape))
    return error;
  const llvm::json::Value *views = from.get("views");
  if (bool(views) == bool(from.get("axes")))
    return createStringError("expects \"axes\" or \"views\" but got " +
                             Twine(views ? "both" : "neither"));
  if (!views) {
    if (llvm::Error error = readFlag(from, "propagated", to.isPropagated))
      return error;
    return readDims(from, "axes", to.axes.emplace(), to.shape.size());
  }
  const Array *list = views->getAsArray();
  if (!list)
    return prefixError("views: ", expects("a list of views", views));
  for (auto [i, value] : llvm::enumerate(*list)) {
    std::string place = ("views: " + Twine(i) + ": ").str();
    if (!value.getAsObject())
      return prefixError(place, expects("an object", &value));
    if (llvm::Error error =
            readView(*value.getAsObject(), to.views.emplace_back()))
      return prefixError(place, std::move(error));
  }
  return llvm::Error::success();
}

llvm::Error FileParser::readInput(const Object &from, ShardedInput &to) {
  if (llvm::Error error = checkKeys(from, {"shape", "axes", "propagated"}))
    return error;
  if (from.get("shape"))
    if (llvm::Error error = readSizes(from, "shape", 1, to.shape.emplace()))
      return error;
  if (llvm::Error error = readFlag(from, "propagated", to.isPropagated))
    return error;
  return readDims(from, "axes", to.axes,
                  to.shape ? std::optional<size_t>(to.shape->size())
                           : std::nullopt);
}

llvm::Error FileParser::readModule(const Object &from, ShardedModule &to) {
  if (llvm::Error error =
          checkKeys(from, {"input", "output", "output_partial"}))
    return error;
  if (llvm::Error error = readDims(from, "input", to.input))
    return error;
  if (const llvm::json::Value *partial = from.get("output_partial")) {
    auto axes = readAxes(*partial);
    if (!axes)
      return prefixError("output_partial: ", axes.takeError());
    to.outputPartial = *axes;
  }
  return readDims(from, "output", to.output);
}

/// Reads an object of objects.
template <typename T>
llvm::Error FileParser::readEach(StringRef key, std::map<std::string, T> &to,
                                 llvm::Error (FileParser::*read)(const Object &,
                                                                 T &)) {
  const llvm::json::Value *value = root.get(key);
  if (!value)
    return llvm::Error::success();
  const Object *entries = value->getAsObject();
  if (!entries)
    return prefixError(key + ": ", expects("an object", value));
  for (StringRef name : sortKeys(*entries)) {
    const llvm::json::Value *entry = entries->get(name);
    llvm::Error error =
        entry->getAsObject()
            ? (this->*read)(*entry->getAsObject(), to[name.str()])
            : expects("an object", entry);
    if (error)
      return prefixError(key + ": " + name + ": ", std::move(error));
  }
  return llvm::Error::success();
}

llvm::Expected<ShardingFile> FileParser::parse() {
  auto value = parseJson(text);
  if (!value)
    return value.takeError();
  if (!value->getAsObject())
    return expects("an object, {\"tessera\": \"" + Twine(kFileMagic) +
                       "\", ...},",
                   &*value);
  root = std::move(*value->getAsObject());
  if (llvm::Error error = checkHead())
    return std::move(error);
  if (llvm::Error error = readMesh())
    return prefixError("mesh: ", std::move(error));
  if (llvm::Error error = readLayout())
    return std::move(error);
  if (llvm::Error error = readDecisions())
    return std::move(error);
  if (llvm::Error error =
          readEach("tensors", file.tensors, &FileParser::readTensor))
    return std::move(error);
  if (llvm::Error error =
          readEach("inputs", file.inputs, &FileParser::readInput))
    return std::move(error);
  if (llvm::Error error =
          readEach("modules", file.modules, &FileParser::readModule))
    return std::move(error);
  return std::move(file);
}

llvm::Expected<ShardingFile> tessera::parseShardingFile(StringRef text) {
  return FileParser(text).parse();
}
