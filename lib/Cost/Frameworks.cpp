//===- Frameworks.cpp - How frameworks run a plan -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads files of share/frameworks and applies their settings.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Frameworks.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Errors.h"
#include "tessera/Support/Json.h"
#include "tessera/Support/Share.h"
#include "tessera/Support/Spelling.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;
using Condition = Framework::Condition;

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// True if the subject of a condition is a name, not a field of a plan.
static bool isName(StringRef subject) {
  return subject == "model" || subject == "device";
}

/// The ends of "2..", "..4" and "2..4"; none if the text is no range.
static std::optional<std::pair<int64_t, int64_t>> parseRange(StringRef text) {
  std::pair<int64_t, int64_t> ends(std::numeric_limits<int64_t>::min(),
                                   std::numeric_limits<int64_t>::max());
  auto [low, high] = text.split("..");
  if (!text.contains("..") || text == ".." ||
      (!low.empty() && low.getAsInteger(10, ends.first)) ||
      (!high.empty() && high.getAsInteger(10, ends.second)))
    return std::nullopt;
  return ends;
}

/// A range of a field that is a number; none for other fields and texts. The
/// number of a field that follows from others (ranks) is a range of one.
static std::optional<std::string> readRange(const ExecutedPlanField &field,
                                            StringRef text) {
  bool isDerived =
      std::holds_alternative<ExecutedPlanField::Derived>(field.type);
  if (!isDerived &&
      !std::holds_alternative<ExecutedPlanField::Integer>(field.type))
    return std::nullopt;
  std::optional<int64_t> number = parseCount(text);
  if (isDerived && number && *number > 0)
    return formatv("{0}..{0}", *number).str();
  auto range = parseRange(text);
  if (!range || range->first > range->second)
    return std::nullopt;
  return text.str();
}

/// Reads the requirement on `subject`.
static Expected<Condition> readCondition(StringRef subject,
                                         const json::Value &value) {
  auto string = value.getAsString();
  std::string text = string ? string->str() : formatv("{0}", value).str();
  const ExecutedPlanField *field = findField<ExecutedPlan>(subject);
  if (!field && !isName(subject))
    return createStringError(
        "expects a field of a plan, 'model' or 'device' but got '" + subject +
        "'");
  if (field)
    if (std::optional<std::string> range = readRange(*field, text))
      return Condition{field->name.str(), *range};
  ExecutedPlan plan;
  if (field && !field->parse(text, plan))
    return createStringError(formatv("{0}: expects {1} but got {2}", subject,
                                     field->getForm(), value));
  if (field)
    return Condition{field->name.str(), field->print(plan)};
  if (!string)
    return createStringError(formatv(
        "{0}: expects a pattern, as \"H100*\", but got {1}", subject, value));
  if (Error error = GlobPattern::create(text).takeError())
    return prefixError(subject + ": ", std::move(error));
  return Condition{subject.str(), text};
}

static bool isMet(const Condition &condition, const ExecutedPlan &plan,
                  const FrameworkRun &run) {
  if (isName(condition.subject))
    return cantFail(GlobPattern::create(condition.pattern))
        .match(condition.subject == "model" ? run.model : run.device);
  std::string value = findField<ExecutedPlan>(condition.subject)->print(plan);
  int64_t number = 0;
  auto range = parseRange(condition.pattern);
  if (!range || StringRef(value).getAsInteger(10, number))
    return value == condition.pattern;
  return range->first <= number && number <= range->second;
}

static bool applies(const Framework::Setting &setting, const ExecutedPlan &plan,
                    const FrameworkRun &run) {
  return setting.alternatives.empty() ||
         any_of(setting.alternatives, [&](ArrayRef<Condition> conditions) {
           return all_of(conditions, [&](const Condition &condition) {
             return isMet(condition, plan, run);
           });
         });
}

