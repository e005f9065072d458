//===- NN.td - The tensor ops of a transformer -------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_NN_NN_TD
#define TESSERA_DIALECTS_NN_NN_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/NN/NNInterfaces.td"
include "tessera/Interfaces/DifferentiableOpInterface.td"
include "tessera/Interfaces/LogicalDimsOpInterface.td"
include "tessera/Interfaces/PaddingOpInterface.td"
include "tessera/Interfaces/ShardingRuleOpInterface.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::tessera::nn";
  let summary = "The tensor ops of a transformer";
  let description = [{
    What upstream dialects cannot say in one op on tensors. Elementwise
    arithmetic is `arith` and `math`, changes of shape are `tensor`. All ops
    work on tensors of static shape and have no side effects.

    Function arguments carry three attributes: `nn.param = "blocks.3.attn.wq"`,
    the name of a parameter (or `nn.input = "tokens"`, of a batch input, with
    `nn.vocab`, the number of its ids, and `nn.output` on results; either has
    `nn.unsigned` if files have its integers without a sign); `nn.dims`, a name for each dimension (`"heads"`,
    `"ffn"`, `"vocab"`, `"batch"`, `"seq"`, ...), which strategies go by, also
    on ops that are at a seam (the residual stream); and `nn.init`. A parameter
    with `nn.frozen` is not trained. State of
    training carries `nn.state`, its own name, and `nn.of`, the name of the
    parameter that it belongs to; a scalar that the run sets before a step
    carries `nn.control`, its name. Names become those of files: a name has
    1 to 251 bytes, no `/` and no control characters, and is not `..`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
  let extraClassDeclaration = [{
    /// Name of a parameter, on a function argument.
    static constexpr ::llvm::StringLiteral kParamAttr = ::tessera::kParameterAttr;
    /// Name of a batch input ("tokens", "labels"), on a function argument.
    static constexpr ::llvm::StringLiteral kInputAttr = "nn.input";
    /// Number of ids that an argument may hold: they are in [0, number).
    static constexpr ::llvm::StringLiteral kVocabAttr = "nn.vocab";
    /// Additional id that an argument with `nn.vocab` may hold: the label of
    /// tokens without a loss. If absent, it is -100 on the input "labels".
    static constexpr ::llvm::StringLiteral kIgnoredAttr = "nn.ignored";
    static constexpr int64_t kUsualIgnored = -100;
    /// Marks an input or a result whose integers are unsigned in files of
    /// tensors. Types have no signs: ops say how they read integers.
    static constexpr ::llvm::StringLiteral kUnsignedAttr = "nn.unsigned";
    /// Name of a result, on a function result.
    static constexpr ::llvm::StringLiteral kOutputAttr = "nn.output";
    /// Names of the dimensions, on arguments and on ops at a seam.
    static constexpr ::llvm::StringLiteral kDimsAttr = "nn.dims";
    /// Name of a tensor of training state ("blocks.3.attn.wq.m"), on a function
    /// argument of a training step.
    static constexpr ::llvm::StringLiteral kStateAttr = "nn.state";
    /// Name of a scalar of f32 that the run sets before a training step, on a
    /// function argument: a step whose gradient norm is not below "norm_limit",
    /// or whose loss is not below "loss_limit", changes no donated argument.
    static constexpr ::llvm::StringLiteral kControlAttr = "nn.control";
    static constexpr ::llvm::StringLiteral kNormLimit = "norm_limit";
    static constexpr ::llvm::StringLiteral kLossLimit = "loss_limit";
    /// The attributes that name an argument: it has one of them at most.
    static constexpr ::llvm::StringRef kArgumentNames[] = {
        kParamAttr, kStateAttr, kInputAttr, kControlAttr};
    /// Name of the parameter that a tensor of training state belongs to, on the
    /// same argument; state of the whole step (its count) has none. A normal
    /// `nn.init` draws the numbers of that parameter: a master copy starts with
    /// the same values.
    static constexpr ::llvm::StringLiteral kOfAttr = "nn.of";
    /// Marks state that is the master copy of its parameter: it starts with the
    /// parameter's values.
    static constexpr ::llvm::StringLiteral kMasterAttr = "nn.master";
    /// The initial value of a parameter or state, on a function argument:
    /// #nn.init.
    static constexpr ::llvm::StringLiteral kInitAttr = "nn.init";
    /// Global shape without padding, and the parameter's shape in files, of a
    /// parameter or state that is stored flat, on a function argument. Both
    /// have as many elements, in the same order unless there are tiles.
    static constexpr ::llvm::StringLiteral kStoredShapeAttr = "nn.stored_shape";
    static constexpr ::llvm::StringLiteral kLogicalShapeAttr =
        "nn.logical_shape";
    /// Number of tiles into which each dimension of such a parameter is
    /// divided, without remainder. The tiles are stored one after the other;
    /// they and their elements are in row-major order.
    static constexpr ::llvm::StringLiteral kTilesAttr = "nn.tiles";
    /// Id of the token that ends a document, on the argument of the starts of
    /// documents; see `starts` of nn.attention.
    static constexpr ::llvm::StringLiteral kEodAttr = "nn.eod";
    /// Distance in tokens from a row's tokens to its labels, on an argument of
    /// labels: at least 0; if absent, 1. An input of another name with it holds
    /// labels too: those of a block that predicts later tokens.
    static constexpr ::llvm::StringLiteral kLabelShiftAttr = "nn.label_shift";
    /// Storage order of the dimensions, on arguments and results: an array with
    /// a #nn.zigzag or unit for each dimension.
    static constexpr ::llvm::StringLiteral kOrderAttr = "nn.order";
    /// Location of a parameter's values in weight files, on its argument:
    /// #nn.source.
    static constexpr ::llvm::StringLiteral kSourceAttr = "nn.source";
    /// Marks a parameter that is not trained, on its argument: it has no
    /// gradient and no training state, and is sharded like the others.
    static constexpr ::llvm::StringLiteral kFrozenAttr = "nn.frozen";
    /// The rule that changes a parameter in place of a gradient, on its
    /// argument: "balance" for the bias of a router. The function has a result
    /// of the parameter's name and ".load": the choices of each expert.
    static constexpr ::llvm::StringLiteral kTrainedAttr = "nn.trained";
    static constexpr ::llvm::StringLiteral kBalanceRule = "balance";
    static constexpr ::llvm::StringLiteral kLoadSuffix = ".load";
    /// Marks an op whose results keep their element type where a training step
    /// is built in a narrower one: the logits of a router. A parameter that has
    /// it keeps its own element type.
    static constexpr ::llvm::StringLiteral kWideAttr = "nn.wide";
  }];
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def NN_InitKind : I32EnumAttr<"InitKind", "distribution of initial values", [
    I32EnumAttrCase<"Zeros", 0, "zeros">, I32EnumAttrCase<"Ones", 1, "ones">,
    I32EnumAttrCase<"Normal", 2, "normal">,
    I32EnumAttrCase<"Constant", 3, "constant">]> {
  let cppNamespace = "::tessera::nn";
  let genSpecializedAttr = 0;
}

def NN_InitAttr : AttrDef<NN_Dialect, "Init"> {
  let mnemonic = "init";
  let summary = "how a parameter starts";
  let description = [{
    `#nn.init<normal, 2.0e-02>` has mean 0 and the given standard deviation;
    `#nn.init<constant, 6.5536e+04>` is that number everywhere; `#nn.init<zeros>`
    and `#nn.init<ones>` take no number.
  }];
  let parameters = (ins EnumParameter<NN_InitKind>:$kind,
                        OptionalParameter<"::mlir::FloatAttr">:$number);
  let assemblyFormat = "`<` $kind (`,` $number^)? `>`";
}

def NN_SourceAttr : AttrDef<NN_Dialect, "Source"> {
  let mnemonic = "source";
  let summary = "the view of a file's tensor that a parameter is";
  let description = [{
    A parameter of 768 x 12 x 64 that is the keys' part of a fused weight:

    ```mlir
    #nn.source<"c_attn.weight", [768, 2304], offset 768, strides [2304, 64, 1]>
    ```

    Files of weights (safetensors) have the tensor `c_attn.weight` of that
    shape. Element (i, j, k) of the parameter is its element 768 + 2304 i +
    64 j + k in row-major order. A view stays inside the tensor and has each
    element once: of two dimensions longer than 1 the stride of the one is at
    least the extent of the other.

    A `*` in the name stands for the index of the parameter's first dimension,
    whose stride is 0: there is a tensor of the shape for each, and the view is of
    the other dimensions. The experts of a layer are so:

    ```mlir
    #nn.source<"layers.3.mlp.experts.*.up_proj.weight", [768, 2048], offset 0, strides [0, 1, 2048]>
    ```
  }];
  let parameters = (ins StringRefParameter<"name in files">:$tensor,
                        ArrayRefParameter<"int64_t">:$shape,
                        "int64_t":$offset,
                        ArrayRefParameter<"int64_t">:$strides);
  let assemblyFormat = [{
    `<` $tensor `,` custom<Sizes>($shape) `,` `offset` $offset `,`
    `strides` custom<Sizes>($strides) `>`
  }];
  let extraClassDeclaration = [{
    /// The requirement on the view that a parameter of this shape (whole,
    /// without padding) violates; null if there is none.
    const char *findFault(::llvm::ArrayRef<int64_t> shape) const;
  }];
}

def NN_RopeScalingAttr : AttrDef<NN_Dialect, "RopeScaling"> {
  let mnemonic = "rope_scaling";
  let summary = "stretching of rotary frequencies";
  let description = [{
    `#nn.rope_scaling<factor = 8.0>` divides every frequency by `factor` (linear
    scaling, Chen et al. 2023). With the other three numbers it is Llama 3's:
    wavelengths above `original_context / low_freq_factor` are divided by
    `factor`, those below `original_context / high_freq_factor` are kept, those
    between are interpolated. There are all three or none.
  }];
  let parameters = (ins "::mlir::FloatAttr":$factor,
                        OptionalParameter<"::mlir::FloatAttr">:$low_freq_factor,
                        OptionalParameter<"::mlir::FloatAttr">:$high_freq_factor,
                        OptionalParameter<"int64_t">:$original_context);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def NN_ZigzagAttr : AttrDef<NN_Dialect, "Zigzag"> {
  let mnemonic = "zigzag";
  let summary = "zig-zag order of a dimension";
  let description = [{
    `#nn.zigzag<shards = 4, size = 32>`: a dimension of 32 elements is 8 chunks of
    4, and shard i of 4 stores the chunks i and 7 - i. With causal attention all
    shards then have as much work. At index s is the element of position
    getPosition(s). (C1) there is a shard at least, and 2 shards divide the size.
  }];
  let parameters = (ins "int64_t":$shards, "int64_t":$size);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Elements of a chunk.
    int64_t getChunk() const { return getSize() / (2 * getShards()); }
    /// The chunk, by positions, that is stored as chunk `stored`.
    int64_t getChunkAt(int64_t stored) const {
      return stored % 2 == 0 ? stored / 2 : 2 * getShards() - 1 - stored / 2;
    }
    /// The position of the element at an index; indices beyond the size map to
    /// themselves.
    int64_t getPosition(int64_t index) const;
    /// The same for an `index` value, with ops of arith.
    ::mlir::Value buildPosition(::mlir::OpBuilder &builder,
                                ::mlir::Location loc,
                                ::mlir::Value index) const;
  }];
}

def NN_GeluKind : I32EnumAttr<"GeluKind", "formula of gelu", [
    I32EnumAttrCase<"Erf", 0, "erf">, I32EnumAttrCase<"Tanh", 1, "tanh">]> {
  let cppNamespace = "::tessera::nn";
  let genSpecializedAttr = 0;
}
def NN_GeluKindAttr : EnumAttr<NN_Dialect, NN_GeluKind, "gelu_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def NN_ReduceKind : I32EnumAttr<"ReduceKind", "what a reduction computes", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">]> {
  let cppNamespace = "::tessera::nn";
  let genSpecializedAttr = 0;
}
def NN_ReduceKindAttr : EnumAttr<NN_Dialect, NN_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

