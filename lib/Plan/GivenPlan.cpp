//===- GivenPlan.cpp - Plans as users give them ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fields that options, text and JSON give, and the plan that they complete.
//
//===----------------------------------------------------------------------===//

#include "tessera/Plan/PlanFields.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Errors.h"
#include "tessera/Support/Spelling.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>
#include <set>

using namespace llvm;
using namespace tessera;
using Field = PlanField;

static size_t indexOf(const PlanField &field) {
  return &field - getPlanFields().begin();
}

static Error makeError(const PlanField &field, const Twine &got) {
  return createStringError(field.name + ": expects " + field.getForm() +
                           " but got " + got);
}

static Error unknownField(StringRef name) {
  SmallVector<StringRef> known;
  for (const PlanField &field : getPlanFields())
    known.push_back(field.name);
  return createStringError(name + ": expects a known field" +
                           didYouMean(name, known));
}

bool GivenPlan::has(StringRef name) const {
  const PlanField *field = findPlanField(name);
  return field && !given.empty() && given.test(indexOf(*field));
}

/// False if the text is not a value of the field.
bool GivenPlan::assign(const PlanField &field, StringRef text) {
  if (std::holds_alternative<Field::Derived>(field.type)) {
    std::optional<int64_t> number = parseCount(text);
    if (!number || *number < 1 || *number > std::numeric_limits<int32_t>::max())
      return false;
    (field.name == "ranks" ? gpus : globalBatch) = *number;
  } else if (!field.parse(text, plan)) {
    return false;
  }
  given.resize(getPlanFields().size());
  given.set(indexOf(field));
  return true;
}

void GivenPlan::set(const Plan &other) {
  plan = other;
  given.resize(getPlanFields().size());
  for (const PlanField &field : getPlanFields())
    if (!std::holds_alternative<Field::Derived>(field.type))
      given.set(indexOf(field));
}

void GivenPlan::forget(StringRef name) {
  if (has(name))
    given.reset(indexOf(*findPlanField(name)));
}

Error GivenPlan::set(StringRef name, StringRef text) {
  const PlanField *field = findPlanField(name);
  if (!field)
    return unknownField(name);
  if (assign(*field, text)) {
    // Both fields set the same value; the last one wins.
    if (name == "micro-batches")
      forget("global-batch");
    else if (name == "global-batch")
      forget("micro-batches");
    return Error::success();
  }
  SmallVector<StringRef> names;
  if (auto *choice = std::get_if<Field::Choice>(&field->type))
    append_range(names, choice->names());
  return makeError(*field, "'" + text + "'" + didYouMean(text, names));
}

Error GivenPlan::parse(StringRef text) {
  // A part without a name continues a list.
  std::string name, value;
  SmallVector<StringRef> parts;
  text.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (size_t i = 0; i < parts.size(); ++i) {
    std::tie(name, value) = parts[i].split('=');
    while (i + 1 < parts.size() && !parts[i + 1].contains('='))
      value += "," + parts[++i].str();
    if (Error error = set(name, value))
      return error;
  }
  return Error::success();
}

Error GivenPlan::read(const json::Object &object) {
  std::set<std::string> names;
  for (const auto &entry : object)
    names.insert(entry.first.str());
  for (const std::string &name : names)
    if (!findPlanField(name))
      return unknownField(name);
  if (object.get("global-batch") && object.get("micro-batches"))
    return createStringError(
        "micro-batches: expects no global-batch beside it");
  for (const PlanField &field : getPlanFields()) {
    const json::Value *value = object.get(field.name);
    if (const json::Value *old = object.get(field.old)) {
      if (value)
        return createStringError(field.name + ": expects no " + field.old +
                                 " beside it");
      value = old;
    }
    if (!value)
      continue;
    std::optional<std::string> text = field.toText(*value);
    if (!text || !assign(field, *text))
      return makeError(field, formatv("{0}", *value).str());
  }
  return Error::success();
}

Error GivenPlan::complete() {
  if (Error error = plan.checkFields())
    return takeFirst(std::move(error));
  if (has("ranks")) {
    double others = double(plan.tp) * plan.pp * plan.cp;
    if (!has("dp") && others <= gpus && gpus % int64_t(others) == 0)
      plan.dp = gpus / int64_t(others);
    if (Error error = plan.checkDevices(gpus))
      return error;
  }
  if (has("global-batch"))
    return plan.setGlobalBatch(globalBatch);
  return Error::success();
}

json::Object tessera::toJson(const Plan &plan) {
  json::Object object;
  for (const PlanField &field : getPlanFields())
    if (field.uses & Field::kJson)
      object[field.name] = field.toJson(plan);
  return object;
}

Expected<Plan> tessera::planFromJson(const json::Object &object) {
  GivenPlan given;
  if (Error error = given.read(object))
    return std::move(error);
  if (Error error = given.complete())
    return std::move(error);
  return given.plan;
}
