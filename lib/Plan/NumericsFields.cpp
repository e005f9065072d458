//===- NumericsFields.cpp - The fields of numerics ------------------------===//
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
template <> ArrayRef<StringRef> getNames<Recompute>() {
  static constexpr StringRef names[] = {"none", "selective", "full", "matmuls",
                                        "auto"};
  return names;
}
template <> ArrayRef<StringRef> getNames<Precision>() {
  static constexpr StringRef names[] = {"f32",       "bf16",        "f16",
                                        "fp8",       "fp8-current", "fp8-row",
                                        "fp8-block", "mxfp8",       "nvfp4"};
  return names;
}
template <> ArrayRef<StringRef> getNames<GradDType>() {
  static constexpr StringRef names[] = {"f32", "bf16", "bf16+f32"};
  return names;
}
template <> ArrayRef<StringRef> getNames<LoraTargets>() {
  static constexpr StringRef names[] = {"all", "qkv"};
  return names;
}
} // namespace tessera

static std::string printRecompute(const Numerics &numerics) {
  std::string text = stringify(numerics.recompute).str();
  if (numerics.recompute == Recompute::Auto)
    text += "=" + std::to_string(numerics.recomputeBytes);
  return text;
}

static bool parseRecompute(StringRef text, Numerics &numerics) {
  auto [name, bytesText] = text.split('=');
  std::optional<Recompute> kind = parseName<Recompute>(name);
  bool isAuto = kind == Recompute::Auto;
  std::optional<int64_t> bytes = isAuto ? parseBytes(bytesText) : 0;
  if (!kind || isAuto != text.contains('=') || !bytes || (isAuto && *bytes < 1))
    return false;
  numerics.recompute = *kind;
  numerics.recomputeBytes = *bytes;
  return true;
}

template <> ArrayRef<Field<Numerics>> tessera::getFields<Numerics>() {
  using NumericsField = Field<Numerics>;
  static const NumericsField fields[] = {
      {"recompute", "POLICY", uses::kBoth,
       NumericsField::Text{"none, selective, full, matmuls or auto=BYTES",
                           printRecompute, parseRecompute},
       "what the backward computes again: none, selective (what is cheap; "
       "priced: the core of attention), full (all but the inputs of layers), "
       "matmuls (priced only: all but every other matmul and attention), or "
       "auto=BYTES (compiled only: as little as fits a rank's arena into so "
       "many bytes, as 80GB or 450MB, of all it holds)",
       FieldSection::Training, /*isCommon=*/true,
       "none, selective or full: what the backward recomputes"},
      {"checkpoint-every", "N", uses::kOnlyPriced,
       makeSize(&Numerics::checkpointEvery),
       "layers between kept inputs, with full", FieldSection::Execution},
      {"precision", "TYPE", uses::kBoth, makeChoice<&Numerics::precision>(),
       "parameters and activations: {}; below f32 with a master copy in f32; "
       "fp8: as bf16, with linear layers multiplied in 8 bits; those after it "
       "(priced only) differ in their scales; default: the graph's, of plan "
       "bf16",
       FieldSection::Training, /*isCommon=*/true, "f32, bf16, f16 or fp8"},
      {"grad-dtype",
       "TYPE",
       uses::kBoth,
       makeChoice<&Numerics::gradDType>(),
       "sums of gradients: {} (priced only: both)",
       {FieldSection::Training, 14}},
      {"f32-parameters",
       "",
       uses::kOnlyPriced,
       NumericsField::Flag{&Numerics::f32Parameters},
       "parameters are stored in f32 without a master copy, cast in use",
       {FieldSection::Execution, 20}},
      {"weight-bytes", "N", uses::kOnlyPriced,
       NumericsField::Integer{&Numerics::weightBytes, 0, 2},
       "with matmuls below 16 bits, bytes of each parameter of a block as they "
       "read it, kept and gathered so; 0: those of the precision",
       FieldSection::Execution},
      {"dropout",
       "",
       uses::kOnlyPriced,
       NumericsField::Flag{&Numerics::dropout},
       "with dropout, as GPT-3 was trained",
       {FieldSection::Execution, 2}},
      {"keep-gathered",
       "",
       uses::kPriced,
       NumericsField::Flag{&Numerics::keepGathered},
       "keep what sp gathers for a matmul, do not gather again",
       {FieldSection::Execution, 12}},
      {"lora-rank", "N", uses::kOnlyPriced,
       NumericsField::Integer{&Numerics::loraRank, 0, 65536},
       "columns of the adapters beside linear layers that are trained in place "
       "of the parameters (LoRA); 0: parameters are trained",
       FieldSection::Execution},
      {"lora-targets", "WHICH", uses::kOnlyPriced,
       makeChoice<&Numerics::loraTargets>(),
       "linear layers that have adapters: all of a block, or qkv, the "
       "projection to queries, keys and values",
       FieldSection::Execution},
  };
  return fields;
}

template class tessera::Field<Numerics>;
