//===- InputData.cpp - Deterministic data for a function's arguments ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interpreter/InputData.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "tessera/Interpreter/InputDomain.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string interp::getArgumentName(func::FuncOp function, unsigned index) {
  for (StringRef key : nn::NNDialect::kArgumentNames)
    if (auto name = function.getArgAttrOfType<StringAttr>(index, key))
      return name.str();
  return "arg" + std::to_string(index);
}

std::string interp::getResultName(func::FuncOp function, unsigned index) {
  if (auto name = function.getResultAttrOfType<StringAttr>(
          index, nn::NNDialect::kOutputAttr))
    return name.str();
  // A result donated to an argument has the argument's name.
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
/// Counter-based random numbers: element `index`, draw `draw`. The mixing
/// function is SplitMix64's (Steele, Lea, Flood: Fast splittable pseudorandom
/// number generators, 2014).
class Random {
public:
  Random(uint64_t seed, StringRef name) {
    // The FNV-1a hash of the name.
    uint64_t hash = 0xcbf29ce484222325;
    for (unsigned char c : name)
      hash = (hash ^ c) * 0x100000001b3;
    key = mix(mix(seed) ^ hash);
  }
  uint64_t bits(uint64_t index, uint64_t draw) const {
    return mix(key + 0x9e3779b97f4a7c15 * (2 * index + draw + 1));
  }
  /// Returns a number in (0, 1].
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

} // namespace

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Returns an integer of any magnitude and sign that fits in `width` bits.
static int64_t anyInteger(uint64_t bits, unsigned width) {
  unsigned shift = 64 - std::min(width, 1 + static_cast<unsigned>(bits % 64));
  return static_cast<int64_t>(bits) >> shift;
}

/// Returns an integer for an argument whose uses set no domain.
static int64_t freeInteger(uint64_t kind, uint64_t bits,
                           const ElementType &type, IntegerData data) {
  constexpr uint64_t kSmall = 8;
  int64_t small = bits % kSmall;
  if (data == IntegerData::Positive)
    return 1 + bits % (kSmall - 1);
  if (data == IntegerData::Small || isa<IndexType>(type.getType()))
    return small;
  switch (kind % 8) {
  case 0:
    return 0;
  case 1:
    return anyInteger(bits, type.getWidth());
  default:
    return kind & 8 ? small : small - static_cast<int64_t>(kSmall);
  }
}

/// Fills in document starts, for documents of 8 tokens on average, in rows
/// along the last dimension.
static void fillStarts(Tensor &tensor, const Random &random) {
  int64_t length = tensor.getShape().back(), start = 0;
  for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i) {
    if (i % length == 0)
      start = 0;
    else if (random.bits(i, 0) % 8 == 0)
      start = i % length;
    tensor[i] = tensor.getElementType().round(intCell(start));
  }
}

static void fillIntegers(Tensor &tensor, const Random &random,
                         BlockArgument argument, const InputOptions &options) {
  constexpr int64_t kIgnoredOneIn = 8;
  IntegerDomain domain = findDomain(argument);
  if (domain.isStarts && tensor.getRank() > 0)
    return fillStarts(tensor, random);
  const ElementType &type = tensor.getElementType();
  for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i) {
    uint64_t bits = random.bits(i, 0), kind = random.bits(i, 1);
    int64_t value;
    if (type.getWidth() == 1)
      value = static_cast<int64_t>(bits % 2);
    else if (domain.ignored && kind % kIgnoredOneIn == 0)
      value = *domain.ignored;
    else if (domain.limit)
      value = domain.least +
              static_cast<int64_t>(
                  bits % std::max<int64_t>(*domain.limit - domain.least, 1));
    else
      value = freeInteger(kind, bits, type, options.whole);
    if (domain.isDivisor && type.round(intCell(value)).i == 0)
      value = 1 + kind % 3;
    tensor[i] = type.round(intCell(value));
  }
}

/// The distribution of a float argument's initial values.
namespace {
struct FloatInit {
  double mean = 0, deviation = 1;
  /// True for a second moment of gradients, which is a mean of squares.
  bool isPositive = false;
  /// True for an argument that is not a parameter or state.
  bool isFree = false;
};
} // namespace

static FloatInit getFloatInit(func::FuncOp function, unsigned index,
                              int64_t numElements) {
  FloatInit result;
  auto init =
      function.getArgAttrOfType<nn::InitAttr>(index, nn::NNDialect::kInitAttr);
  result.isFree = !init;
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

/// Returns a special value for a few elements; none for the others.
static std::optional<double> specialFloat(uint64_t kind, int64_t numElements) {
  // Most rows and columns of a tensor of any size have none: a NaN in each
  // would leave nothing to compare.
  constexpr int64_t kPerTensor = 6;
  constexpr double kLargest = 65504, kLeast = 0x1p-24;
  if ((kind >> 8) % std::max<int64_t>(numElements, kPerTensor) >= kPerTensor)
    return std::nullopt;
  constexpr double kSpecial[] = {NAN,      INFINITY,  -INFINITY, -0.0,
                                 kLargest, -kLargest, kLeast,    -kLeast};
  return kSpecial[kind % std::size(kSpecial)];
}

static void fillFloats(Tensor &tensor, const Random &random,
                       const Random &kinds, const FloatInit &init,
                       const InputOptions &options) {
  const ElementType &type = tensor.getElementType();
  int64_t n = tensor.getNumElements();
  for (int64_t i = 0; i < n; ++i) {
    double value = options.integers && init.deviation != 0
                       ? static_cast<double>(random.bits(i, 0) % 5) - 2
                       : init.mean + init.deviation * random.normal(i);
    if (init.isPositive)
      value = std::fabs(value);
    uint64_t kind = kinds.bits(i, 0);
    if (init.isFree && options.floats != FloatData::Plain && !options.integers)
      value *= kind % 16 == 0   ? 0
               : kind % 16 == 1 ? 8
               : kind % 16 == 2 ? 0x1p-10
                                : 1;
    if (options.floats == FloatData::Extreme && init.deviation != 0)
      value = specialFloat(kinds.bits(i, 1), n).value_or(value);
    tensor[i] = type.round(floatCell(value));
  }
}

/// A master copy has the same numbers as its parameter.
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
    if (function.getArgAttr(i, nn::NNDialect::kControlAttr))
      (*tensor)[0] = floatCell(INFINITY);
    else if (tensor->getElementType().isFloat())
      fillFloats(*tensor, random,
                 Random(options.seed, getRandomName(function, i) + ".kind"),
                 getFloatInit(function, i, tensor->getNumElements()), options);
    else
      fillIntegers(*tensor, random, argument, options);
    inputs.push_back(tensor);
  }
  return inputs;
}