class NN_Op<string mnemonic, list<string> rules = [], list<Trait> traits = []>
    : Op<NN_Dialect, mnemonic, !listconcat(traits, [Pure,
        DeclareOpInterfaceMethods<ShardingRuleOpInterface,
            !listconcat(["getShardingRule"], rules)>])>;

/// An op that builds its gradients (NNGradients.cpp), and one that first saves
/// statistics for them.
def NN_Differentiable : DeclareOpInterfaceMethods<DifferentiableOpInterface>;
def NN_SavesStats
    : DeclareOpInterfaceMethods<DifferentiableOpInterface, ["saveForBackward"]>;

/// An op that names its dimensions.
def NN_NamesDims : DeclareOpInterfaceMethods<LogicalDimsOpInterface>;

/// A float or integer tensor.
def NN_Tensor : StaticShapeTensorOf<[AnyFloat, AnySignlessInteger]>;
def NN_FloatTensor : StaticShapeTensorOf<[AnyFloat]>;
def NN_IntTensor : StaticShapeTensorOf<[AnySignlessInteger]>;
/// A scalar: tensor<f32>.
def NN_Scale : Type<CPred<"$_self == ::mlir::RankedTensorType::get({}, "
                          "::mlir::Float32Type::get($_self.getContext()))">,
                    "tensor<f32>", "::mlir::RankedTensorType">,
               BuildableType<"::mlir::RankedTensorType::get({}, "
                             "$_builder.getF32Type())">;

