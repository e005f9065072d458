//===- Witness.cpp - Arguments that show a difference ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Witness.h. Arguments are made smaller one after the other, those of
// floats first: all zeros if that still shows the difference, else as few
// elements as halving finds, then ones or small integers in their place.
//
//===----------------------------------------------------------------------===//

#include "tessera/Witness/Witness.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

/// The kinds of data that are drawn, and the most seeds of each.
enum class WitnessData { Ordinary, Integers, Positive };
static constexpr int64_t kSeeds = 21, kLeastSeeds = 2;
/// The most runs that make arguments smaller, and the numbers of arguments that
/// they may read together: large programs get fewer runs.
static constexpr int64_t kShrinkingRuns = 200, kLeastRuns = 16;
static constexpr int64_t kShrinkingNumbers = 4'000'000;
/// The most elements of an argument that a line shows.
static constexpr unsigned kShownElements = 4;

/// True if a result has no infinity and no NaN.
static bool isFinite(const Tensor &tensor) {
  if (tensor.getElementType().isFloat())
    for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i)
      if (!std::isfinite(tensor[i].f))
        return false;
  return true;
}

/// Returns the output that differs most beyond its bound; none if all agree, or
/// if one of both programs is not finite: one may overflow where the other does
/// not, and both be right.
static std::optional<unsigned> findDifference(const VerifyReport &report) {
  for (const TensorRef &result : report.expected)
    if (!isFinite(*result))
      return std::nullopt;
  std::optional<unsigned> worst;
  for (auto [i, output] : llvm::enumerate(report.outputs))
    if (output.worst && std::isfinite(output.difference) &&
        output.difference > output.tolerance &&
        (!worst || output.difference > report.outputs[*worst].difference))
      worst = unsigned(i);
  return worst;
}

namespace {
class Search {
public:
  Search(func::FuncOp original, func::FuncOp compiled,
         const VerifyOptions &options)
      : original(original), compiled(compiled), options(options) {}

  std::optional<Witness> find(const VerifyReport *known);

private:
  /// Keeps a comparison's arguments if they are a witness.
  bool keep(const VerifyReport &report);
  /// Sets how often both functions are run, by the size of the arguments.
  void setLimits();
  /// Names the data of all arguments.
  void setOrigins(StringRef text);
  /// Runs both functions on data of a seed.
  bool drawn(uint64_t seed, WitnessData data);
  /// Runs both functions on the witness with another argument in place.
  bool holdsWith(unsigned argument, TensorRef tensor);
  /// Makes an argument of the witness smaller.
  void shrink(unsigned argument);
  /// Zeroes elements of an argument while the difference stays.
  void zeroElements(unsigned argument);

  func::FuncOp original, compiled;
  const VerifyOptions &options;
  Witness witness;
  int64_t runs = 0, limit = kShrinkingRuns, seeds = kSeeds;
};
} // namespace

bool Search::keep(const VerifyReport &report) {
  std::optional<unsigned> number = findDifference(report);
  if (!number)
    return false;
  witness.number = *number;
  witness.output = report.outputs[*number];
  witness.arguments = report.inputs;
  return true;
}

