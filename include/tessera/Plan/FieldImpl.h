//===- FieldImpl.h - Definitions of Field's functions -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For the sources that have a table of fields: the functions of Field<StructT>,
// which they instantiate, and the parts that rows are made of.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLAN_FIELDIMPL_H
#define TESSERA_PLAN_FIELDIMPL_H

#include "tessera/Plan/EnumNames.h"
#include "tessera/Plan/Field.h"
#include "tessera/Support/Bytes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

namespace tessera {

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The largest size or count: products of few of them stay exact.
inline constexpr int64_t kMostCount = std::numeric_limits<int32_t>::max();

/// Sums of FieldUse::Kind values that many rows have.
namespace uses {
inline constexpr unsigned kStored = FieldUse::kJson | FieldUse::kAttribute;
inline constexpr unsigned kPriced = kStored | FieldUse::kPriced;
inline constexpr unsigned kCompiled = kStored | FieldUse::kCompiled;
inline constexpr unsigned kBoth = kPriced | kCompiled;
inline constexpr unsigned kOnlyPriced = kPriced | FieldUse::kOnlyPriced;
inline constexpr unsigned kDevices = FieldUse::kDevices;
inline constexpr unsigned kForward = FieldUse::kForward;
} // namespace uses

/// A size or a count from 1.
template <typename StructT>
typename Field<StructT>::Integer makeSize(int64_t StructT::*member) {
  return {member, 1, kMostCount};
}

/// A choice of the values of an enum, which is the member's type; `file` is
/// Field::Choice::file.
template <auto member, typename StructT, typename EnumT>
typename Field<StructT>::Choice
makeChoice(EnumT StructT::*, std::string StructT::*file = nullptr) {
  return {
      getNames<EnumT>,
      [](const StructT &of) { return static_cast<size_t>(of.*member); },
      [](StructT &of, size_t value) { of.*member = static_cast<EnumT>(value); },
      file};
}
template <auto member> auto makeChoice() { return makeChoice<member>(member); }

/// Prints a short text that parses to the same number; small integers with all
/// digits.
std::string printNumber(double number);
/// False if the text is not a finite number.
bool parseNumber(llvm::StringRef text, double &number);

//===----------------------------------------------------------------------===//
// Names and texts
//===----------------------------------------------------------------------===//

template <typename StructT> bool Field<StructT>::isOnByDefault() const {
  auto *flag = std::get_if<Flag>(&type);
  return flag && StructT().*flag->member;
}

template <typename StructT> std::string Field<StructT>::getOption() const {
  return "--" + name.str();
}

template <typename StructT>
llvm::StringRef Field<StructT>::getPlaceholder() const {
  return isOnByDefault() ? "on|off" : value;
}

template <typename StructT> std::string Field<StructT>::getOldOption() const {
  if (isOnByDefault())
    return "--no-" + name.str();
  return old.empty() ? "" : "--" + old.str();
}

template <typename StructT> std::string Field<StructT>::getParameter() const {
  std::string parameter = name.str();
  std::replace(parameter.begin(), parameter.end(), '-', '_');
  return parameter;
}

template <typename StructT> std::string Field<StructT>::getHelp() const {
  std::string names;
  if (auto *choice = std::get_if<Choice>(&type))
    names = llvm::join(choice->names(), ", ");
  auto [before, after] = help.split("{}");
  std::string text =
      (before + (help.contains("{}") ? names : "") + after).str();
  if (value.empty() || help.contains("default"))
    return text;
  return text + "; default: " + print(StructT());
}

template <typename StructT> llvm::StringRef Field<StructT>::getBrief() const {
  return isCommon && brief.empty() ? help : brief;
}

template <typename StructT> std::string Field<StructT>::getForm() const {
  return std::visit(
      llvm::makeVisitor(
          [](const Integer &i) -> std::string {
            return llvm::formatv("an integer from {0} to {1}", i.least, i.most);
          },
          [](const Flag &) -> std::string { return "true or false"; },
          [](const Number &n) -> std::string {
            std::string text = "a number of at least " + printNumber(n.least);
            if (std::isfinite(n.below))
              text += " and below " + printNumber(n.below);
            return text;
          },
          [](const Choice &c) -> std::string {
            return "one of " + llvm::join(c.names(), ", ") +
                   (c.file ? " or FILE.csv" : "");
          },
          [](const Text &t) -> std::string { return t.form.str(); },
          [](const Derived &) -> std::string {
            return llvm::formatv("an integer from 1 to {0}", kMostCount);
          }),
      type);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

template <typename StructT>
std::string Field<StructT>::print(const StructT &from) const {
  return std::visit(
      llvm::makeVisitor(
          [&](const Integer &i) { return std::to_string(from.*i.member); },
          [&](const Flag &f) -> std::string {
            return from.*f.member ? "true" : "false";
          },
          [&](const Number &n) { return printNumber(from.*n.member); },
          [&](const Choice &c) {
            if (c.file && !(from.*c.file).empty())
              return from.*c.file;
            return c.names()[c.get(from)].str();
          },
          [&](const Text &t) { return t.print(from); },
          [&](const Derived &d) { return std::to_string((from.*d.get)()); }),
      type);
}

template <typename StructT>
bool Field<StructT>::isInRange(const StructT &of) const {
  return std::visit(
      llvm::makeVisitor(
          [&](const Integer &i) {
            return of.*i.member >= i.least && of.*i.member <= i.most;
          },
          [&](const Number &n) {
            return of.*n.member >= n.least && of.*n.member < n.below;
          },
          [](const auto &) { return true; }),
      type);
}

template <typename StructT>
bool Field<StructT>::parse(llvm::StringRef text, StructT &to) const {
  StructT changed = to;
  bool parsed = std::visit(
      llvm::makeVisitor(
          [&](const Integer &i) {
            std::optional<int64_t> number = parseCount(text);
            changed.*i.member = number.value_or(0);
            return number.has_value();
          },
          [&](const Flag &f) {
            changed.*f.member = text == "true";
            return text == "true" || text == "false";
          },
          [&](const Number &n) { return parseNumber(text, changed.*n.member); },
          [&](const Choice &c) {
            const llvm::StringRef *found = llvm::find(c.names(), text);
            bool isName = found != c.names().end();
            if (!isName && !(c.file && text.ends_with(".csv")))
              return false;
            c.set(changed,
                  isName ? found - c.names().begin() : c.get(StructT()));
            if (c.file)
              changed.*c.file = isName ? "" : text.str();
            return true;
          },
          [&](const Text &t) { return t.parse(text, changed); },
          [&](const Derived &) { return false; }),
      type);
  if (!parsed || !isInRange(changed))
    return false;
  to = std::move(changed);
  return true;
}

template <typename StructT>
llvm::json::Value Field<StructT>::toJson(const StructT &from) const {
  using llvm::json::Value;
  return std::visit(
      llvm::makeVisitor(
          [&](const Integer &i) { return Value(from.*i.member); },
          [&](const Flag &f) { return Value(from.*f.member); },
          [&](const Number &n) { return Value(from.*n.member); },
          [&](const Derived &d) { return Value((from.*d.get)()); },
          [&](const auto &) { return Value(print(from)); }),
      type);
}

template <typename StructT>
std::optional<std::string>
Field<StructT>::toText(const llvm::json::Value &value) const {
  using Result = std::optional<std::string>;
  auto integer = [&]() -> Result {
    if (std::optional<int64_t> number = value.getAsInteger())
      return std::to_string(*number);
    return std::nullopt;
  };
  return std::visit(
      llvm::makeVisitor(
          [&](const Integer &) { return integer(); },
          [&](const Derived &) { return integer(); },
          [&](const Flag &) -> Result {
            if (std::optional<bool> flag = value.getAsBoolean())
              return *flag ? "true" : "false";
            return std::nullopt;
          },
          [&](const Number &) -> Result {
            if (std::optional<double> number = value.getAsNumber())
              return printNumber(*number);
            return std::nullopt;
          },
          [&](const auto &) -> Result {
            if (std::optional<llvm::StringRef> text = value.getAsString())
              return text->str();
            return std::nullopt;
          }),
      type);
}

template <typename StructT>
bool Field<StructT>::isEqual(const StructT &a, const StructT &b) const {
  return std::visit(
      llvm::makeVisitor(
          [&](const Integer &i) { return a.*i.member == b.*i.member; },
          [&](const Flag &f) { return a.*f.member == b.*f.member; },
          [&](const Number &n) { return a.*n.member == b.*n.member; },
          [&](const Choice &c) {
            return c.get(a) == c.get(b) && (!c.file || a.*c.file == b.*c.file);
          },
          [&](const Text &t) { return t.print(a) == t.print(b); },
          // A derived field is equal if all other fields are.
          [&](const Derived &) { return true; }),
      type);
}

template <typename StructT>
template <typename DerivedT>
Field<DerivedT> Field<StructT>::as() const {
  using Other = Field<DerivedT>;
  using OtherType = typename Other::Type;
  OtherType other = std::visit(
      llvm::makeVisitor(
          [](const Integer &i) -> OtherType {
            return typename Other::Integer{i.member, i.least, i.most};
          },
          [](const Flag &f) -> OtherType {
            return typename Other::Flag{f.member};
          },
          [](const Number &n) -> OtherType {
            return typename Other::Number{n.member, n.least, n.below};
          },
          [](const Choice &c) -> OtherType {
            return typename Other::Choice{c.names, c.get, c.set, c.file};
          },
          [](const Text &t) -> OtherType {
            return typename Other::Text{t.form, t.print, t.parse};
          },
          [](const Derived &d) -> OtherType {
            return typename Other::Derived{d.get};
          }),
      type);
  return {name,     value, uses, std::move(other), help, place,
          isCommon, brief, old};
}

/// The fields of the bases of a struct, in the order of the bases.
template <typename DerivedT, typename... BaseTs>
std::vector<Field<DerivedT>> joinFields() {
  std::vector<Field<DerivedT>> all;
  auto add = [&](auto fields) {
    for (const auto &field : fields)
      all.push_back(field.template as<DerivedT>());
  };
  (add(getFields<BaseTs>()), ...);
  return all;
}

/// True if all fields of two structs are equal.
template <typename StructT>
bool haveEqualFields(const StructT &a, const StructT &b) {
  return llvm::all_of(getFields<StructT>(), [&](const Field<StructT> &field) {
    return field.isEqual(a, b);
  });
}

} // namespace tessera

#endif // TESSERA_PLAN_FIELDIMPL_H