def NN_EinsumOp : NN_Op<"einsum", ["commutesWithReduction"],
                        [NN_Differentiable]> {
  let summary = "product of two tensors, summed over shared dimensions";
  let description = [{
    Each letter of the spec names a dimension: `"bsd,dhk->bshk"` projects to
    heads. Covers every linear layer and every matmul of a transformer.
    (C1) the spec is `lhs,rhs->result`, no letter twice in one tensor; (C2) as
    many letters as dimensions; (C3) a letter has one size; (C4) each letter of
    the result is in an operand, and each letter of an operand is in the result
    or in both operands; (C5) both operands have one element type, the result
    that one or a wider float, but for f8; (C6) f8E4M3FN and f8E5M2 may be mixed,
    have a result of 16 bits or more, and come with two scales: numbers that an
    element of each operand is multiplied by to give its value. Sums are in f32
    at least.

    The gradients of a matmul of f8 are matmuls of f8 again: of the result's
    gradient, quantized to f8E5M2 by its largest element, and the other operand
    as it is.

    ```mlir
    %q = nn.einsum "bsd,dhk->bshk" %x, %wq
        : tensor<2x8x16xf32>, tensor<16x4x4xf32> -> tensor<2x8x4x4xf32>
    %y = nn.einsum "bsd,df->bsf" %qx, %qw scales %sx, %sw
        : tensor<2x8x16xf8E4M3FN>, tensor<16x32xf8E4M3FN> -> tensor<2x8x32xbf16>
    ```
  }];
  let arguments = (ins StrAttr:$spec, NN_Tensor:$lhs, NN_Tensor:$rhs,
                       Variadic<NN_Scale>:$scales);
  let results = (outs NN_Tensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type, "::llvm::StringRef":$spec,
                   "::mlir::Value":$lhs, "::mlir::Value":$rhs)>];
  let assemblyFormat = [{
    $spec $lhs `,` $rhs (`scales` $scales^)? attr-dict `:` type($lhs) `,`
    type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The letters of the operands and the result. The spec must be valid.
    struct Letters { ::llvm::StringRef lhs, rhs, result; };
    Letters getLetters();
  }];
}

