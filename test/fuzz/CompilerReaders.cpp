//===- CompilerReaders.cpp - Readers of the compiler, for damaged inputs --===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Configs of models, clusters, frameworks, plans, reports, measurements, .npy
// files, attributes of dist, options of strategies, graphs of StableHLO,
// decision files and sharding files; see Subject.h. The examples include the
// files of share/. Accepted inputs are used: some become a plan.
//
//===----------------------------------------------------------------------===//

#include "Subject.h"

#include "dialects/Dist/Dist.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tessera/Cost/Calibrate.h"
#include "tessera/Cost/Frameworks.h"
#include "tessera/Cost/MinimumMemory.h"
#include "tessera/Cost/PlanReport.h"
#include "tessera/Interpreter/Npy.h"
#include "tessera/Phases/ImportPipeline.h"
#include "tessera/Phases/Phases.h"
#include "tessera/Planning/MoEWork.h"
#include "tessera/Planning/ModelPlan.h"
#include "tessera/Registration/Registration.h"
#include "tessera/Report/Document.h"
#include "tessera/Report/RunLog.h"
#include "tessera/Report/TextPicture.h"
#include "tessera/Schedule/ScheduleCsv.h"
#include "tessera/ShardingSearch/Decisions.h"
#include "tessera/Support/Json.h"
#include "tessera/Support/ModuleText.h"
#include "tessera/Support/TemporaryFile.h"
#include "tessera/Training/Strategy.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace tessera;
using namespace tessera::cost;
using namespace tessera::fuzz;
using llvm::StringRef;

