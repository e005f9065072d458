//===- main.cpp - Scores the cost model on published runs -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads every table of a folder, prices each row with the compiled models, and
// prints the errors by source.
//
//===----------------------------------------------------------------------===//

#include "CollectiveRows.h"
#include "Csv.h"
#include "Evaluate.h"
#include "LeaveOut.h"
#include "PipelineRows.h"
#include "Scores.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <set>

using namespace llvm;
using namespace tessera;
using namespace tessera::validate;

static cl::OptionCategory category("validate_cost");
static cl::list<std::string> folders(cl::Positional, cl::OneOrMore,
                                     cl::desc("FOLDER or FILE.csv ..."),
                                     cl::cat(category));
static cl::opt<bool> asJson("json", cl::desc("print JSON"), cl::cat(category));
static cl::opt<std::string>
    clusterFolder("clusters", cl::desc("folder of the cluster presets"),
                  cl::init(TESSERA_CLUSTERS), cl::cat(category));
static cl::opt<bool> verbose("rows", cl::desc("also print each used row"),
                             cl::cat(category));
static cl::list<std::string>
    constants("set", cl::desc("DEVICE:NAME=VALUE: try another constant"),
              cl::cat(category));
static cl::opt<bool> leaveOut(
    "leave-one-out",
    cl::desc("fit the constants on all groups but one, score that one; for "
             "each group"),
    cl::cat(category));
static cl::opt<bool>
    fitAll("fit",
           cl::desc("fit the constants on all groups, print them as --set "
                    "takes them, and the error of each group with them"),
           cl::cat(category));
static cl::opt<bool>
    markdown("markdown",
             cl::desc("with --leave-one-out: tables of Markdown, which is the "
                      "default"),
             cl::cat(category));
static cl::opt<bool>
    pairs("pairs", cl::desc("compare the layouts of left-out sweeps in pairs"),
          cl::cat(category));
static cl::opt<std::string>
    beforeFile("before",
               cl::desc("with --leave-one-out: what --json printed "
                        "earlier, for a column of it"),
               cl::cat(category));
static cl::opt<bool>
    repeat("repeat",
           cl::desc("read lines of DEVICE:NAME=VALUE ... from the "
                    "input, print the samples for each"),
           cl::Hidden, cl::cat(category));

namespace {

struct NamedScore {
  std::string name;
  SourceScore score;
  /// Lines that --rows prints.
  std::vector<std::string> lines;
};

/// Scores the tables of plans, as a whole and in the parts that differ in kind.
class PlanScorer {
public:
  PlanScorer(const Table &table, Evaluator &evaluator)
      : table(table), evaluator(evaluator) {}

  std::vector<NamedScore> run() {
    std::vector<RowResult> rows;
    for (size_t i = 0; i < table.rows.size(); ++i)
      rows.push_back(readRow(table, i));
    weighGroups(rows);
    bubbles = scoreBubbles(table);
    parts.push_back({table.name, {}, {}});
    for (const RowResult &row : rows)
      score(row);
    // A part that equals the whole is not repeated.
    if (parts.size() == 2)
      parts.pop_back();
    return std::move(parts);
  }

private:
  /// Counts the composed rows of each group, which count once together.
  void weighGroups(const std::vector<RowResult> &rows) {
    for (const RowResult &row : rows)
      if (row.skipped.empty() && row.row.composed)
        ++groupSizes[row.row.group];
  }

  std::string partOf(const PlanRow &row) const {
    if (row.composed)
      return "/composed";
    if (row.sparse)
      return "/experts";
    switch (row.metric) {
    case Metric::LayerForward:
    case Metric::LayerBackward:
      return "/layers";
    case Metric::StepTime:
      return "/steps";
    default:
      return "";
    }
  }