def NN_QuantizeOp : NN_Op<"quantize", [], [NN_Differentiable]> {
  let summary = "a tensor in 8 bits with one scale";
  let description = [{
    `result` is x / scale, rounded to the nearest number of its type, ties to
    even, and beyond the type's largest number that number. `scale` is the
    inverse of the greatest power of two, at most 2^126, by which `amax` may be
    multiplied to stay within the type; so it changes no digit of what it scales.
    An amax below the least normal f32 (all is zero) has scale 1. An amax that is
    infinite or NaN has a scale and elements that are NaN.

    With the largest magnitude of a whole tensor as `amax` nothing is cut off, and
    the scale does not depend on how the tensor is sharded. The gradient of x is
    that of the result: rounding is taken for the identity.
    (C1) amax is one number; (C2) the result has x's shape and is f8E4M3FN or
    f8E5M2.

    ```mlir
    %q, %s = nn.quantize %x by %amax
        : tensor<8x16xbf16>, tensor<bf16> -> tensor<8x16xf8E4M3FN>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$amax);
  let results = (outs NN_FloatTensor:$result, NN_Scale:$scale);
  let assemblyFormat = [{
    $x `by` $amax attr-dict `:` type($x) `,` type($amax) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_LayerNormOp : NN_Op<"layer_norm", ["decompose"],
    [AllTypesMatch<["x", "result"]>, NN_SavesStats]> {
  let summary = "normalizes the last dimension to mean 0 and variance 1";
  let description = [{
    (x - mean) / sqrt(variance + eps) * gamma + beta. Statistics are in f32 at
    least.
    With `stats` it also returns the mean and 1 / sqrt(variance + eps) of each row,
    for the backward.
    (C1) gamma and beta have rank 1 and the size of the last dimension; (C2) there
    are no stats or two: of x's shape without the last dimension, f32 (f64 for
    f64).

    ```mlir
    %y = nn.layer_norm %x, %gamma, %beta eps 1.0e-5
        : tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$gamma,
                       NN_FloatTensor:$beta, F64Attr:$eps);
  let results = (outs NN_FloatTensor:$result,
                       Variadic<NN_FloatTensor>:$stats);
  let assemblyFormat = [{
    $x `,` $gamma `,` $beta `eps` $eps attr-dict `:` type($x) `,` type($gamma)
    `,` type($beta) (`stats` type($stats)^)?
  }];
  let hasVerifier = 1;
}

def NN_RMSNormOp : NN_Op<"rms_norm", ["decompose"],
    [AllTypesMatch<["x", "result"]>, NN_SavesStats]> {
  let summary = "divides the last dimension by its root mean square";
  let description = [{
    x / sqrt(mean(x*x) + eps) * gamma. Statistics are in f32 at least.
    With `stats` it also returns 1 / sqrt(mean(x*x) + eps) of each row, for the
    backward.
    (C1) gamma has rank 1 and the size of the last dimension; (C2) there is no stat
    or one: of x's shape without the last dimension, f32 (f64 for f64).

    ```mlir
    %y = nn.rms_norm %x, %gamma eps 1.0e-5 : tensor<2x8x16xf32>, tensor<16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$gamma, F64Attr:$eps);
  let results = (outs NN_FloatTensor:$result,
                       Variadic<NN_FloatTensor>:$stats);
  let assemblyFormat = [{
    $x `,` $gamma `eps` $eps attr-dict `:` type($x) `,` type($gamma)
    (`stats` type($stats)^)?
  }];
  let hasVerifier = 1;
}

def NN_RopeOp : NN_Op<"rope",
    ["setPositionOffset", "setPositionOrder", "commutesWithReduction"],
    [AllTypesMatch<["x", "result"]>, NN_Differentiable]> {
  let summary = "rotary position embedding";
  let description = [{
    Rotates pairs (i, i + n/2) of the first n elements of the last dimension, or
    pairs (2i, 2i + 1) if `interleaved`, by the angle position * frequency i,
    which is theta^(-2i/n), stretched by `scaling`, or the i-th of `frequencies`,
    in radians; positions count along `dim` from `offset` (0 without it); with an
    `order` they are those of these indices. n is `width`, without it all
    elements; those after it stay as they are.
    `inverse` rotates back: it is the gradient of the op.
    (C1) dim is a dimension other than the last; (C2) n is even and (C3) at most
    2^20: the frequencies are a constant of the program; (C4) a width is at least
    2 and no more than the last dimension; (C5) there is either a theta, with or
    without a scaling, or frequencies; (C6) of these there are n/2, all finite.

    ```mlir
    %y = nn.rope %x dim 1 theta 1.0e4 : tensor<2x8x4x64xf32>
    %z = nn.rope %x dim 1 theta 1.0e4 width 48 : tensor<2x8x4x64xf32>
    %w = nn.rope %x dim 1 frequencies [1.0, 0.25] width 4 : tensor<2x8x4x64xf32>
    %v = nn.rope %x dim 1 theta 1.0e4 interleaved : tensor<2x8x4x64xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, Optional<Index>:$offset, I64Attr:$dim,
                       OptionalAttr<F64Attr>:$theta,
                       OptionalAttr<NN_RopeScalingAttr>:$scaling,
                       OptionalAttr<DenseF64ArrayAttr>:$frequencies,
                       OptionalAttr<I64Attr>:$width, UnitAttr:$interleaved,
                       UnitAttr:$inverse,
                       OptionalAttr<NN_ZigzagAttr>:$order);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    (`inverse` $inverse^)? $x `dim` $dim (`theta` $theta^)? (`scaling` $scaling^)?
    (`frequencies` custom<Frequencies>($frequencies)^)? (`width` $width^)?
    (`interleaved` $interleaved^)? (`offset` $offset^)? (`order` $order^)?
    attr-dict `:` type($x)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Number of elements of the last dimension that are rotated.
    int64_t getRotatedWidth();
  }];
}