namespace {

/// A plan takes tens of milliseconds, so only one input in this many makes one.
constexpr uint64_t kPlanOneIn = 100;

const std::string folder = TESSERA_SHARE;

/// True if something was read; an error must have a message.
template <typename T> bool isRead(llvm::Expected<T> &result) {
  if (result)
    return true;
  std::string text = llvm::toString(result.takeError());
  require(!text.empty(), "an error without a message");
  return false;
}

std::string contentOf(const llvm::Twine &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  require(bool(buffer), path.str() + " cannot be read");
  return (*buffer)->getBuffer().str();
}

/// The files of a folder of share/, sorted.
std::vector<std::string> filesOf(StringRef name) {
  std::set<std::string> paths;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator file(folder + "/" + name, code), end;
       !code && file != end; file.increment(code))
    if (StringRef(file->path()).ends_with(".json"))
      paths.insert(file->path());
  std::vector<std::string> texts;
  for (const std::string &path : paths)
    texts.push_back(contentOf(path));
  require(!texts.empty(), "no examples");
  return texts;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

const ClusterSpec &getCluster() {
  static const ClusterSpec cluster =
      llvm::cantFail(readClusterSpec(folder + "/clusters/h100-sxm-ib.json"));
  return cluster;
}

const ModelConfig &getModel() {
  static const ModelConfig model =
      llvm::cantFail(readModelConfig(folder + "/models/tiny-gpt2.json"));
  return model;
}

ExecutedPlan getPlan() {
  ExecutedPlan plan;
  plan.precision = Precision::BF16;
  plan.dp = 2;
  llvm::cantFail(plan.setGlobalBatch(4));
  plan.seq = 32;
  return plan;
}

/// Prices the work and prints the result.
void makePlan(llvm::Expected<ModelWork> work, const ExecutedPlan &plan,
              const ClusterSpec &cluster) {
  if (!isRead(work))
    return;
  schedule::PipelinePricer pricer;
  auto report = makePlanReport(*work, plan, plan.execution(), cluster,
                               PlanQuestion(), pricer);
  if (!isRead(report))
    return;
  print(*report, llvm::nulls());
  llvm::nulls() << llvm::json::Value(toJson(*report));
}

void makePlan(const ModelConfig &model, const ExecutedPlan &plan,
              const ClusterSpec &cluster) {
  if (!llvm::errorToBool(plan.check()) &&
      !llvm::errorToBool(
          plan.checkModel(model.heads, model.kvHeads, model.ffn, model.layers)))
    makePlan(WorkReader().read(model, plan), plan, cluster);
}

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

bool readModel(const std::string &text) {
  auto config = parseModelConfig(text, "config.json", {}, ConfigUse::Price);
  if (!isRead(config))
    return false;
  if (config->experts) {
    auto sparse = makeMoEConfig(*config);
    if (!isRead(sparse))
      return false;
    ExecutedPlan plan = getPlan();
    if (isDrawn(text, kPlanOneIn) &&
        !llvm::errorToBool(checkMoELayout(*sparse, plan)))
      makePlan(makeMoEWork(*sparse, plan, MoEOptions()), plan, getCluster());
    return true;
  }
  print(makeMinimumMemory(config->name, countParameters(*config),
                          config->layers, config->hidden, getPlan(), 8e10),
        llvm::nulls());
  if (isDrawn(text, kPlanOneIn))
    makePlan(*config, getPlan(), getCluster());
  return true;
}

bool readCluster(const std::string &text) {
  auto cluster = parseClusterSpec(text, "cluster.json");
  if (!isRead(cluster))
    return false;
  require(!llvm::errorToBool(cluster->validate()), "a cluster that is none");
  std::string again = llvm::formatv("{0}", llvm::json::Value(toJson(*cluster)));
  auto copy = parseClusterSpec(again, "again.json");
  require(isRead(copy), "not what it writes");
  if (isDrawn(text, kPlanOneIn) && !llvm::errorToBool(cluster->checkSize(2)))
    makePlan(getModel(), getPlan(), *cluster);
  return true;
}

/// Clusters that name their device, and one that has it.
std::vector<std::string> clusterExamples() {
  std::vector<std::string> examples = filesOf("clusters");
  examples.push_back(llvm::formatv("{0}", toJson(getCluster())));
  return examples;
}

bool readFrameworks(const std::string &text) {
  auto framework = parseFramework(text, "framework.json");
  if (!isRead(framework))
    return false;
  GivenExecutedPlan own, given;
  own.setAll(getPlan());
  for (const Field<Execution> &field : getFields<Execution>())
    llvm::cantFail(own.set(field.name, field.print(own.plan)));
  given = own;
  applyFramework(*framework, own, {"llama3-8b", "H100-SXM-80GB"}, given);
  require(given.plan == own.plan, "a framework changed a given field");
  applyFramework(*framework, GivenExecutedPlan(), FrameworkRun(), given);
  return true;
}

llvm::Expected<ExecutedPlan> completePlan(const llvm::json::Object &object) {
  GivenExecutedPlan given;
  if (llvm::Error error = cost::readPlan(object, given))
    return std::move(error);
  if (llvm::Error error = given.complete())
    return std::move(error);
  return given.plan;
}

bool readPlan(const std::string &text) {
  auto value = parseJson(text);
  if (!isRead(value) || !value->getAsObject())
    return false;
  auto plan = completePlan(*value->getAsObject());
  if (!isRead(plan))
    return false;
  if (isDrawn(text, kPlanOneIn) &&
      !llvm::errorToBool(getCluster().checkSize(plan->gpus())))
    makePlan(getModel(), *plan, getCluster());
  return true;
}

bool readMeasurements(const std::string &text) {
  auto measurements = parseMeasurements(text, "measurements.txt");
  if (!isRead(measurements))
    return false;
  ClusterSpec cluster = getCluster();
  auto refinements = calibrate(cluster, *measurements, "measurements.txt");
  if (isRead(refinements))
    print(*refinements, llvm::nulls());
  return true;
}

/// Checks that an accepted list can run.
bool readSchedules(const std::string &text) {
  auto list = schedule::readScheduleCsv(text, "list.csv");
  if (!isRead(list))
    return false;
  require(!llvm::errorToBool(schedule::verify(list->problem, list->schedule)),
          "a list that cannot run");
  llvm::cantFail(
      schedule::writeScheduleCsv(list->problem, list->schedule, llvm::nulls()));
  return true;
}

bool readReports(const std::string &text) {
  auto value = parseJson(text);
  if (!isRead(value) || !value->getAsObject())
    return false;
  auto section =
      compare(*value->getAsObject(), *value->getAsObject(), "a.json", "b.json");
  return isRead(section);
}

/// Writes a document that it reads, and reads it again.
bool readDocument(const std::string &text) {
  auto document = parseDocument(text, "a.json");
  if (!isRead(document))
    return false;
  std::string again;
  llvm::raw_string_ostream(again) << llvm::json::Value(document->toJson());
  auto other = parseDocument(again, "b.json");
  require(isRead(other), "a document that does not come back");
  for (const DocumentSection &section : document->sections)
    printPictures(section, PictureStyle{40, false, true}, llvm::nulls());
  require(llvm::json::Value(other->toJson()) ==
              llvm::json::Value(document->toJson()),
          "another document comes back");
  return true;
}

bool readLog(const std::string &text) {
  auto section = readRunLog(text, "a.jsonl");
  if (!isRead(section))
    return false;
  compareRuns(*section, *section, "a", "b");
  return true;
}

const std::string &getTensorPath() {
  static TemporaryFile file;
  static const std::string path = [] {
    llvm::cantFail(file.create("tessera-hostile", "npy"));
    return file.getPath().str();
  }();
  return path;
}

mlir::MLIRContext &getContext() {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<dist::DistDialect>();
  return context;
}

bool readTensor(const std::string &text) {
  {
    std::error_code code;
    llvm::raw_fd_ostream os(getTensorPath(), code);
    require(!code, "no temporary file");
    os << text;
  }
  mlir::Builder builder(&getContext());
  bool any = false;
  for (mlir::Type type :
       {mlir::Type(builder.getF32Type()), mlir::Type(builder.getBF16Type()),
        mlir::Type(builder.getI64Type()), mlir::Type(builder.getI1Type())}) {
    auto tensor =
        interp::readNpy(getTensorPath(), interp::ElementType(type), {2, 3});
    any |= isRead(tensor);
  }
  return any;
}

bool readAttribute(const std::string &text) {
  // Diagnostics are ignored.
  mlir::ScopedDiagnosticHandler handler(
      &getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
  mlir::Attribute attr = mlir::parseAttribute(text, &getContext());
  if (!attr)
    return false;
  std::string again;
  llvm::raw_string_ostream(again) << attr;
  require(mlir::parseAttribute(again, &getContext()) == attr,
          "not what it prints: " + again);
  return true;
}

/// A context that counts errors. It grows with every type, so each input has
/// its own.
struct CountingContext {
  CountingContext()
      : context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED),
        handler(&context, [this](mlir::Diagnostic &diagnostic) {
          errors += diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
        }) {}

  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }
  void expectOneUnless(bool isGood) const {
    require(errors == (isGood ? 0 : 1), "expects one error, or none");
  }