void Search::setLimits() {
  int64_t numbers = 1;
  for (Type type : original.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      numbers += tensor.getNumElements();
  limit = std::clamp(kShrinkingNumbers / numbers, kLeastRuns, kShrinkingRuns);
  seeds = std::clamp(limit * kSeeds / kShrinkingRuns, kLeastSeeds, kSeeds);
}

void Search::setOrigins(StringRef text) {
  witness.origins.assign(witness.arguments.size(), text.str());
  for (auto [origin, given] : llvm::zip(witness.origins, options.given))
    if (given)
      origin = "as given";
}

/// A copy in which floats are their magnitudes, and 1 in place of 0.
static TensorRef makePositive(const Tensor &tensor) {
  auto copy = std::make_shared<Tensor>(tensor);
  for (int64_t i = 0, n = copy->getNumElements(); i < n; ++i)
    (*copy)[i].f = tensor[i].f == 0 ? 1 : std::fabs(tensor[i].f);
  return copy;
}

bool Search::drawn(uint64_t seed, WitnessData data) {
  VerifyOptions drawn = options;
  drawn.inputs.seed = seed;
  drawn.inputs.integers |= data == WitnessData::Integers;
  if (data == WitnessData::Positive) {
    FailureOr<RankTensors> inputs = makeInputs(original, drawn.inputs);
    if (failed(inputs))
      return false;
    drawn.given.resize(inputs->size());
    for (auto [given, input] : llvm::zip_equal(drawn.given, *inputs))
      if (!given && input->getElementType().isFloat())
        given = makePositive(*input);
  }
  FailureOr<VerifyReport> report = verify(original, compiled, drawn);
  if (failed(report) || !keep(*report))
    return false;
  StringRef kind = data == WitnessData::Positive ? "positive data"
                   : drawn.inputs.integers       ? "small integers"
                                                 : "data";
  setOrigins(llvm::formatv("{0} of seed {1}", kind, seed).str());
  return true;
}

bool Search::holdsWith(unsigned argument, TensorRef tensor) {
  if (++runs > limit)
    return false;
  VerifyOptions given = options;
  given.given = witness.arguments;
  given.given[argument] = std::move(tensor);
  FailureOr<VerifyReport> report = verify(original, compiled, given);
  if (failed(report) || !keep(*report))
    return false;
  witness.origins[argument].clear();
  return true;
}

/// A tensor of one number.
static TensorRef makeUniform(const Tensor &like, Cell value) {
  auto tensor =
      std::make_shared<Tensor>(like.getElementType(), like.getShape());
  tensor->fill(like.getElementType().round(value));
  return tensor;
}

static bool isZero(const Tensor &tensor, int64_t i) {
  return tensor.getElementType().isFloat() ? tensor[i].f == 0
                                           : tensor[i].i == 0;
}

static SmallVector<int64_t> findNonzeros(const Tensor &tensor) {
  SmallVector<int64_t> found;
  for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i)
    if (!isZero(tensor, i))
      found.push_back(i);
  return found;
}

/// A copy in which some elements are zero.
static TensorRef withZeros(const Tensor &tensor, ArrayRef<int64_t> places) {
  auto copy = std::make_shared<Tensor>(tensor);
  for (int64_t place : places)
    (*copy)[place] =
        tensor.getElementType().isFloat() ? floatCell(0) : intCell(0);
  return copy;
}

void Search::zeroElements(unsigned argument) {
  SmallVector<int64_t> left = findNonzeros(*witness.arguments[argument]);
  size_t part = (left.size() + 1) / 2;
  while (part > 0 && left.size() > 1 && runs < limit) {
    bool hasChanged = false;
    // The first elements are those that stay.
    for (size_t end = left.size(); end > 0 && left.size() > 1;) {
      size_t begin = end > part ? end - part : 0;
      ArrayRef<int64_t> zeros = ArrayRef(left).slice(begin, end - begin);
      if (zeros.size() < left.size() &&
          holdsWith(argument, withZeros(*witness.arguments[argument], zeros))) {
        left.erase(left.begin() + begin, left.begin() + end);
        hasChanged = true;
      }
      end = begin;
    }
    if (!hasChanged || part > left.size())
      part /= 2;
  }
}

void Search::shrink(unsigned argument) {
  TensorRef now = witness.arguments[argument];
  bool isFloat = now->getElementType().isFloat();
  if (findNonzeros(*now).empty()) {
    witness.origins[argument].clear();
    return;
  }
  Cell zero = isFloat ? floatCell(0) : intCell(0);
  if (holdsWith(argument, makeUniform(*now, zero)))
    return;
  if (!isFloat)
    return;
  zeroElements(argument);
  // Replaces the elements that are left by ones, else by the nearest integers.
  now = witness.arguments[argument];
  for (bool isOne : {true, false}) {
    auto tried = std::make_shared<Tensor>(*now);
    for (int64_t place : findNonzeros(*now))
      (*tried)[place] = now->getElementType().round(
          floatCell(isOne ? 1 : std::round((*now)[place].f)));
    if (!tried->sameAs(*now) && holdsWith(argument, tried))
      return;
  }
}

