//===- Verify.cpp - Compares a program before and after -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interpreter/Verify.h"
#include "Footprint.h"
#include "Tolerance.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "tessera/Interpreter/Shards.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;
using dist::DistDialect;

//===----------------------------------------------------------------------===//
// Global arguments and results
//===----------------------------------------------------------------------===//

FailureOr<Mesh> interp::getMeshOf(func::FuncOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  if (module.getOps<dist::MeshOp>().empty())
    return Mesh();
  FailureOr<dist::MeshOp> mesh = dist::getOnlyMesh(module);
  if (failed(mesh))
    return failure();
  return mesh->getMesh().toMesh();
}

static Sharding shardingOf(dist::ShardingAttr attr, Type type,
                           const Mesh &mesh) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return attr ? attr.toSharding(mesh)
              : Sharding::replicatedOf(tensor ? tensor.getRank() : 0);
}

static ArrayRef<int64_t> tensorShapeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getShape() : ArrayRef<int64_t>();
}

/// Returns the true global shape of an argument or result of a local function.
static SmallVector<int64_t> globalShapeOf(Attribute attr, Type type,
                                          const Sharding &sharding) {
  if (auto shape = dyn_cast_or_null<DenseI64ArrayAttr>(attr))
    return SmallVector<int64_t>(shape.asArrayRef());
  SmallVector<int64_t> shape(tensorShapeOf(type));
  for (auto [size, dim] : llvm::zip_equal(shape, sharding.dims))
    size *= numShards(dim.axes);
  return shape;
}

/// Permutes one dimension of a tensor into a stored order, or back into the
/// order of positions.
static TensorRef reorder(const Tensor &tensor, unsigned dim,
                         nn::ZigzagAttr order, bool isStored) {
  auto result =
      std::make_shared<Tensor>(tensor.getElementType(), tensor.getShape());
  int64_t stride = tensor.getStrides()[dim], size = tensor.getShape()[dim];
  for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i) {
    int64_t index = i / stride % size;
    int64_t other = i + (order.getPosition(index) - index) * stride;
    if (isStored)
      (*result)[other] = tensor[i];
    else
      (*result)[i] = tensor[other];
  }
  return result;
}

/// Permutes a tensor into the `nn.order` that a function expects (null for
/// none), or back from it if `isStored`.
static TensorRef reorder(TensorRef tensor, Attribute attr, bool isStored) {
  auto orders = dyn_cast_or_null<ArrayAttr>(attr);
  if (!orders)
    return tensor;
  for (auto [dim, order] : llvm::enumerate(orders))
    if (auto zigzag = dyn_cast<nn::ZigzagAttr>(order))
      tensor = reorder(*tensor, dim, zigzag, isStored);
  return tensor;
}

/// Returns the block of a global argument on each device of a mesh.
static FailureOr<RankTensors> cutArgument(func::FuncOp function, unsigned i,
                                          const TensorRef &input,
                                          const Mesh &mesh) {
  Type type = function.getArgumentTypes()[i];
  Sharding sharding =
      shardingOf(dist::getSharding(function.getArgument(i)), type, mesh);
  SmallVector<int64_t> shape = globalShapeOf(
      function.getArgAttr(i, DistDialect::kGlobalShapeAttr), type, sharding);
  if (input->getShape() != ArrayRef(shape))
    return function.emitError("expects argument ")
           << i << " of global shape [" << shape << "] but got ["
           << input->getShape() << "]";
  TensorRef stored =
      reorder(input, function.getArgAttr(i, nn::NNDialect::kOrderAttr), false);
  return shardTensor(stored, sharding, mesh, tensorShapeOf(type));
}

/// Assembles a global result from the devices' blocks.
static FailureOr<TensorRef> assembleResult(func::FuncOp function, unsigned i,
                                           ArrayRef<RankTensors> results,
                                           const Mesh &mesh) {
  Type type = function.getResultTypes()[i];
  Sharding sharding =
      shardingOf(dist::getResultSharding(function, i), type, mesh);
  SmallVector<int64_t> shape = globalShapeOf(
      function.getResultAttr(i, DistDialect::kGlobalShapeAttr), type, sharding);
  RankTensors blocks;
  for (const RankTensors &device : results)
    blocks.push_back(device[i]);
  llvm::Expected<TensorRef> whole =
      assembleTensor(blocks, sharding, mesh, shape);
  if (whole)
    return reorder(*whole, function.getResultAttr(i, nn::NNDialect::kOrderAttr),
                   true);
  return function.emitError("result ")
         << i << ": " << llvm::toString(whole.takeError());
}

