//===- TrainingPlan.h - Settings of training as a person writes them -*- C++
//-*-//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names under which a command line gives the parts of `#dist.plan`: one
// table, from which options and their help are made.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRAINING_TRAININGPLAN_H
#define TESSERA_TRAINING_TRAININGPLAN_H

#include "dialects/Dist/Dist.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

/// One setting.
struct PlanSetting {
  /// "micro-batches".
  llvm::StringRef name;
  /// Parameter of #dist.plan.
  llvm::StringRef parameter;
  enum class Kind { Word, Text, Integer, Number, Groups } kind;
  /// What its value is called in a help text.
  llvm::StringRef value;
  llvm::StringRef help;
};

/// All settings, in the order of a help text.
llvm::ArrayRef<PlanSetting> getPlanSettings();

/// Settings that were given, by name, in any order.
using PlanSettings = std::vector<std::pair<std::string, std::string>>;

/// The plan that the settings stand for; what is not given has its default.
/// None, with a one-line reason in `error`, for an unknown or repeated name or
/// a value that is none.
std::optional<dist::PlanAttr> parsePlan(mlir::MLIRContext *context,
                                        const PlanSettings &settings, int zero,
                                        std::string &error);

} // namespace tessera

#endif // TESSERA_TRAINING_TRAININGPLAN_H
