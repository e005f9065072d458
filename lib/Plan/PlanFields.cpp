//===- PlanFields.cpp - The fields of a plan ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fields of the bases of a plan, and what all of them give.
//
//===----------------------------------------------------------------------===//

#include "tessera/Plan/PlanFields.h"
#include "tessera/Plan/FieldImpl.h"
#include "llvm/ADT/Hashing.h"

using namespace llvm;
using namespace tessera;

template <> ArrayRef<PlanField> tessera::getFields<Plan>() {
  static const std::vector<PlanField> fields =
      joinFields<Plan, Layout, Numerics, OptimizerConfig>();
  return fields;
}

template class tessera::Field<Plan>;

bool Plan::operator==(const Plan &o) const { return haveEqualFields(*this, o); }

hash_code tessera::hash_value(const Plan &plan) {
  hash_code hash = 0;
  for (const PlanField &field : getFields<Plan>())
    if (!field.isDefault(plan))
      hash = hash_combine(hash, StringRef(field.name), field.print(plan));
  return hash;
}