/// Replaces the arguments by the results donated to them, on each device with
/// its padding.
static void donate(func::FuncOp function, std::vector<RankTensors> &arguments,
                   ArrayRef<RankTensors> results) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto result =
            function.getArgAttrOfType<IntegerAttr>(i, DistDialect::kDonateAttr))
      for (auto [device, values] : llvm::zip_equal(arguments, results))
        device[i] = values[result.getInt()];
}

/// Runs a function several times.
static FailureOr<std::vector<RankTensors>>
interpretSteps(func::FuncOp function, std::vector<RankTensors> arguments,
               int64_t steps, Statistics *statistics) {
  FailureOr<std::vector<RankTensors>> results =
      interpret(function, arguments, statistics);
  for (int64_t step = 1; step < steps && succeeded(results); ++step) {
    donate(function, arguments, *results);
    results = interpret(function, arguments, statistics);
  }
  return results;
}

/// Runs a local function: shards, interprets, assembles.
static FailureOr<RankTensors> interpretLocal(func::FuncOp function,
                                             ArrayRef<TensorRef> inputs,
                                             Statistics *statistics,
                                             int64_t steps) {
  FailureOr<Mesh> mesh = getMeshOf(function);
  if (failed(mesh))
    return failure();
  std::vector<RankTensors> arguments(mesh->numDevices());
  for (auto [i, input] : llvm::enumerate(inputs)) {
    FailureOr<RankTensors> blocks = cutArgument(function, i, input, *mesh);
    if (failed(blocks))
      return failure();
    for (auto [rank, block] : llvm::zip_equal(arguments, *blocks))
      rank.push_back(block);
  }
  FailureOr<std::vector<RankTensors>> results =
      interpretSteps(function, std::move(arguments), steps, statistics);
  if (failed(results))
    return failure();
  RankTensors assembled;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    FailureOr<TensorRef> whole = assembleResult(function, i, *results, *mesh);
    if (failed(whole))
      return failure();
    assembled.push_back(*whole);
  }
  return assembled;
}

//===----------------------------------------------------------------------===//
// Pipeline programs
//===----------------------------------------------------------------------===//

/// Returns the blocks of the arguments of each pp rank's function, by device.
static FailureOr<std::vector<std::vector<RankTensors>>>
cutForStages(const PipelineProgram &program, ArrayRef<TensorRef> inputs,
             const Mesh &mesh) {
  std::vector<std::vector<RankTensors>> arguments;
  for (func::FuncOp function : program.functions) {
    std::vector<RankTensors> &byDevice =
        arguments.emplace_back(mesh.numDevices());
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      int64_t number = getArgumentNumber(function, i);
      if (number >= static_cast<int64_t>(inputs.size()))
        return function.emitError("expects argument ")
               << i << " to be one of " << inputs.size()
               << " of the reference but got dist.number " << number;
      FailureOr<RankTensors> blocks =
          cutArgument(function, i, inputs[number], mesh);
      if (failed(blocks))
        return failure();
      for (auto [device, block] : llvm::zip_equal(byDevice, *blocks))
        device.push_back(block);
    }
  }
  return arguments;
}

/// Assembles the results by their number in the reference. If several pp ranks
/// have a result, it must be the same on all of them.
static FailureOr<RankTensors>
assembleStages(const PipelineProgram &program,
               ArrayRef<std::vector<RankTensors>> results, const Mesh &mesh) {
  RankTensors assembled;
  for (auto [rank, byDevice] : llvm::enumerate(results)) {
    func::FuncOp function = program.functions[rank];
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto number = static_cast<size_t>(getResultNumber(function, i));
      FailureOr<TensorRef> whole = assembleResult(function, i, byDevice, mesh);
      if (failed(whole))
        return failure();
      if (assembled.size() <= number)
        assembled.resize(number + 1);
      if (assembled[number] && !assembled[number]->sameAs(**whole))
        return function.emitError("expects the same result ")
               << number << " of all pp ranks that have it, but it differs";
      assembled[number] = *whole;
    }
  }
  for (auto [number, tensor] : llvm::enumerate(assembled))
    if (!tensor)
      return func::FuncOp(program.functions.front())
                 .emitError("expects some pp rank to have result ")
             << number << " but none has";
  return assembled;
}

