//===- Given.h - Settings as a user gives them ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fields of a plan that options, texts and JSON give, and the plan that
// they complete. GivenImpl.h has the definitions, for sources that instantiate
// the class.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLAN_GIVEN_H
#define TESSERA_PLAN_GIVEN_H

#include "tessera/Plan/Field.h"
#include "tessera/Plan/Plan.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace tessera {

/// A plan as a user gives it: some of its fields. PlanT is Plan, or has it as a
/// base, whose fields then come first in the table.
template <typename PlanT> class Given {
public:
  PlanT plan;

  Given() = default;
  /// Takes the fields of Plan from a plan that has more.
  template <typename DerivedT>
  explicit Given(const Given<DerivedT> &other)
      : plan(other.plan), given(other.given), gpus(other.gpus),
        globalBatch(other.globalBatch) {
    if (!given.empty())
      given.resize(getFields<PlanT>().size());
  }

  bool isEmpty() const { return given.none(); }
  /// True if the field of this name was given; false for an unknown name.
  bool has(llvm::StringRef name) const;
  /// Sets all fields of Plan to their values in `other`.
  void setAll(const Plan &other);
  /// Sets the fields that `other` gives.
  void set(const Given &other);
  /// Sets a field; the last call for a field holds. The error names the field,
  /// the expected values and the actual text.
  llvm::Error set(llvm::StringRef name, llvm::StringRef text);
  /// The field of this name counts as not given; the plan keeps its value.
  void forget(llvm::StringRef name);
  /// These settings without the fields that `other` gives.
  Given without(const Given &other) const;
  /// Reads "micro-batches=2,lr=1e-3".
  llvm::Error parse(llvm::StringRef text);
  /// Reads fields by name; absent fields keep their value.
  llvm::Error read(const llvm::json::Object &object);
  /// Computes dp if only the devices are given, and the number of micro-batches
  /// if the sequences of a step are given. Fails if they contradict other given
  /// fields, or if a field is out of its range.
  llvm::Error complete();

private:
  template <typename OtherT> friend class Given;
  bool assign(const Field<PlanT> &field, llvm::StringRef text);

  /// One bit per field of the table.
  llvm::SmallBitVector given;
  /// Given values that determine dp and the number of micro-batches.
  int64_t gpus = 0, globalBatch = 0;
};

} // namespace tessera

#endif // TESSERA_PLAN_GIVEN_H