  void score(const RowResult &result) {
    const PlanRow &row = result.row;
    std::string part = partOf(row);
    std::vector<NamedScore *> scores = {&parts[0]};
    if (!part.empty() && result.skipped.empty())
      scores.push_back(&find(table.name + part));
    scores[0] = &parts[0];
    Sample sample;
    std::string skipped = result.skipped;
    bool isBubble =
        row.metric == Metric::BubbleRate || row.metric == Metric::Profile;
    bool complete = result.complete || isBubble;
    double capacity = 0;
    std::string detail;
    if (isBubble) {
      auto found = bubbles.find(row.index);
      skipped = found == bubbles.end() ? "bubble without a profile" : "";
      if (skipped.empty()) {
        sample = found->second;
      }
    } else if (skipped.empty()) {
      Expected<Prediction> prediction = evaluator.predict(row);
      if (!prediction) {
        skipped = "cannot express: " + toString(prediction.takeError());
      } else {
        sample.measured = row.measured;
        sample.predicted = prediction->value;
        sample.modelFlops = prediction->modelFlops;
        sample.devices = row.devices;
        capacity = prediction->capacity;
        detail = prediction->detail;
        if (row.composed)
          sample.weight = 1.0 / groupSizes[row.group];
        else if (row.metric == Metric::StepTime) {
          sample.sweep = row.sweep;
          sample.layout = row.layout;
        }
      }
    }
    for (NamedScore *named : scores) {
      SourceScore &s = named->score;
      ++s.rows;
      s.complete += complete;
      if (!skipped.empty()) {
        ++s.skipped[skipped];
        continue;
      }
      ++s.used;
      s.usedComplete += complete;
      add(s, row, sample, capacity);
      named->lines.push_back(describe(row, sample, capacity, detail));
    }
  }

  void add(SourceScore &s, const PlanRow &row, const Sample &sample,
           double capacity) {
    switch (row.metric) {
    case Metric::StepTime:
    case Metric::LayerForward:
    case Metric::LayerBackward:
      s.times.push_back(sample);
      return;
    case Metric::PeakMemory:
      s.memory.push_back(sample);
      return;
    case Metric::OutOfMemory: {
      ++s.oomRows;
      bool predicted = sample.predicted > capacity;
      s.oomRight += predicted == (sample.measured > 0);
      s.oomMissed += !predicted && sample.measured > 0;
      return;
    }
    case Metric::BubbleRate:
      s.bubbles.push_back(sample);
      return;
    case Metric::Profile:
      return;
    }
  }

  std::string describe(const PlanRow &row, const Sample &sample,
                       double capacity, const std::string &detail) {
    std::string text;
    raw_string_ostream os(text);
    os << row.model.name << " seq " << row.plan.seq << " gpus " << row.devices
       << " " << row.plan.summary() << " gb " << row.globalBatch << " "
       << stringify(row.plan.schedule) << " " << stringify(row.plan.precision)
       << ": ";
    if (row.metric == Metric::OutOfMemory) {
      os << (sample.measured > 0 ? "failed" : "ran") << ", predicted "
         << format("%.4g", sample.predicted) << " of "
         << format("%.4g", capacity) << detail;
      return text;
    }
    os << "measured " << format("%.4g", sample.measured) << " predicted "
       << format("%.4g", sample.predicted) << " "
       << format("%+.1f %%", 100 * sample.error()) << detail;
    return text;
  }

  NamedScore &find(const std::string &name) {
    for (NamedScore &part : parts)
      if (part.name == name)
        return part;
    parts.push_back({name, {}, {}});
    return parts.back();
  }

  const Table &table;
  Evaluator &evaluator;
  std::map<std::string, int64_t> groupSizes;
  std::map<size_t, Sample> bubbles;
  std::vector<NamedScore> parts;
};

} // namespace

static std::vector<NamedScore> scoreTables(ArrayRef<Table> tables,
                                           Evaluator &evaluator) {
  std::vector<NamedScore> all;
  for (const Table &table : tables) {
    if (isCollectiveTable(table)) {
      NamedScore named{table.name, {}, {}};
      scoreCollectives(table, evaluator, named.score);
      all.push_back(std::move(named));
    } else if (table.has("metric_name")) {
      for (NamedScore &named : PlanScorer(table, evaluator).run())
        all.push_back(std::move(named));
    } else {
      // Data sheets, traces: there is nothing to predict.
      NamedScore named{table.name, {}, {}};
      named.score.rows = table.rows.size();
      if (named.score.rows)
        named.score.skipped["no plan and no collective"] = named.score.rows;
      all.push_back(std::move(named));
    }
  }
  return all;
}

static void printPercent(std::optional<double> value) {
  if (value)
    outs() << format("%8.1f", *value * 100);
  else
    outs() << "       -";
}

