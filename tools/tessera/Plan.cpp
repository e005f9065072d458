//===- Plan.cpp - tessera plan --------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options and files around the cost and memory models. lib/Cost prices a plan,
// lib/Planning derives the model's work under it.
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "PlanExplore.h"
#include "PlanObserved.h"
#include "PlanOptions.h"
#include "PlanReader.h"
#include "PlanSearch.h"
#include "Programs.h"

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Cost/Calibrate.h"
#include "tessera/Cost/MinimumMemory.h"
#include "tessera/Cost/PlanReport.h"
#include "tessera/Import/ModelConfig.h"
#include "tessera/Planning/PlanPricer.h"
#include "tessera/Planning/PlanSection.h"
#include "tessera/Planning/SearchReport.h"
#include "tessera/Report/Table.h"
#include "tessera/Schedule/ScheduleCsv.h"
#include "tessera/ShardingSearch/Decisions.h"
#include "tessera/Support/Errors.h"
#include "tessera/Support/Share.h"
#include "tessera/Support/Spelling.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace tessera;
using namespace tessera::cost;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

const OptionSpec kOwnOptions[] = {
    section(Section::Cluster),
    common("the cluster: a file, or a name as h100-sxm-ib",
           named("clusters",
                 {"--cluster", "CLUSTER",
                  "the cluster: a file, or a name of share/clusters, as "
                  "h100-sxm-ib"})),
    {"--links-scale", "LIST",
     "multiply the bandwidth of links, as infiniband=0.5,nvlink=0.9"},
    common(
        "a plan as JSON, which other options change",
        formerly(
            "--layout",
            {"--plan", "FILE",
             "a plan as JSON, as --json writes it; other options change it"})),
    {"--from-program", "FILE",
     "the plan of a training step, as tessera compile --compile-to prints it; "
     "other options change it"},
    common(
        "set what a framework fixes, as megatron-core or fsdp",
        named("frameworks",
              {"--framework", "NAME",
               "set fields of the plan as a framework does, but those given: a "
               "name of share/frameworks, as megatron-core, nemo, torchtitan, "
               "fsdp, deepspeed or tessera, or FILE.json (docs/plan.md); "
               "default: none"})),
    {"--execution", "FILE",
     "set how a step is run: fields of an execution as JSON, over those of "
     "--framework and under those of options (docs/plan.md)"},
    repeated({"--set", "NAME=VALUE",
              "set one field of how a step is run, as fused-loss=on or "
              "loss-copies=2; may be given several times"}),
    {"--observed", "FILE",
     "runs of the model on the cluster, which move its constants: rows of "
     "layout,seconds[,bytes], JSON, or a program's log"},
    {"--ignore-key", "LIST",
     "keys of the config, separated by commas, that would be an error since "
     "they are not known: they change nothing"},
    section(Section::Execution),
    {"--capacity-factor", "X",
     "slots of each expert over an even distribution of tokens; the rest is "
     "dropped; default: nothing is dropped"},
    {"--imbalance", "X",
     "tokens of the busiest experts over an even spread, where nothing is "
     "dropped; default: 1"},
    choice(
        "none|router|attention",
        {"--expert-graphs", "PARTS",
         "what of a layer with experts the host launches as graphs, not kernel "
         "by "
         "kernel: none, router, or attention and the router; default: none"}),
    section(Section::Search),
    common("find the best of all layouts that the options leave open",
           {"--search", "",
            "find the best of all layouts that the options leave open: each "
            "takes a value, a list as 1,2,4 or, of numbers, a range as 2..16, "
            "..16, 8..; flags =on or =off; -o writes a plan for compile "
            "--plan"}),
    {"--top", "K", "with --search, list K plans and meshes; default: 5"},
    {"--fit", "P",
     "with --search, plans that fit with a probability of P or more; 0.5: by "
     "what is predicted; default: 0.9"},
    {"--front", "X",
     "with --search, list what less memory or money costs, of plans up to X % "
     "slower than the best; default: 10"},
    {"--compilable", "", "with --search, only plans that compile builds"},
    {"--cheapest", "",
     "with --search, the fewest dollars for a token instead of the least "
     "time; of several clusters, separated by commas, --price has as many "
     "numbers"},
    {"--days", "D",
     "with --search and --tokens, the fewest devices that are done in D days, "
     "and their best plan"},
    {"--why", "LAYOUT",
     "with --search, why the best is not a layout that has these values, as "
     "tp=8,pp=4"},
    {"--among", "FILE",
     "with --search, the best of the plans that FILE has: a list as JSON, or "
     "what another search wrote"},
    {"--what-if", "",
     "with --search, the best plans with 10 GB more memory, and with links or "
     "units a fifth faster or slower"},
    {"--search-seconds", "X",
     "with --search, end after X seconds with what is known by then"},
    {"--threads", "N",
     "with --search; default: the number of processors; the answer is the "
     "same"},
    common("report all layouts of lists and ranges, for a page",
           {"--explore", "",
            "report all combinations of options that have several values, as "
            "with --search, for a page on which a reader changes them; at most "
            "20,000"}),
    section(Section::Report),
    {"--tokens", "N",
     "tokens of the whole run, as 15e12 or 15T: days and price"},
    {"--price", "X", "dollars per device and hour"},
    {"--compare", "",
     "compare two reports of --json, or two decision files of tessera compile "
     "--decisions-out: plan --compare A B"},
    {"--calibrate", "FILE",
     "refine --cluster with the output of nccl-tests or a table of matmuls "
     "(m,n,k,dtype,tflops) and write it"},
    section(Section::Output),
    {"--schedule-csv", "FILE",
     "write the schedule's lists there, as --schedule FILE.csv and "
     "torch.distributed.pipelining read them",
     /*isOutput=*/true},
    common({"--json", "", "print JSON"}),
    choice("megatron",
           {"--flags", "TRAINER",
            "print the plan, with --search the best one, as flags of a "
            "trainer: megatron, of Megatron-LM core_v0.14.0"}),
    common("write a page of figures there",
           {"--html", "FILE",
            "write the report there as a page of figures, one file that opens "
            "in a browser without a network",
            /*isOutput=*/true}),
    choice("auto|on|off|ascii",
           {"--picture", "WHEN",
            "draw memory, step and pipeline as text too: auto, on a terminal "
            "that shows UTF-8, on, off, or ascii; default: auto"}),
    common("write there instead of stdout",
           {"-o", "FILE", "write there (default: stdout)", /*isOutput=*/true}),
};

