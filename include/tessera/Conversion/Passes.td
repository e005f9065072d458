//===- Passes.td - To calls of the runtime -----------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_PASSES_TD
#define TESSERA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToRTPass : Pass<"rt-lower-to-rt", "::mlir::ModuleOp"> {
  let summary = "the step becomes calls on offsets, kernels become loops";
  let description = [{
    After `rt-plan-arena`. The step function loses its arguments and results;
    what they are is in the module's manifest. Kernels become loops over
    rows [begin, end) on memory; one that writes over an operand of it becomes
    a variant of its own.

    ```mlir
    %1 = rt.kernel @kernel_0(%0) {rt.offsets = array<i64: 64>} : ...
    ```
    becomes
    ```mlir
    rt.launch @kernel_0 rows 8 grain 1 at [0, 64]
    ```
    For a GPU a kernel becomes the function of a thread in `gpu.module @kernels`,
    and the call
    ```mlir
    rt.launch_device @kernels::@kernel_0 number 0 grid 1 block 32 shared 0
        at [0, 64]
    ```
  }];
  let options = [Option<"program", "program", "std::string", "\"program\"",
                        "name of the program in its manifest">];
  let dependentDialects = ["::tessera::rt::RTDialect", "::mlir::scf::SCFDialect",
    "::mlir::memref::MemRefDialect", "::mlir::affine::AffineDialect",
    "::mlir::gpu::GPUDialect", "::mlir::vector::VectorDialect"];
}

def ConvertRTToLLVMPass : Pass<"rt-convert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "everything becomes LLVM dialect";
  let description = [{
    `tessera_program_steps` of functions with one call and a check of its status for each op,
    kernels with an entry that unpacks arguments, constant descriptor tables, the
    manifest as a string. Transcendental functions become polynomials.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::vector::VectorDialect",
    "::mlir::math::MathDialect"];
}

#endif // TESSERA_CONVERSION_PASSES_TD