  mlir::MLIRContext context;
  int errors = 0;
  mlir::ScopedDiagnosticHandler handler;
};

/// A module of StableHLO becomes a graph, or gives one error.
bool readGraph(const std::string &text) {
  if (llvm::Error error = checkModuleText("graph", text)) {
    llvm::consumeError(std::move(error));
    return false;
  }
  CountingContext counting;
  mlir::MLIRContext &context = counting.context;
  context.allowUnregisteredDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return false;
  mlir::PassManager pm(&context);
  buildImport(pm, ImportOptions());
  bool isImported = succeeded(pm.run(*module));
  counting.expectOneUnless(isImported);
  return isImported;
}

/// The program to which decision files are applied.
constexpr StringRef kDecided = R"(
  dist.mesh @mesh ["a"=4, "b"=2]
  func.func @f(%x: tensor<64x16xf32>, %w: tensor<16x16xf32> {nn.param = "w"}) -> tensor<64x16xf32> {
    %c = arith.constant dense<1.0> : tensor<64x16xf32>
    %0 = nn.einsum "ik,kj->ij" %x, %w : tensor<64x16xf32>, tensor<16x16xf32> -> tensor<64x16xf32>
    %1 = arith.addf %0, %c : tensor<64x16xf32>
    %2 = nn.einsum "ik,kj->ij" %1, %w : tensor<64x16xf32>, tensor<16x16xf32> -> tensor<64x16xf32>
    return %2 : tensor<64x16xf32>
  })";

