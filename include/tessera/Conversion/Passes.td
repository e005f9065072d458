//===- Passes.td - To calls of the runtime -----------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_PASSES_TD
#define TESSERA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandBucketsPass : Pass<"dist-expand-buckets", "::mlir::func::FuncOp"> {
  let summary = "buckets become one collective of members side by side";
  let description = [{
    On a local program. Members of an all-reduce lie one after the other, those
    whose size is a multiple of 64 bytes first; of a reduce-scatter and an
    all-gather the parts of each device do. Whether something is copied for that
    is decided where memory is planned.

    ```mlir
    %0:2 = dist.bucket (%a, %b)
        : (tensor<16xf32>, tensor<8x4xf32>) -> (tensor<16xf32>, tensor<8x4xf32>) {
      ... // dist.all_reduce <sum> over <{"dp"}>
    }
    ```
    becomes
    ```mlir
    %f = tensor.collapse_shape %b [[0, 1]] : tensor<8x4xf32> into tensor<32xf32>
    %c = tensor.concat dim(0) %a, %f : (tensor<16xf32>, tensor<32xf32>) -> tensor<48xf32>
    %r = dist.all_reduce <sum> %c over <{"dp"}> on @mesh : tensor<48xf32> -> tensor<48xf32>
    %1 = tensor.extract_slice %r[0] [16] [1] : tensor<48xf32> to tensor<16xf32>
    %2 = tensor.extract_slice %r[16] [32] [1] : tensor<48xf32> to tensor<32xf32>
    %3 = tensor.expand_shape %2 [[0, 1]] output_shape [8, 4] : tensor<32xf32> into tensor<8x4xf32>
    ```
  }];
  let dependentDialects = ["::tessera::nn::NNDialect",
                           "::mlir::tensor::TensorDialect"];
}