def NN_EmbeddingOp : NN_Op<"embedding",
    ["setPositionOffset", "mayReducePadding", "cloneWithShapes"],
    [NN_Differentiable, NN_NamesDims,
     DeclareOpInterfaceMethods<PaddingOpInterface, ["getSafePadding"]>]> {
  let summary = "rows of a table";
  let description = [{
    result[..., j] = table[ids[...] - offset, j], and NaN where the id is no row:
    not in [0, rows). Without `rows` the table's size takes its place, or, with
    an offset, every id is a row. An id of a row that is outside the table gives
    zeros: it is on another device.
    (C1) the table has rank 2; (C2) the result has the shape of ids and the
    table's width; (C3) element types of table and result agree; (C4) rows,
    where given, is not negative.

    ```mlir
    %x = nn.embedding %table, %ids
        : tensor<64x16xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$table, NN_IntTensor:$ids,
                       Optional<Index>:$offset, OptionalAttr<I64Attr>:$rows);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $table `,` $ids (`rows` $rows^)? (`offset` $offset^)? attr-dict `:`
    type($table) `,` type($ids) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Ids below this limit are rows; none if every id is.
    std::optional<int64_t> getIdLimit();
  }];
}

def NN_SoftmaxOp : NN_Op<"softmax", ["decompose"],
    [AllTypesMatch<["x", "result"]>, NN_Differentiable]> {
  let summary = "exponentials along a dimension, divided by their sum";
  let description = [{
    (C1) dim is a dimension.

    ```mlir
    %y = nn.softmax %x dim 1 : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, I64Attr:$dim);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $x `dim` $dim attr-dict `:` type($x)
  }];
  let hasVerifier = 1;
}