static void printText(ArrayRef<NamedScore> scores) {
  outs() << "errors in percent\n";
  outs() << left_justify("source", 38)
         << "  rows compl  used    time  median    bias    null  spearm  regret"
            "     mem  median   under   coll  oom\n";
  for (const NamedScore &named : scores) {
    const SourceScore &s = named.score;
    outs() << left_justify(named.name, 38)
           << format("%6lld%6lld%6lld", (long long)s.rows,
                     (long long)s.complete, (long long)s.used);
    printPercent(meanError(s.times));
    printPercent(medianError(s.times));
    printPercent(bias(s.times));
    printPercent(nullError(s.times, s.times));
    printPercent(spearman(s.times));
    printPercent(regret(s.times));
    printPercent(meanError(s.memory));
    printPercent(medianError(s.memory));
    std::optional<double> under;
    for (const Sample &sample : s.memory)
      under = std::max(under.value_or(0), -sample.error());
    printPercent(under);
    printPercent(meanError(s.largeCollectives));
    if (s.oomRows)
      outs() << "  " << s.oomRight << "/" << s.oomRows;
    outs() << "\n";
    if (verbose)
      for (const std::string &line : named.lines)
        outs() << "    " << line << "\n";
  }
  outs() << "\nskipped\n";
  for (const NamedScore &named : scores)
    for (const auto &[why, count] : named.score.skipped)
      outs() << "  " << left_justify(named.name, 36)
             << format("%6lld  ", (long long)count) << why << "\n";
}

static void printJson(ArrayRef<NamedScore> scores) {
  json::Object sources;
  for (const NamedScore &named : scores)
    sources[named.name] = named.score.toJson();
  outs() << formatv("{0:2}",
                    json::Value(json::Object{{"sources", std::move(sources)}}))
         << "\n";
}

/// Parses and sets "A100:memory_rate=0.8".
static bool setConstant(Evaluator &evaluator, StringRef text) {
  auto [device, rest] = text.split(':');
  auto [name, value] = rest.split('=');
  std::optional<double> parsed = number(value);
  if (!parsed)
    return false;
  evaluator.setConstant(device.str(), name.str(), *parsed);
  return true;
}

/// Prints one line of samples for each line of constants, for fits.
static void runRepeatedly(ArrayRef<Table> tables, Evaluator &evaluator) {
  std::string line;
  for (int c; (c = getchar()) != EOF;) {
    if (c != '\n') {
      line += char(c);
      continue;
    }
    SmallVector<StringRef> words;
    StringRef(line).split(words, ' ', -1, false);
    for (StringRef word : words)
      setConstant(evaluator, word);
    json::Object result;
    for (const NamedScore &named : scoreTables(tables, evaluator)) {
      json::Array samples;
      for (const Sample &s : named.score.times)
        samples.push_back(json::Array{s.measured, s.predicted, s.weight});
      result[named.name] = std::move(samples);
    }
    outs() << json::Value(std::move(result)) << "\n";
    outs().flush();
    line.clear();
  }
}

/// Errors of groups, in percent, from an output of --json.
static Expected<std::map<std::string, double>> readBefore() {
  std::map<std::string, double> errors;
  if (beforeFile.empty())
    return errors;
  auto buffer = MemoryBuffer::getFile(beforeFile);
  if (!buffer)
    return createStringError(beforeFile + ": " + buffer.getError().message());
  Expected<json::Value> value = json::parse((*buffer)->getBuffer());
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  const json::Object *groups = object ? object->getObject("left_out") : nullptr;
  if (!groups)
    return createStringError(beforeFile +
                             ": expects what --leave-one-out --json prints");
  for (const auto &[name, group] : *groups)
    if (const json::Object *fields = group.getAsObject())
      if (auto error = fields->getNumber("time_mape"))
        errors[name.str()] = 100 * *error;
  return errors;
}

