//===- Passes.td - Kernels to loops and to GPU code --------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_PASSES_TD
#define TESSERA_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertGPUToNVVMPass : Pass<"rt-convert-gpu-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "kernels of a GPU become NVVM and LLVM dialect";
  let description = [{
    Each tensor of a kernel is a pointer that no other one overlaps, to memory
    that is aligned as the arena is. exp, tanh and the like become calls of
    libdevice.

    ```mlir
    gpu.module @kernels {
      gpu.func @kernel_0(%x: memref<64xf32>) kernel {...}
    }
    ```
    becomes
    ```mlir
    gpu.module @kernels {
      llvm.func @kernel_0(%x: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias})
          attributes {nvvm.kernel, nvvm.reqntid = ...} {...}
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::cf::ControlFlowDialect"];
}

def EmulateGPUPass : Pass<"rt-emulate-gpu", "::mlir::ModuleOp"> {
  let summary = "kernels of a GPU become functions of the host";
  let description = [{
    A function is one thread, which asks the emulator who it is.

    ```mlir
    gpu.module @kernels {
      gpu.func @kernel_0(%x: memref<64xf32>) kernel {
        %t = gpu.thread_id x
        gpu.barrier
        ...
      }
    }
    ```
    becomes
    ```mlir
    func.func private @kernel_0(%x: memref<64xf32>, %shared: memref<0xi8>)
        attributes {rt.kernel} {
      %t = func.call @tessera_emu_thread_id() : () -> i32
      func.call @tessera_emu_barrier() : () -> ()
      ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
    "::mlir::memref::MemRefDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif // TESSERA_CODEGEN_PASSES_TD