/// Runs all functions of a pipeline program.
static FailureOr<RankTensors> interpretStages(func::FuncOp function,
                                              ArrayRef<TensorRef> inputs,
                                              Statistics *statistics,
                                              int64_t steps) {
  FailureOr<Mesh> whole = getMeshOf(function);
  FailureOr<PipelineProgram> program = readPipelineProgram(function);
  if (failed(whole) || failed(program))
    return failure();
  Mesh mesh = whole->withoutStages();
  auto arguments = cutForStages(*program, inputs, mesh);
  if (failed(arguments))
    return failure();
  auto results = interpretPipeline(*program, *arguments, statistics);
  for (int64_t step = 1; step < steps && succeeded(results); ++step) {
    for (auto [stage, before, after] :
         llvm::zip_equal(program->functions, *arguments, *results))
      donate(stage, before, after);
    results = interpretPipeline(*program, *arguments, statistics);
  }
  if (failed(results))
    return failure();
  return assembleStages(*program, *results, mesh);
}

FailureOr<RankTensors> interp::interpretGlobal(func::FuncOp function,
                                               ArrayRef<TensorRef> inputs,
                                               Statistics *statistics,
                                               int64_t steps) {
  if (isPipelineFunction(function))
    return interpretStages(function, inputs, statistics, steps);
  if (inputs.size() != function.getNumArguments())
    return function.emitError("expects ")
           << inputs.size() << " arguments but got "
           << function.getNumArguments();
  if (function->hasAttr(DistDialect::kLocalAttr))
    return interpretLocal(function, inputs, statistics, steps);
  RankTensors stored;
  for (auto [i, input] : llvm::enumerate(inputs))
    stored.push_back(reorder(
        input, function.getArgAttr(i, nn::NNDialect::kOrderAttr), false));
  FailureOr<std::vector<RankTensors>> results =
      interpretSteps(function, {std::move(stored)}, steps, statistics);
  if (failed(results))
    return failure();
  for (auto [i, result] : llvm::enumerate(results->front()))
    result = reorder(
        result, function.getResultAttr(i, nn::NNDialect::kOrderAttr), true);
  return results->front();
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// Collects the errors of several tries. If all fail, the first try's are
/// reported.
namespace {
class Tries {
public:
  explicit Tries(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (isFirst)
            first.push_back(std::move(diagnostic));
          return success();
        }) {}
  /// Starts another try.
  void next() { isFirst = false; }
  /// Returns the first error on one line: "'arith.divsi' op divides by zero".
  std::string getReason() const {
    for (const Diagnostic &diagnostic : first)
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        return diagnostic.str();
    return "";
  }
  std::vector<Diagnostic> takeFirst() { return std::move(first); }

private:
  bool isFirst = true;
  std::vector<Diagnostic> first;
  ScopedDiagnosticHandler handler;
};
} // namespace

static StringRef describe(IntegerData data) {
  switch (data) {
  case IntegerData::Any:
    return "any";
  case IntegerData::Small:
    return "from 0 to 7";
  case IntegerData::Positive:
    return "from 1 to 7";
  }
  return "";
}

/// Creates the data, including those from files, and the original's results for
/// them.
static LogicalResult runOn(func::FuncOp original, const VerifyOptions &options,
                           VerifyReport &report) {
  FailureOr<RankTensors> inputs = makeInputs(original, options.inputs);
  if (failed(inputs))
    return failure();
  for (auto [i, given] : llvm::enumerate(options.given))
    if (given)
      (*inputs)[i] = given;
  FailureOr<RankTensors> expected =
      interpretGlobal(original, *inputs, /*statistics=*/nullptr, options.steps);
  if (failed(expected))
    return failure();
  report.inputs = std::move(*inputs);
  report.expected = std::move(*expected);
  return success();
}

/// Runs the original on data for which it is defined. If it fails, integers
/// without a known domain become smaller.
static FailureOr<InputOptions> runOriginal(func::FuncOp original,
                                           const VerifyOptions &options,
                                           VerifyReport &report) {
  constexpr IntegerData kTries[] = {IntegerData::Any, IntegerData::Small,
                                    IntegerData::Positive};
  MLIRContext *context = original.getContext();
  std::vector<Diagnostic> errors;
  {
    Tries tries(context);
    VerifyOptions tried = options;
    for (IntegerData data : kTries) {
      if (data < options.inputs.whole)
        continue;
      tried.inputs.whole = data;
      if (succeeded(runOn(original, tried, report))) {
        if (data != options.inputs.whole)
          report.notes.push_back(
              llvm::formatv("data: integers {0}, since with others {1}",
                            describe(data), tries.getReason()));
        return tried.inputs;
      }
      tries.next();
    }
    errors = tries.takeFirst();
  }
  for (Diagnostic &diagnostic : errors)
    context->getDiagEngine().emit(std::move(diagnostic));
  return failure();
}

