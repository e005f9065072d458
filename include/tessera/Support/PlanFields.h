//===- PlanFields.h - The fields of a plan ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table: name, type, range and help of each field of Plan; defaults are
// those of the struct. Of it are made the options of `tessera plan`, `compile`
// and `verify`, JSON, `#dist.plan`, and the messages about all of them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_PLANFIELDS_H
#define TESSERA_SUPPORT_PLANFIELDS_H

#include "tessera/Support/Plan.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <limits>
#include <variant>

namespace tessera {

/// One field. In options and JSON it has its name, "micro-batch"; in an
/// attribute '_' replaces '-'.
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
  /// At least `least` and below `below`.
  struct Number {
    double Plan::*member;
    double least, below = std::numeric_limits<double>::infinity();
  };
  /// One of some names, or a file.
  struct Choice {
    /// The names; `get` and `set` speak of a name by its index in them.
    llvm::ArrayRef<llvm::StringRef> (*names)();
    size_t (*get)(const Plan &plan);
    void (*set)(Plan &plan, size_t value);
    /// What holds a file's name, which ends in ".csv", in place of one of the
    /// names; null if they are all.
    std::string Plan::*file = nullptr;
  };
  /// With a syntax of its own.
  struct Text {
    /// "none, selective, ... or auto=BYTES".
    llvm::StringRef form;
    std::string (*print)(const Plan &plan);
    bool (*parse)(llvm::StringRef text, Plan &plan);
  };
  /// Follows from others, and gives one of them where that is not given.
  struct Derived {
    int64_t (Plan::*get)() const;
  };
  using Type = std::variant<Integer, Flag, Number, Choice, Text, Derived>;

  /// Where it can be given and is written.
  enum Use : unsigned {
    /// Option of `tessera plan`.
    kPriced = 1,
    /// Option of `tessera compile` and `verify`.
    kCompiled = 2,
    kJson = 4,
    kAttribute = 8,
    /// Compiled programs have its default only.
    kOnlyPriced = 16,
    /// Says how a program is partitioned over devices, and nothing of training.
    kDevices = 32,
    /// Holds for forward programs too, as kDevices do.
    kForward = 64,
  };

  llvm::StringRef name;
  /// What its value is called in a help text; empty for a flag.
  llvm::StringRef value;
  unsigned uses;
  Type type;
  /// One paragraph; "{}" stands for the names of a choice.
  llvm::StringRef help;

  /// `help` with the names and the default.
  std::string getHelp() const;
  /// "--micro-batch"; "--no-overlap" of a flag that is on by default.
  std::string getOption() const;
  /// "micro_batch".
  std::string getParameter() const;
  /// What it expects: "an integer from 1 to 4".
  std::string getForm() const;
  /// Its value as an option gives it: "8", "selective", "true".
  std::string print(const Plan &plan) const;
  /// False, with the plan as it was, if the text is no value or one out of
  /// range.
  bool parse(llvm::StringRef text, Plan &plan) const;
  llvm::json::Value toJson(const Plan &plan) const;
  bool isEqual(const Plan &a, const Plan &b) const;
  bool isDefault(const Plan &plan) const { return isEqual(plan, Plan()); }
  /// Whether the value is in its range.
  bool isInRange(const Plan &plan) const;
};

/// All fields, in the order of a help text.
llvm::ArrayRef<PlanField> getPlanFields();

/// The field of this name; null if there is none.
const PlanField *findPlanField(llvm::StringRef name);

/// A plan as a person gives it: some of its fields.
class GivenPlan {
public:
  Plan plan;

  bool isEmpty() const { return given.none(); }
  /// True if the field of this name was given; false for an unknown name.
  bool has(llvm::StringRef name) const;
  /// Gives all fields their value of `other`.
  void set(const Plan &other);
  /// Gives a field a value; the last one holds. The error names the field, what
  /// it expects and what it got.
  llvm::Error set(llvm::StringRef name, llvm::StringRef text);
  /// Reads "micro-batches=2,lr=1e-3".
  llvm::Error parse(llvm::StringRef text);
  /// Reads what toJson() writes; absent fields keep their value.
  llvm::Error read(const llvm::json::Object &object);
  /// Works out dp where the devices are given and it is not, and the number of
  /// micro-batches where the sequences of a step are given. An error if they
  /// contradict what else is given, or a field is out of its range.
  llvm::Error complete();

private:
  bool assign(const PlanField &field, llvm::StringRef text);
  void forget(llvm::StringRef name);

  /// By position in the table.
  llvm::SmallBitVector given;
  /// What was given in place of dp and of micro-batches.
  int64_t gpus = 0, globalBatch = 0;
};

/// All fields of a plan.
llvm::json::Object toJson(const Plan &plan);
/// The plan that an object gives completely.
llvm::Expected<Plan> planFromJson(const llvm::json::Object &object);

} // namespace tessera

#endif // TESSERA_SUPPORT_PLANFIELDS_H
