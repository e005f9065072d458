//===- NNTraining.td - Ops of the training step ------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The optimizers, and gradients that are not a composition of forward ops. Each
// gradient takes the values saved by the forward op, so that only two kinds
// have internal reductions: norms over a sharded last dimension, and attention
// over sharded head dims. Included by NN.td, which defines the classes used
// here.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_NN_NNTRAINING_TD
#define TESSERA_DIALECTS_NN_NNTRAINING_TD

/// A tensor of rank 0.
def NN_FloatScalar : Type<And<[NN_FloatTensor.predicate,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0">]>,
    "float tensor of rank 0", "::mlir::RankedTensorType">;
def NN_BoolScalar : Type<And<[StaticShapeTensorOf<[I1]>.predicate,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0">]>,
    "i1 tensor of rank 0", "::mlir::RankedTensorType">;

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

def NN_LayerNormBackwardOp : NN_Op<"layer_norm_backward", ["decompose"],
    [AllTypesMatch<["grad", "x", "result"]>, AllTypesMatch<["mean", "rstd"]>]> {
  let summary = "gradient of layer_norm's x";
  let description = [{
    With y = (x - mean) rstd and g = grad gamma:
    rstd (g - mean of g - y mean of (g y)), means over the last dimension. The
    gradients of gamma and beta are plain sums of grad y and of grad.
    (C1) gamma has rank 1 and the size of the last dimension; (C2) the stats have
    x's shape without the last dimension, f32 (f64 for f64).

    ```mlir
    %dx = nn.layer_norm_backward %grad, %x, %gamma, %mean, %rstd
        : tensor<2x8x16xf32>, tensor<16xf32>, tensor<2x8xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$grad, NN_FloatTensor:$x,
                       NN_FloatTensor:$gamma, NN_FloatTensor:$mean,
                       NN_FloatTensor:$rstd);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $x `,` $gamma `,` $mean `,` $rstd attr-dict `:` type($x) `,`
    type($gamma) `,` type($mean)
  }];
  let hasVerifier = 1;
}

def NN_RMSNormBackwardOp : NN_Op<"rms_norm_backward", ["decompose"],
    [AllTypesMatch<["grad", "x", "result"]>]> {
  let summary = "gradient of rms_norm's x";
  let description = [{
    With y = x rstd and g = grad gamma: rstd (g - y mean of (g y)), the mean over
    the last dimension. The gradient of gamma is a plain sum of grad y.
    (C1) and (C2) as for `nn.layer_norm_backward`.

    ```mlir
    %dx = nn.rms_norm_backward %grad, %x, %gamma, %rstd
        : tensor<2x8x16xf32>, tensor<16xf32>, tensor<2x8xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$grad, NN_FloatTensor:$x,
                       NN_FloatTensor:$gamma, NN_FloatTensor:$rstd);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $x `,` $gamma `,` $rstd attr-dict `:` type($x) `,` type($gamma)
    `,` type($rstd)
  }];
  let hasVerifier = 1;
}

def NN_EmbeddingBackwardOp : NN_Op<"embedding_backward",
    ["setPositionOffset", "absorbPadding", "commutesWithReduction"]> {
  let summary = "gradient of embedding's table";
  let description = [{
    result[r, j] = sum of grad[..., j] over the positions where ids[...] - offset is
    r, in ascending order of positions. Ids outside the table, and those from
    `rows` on, which is where its padding begins, count nowhere.
    (C1) grad has the shape of ids and the table's width; (C2) the result has
    rank 2 and grad's element type or a wider one; (C3) rows, where given, is
    not negative.

    ```mlir
    %dt = nn.embedding_backward %grad, %ids
        : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<64x16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$grad, NN_IntTensor:$ids,
                       Optional<Index>:$offset, OptionalAttr<I64Attr>:$rows);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $ids (`rows` $rows^)? (`offset` $offset^)? attr-dict `:`
    type($grad) `,` type($ids) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_CrossEntropyBackwardOp : NN_Op<"cross_entropy_backward",
    ["setPositionOffset", "absorbPadding", "commutesWithReduction"],
    [AllTypesMatch<["logits", "result"]>, AllTypesMatch<["grad", "max", "log_sum"]>]> {
  let summary = "gradient of cross_entropy's logits";
  let description = [{
    grad (exp((logits - max) - log_sum) - [v = label - offset]) at position v of
    the last dimension; 0 where the label is `ignore` and at positions from `classes`
    on, counted from the offset, which are padding.
    (C1) grad has the shape of the labels and f32 (f64 for f64
    logits); (C2) the labels have the shape of the logits without the last
    dimension; (C3) classes, where given, is above 0.

    ```mlir
    %dl = nn.cross_entropy_backward %grad, %logits, %labels, %max, %log ignore -100
        : tensor<2x8xf32>, tensor<2x8x64xf32>, tensor<2x8xi32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$grad, NN_FloatTensor:$logits,
                       NN_IntTensor:$labels, NN_FloatTensor:$max,
                       NN_FloatTensor:$log_sum, Optional<Index>:$offset,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore,
                       OptionalAttr<I64Attr>:$classes);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $logits `,` $labels `,` $max `,` $log_sum `ignore` $ignore
    (`classes` $classes^)? (`offset` $offset^)? attr-dict `:` type($grad) `,`
    type($logits) `,` type($labels)
  }];
  let hasVerifier = 1;
}

