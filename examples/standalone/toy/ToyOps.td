//===- ToyOps.td - Ops that Tessera does not know ----------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four ops that say different things about themselves:
//
//   op             rule (how it shards)   meaning (what it computes)
//   toy.l2norm     yes                    yes
//   toy.row_scale  yes                    no
//   toy.sumexp     yes                    no
//   toy.gate       no                     yes
//
// toy.row_sum and toy.row_mean have both; a tool can make their rules wrong to see
// that a proof finds it.
//
//===----------------------------------------------------------------------===//

#ifndef TOY_OPS_TD
#define TOY_OPS_TD

include "mlir/Dialect/Linalg/IR/LinalgInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tessera/Interfaces/ShardingRuleOpInterface.td"

def Toy_Dialect : Dialect {
  let name = "toy";
  let cppNamespace = "::toy";
}

class Toy_Op<string mnemonic, list<Trait> traits = []>
    : Op<Toy_Dialect, mnemonic, [Pure] # traits>;

defvar Rule = DeclareOpInterfaceMethods<ShardingRuleOpInterface>;
defvar Meaning =
    DeclareOpInterfaceMethods<AggregatedOpInterface, ["decomposeOperation"]>;

def Toy_L2NormOp : Toy_Op<"l2norm", [Rule, Meaning, SameOperandsAndResultType]> {
  let summary = "Rows of length one: x / sqrt(sum of x * x over the last dimension)";
  let arguments = (ins RankedTensorOf<[AnyFloat]>:$x);
  let results = (outs RankedTensorOf<[AnyFloat]>:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Toy_RowScaleOp : Toy_Op<"row_scale", [Rule, AllTypesMatch<["x", "y"]>]> {
  let summary = "Each row times a number of its own";
  let arguments = (ins RankedTensorOf<[AnyFloat]>:$x,
                       RankedTensorOf<[AnyFloat]>:$scale);
  let results = (outs RankedTensorOf<[AnyFloat]>:$y);
  let assemblyFormat = "$x `,` $scale attr-dict `:` type($x) `,` type($scale)";
}

def Toy_SumExpOp : Toy_Op<"sumexp", [Rule]> {
  let summary = "The sum of exp(x) over the last dimension";
  let arguments = (ins RankedTensorOf<[AnyFloat]>:$x);
  let results = (outs RankedTensorOf<[AnyFloat]>:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
}

def Toy_GateOp : Toy_Op<"gate", [Meaning, SameOperandsAndResultType]> {
  let summary = "x times silu(g)";
  let arguments = (ins RankedTensorOf<[AnyFloat]>:$x,
                       RankedTensorOf<[AnyFloat]>:$g);
  let results = (outs RankedTensorOf<[AnyFloat]>:$y);
  let assemblyFormat = "$x `,` $g attr-dict `:` type($x)";
}

def Toy_RowSumOp : Toy_Op<"row_sum", [Rule, Meaning]> {
  let summary = "The sum of each row";
  let arguments = (ins RankedTensorOf<[AnyFloat]>:$x);
  let results = (outs RankedTensorOf<[AnyFloat]>:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
}

def Toy_RowMeanOp : Toy_Op<"row_mean", [Rule, Meaning]> {
  let summary = "The mean of each row";
  let arguments = (ins RankedTensorOf<[AnyFloat]>:$x);
  let results = (outs RankedTensorOf<[AnyFloat]>:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
}

#endif // TOY_OPS_TD
