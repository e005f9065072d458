//===- GradientCheck.cpp - Gradients compared with differences ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Pass/PassManager.h"
#include "tessera/Interfaces/DifferentiableOpInterface.h"
#include "tessera/Interpreter/Verify.h"
#include "tessera/Training/Passes.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

namespace {

/// The differences of one function.
class GradientCheck {
public:
  GradientCheck(func::FuncOp function, const GradientCheckOptions &options)
      : function(function), options(options) {}
  void run();

private:
  bool prepare();
  double evaluate();
  double difference(unsigned argument, int64_t element);
  void compare(unsigned argument, const Tensor &gradient);
  void compareAlone(BlockArgument argument, const Tensor &gradient);

  func::FuncOp function;
  const GradientCheckOptions &options;
  /// Inputs of the function, then the seeds.
  std::vector<std::shared_ptr<Tensor>> inputs;
  RankTensors gradients;
  /// Largest error of a difference from the rounding of the sum.
  double noise = 0;
};

bool isFloat(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

} // namespace

/// Step of the differences. Its fourth power, and the rounding of a sum divided
/// by it, are both far below the tolerance.
static constexpr double kStep = 1e-3;

/// Prepares the inputs and interprets the differentiated function.
bool GradientCheck::prepare() {
  auto clone = cast<func::FuncOp>(function->clone());
  OwningOpRef<ModuleOp> module(ModuleOp::create(function.getLoc()));
  module->push_back(clone);
  PassManager pm(function.getContext());
  pm.addNestedPass<func::FuncOp>(createBuildBackwardPass());
  if (failed(pm.run(*module)))
    return false;
  // Excludes zeros, at which a function may have a kink, and large exponents.
  InputOptions data;
  data.seed = options.seed;
  data.floats = FloatData::Plain;
  data.whole = IntegerData::Small;
  FailureOr<RankTensors> made = makeInputs(clone, data);
  if (failed(made))
    return false;
  for (const TensorRef &tensor : *made)
    inputs.push_back(std::make_shared<Tensor>(*tensor));
  for (auto &input : inputs)
    if (options.positive && input->getElementType().isFloat())
      for (int64_t i = 0; i < input->getNumElements(); ++i)
        (*input)[i].f = std::fabs((*input)[i].f) + 0.5;
  FailureOr<RankTensors> results =
      interpretGlobal(clone, RankTensors(inputs.begin(), inputs.end()));
  if (failed(results))
    return false;
  gradients.assign(results->begin() + function.getNumResults(), results->end());
  return true;
}

/// sum_i <result_i, seed_i> at the current inputs.
double GradientCheck::evaluate() {
  unsigned numArguments = function.getNumArguments();
  RankTensors arguments(inputs.begin(), inputs.begin() + numArguments);
  FailureOr<RankTensors> results = interpretGlobal(function, arguments);
  EXPECT_TRUE(succeeded(results));
  double sum = 0, magnitude = 0;
  auto seed = inputs.begin() + numArguments;
  for (const TensorRef &result : *results) {
    if (!result->getElementType().isFloat())
      continue;
    for (int64_t i = 0; i < result->getNumElements(); ++i) {
      sum += (*result)[i].f * (**seed)[i].f;
      magnitude += std::fabs((*result)[i].f * (**seed)[i].f);
    }
    ++seed;
  }
  noise = 8 * std::numeric_limits<double>::epsilon() * magnitude / kStep;
  return sum;
}

/// (8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))) / 12h.
double GradientCheck::difference(unsigned argument, int64_t element) {
  double &x = (*inputs[argument])[element].f, at = x;
  auto valueAt = [&](double steps) {
    x = at + steps * kStep;
    return evaluate();
  };
  double near = valueAt(1) - valueAt(-1), far = valueAt(2) - valueAt(-2);
  x = at;
  return (8 * near - far) / (12 * kStep);
}

void GradientCheck::compare(unsigned argument, const Tensor &gradient) {
  int64_t count = gradient.getNumElements(), largest = 0, step = 1;
  for (int64_t i = 0; i < count; ++i)
    if (std::fabs(gradient[i].f) > std::fabs(gradient[largest].f))
      largest = i;
  if (options.samples)
    step = std::max<int64_t>(1, count / options.samples);
  double error = 0, scale = 0;
  auto compareAt = [&](int64_t i) {
    double d = difference(argument, i);
    error = std::max(error, std::fabs(gradient[i].f - d));
    scale = std::max(scale, std::fabs(d));
  };
  compareAt(largest);
  for (int64_t i = step / 2; i < count; i += step)
    compareAt(i);
  EXPECT_LE(error, 1e-6 * scale + noise) << getArgumentName(function, argument)
                                         << ": largest difference " << scale;
}

/// Checks that the gradient is the same if no other argument has one.
void GradientCheck::compareAlone(BlockArgument argument,
                                 const Tensor &gradient) {
  auto clone = cast<func::FuncOp>(function->clone());
  OwningOpRef<ModuleOp> module(ModuleOp::create(function.getLoc()));
  module->push_back(clone);
  Builder builder(function.getContext());
  clone.removeArgAttrsAttr();
  clone.setArgAttr(argument.getArgNumber(), nn::NNDialect::kParamAttr,
                   builder.getStringAttr("alone"));
  BuildBackwardPassOptions parameters;
  parameters.params = true;
  PassManager pm(function.getContext());
  pm.addNestedPass<func::FuncOp>(createBuildBackwardPass(parameters));
  ASSERT_TRUE(succeeded(pm.run(*module)));
  FailureOr<RankTensors> results =
      interpretGlobal(clone, RankTensors(inputs.begin(), inputs.end()));
  ASSERT_TRUE(succeeded(results));
  const Tensor &alone = *results->back();
  for (int64_t i = 0; i < gradient.getNumElements(); ++i)
    ASSERT_EQ(alone[i].f, gradient[i].f)
        << getArgumentName(function, argument.getArgNumber());
}

void GradientCheck::run() {
  ASSERT_TRUE(prepare());
  auto gradient = gradients.begin();
  for (BlockArgument argument : function.getArguments())
    if (isFloat(argument.getType())) {
      ASSERT_NE(gradient, gradients.end());
      // Parameters are tensors.
      if (isa<RankedTensorType>(argument.getType()))
        compareAlone(argument, **gradient);
      compare(argument.getArgNumber(), **gradient++);
    }
}

void tessera::checkGradients(func::FuncOp function,
                             const GradientCheckOptions &options) {
  GradientCheck(function, options).run();
}

std::unique_ptr<MLIRContext> tessera::makeContext() {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, dist::DistDialect, func::FuncDialect,
                  linalg::LinalgDialect, math::MathDialect, nn::NNDialect,
                  tensor::TensorDialect>();
  registerUpstreamGradients(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

static Type toF64(Type type) {
  Type f64 = Float64Type::get(type.getContext());
  if (isa<FloatType>(type))
    return f64;
  if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && isFloat(tensor))
    return tensor.clone(f64);
  return type;
}

void tessera::convertToF64(ModuleOp module) {
  module.walk([](Operation *op) {
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        argument.setType(toF64(argument.getType()));
    for (Value result : op->getResults())
      result.setType(toF64(result.getType()));
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      SmallVector<Type> results;
      for (Type type : function.getResultTypes())
        results.push_back(toF64(type));
      function.setType(FunctionType::get(
          op->getContext(), function.getBody().getArgumentTypes(), results));
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
          splat && isFloat(splat.getType()))
        constant.setValueAttr(SplatElementsAttr::get(
            cast<ShapedType>(constant.getType()),
            Builder(op->getContext())
                .getF64FloatAttr(
                    splat.getSplatValue<APFloat>().convertToDouble())));
  });
}
