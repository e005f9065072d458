//===- PlanSpace.cpp - The plans that a search chooses from ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/PlanSpace.h"
#include "tessera/Support/Bytes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <limits>

using namespace tessera;
using llvm::StringRef;

/// The largest size or count of a field.
static constexpr int64_t kMostSize = std::numeric_limits<int32_t>::max();

/// Returns the number that a field has in a plan; none for other fields.
static std::optional<int64_t> numberOf(const cost::ExecutedPlanField &field,
                                       const cost::ExecutedPlan &plan) {
  if (auto *integer =
          std::get_if<cost::ExecutedPlanField::Integer>(&field.type))
    return plan.*integer->member;
  if (auto *derived =
          std::get_if<cost::ExecutedPlanField::Derived>(&field.type))
    return (plan.*derived->get)();
  return std::nullopt;
}

static std::pair<int64_t, int64_t>
limitsOf(const cost::ExecutedPlanField &field) {
  if (auto *integer =
          std::get_if<cost::ExecutedPlanField::Integer>(&field.type))
    return {integer->least, integer->most};
  return {1, kMostSize};
}

static llvm::Error makeError(const cost::ExecutedPlanField &field,
                             StringRef form, StringRef got) {
  return llvm::createStringError(field.name + ": expects " + form +
                                 " but got '" + got + "'");
}

static std::string numberForm(const cost::ExecutedPlanField &field) {
  return field.getForm() + ", a list of them or a range as 2..16";
}

/// Parses "8" or "2..16" or "..16" or "8..".
static llvm::Expected<std::pair<int64_t, int64_t>>
parseRange(const cost::ExecutedPlanField &field, StringRef text) {
  std::pair<int64_t, int64_t> limits = limitsOf(field);
  size_t dots = text.find("..");
  bool isRange = dots != StringRef::npos;
  StringRef first = text.take_front(dots);
  StringRef last = isRange ? text.drop_front(dots + 2) : first;
  std::pair<int64_t, int64_t> range = limits;
  auto read = [&](StringRef end, int64_t &number) {
    if (end.empty() && isRange && text != "..")
      return true;
    std::optional<int64_t> count = parseCount(end);
    number = count.value_or(0);
    return count && number >= limits.first && number <= limits.second;
  };
  if (!read(first, range.first) || !read(last, range.second))
    return makeError(field, numberForm(field), text);
  if (range.first > range.second)
    return makeError(field, "a range from its least to its largest value",
                     text);
  return range;
}

llvm::Expected<FieldChoice>
FieldChoice::parse(const cost::ExecutedPlanField &field, StringRef text) {
  FieldChoice choice;
  choice.field = &field;
  choice.text = text.str();
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',');
  if (numberOf(field, cost::ExecutedPlan())) {
    for (StringRef part : parts) {
      auto range = parseRange(field, part);
      if (!range)
        return range.takeError();
      choice.ranges.push_back(*range);
    }
    return choice;
  }
  bool isFlag =
      std::holds_alternative<cost::ExecutedPlanField::Flag>(field.type);
  auto add = [&](StringRef part) {
    StringRef value = part;
    if (isFlag)
      value = part == "on" ? "true" : part == "off" ? "false" : "";
    cost::ExecutedPlan plan;
    if (!field.parse(value, plan))
      return false;
    choice.texts.push_back(value.str());
    choice.values.push_back(std::move(plan));
    return true;
  };
  // A single value may have commas of its own.
  if (add(text))
    return choice;
  for (StringRef part : parts)
    if (!add(part))
      return makeError(
          field, isFlag ? "on, off or on,off" : field.getForm() + " or a list",
          part);
  return choice;
}

bool FieldChoice::permits(int64_t value) const {
  return llvm::any_of(ranges, [&](const auto &range) {
    return range.first <= value && value <= range.second;
  });
}

bool FieldChoice::permits(const cost::ExecutedPlan &plan) const {
  if (std::optional<int64_t> number = numberOf(*field, plan))
    return permits(*number);
  return llvm::any_of(values, [&](const cost::ExecutedPlan &value) {
    return field->isEqual(value, plan);
  });
}

bool FieldChoice::hasRange() const {
  return llvm::any_of(
      ranges, [](const auto &range) { return range.first < range.second; });
}

