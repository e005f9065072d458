//===- Field.h - The fields of a struct of settings -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table for each struct of settings has the name, type, range and help of
// each of its fields; the struct has the defaults. The tables generate the
// options of `tessera plan`, `compile` and `verify`, JSON, `#dist.plan`, what
// reports print, and the messages about all of them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLAN_FIELD_H
#define TESSERA_PLAN_FIELD_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <variant>

namespace tessera {

/// The contexts in which a field can be given or is written.
struct FieldUse {
  /// A sum of these is Field::uses.
  enum Kind : unsigned {
    /// Option of `tessera plan`.
    kPriced = 1,
    /// Option of `tessera compile` and `verify`.
    kCompiled = 2,
    kJson = 4,
    kAttribute = 8,
    /// Compiled programs support only its default.
    kOnlyPriced = 16,
    /// Says how a program is partitioned over devices, and nothing about
    /// training.
    kDevices = 32,
    /// Applies to forward programs too, as fields with kDevices do.
    kForward = 64,
  };
};

/// The sections of a help text that fields are in.
enum class FieldSection {
  Mesh,
  Training,
  Optimizer,
  Kernels,
  /// How another framework runs a step, and settings that only the price knows
  /// and few need: `tessera plan` takes but does not list them; docs/plan.md
  /// does.
  Execution,
};

/// The place of a field in texts.
struct FieldPlace {
  FieldPlace(FieldSection section, unsigned setting = 0)
      : section(section), setting(setting) {}
  FieldSection section;
  /// The position in the line of a report that lists the fields in which
  /// frameworks differ; 0: not there.
  unsigned setting;
};

/// One field. Options and JSON use its name, "micro-batch"; an attribute has
/// '_' instead of '-'.
template <typename StructT> class Field {
public:
  /// An integer from `least` to `most`.
  struct Integer {
    int64_t StructT::*member;
    int64_t least, most;
  };
  /// True or false.
  struct Flag {
    bool StructT::*member;
  };
  /// A number from `least` to below `below`.
  struct Number {
    double StructT::*member;
    double least, below = std::numeric_limits<double>::infinity();
  };
  /// One of several names, or a file.
  struct Choice {
    /// The names; `get` and `set` use a name's index.
    llvm::ArrayRef<llvm::StringRef> (*names)();
    std::function<size_t(const StructT &)> get;
    std::function<void(StructT &, size_t)> set;
    /// The member for the name of a file, which ends in ".csv" and replaces the
    /// names; null if the field has no file.
    std::string StructT::*file = nullptr;
  };
  /// A value with its own syntax.
  struct Text {
    /// "none, selective, ... or auto=BYTES".
    llvm::StringRef form;
    std::function<std::string(const StructT &)> print;
    std::function<bool(llvm::StringRef, StructT &)> parse;
  };
  /// A value that follows from other fields, and determines one of them if that
  /// one is not given.
  struct Derived {
    int64_t (StructT::*get)() const;
  };
  using Type = std::variant<Integer, Flag, Number, Choice, Text, Derived>;

  llvm::StringRef name;
  /// The placeholder of its value in a help text; empty for a flag.
  llvm::StringRef value;
  /// FieldUse::Kind values.
  unsigned uses;
  Type type;
  /// One paragraph; "{}" is replaced by the names of a choice.
  llvm::StringRef help;
  FieldPlace place = FieldSection::Training;
  /// True if most users need it: `--help` shows it, not only `--help-all`.
  bool isCommon = false;
  /// One line for `--help` where `help` is longer.
  llvm::StringRef brief = {};
  /// An earlier name, which options and JSON may still use.
  llvm::StringRef old = {};

  /// `help` with the names and the default.
  std::string getHelp() const;
  /// One line for `--help`; empty if only `--help-all` shows the field.
  llvm::StringRef getBrief() const;
  /// "--micro-batch".
  std::string getOption() const;
  /// The placeholder of the option's value: "on|off" for a flag that is on by
  /// default, otherwise `value`.
  llvm::StringRef getPlaceholder() const;
  /// An earlier spelling of the option: "--no-overlap" for a flag that is on by
  /// default; empty if there is none.
  std::string getOldOption() const;
  /// "micro_batch".
  std::string getParameter() const;
  /// The expected values: "an integer from 1 to 4".
  std::string getForm() const;
  /// Its value as an option spells it: "8", "selective", "true".
  std::string print(const StructT &from) const;
  /// Sets the field from a text. Returns false and leaves the struct unchanged
  /// if the text is not a value or is out of range.
  bool parse(llvm::StringRef text, StructT &to) const;
  llvm::json::Value toJson(const StructT &from) const;
  /// Returns a JSON value in the syntax of the option; none if the value has
  /// another type than the field.
  std::optional<std::string> toText(const llvm::json::Value &value) const;
  bool isEqual(const StructT &a, const StructT &b) const;
  bool isDefault(const StructT &of) const { return isEqual(of, StructT()); }
  /// True for a flag that is on unless it is given.
  bool isOnByDefault() const;
  /// Whether the value is in its range.
  bool isInRange(const StructT &of) const;

  /// The same field of a struct that has StructT as a base.
  template <typename DerivedT> Field<DerivedT> as() const;
};

/// All fields of a struct, in the order of a help text.
template <typename StructT> llvm::ArrayRef<Field<StructT>> getFields();

/// The field of this name, which may be its old one; null if there is none.
template <typename StructT>
const Field<StructT> *findField(llvm::StringRef name) {
  // Only reports and messages look up fields.
  for (const Field<StructT> &field : getFields<StructT>())
    if (field.name == name || (!field.old.empty() && field.old == name))
      return &field;
  return nullptr;
}

} // namespace tessera

#endif // TESSERA_PLAN_FIELD_H
