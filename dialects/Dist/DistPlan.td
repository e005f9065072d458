//===- DistPlan.td - How a program is to be trained --------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DIST_DISTPLAN_TD
#define TESSERA_DIALECTS_DIST_DISTPLAN_TD

include "dialects/Dist/DistAttrs.td"

def Dist_Precision : I32EnumAttr<"Precision", "element type of a policy", [
    I32EnumAttrCase<"F32", 0, "f32">, I32EnumAttrCase<"BF16", 1, "bf16">,
    I32EnumAttrCase<"F16", 2, "f16">, I32EnumAttrCase<"FP8", 3, "fp8">]> {
  let cppNamespace = "::tessera::dist";
  let genSpecializedAttr = 0;
}

def Dist_OptimizerKind : I32EnumAttr<"OptimizerKind", "an optimizer", [
    I32EnumAttrCase<"AdamW", 0, "adamw">, I32EnumAttrCase<"SGD", 1, "sgd">]> {
  let cppNamespace = "::tessera::dist";
  let genSpecializedAttr = 0;
}

def Dist_LearningRateKind : I32EnumAttr<"LearningRateKind",
    "course of the learning rate after warm-up", [
    I32EnumAttrCase<"Constant", 0, "constant">,
    I32EnumAttrCase<"Cosine", 1, "cosine">]> {
  let cppNamespace = "::tessera::dist";
  let genSpecializedAttr = 0;
}

def Dist_ReduceWhen : I32EnumAttr<"ReduceWhen",
    "when zero=2 and 3 reduce gradients", [
    I32EnumAttrCase<"Each", 0, "each">, I32EnumAttrCase<"Last", 1, "last">]> {
  let cppNamespace = "::tessera::dist";
  let genSpecializedAttr = 0;
}

/// An enumeration that is not printed where it is `value`.
class Dist_EnumParameter<EnumAttrInfo info, string value> : EnumParameter<info> {
  let defaultValue = value;
}

/// A number of f64 that is not printed where it is `value`.
class Dist_Number<string value> : DefaultValuedParameter<"::mlir::FloatAttr",
    "::mlir::FloatAttr::get(::mlir::Float64Type::get($_ctxt), " # value # ")">;

def Dist_ParametersAttr : AttrDef<Dist_Dialect, "Parameters"> {
  let mnemonic = "parameters";
  let summary = "what some parameters are trained with";
  let description = [{
    `#dist.parameters<"blocks.*.attn.w?", lr_scale = 5.000000e-01>`: for the
    parameters whose name the pattern matches (`*` any text, `?` one character,
    `[ab]` one of these), the learning rate's factor and, where it is given, the
    weight decay.
  }];
  let parameters = (ins StringRefParameter<>:$pattern,
                        Dist_Number<"1.0">:$lr_scale,
                        OptionalParameter<"::mlir::FloatAttr">:$weight_decay);
  let assemblyFormat = "`<` $pattern (`,` struct($lr_scale, $weight_decay)^)? `>`";
}

def Dist_PlanAttr : AttrDef<Dist_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "how a program is to be trained";
  let description = [{
    On a module, as `dist.plan`: what the training step is built from. Everything
    has a default.

    * `precision`: of parameters and activations; below f32 a master copy in f32
      is kept. `fp8` is bf16 with the products of linear layers in 8 bits.
      `grad`: element type of the sums of gradients.
    * `micro_batches`: parts of the batch, one after the other.
    * `zero`: 1 shards optimizer state over dp, 2 gradients too, 3 parameters
      too: each micro-batch scatters its gradients (`zero2_reduce = each`), or
      they are summed whole and reduced once (`last`).
    * `recompute`: none, selective, full, or auto=<bytes>.
    * `optimizer` with `beta1`, `beta2`, `eps`, `weight_decay`, or `momentum`;
      `clip`: largest norm of all gradients, 0 for any.
    * The learning rate rises linearly to `lr` over `warmup` steps and then stays
      (`constant`) or falls as a cosine to `min_lr` at step `steps`
      (`schedule = cosine`).
    * `loss_scale`, at first, and `scale_window`, steps without overflow until it
      doubles: of f16.
    * `groups`: the first that matches a parameter holds for it.

    (C1) micro_batches, scale_window, loss_scale are at least 1; (C2) zero is 0
    to 3; (C3) recompute is one of the policies; (C4) beta1, beta2 and momentum
    are in [0, 1), eps, weight_decay, clip, lr and min_lr at least 0; (C5) warmup
    and steps are at least 0, and with cosine steps is above warmup; (C6) the sums
    of gradients are f32, or bf16 with precision bf16 or fp8.

    ```mlir
    module attributes {dist.plan = #dist.plan<precision = bf16, micro_batches = 4, zero = 1>} {}
    ```
  }];
  let parameters = (ins
      Dist_EnumParameter<Dist_Precision, "::tessera::dist::Precision::F32">:$precision,
      Dist_EnumParameter<Dist_Precision, "::tessera::dist::Precision::F32">:$grad,
      DefaultValuedParameter<"int64_t", "1">:$micro_batches,
      DefaultValuedParameter<"int64_t", "0">:$zero,
      Dist_EnumParameter<Dist_ReduceWhen, "::tessera::dist::ReduceWhen::Each">:$zero2_reduce,
      StringRefParameter<"", "\"none\"">:$recompute,
      Dist_EnumParameter<Dist_OptimizerKind, "::tessera::dist::OptimizerKind::AdamW">:$optimizer,
      Dist_Number<"0.9">:$beta1, Dist_Number<"0.95">:$beta2,
      Dist_Number<"1.0e-8">:$eps, Dist_Number<"0.1">:$weight_decay,
      Dist_Number<"0.0">:$momentum, Dist_Number<"1.0">:$clip,
      Dist_EnumParameter<Dist_LearningRateKind, "::tessera::dist::LearningRateKind::Constant">:$schedule,
      Dist_Number<"1.0e-3">:$lr, Dist_Number<"0.0">:$min_lr,
      DefaultValuedParameter<"int64_t", "0">:$warmup,
      DefaultValuedParameter<"int64_t", "0">:$steps,
      Dist_Number<"128.0">:$loss_scale,
      DefaultValuedParameter<"int64_t", "2000">:$scale_window,
      OptionalParameter<"::mlir::ArrayAttr">:$groups);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // TESSERA_DIALECTS_DIST_DISTPLAN_TD