def NN_CrossEntropyOp : NN_Op<"cross_entropy", ["decompose", "absorbPadding"],
    [NN_SavesStats, NN_NamesDims]> {
  let summary = "loss of each token against its label";
  let description = [{
    log(sum(exp(logits))) - logits[label] over the last dimension, in f32; 0
    where the label is `ignore`, and NaN where it is another that is no class.
    Logits at positions from `classes` on are padding.
    With `stats` it also returns of each row the maximum and
    log(sum(exp(logits - maximum))), for the backward. Their sum in one number
    would lose the digits of the logarithm where the maximum is large.
    (C1) the labels have the shape of the logits without the last dimension, the
    result the shape of the labels and element type f32 (f64 for f64 logits);
    (C2) there are no stats or two, of the result's type; (C3) classes, where
    given, is above 0 and no more than a row has.

    ```mlir
    %l = nn.cross_entropy %logits, %labels ignore -100
        : tensor<2x8x64xf32>, tensor<2x8xi32> -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$logits, NN_IntTensor:$labels,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore,
                       OptionalAttr<I64Attr>:$classes);
  let results = (outs NN_FloatTensor:$result,
                       Variadic<NN_FloatTensor>:$stats);
  let assemblyFormat = [{
    $logits `,` $labels `ignore` $ignore (`classes` $classes^)? attr-dict `:`
    type($logits) `,` type($labels) `->` type($result) (`stats` type($stats)^)?
  }];
  let hasVerifier = 1;
}

def NN_TakeAlongAxisOp : NN_Op<"take_along_axis",
    ["setPositionOffset", "cloneWithShapes", "commutesWithReduction"],
    [NN_Differentiable]> {
  let summary = "elements of the last dimension";
  let description = [{
    result[..., j] = x[..., index[..., j] - offset], and NaN where the index is no
    position: not in [0, size). An index without the last dimension picks one
    element of each row. Without `size` the size of the last dimension takes
    its place, or, with an offset, every index is a position. A position outside
    x gives 0: the sum over all devices' parts is the element.
    (C1) the index has the shape of x without the last dimension, or with another
    size of it, and the result that of the index; (C2) element types of x and
    result agree; (C3) size, where given, is not negative.

    ```mlir
    %y = nn.take_along_axis %x, %index : tensor<2x8x64xf32>, tensor<2x8xi32> -> tensor<2x8xf32>
    %z = nn.take_along_axis %x, %few : tensor<2x8x64xf32>, tensor<2x8x2xi32> -> tensor<2x8x2xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_IntTensor:$index,
                       Optional<Index>:$offset, OptionalAttr<I64Attr>:$size);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $x `,` $index (`size` $size^)? (`offset` $offset^)? attr-dict `:` type($x)
    `,` type($index) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Indices below this limit are positions; none if every index is.
    std::optional<int64_t> getIndexLimit();
  }];
}