static void printLeftOutJson(ArrayRef<Group> groups,
                             ArrayRef<std::vector<LeftOutRow>> leftOut,
                             const FitValues &fitted) {
  json::Object scores, constants;
  for (auto [group, rows] : zip_equal(groups, leftOut)) {
    SourceScore score;
    json::Array list;
    for (const LeftOutRow &left : rows) {
      score.times.push_back(left.sample);
      list.push_back(json::Object{{"measured", left.sample.measured},
                                  {"predicted", left.sample.predicted},
                                  {"weight", left.sample.weight},
                                  {"plan", left.row.plan.summary()},
                                  {"model", left.row.model.name},
                                  {"seq", left.row.plan.seq},
                                  {"devices", left.row.devices},
                                  {"global_batch", left.row.globalBatch},
                                  {"new_device", left.novelty.device},
                                  {"new_framework", left.novelty.framework},
                                  {"new_precision", left.novelty.precision}});
    }
    json::Object object = score.toJson();
    object["samples"] = std::move(list);
    scores[group.name] = std::move(object);
  }
  for (auto [parameter, value] : zip_equal(fitParameters(), fitted))
    constants[parameter.device + ":" + parameter.name] = value;
  outs() << formatv("{0:2}", json::Value(json::Object{
                                 {"left_out", std::move(scores)},
                                 {"constants", std::move(constants)}}))
         << "\n";
}

/// Prints constants, one per line, then errors in percent.
static int runFit(ArrayRef<Table> tables, Evaluator &evaluator) {
  std::vector<Group> groups = readGroups(tables, evaluator);
  FitValues fitted;
  auto priced = fitOnAll(groups, evaluator, fitted);
  for (auto [parameter, value] : zip_equal(fitParameters(), fitted))
    outs() << parameter.device << ":" << parameter.name << "="
           << format("%.4g", value) << "\n";
  for (auto [group, rows] : zip_equal(groups, priced)) {
    Samples samples;
    for (const LeftOutRow &row : rows)
      samples.push_back(row.sample);
    outs() << left_justify(group.name, 42);
    printPercent(meanError(samples));
    printPercent(medianError(samples));
    printPercent(bias(samples));
    outs() << "\n";
  }
  return 0;
}

/// Returns the exit status.
static int runLeaveOneOut(ArrayRef<Table> tables, Evaluator &evaluator) {
  auto before = readBefore();
  if (!before) {
    errs() << "validate_cost: --before: " << toString(before.takeError())
           << "\n";
    return 1;
  }
  std::vector<Group> groups = readGroups(tables, evaluator);
  FitValues fitted;
  auto leftOut = leaveOneOut(groups, evaluator, fitted);
  if (asJson && !markdown) {
    printLeftOutJson(groups, leftOut, fitted);
    return 0;
  }
  if (leaveOut)
    printMarkdown(groups, leftOut, *before, outs());
  if (leaveOut && pairs)
    outs() << "\n";
  if (pairs)
    printPairs(leftOut, outs());
  return 0;
}

/// The tables of a folder in the order of their names, or the one table; none
/// if there is none.
static std::vector<std::string> listTables(const std::string &path) {
  auto isTable = [](StringRef name) {
    return sys::path::extension(name) == ".csv";
  };
  if (isTable(path) && sys::fs::is_regular_file(path))
    return {path};
  std::set<std::string> tables;
  std::error_code error;
  for (sys::fs::directory_iterator it(path, error), end; it != end && !error;
       it.increment(error))
    if (isTable(it->path()))
      tables.insert(it->path());
  if (error)
    return {};
  return {tables.begin(), tables.end()};
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Prices the rows of every table in each FOLDER with the cost and memory "
      "models\nand prints how far they are off, by source.\n");

  std::vector<std::string> paths;
  for (const std::string &folder : folders) {
    std::vector<std::string> found = listTables(folder);
    if (found.empty()) {
      errs() << "validate_cost: expects a folder with .csv files, or one of "
                "them, but got '"
             << folder << "'\n";
      return 1;
    }
    append_range(paths, found);
  }
  std::vector<Table> tables;
  for (const std::string &path : paths) {
    Expected<Table> table = readTable(path);
    if (!table) {
      errs() << "validate_cost: " << toString(table.takeError()) << "\n";
      return 1;
    }
    tables.push_back(std::move(*table));
  }
  Evaluator evaluator(clusterFolder);
  for (const std::string &text : constants)
    if (!setConstant(evaluator, text)) {
      errs() << "validate_cost: --set: expects DEVICE:NAME=VALUE but got '"
             << text << "'\n";
      return 1;
    }
  if (leaveOut || pairs)
    return runLeaveOneOut(tables, evaluator);
  if (fitAll)
    return runFit(tables, evaluator);
  if (repeat) {
    runRepeatedly(tables, evaluator);
    return 0;
  }
  std::vector<NamedScore> scores = scoreTables(tables, evaluator);
  if (asJson)
    printJson(scores);
  else
    printText(scores);
  return 0;
}
