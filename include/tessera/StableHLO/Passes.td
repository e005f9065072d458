//===- Passes.td - From StableHLO to nn --------------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_STABLEHLO_PASSES_TD
#define TESSERA_STABLEHLO_PASSES_TD

include "mlir/Pass/PassBase.td"

def StableHLOToNNPass : Pass<"stablehlo-to-nn", "::mlir::ModuleOp"> {
  let summary = "StableHLO becomes nn, arith, math and tensor";
  let description = [{
    Reads the ops of StableHLO in MLIR's generic form: no dialect of that name is
    registered, and the attributes are read from their text. The function `main`,
    or the only public one, becomes one function without calls and loops: calls
    are inlined, a `stablehlo.while` whose condition follows from constants is
    unrolled. Every other op becomes ops of the same meaning, one by one. A
    module without such an op stays as it is.

    An argument is named by its location (`p['blocks'][0]['w']` is `blocks.0.w`).
    Those of floats become parameters (`nn.param`), those of integers inputs
    (`nn.input`); `inputs` names floats that are inputs. A result is named by its
    `jax.result_info`; the only result of a function, if it is one float, is the
    `loss`. Ids are taken to be rows of their table: where an input is an index,
    it gets `nn.vocab`, and the wrapping of negative ids and the marks of those
    beyond the table, which JAX adds, are left out.

    `sdy.mesh` becomes `dist.mesh`, `sdy.sharding` of arguments and results
    `dist.sharding`, and a `sdy.sharding_constraint` a `dist.constraint`. So do
    the tiles of `mhlo.sharding`, whose boundaries are the axes of the mesh.

    ```mlir
    %1 = "stablehlo.dot_general"(%x, %w) <{
        dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1],
                                               rhs_contracting_dimensions = [0]>}>
        : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    %2 = "stablehlo.tanh"(%1) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    ```
    becomes
    ```mlir
    %1 = nn.einsum "ac,cb->ab" %x, %w
        : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
    %2 = math.tanh %1 : tensor<8x4xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::tessera::dist::DistDialect",
    "::tessera::nn::NNDialect"];
  let options = [
    ListOption<"inputs", "inputs", "std::string",
               "arguments of floats that are inputs, not parameters">,
  ];
}

#endif // TESSERA_STABLEHLO_PASSES_TD