def ExpandAccumulatePass
    : Pass<"dist-expand-accumulate", "::mlir::func::FuncOp"> {
  let summary = "micro-batches become a loop and a last one behind it";
  let description = [{
    On a local program. One micro-batch is taken into the function; of several,
    all but the last run in an `scf.for` that carries the sums, from zeros on.

    ```mlir
    %s = dist.accumulate 4 (%x) : (tensor<4x8xf32>) -> tensor<8xf32> {...}
    ```
    becomes
    ```mlir
    %p = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %zeros) {
      ... // the body on slice %i of %x, which gives %v
      %next = arith.addf %sum, %v : tensor<8xf32>
      scf.yield %next : tensor<8xf32>
    }
    ... // the body on slice 3, which gives %w
    %s = arith.addf %p, %w : tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect",
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def SetTargetPass : Pass<"rt-set-target", "::mlir::ModuleOp"> {
  let summary = "says what a program is compiled for";
  let description = [{
    Kernels are cut, and lowered, for this target.

    ```mlir
    module { ... }
    ```
    becomes, with `target=cuda`,
    ```mlir
    module attributes {rt.target = "cuda"} { ... }
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"",
                        "host, cuda or cuda-emulated">];
  let dependentDialects = ["::tessera::rt::RTDialect"];
}

def ConvertNNPass : Pass<"rt-convert-nn", "::mlir::func::FuncOp"> {
  let summary = "nn ops become library-call records or linalg";
  let description = [{
    On a local program, or on one without a mesh. Matrix products (`nn.einsum`,
    `linalg` contractions) become `rt.matmul`, with a transposing copy only
    where dimensions cannot be collapsed; attention becomes `rt.attention`;
    everything else `linalg.generic` on tensors.

    ```mlir
    %0 = nn.einsum "bsd,dh->bsh" %x, %w
        : tensor<2x4x16xf32>, tensor<16x8xf32> -> tensor<2x4x8xf32>
    ```
    becomes
    ```mlir
    %0 = rt.matmul %x, %w <batch = 1, m = 8, n = 8, k = 16, ...>
        : tensor<2x4x16xf32>, tensor<16x8xf32> -> tensor<2x4x8xf32>
    ```

    Products of f8 become `rt.scaled_matmul`. For a GPU that is done where sizes
    are multiples of 16, on operands whose contracted dimension is contiguous:
    others are copied. What does not fit, and with `widen-f8` all, is multiplied
    in bf16, which holds each number of the operands.
  }];
  let options = [
    Option<"widenF8", "widen-f8", "bool", "false",
           "products of f8 are done in bf16">
  ];
  let dependentDialects = ["::tessera::rt::RTDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

def InlineCallsPass : Pass<"rt-inline-calls", "::mlir::ModuleOp"> {
  let summary = "callees become part of the step";
  let description = [{
    Functions that are called are gone afterwards; one that calls itself is an
    error.

    ```mlir
    %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    ```
    becomes, where @f is a tanh,
    ```mlir
    %0 = math.tanh %x : tensor<4xf32>
    ```
  }];
}

def ReduceBoundaryPass : Pass<"rt-reduce-boundary", "::mlir::func::FuncOp"> {
  let summary = "arguments and results of a step are whole values";
  let description = [{
    On a local program. An unreduced argument comes whole, as an input does, and
    is made partial; an unreduced result is reduced.

    ```mlir
    func.func @f(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{} ], unreduced={"x"}>})
        -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{} ], unreduced={"x"}>}) {
      %0 = arith.negf %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{} ]>})
        -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{} ]>}) {
      %p = dist.to_partial <sum> %x over <{"x"}> on @mesh : tensor<4xf32>
      %0 = arith.negf %p : tensor<4xf32>
      %r = dist.all_reduce <sum> %0 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def TensorizeBoundaryPass
    : Pass<"rt-tensorize-boundary", "::mlir::func::FuncOp"> {
  let summary = "scalars are passed as tensors of rank 0";
  let description = [{
    ```mlir
    func.func @f(%s: f32) -> f32 {
      %0 = arith.mulf %s, %s : f32
      return %0 : f32
    }
    ```
    becomes
    ```mlir
    func.func @f(%t: tensor<f32>) -> tensor<f32> {
      %s = tensor.extract %t[] : tensor<f32>
      %0 = arith.mulf %s, %s : f32
      %e = tensor.empty() : tensor<f32>
      %1 = linalg.fill ins(%0 : f32) outs(%e : tensor<f32>) -> tensor<f32>
      return %1 : tensor<f32>
    }
    ```
    An index is passed as a tensor of i64.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def FoldEmptyPass : Pass<"rt-fold-empty", "::mlir::func::FuncOp"> {
  let summary = "tensors without elements are made by nothing";
  let description = [{
    What makes such a tensor becomes `tensor.empty`; what reads one gives what it
    does without: a reduction its start, a concatenation its other parts.

    ```mlir
    %0 = tensor.concat dim(0) %x, %none : (tensor<4xf32>, tensor<0xf32>) -> tensor<4xf32>
    %1 = nn.reduce <sum> %none dims [0] : tensor<0xf32> -> tensor<f32>
    ```
    becomes %x and
    ```mlir
    %1 = arith.constant dense<0.0> : tensor<f32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def WidenCollectivesPass
    : Pass<"rt-widen-collectives", "::mlir::func::FuncOp"> {
  let summary = "integers that the runtime lacks travel as wider ones";
  let description = [{
    On a local program without buckets.

    ```mlir
    %1 = dist.all_reduce <sum> %0 over <{"x"}> on @mesh : tensor<4xi16> -> tensor<4xi16>
    ```
    becomes
    ```mlir
    %w = arith.extsi %0 : tensor<4xi16> to tensor<4xi32>
    %r = dist.all_reduce <sum> %w over <{"x"}> on @mesh : tensor<4xi32> -> tensor<4xi32>
    %1 = arith.trunci %r : tensor<4xi32> to tensor<4xi16>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def IsolateGenericsPass
    : Pass<"rt-isolate-generics", "::mlir::func::FuncOp"> {
  let summary = "generics say what they read, and which loops reduce";
  let description = [{
    An elementwise op reads no outs, and a body takes nothing from outside but
    constants, indices that depend on no tensor, and elements of tensors. A
    `tensor.empty` that is more than the outs of an op becomes zeros.

    ```mlir
    %s = tensor.extract %t[%c0] : tensor<4xf32>
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %1 = arith.mulf %b, %s : f32
      linalg.yield %1 : f32
    } -> tensor<4xf32>
    ```
    becomes
    ```mlir
    %e = tensor.empty() : tensor<4xf32>
    %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %s = tensor.extract %t[%c0] : tensor<4xf32>
      %1 = arith.mulf %b, %s : f32
      linalg.yield %1 : f32
    } -> tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def AccumulateSumsPass : Pass<"rt-accumulate-sums", "::mlir::func::FuncOp"> {
  let summary = "products that are only added to a value begin with it";
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

def SpreadReductionsPass
    : Pass<"rt-spread-reductions", "::mlir::func::FuncOp"> {
  let summary = "sums without rows get rows";
  let description = [{
    A sum over leading dimensions is done by blocks of columns, a sum over
    everything by parts of it, so that all threads have work. Where the target is
    a GPU a sum of columns is first done by parts; of rows that follow each other,
    `(b, s, c) -> (b, s floordiv 32, c)`, where another op has the same rows.

    ```mlir
    %s = linalg.generic // reduction, parallel
        ins(%x : tensor<512x768xf32>) outs(%zero : tensor<768xf32>)
    ```
    becomes
    ```mlir
    %y = tensor.expand_shape %x [[0], [1, 2]] : ... into tensor<512x12x64xf32>
    %t = linalg.generic // parallel, reduction, parallel
        ins(%y : tensor<512x12x64xf32>) outs(%zeros : tensor<12x64xf32>)
    %s = tensor.collapse_shape %t [[0, 1]] : ... into tensor<768xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

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
  let summary = "products of a GPU take a part of what follows";
  let description = [{
    Where the target is a GPU. A product takes the bias that is added to it, GELU
    by tanh (whose argument it writes, if others read it), GELU's gradient, and
    a tensor that is added; the product of a weight's gradient takes the sums of
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

def OutlineKernelsPass : Pass<"rt-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "groups linalg ops over common rows into kernels";
  let description = [{
    Ops whose leading dimensions count the same rows, and which exchange values
    row by row, become one private function on tensors; equal functions are
    one. What stays in the step function are calls: kernels, library calls,
    copies, collectives, views.

    ```mlir
    %m = linalg.generic ... ins(%x)      // row maximum
    %e = linalg.generic ... ins(%x, %m)  // exp(x - m)
    ```
    becomes
    ```mlir
    %e = rt.kernel @kernel_0(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    ```
  }];
  let dependentDialects = ["::tessera::rt::RTDialect"];
}

def BatchKernelsPass : Pass<"rt-batch-kernels", "::mlir::ModuleOp"> {
  let summary = "small or last kernels of a GPU become one launch";
  let description = [{
    Where the target is a GPU. Kernels that do not depend on each other, and that
    either make the step's results (optimizers) or little from what stays in
    memory anyway (norms of gradients), become one kernel that calls them. It
    stands where the first result is read. Small ones that follow each other do
    so too. The body of a loop has batches of its own.

    ```mlir
    %a = rt.kernel @kernel_0(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %b = rt.kernel @kernel_1(%y) : (tensor<4xf32>) -> tensor<4xf32>
    ```
    becomes
    ```mlir
    %r:2 = rt.kernel @batch_0(%x, %y)
        : (tensor<8xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>)
    ```
  }];
  let dependentDialects = ["::tessera::rt::RTDialect"];
}

def VerifyKernelsPass : Pass<"rt-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "checks that a step function holds calls only";
  let description = [{
    The contract of phase `kernels`: a step function holds no loose op that
    computes on tensors; each kernel holds linalg on tensors over its rows.
  }];
}

def StartCollectivesPass : Pass<"rt-start-collectives", "::mlir::func::FuncOp"> {
  let summary = "splits collectives into dist.start and dist.wait, with slots";
  let description = [{
    In the order of the program, which is the same on all ranks. What is not
    started yet is waited for at once; `dist-overlap-collectives` puts work
    between the two. Each start and its wait get the lowest slot that is free;
    where all are taken the oldest wait moves up.

    ```mlir
    %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : ...
    ```
    becomes `dist.start` with this op in its region, and `dist.wait`.
  }];
}

def LowerToRTPass : Pass<"rt-lower-to-rt", "::mlir::ModuleOp"> {
  let summary = "the step becomes calls on offsets, kernels become loops";
  let description = [{
    After `rt-plan-arena`. The step function loses its arguments and results;
    what they are stands in the module's manifest. Kernels become loops over
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

def ConvertRTToLLVMPass : Pass<"rt-convert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "everything becomes LLVM dialect";
  let description = [{
    `tessera_program_step` with one call and a check of its status for each op,
    kernels with an entry that unpacks words, constant descriptor tables, the
    manifest as a string. Transcendental functions become polynomials.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::vector::VectorDialect",
    "::mlir::math::MathDialect"];
}

#endif // TESSERA_CONVERSION_PASSES_TD
