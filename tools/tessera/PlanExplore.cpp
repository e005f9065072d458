//===- PlanExplore.cpp - tessera plan --explore ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options and files around the layouts of lib/Planning.
//
//===----------------------------------------------------------------------===//

#include "PlanExplore.h"
#include "PlanOptions.h"
#include "PlanReader.h"
#include "PlanSearch.h"
#include "tessera/Planning/Explore.h"
#include "tessera/Planning/PlanSection.h"
#include "tessera/Support/Errors.h"
#include <thread>

using namespace tessera;
using llvm::StringRef;

namespace {

/// The fewest layouts for which a thread pays.
constexpr size_t kLayoutsOfThread = 1000;

llvm::Error checkOptions(const ParsedOptions &parsed) {
  for (StringRef other : {"--schedule-csv", "--observed"})
    if (parsed.has(other))
      return llvm::createStringError("expects --explore or " + other +
                                     " but got both");
  if (!parsed.has("--cluster"))
    return llvm::createStringError("expects --cluster with --explore");
  if (!hasLayout(parsed))
    return llvm::createStringError(
        "--explore expects a layout: at least one of --dp, --tp, --pp, --cp or "
        "--plan");
  return llvm::Error::success();
}

/// The devices of a layout: those of --ranks, or all of the cluster.
int64_t mostDevices(llvm::ArrayRef<FieldText> fields,
                    const ClusterSpec &cluster) {
  for (const auto &[field, text] : fields) {
    if (field->name != "ranks")
      continue;
    if (auto choice = FieldChoice::parse(*field, text))
      return std::min(choice->getEnds().second, cluster.numDevices());
    else
      llvm::consumeError(choice.takeError());
  }
  return cluster.numDevices();
}

/// The options with several values, in the order in which they are given.
llvm::Expected<std::vector<ExploredOption>>
listOptions(const ParsedOptions &parsed, llvm::ArrayRef<FieldText> fields,
            const ClusterSpec &cluster) {
  int64_t devices = mostDevices(fields, cluster);
  std::vector<ExploredOption> options;
  for (StringRef name : parsed.given) {
    auto *field = llvm::find_if(fields, [&](const FieldText &each) {
      return each.first->getOption() == name;
    });
    if (field == fields.end())
      continue;
    auto choice = FieldChoice::parse(*field->first, field->second);
    if (!choice)
      return prefixError("--", choice.takeError());
    auto values = choice->listTexts(devices);
    if (!values)
      return prefixError("--", values.takeError());
    for (const cost::ExecutedPlan &plan : choice->listValues({}))
      if (!plan.scheduleFile.empty())
        return llvm::createStringError(name +
                                       " expects names of schedules "
                                       "with --explore but got '" +
                                       field->second + "'");
    if (values->size() > 1)
      options.push_back({field->first, std::move(*values)});
  }
  return options;
}

/// Makes the plan of a combination, with the errors that `tessera plan` has.
llvm::Expected<cost::ExecutedPlan>
makePlan(const PlanReader &reader, const Subject &subject,
         llvm::ArrayRef<ExploredOption> options,
         llvm::ArrayRef<StringRef> values) {
  std::vector<FieldText> others;
  for (auto [option, value] : llvm::zip(options, values))
    others.emplace_back(option.field, value.str());
  auto plan = reader.read(others);
  if (plan)
    if (llvm::Error error = subject.check(*plan))
      return prefixError("--", takeFirst(std::move(error)));
  return plan;
}

/// The section of the layout that is best to begin with, and its report.
struct ShownPlan {
  cost::PlanReport report;
  DocumentSection section;
};

llvm::Expected<ShownPlan> showPlan(const cost::ExecutedPlan &plan,
                                   PlanPricer &pricer,
                                   const cost::PlanQuestion &question,
                                   const std::string &layout) {
  auto report = pricer.report(plan, question);
  if (!report)
    return report.takeError();
  const Subject &subject = pricer.getSubject();
  auto work = subject.read(pricer.getReader(), report->plan);
  if (!work)
    return work.takeError();
  auto section = makePlanSection(
      *report, makeMinimumMemory(subject, report->plan, report->capacity),
      *work, pricer.getCluster(), pricer.getPipelines());
  if (!section)
    return section.takeError();
  section->findings.emplace_back("layout", "Of the layout " + layout);
  return ShownPlan{std::move(*report), std::move(*section)};
}

llvm::Error writeExploration(const ParsedOptions &parsed,
                             const Exploration &exploration,
                             const ShownPlan &shown) {
  auto style = readPictureOption(parsed, parsed.get("-o"));
  if (!style)
    return style.takeError();
  llvm::SmallVector<StringRef> without{"--explore"};
  std::deque<std::string> names;
  for (const ExploredOption &option : exploration.space.getOptions())
    without.push_back(names.emplace_back(option.field->getOption()));
  Document document;
  if (parsed.has("--json") || parsed.has("--html")) {
    document.title = exploration.model;
    document.command = parsed.commandLine;
    document.sections.push_back(
        makeExploreSection(exploration, parsed.getCommandLine(without)));
    document.sections.push_back(shown.section);
    document.fields = toJson(shown.report);
  }
  if (llvm::Error error = writePageOption(parsed, document))
    return error;
  return writeOutput(parsed.get("-o"), [&](llvm::raw_ostream &os) {
    if (parsed.has("--json"))
      return document.print(os);
    print(exploration, os);
    print(shown.report, os);
    if (*style)
      printPictures(shown.section, **style, os);
  });
}

} // namespace

llvm::Expected<int> tessera::runPlanExplore(const ParsedOptions &parsed,
                                            const Subject &subject) {
  if (llvm::Error error = checkOptions(parsed))
    return std::move(error);
  auto cluster = readScaledCluster(parsed, parsed.get("--cluster"));
  if (!cluster)
    return cluster.takeError();
  auto reader = PlanReader::make(parsed, subject);
  if (!reader)
    return reader.takeError();
  auto options = listOptions(parsed, reader->getFields(), *cluster);
  if (!options)
    return options.takeError();
  auto space = ExploredSpace::make(std::move(*options));
  if (!space)
    return space.takeError();
  auto question = readQuestion(parsed, subject.name());
  if (!question)
    return question.takeError();
  const std::vector<ExploredOption> varied = space->getOptions().vec();
  auto makeOne = [&](llvm::ArrayRef<StringRef> values) {
    return makePlan(*reader, subject, varied, values);
  };
  // Each thread reads layers of its own: few layouts need one.
  size_t threads = std::min<size_t>(std::thread::hardware_concurrency(),
                                    space->size() / kLayoutsOfThread);
  auto exploration = explore(std::move(*space), subject, *cluster, *question,
                             makeOne, threads);
  if (!exploration)
    return exploration.takeError();
  const ExploredLayout &best = exploration->layouts[exploration->best];
  PlanPricer pricer(subject, *cluster);
  auto shown = showPlan(
      llvm::cantFail(makeOne(exploration->space.getValues(best.index))), pricer,
      *question, exploration->space.describe(best.index));
  if (!shown)
    return shown.takeError();
  if (llvm::Error error = writeExploration(parsed, *exploration, *shown))
    return std::move(error);
  return best.fits ? 0 : kDoesNotFit;
}
