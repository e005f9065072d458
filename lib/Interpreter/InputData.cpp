//===- InputData.cpp - Deterministic data for a function's arguments ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interpreter/InputData.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string interp::getArgumentName(func::FuncOp function, unsigned index) {
  for (StringRef key : {nn::NNDialect::kParamAttr, nn::NNDialect::kStateAttr,
                        nn::NNDialect::kInputAttr})
    if (auto name = function.getArgAttrOfType<StringAttr>(index, key))
      return name.str();
  return "arg" + std::to_string(index);
}

std::string interp::getResultName(func::FuncOp function, unsigned index) {
  if (auto name = function.getResultAttrOfType<StringAttr>(
          index, nn::NNDialect::kOutputAttr))
    return name.str();
  // What takes the place of an argument has its name.
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
    auto donated = function.getArgAttrOfType<IntegerAttr>(
        i, dist::DistDialect::kDonateAttr);
    if (donated && donated.getInt() == index)
      return getArgumentName(function, i);
  }
  return "result" + std::to_string(index);
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

namespace {
/// Numbers by counter: element `index`, draw `draw`. The mixing function is
/// SplitMix64's (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, 2014).
class Random {
public:
  Random(uint64_t seed, StringRef name) {
    // FNV-1a of the name.
    uint64_t hash = 0xcbf29ce484222325;
    for (unsigned char c : name)
      hash = (hash ^ c) * 0x100000001b3;
    key = mix(mix(seed) ^ hash);
  }
  uint64_t bits(uint64_t index, uint64_t draw) const {
    return mix(key + 0x9e3779b97f4a7c15 * (2 * index + draw + 1));
  }
  /// In (0, 1].
  double uniform(uint64_t index, uint64_t draw) const {
    return static_cast<double>((bits(index, draw) >> 11) + 1) * 0x1p-53;
  }
  double normal(uint64_t index) const {
    return std::sqrt(-2 * std::log(uniform(index, 0))) *
           std::cos(2 * M_PI * uniform(index, 1));
  }

private:
  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t key;
};

/// Which values an integer argument may have.
struct IndexBound {
  /// Exclusive.
  std::optional<int64_t> limit;
  std::optional<int64_t> ignored;

  void restrict(int64_t size) { limit = limit ? std::min(*limit, size) : size; }
};
} // namespace

/// True if every element of the results is one of the operands', or the same
/// number under another integer type.
static bool movesElements(Operation *op) {
  return isa<tensor::TensorDialect, dist::DistDialect>(op->getDialect()) ||
         isa<nn::TransposeOp, nn::BroadcastOp, linalg::TransposeOp,
             linalg::BroadcastOp, linalg::CopyOp, arith::ExtSIOp,
             arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp>(op);
}

static void findBound(Value value, IndexBound &bound,
                      llvm::SmallPtrSetImpl<Operation *> &visited) {
  auto lastSize = [](Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getShape().back();
  };
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner();
    if (!visited.insert(op).second)
      continue;
    if (auto embedding = dyn_cast<nn::EmbeddingOp>(op)) {
      bound.restrict(embedding.getTable().getType().getDimSize(0));
    } else if (auto loss = dyn_cast<nn::CrossEntropyOp>(op)) {
      bound.restrict(loss.getClasses().value_or(lastSize(loss.getLogits())));
      bound.ignored = static_cast<int64_t>(loss.getIgnore());
    } else if (auto pick = dyn_cast<nn::PickOp>(op)) {
      bound.restrict(lastSize(pick.getX()));
    } else if (auto rows = dyn_cast<nn::EmbeddingBackwardOp>(op)) {
      bound.restrict(rows.getType().getDimSize(0));
    } else if (auto loss = dyn_cast<nn::CrossEntropyBackwardOp>(op)) {
      bound.restrict(loss.getClasses().value_or(lastSize(loss.getLogits())));
      bound.ignored = static_cast<int64_t>(loss.getIgnore());
    } else if (auto pick = dyn_cast<nn::PickBackwardOp>(op)) {
      bound.restrict(lastSize(pick.getResult()));
    } else if (auto accumulate = dyn_cast<dist::AccumulateOp>(op)) {
      findBound(accumulate.getBody().getArgument(use.getOperandNumber()), bound,
                visited);
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          call, call.getCalleeAttr());
      if (callee && !callee.isExternal())
        findBound(callee.getArgument(use.getOperandNumber()), bound, visited);
    } else if (movesElements(op)) {
      for (Value result : op->getResults())
        findBound(result, bound, visited);
    }
  }
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static void fillIntegers(Tensor &tensor, const Random &random,
                         BlockArgument argument) {
  constexpr int64_t kDefaultLimit = 8, kIgnoredOneIn = 8;
  IndexBound bound;
  llvm::SmallPtrSet<Operation *, 8> visited;
  findBound(argument, bound, visited);
  const ElementType &type = tensor.getElementType();
  uint64_t limit =
      type.getWidth() == 1 ? 2 : bound.limit.value_or(kDefaultLimit);
  for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i) {
    bool ignored = bound.ignored && random.bits(i, 1) % kIgnoredOneIn == 0;
    int64_t value = ignored ? *bound.ignored
                            : static_cast<int64_t>(random.bits(i, 0) % limit);
    tensor[i] = type.round(intCell(value));
  }
}

