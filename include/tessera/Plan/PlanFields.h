//===- PlanFields.h - The fields of a plan ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table with the name, type, range and help of each field of Plan; the
// struct has the defaults. The table generates the options of `tessera plan`,
// `compile` and `verify`, JSON, `#dist.plan`, and the messages about all of
// them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLAN_PLANFIELDS_H
#define TESSERA_PLAN_PLANFIELDS_H

#include "tessera/Plan/Plan.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <limits>
#include <variant>

namespace tessera {

/// One field. Options and JSON use its name, "micro-batch"; an attribute has
/// '_' instead of '-'.
class PlanField {
public:
  /// An integer from `least` to `most`.
  struct Integer {
    int64_t Plan::*member;
    int64_t least, most;
  };
  /// True or false.
  struct Flag {
    bool Plan::*member;
  };
  /// A number from `least` to below `below`.
  struct Number {
    double Plan::*member;
    double least, below = std::numeric_limits<double>::infinity();
  };
  /// One of several names, or a file.
  struct Choice {
    /// The names; `get` and `set` use a name's index.
    llvm::ArrayRef<llvm::StringRef> (*names)();
    size_t (*get)(const Plan &plan);
    void (*set)(Plan &plan, size_t value);
    /// The member for the name of a file, which ends in ".csv" and replaces the
    /// names; null if the field has no file.
    std::string Plan::*file = nullptr;
  };
  /// A value with its own syntax.
  struct Text {
    /// "none, selective, ... or auto=BYTES".
    llvm::StringRef form;
    std::string (*print)(const Plan &plan);
    bool (*parse)(llvm::StringRef text, Plan &plan);
  };
  /// A value that follows from other fields, and determines one of them if that
  /// one is not given.
  struct Derived {
    int64_t (Plan::*get)() const;
  };
  using Type = std::variant<Integer, Flag, Number, Choice, Text, Derived>;

  /// The contexts in which a field can be given or is written.
  enum Use : unsigned {
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

  /// The sections of a help text that fields are in.
  enum Section {
    kMesh,
    kTraining,
    kOptimizer,
    kKernels,
    /// How another framework runs a step, and settings that only the price
    /// knows and few need: `tessera plan` takes but does not list them;
    /// docs/plan.md does.
    kExecution,
  };

  llvm::StringRef name;
  /// The placeholder of its value in a help text; empty for a flag.
  llvm::StringRef value;
  unsigned uses;
  Type type;
  /// One paragraph; "{}" is replaced by the names of a choice.
  llvm::StringRef help;
  Section section = kTraining;
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
  std::string print(const Plan &plan) const;
  /// Sets the field from a text. Returns false and leaves the plan unchanged if
  /// the text is not a value or is out of range.
  bool parse(llvm::StringRef text, Plan &plan) const;
  llvm::json::Value toJson(const Plan &plan) const;
  /// Returns a JSON value in the syntax of the option; none if the value has
  /// another type than the field.
  std::optional<std::string> toText(const llvm::json::Value &value) const;
  bool isEqual(const Plan &a, const Plan &b) const;
  bool isDefault(const Plan &plan) const { return isEqual(plan, Plan()); }
  /// Whether the value is in its range.
  bool isInRange(const Plan &plan) const;
};

/// All fields, in the order of a help text.
llvm::ArrayRef<PlanField> getPlanFields();

/// The field of this name, which may be its old one; null if there is none.
const PlanField *findPlanField(llvm::StringRef name);

/// A plan as a user gives it: some of its fields.
class GivenPlan {
public:
  Plan plan;

  bool isEmpty() const { return given.none(); }
  /// True if the field of this name was given; false for an unknown name.
  bool has(llvm::StringRef name) const;
  /// Sets all fields to their values in `other`.
  void set(const Plan &other);
  /// Sets a field; the last call for a field holds. The error names the field,
  /// the expected values and the actual text.
  llvm::Error set(llvm::StringRef name, llvm::StringRef text);
  /// Reads "micro-batches=2,lr=1e-3".
  llvm::Error parse(llvm::StringRef text);
  /// Reads the output of toJson(); absent fields keep their value.
  llvm::Error read(const llvm::json::Object &object);
  /// Computes dp if only the devices are given, and the number of micro-batches
  /// if the sequences of a step are given. Fails if they contradict other given
  /// fields, or if a field is out of its range.
  llvm::Error complete();

private:
  bool assign(const PlanField &field, llvm::StringRef text);
  void forget(llvm::StringRef name);

  /// One bit per field of the table.
  llvm::SmallBitVector given;
  /// Given values that determine dp and the number of micro-batches.
  int64_t gpus = 0, globalBatch = 0;
};

/// All fields of a plan.
llvm::json::Object toJson(const Plan &plan);
/// Reads and completes a plan; fields absent from the object have defaults.
llvm::Expected<Plan> planFromJson(const llvm::json::Object &object);

} // namespace tessera

#endif // TESSERA_PLAN_PLANFIELDS_H