const CommandSpec kCommand = {
    "plan",
    "CONFIG.json [options]",
    "Prices the training of a model under a given layout, without running it.",
    "CONFIG.json is a file, or a name of share/models, as llama3-8b.\n"
    "Builds one layer of each kind, partitions it as the layout says, and\n"
    "prices its kernels and collectives, the pipeline schedule and the\n"
    "optimizer on the cluster. Prints the memory of each stage by what fills\n"
    "it, the step by what it waits for, throughput, the bottleneck, and how\n"
    "sure that is. Without a layout, prints the minimum memory: the bytes of\n"
    "the whole model, the fewest devices, and what ZeRO leaves on one. Models\n"
    "with experts (mixtral, qwen3_moe, deepseek_v2, deepseek_v3) have no "
    "graph\n"
    "yet: their work is written down from the config. With --search, finds "
    "the\n"
    "best of all layouts that the options leave open, by branch and bound, "
    "and\n"
    "says how far from the best it can be. GB are 1e9 bytes, GiB 2^30. The\n"
    "exit status is 0, 1 after an error, 3 where a layout does not fit into\n"
    "the devices' memory, and 4 where files of --compare differ.",
    withPlanOptions(kOwnOptions, FieldUse::kPriced),
    "  tessera plan llama3-70b\n"
    "  tessera plan llama3-70b --cluster h100-sxm-ib \\\n"
    "      --ranks 512 --tp 8 --pp 4 --sp --zero 1 --seq 8192 --global-batch "
    "512\n"
    "  tessera plan llama3-8b --cluster h100-sxm-ib \\\n"
    "      --ranks 64 --seq 8192 --global-batch 128 --search --tp ..8 -o "
    "p.json\n"
    "  tessera plan --compare a.json b.json\n"
    "  tessera plan --calibrate all_reduce.txt --cluster c.json -o mine.json",
    Section::Execution,
    "more, which say how another framework runs a step: see docs/plan.md",
    /*choices=*/"",
    /*shared=*/"models"};

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// Exit status of --compare if the files differ.
constexpr int kDiffers = 4;