std::vector<int64_t> FieldChoice::listNumbers() const {
  std::vector<int64_t> numbers;
  for (const auto &range : ranges)
    if (range.first == range.second)
      numbers.push_back(range.first);
  llvm::sort(numbers);
  numbers.erase(llvm::unique(numbers), numbers.end());
  return numbers;
}

llvm::Expected<std::vector<std::string>>
FieldChoice::listTexts(int64_t devices) const {
  std::vector<std::string> listed;
  auto add = [&](std::string value) {
    if (!llvm::is_contained(listed, value))
      listed.push_back(std::move(value));
  };
  for (const std::string &value : texts)
    add(value == "true" ? "on" : value == "false" ? "off" : value);
  for (auto [first, last] : ranges) {
    if (first < last && last == kMostSize) {
      if (!(field->uses & FieldUse::kDevices))
        return makeError(*field, "a list, or a range with both ends, as 2..16,",
                         text);
      last = std::max(first, devices);
    }
    add(std::to_string(first));
    for (int64_t power = 1; power < last; power *= 2)
      for (int64_t number : {power, power + power / 2})
        if (first < number && number < last)
          add(std::to_string(number));
    add(std::to_string(last));
  }
  return listed;
}

std::pair<int64_t, int64_t> FieldChoice::getEnds() const {
  std::pair<int64_t, int64_t> ends = ranges.front();
  for (const auto &range : ranges) {
    ends.first = std::min(ends.first, range.first);
    ends.second = std::max(ends.second, range.second);
  }
  return ends;
}

std::vector<cost::ExecutedPlan>
FieldChoice::listValues(const cost::ExecutedPlan &base) const {
  std::vector<std::string> all = texts;
  for (int64_t number : listNumbers())
    all.push_back(std::to_string(number));
  std::vector<cost::ExecutedPlan> plans;
  for (const std::string &value : all) {
    cost::ExecutedPlan plan = base;
    if (field->parse(value, plan))
      plans.push_back(std::move(plan));
  }
  return plans;
}

llvm::ArrayRef<StringRef> tessera::getSearchedFields() {
  static constexpr StringRef names[] = {
      "ranks",        "dp",           "tp",           "sp",
      "cp",           "ep",           "etp",          "pp",
      "schedule",     "vpp",          "micro-batch",  "micro-batches",
      "global-batch", "zero",         "zero2-reduce", "shard-ranks",
      "recompute",    "keep-gathered"};
  return names;
}

bool tessera::isRound(int64_t number) {
  while (number % 2 == 0 && number > 0)
    number /= 2;
  return number == 1 || number == 3;
}

llvm::Error PlanSpace::constrain(StringRef name, StringRef text) {
  const Field<cost::ExecutedPlan> *field = findField<cost::ExecutedPlan>(name);
  assert(field && "expects the name of a field");
  auto choice = FieldChoice::parse(*field, text);
  if (!choice)
    return choice.takeError();
  bool isSearched = llvm::is_contained(getSearchedFields(), field->name);
  if (!isSearched && choice->hasRange())
    return makeError(*field, "a value or a list", text);
  for (const cost::ExecutedPlan &value : choice->listValues(base))
    if (!value.scheduleFile.empty())
      return makeError(*field, "names of schedules in a search", text);
  choices[field->name.str()] = std::move(*choice);
  return llvm::Error::success();
}

const FieldChoice *PlanSpace::find(StringRef name) const {
  auto it = choices.find(std::string_view(name));
  return it == choices.end() ? nullptr : &it->second;
}

bool PlanSpace::permits(StringRef name, const cost::ExecutedPlan &plan) const {
  const FieldChoice *choice = find(name);
  return !choice || choice->permits(plan);
}

std::vector<StringRef> PlanSpace::listGiven() const {
  std::vector<StringRef> names;
  for (const cost::ExecutedPlanField &field : getFields<cost::ExecutedPlan>())
    if (find(field.name))
      names.push_back(field.name);
  return names;
}

std::vector<cost::ExecutedPlan> PlanSpace::listBases() const {
  std::vector<cost::ExecutedPlan> bases{base};
  for (StringRef name : listGiven()) {
    if (llvm::is_contained(getSearchedFields(), name))
      continue;
    std::vector<cost::ExecutedPlan> next;
    for (const cost::ExecutedPlan &plan : bases)
      llvm::append_range(next, find(name)->listValues(plan));
    bases = std::move(next);
  }
  return bases;
}
