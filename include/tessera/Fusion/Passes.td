//===- Passes.td - Fusion of loops to kernels --------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FUSION_PASSES_TD
#define TESSERA_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseElementwisePass : Pass<"rt-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "fuses elementwise linalg ops into their consumers";
  let description = [{
    A producer that has one use, or that costs nothing (a broadcast, a cast),
    moves into the body of its consumer. What is expensive is never repeated
    along a broadcast dimension. What then only moves data becomes `rt.copy`.

    ```mlir
    %b = linalg.generic ... ins(%bias) // broadcast
    %y = linalg.generic ... ins(%x, %b) // add
    ```
    becomes one `linalg.generic` that reads `%bias` through a map.
  }];
  let dependentDialects = ["::tessera::rt::RTDialect",
                           "::mlir::linalg::LinalgDialect"];
}

def FuseEpiloguesPass : Pass<"rt-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "matmuls of a GPU take a part of what follows";
  let description = [{
    Where the target is a GPU. A matmul takes the bias that is added to it, GELU
    by tanh (whose argument it writes, if others read it), GELU's gradient, and
    a tensor that is added; the matmul of a weight's gradient takes the sums of
    its operand's columns, which are a bias's gradient. Forms are found by the
    arithmetic of bodies and by strides. Not if the result is read only within
    the kernel that would make it.

    ```mlir
    %p = rt.matmul %a, %b <...> : ... -> tensor<8x16xbf16>
    %x = linalg.generic ins(%p, %bias) // add
    %y = linalg.generic ins(%x)        // GELU
    ```
    becomes
    ```mlir
    %y, %x = rt.matmul_fused <gelu> %a, %b <...> bias %bias : tensor<16xbf16>
        : ... -> tensor<8x16xbf16> extra tensor<8x16xbf16>
    ```
  }];
  let dependentDialects = ["::tessera::rt::RTDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FuseMatmulBetaPass : Pass<"rt-fuse-matmul-beta", "::mlir::func::FuncOp"> {
  let summary = "matmuls that are only added to a value begin with it";
  let description = [{
    Where the value ends there, and is no argument of the function, the call
    adds to it in its place.

    ```mlir
    %p = rt.matmul %a, %b <...> : ... -> tensor<8x8xf32>
    %s = linalg.generic ... ins(%sum, %p) // add
    ```
    becomes
    ```mlir
    %s = rt.matmul %a, %b <...> init %sum : ... -> tensor<8x8xf32>
    ```
  }];
  let dependentDialects = ["::tessera::rt::RTDialect"];
}

#endif // TESSERA_FUSION_PASSES_TD
