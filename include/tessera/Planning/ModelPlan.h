//===- ModelPlan.h - From a model and a plan to priced work -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Connects the compiler and its cost model: builds the graph of one layer of
// each kind, partitions it as the plan says with the compiler's own phases, and
// reads its work.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_MODELPLAN_H
#define TESSERA_PLANNING_MODELPLAN_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "tessera/Cost/Execution.h"
#include "tessera/Cost/Work.h"
#include "tessera/Import/ModelConfig.h"
#include "tessera/Phases/Phases.h"
#include <deque>
#include <memory>
#include <optional>

namespace tessera {

/// FLOPs of a model as publications count them: 6 N per token and 12 layers x
/// hidden x seq for attention, over the whole sequence (Narayanan et al. 2021,
/// section 5.1). N counts the entries of matrices: without norms and biases,
/// and without tables that are only looked up, which are positions and, if the
/// head has its own table, the input embedding. A layer with a window counts,
/// instead of seq, twice the keys that the window leaves on average, since seq
/// counts twice the keys that a causal mask leaves.
double modelFlopsPerToken(const ModelConfig &config, int64_t seq);

/// The settings of a model and a plan that the shapes of a layer on one device
/// depend on.
struct LayerShape {
  LayerShape(const ModelConfig &config, const cost::ExecutedPlan &plan);
  bool operator==(const LayerShape &o) const;

  ModelConfig model;
  /// ZeRO-3 over several devices; two devices represent any number.
  bool gathersParameters;
  int64_t tp;
  bool sp;
  int64_t microBatch;
  /// Tokens of a sequence on one device of cp.
  int64_t seq;
  bool isF32, eager, keepGathered;
  int64_t padMultiple;
};

/// Extrapolates the forward records of a micro-batch of `size` sequences from
/// the records of one and of two: each number is affine in the size. None if
/// the two differ in more than numbers.
std::optional<std::vector<cost::LayerWork>>
scaleMicroBatch(std::vector<cost::LayerWork> one,
                std::vector<cost::LayerWork> two, int64_t size);

/// Builds, partitions and reads models, and caches the results: layouts that
/// differ only in settings that no layer depends on (dp, pp, schedule, ...)
/// share one, and micro-batches of more than two sequences follow from smaller
/// ones.
class WorkReader {
public:
  /// `scales`: builds no graph for larger micro-batches.
  explicit WorkReader(bool scales = true);
  ~WorkReader();

  /// The work of a training step on one device, for each kind of layer with one
  /// micro-batch. Fails for sizes that the graph cannot have and for layouts
  /// that cannot be partitioned.
  llvm::Expected<cost::ModelWork> read(const ModelConfig &config,
                                       const cost::ExecutedPlan &plan);

  /// The same without the figures of the whole model, which many plans share.
  llvm::Expected<cost::ModelWork> readLayers(const ModelConfig &config,
                                             const cost::ExecutedPlan &plan);

  /// The forward and backward of one micro-batch of the whole model in one
  /// record, read off the training step that the compiler builds. Tests compare
  /// it with the result of read(), which derives the backward from the forward
  /// pass. Builds all layers.
  llvm::Expected<cost::LayerWork> readStep(const ModelConfig &config,
                                           const cost::ExecutedPlan &plan);

  /// Bytes that the kernels of one micro-batch read and write in the compiled
  /// training step of the whole model: all but matmuls and attention, as they
  /// are outlined for the host. Tests compare them with the result of read().
  llvm::Expected<double> readKernelBytes(const ModelConfig &config,
                                         const cost::ExecutedPlan &plan);

  /// Number of graphs built so far, for tests and reports.
  size_t numGraphs() const { return graphs; }

private:
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  partition(const ModelConfig &config, const LayerShape &shape,
            PipelineOptions options, Phase last, int64_t layers);
  using Layers = std::vector<cost::LayerWork>;
  llvm::Expected<const Layers *> readForward(const ModelConfig &config,
                                             const LayerShape &shape);
  /// The records of all layers; the block is the mean over blocks with and
  /// without a window.
  llvm::Expected<Layers> readMeanForward(const ModelConfig &config,
                                         const cost::ExecutedPlan &plan);
  llvm::Error readGraph(const ModelConfig &config, LayerShape shape);
  const Layers *find(const LayerShape &shape) const;

  std::unique_ptr<mlir::MLIRContext> context;
  bool scales;
  size_t graphs = 0;
  /// The records read so far: few shapes, with large records.
  std::deque<std::pair<LayerShape, Layers>> forward;
};

} // namespace tessera

#endif // TESSERA_PLANNING_MODELPLAN_H
