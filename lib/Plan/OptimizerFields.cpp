//===- OptimizerFields.cpp - The fields of an optimizer -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of fields, and their values with a syntax of their own.
//
//===----------------------------------------------------------------------===//

#include "tessera/Plan/FieldImpl.h"
#include "tessera/Plan/PlanFields.h"

using namespace llvm;
using namespace tessera;

namespace tessera {
template <> ArrayRef<StringRef> getNames<OptimizerKind>() {
  static constexpr StringRef names[] = {"adamw", "adamw-no-master",
                                        "adamw-8bit", "sgd"};
  return names;
}
template <> ArrayRef<StringRef> getNames<Offload>() {
  static constexpr StringRef names[] = {"none", "host", "nvme"};
  return names;
}
template <> ArrayRef<StringRef> getNames<LearningRateKind>() {
  static constexpr StringRef names[] = {"constant", "cosine"};
  return names;
}
} // namespace tessera

/// Prints "*.gamma:decay=0;w?:lr=0.5".
static std::string printGroups(const OptimizerConfig &config) {
  std::string text;
  for (const ParameterGroup &group : config.groups) {
    text += (text.empty() ? "" : ";") + group.pattern;
    if (group.lrScale != 1 || !group.weightDecay)
      text += ":lr=" + printNumber(group.lrScale);
    if (group.weightDecay)
      text += ":decay=" + printNumber(*group.weightDecay);
  }
  return text;
}

static bool parseGroup(StringRef text, ParameterGroup &group) {
  SmallVector<StringRef> parts;
  text.split(parts, ':');
  group.pattern = parts[0].str();
  if (parts.size() < 2 || parts[0].empty() ||
      parts[0].find_first_of("\"\\") != StringRef::npos)
    return false;
  for (StringRef part : drop_begin(parts)) {
    auto [name, value] = part.split('=');
    double number;
    if (!parseNumber(value, number))
      return false;
    if (name == "lr")
      group.lrScale = number;
    else if (name == "decay")
      group.weightDecay = number;
    else
      return false;
  }
  return true;
}

static bool parseGroups(StringRef text, OptimizerConfig &config) {
  std::vector<ParameterGroup> groups;
  SmallVector<StringRef> parts;
  text.split(parts, ';', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    if (!parseGroup(part, groups.emplace_back()))
      return false;
  config.groups = std::move(groups);
  return true;
}

template <>
ArrayRef<Field<OptimizerConfig>> tessera::getFields<OptimizerConfig>() {
  using OptimizerField = Field<OptimizerConfig>;
  static const OptimizerField fields[] = {
      {"optimizer", "NAME", uses::kBoth,
       makeChoice<&OptimizerConfig::optimizer>(), "{}; compiled: adamw, sgd",
       FieldSection::Training},
      {"offload", "WHERE", uses::kOnlyPriced,
       makeChoice<&OptimizerConfig::offload>(),
       "where optimizer state is kept: {}", FieldSection::Training},
      {"lr", "X", uses::kCompiled,
       OptimizerField::Number{&OptimizerConfig::lr, 0}, "learning rate",
       FieldSection::Optimizer},
      {"lr-schedule", "NAME", uses::kCompiled,
       makeChoice<&OptimizerConfig::lrSchedule>(), "after warm-up: {}",
       FieldSection::Optimizer},
      {"warmup", "N", uses::kCompiled,
       OptimizerField::Integer{&OptimizerConfig::warmup, 0, kMostCount},
       "steps until the full learning rate", FieldSection::Optimizer},
      {"total-steps", "N", uses::kCompiled,
       OptimizerField::Integer{&OptimizerConfig::totalSteps, 0, kMostCount},
       "step at which cosine reaches --min-lr", FieldSection::Optimizer},
      {"min-lr", "X", uses::kCompiled,
       OptimizerField::Number{&OptimizerConfig::minLr, 0},
       "learning rate at the end of cosine", FieldSection::Optimizer},
      {"beta1", "X", uses::kCompiled,
       OptimizerField::Number{&OptimizerConfig::beta1, 0, 1}, "of adamw",
       FieldSection::Optimizer},
      {"beta2", "X", uses::kCompiled,
       OptimizerField::Number{&OptimizerConfig::beta2, 0, 1}, "of adamw",
       FieldSection::Optimizer},
      {"eps", "X", uses::kCompiled,
       OptimizerField::Number{&OptimizerConfig::eps, 0}, "of adamw",
       FieldSection::Optimizer},
      {"weight-decay", "X", uses::kCompiled,
       OptimizerField::Number{&OptimizerConfig::weightDecay, 0},
       "of matrices; norms and biases have none", FieldSection::Optimizer},
      {"momentum", "X", uses::kCompiled,
       OptimizerField::Number{&OptimizerConfig::momentum, 0, 1}, "of sgd",
       FieldSection::Optimizer},
      {"balance-rate", "X", uses::kCompiled,
       OptimizerField::Number{&OptimizerConfig::balanceRate, 0},
       "step of a router's bias, for experts of less than an even load",
       FieldSection::Optimizer},
      {"clip", "X", uses::kCompiled,
       OptimizerField::Number{&OptimizerConfig::clip, 0},
       "largest norm of all gradients, 0 for any", FieldSection::Optimizer},
      {"groups", "LIST", uses::kCompiled,
       OptimizerField::Text{"PATTERN:lr=FACTOR:decay=X, separated by ';'",
                            printGroups, parseGroups},
       "PATTERN:lr=FACTOR:decay=X, separated by ';': what parameters of such "
       "names are trained with; default: all alike",
       FieldSection::Optimizer},
      {"loss-scale", "X", uses::kCompiled,
       OptimizerField::Number{&OptimizerConfig::lossScale, 1},
       "of f16 at first: of the sum of losses, not of their mean, so far less "
       "than is usual",
       FieldSection::Optimizer},
      {"scale-window", "N", uses::kCompiled,
       makeSize(&OptimizerConfig::scaleWindow),
       "steps without overflow until it doubles", FieldSection::Optimizer},
  };
  return fields;
}

template class tessera::Field<OptimizerConfig>;
