//===- TensorParallel.cpp - Explains tensor parallelism -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler partitions an MLP, and the interpreter runs it beside the whole
// one, on integers. A split that applies the activation before the sum is run
// too. Times are the planner's.
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cluster/Placement.h"
#include "tessera/Cost/ComputeModel.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include "tessera/Interpreter/Verify.h"
#include "tessera/Phases/Phases.h"

using namespace tessera;
using namespace tessera::cost;
using namespace tessera::explain;
using llvm::formatv;
using Module = mlir::OwningOpRef<mlir::ModuleOp>;

/// Tokens, columns and hidden columns of the MLP that is run.
static constexpr int64_t kTokens = 2, kColumns = 12, kHidden = 24;

/// Devices that it is run on.
static constexpr int64_t kSplitDevices[] = {2, 3, 4, 6};

/// The MLP with its first matrix split by columns and its second by rows.
static constexpr const char *kWhole = R"(
dist.mesh @mesh ["tp"={0}]
func.func @mlp(%x: tensor<{1}x{2}xf32>,
    %w1: tensor<{2}x{3}xf32>
      {{dist.sharding = #dist.sharding<@mesh, [{{}, {{"tp"}]>},
    %w2: tensor<{3}x{2}xf32>
      {{dist.sharding = #dist.sharding<@mesh, [{{"tp"}, {{}]>})
    -> (tensor<{1}x{2}xf32>
      {{dist.sharding = #dist.sharding<@mesh, [{{}, {{}]>}) {{
  %zero = arith.constant dense<0.0> : tensor<{1}x{3}xf32>
  %h = nn.einsum "ik,kj->ij" %x, %w1
      : tensor<{1}x{2}xf32>, tensor<{2}x{3}xf32> -> tensor<{1}x{3}xf32>
  %a = arith.maximumf %h, %zero : tensor<{1}x{3}xf32>
  %y = nn.einsum "ij,jk->ik" %a, %w2
      : tensor<{1}x{3}xf32>, tensor<{3}x{2}xf32> -> tensor<{1}x{2}xf32>
  return %y : tensor<{1}x{2}xf32>
}
)";

/// A device's program of a wrong split: the first matrix by rows, and the
/// activation of what are only parts of sums. {4} is {2} over the devices.
static constexpr const char *kWrong = R"(
dist.mesh @mesh ["tp"={0}]
func.func @mlp(
    %x: tensor<{1}x{4}xf32> {{dist.global_shape = array<i64: {1}, {2}>,
      dist.sharding = #dist.sharding<@mesh, [{{}, {{"tp"}]>},
    %w1: tensor<{4}x{3}xf32> {{dist.global_shape = array<i64: {2}, {3}>,
      dist.sharding = #dist.sharding<@mesh, [{{"tp"}, {{}]>},
    %w2: tensor<{3}x{2}xf32> {{dist.global_shape = array<i64: {3}, {2}>,
      dist.sharding = #dist.sharding<@mesh, [{{}, {{}]>})
    -> (tensor<{1}x{2}xf32> {{dist.global_shape = array<i64: {1}, {2}>,
      dist.sharding = #dist.sharding<@mesh, [{{}, {{}]>})
    attributes {{dist.local} {{
  %zero = arith.constant dense<0.0> : tensor<{1}x{3}xf32>
  %h = nn.einsum "ik,kj->ij" %x, %w1
      : tensor<{1}x{4}xf32>, tensor<{4}x{3}xf32> -> tensor<{1}x{3}xf32>
  %a = arith.maximumf %h, %zero : tensor<{1}x{3}xf32>
  %y = nn.einsum "ij,jk->ik" %a, %w2
      : tensor<{1}x{3}xf32>, tensor<{3}x{2}xf32> -> tensor<{1}x{2}xf32>
  %s = dist.all_reduce <sum> %y over <{{"tp"}> on @mesh
      : tensor<{1}x{2}xf32> -> tensor<{1}x{2}xf32>
  return %s : tensor<{1}x{2}xf32>
}
)";

namespace {
/// Programs of the MLP, and what the compiler says of them.
class MlpRuns {
public:
  MlpRuns()
      : context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED),
        handler(&context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
            message += diagnostic.str();
        }) {
    context.loadAllAvailableDialects();
  }

  llvm::Expected<Module> parse(const std::string &text) {
    Module module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return fail();
    return module;
  }

  /// The compiler's local program of a whole one.
  llvm::Expected<Module> partition(mlir::ModuleOp whole) {
    Module local = whole.clone();
    PipelineOptions options;
    options.forward = true;
    for (Phase phase : {Phase::Propagate, Phase::Partition})
      if (failed(runPhase(*local, phase, options)))
        return fail();
    return local;
  }

  /// Runs both on the same integers.
  llvm::Expected<interp::VerifyReport> compare(mlir::ModuleOp whole,
                                               mlir::ModuleOp local) {
    interp::VerifyOptions options;
    options.inputs.integers = true;
    options.tolerance = 0;
    auto report = interp::verify(functionOf(whole), functionOf(local), options);
    if (failed(report))
      return fail();
    return *report;
  }

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                    dist::DistDialect, nn::NNDialect>();
    registerUpstreamShardingRules(registry);
    return registry;
  }
  static mlir::func::FuncOp functionOf(mlir::ModuleOp module) {
    return *module.getOps<mlir::func::FuncOp>().begin();
  }
  llvm::Error fail() const { return llvm::createStringError("tp: " + message); }

  std::string message;
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler;
};
} // namespace

/// Differences of the compiler's split and of the wrong one, by devices. Fails
/// if the compiler's differs from the whole, or the wrong one does not.
static llvm::Expected<Table> splitTable() {
  Table table({{"devices", "", 0},
               "split",
               {"relative difference", "", 4},
               {"all-reduces", "", 0},
               {"bytes received by a device", "bytes", 0}});
  table.alignLeft(1);
  MlpRuns runs;
  for (int64_t devices : kSplitDevices) {
    std::string text =
        formatv(kWhole, devices, kTokens, kColumns, kHidden).str();
    auto whole = runs.parse(text);
    if (!whole)
      return whole.takeError();
    auto right = runs.partition(**whole);
    if (!right)
      return right.takeError();
    auto wrong = runs.parse(
        formatv(kWrong, devices, kTokens, kColumns, kHidden, kColumns / devices)
            .str());
    if (!wrong)
      return wrong.takeError();
    for (bool isRight : {true, false}) {
      auto report = runs.compare(**whole, isRight ? **right : **wrong);
      if (!report)
        return report.takeError();
      double difference = report->outputs[0].difference;
      if ((difference == 0) != isRight)
        return llvm::createStringError(
            "tp: expects no difference of the compiler's split on " +
            llvm::Twine(devices) + " devices, and one of the wrong split");
      const auto &count = report->statistics.collectives["all_reduce"];
      table.addRow({devices,
                    isRight ? "the compiler's: columns, then rows"
                            : "wrong: rows, activation before the sum",
                    difference, count.count, count.bytes});
    }
  }
  return table;
}

/// The lines of one device's program.
static llvm::Expected<Table> programTable(int64_t devices) {
  MlpRuns runs;
  auto whole =
      runs.parse(formatv(kWhole, devices, kTokens, kColumns, kHidden).str());
  if (!whole)
    return whole.takeError();
  auto local = runs.partition(**whole);
  if (!local)
    return local.takeError();
  std::string text;
  llvm::raw_string_ostream os(text);
  (*local)->walk([&](mlir::func::FuncOp function) {
    for (mlir::Operation &op : function.getBody().front())
      os << op << "\n";
  });
  Table table({"line"});
  for (llvm::StringRef line : llvm::split(llvm::StringRef(text).trim(), '\n'))
    table.addRow({line.trim().str()});
  return table;
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// The links of devices that are all in one group of a level, each in another
/// group of the level below.
static LinkSpans spansOver(const ClusterSpec &cluster, size_t level,
                           int64_t count) {
  int64_t stride = level ? cluster.levels[level - 1].devices : 1;
  std::vector<int64_t> devices;
  for (int64_t i = 0; i < count; ++i)
    devices.push_back(i * stride);
  return placeDevices(cluster, devices);
}

static Table timeTable(const ExplainSizes &sizes, int64_t tokens) {
  std::vector<Table::Column> columns{{"tp", "", 0},
                                     "q, k, v parameters of a device",
                                     "MLP parameters of a device",
                                     {"matmuls of the MLP", "ms", 3}};
  for (const LevelSpec &level : sizes.cluster.levels)
    columns.emplace_back("all-reduce over " + level.name, "ms", 3);
  Table table(std::move(columns));
  int64_t d = sizes.model.hidden;
  DeviceModel device = makeDeviceModel(sizes.cluster.device);
  auto addCount = [](double count) {
    return Table::Cell(groupedText(count), count);
  };
  for (int64_t tp : listDoubles(1, 16, sizes.plan.tp)) {
    if (d % tp || tp > sizes.cluster.numDevices())
      continue;
    MatmulDims first, second;
    first.batch = second.batch = 1;
    first.m = second.m = tokens;
    first.k = second.n = d;
    first.n = second.k = 4 * d / tp;
    double matmuls = matmulSeconds(device, first, DType::BF16) +
                     matmulSeconds(device, second, DType::BF16);
    std::vector<Table::Cell> row{tp, addCount(3.0 * double(d) * double(d / tp)),
                                 addCount(8.0 * double(d) * double(d / tp)),
                                 matmuls * 1e3};
    for (size_t level = 0; level < sizes.cluster.levels.size(); ++level) {
      const LevelSpec &spec = sizes.cluster.levels[level];
      int64_t groups =
          spec.devices / (level ? sizes.cluster.levels[level - 1].devices : 1);
      if (tp > groups) {
        row.emplace_back("");
        continue;
      }
      row.emplace_back(
          getTensorCollectiveTime(CollectiveKind::AllReduce,
                                  2.0 * double(tokens) * double(d),
                                  spansOver(sizes.cluster, level, tp)) *
          1e3);
    }
    table.addRow(std::move(row));
  }
  return table;
}

/// A sentence about what the asked size of tp saves, and what its all-reduce
/// takes.
static std::string timeSentence(const ExplainSizes &sizes, const Table &times) {
  const auto &rows = times.getRows();
  auto asked = llvm::find_if(rows, [&](const std::vector<Table::Cell> &row) {
    return *row[0].value == double(sizes.plan.tp);
  });
  if (asked == rows.end())
    return "";
  std::string text =
      formatv("With {0} tokens over tp={1}, matmuls take {2:f3} ms less",
              groupedText(double(sizes.plan.microBatch * sizes.plan.seq)),
              sizes.plan.tp, *rows[0][3].value - *(*asked)[3].value);
  for (size_t i = 4; i < asked->size(); ++i)
    if ((*asked)[i].value)
      text += formatv(", the {0} takes {1} ms", times.getColumns()[i].name,
                      (*asked)[i].text);
  return text + ". ";
}

Section tessera::explain::explainTensorParallel(const ExplainSizes &sizes) {
  int64_t tp = sizes.plan.tp;
  if (llvm::Error error = checkSize("tp", "--tp", tp, 64))
    return std::move(error);
  auto splits = splitTable();
  if (!splits)
    return splits.takeError();
  ChoiceTable programs({{"devices", "", 0}});
  for (int64_t devices : kSplitDevices) {
    auto program = programTable(devices);
    if (!program)
      return program.takeError();
    programs.add({devices}, *program);
  }
  if (llvm::Error error = checkColumns(sizes))
    return std::move(error);
  Explanation text(
      "tp",
      formatv("Over tp={0}, a device has {1} parameters of q, k and v, and an "
              "MLP needs one all-reduce",
              tp,
              groupedText(3.0 * double(sizes.model.hidden) *
                          double(sizes.model.hidden / tp))));
  text.add({"splits",
            "table",
            "Split by columns, then by rows, an MLP is the same to the last "
            "bit of integers",
            formatv("The compiler's partition of an MLP of {0} and {1} "
                    "columns, run by the interpreter beside the whole MLP. The "
                    "wrong split applies the activation to parts of sums.",
                    kColumns, kHidden),
            std::move(*splits),
            {""}});
  text.add({"program",
            "table",
            "The program of one device",
            "As the compiler partitions it.",
            std::move(programs).finish(),
            {"4"}});
  int64_t tokens = sizes.plan.microBatch * sizes.plan.seq;
  ChoiceTable times({{"tokens", "", 0}});
  for (int64_t count : listDoubles(1024, 65536, tokens))
    times.add({count}, timeTable(sizes, count));
  text.add({"times",
            "table",
            "Matmuls of a device shrink with tp, the all-reduce does not",
            formatv("{0}An MLP of {1} and {2} columns, forward. Times are the "
                    "planner's.",
                    timeSentence(sizes, timeTable(sizes, tokens)),
                    sizes.model.hidden, 4 * sizes.model.hidden),
            std::move(times).finish(),
            {std::to_string(tokens)}});
  return std::move(text).finish();
}