def NN_TakeAlongAxisBackwardOp : NN_Op<"take_along_axis_backward",
    ["setPositionOffset", "mayReducePadding", "commutesWithReduction"]> {
  let summary = "gradient of take_along_axis's x";
  let description = [{
    The sum of grad[..., j] at position index[..., j] - offset of the last
    dimension, 0 elsewhere. An index without the last dimension picks one position
    of each row.
    (C1) the index has the shape of the result without the last dimension, or with
    another size of it, and grad that of the index; (C2) element types of grad and
    result agree.

    ```mlir
    %dx = nn.take_along_axis_backward %grad, %index
        : tensor<2x8xf32>, tensor<2x8xi32> -> tensor<2x8x64xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$grad, NN_IntTensor:$index,
                       Optional<Index>:$offset);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $index (`offset` $offset^)? attr-dict `:` type($grad) `,`
    type($index) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_GeluBackwardOp : NN_Op<"gelu_backward", ["commutesWithReduction"],
    [SameOperandsAndResultType]> {
  let summary = "gradient of gelu";
  let description = [{
    grad times the derivative of gelu at x, in f32 at least.

    ```mlir
    %dx = nn.gelu_backward <tanh> %grad, %x : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$grad, NN_FloatTensor:$x,
                       NN_GeluKindAttr:$kind);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$kind $grad `,` $x attr-dict `:` type($x)";
}

def NN_SiluBackwardOp : NN_Op<"silu_backward", ["commutesWithReduction"],
    [SameOperandsAndResultType]> {
  let summary = "gradient of silu";
  let description = [{
    grad times the derivative of silu at x, in f32 at least.

    ```mlir
    %dx = nn.silu_backward %grad, %x : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$grad, NN_FloatTensor:$x);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$grad `,` $x attr-dict `:` type($x)";
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

def NN_AdamWOp : NN_Op<"adamw", ["absorbPadding"],
    [AllTypesMatch<["param", "new_param"]>,
     AllTypesMatch<["m", "v", "new_m", "new_v"]>,
     AllTypesMatch<["grad_scale", "lr", "m_correction", "v_correction"]>]> {
  let summary = "AdamW on one parameter";
  let description = [{
    With g = grad * grad_scale: m' = beta1 m + (1 - beta1) g,
    v' = beta2 v + (1 - beta2) g g,
    param' = param - lr (m' m_correction / (sqrt(v' v_correction) + eps)
    + weight_decay param); m_correction is 1 / (1 - beta1^step) and v_correction
    likewise (Loshchilov and Hutter, Decoupled Weight Decay Regularization).
    Where `skip` is given and true, all three stay as they are.
    (C1) param, m, v and grad have one shape; (C2) m and v have the element type
    of the scalars, f32 or f64; grad and param are no wider.

    ```mlir
    %p1, %m1, %v1 = nn.adamw %p, %m, %v, %g scale %s lr %lr corrections %c1, %c2
        beta1 0.9 beta2 0.95 eps 1.0e-8 weight_decay 0.1
        : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<f32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$param, NN_FloatTensor:$m,
                       NN_FloatTensor:$v, NN_FloatTensor:$grad,
                       NN_FloatScalar:$grad_scale, NN_FloatScalar:$lr,
                       NN_FloatScalar:$m_correction,
                       NN_FloatScalar:$v_correction,
                       Optional<NN_BoolScalar>:$skip, F64Attr:$beta1,
                       F64Attr:$beta2, F64Attr:$eps, F64Attr:$weight_decay);
  let results = (outs NN_FloatTensor:$new_param, NN_FloatTensor:$new_m,
                      NN_FloatTensor:$new_v);
  let assemblyFormat = [{
    $param `,` $m `,` $v `,` $grad `scale` $grad_scale `lr` $lr `corrections`
    $m_correction `,` $v_correction (`skip` $skip^ `:` type($skip))?
    `beta1` $beta1 `beta2` $beta2 `eps` $eps `weight_decay` $weight_decay
    attr-dict `:` type($param) `,` type($m) `,` type($grad) `,` type($lr)
  }];
  let hasVerifier = 1;
}

def NN_SGDOp : NN_Op<"sgd", ["absorbPadding"],
    [AllTypesMatch<["param", "new_param"]>,
     AllTypesMatch<["grad_scale", "lr"]>, AttrSizedOperandSegments]> {
  let summary = "stochastic gradient descent on one parameter";
  let description = [{
    With g = grad * grad_scale + weight_decay param: without a velocity
    param' = param - lr g; with one, velocity' = momentum velocity + g and
    param' = param - lr velocity'. Where `skip` is given and true, all stay as
    they are.
    (C1) param, velocity and grad have one shape; (C2) velocity has the element
    type of the scalars, f32 or f64, grad and param are no wider; (C3) there are
    as many new velocities as velocities.

    ```mlir
    %p1 = nn.sgd %p, %g scale %s lr %lr momentum 0.0 weight_decay 0.0
        : tensor<8x16xf32>, tensor<8x16xf32>, tensor<f32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$param, NN_FloatTensor:$grad,
                       NN_FloatScalar:$grad_scale, NN_FloatScalar:$lr,
                       Optional<NN_FloatTensor>:$velocity,
                       Optional<NN_BoolScalar>:$skip, F64Attr:$momentum,
                       F64Attr:$weight_decay);
  let results = (outs NN_FloatTensor:$new_param,
                      Variadic<NN_FloatTensor>:$new_velocity);
  let assemblyFormat = [{
    $param `,` $grad `scale` $grad_scale `lr` $lr
    (`velocity` $velocity^ `:` type($velocity))?
    (`skip` $skip^ `:` type($skip))? `momentum` $momentum
    `weight_decay` $weight_decay attr-dict `:` type($param) `,` type($grad) `,`
    type($lr) (`->` type($new_velocity)^)?
  }];
  let hasVerifier = 1;
}

#endif // TESSERA_DIALECTS_NN_NNTRAINING_TD
