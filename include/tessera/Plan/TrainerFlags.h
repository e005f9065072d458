//===- TrainerFlags.h - A plan as flags of another trainer ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLAN_TRAINERFLAGS_H
#define TESSERA_PLAN_TRAINERFLAGS_H

#include "tessera/Plan/Plan.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace tessera {

/// The release whose flags getMegatronFlags() writes.
inline constexpr llvm::StringLiteral kMegatronRelease =
    "Megatron-LM core_v0.14.0";

/// A plan in the words of another trainer.
struct TrainerFlags {
  /// A flag with its values: "--seq-length 8192".
  std::vector<std::string> flags;
  /// Fields whose values no flag can say: "schedule=zb-v".
  std::vector<std::string> unsaid;
};

/// The flags with which Megatron-LM trains as a plan says, without those of the
/// model, the data and checkpoints. Numbers of the optimizer only if one of
/// them is not a plan's default.
TrainerFlags getMegatronFlags(const Plan &plan);

} // namespace tessera

#endif // TESSERA_PLAN_TRAINERFLAGS_H