/// Applies a decision file and partitions its program, or gives an error.
bool readDecisions(const std::string &text) {
  CountingContext counting;
  mlir::MLIRContext &context = counting.context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kDecided, &context);
  bool isTaken = succeeded(replayDecisions(*module, text));
  counting.expectOneUnless(isTaken);
  if (!isTaken)
    return false;
  mlir::PassManager pm(&context);
  buildPhase(pm, Phase::Propagate, PipelineOptions());
  buildPhase(pm, Phase::Partition, PipelineOptions());
  bool isPartitioned = succeeded(pm.run(*module));
  counting.expectOneUnless(isPartitioned);
  return true;
}

constexpr StringRef kSharded = R"(
  func.func @f(%x: tensor<64x16xf32> {nn.input = "x", nn.dims = ["batch", "embed"]},
               %w: tensor<16x4x8xf32> {nn.param = "w", nn.dims = ["embed", "kv_heads", "head_dim"],
                   nn.source = #nn.source<"up", [32, 16], offset 0, strides [1, 128, 16]>},
               %v: tensor<32x16xf32> {nn.param = "v", nn.source = #nn.source<"fused", [32, 32], offset 16, strides [32, 1]>})
      -> tensor<64x16xf32> {
    %0 = nn.einsum "ik,khd->ihd" %x, %w : tensor<64x16xf32>, tensor<16x4x8xf32> -> tensor<64x4x8xf32>
    %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<64x4x8xf32> into tensor<64x32xf32>
    %2 = nn.einsum "ik,kj->ij" %1, %v : tensor<64x32xf32>, tensor<32x16xf32> -> tensor<64x16xf32>
    return %2 : tensor<64x16xf32>
  })";

/// Partitions a program as a sharding file says, or gives an error.
bool readShardings(const std::string &text) {
  auto file = parseShardingFile(text);
  if (!isRead(file))
    return false;
  auto given = std::make_shared<GivenShardings>();
  given->path = "file";
  given->file = std::move(*file);
  PipelineOptions options;
  if (llvm::Error error = takeLayout(*given, options.layout)) {
    llvm::consumeError(std::move(error));
    return false;
  }
  // Decisions replace a search, which is not a phase.
  if (options.layout.strategy.isSearched)
    return false;
  options.shardings = given;
  CountingContext counting;
  mlir::MLIRContext &context = counting.context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kSharded, &context);
  mlir::PassManager pm(&context);
  buildPhasesUpTo(pm, Phase::Partition, options);
  bool isPartitioned = succeeded(pm.run(*module));
  counting.expectOneUnless(isPartitioned);
  return isPartitioned;
}

/// Two lines: the values of --mesh and --strategy.
bool readStrategy(const std::string &text) {
  auto [meshText, strategyText] = StringRef(text).split('\n');
  llvm::Expected<Mesh> mesh = parseMesh(meshText);
  if (!isRead(mesh))
    return false;
  llvm::Expected<Strategy> strategy = parseStrategy(strategyText);
  return isRead(strategy);
}

//===----------------------------------------------------------------------===//
// Examples
//===----------------------------------------------------------------------===//

std::vector<std::string> planExamples() {
  std::vector<std::string> texts;
  ExecutedPlan plan = getPlan();
  texts.push_back(llvm::formatv("{0}", llvm::json::Value(toJson(plan))));
  plan.tp = 2;
  plan.pp = 2;
  plan.microBatch = 2;
  texts.push_back(llvm::formatv("{0}", llvm::json::Value(toJson(plan))));
  return texts;
}

std::vector<std::string> reportExamples() {
  std::vector<std::string> texts;
  ExecutedPlan plan = getPlan();
  auto work = llvm::cantFail(WorkReader().read(getModel(), plan));
  schedule::PipelinePricer pricer;
  auto report = llvm::cantFail(makePlanReport(
      work, plan, plan.execution(), getCluster(), PlanQuestion(), pricer));
  return {llvm::formatv("{0}", llvm::json::Value(toJson(report)))};
}

std::vector<std::string> documentExamples() {
  Table table({"step", {"seconds", "s", 4}, {"share", "%", 1, " %"}});
  table.addRow({"optimizer", 0.0000081, 0.1});
  table.addRow({"total", {"-", std::nullopt}, 100});
  DocumentSection section{"plan", "a title", {{"step", "a finding"}}, {}};
  section.tables.emplace_back("step", table);
  Document plain{"a", "tessera plan a", {section}, {}};
  Table large({{"us", "us", 2}, "name"});
  for (int i = 0; i <= int(kMaxPlainRows); ++i)
    large.addRow({i / 4.0, "x"});
  section.tables.emplace_back("large", large);
  std::vector<std::string> texts;
  DocumentSection pipeline{"plan", "", {}, {}};
  Table actions(
      {{"rank", "", 0}, "action", {"begin", "s", 2}, {"end", "s", 2}});
  actions.addRow({0, "F", 0, 1.5});
  actions.addRow({1, "BW", 1.5, 2});
  pipeline.tables.emplace_back("pipeline", actions);
  Table step({"part", {"begin", "s", 4}, {"seconds", "s", 4}});
  step.addRow({"compute", 0, 1.5});
  step.addRow({"less", 1.5, -0.5});
  pipeline.tables.emplace_back("waterfall", step);
  plain.sections.push_back(pipeline);
  for (const Document &document :
       {plain, Document{"b", "", {section}, llvm::json::Object{{"field", 1}}}})
    llvm::raw_string_ostream(texts.emplace_back())
        << llvm::json::Value(document.toJson());
  return texts;
}

std::vector<std::string> logExamples() {
  return {
      "{\"event\": \"remark\", \"step\": 1, \"text\": \"a remark\"}\n"
      "{\"event\": \"step\", \"step\": 1, \"loss\": 5.5, \"grad_norm\": "
      "null, \"lr\": 3e-3, \"ms\": 14.58, \"tokens_per_second\": 17556.0}\n"
      "{\"event\": \"eval\", \"step\": 1, \"loss\": 5.4, \"ms\": 1.5}\n"
      "{\"event\": \"step\", \"step\": 2, \"loss\": 5.1, \"undone\": true}\n"
      "{\"event\": \"step\", \"step\": 2, \"loss\": 5.0, \"undone\": "
      "false}\n"};
}

std::vector<std::string> tensorExamples() {
  std::vector<std::string> texts;
  mlir::Builder builder(&getContext());
  for (mlir::Type type :
       {mlir::Type(builder.getF32Type()), mlir::Type(builder.getI64Type()),
        mlir::Type(builder.getI1Type())}) {
    interp::Tensor tensor(interp::ElementType(type), {2, 3});
    llvm::cantFail(interp::writeNpy(getTensorPath(), tensor));
    texts.push_back(contentOf(getTensorPath()));
  }
  return texts;
}

std::vector<std::string> measurementExamples() {
  return {"# all_reduce_perf\n"
          "#  Rank  0 Group  0 Pid  1 on  a device  0 [0x07] H100\n"
          "#  Rank  1 Group  0 Pid  1 on  a device  1 [0x0f] H100\n"
          "#  size count type redop root time algbw busbw #wrong time algbw "
          "busbw #wrong\n"
          "1048576 262144 float sum -1 50.0 20.97 36.70 0 50.0 20.97 36.70 0\n"
          "2097152 524288 float sum -1 70.0 29.96 52.43 0 70.0 29.96 52.43 0\n",
          "m,n,k,dtype,batch,ms\n1024,1024,1024,bf16,1,0.01\n"
          "4096,4096,4096,f32,2,0.7\n"};
}

std::vector<std::string> scheduleExamples() {
  return {"0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1I1,1W1\n",
          "0F0,0F1,0F2,3F0,3I0,3W0,3F1,(0F3;3B1)OVERLAP_F_B,"
          "(3F2;0B0)OVERLAP_F_B,3B2,(3F3;0B1)OVERLAP_F_B,3B3,0I2,0I3,0W2,0W3\n"
          "1F0,2F0,1F1,2F1,1F2,2B0,(2F2;1B0)OVERLAP_F_B,(1F3;2B1)OVERLAP_F_B,"
          "(2F3;1B1)OVERLAP_F_B,2B2,1B2,2I3,1I3,2W3,1W3\n"};
}

std::vector<std::string> attributeExamples() {
  return {R"(#dist.sharding<@mesh, [{"dp", "tp"}, {}]>)",
          R"(#dist.sharding<@mesh, [{?}, {"x"}p0], unreduced={"y"} max>)",
          R"(#dist.sharding<@mesh, [{"y":(1)2, ?}p1], replicated={"y":(2)2}>)",
          R"(#dist.mesh<["dp"=2, "tp"=4]>)", R"([{}, 1 : i64, "a"])"};
}

std::vector<std::string> graphExamples() {
  return {contentOf(TESSERA_GRAPHS "/ops.mlir")};
}

std::vector<std::string> decisionExamples() {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kDecided, &context);
  auto found = searchShardings(*module, ShardingSearchOptions());
  require(succeeded(found) &&
              succeeded(applyShardings(*module, found->front())),
          "no shardings");
  std::string text;
  llvm::raw_string_ostream os(text);
  printDecisions(*module, found->front(), os);
  return {text};
}