/// True if devices, a batch and a cluster are given, and no layout.
bool asksForLayout(const ParsedOptions &parsed) {
  return parsed.has("--ranks") && parsed.has("--global-batch") &&
         parsed.has("--cluster") && !hasLayout(parsed);
}

llvm::Expected<ExecutedPlan> readOnePlan(const ParsedOptions &parsed,
                                         const Subject &subject) {
  auto reader = PlanReader::make(parsed, subject);
  if (!reader)
    return reader.takeError();
  return reader->read();
}

/// Reads the options of a model with experts.
llvm::Error readExpertOptions(const ParsedOptions &parsed,
                              MoEOptions &options) {
  auto capacity = readNumber(parsed, "--capacity-factor");
  if (!capacity)
    return capacity.takeError();
  auto imbalance = readNumber(parsed, "--imbalance");
  if (!imbalance)
    return imbalance.takeError();
  StringRef graphs = parsed.get("--expert-graphs", "none");
  auto scope = parseGraphScope(graphs);
  if (!scope)
    return llvm::createStringError("--expert-graphs expects none, router or "
                                   "attention but got '" +
                                   graphs + "'");
  options.graphs = *scope;
  options.capacityFactor = *capacity;
  if (*imbalance > 0)
    options.imbalance = *imbalance;
  return llvm::Error::success();
}

