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

/// Result `i` of a function, from the results of each device.
static DeviceResult takeResult(func::FuncOp function, unsigned i,
                               ArrayRef<RankTensors> results,
                               const Mesh &mesh) {
  Type type = function.getResultTypes()[i];
  DeviceResult result{i, {}, {}, {}};
  DeviceBlocks &value = result.value;
  value.mesh = mesh;
  value.sharding = shardingOf(dist::getResultSharding(function, i), type, mesh);
  value.shape =
      globalShapeOf(function.getResultAttr(i, DistDialect::kGlobalShapeAttr),
                    type, value.sharding);
  for (const RankTensors &device : results)
    value.blocks.push_back(device[i]);
  result.order = function.getResultAttr(i, nn::NNDialect::kOrderAttr);
  return result;
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

/// Runs a local function on the shards of its arguments.
static FailureOr<std::vector<DeviceResult>>
interpretLocal(func::FuncOp function, ArrayRef<TensorRef> inputs,
               Statistics *statistics, int64_t steps) {
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
  std::vector<DeviceResult> taken;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    taken.push_back(takeResult(function, i, *results, *mesh));
  return taken;
}

/// Runs a global function on one device, which holds its arguments in their
/// stored order.
static FailureOr<std::vector<DeviceResult>>
interpretWhole(func::FuncOp function, ArrayRef<TensorRef> inputs,
               Statistics *statistics, int64_t steps) {
  RankTensors stored;
  for (auto [i, input] : llvm::enumerate(inputs))
    stored.push_back(reorder(
        input, function.getArgAttr(i, nn::NNDialect::kOrderAttr), false));
  FailureOr<std::vector<RankTensors>> results =
      interpretSteps(function, {std::move(stored)}, steps, statistics);
  if (failed(results))
    return failure();
  std::vector<DeviceResult> taken;
  for (auto [i, result] : llvm::enumerate(results->front())) {
    SmallVector<int64_t> shape(result->getShape());
    taken.push_back(
        {unsigned(i),
         {{result}, Sharding::replicatedOf(shape.size()), Mesh(), shape},
         function.getResultAttr(i, nn::NNDialect::kOrderAttr),
         {}});
  }
  return taken;
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

/// Runs all functions of a pipeline program.
static FailureOr<std::vector<DeviceResult>>
interpretStages(func::FuncOp function, ArrayRef<TensorRef> inputs,
                Statistics *statistics, int64_t steps) {
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
  std::vector<DeviceResult> taken;
  for (auto [rank, byDevice] : llvm::enumerate(*results)) {
    func::FuncOp stage = program->functions[rank];
    for (unsigned i = 0; i < stage.getNumResults(); ++i) {
      DeviceResult &result =
          taken.emplace_back(takeResult(stage, i, byDevice, mesh));
      result.number = unsigned(getResultNumber(stage, i));
      result.stage = int64_t(rank);
    }
  }
  llvm::stable_sort(taken, [](const DeviceResult &a, const DeviceResult &b) {
    return a.number < b.number;
  });
  unsigned next = 0;
  for (const DeviceResult &result : taken) {
    if (result.number > next)
      return func::FuncOp(program->functions.front())
                 .emitError("expects some pp rank to have result ")
             << next << " but none has";
    next = result.number + 1;
  }
  return taken;
}

FailureOr<std::vector<DeviceResult>>
interp::interpretOnDevices(func::FuncOp function, ArrayRef<TensorRef> inputs,
                           Statistics *statistics, int64_t steps) {
  if (isPipelineFunction(function))
    return interpretStages(function, inputs, statistics, steps);
  if (inputs.size() != function.getNumArguments())
    return function.emitError("expects ")
           << inputs.size() << " arguments but got "
           << function.getNumArguments();
  return function->hasAttr(DistDialect::kLocalAttr)
             ? interpretLocal(function, inputs, statistics, steps)
             : interpretWhole(function, inputs, statistics, steps);
}

/// The global value of a result, of each block the first device's.
static TensorRef assemble(const DeviceResult &result) {
  return reorder(assembleTensor(result.value), result.order, true);
}

FailureOr<RankTensors> interp::interpretGlobal(func::FuncOp function,
                                               ArrayRef<TensorRef> inputs,
                                               Statistics *statistics,
                                               int64_t steps) {
  FailureOr<std::vector<DeviceResult>> results =
      interpretOnDevices(function, inputs, statistics, steps);
  if (failed(results))
    return failure();
  RankTensors assembled;
  for (const DeviceResult &result : *results) {
    if (auto conflict = findConflict(result.value))
      return function.emitError("result ")
             << result.number << ": expects devices " << conflict->first
             << " and " << conflict->second
             << " to hold the same block but they differ";
    TensorRef whole = assemble(result);
    if (result.number == assembled.size())
      assembled.push_back(whole);
    else if (!assembled[result.number]->sameAs(*whole))
      return function.emitError("expects the same result ")
             << result.number
             << " of all pp ranks that have it, but it differs";
  }
  return assembled;
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

/// Compares a result on each device with the expected global value. Keeps in
/// `output` the largest difference, and where it is.
static void compareOnDevices(const DeviceResult &result,
                             const TensorRef &expected,
                             OutputComparison &output) {
  TensorRef stored = reorder(expected, result.order, false);
  double scale = scaleOf(*expected);
  result.value.forEach(
      [&](int64_t device, const TensorRef &block, ArrayRef<int64_t> offsets) {
        forEachIndex(block->getShape(), [&](ArrayRef<int64_t> index) {
          SmallVector<int64_t> place(index);
          for (auto [position, offset] : llvm::zip_equal(place, offsets))
            position += offset;
          Cell actual = block->at(index), wanted = stored->at(place);
          double difference =
              distanceOf(block->getElementType(), actual, wanted) / scale;
          if (difference <= output.difference)
            return;
          output.difference = difference;
          output.worst =
              Deviation{std::move(place), device, result.stage, actual, wanted};
        });
      });
  if (auto orders = dyn_cast_or_null<ArrayAttr>(result.order);
      orders && output.worst)
    for (auto [position, order] : llvm::zip_equal(output.worst->index, orders))
      if (auto zigzag = dyn_cast<nn::ZigzagAttr>(order))
        position = zigzag.getPosition(position);
}

/// Looks for devices, or pp ranks, that have different numbers of one result.
static void findConflicts(ArrayRef<DeviceResult> results,
                          MutableArrayRef<OutputComparison> outputs) {
  std::vector<TensorRef> first(outputs.size());
  for (const DeviceResult &result : results) {
    std::string &conflict = outputs[result.number].conflict;
    if (auto devices = findConflict(result.value); devices && conflict.empty())
      conflict =
          llvm::formatv("devices {0} and {1}", devices->first, devices->second);
    TensorRef whole = result.stage ? assemble(result) : nullptr;
    if (whole && first[result.number] && conflict.empty() &&
        !first[result.number]->sameAs(*whole))
      conflict = llvm::formatv("pp rank {0} and one before", *result.stage);
    first[result.number] = whole;
  }
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
  auto actual = interpretOnDevices(compiled, report.inputs, &report.statistics,
                                   options.steps);
  if (failed(actual))
    return failure();
  size_t count = actual->empty() ? 0 : actual->back().number + 1;
  if (count != report.expected.size())
    return compiled.emitError("expects ")
           << report.expected.size() << " results but got " << count;
  report.outputs.resize(count);
  for (const DeviceResult &result : *actual) {
    const TensorRef &expected = report.expected[result.number];
    ElementType type = result.value.blocks.front()->getElementType();
    if (expected->getShape() != ArrayRef(result.value.shape) ||
        !(type == expected->getElementType()))
      return compiled.emitError("expects result ")
             << result.number << " of type "
             << original.getResultTypes()[result.number] << " but got shape ["
             << ArrayRef(result.value.shape) << "] of " << type.getType();
    compareOnDevices(result, expected, report.outputs[result.number]);
  }
  findConflicts(*actual, report.outputs);
  RoundingSpread spread(original, report.inputs, report.expected,
                        options.steps);
  for (auto [i, output] : llvm::enumerate(report.outputs)) {
    const Tensor &expected = *report.expected[i];
    output.name = getResultName(original, i);
    output.type = original.getResultTypes()[i];
    bool isFixed = options.tolerance && expected.getElementType().isFloat();
    output.tolerance =
        isFixed ? *options.tolerance
                : std::max(defaultTolerance(expected.getElementType()),
                           options.leastTolerance);
    if (!isFixed)
      output.tolerance = spread.widen(i, output.difference, output.tolerance);
    noteNaN(expected, output.name, report);
    if (!output.conflict.empty())
      report.notes.push_back(llvm::formatv(
          "{0}: {1} have different numbers, and should have the same",
          output.name, output.conflict));
  }
  return report;
}

void VerifyReport::keepWorse(const VerifyReport &other) {
  for (auto [mine, theirs] : llvm::zip_equal(outputs, other.outputs)) {
    // Avoids a division: a bound may be 0.
    double scaled = mine.difference * theirs.tolerance,
           otherScaled = theirs.difference * mine.tolerance;
    std::string conflict =
        mine.conflict.empty() ? theirs.conflict : mine.conflict;
    if (mine.ok() != theirs.ok() ? mine.ok() : otherScaled > scaled)
      mine = theirs;
    mine.conflict = conflict;
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