std::vector<std::string> shardingExamples() {
  return {R"({"tessera": "shardings", "version": 1, "mesh": {"dp": 2, "tp": 4},
    "tensors": {"up": {"shape": [32, 16], "axes": [["tp"], []]},
                "fused": {"shape": [32, 32], "views": [{"name": "v", "offset": 16,
                          "shape": [32, 16], "strides": [32, 1], "axes": [["tp:(1)2"], []]}]}},
    "inputs": {"x": {"axes": [["dp"], []], "shape": [64, 16]}}})",
          R"({"tessera": "shardings", "version": 1, "mesh": {"dp": 2, "tp": 2},
    "plan": {"zero": 3}, "strategy": "dp,tp,zero=3",
    "tensors": {"up": {"shape": [32, 16], "axes": [["tp"], []]}},
    "modules": {"q": {"input": [["dp"], []], "output": [["dp"], []], "output_partial": ["tp"]}}})"};
}

std::vector<std::string> strategyExamples() {
  return {"dp=2,tp=2\ndp,tp,sp,zero=3", "tp=4\ntp,sp", "dp=8\ndp,zero=1"};
}

} // namespace

std::vector<Subject> tessera::fuzz::getSubjects() {
  return {{"models", readModel, [] { return filesOf("models"); }},
          {"clusters", readCluster, clusterExamples},
          {"frameworks", readFrameworks, [] { return filesOf("frameworks"); }},
          {"plans", readPlan, planExamples},
          {"schedules", readSchedules, scheduleExamples},
          {"reports", readReports, reportExamples},
          {"documents", readDocument, documentExamples},
          {"logs", readLog, logExamples},
          {"measurements", readMeasurements, measurementExamples},
          {"tensors", readTensor, tensorExamples},
          {"attributes", readAttribute, attributeExamples},
          {"strategies", readStrategy, strategyExamples},
          {"graphs", readGraph, graphExamples},
          {"decisions", readDecisions, decisionExamples},
          {"shardings", readShardings, shardingExamples}};
}