/// Notes outputs where NaN is compared with NaN.
static void noteNaN(const Tensor &expected, StringRef name,
                    VerifyReport &report) {
  int64_t count = 0, n = expected.getNumElements();
  if (expected.getElementType().isFloat())
    for (int64_t i = 0; i < n; ++i)
      count += std::isnan(expected[i].f);
  if (count)
    report.notes.push_back(llvm::formatv(
        "{0}: {1} of {2} elements are NaN in the original{3}", name, count, n,
        count == n ? ": nothing else is compared" : ""));
}

FailureOr<VerifyReport> interp::verify(func::FuncOp original,
                                       func::FuncOp compiled,
                                       const VerifyOptions &options) {
  if (failed(checkFits(original)) || failed(checkFits(compiled)))
    return failure();
  VerifyReport report;
  FailureOr<InputOptions> used = runOriginal(original, options, report);
  if (failed(used))
    return failure();
  FailureOr<RankTensors> actual = interpretGlobal(
      compiled, report.inputs, &report.statistics, options.steps);
  if (failed(actual))
    return failure();
  if (actual->size() != report.expected.size())
    return compiled.emitError("expects ")
           << report.expected.size() << " results but got " << actual->size();
  RoundingSpread spread(original, report.inputs, report.expected,
                        options.steps);
  for (auto [i, pair] :
       llvm::enumerate(llvm::zip_equal(*actual, report.expected))) {
    auto [a, b] = pair;
    if (a->getShape() != b->getShape() ||
        !(a->getElementType() == b->getElementType()))
      return compiled.emitError("expects result ")
             << i << " of type " << original.getResultTypes()[i]
             << " but got shape [" << a->getShape() << "] of "
             << a->getElementType().getType();
    OutputComparison output;
    output.name = getResultName(original, i);
    output.type = original.getResultTypes()[i];
    output.difference = relativeDifference(*a, *b);
    bool isFixed = options.tolerance && b->getElementType().isFloat();
    output.tolerance = isFixed ? *options.tolerance
                               : std::max(defaultTolerance(b->getElementType()),
                                          options.leastTolerance);
    if (!isFixed)
      output.tolerance = spread.widen(i, output.difference, output.tolerance);
    noteNaN(*b, output.name, report);
    report.outputs.push_back(output);
  }
  return report;
}

void VerifyReport::keepWorse(const VerifyReport &other) {
  for (auto [mine, theirs] : llvm::zip_equal(outputs, other.outputs)) {
    // Avoids a division: a bound may be 0.
    double scaled = mine.difference * theirs.tolerance,
           otherScaled = theirs.difference * mine.tolerance;
    if (mine.ok() != theirs.ok() ? mine.ok() : otherScaled > scaled)
      mine = theirs;
  }
  for (const std::string &note : other.notes)
    if (!llvm::is_contained(notes, note))
      notes.push_back(note);
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Prints rows in columns as wide as their widest entry.
static void printTable(ArrayRef<std::vector<std::string>> rows,
                       llvm::raw_ostream &os) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const auto &row : rows)
    for (auto [width, entry] : llvm::zip_equal(widths, row))
      width = std::max(width, entry.size());
  for (const auto &row : rows) {
    os << " ";
    for (auto [i, entry] : llvm::enumerate(row)) {
      os << ' ' << entry;
      if (i + 1 < row.size())
        os.indent(widths[i] - entry.size() + 1);
    }
    os << '\n';
  }
}

std::string interp::printDifference(double number) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%.1e", number);
  return number == 0 ? "0" : text;
}

void interp::printReport(const VerifyReport &report, llvm::raw_ostream &os) {
  std::vector<std::vector<std::string>> rows{
      {"output", "type", "difference", "bound", "ok"}};
  for (const OutputComparison &output : report.outputs) {
    std::string type;
    llvm::raw_string_ostream(type) << output.type;
    rows.push_back({output.name, type, printDifference(output.difference),
                    printDifference(output.tolerance),
                    output.ok() ? "yes" : "NO"});
  }
  printTable(rows, os);
  for (const std::string &note : report.notes)
    os << "  " << note << '\n';
  if (report.statistics.collectives.empty()) {
    os << "  no collectives\n";
    return;
  }
  rows = {{"collective", "count", "bytes per rank"}};
  for (auto &[name, entry] : report.statistics.collectives)
    rows.push_back(
        {name.str(), std::to_string(entry.count), std::to_string(entry.bytes)});
  printTable(rows, os);
}
