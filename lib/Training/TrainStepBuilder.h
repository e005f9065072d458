//===- TrainStepBuilder.h - Builds a training step --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Training: the state that --dist-build-train-step carries from
// arguments (TrainStepArguments.cpp) to gradients and the update
// (BuildTrainStep.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRAINING_TRAINSTEPBUILDER_H
#define TESSERA_LIB_TRAINING_TRAINSTEPBUILDER_H

#include "MixedPrecision.h"
#include "Optimizer.h"
#include "dialects/NN/NN.h"
#include "tessera/Training/FlatState.h"
#include "tessera/Training/TrainedFunction.h"

namespace tessera {

/// A parameter, its number in the new function, and its state.
struct TrainedParameter {
  mlir::BlockArgument forward;
  llvm::StringRef name;
  mlir::RankedTensorType type;
  ParameterSettings settings;
  /// True if it has no gradient and no state.
  bool isFrozen = false;
  /// The choices of each expert of all micro-batches; null if the parameter is
  /// no bias of a router.
  mlir::Value load;
  /// Argument numbers in the new function; none without a master copy.
  unsigned argument = 0;
  std::optional<unsigned> master;
  llvm::SmallVector<unsigned, 2> moments;
  /// The layout of its state, if that is not in its shape.
  std::optional<FlatState> flat;
  /// The value that micro-batches read, outside of them: the argument, or its
  /// 8-bit version.
  mlir::Value source;
  /// The source in a micro-batch, in the parameter's shape.
  mlir::Value inUse;
  /// The gradient, in the shape of the state.
  mlir::Value gradient;
};

class TrainStepBuilder {
public:
  TrainStepBuilder(const TrainedFunction &trained, const Plan &plan)
      : trained(trained), forward(trained.function), plan(plan),
        builder(forward.getContext()), loc(forward.getLoc()) {}

  mlir::LogicalResult run();

private:
  bool isNarrow() const { return plan.precision != Precision::F32; }
  bool scalesLoss() const { return plan.precision == Precision::F16; }
  mlir::Type getParameterElement(mlir::Type was) const;

  mlir::LogicalResult collectParameters();
  void findLayouts();
  bool isStoredFlat(const TrainedParameter &parameter) const {
    return parameter.flat && plan.zero >= 3;
  }
  bool reducesEach() const;
  unsigned addArgument(mlir::Type type,
                       llvm::ArrayRef<mlir::NamedAttribute> attrs,
                       mlir::Location loc);
  void addState(llvm::StringRef name, mlir::RankedTensorType type,
                llvm::StringRef of, mlir::Attribute init, mlir::Location loc,
                llvm::ArrayRef<mlir::NamedAttribute> more = {});
  void addParameter(TrainedParameter &parameter);
  void addArguments();
  void addBatchArguments(const BatchSplit &split);
  void addLimits();
  void createFunction();
  mlir::LogicalResult buildAccumulate(const BatchSplit &split);
  bool isQuantizable(const TrainedParameter &parameter);
  void quantizeMatmuls(mlir::Operation *accumulate, mlir::Block &body);
  mlir::LogicalResult buildGradients(dist::YieldOp yield);
  void seedGradients(mlir::Block &body);
  void separateUses(const TrainedParameter &parameter);
  void takeGradient(TrainedParameter &parameter, mlir::Value sum);
  void buildStep();
  void updateParameters(OptimizerBuilder &optimizer, mlir::Value gradScale,
                        mlir::Value skip);
  void updateBias(TrainedParameter &parameter, OptimizerBuilder &optimizer,
                  mlir::Value skip);
  mlir::Value buildSkip(mlir::Value norm, mlir::Value loss);
  mlir::Value updateLossScale(OptimizerBuilder &optimizer, mlir::Value norm,
                              mlir::Value skip);
  void finish();

  dist::ShardingAttr toAttr(const Sharding &sharding) const {
    return dist::ShardingAttr::get(meshSymbol, mesh, sharding);
  }
  mlir::NamedAttribute named(llvm::StringRef name, mlir::Attribute value) {
    return builder.getNamedAttr(name, value);
  }
  mlir::Value getArgument(unsigned number) { return step.getArgument(number); }

  const TrainedFunction &trained;
  mlir::func::FuncOp forward;
  const Plan &plan;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::func::FuncOp step;
  std::vector<TrainedParameter> parameters;
  Mesh mesh;
  mlir::FlatSymbolRefAttr meshSymbol;
  /// Element type of state and of the optimizer's scalars.
  mlir::Type wide;
  unsigned stepCount = 0, lossScale = 0, goodSteps = 0, numDonated = 0;
  /// The arguments that a step's norm and loss must be below to change others.
  unsigned normLimit = 0, lossLimit = 0;

  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::DictionaryAttr> attrs;
  llvm::SmallVector<mlir::Location> locations;
  /// Sums over all micro-batches; null if the forward has no such result.
  mlir::Value lossSum, tokens, auxSum;
  /// Results by number; parameters and state first.
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<llvm::StringRef> outputs;
};

} // namespace tessera

#endif // TESSERA_LIB_TRAINING_TRAINSTEPBUILDER_H