def NN_GeluOp : NN_Op<"gelu", ["absorbPadding"],
    [SameOperandsAndResultType, NN_Differentiable]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    x Phi(x), by erf or by the tanh approximation.

    ```mlir
    %y = nn.gelu <tanh> %x : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_GeluKindAttr:$kind);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($x)";
}

def NN_SiluOp : NN_Op<"silu", ["absorbPadding"],
    [SameOperandsAndResultType, NN_Differentiable]> {
  let summary = "x / (1 + exp(-x))";
  let description = [{
    ```mlir
    %y = nn.silu %x : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def NN_StopGradientOp : NN_Op<"stop_gradient",
    ["absorbPadding", "commutesWithReduction"],
    [SameOperandsAndResultType,
     DeclareOpInterfaceMethods<DifferentiableOpInterface, ["stopsGradient"]>]> {
  let summary = "x, which counts as a constant where gradients are taken";
  let description = [{
    The identity, through which no gradient passes: a `detach` of torch, a
    `stop_gradient` of JAX. It is gone after the phase `train`.

    ```mlir
    %y = nn.stop_gradient %x : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def NN_ReduceOp : NN_Op<"reduce", ["commutesWithReduction"],
    [NN_Differentiable]> {
  let summary = "reduces dimensions; no init operand";
  let description = [{
    (C1) dims are ascending dimensions of x; (C2) the result has the others;
    (C3) element types agree.

    ```mlir
    %y = nn.reduce <max> %x dims [1] : tensor<8x16xf32> -> tensor<8xf32>
    ```
  }];
  let arguments = (ins NN_ReduceKindAttr:$kind, NN_Tensor:$x,
                       DenseI64ArrayAttr:$dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $kind $x `dims` $dims attr-dict `:` type($x) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_ArgReduceOp : NN_Op<"arg_reduce", ["decompose"]> {
  let summary = "largest or smallest element along a dimension, and where it is";
  let description = [{
    `value` is the max or min of x along `dim`, `index` the position of the first
    element that is equal to it. Where elements are NaN, `value` is none
    either and `index` is the position of the first of them. (For accuracy and
    for greedy decoding.)
    (C1) dim is a dimension, with one element at least; (C2) the kind is max or
    min; (C3) value and index have the other dimensions; (C4) element types of x
    and value agree; (C5) index can hold every position.

    ```mlir
    %value, %index = nn.arg_reduce <max> %x dim 1
        : tensor<8x16xf32> -> tensor<8xf32>, tensor<8xi32>
    ```
  }];
  let arguments = (ins NN_ReduceKindAttr:$kind, NN_Tensor:$x, I64Attr:$dim);
  let results = (outs NN_Tensor:$value, NN_IntTensor:$index);
  let assemblyFormat = [{
    $kind $x `dim` $dim attr-dict `:` type($x) `->` type($value) `,` type($index)
  }];
  let hasVerifier = 1;
}

def NN_BroadcastOp : NN_Op<"broadcast", ["commutesWithReduction"],
    [NN_Differentiable]> {
  let summary = "repeats a tensor along new dimensions; no init operand";
  let description = [{
    Dimension i of x is dimension dims[i] of the result.
    (C1) one entry a dimension of x, ascending, each a dimension of the result;
    (C2) sizes agree; (C3) element types agree.

    ```mlir
    %y = nn.broadcast %bias dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $x `dims` $dims attr-dict `:` type($x) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_TransposeOp : NN_Op<"transpose", ["commutesWithReduction"],
    [NN_Differentiable]> {
  let summary = "permutes dimensions; no init operand";
  let description = [{
    Dimension i of the result is dimension permutation[i] of x.
    (C1) a permutation of the dimensions; (C2) the result's shape follows.

    ```mlir
    %y = nn.transpose %x [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $x $permutation attr-dict `:` type($x) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_IotaOp : NN_Op<"iota", ["setPositionOffset", "setPositionOrder"]> {
  let summary = "0, 1, 2, ..., counted from an offset";
  let description = [{
    With an `order` the positions of these indices. (C1) the result has rank 1.

    ```mlir
    %p = nn.iota : tensor<8xi32>
    ```
  }];
  let arguments = (ins Optional<Index>:$offset,
                       OptionalAttr<NN_ZigzagAttr>:$order);
  let results = (outs NN_IntTensor:$result);
  let assemblyFormat =
      "(`offset` $offset^)? (`order` $order^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NN_MaskPaddingOp : NN_Op<"mask_padding", ["setPositionOffset"],
    [AllTypesMatch<["x", "result"]>, NN_Differentiable]> {
  let summary = "replaces what is beyond the true size of a dimension";
  let description = [{
    Elements at position `size` and beyond along `dim`, counted from `offset`,
    become `value`; the others are x's.
    (C1) dim is a dimension; (C2) the value has the element type.

    ```mlir
    %y = nn.mask_padding %x dim 0 size 17 value 0.0 : tensor<24x16xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$x, Optional<Index>:$offset, I64Attr:$dim,
                       I64Attr:$size, TypedAttrInterface:$value);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $x `dim` $dim `size` $size `value` $value (`offset` $offset^)? attr-dict `:`
    type($x)
  }];
  let hasVerifier = 1;
}

include "dialects/NN/NNAttention.td"
include "dialects/NN/NNConvolution.td"
include "dialects/NN/NNTraining.td"
include "dialects/NN/NNExperts.td"
include "dialects/NN/NNIndices.td"

#endif // TESSERA_DIALECTS_NN_NN_TD