llvm::Expected<Subject> readSubject(const ParsedOptions &parsed) {
  auto file = resolveShared("models", parsed.positional[0], "CONFIG.json");
  if (!file)
    return file.takeError();
  auto subject = Subject::readFile(*file, parsed.getList("--ignore-key"));
  if (!subject)
    return subject;
  if (subject->sparse) {
    if (llvm::Error error = readExpertOptions(parsed, subject->experts))
      return std::move(error);
    return subject;
  }
  for (StringRef option :
       {"--capacity-factor", "--imbalance", "--expert-graphs"})
    if (parsed.has(option))
      return llvm::createStringError(option +
                                     " expects a model with experts but got '" +
                                     *file + "', which has none");
  return subject;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// Writes the report as text, or the document of a section with the report's
/// fields as JSON.
template <typename ReportT>
llvm::Error
writeReport(const ParsedOptions &parsed, const ReportT &report,
            llvm::function_ref<llvm::Expected<DocumentSection>()> makeSection) {
  auto style = readPictureOption(parsed, parsed.get("-o"));
  if (!style)
    return style.takeError();
  if (!parsed.has("--json") && !parsed.has("--html") && !*style)
    return writeOutput(parsed.get("-o"),
                       [&](llvm::raw_ostream &os) { print(report, os); });
  auto section = makeSection();
  if (!section)
    return section.takeError();
  Document document{
      section->title, parsed.commandLine, {*section}, toJson(report)};
  if (llvm::Error error = writePageOption(parsed, document))
    return error;
  return writeOutput(parsed.get("-o"), [&](llvm::raw_ostream &os) {
    if (parsed.has("--json"))
      return document.print(os);
    print(report, os);
    if (*style)
      printPictures(*section, **style, os);
  });
}

/// Options that have a meaning without a plan.
constexpr StringRef kMinimumMemoryOptions[] = {
    "--cluster",        "--seq",        "--micro-batch",
    "--precision",      "--grad-dtype", "--optimizer",
    "--json",           "--html",       "--picture",
    "--f32-parameters", "--ignore-key", "-o"};

/// Fails if an option is given that needs a plan.
llvm::Error checkMinimumMemoryOptions(const ParsedOptions &parsed) {
  for (const OptionSpec &option : kCommand.options)
    if (parsed.has(option.name) &&
        !llvm::is_contained(kMinimumMemoryOptions, option.name))
      return llvm::createStringError(
          option.name + " expects a layout: at least one of --dp, --tp, --pp, "
                        "--cp or --plan, with --global-batch and --cluster");
  return llvm::Error::success();
}

llvm::Error runMinimumMemory(const ParsedOptions &parsed,
                             const Subject &subject) {
  if (llvm::Error error = checkMinimumMemoryOptions(parsed))
    return error;
  auto plan = readOnePlan(parsed, subject);
  if (!plan)
    return plan.takeError();
  double capacity = 80.0 * (int64_t(1) << 30);
  if (parsed.has("--cluster")) {
    auto cluster = readCluster(parsed.get("--cluster"));
    if (!cluster)
      return cluster.takeError();
    capacity = cluster->device.memoryBytes.value;
  }
  MinimumMemory minimum = makeMinimumMemory(subject, *plan, capacity);
  return writeReport(parsed, minimum,
                     [&] { return makeMinimumSection(minimum); });
}

/// Reads the schedule's list from the plan's file. The plan gets the list's
/// number of chunks if none is given.
llvm::Error readSchedule(Plan &plan, schedule::PipelinePricer &pricer) {
  if (plan.scheduleFile.empty())
    return llvm::Error::success();
  auto buffer = llvm::MemoryBuffer::getFile(plan.scheduleFile);
  if (!buffer)
    return llvm::createStringError("cannot read " + plan.scheduleFile + ": " +
                                   buffer.getError().message());
  auto list =
      schedule::readScheduleCsv((*buffer)->getBuffer(), plan.scheduleFile);
  if (!list)
    return list.takeError();
  if (plan.vpp == 1)
    plan.vpp = list->problem.chunks;
  pricer.addList(plan.scheduleFile, std::move(*list));
  return prefixError("--", makePipeline(plan, pricer).takeError());
}

/// Writes the plan's schedule to the file of --schedule-csv.
llvm::Error writeSchedule(const ParsedOptions &parsed, const ModelWork &work,
                          const ExecutedPlan &plan, const ClusterSpec &cluster,
                          schedule::PipelinePricer &pricer) {
  if (!parsed.has("--schedule-csv"))
    return llvm::Error::success();
  Machine machine(cluster, plan, plan.execution());
  auto list = makeSchedule(priceModel(work, machine), plan, machine, pricer);
  if (!list)
    return prefixError("--schedule-csv: ", list.takeError());
  std::string text;
  llvm::raw_string_ostream os(text);
  if (llvm::Error error =
          schedule::writeScheduleCsv(list->problem, list->schedule, os))
    return prefixError("--schedule-csv: ", std::move(error));
  return writeOutput(parsed.get("--schedule-csv"),
                     [&](llvm::raw_ostream &file) { file << text; });
}

/// Replaces `auto` with the fastest method of context parallelism.
llvm::Error chooseContext(PlanPricer &pricer, ExecutedPlan &plan) {
  if (pricer.getSubject().listContextPlans(plan).size() == 1)
    return llvm::Error::success();
  ExecutedPlan chosen;
  auto price = pricer.price(plan, &chosen);
  if (!price)
    return price.takeError();
  plan.cpMethod = chosen.cpMethod;
  return llvm::Error::success();
}

/// Prints the plans that fit with one option changed: their time relative to
/// the report's, and their memory.
void printRemedies(const Subject &subject, const ClusterSpec &cluster,
                   const PlanReport &report) {
  Table table;
  for (size_t column : {1, 2})
    table.alignLeft(column);
  for (const Neighbour &remedy : findRemedies(subject, cluster, report))
    table.addRow(
        {remedy.field, remedy.from, "-> " + remedy.to,
         differenceText(100 * (remedy.found.seconds / report.stepSeconds - 1),
                        1) +
             " %",
         llvm::formatv("{0:f1} GB", remedy.found.bytes / 1e9)});
  llvm::outs()
      << (table.isEmpty()
              ? "\nno plan with one option changed fits; see --search\n"
              : "\none option changed, and it fits\n");
  table.print(llvm::outs());
}

/// Prints the report; returns an exit status that says whether the plan fits.
llvm::Expected<int> runPlan(const ParsedOptions &parsed,
                            const Subject &subject) {
  auto plan = readOnePlan(parsed, subject);
  if (!plan)
    return plan.takeError();
  if (!parsed.has("--cluster"))
    return llvm::createStringError(
        "expects --cluster FILE, as share/clusters/*.json");
  auto cluster = readScaledCluster(parsed, parsed.get("--cluster"));
  if (!cluster)
    return cluster.takeError();
  PlanPricer pricer(subject, *cluster);
  schedule::PipelinePricer &pipelines = pricer.getPipelines();
  if (llvm::Error error = readSchedule(*plan, pipelines))
    return std::move(error);
  if (llvm::Error error = subject.check(*plan))
    return prefixError("--", takeFirst(std::move(error)));
  if (llvm::Error error = chooseContext(pricer, *plan))
    return std::move(error);
  auto question = readQuestion(parsed, subject.name());
  if (!question)
    return question.takeError();
  if (llvm::Error error =
          readObserved(parsed, subject, *plan, *cluster, *question))
    return std::move(error);
  auto work = subject.read(pricer.getReader(), *plan);
  if (!work)
    return work.takeError();
  auto report = makePlanReport(*work, *plan, plan->execution(), *cluster,
                               *question, pipelines);
  if (!report)
    return report.takeError();
  if (llvm::Error error =
          writeSchedule(parsed, *work, report->plan, *cluster, pipelines))
    return std::move(error);
  // Figures show the plan that was priced; the list that it wrote may not be
  // known by the name of its file.
  const ExecutedPlan priced = report->plan;
  if (parsed.has("--flags")) {
    if (llvm::Error error = writeMegatronFlags(priced, parsed.get("-o")))
      return std::move(error);
    return report->fits() ? 0 : kDoesNotFit;
  }
  // A compiler with its rough times would compute another list from times than
  // this one: the plan refers to the list in the file.
  if (parsed.has("--schedule-csv") && parsed.get("--schedule-csv") != "-" &&
      (report->plan.schedule == ScheduleKind::ZeroBubble1P ||
       report->plan.schedule == ScheduleKind::ZeroBubble2P))
    report->plan.scheduleFile = parsed.get("--schedule-csv").str();
  auto makeSection = [&] {
    PlanReport shown = *report;
    shown.plan = priced;
    return makePlanSection(
        shown, makeMinimumMemory(subject, shown.plan, shown.capacity), *work,
        *cluster, pipelines);
  };
  if (llvm::Error error = writeReport(parsed, *report, makeSection))
    return std::move(error);
  if (report->fits())
    return 0;
  if (!parsed.has("--json"))
    printRemedies(subject, *cluster, *report);
  return kDoesNotFit;
}

llvm::Error compareDecisionFiles(const ParsedOptions &parsed,
                                 const json::Object &a, const json::Object &b) {
  llvm::Error failure = llvm::Error::success();
  llvm::Error written =
      writeOutput(parsed.get("-o"), [&](llvm::raw_ostream &os) {
        failure =
            llvm::joinErrors(std::move(failure), compareDecisions(a, b, os));
      });
  return llvm::joinErrors(std::move(failure), std::move(written));
}

llvm::Error compareReports(const ParsedOptions &parsed, const json::Object &a,
                           const json::Object &b) {
  auto section = compare(a, b, parsed.positional[0], parsed.positional[1]);
  if (!section)
    return section.takeError();
  Document document{section->title, parsed.commandLine, {*section}, {}};
  auto style = readPictureOption(parsed, parsed.get("-o"));
  if (!style)
    return style.takeError();
  if (llvm::Error error = writePageOption(parsed, document))
    return error;
  return writeOutput(parsed.get("-o"), [&](llvm::raw_ostream &os) {
    if (parsed.has("--json"))
      return document.print(os);
    printComparison(*section, os);
    if (*style)
      printPictures(*section, **style, os);
  });
}

llvm::Expected<int> runCompare(const ParsedOptions &parsed) {
  if (parsed.positional.size() != 2)
    return llvm::createStringError("--compare expects two reports but got " +
                                   llvm::Twine(parsed.positional.size()));
  auto a = readJson(parsed.positional[0]);
  if (!a)
    return a.takeError();
  auto b = readJson(parsed.positional[1]);
  if (!b)
    return b.takeError();
  bool areDecisions = isDecisionFile(*a) || isDecisionFile(*b);
  for (StringRef option : {"--html", "--json"})
    if (areDecisions && parsed.has(option))
      return llvm::createStringError(
          option + " with --compare expects two reports of plans but got "
                   "decision files");
  llvm::Error error = areDecisions ? compareDecisionFiles(parsed, *a, *b)
                                   : compareReports(parsed, *a, *b);
  if (error)
    return std::move(error);
  for (json::Object *object : {&*a, &*b})
    eraseDocument(*object);
  return *a == *b ? 0 : kDiffers;
}

/// Writes the cluster with the constants that the measurements determine; lists
/// them on stderr.
llvm::Error runCalibrate(const ParsedOptions &parsed) {
  if (!parsed.positional.empty())
    return llvm::createStringError("--calibrate expects no config but got '" +
                                   parsed.positional[0] + "'");
  if (!parsed.has("--cluster"))
    return llvm::createStringError("--calibrate expects --cluster FILE");
  auto cluster = readCluster(parsed.get("--cluster"));
  if (!cluster)
    return cluster.takeError();
  StringRef path = parsed.get("--calibrate");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError("cannot read " + path + ": " +
                                   buffer.getError().message());
  auto measurements = parseMeasurements((*buffer)->getBuffer(), path);
  if (!measurements)
    return measurements.takeError();
  auto refinements =
      calibrate(*cluster, *measurements, llvm::sys::path::filename(path).str());
  if (!refinements)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(refinements.takeError()));
  print(*refinements, llvm::errs());
  return writeOutput(parsed.get("-o"), [&](llvm::raw_ostream &os) {
    os << llvm::formatv("{0:2}\n", toJson(*cluster));
  });
}