/// What a float argument starts from.
namespace {
struct FloatInit {
  double mean = 0, deviation = 1;
  /// Moments of gradients: the second is a mean of squares.
  bool isPositive = false;
};
} // namespace

static FloatInit getFloatInit(func::FuncOp function, unsigned index,
                              int64_t numElements) {
  FloatInit result;
  auto init =
      function.getArgAttrOfType<nn::InitAttr>(index, nn::NNDialect::kInitAttr);
  if (!init)
    return result;
  constexpr double kAroundConstants = 0.1;
  bool isState = bool(function.getArgAttr(index, nn::NNDialect::kStateAttr));
  bool isOfParameter = bool(function.getArgAttr(index, nn::NNDialect::kOfAttr));
  result.mean = init.getKind() == nn::InitKind::Ones ? 1 : 0;
  result.deviation = isState && !isOfParameter ? 0 : kAroundConstants;
  result.isPositive =
      isState && isOfParameter && init.getKind() == nn::InitKind::Zeros;
  if (init.getKind() == nn::InitKind::Constant) {
    result.mean = init.getNumber().getValueAsDouble();
    result.deviation = 0;
  }
  if (init.getKind() == nn::InitKind::Normal)
    result.deviation = std::max(init.getNumber().getValueAsDouble(),
                                std::pow(numElements, -0.25));
  return result;
}

static void fillFloats(Tensor &tensor, const Random &random,
                       const FloatInit &init, const InputOptions &options) {
  const ElementType &type = tensor.getElementType();
  for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i) {
    double value = options.integers && init.deviation != 0
                       ? static_cast<double>(random.bits(i, 0) % 5) - 2
                       : init.mean + init.deviation * random.normal(i);
    tensor[i] =
        type.round(floatCell(init.isPositive ? std::fabs(value) : value));
  }
}

/// A master copy has the numbers of its parameter.
static std::string getRandomName(func::FuncOp function, unsigned index) {
  auto init =
      function.getArgAttrOfType<nn::InitAttr>(index, nn::NNDialect::kInitAttr);
  auto of =
      function.getArgAttrOfType<StringAttr>(index, nn::NNDialect::kOfAttr);
  if (of && init && init.getKind() == nn::InitKind::Normal)
    return of.str();
  return getArgumentName(function, index);
}

FailureOr<RankTensors> interp::makeInputs(func::FuncOp function,
                                          const InputOptions &options) {
  if (function.isExternal())
    return function.emitError("expects a function with a body");
  RankTensors inputs;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    Type type = argument.getType();
    auto ranked = dyn_cast<RankedTensorType>(type);
    if ((ranked && !ranked.hasStaticShape()) ||
        (isa<ShapedType>(type) && !ranked) ||
        !ElementType(getElementTypeOrSelf(type)).isValid())
      return function.emitError("expects arguments of static shape and of "
                                "float or integer type but got ")
             << type;
    auto tensor = std::make_shared<Tensor>(type);
    Random random(options.seed, getRandomName(function, i));
    if (tensor->getElementType().isFloat())
      fillFloats(*tensor, random,
                 getFloatInit(function, i, tensor->getNumElements()), options);
    else
      fillIntegers(*tensor, random, argument);
    inputs.push_back(tensor);
  }
  return inputs;
}
