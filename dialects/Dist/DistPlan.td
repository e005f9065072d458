//===- DistPlan.td - Training plan of a program ------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DIST_DISTPLAN_TD
#define TESSERA_DIALECTS_DIST_DISTPLAN_TD

include "dialects/Dist/DistAttrs.td"

def Dist_PlanAttr : AttrDef<Dist_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "how a program is trained";
  let description = [{
    On a module, as `dist.plan`: what the training step is built from, and the
    layout that it was partitioned for. The attribute holds a `tessera::Plan`
    (`include/tessera/Plan/Plan.h`); the tables of its fields make this syntax,
    JSON and the options of `tessera plan`, `compile` and `verify`, whose `--help-all`
    says what each is. A field is named as its option, with `_` in place of `-`,
    and is not printed where it has its default. Names that are no identifiers are
    quoted: `schedule = "zb-h1"`.

    (C1) Each field is in its range, and with `lr_schedule = cosine` `total_steps`
    is above `warmup`. (C2) The sums of gradients are bf16 with precision bf16 or
    fp8 only.

    ```mlir
    module attributes {dist.plan = #dist.plan<dp = 2, zero = 1, micro_batches = 4, precision = bf16>} {}
    ```
  }];
  let parameters = (ins AttrParameter<"::tessera::Plan", "the plan",
                                      "const ::tessera::Plan &">:$plan);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // TESSERA_DIALECTS_DIST_DISTPLAN_TD