void tessera::cost::applyFramework(const Framework &framework,
                                   const GivenExecutedPlan &own,
                                   const FrameworkRun &run,
                                   GivenExecutedPlan &given) {
  for (const Framework::Setting &setting : framework.settings)
    if (applies(setting, given.plan, run))
      given.set(setting.values.without(own));
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Fields that a layout decides and no framework.
static constexpr StringRef kDecided[] = {"forward",
                                         "ranks",
                                         "dp",
                                         "tp",
                                         "pp",
                                         "cp",
                                         "ep",
                                         "etp",
                                         "seq",
                                         "micro-batch",
                                         "micro-batches",
                                         "global-batch"};

/// Fails if an object has another key than these.
static Error checkKeys(const json::Object &object, ArrayRef<StringRef> known) {
  for (StringRef name : sortKeys(object))
    if (!is_contained(known, name))
      return createStringError("expects a known field but got '" + name + "'" +
                               didYouMean(name, known));
  return Error::success();
}

static Error wrongType(StringRef key, StringRef expected,
                       const json::Value *value) {
  return createStringError(
      formatv("{0}: expects {1} but got {2}", key, expected,
              value ? formatv("{0}", *value).str() : "nothing"));
}

static Expected<std::vector<Condition>>
readConditions(const json::Object &object) {
  std::vector<Condition> conditions;
  for (StringRef subject : sortKeys(object)) {
    Expected<Condition> condition =
        readCondition(subject, *object.get(subject));
    if (!condition)
      return condition.takeError();
    conditions.push_back(std::move(*condition));
  }
  return conditions;
}

/// Reads one object of conditions, or a list of alternatives.
static Error readAlternatives(const json::Value &value,
                              Framework::Setting &setting) {
  const json::Array *list = value.getAsArray();
  for (const json::Value &element :
       list ? ArrayRef<json::Value>(list->data(), list->size())
            : ArrayRef<json::Value>(value)) {
    const json::Object *object = element.getAsObject();
    if (!object)
      return wrongType("when", "an object of conditions, or a list of these",
                       &value);
    Expected<std::vector<Condition>> conditions = readConditions(*object);
    if (!conditions)
      return prefixError("when: ", conditions.takeError());
    setting.alternatives.push_back(std::move(*conditions));
  }
  return Error::success();
}

static Expected<Framework::Setting> readSetting(const json::Value &value) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return createStringError(formatv("expects an object but got {0}", value));
  if (Error error = checkKeys(*object, {"when", "set", "source"}))
    return std::move(error);
  const json::Object *fields = object->getObject("set");
  if (!fields)
    return wrongType("set", "an object of fields of a plan",
                     object->get("set"));
  Framework::Setting setting;
  if (Error error = setting.values.read(*fields))
    return prefixError("set: ", std::move(error));
  for (StringRef name : kDecided)
    if (setting.values.has(name))
      return createStringError("set: expects no '" + name +
                               "', which a layout decides");
  if (Error error = takeFirst(setting.values.plan.checkFields()))
    return prefixError("set: ", std::move(error));
  if (!object->getString("source"))
    return wrongType("source", "a text", object->get("source"));
  if (const json::Value *when = object->get("when"))
    if (Error error = readAlternatives(*when, setting))
      return std::move(error);
  return setting;
}

namespace {

/// Reads framework files and those that they are like.
class FrameworkFiles {
public:
  Expected<Framework> parse(StringRef text, StringRef fileName);
  Expected<Framework> read(StringRef path);

private:
  Error readFields(const json::Object &object, StringRef folder,
                   Framework &framework);
  Error readSettings(const json::Array &list, Framework &framework);
  Error addBase(const json::Value &like, StringRef folder,
                Framework &framework);

  /// Paths of the files that are being read.
  SmallVector<std::string, 4> stack;
};

} // namespace

Error FrameworkFiles::addBase(const json::Value &like, StringRef folder,
                              Framework &framework) {
  StringRef name = like.getAsString().value_or("");
  std::string path = findNear(folder, "frameworks", name);
  std::vector<std::string> names = listShared("frameworks");
  if (path.empty())
    return wrongType("like", "one of " + join(names, ", "), &like);
  if (is_contained(stack, path))
    return createStringError("like: expects a framework that does not depend "
                             "on this one but got '" +
                             name + "'");
  Expected<Framework> base = read(path);
  if (!base)
    return base.takeError();
  framework.settings = std::move(base->settings);
  return Error::success();
}

Error FrameworkFiles::readSettings(const json::Array &list,
                                   Framework &framework) {
  for (auto [index, value] : llvm::enumerate(list)) {
    Expected<Framework::Setting> setting = readSetting(value);
    if (!setting)
      return prefixError(formatv("settings[{0}]: ", index).str(),
                         setting.takeError());
    framework.settings.push_back(std::move(*setting));
  }
  return Error::success();
}

Error FrameworkFiles::readFields(const json::Object &object, StringRef folder,
                                 Framework &framework) {
  if (Error error =
          checkKeys(object, {"name", "about", "like", "fitted", "settings"}))
    return error;
  for (StringRef key : {"name", "about"})
    if (!object.getString(key))
      return wrongType(key, "a text", object.get(key));
  framework.name = object.getString("name")->str();
  const json::Value *fitted = object.get("fitted");
  if (fitted && !fitted->getAsBoolean())
    return wrongType("fitted", "true or false", fitted);
  framework.isFitted = fitted && *fitted->getAsBoolean();
  if (const json::Value *like = object.get("like"))
    if (Error error = addBase(*like, folder, framework))
      return error;
  const json::Array *settings = object.getArray("settings");
  if (!settings)
    return wrongType("settings", "a list", object.get("settings"));
  return readSettings(*settings, framework);
}

Expected<Framework> FrameworkFiles::parse(StringRef text, StringRef fileName) {
  Expected<json::Value> value = parseJson(text);
  if (!value)
    return prefixError(fileName + ": ", value.takeError());
  const json::Object *object = value->getAsObject();
  if (!object)
    return createStringError(fileName + ": expects a JSON object");
  Framework framework;
  if (Error error =
          readFields(*object, sys::path::parent_path(fileName), framework))
    return prefixError(fileName + ": ", std::move(error));
  return framework;
}

Expected<Framework> FrameworkFiles::read(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError(path + ": " + buffer.getError().message());
  stack.push_back(path.str());
  Expected<Framework> framework = parse((*buffer)->getBuffer(), path);
  stack.pop_back();
  return framework;
}

Expected<Framework> tessera::cost::parseFramework(StringRef text,
                                                  StringRef fileName) {
  return FrameworkFiles().parse(text, fileName);
}

Expected<Framework> tessera::cost::readFramework(StringRef nameOrFile) {
  Expected<std::string> path =
      resolveShared("frameworks", nameOrFile, "--framework");
  if (!path)
    return path.takeError();
  return FrameworkFiles().read(*path);
}