/// Runs the action that the options ask for; returns the exit status.
llvm::Expected<int> run(const ParsedOptions &parsed) {
  auto status = [](llvm::Error error) -> llvm::Expected<int> {
    if (error)
      return std::move(error);
    return 0;
  };
  if (parsed.has("--calibrate"))
    return status(runCalibrate(parsed));
  if (parsed.has("--compare"))
    return runCompare(parsed);
  if (parsed.positional.size() != 1)
    return llvm::createStringError("expects one CONFIG.json but got " +
                                   llvm::Twine(parsed.positional.size()) +
                                   "; see tessera plan --help");
  if (auto trainer = parsed.getChoice("--flags", "megatron"); !trainer)
    return trainer.takeError();
  for (StringRef other : {"--json", "--explore", "--html"})
    if (parsed.has("--flags") && parsed.has(other))
      return llvm::createStringError("expects --flags or " + other +
                                     " but got both");
  auto subject = readSubject(parsed);
  if (!subject)
    return subject.takeError();
  if (parsed.has("--search") && parsed.has("--explore"))
    return llvm::createStringError("expects --search or --explore but got "
                                   "both");
  if (parsed.has("--search") ||
      (asksForLayout(parsed) && !parsed.has("--explore")))
    return runPlanSearch(parsed, *subject);
  if (llvm::Error error = checkSearchOptions(parsed))
    return std::move(error);
  if (parsed.has("--explore"))
    return runPlanExplore(parsed, *subject);
  return hasLayout(parsed) ? runPlan(parsed, *subject)
                           : status(runMinimumMemory(parsed, *subject));
}

} // namespace

const CommandSpec &tessera::getPlanSpec() { return kCommand; }

int tessera::runPlan(Arguments arguments) {
  if (std::optional<int> status = showHelp(kCommand, arguments))
    return *status;
  llvm::Expected<ParsedOptions> parsed = parseOptions(kCommand, arguments);
  if (!parsed)
    return reportError(kCommand.name, parsed.takeError());
  llvm::Expected<int> status = run(*parsed);
  if (status)
    return *status;
  llvm::Error error = status.takeError();
  if (!error.isA<Reported>())
    return reportError(kCommand.name, std::move(error));
  llvm::consumeError(std::move(error));
  return 1;
}
