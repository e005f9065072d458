//===- RTBase.td - The dialect, its base classes -----------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_RT_RTBASE_TD
#define TESSERA_DIALECTS_RT_RTBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/RT/RTInterfaces.td"

def RT_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::tessera::rt";
  let summary = "Kernels, library calls and the arena of a compiled program";
  let description = [{
    Two layers. The ops on tensors are *records*: a matmul in the form a
    library takes, an attention, a strided copy, a call of an outlined kernel
    (phases `kernels` and `schedule`). The ops on *offsets* are calls of the C
    ABI in `runtime/include/tessera_rt.h`, one to one (phase `rt`). Offsets are
    in bytes from the base of a rank's arena; shapes and strides in elements.

    A kernel is a private function on tensors marked `rt.kernel`, whose ops all
    run over the same rows: `rt.rows` of them, counted along the leading
    dimensions. `rt.reuse = array<i64: r, o, ...>` on it says that result r may
    be written over operand o. A kernel marked `rt.batch` has no rows: it calls
    others, which do not depend on each other, and is one launch. After
    `rt-plan-arena` every op and argument carries `rt.offsets`, and the function
    `rt.arena_bytes`. Tasks of a pipeline are private functions marked `rt.task`.

    A module with `rt.target = "cuda"` is for a GPU: its kernels are functions of
    a thread in a `gpu.module @kernels`. With `"cuda-emulated"` these become
    functions of the host.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
  let extraClassDeclaration = [{
    void registerAttributes();

    /// Unit attribute of a function that is a kernel.
    static constexpr ::llvm::StringLiteral kKernelAttr = "rt.kernel";
    /// Unit attribute of a kernel that merges several others.
    static constexpr ::llvm::StringLiteral kBatchAttr = "rt.batch";
    /// Number of rows of a kernel, on its function.
    static constexpr ::llvm::StringLiteral kRowsAttr = "rt.rows";
    /// Pairs {result, operand} of a kernel, on its function.
    static constexpr ::llvm::StringLiteral kReuseAttr = "rt.reuse";
    /// Byte offsets: of each result on an op, of each argument on a function.
    static constexpr ::llvm::StringLiteral kOffsetsAttr = "rt.offsets";
    /// Triples {offset, bytes, forget} of blocks that begin before an op, and
    /// of blocks that end after it, in a program that watches its memory.
    static constexpr ::llvm::StringLiteral kBeginsAttr = "rt.begins";
    static constexpr ::llvm::StringLiteral kEndsAttr = "rt.ends";
    /// Slot of a collective in flight, on dist.start and dist.wait; of the
    /// sends of a dist.exchange.
    static constexpr ::llvm::StringLiteral kSlotAttr = "rt.slot";
    /// Size of the arena, on the step function.
    static constexpr ::llvm::StringLiteral kArenaBytesAttr = "rt.arena_bytes";
    /// Peak bytes by category, on the step function: a dictionary.
    static constexpr ::llvm::StringLiteral kMemoryAttr = "rt.memory";
    /// Unit attribute of an scf.for that also ends once the first value that it
    /// carries, a tensor<i1>, is false.
    static constexpr ::llvm::StringLiteral kWhileAttr = "rt.while";
    /// Unit attribute, in phase `rt`, of the step function and of tasks.
    static constexpr ::llvm::StringLiteral kStepAttr = "rt.step";
    /// The task of a pipeline that a function is: #rt.task.
    static constexpr ::llvm::StringLiteral kTaskAttr = "rt.task";
    /// The storage of a task's argument: #rt.place.
    static constexpr ::llvm::StringLiteral kPlaceAttr = "rt.place";
    /// The #rt.task of the BW of a pair, on a function that runs F and BW of
    /// different micro-batches; a unit attribute on BW's arguments.
    static constexpr ::llvm::StringLiteral kBesideAttr = "rt.beside";
    /// Begins of segments, on a task with a planned arena: offsets in a segment
    /// are relative to an address that the task is given.
    static constexpr ::llvm::StringLiteral kSegmentsAttr = "rt.segments";
    /// The entries of a list, on rt.pipeline with a planned arena.
    static constexpr ::llvm::StringLiteral kEntriesAttr = "rt.entries";
    /// The target of a module, on the module: "host", "cuda" or
    /// "cuda-emulated". If absent, it is "host".
    static constexpr ::llvm::StringLiteral kTargetAttr = "rt.target";
    /// Name of the module of device kernels, in phase `rt`.
    static constexpr ::llvm::StringLiteral kDeviceModule = "kernels";
    /// The program's manifest in JSON, on the module.
    static constexpr ::llvm::StringLiteral kManifestAttr = "rt.manifest";
  }];
}

def RT_MatmulAttr : AttrDef<RT_Dialect, "MatmulLayout"> {
  let mnemonic = "matmul";
  let summary = "C = op(A) * op(B), as tessera_rt_matmul_desc says it";
  let description = [{
    Sizes, leading dimensions and strides between batches, in elements; `trans_a`
    says that A is stored [k, m], `trans_b` that B is stored [n, k].
    (C1) sizes are at least 1; (C2) a leading dimension is at least the length
    of a stored row, where there are several rows; (C3) the flags are 0 or 1.
  }];
  let parameters = (ins "int64_t":$batch, "int64_t":$m, "int64_t":$n,
      "int64_t":$k, "int64_t":$lda, "int64_t":$ldb, "int64_t":$ldc,
      "int64_t":$stride_a, "int64_t":$stride_b, "int64_t":$stride_c,
      "int64_t":$trans_a, "int64_t":$trans_b);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def RT_EpilogueKind : I32EnumAttr<"EpilogueKind",
    "the epilogue of a matmul", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Bias", 1, "bias">,
    I32EnumAttrCase<"Gelu", 2, "gelu">,
    I32EnumAttrCase<"GeluGradient", 3, "gelu_gradient">,
    I32EnumAttrCase<"LhsSums", 4, "lhs_sums">,
    I32EnumAttrCase<"RhsSums", 5, "rhs_sums">]> {
  let cppNamespace = "::tessera::rt";
  let genSpecializedAttr = 0;
}

def RT_EpilogueAttr : EnumAttr<RT_Dialect, RT_EpilogueKind, "epilogue"> {
  let assemblyFormat = "`<` $value `>`";
}

class RT_Op<string mnemonic, list<Trait> traits = []>
    : Op<RT_Dialect, mnemonic, traits>;

def RT_Tensor : StaticShapeTensorOf<[AnyFloat, AnySignlessInteger]>;
/// A scalar: tensor<f32>.
def RT_Scale : Type<CPred<"$_self == ::mlir::RankedTensorType::get({}, "
                          "::mlir::Float32Type::get($_self.getContext()))">,
                    "tensor<f32>", "::mlir::RankedTensorType">,
               BuildableType<"::mlir::RankedTensorType::get({}, "
                             "$_builder.getF32Type())">;

#endif // TESSERA_DIALECTS_RT_RTBASE_TD
