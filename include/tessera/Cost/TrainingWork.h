//===- TrainingWork.h - From a forward pass to a training step --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derives the records of a layer's training step from the records of its
// forward pass, and changes a layer to run otherwise than its graph says:
// unfused attention, dropout, 8-bit matmuls, sharded context, recomputation.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_TRAININGWORK_H
#define TESSERA_COST_TRAININGWORK_H

#include "tessera/Cost/Execution.h"
#include "tessera/Cost/MatmulFormat.h"
#include "tessera/Cost/Work.h"

namespace tessera::cost {

/// Replaces attention kernels by their unfused ops: copies into the layout of
/// the matmuls, scores, masked softmax, dropout with a mask of one byte per
/// element, and the matmul with the values. Each writes its result (Korthikanti
/// et al. 2022, section 4.1).
void unfuseAttention(LayerWork &layer, bool dropout);

/// Adds dropout: every residual add also writes a mask of one byte per element.
void addDropout(LayerWork &layer);

/// Runs root-mean-square norms op by op in f32, as a framework without a kernel
/// for them does: cast, square, mean, product, cast, scale.
void unfuseNorms(LayerWork &layer);

/// Fuses ops into the epilogue of the matmul with a parameter that they
/// directly follow, with no collective between: a residual sum, whose other
/// operand the matmul reads; a GELU by tanh, whose result the matmul also
/// writes. The matmul that computes the next one's input gradient also computes
/// the GELU's gradient.
void fuseEpilogues(LayerWork &layer);

/// Replaces a loss of one pass by kernels in f32: a cast, then PyTorch's
/// log-softmax or, not `isLogSoftmax`, maximum, exponentials, sum and quotient.
/// `copies`: Execution::lossCopies.
void unfuseLoss(LayerWork &layer, bool isLogSoftmax, int64_t copies = 0);

/// Runs the matmul of the head and the ops after it in `chunks` of the tokens,
/// forward and backward, so that only one chunk's logits are alive. Each chunk
/// adds to the gradient of the head's parameter.
void chunkLoss(LayerWork &layer, int64_t chunks);

/// Adds `count` metrics after the loss that compute it again from the logits: a
/// cast to f32 and its log-softmax, without a gradient.
void addLossMetrics(LayerWork &layer, int64_t count);

/// Adds copies of gathered parameters and of their gradients between flat
/// buffers and tensors, `bytes` per parameter, in the backward pass
/// (Execution::gatherCopyBytes). Each gradient is scattered in `gradientBytes`.
void addGatherCopies(LayerWork &layer, int64_t bytes, double gradientBytes);

/// Adds the forward pass of adapters of `rank` columns to the matmuls with
/// parameters that `targets` names (Numerics::loraRank): four memory-bound
/// kernels each, since the rank is small. If the matmul's result is
/// reduce-scattered over tp, the adapter's result has that share of the rows.
void addAdapters(LayerWork &layer, int64_t rank, LoraTargets targets);

/// Appends the backward pass of adapters: gradients of the scaled result, of
/// both parameters, of the few columns and of the input; the last is added to
/// the input gradient of the adapter's matmul.
void appendAdapterBackward(LayerWork &layer);

/// Makes matmuls with parameters read operands of a format below 16 bits. If
/// the format can be fused, the norm or the nonlinear kernel that produces an
/// activation or a gradient casts it, together with its transpose. A tensor
/// from elsewhere (attention, the residual stream) is cast by a separate
/// kernel.
void quantizeMatmuls(LayerWork &layer, const MatmulFormat &format);

/// Keeps only results of the blocks in 16 bits, for a format whose matmuls
/// Recompute::Matmuls does not know: a share of the mean block.
void keepWideResults(LayerWork &layer, const MatmulFormat &format);

/// Makes gathers of activations over tp and of parameters around matmuls move
/// the bytes of a format whose operands are cast before they travel, forward
/// and backward; scatters move 16 bits. With `weightBytes`, gathers of
/// parameters move that many bytes each in any format (Numerics::weightBytes).
void narrowGathers(LayerWork &layer, const MatmulFormat &format,
                   int64_t weightBytes);

/// Restricts attention to documents that are `share` as long as a sequence:
/// each query attends to that share of the keys.
void packDocuments(LayerWork &layer, double share);

/// Turns attention over a sequence into the work of one of its `ranks` shards.
/// Keys and values are gathered over the axis CP, queries stay; with a ring
/// the gather overlaps with the attention. With all_to_all the devices exchange
/// queries, keys, values and results so that each has a share of the heads,
/// over CP or, if only some devices share heads, over CPHeads with a ring
/// over CPQueries. With latent, matmuls compute keys and values of all ranks
/// from gathered latents, and without `sumsLatents` gradients are scattered as
/// those of keys and values. `auto` is all_gather.
void shardContext(LayerWork &layer, int64_t ranks,
                  const ContextMethod &method = {}, bool sumsLatents = true);

/// The way in which gradients of parameters are added up: the matmul that
/// computes them reads and writes `bytes` per element of the sum, or it writes
/// a micro-batch's gradient and `kernels` separate kernels read and write
/// `read` and `written` bytes per element.
struct GradientSums {
  GradientSums(int64_t bytes) : bytes(double(bytes)) {}
  double bytes, read = 0, written = 0;
  int64_t kernels = 0;
  /// Bytes per element of a micro-batch's gradient, if it is written.
  double own = 2;
};

/// The way in which a plan adds them up (Numerics::gradDType,
/// Execution::sumsApart).
GradientSums makeGradientSums(const Plan &plan, const Execution &execution);

/// Appends the backward pass to a forward one, preceded by the recomputation
/// (`recompute`). A matmul gives two, one per operand; a kernel that is not
/// linear reads its inputs again; attention computes 5 matmuls instead of 2.
/// Collectives turn into their duals: a gathered parameter is gathered again
/// and its gradient scattered. Gradients of parameters are added up as `sums`
/// says. `frozen`: parameters have no gradients. `gathersAgain`: activations
/// that are gathered over tp for a matmul are not kept, but gathered again for
/// the gradient of its parameter.
void appendBackward(LayerWork &layer, Recompute recompute,
                    const GradientSums &sums, bool frozen,
                    bool gathersAgain = false);

/// Applies all of the above as a plan asks for it, to each layer of a model
/// whose records describe the forward pass.
void buildTrainingWork(ModelWork &model, const Plan &plan,
                       const Execution &execution);

} // namespace tessera::cost

#endif // TESSERA_COST_TRAININGWORK_H
