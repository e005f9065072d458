//===- TrainingWork.h - From a forward pass to a training step --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The records of a layer's training step from those of its forward pass, and
// the ways in which a layer may be run other than its graph says: unfused
// attention, dropout, 8-bit matmuls, sharded context, recomputation.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_TRAININGWORK_H
#define TESSERA_COST_TRAININGWORK_H

#include "tessera/Cost/MatmulFormat.h"
#include "tessera/Cost/Work.h"
#include "tessera/Support/Plan.h"

namespace tessera::cost {

/// Replaces attention kernels by what they compute: copies into the plan of
/// the matmuls, scores, masked softmax, dropout with a mask of one byte an
/// element, and the product with the values. Each writes its result
/// (Korthikanti et al. 2022, section 4.1).
void unfuseAttention(LayerWork &layer, bool dropout);

/// With dropout every residual add also writes a mask of one byte an element.
void addDropout(LayerWork &layer);

/// Root-mean-square norms op by op in f32, as a framework runs them that has no
/// kernel for them: cast, square, mean, product, cast, scale.
void unfuseNorms(LayerWork &layer);

/// What directly follows a matmul with a parameter, with no collective between,
/// and can be its epilogue becomes one: a residual sum, whose other operand the
/// matmul reads; a GELU by tanh, whose result it writes too, and whose gradient
/// the matmul of the next one's input gradient computes.
void fuseEpilogues(LayerWork &layer);

/// Replaces a loss of one pass by kernels in f32: a cast, then PyTorch's
/// log-softmax or, not `isLogSoftmax`, maximum, exponentials, sum and quotient.
/// `copies`: Plan::lossCopies.
void unfuseLoss(LayerWork &layer, bool isLogSoftmax, int64_t copies = 0);

/// The matmul of the head and what follows it run in `chunks` of the tokens,
/// there and back, so that only one chunk's logits are alive. The gradient of
/// the head's parameter is added to with each.
void chunkLoss(LayerWork &layer, int64_t chunks);

/// After the loss, `count` metrics that compute it again from the logits: a
/// cast to f32 and its log-softmax, with no gradient.
void addLossMetrics(LayerWork &layer, int64_t count);

/// Copies of gathered parameters and of their gradients between flat buffers
/// and tensors, `bytes` for each parameter, in the backward pass
/// (Plan::gatherCopyBytes). Gradients are scattered in `gradientBytes` each.
void addGatherCopies(LayerWork &layer, int64_t bytes, double gradientBytes);

/// Adds the forward pass of adapters of `rank` columns beside the matmuls with
/// parameters that `targets` names (Plan::loraRank): four kernels for each,
/// which are memory-bound, since the rank is small. Where the matmul's result
/// is reduce-scattered over tp, the adapter's result has that share of the
/// rows.
void addAdapters(LayerWork &layer, int64_t rank, LoraTargets targets);

/// The backward pass of adapters: gradients of the scaled result, of both
/// parameters, of the few columns and of the input, which is added to that of
/// the matmul beside it.
void appendAdapterBackward(LayerWork &layer);

/// Matmuls with parameters read operands of a format below 16 bits. An
/// activation is cast, together with its transpose, by the norm or the
/// nonlinear kernel that makes it, if the format can be fused, and so is a
/// gradient; where it comes from elsewhere (attention, the residual stream), by
/// a kernel of its own.
void quantizeMatmuls(LayerWork &layer, const MatmulFormat &format);

/// Of a format whose matmuls Recompute::Matmuls does not know, only results of
/// the blocks in 16 bits are kept: of the mean block a share.
void keepWideResults(LayerWork &layer, const MatmulFormat &format);

/// Around matmuls of a format whose operands are cast before they travel,
/// gathers of activations over tp and of parameters move its bytes, here and in
/// the backward; scatters move 16 bits.
void narrowGathers(LayerWork &layer, const MatmulFormat &format);

/// Attention within documents that are `share` as long as a sequence: so many
/// of the keys are left to each query.
void packDocuments(LayerWork &layer, double share);

/// Turns the attention of a sequence's part into that of one of `ranks` parts.
/// Keys and values are gathered over the axis "cp", queries stay; with a ring
/// the gather runs beside the attention. With all_to_all queries, keys, values
/// and results are exchanged for those of a share of the heads, over "cp" or,
/// where only some devices share heads, over "cp_heads" with a ring over
/// "cp_queries". `auto` is all_gather.
void shardContext(LayerWork &layer, int64_t ranks,
                  const ContextMethod &method = {});

/// How gradients of parameters are added up: by the matmul that makes them,
/// which reads and writes `bytes` an element of the sum, or, of a micro-batch
/// that has been written, by `kernels` of their own, which read and write so
/// many bytes an element.
struct GradientSums {
  GradientSums(int64_t bytes) : bytes(double(bytes)) {}
  double bytes, read = 0, written = 0;
  int64_t kernels = 0;
  /// Bytes of a micro-batch's gradient, where it is written.
  double own = 2;
};

/// As a plan adds them up (Plan::gradDType, Plan::sumsApart).
GradientSums makeGradientSums(const Plan &plan);

/// Appends the backward pass to a forward one, and before it what is recomputed
/// (`recompute`). A matmul gives two, for its operands; a kernel that is not
/// linear reads its inputs again; attention computes 5 matmuls where it
/// computed 2. Collectives turn into their duals: a gathered parameter is
/// gathered again and its gradient scattered. Gradients of parameters are added
/// up as `sums` says. `frozen`: parameters have no gradients. `gathersAgain`:
/// what is gathered over tp for a matmul is not kept, and gathered again for
/// the gradient of its parameter.
void appendBackward(LayerWork &layer, Recompute recompute,
                    const GradientSums &sums, bool frozen,
                    bool gathersAgain = false);

/// All of the above as a plan asks for it, on each layer of a model whose
/// records are those of the forward pass.
void buildTrainingWork(ModelWork &model, const Plan &plan);

} // namespace tessera::cost

#endif // TESSERA_COST_TRAININGWORK_H
