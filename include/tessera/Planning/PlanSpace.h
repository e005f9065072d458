//===- PlanSpace.h - The plans among which a search chooses -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the options of a search say: for each field of a plan a value, a list or
// a range. Fields that are not given are free where they are among the searched
// ones, and have the base plan's value elsewhere. Nothing here knows of models;
// LayoutSpace.h lists the layouts.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_PLANSPACE_H
#define TESSERA_PLANNING_PLANSPACE_H

#include "tessera/Support/PlanFields.h"
#include <map>

namespace tessera {

/// The values that a field may have.
class FieldChoice {
public:
  /// Reads "8", "1,2,4", "2..16", "..16" or "8.." of numbers, names separated
  /// by commas of others, "on" or "off" of flags. Errors: a text that is no
  /// value of the field, a range without one.
  static llvm::Expected<FieldChoice> parse(const PlanField &field,
                                           llvm::StringRef text);

  const PlanField &getField() const { return *field; }
  /// As it was given.
  llvm::StringRef getText() const { return text; }
  bool permits(const Plan &plan) const;
  /// Of a field of numbers.
  bool permits(int64_t value) const;
  /// The values that are listed: all of them unless hasRange().
  std::vector<int64_t> listNumbers() const;
  bool hasRange() const;
  /// Of a range, its ends; of a list the least and the largest.
  std::pair<int64_t, int64_t> getEnds() const;
  /// Plans that have one of the values each; of numbers without a range.
  std::vector<Plan> listValues(const Plan &base) const;

private:
  const PlanField *field = nullptr;
  std::string text;
  /// Of numbers, inclusive.
  std::vector<std::pair<int64_t, int64_t>> ranges;
  /// Of other fields: texts of the values, and plans that have them.
  std::vector<std::string> texts;
  std::vector<Plan> values;
};

/// The fields that are searched where they are not given, in the order in which
/// a report speaks of them.
llvm::ArrayRef<llvm::StringRef> getSearchedFields();

/// A number that is a power of two, or three times one: of sizes that nothing
/// divides (chunks, devices of a range) only these are tried.
bool isRound(int64_t number);

/// The plans of a search.
class PlanSpace {
public:
  /// The values of fields that are not searched.
  Plan base;
  /// Only plans that compile() builds (checkCompiled).
  bool compilable = false;

  /// Says what a field may be; the last one holds. Errors as of
  /// FieldChoice::parse().
  llvm::Error constrain(llvm::StringRef name, llvm::StringRef text);
  void release(llvm::StringRef name) { choices.erase(name.str()); }
  /// Null if the field is not given.
  const FieldChoice *find(llvm::StringRef name) const;
  /// Whether the field of this name may have the plan's value.
  bool permits(llvm::StringRef name, const Plan &plan) const;
  /// Names of the fields that are given, in the order of the table.
  std::vector<llvm::StringRef> listGiven() const;
  /// The base plan with each combination of values of the fields that are
  /// given and not searched, in the order of the table.
  std::vector<Plan> listBases() const;

private:
  std::map<std::string, FieldChoice, std::less<>> choices;
};

} // namespace tessera

#endif // TESSERA_PLANNING_PLANSPACE_H
