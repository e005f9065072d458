//===- PlanSpace.h - The plans that a search may choose ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of a search: for each field of a plan a value, a list or a range.
// Fields that are not given are free if they are searched fields, and otherwise
// have the base plan's value. This file knows nothing of models; LayoutSpace.h
// lists the layouts.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_PLANSPACE_H
#define TESSERA_PLANNING_PLANSPACE_H

#include "tessera/Cost/ExecutionFields.h"
#include <map>

namespace tessera {

/// The values that a field may have.
class FieldChoice {
public:
  /// Parses "8", "1,2,4", "2..16", "..16" or "8.." for numbers, comma-separated
  /// names for choices, "on" or "off" for flags. Fails if the text is not a
  /// value of the field, or on a range for a field without numbers.
  static llvm::Expected<FieldChoice> parse(const cost::ExecutedPlanField &field,
                                           llvm::StringRef text);

  const cost::ExecutedPlanField &getField() const { return *field; }
  /// The text that was given.
  llvm::StringRef getText() const { return text; }
  bool permits(const cost::ExecutedPlan &plan) const;
  /// Whether a field of numbers may have this value.
  bool permits(int64_t value) const;
  /// The listed values: all of them unless hasRange().
  std::vector<int64_t> listNumbers() const;
  /// The values as the option spells them, in the order given, each once. A
  /// range has its ends and the numbers between that isRound() takes. A range
  /// of devices without an end goes to `devices`; others fail.
  llvm::Expected<std::vector<std::string>> listTexts(int64_t devices) const;
  bool hasRange() const;
  /// The ends of a range, or the least and largest value of a list.
  std::pair<int64_t, int64_t> getEnds() const;
  /// One plan for each of the values. Numbers must have no range.
  std::vector<cost::ExecutedPlan>
  listValues(const cost::ExecutedPlan &base) const;

private:
  const cost::ExecutedPlanField *field = nullptr;
  std::string text;
  /// Inclusive ranges of numbers.
  std::vector<std::pair<int64_t, int64_t>> ranges;
  /// For other fields: the texts of the values, and plans that have them.
  std::vector<std::string> texts;
  std::vector<cost::ExecutedPlan> values;
};

/// The fields that are searched if they are not given, in the order in which a
/// report lists them.
llvm::ArrayRef<llvm::StringRef> getSearchedFields();

/// True for powers of two and three times a power of two. Sizes without a
/// divisor rule (chunks, devices of a range) are tried only at these numbers.
bool isRound(int64_t number);

/// The plans of a search.
class PlanSpace {
public:
  /// The base plan, with the values of fields that are not searched.
  cost::ExecutedPlan base;
  /// Only plans that compile() can build (checkCompiled).
  bool compilable = false;

  /// Restricts a field; the last call for a field holds. Fails where
  /// FieldChoice::parse() fails.
  llvm::Error constrain(llvm::StringRef name, llvm::StringRef text);
  void release(llvm::StringRef name) { choices.erase(name.str()); }
  /// Null if the field is not given.
  const FieldChoice *find(llvm::StringRef name) const;
  /// Whether the plan's value of the field of this name is permitted.
  bool permits(llvm::StringRef name, const cost::ExecutedPlan &plan) const;
  /// Names of the given fields, in the order of the table.
  std::vector<llvm::StringRef> listGiven() const;
  /// The base plan with each combination of values of the fields that are given
  /// and not searched, in the order of the table.
  std::vector<cost::ExecutedPlan> listBases() const;

private:
  std::map<std::string, FieldChoice, std::less<>> choices;
};

} // namespace tessera

#endif // TESSERA_PLANNING_PLANSPACE_H