std::optional<Witness> Search::find(const VerifyReport *known) {
  // Data that leaves the domain of an op is no witness, and no error.
  ScopedDiagnosticHandler quiet(original.getContext(),
                                [](Diagnostic &) { return success(); });
  setLimits();
  bool isFound = known && keep(*known);
  if (isFound)
    setOrigins(llvm::formatv("data of seed {0}", options.inputs.seed).str());
  for (WitnessData data :
       {WitnessData::Ordinary, WitnessData::Integers, WitnessData::Positive})
    for (int64_t seed = 0; seed < seeds && !isFound; ++seed)
      isFound = drawn(seed, data);
  if (!isFound)
    return std::nullopt;
  for (unsigned i = 0; i < witness.arguments.size(); ++i)
    witness.names.push_back(getArgumentName(original, i));
  for (unsigned i = 0; i < witness.arguments.size(); ++i)
    shrink(i);
  return witness;
}

std::optional<Witness> interp::findWitness(func::FuncOp original,
                                           func::FuncOp compiled,
                                           const VerifyOptions &options,
                                           const VerifyReport *known) {
  return Search(original, compiled, options).find(known);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string print(const ElementType &type, Cell cell) {
  if (!type.isFloat())
    return std::to_string(cell.i);
  return llvm::formatv("{0}", llvm::format("%.6g", cell.f));
}

/// "[0, 2]"; a scalar has none.
static std::string printIndex(ArrayRef<int64_t> index) {
  std::string text;
  for (int64_t position : index)
    text += (text.empty() ? "" : ", ") + std::to_string(position);
  return text.empty() ? "" : "[" + text + "]";
}

/// "x[0, 2] = 1", for each nonzero element; none if there are none.
static std::string describeArgument(StringRef name, const Tensor &tensor,
                                    StringRef origin) {
  SmallVector<int64_t> places = findNonzeros(tensor);
  const ElementType &type = tensor.getElementType();
  if (places.empty())
    return "";
  auto isFirst = [&](int64_t place) {
    return type.isFloat() ? tensor[place].f == tensor[places[0]].f
                          : tensor[place].i == tensor[places[0]].i;
  };
  if (int64_t(places.size()) == tensor.getNumElements() &&
      llvm::all_of(places, isFirst))
    return (name + " = " + print(type, tensor[places[0]])).str();
  if (places.size() > kShownElements)
    return origin.empty() ? llvm::formatv("{0} with {1} numbers other than 0",
                                          name, places.size())
                                .str()
                          : (name + ": " + origin).str();
  std::vector<std::string> parts;
  for (int64_t place : places) {
    SmallVector<int64_t> index;
    for (int64_t stride : tensor.getStrides()) {
      index.push_back(place / stride);
      place %= stride;
    }
    parts.push_back((name + printIndex(index)).str());
    parts.back() += " = " + print(type, tensor.at(index));
  }
  return llvm::join(parts, ", ");
}

std::string interp::describeWitness(const Witness &witness) {
  std::vector<std::string> parts, drawn;
  bool hasZeros = false;
  for (auto [name, tensor, origin] :
       llvm::zip_equal(witness.names, witness.arguments, witness.origins)) {
    size_t nonzeros = findNonzeros(*tensor).size();
    std::string part = describeArgument(name, *tensor, origin);
    if (!part.empty())
      (!origin.empty() && nonzeros > kShownElements ? drawn : parts)
          .push_back(part);
    else
      hasZeros = true;
    hasZeros |= nonzeros < size_t(tensor->getNumElements()) && origin.empty();
  }
  if (drawn.size() > kShownElements)
    drawn = {llvm::formatv("{0} arguments as drawn", drawn.size())};
  llvm::append_range(parts, drawn);
  if (parts.empty())
    parts.push_back("all arguments 0");
  else if (hasZeros)
    parts.push_back("all else 0");
  const Deviation &worst = *witness.output.worst;
  ElementType type(getElementTypeOrSelf(witness.output.type));
  std::string where = llvm::formatv("device {0}", worst.device);
  if (worst.stage)
    where = llvm::formatv("pp rank {0}, {1}", *worst.stage, where);
  return llvm::formatv("{0}: {1}{2} is {3} on {4} and {5} in the reference",
                       llvm::join(parts, ", "), witness.output.name,
                       printIndex(worst.index), print(type, worst.actual),
                       where, print(type, worst.expected));
}
