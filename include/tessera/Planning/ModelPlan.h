//===- ModelPlan.h - From a model and a plan to priced work -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The glue between the compiler and its cost model: builds the graph of one
// layer of each kind, partitions it as the plan says with the compiler's own
// phases, and reads its work.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_MODELPLAN_H
#define TESSERA_PLANNING_MODELPLAN_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "tessera/Cost/Work.h"
#include "tessera/Import/ModelConfig.h"
#include "tessera/Pipelines/Pipelines.h"
#include "tessera/Support/Plan.h"
#include <deque>
#include <memory>
#include <optional>

namespace tessera {

/// FLOPs of a model as publications count them: 6 N per token and 12 layers x
/// hidden x seq for attention, over the whole sequence (Narayanan et al. 2021,
/// section 5.1). N are the entries of matrices: without norms and biases, and
/// without the tables that are only looked up, which are positions and, where
/// the head has a table of its own, the input embedding. Of layers with a
/// window as many keys count in place of seq as keeps the part that a causal
/// mask leaves at half.
double modelFlopsPerToken(const ModelConfig &config, int64_t seq);

/// All of a model and a plan that the shapes of a layer on one device depend
/// on.
struct LayerShape {
  LayerShape(const ModelConfig &config, const Plan &plan);
  bool operator==(const LayerShape &o) const;

  ModelConfig model;
  /// ZeRO-3 over several devices, of which two stand for all.
  bool gathersParameters;
  int64_t tp;
  bool sp;
  int64_t microBatch;
  /// Tokens on a device of cp.
  int64_t seq;
  bool isF32, eager, keepGathered;
  int64_t padMultiple;
};

/// The forward records of a micro-batch of `size` sequences from those of one
/// and of two: every number of them is affine in it. None if the two differ in
/// more than numbers.
std::optional<std::vector<cost::LayerWork>>
scaleMicroBatch(std::vector<cost::LayerWork> one,
                std::vector<cost::LayerWork> two, int64_t size);

/// Builds, partitions and reads models. Keeps what it has read: layouts that
/// differ only in what no layer sees (dp, pp, schedule, ...) share it, and
/// micro-batches of more than two sequences follow from smaller ones.
class WorkReader {
public:
  /// `scales`: of larger micro-batches no graph is built.
  explicit WorkReader(bool scales = true);
  ~WorkReader();

  /// The work of a training step of each kind of layer with one micro-batch, on
  /// one device. Errors: sizes that the graph cannot have, layouts that cannot
  /// be partitioned.
  llvm::Expected<cost::ModelWork> read(const ModelConfig &config,
                                       const Plan &plan);

  /// The same without the figures of the whole model, which many plans share.
  llvm::Expected<cost::ModelWork> readLayers(const ModelConfig &config,
                                             const Plan &plan);

  /// The forward and backward of one micro-batch of the whole model, read off
  /// the training step that the compiler builds, in one record: what read()
  /// derives from the forward pass is held against it. Builds all layers.
  llvm::Expected<cost::LayerWork> readStep(const ModelConfig &config,
                                           const Plan &plan);

  /// Bytes that the kernels of one micro-batch read and write in the compiled
  /// training step of the whole model: all but matmuls and attention, as they
  /// are outlined for the host. What read() derives is held against them.
  llvm::Expected<double> readKernelBytes(const ModelConfig &config,
                                         const Plan &plan);

  /// Graphs built so far, for tests and reports.
  size_t numGraphs() const { return graphs; }

private:
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  partition(const ModelConfig &config, const LayerShape &shape,
            PipelineOptions options, Phase last, int64_t layers);
  using Layers = std::vector<cost::LayerWork>;
  llvm::Expected<const Layers *> readForward(const ModelConfig &config,
                                             const LayerShape &shape);
  /// Of all layers, with a block that is the mean of those with a window and
  /// without.
  llvm::Expected<Layers> readMeanForward(const ModelConfig &config,
                                         const Plan &plan);
  llvm::Error readGraph(const ModelConfig &config, LayerShape shape);
  const Layers *find(const LayerShape &shape) const;

  std::unique_ptr<mlir::MLIRContext> context;
  bool scales;
  size_t graphs = 0;
  /// What was read so far: few shapes, of large work.
  std::deque<std::pair<LayerShape, Layers>> forward;
};

} // namespace tessera

#endif // TESSERA_PLANNING_MODELPLAN_H
