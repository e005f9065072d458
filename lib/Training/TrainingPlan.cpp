//===- TrainingPlan.cpp - Settings of training as a person writes them ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values are checked one by one, so that errors name the setting, and put
// together to the text of the attribute, which its parser then checks.
//
//===----------------------------------------------------------------------===//

#include "tessera/Training/TrainingPlan.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using Kind = PlanSetting::Kind;

static constexpr PlanSetting kSettings[] = {
    {"precision", "precision", Kind::Word, "TYPE",
     "f32, bf16 or f16: parameters and activations; below\n"
     "f32 with a master copy in f32; fp8: as bf16, with linear\n"
     "layers multiplied in 8 bits; default: the graph's"},
    {"micro-batches", "micro_batches", Kind::Integer, "N",
     "parts of the batch, one after the other; default: 1"},
    {"grad-dtype", "grad", Kind::Word, "TYPE",
     "sums of gradients: f32 (default) or bf16"},
    {"zero2-reduce", "zero2_reduce", Kind::Word, "WHEN",
     "zero=2 and 3 scatter gradients of each micro-batch\n"
     "(each, the default) or of all at once (last)"},
    {"recompute", "recompute", Kind::Text, "POLICY",
     "none (default), selective, full, or auto=BYTES: as little as\n"
     "fits a rank's arena into so many bytes, of all it holds"},
    {"optimizer", "optimizer", Kind::Word, "NAME", "adamw (default) or sgd"},
    {"lr", "lr", Kind::Number, "X", "learning rate; default: 1e-3"},
    {"lr-schedule", "schedule", Kind::Word, "NAME",
     "after warm-up: constant (default) or cosine"},
    {"warmup", "warmup", Kind::Integer, "N",
     "steps until the full learning rate; default: 0"},
    {"total-steps", "steps", Kind::Integer, "N",
     "step at which cosine reaches --min-lr"},
    {"min-lr", "min_lr", Kind::Number, "X", "default: 0"},
    {"beta1", "beta1", Kind::Number, "X", "of adamw; default: 0.9"},
    {"beta2", "beta2", Kind::Number, "X", "of adamw; default: 0.95"},
    {"eps", "eps", Kind::Number, "X", "of adamw; default: 1e-8"},
    {"weight-decay", "weight_decay", Kind::Number, "X",
     "of matrices; norms and biases have none;\n"
     "default: 0.1"},
    {"momentum", "momentum", Kind::Number, "X", "of sgd; default: 0"},
    {"clip", "clip", Kind::Number, "X",
     "largest norm of all gradients, 0 for any; default: 1"},
    {"groups", "groups", Kind::Groups, "LIST",
     "PATTERN:lr=FACTOR:decay=X, separated by ';': what\n"
     "parameters of such names are trained with"},
    {"loss-scale", "loss_scale", Kind::Number, "X",
     "of f16 at first: of the sum of losses, not of their\n"
     "mean, so far less than is usual; default: 128"},
    {"scale-window", "scale_window", Kind::Integer, "N",
     "steps without overflow until it doubles;\n"
     "default: 2000"},
};

llvm::ArrayRef<PlanSetting> tessera::getPlanSettings() { return kSettings; }

/// The text of a number in the attribute; none if it is none.
static std::optional<std::string> toNumber(StringRef text) {
  double number;
  if (text.getAsDouble(number) || !std::isfinite(number))
    return std::nullopt;
  return llvm::formatv("{0:E17}", number).str();
}

/// `*.gamma:decay=0;w?:lr=0.5` as an array of #dist.parameters.
static std::optional<std::string> toGroups(StringRef text) {
  std::string result;
  SmallVector<StringRef> groups;
  text.split(groups, ';', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef group : groups) {
    SmallVector<StringRef> parts;
    group.split(parts, ':');
    if (parts.size() < 2 || parts[0].empty() || parts[0].contains('"') ||
        parts[0].contains('\\'))
      return std::nullopt;
    result +=
        (result.empty() ? "#dist.parameters<\"" : ", #dist.parameters<\"") +
        parts[0].str() + "\"";
    for (StringRef part : llvm::drop_begin(parts)) {
      auto [name, value] = part.split('=');
      std::optional<std::string> number = toNumber(value);
      if ((name != "lr" && name != "decay") || !number)
        return std::nullopt;
      result +=
          (name == "lr" ? ", lr_scale = " : ", weight_decay = ") + *number;
    }
    result += ">";
  }
  return "[" + result + "]";
}

static std::optional<std::string> toText(Kind kind, StringRef value) {
  int64_t integer;
  switch (kind) {
  case Kind::Word:
    if (value.empty() || !llvm::all_of(value, llvm::isAlnum))
      return std::nullopt;
    return value.str();
  case Kind::Text:
    if (!dist::isRecomputePolicy(value))
      return std::nullopt;
    return "\"" + value.str() + "\"";
  case Kind::Integer:
    if (value.getAsInteger(10, integer))
      return std::nullopt;
    return std::to_string(integer);
  case Kind::Number:
    return toNumber(value);
  case Kind::Groups:
    return toGroups(value);
  }
  llvm_unreachable("all kinds are handled");
}

std::optional<dist::PlanAttr> tessera::parsePlan(MLIRContext *context,
                                                 const PlanSettings &settings,
                                                 int zero, std::string &error) {
  std::string text = "#dist.plan<zero = " + std::to_string(zero);
  llvm::SmallVector<StringRef> seen;
  for (const auto &[name, value] : settings) {
    const PlanSetting *setting = llvm::find_if(
        kSettings, [&](const PlanSetting &s) { return s.name == name; });
    if (setting == std::end(kSettings) || llvm::is_contained(seen, name)) {
      error = "expects each setting of training once, and a known one, but got "
              "'" +
              name + "'";
      return std::nullopt;
    }
    seen.push_back(name);
    std::optional<std::string> part = toText(setting->kind, value);
    if (!part) {
      error = "setting '" + name + "' has no value '" + value + "'";
      return std::nullopt;
    }
    text += (", " + setting->parameter + " = " + *part).str();
  }
  context->getOrLoadDialect<dist::DistDialect>();
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (error.empty())
      error = "settings of training: " + diagnostic.str();
    return success();
  });
  auto plan =
      dyn_cast_or_null<dist::PlanAttr>(parseAttribute(text + ">", context));
  if (!plan)
    return std::nullopt;
  return plan;
}
