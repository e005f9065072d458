//===- Plan.h - The training plan of a model --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one struct that describes training: a layout, numerics and an optimizer.
// `tessera plan` prices it, `tessera compile` builds it, `#dist.plan` carries
// it through a program. It names no model and no cluster. The tables of fields
// (Field.h) generate its options, its JSON and its attribute.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLAN_PLAN_H
#define TESSERA_PLAN_PLAN_H

#include "tessera/Plan/Layout.h"
#include "tessera/Plan/Numerics.h"
#include "tessera/Plan/OptimizerConfig.h"
#include "llvm/ADT/Hashing.h"

namespace tessera {

/// The training setup. The defaults also hold for options, JSON and attribute;
/// getFields<Plan>() lists the fields.
struct Plan : Layout, Numerics, OptimizerConfig {
  /// Fails with one error for each field out of its range, for too many devices
  /// or sequences, and for contradicting settings of training.
  llvm::Error checkFields() const;
  /// Fails with one error for each reason why the plan cannot be priced:
  /// checkFields(), axes and sequences that do not divide, a schedule that
  /// needs another number of micro-batches or chunks, a policy that only the
  /// compiler supports.
  llvm::Error check() const;
  /// Short form for reports: "dp128 tp8 pp16 mb1 zero2".
  std::string summary() const;

  bool operator==(const Plan &o) const;
  bool operator!=(const Plan &o) const { return !(*this == o); }
};

/// Equal plans have equal hashes.
llvm::hash_code hash_value(const Plan &plan);

} // namespace tessera

#endif // TESSERA_PLAN_PLAN_H
