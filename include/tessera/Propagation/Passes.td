//===- Passes.td - Propagation of shardings ----------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PROPAGATION_PASSES_TD
#define TESSERA_PROPAGATION_PASSES_TD

include "mlir/Pass/PassBase.td"

def PropagateShardingsPass
    : Pass<"dist-propagate-shardings", "::mlir::ModuleOp"> {
  let summary = "gives every tensor a sharding";
  let description = [{
    Propagates the seed shardings of arguments, results, ops and
    `dist.constraint`s over the factors of the ops between them
    (PropagationProblem.h says how). Afterwards every tensor argument and result
    of a function has a closed `dist.sharding` and every op with tensor results
    `dist.shardings`; what no seed reaches is replicated. Constants get a copy
    for each sharding they are used with; `dist.group`s are gone. An op without
    a rule is replicated, with one remark a kind of op. An op at which a seed of
    a later priority wants an axis for another factor gets `dist.factors`, the
    axes that it is to run with.

    ```mlir
    func.func @f(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {} ]>},
                 %w: tensor<16x32xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"} ]>})
        -> tensor<8x32xf32> {
      %0 = nn.einsum "bk,kn->bn" %x, %w : ...
      return %0
    ```
    gives `%0` and the function's result `[{"dp"}, {"tp"} ]`.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
  let options = [
    Option<"explain", "explain", "bool", "false",
           "attach where each axis came from, as --dist-explain-shardings does">,
  ];
}

def PrepareRegionsPass : Pass<"dist-prepare-regions", "::mlir::ModuleOp"> {
  let summary = "makes the regions of loops and branches run by themselves";
  let description = [{
    An op with regions and no sharding rule (`scf.for`, `scf.if`, `scf.while`)
    runs whole on every device. Calls in its regions are inlined, since a callee
    may be sharded. A `dist.constraint` and `dist.shardings` in them say nothing
    that could be done: they are dropped, with a remark.

    ```mlir
    %0 = scf.if %c -> tensor<4xf32> {
      %1 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
      scf.yield %1 : tensor<4xf32>
    } else { ... }
    ```
    becomes, where @f is a tanh,
    ```mlir
    %0 = scf.if %c -> tensor<4xf32> {
      %1 = math.tanh %x : tensor<4xf32>
      scf.yield %1 : tensor<4xf32>
    } else { ... }
    ```
  }];
}

def ExplainShardingsPass : Pass<"dist-explain-shardings", "::mlir::ModuleOp"> {
  let summary = "propagates shardings and says where each axis came from";
  let description = [{
    In place of `dist-propagate-shardings`: does the same, and attaches to each
    function argument, function result and op `dist.why`, one string for each
    axis of its sharding, and emits each as an analysis remark.

    ```mlir
    %0 = nn.einsum ... {dist.why = ["dim 1 \"tp\": factor l of nn.einsum from operand 1, seeded at argument 1"]}
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def ExpandOpsPass : Pass<"dist-expand-ops", "::mlir::ModuleOp"> {
  let summary = "Replaces ops of other dialects by what they compute";
  let description = [{
    An op of a dialect that Tessera does not model may say what it computes, by
    `linalg::AggregatedOpInterface`. Its meaning takes its place, and has its
    seeds, its names and its location. With `without-rule` an op that says how
    it shards stays; with `without-gradient` one that has a gradient, and all of a
    module without a plan of training.

    ```mlir
    %y = toy.gate %x, %g : tensor<8x64xf32>
    ```
    becomes, where `toy.gate` means x times the logistic function of g,
    ```mlir
    %0 = nn.sigmoid %g : tensor<8x64xf32>
    %y = arith.mulf %x, %0 : tensor<8x64xf32>
    ```
  }];
  let options = [Option<"withoutRule", "without-rule", "bool", /*default=*/"false",
                        "only ops without a sharding rule">,
                 Option<"withoutGradient", "without-gradient", "bool",
                        /*default=*/"false", "only ops to be trained through that have no gradient">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::tessera::dist::DistDialect", "::tessera::nn::NNDialect"];
}

def WrapForeignPass : Pass<"dist-wrap-foreign", "::mlir::ModuleOp"> {
  let summary = "Gives ops with a rule as text the interface of a rule";
  let description = [{
    An op with `dist.rule` becomes `dist.foreign`, with the op's name, attributes,
    seeds and location. An op that is not registered and has none is an error:
    nothing is known of it.

    ```mlir
    %y = "my.scale"(%x, %s) {k = 2 : i64, dist.rule = #dist.rule<"([i,j],[i])->([i,j]) {i=8, j=64}">}
        : (tensor<8x64xf32>, tensor<8xf32>) -> tensor<8x64xf32>
    ```
    becomes
    ```mlir
    %y = dist.foreign "my.scale" (%x, %s) <"([i,j],[i])->([i,j]) {i=8, j=64}"> with {k = 2 : i64}
        : (tensor<8x64xf32>, tensor<8xf32>) -> tensor<8x64xf32>
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def UnwrapForeignPass : Pass<"dist-unwrap-foreign", "::mlir::ModuleOp"> {
  let summary = "Turns dist.foreign into the op that it stands for";
  let description = [{
    The op has its name and attributes again, and `dist.rule` with the sizes that
    the rule has now: those of one device in a local function.

    ```mlir
    %y = dist.foreign "my.scale" (%x, %s) <"([i,j],[i])->([i,j]) {i=4, j=64}">
        : (tensor<4x64xf32>, tensor<4xf32>) -> tensor<4x64xf32>
    ```
    becomes
    ```mlir
    %y = "my.scale"(%x, %s) {dist.rule = #dist.rule<"([i,j],[i])->([i,j]) {i=4, j=64}">}
        : (tensor<4x64xf32>, tensor<4xf32>) -> tensor<4x64xf32>
    ```
  }];
}

def RaiseArgReductionsPass : Pass<"nn-raise-arg-reductions"> {
  let summary = "makes searches for a position that were written by hand ops";
  let description = [{
    A `linalg.generic` that keeps the largest or smallest element along one loop
    and where it was has two running values that no plain reduction could
    combine. It becomes `nn.arg_reduce`, which can be done on parts. Recognised
    are bodies that take the position, an `arith.index_cast` of `linalg.index`,
    where the element is strictly above (below) the running value, and that take
    the value by the same choice or by a max (min). What the search starts with
    counts as it did. Where a choice passes over NaN, so does the
    result; with `arith.maximumf` the value is the same and the position is
    that of the first NaN (by hand it would be what stood ahead of it).

    Any other reduction of linalg that is no sum, max or min is left, and a
    remark says that each device does all of it.

    ```mlir
    %0:2 = linalg.generic {iterator_types = ["parallel", "reduction"], ...}
        ins(%x : tensor<8x16xf32>) outs(%low, %zero : tensor<8xf32>, tensor<8xi64>) {
    ^bb0(%a: f32, %best: f32, %at: i64):
      %i = linalg.index 1 : index
      %n = arith.index_cast %i : index to i64
      %v = arith.maximumf %a, %best : f32
      %gt = arith.cmpf ogt, %a, %best : f32
      %p = arith.select %gt, %n, %at : i64
      linalg.yield %v, %p : f32, i64
    } -> (tensor<8xf32>, tensor<8xi64>)
    ```
    becomes, where the search starts at minus infinity and 0,
    ```mlir
    %value, %index = nn.arg_reduce <max> %x dim 1
        : tensor<8x16xf32> -> tensor<8xf32>, tensor<8xi64>
    ```
  }];
  let dependentDialects = ["::tessera::nn::NNDialect",
                           "::mlir::arith::ArithDialect"];
}

#endif // TESSERA_PROPAGATION_PASSES_TD
