//===- Explain.cpp - Topics, their figures, and their text ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list of topics and what all of them share. A topic's own file computes
// its tables.
//
//===----------------------------------------------------------------------===//

#include "tessera/Explain/Explain.h"
#include "Explanation.h"
#include "tessera/Cost/PlanReport.h"
#include "tessera/Report/Choices.h"
#include "tessera/Support/Share.h"
#include "tessera/Support/Spelling.h"
#include <cmath>

using namespace tessera;
using namespace tessera::explain;
using llvm::formatv;
using llvm::StringRef;

llvm::ArrayRef<ExplainTopic> tessera::getExplainTopics() {
  static constexpr ExplainTopic topics[] = {
      {"memory", "what fills a device's memory", explainMemory},
      {"wall", "why one device is not enough", explainWall},
      {"collectives", "who holds what before and after nine collectives",
       explainCollectives},
      {"ring", "an all-reduce around a ring, step by step", explainRing},
      {"server", "bytes at a parameter server against a ring", explainServer},
      {"dp", "data parallelism: shards of a batch, one sum of gradients",
       explainDataParallel},
      {"accumulation", "micro-batches whose gradients are added",
       explainAccumulation},
      {"tp", "tensor parallelism: an MLP split by columns and rows",
       explainTensorParallel},
      {"pipeline", "stages, micro-batches and the bubble of each schedule",
       explainPipeline},
      {"zero", "state on a device under ZeRO 0 to 3", explainZero},
      {"fsdp", "ZeRO-3 layer by layer: gather, compute, drop", explainFSDP},
      {"offload", "state in host memory or on disk", explainOffload},
      {"grid", "devices as dp x tp x pp, and the link of each axis",
       explainGrid},
      {"roofline", "kernels and the step below three ceilings",
       explainRoofline},
      {"strategies", "what each strategy splits, and the least that fits",
       explainStrategies},
      {"precision", "formats of numbers, and bytes in each", explainPrecision},
      {"checkpointing", "activations that are kept or computed again",
       explainCheckpointing},
      {"batch", "steps and examples by the size of the batch", explainBatch},
      {"cost", "days and dollars of a run, beside reported runs", explainCost},
      {"calculator", "all of the above for one model", explainCalculator},
      {"terms", "30 words in a sentence each", explainTerms},
      {"exercises", "30 questions with computed answers", explainExercises},
  };
  return topics;
}

llvm::Expected<ExplainedModel> tessera::readExplainedModel(StringRef value) {
  auto path = resolveShared("models", value, "--model");
  if (!path)
    return path.takeError();
  auto subject = Subject::readFile(*path);
  if (!subject)
    return subject.takeError();
  ExplainedModel model;
  model.subject = std::move(*subject);
  model.name = model.subject.name();
  model.parameters = model.subject.parameters();
  // Six FLOPs for each parameter and token.
  model.active = model.subject.sparse ? model.subject.leastFlopsPerToken() / 6
                                      : model.parameters;
  model.layers = model.subject.layers();
  model.hidden = model.subject.hidden();
  return model;
}

llvm::Expected<DocumentSection>
tessera::explainTopic(StringRef name, const ExplainSizes &sizes) {
  llvm::SmallVector<StringRef> known;
  for (const ExplainTopic &topic : getExplainTopics()) {
    if (topic.name == name)
      return topic.make(sizes);
    known.push_back(topic.name);
  }
  return llvm::createStringError("unknown topic '" + name + "'" +
                                 didYouMean(name, known) +
                                 "; tessera explain lists all topics");
}

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

void ChoiceTable::add(const std::vector<Table::Cell> &values,
                      const Table &rows) {
  if (table.getColumns().empty()) {
    llvm::append_range(choices, rows.getColumns());
    table = Table(std::move(choices));
  }
  for (const auto &row : rows.getRows()) {
    std::vector<Table::Cell> cells = values;
    llvm::append_range(cells, row);
    table.addRow(std::move(cells));
  }
}

Explanation::Explanation(StringRef title, std::string verdict) {
  section.kind = "explain";
  section.title = title.str();
  section.findings.emplace_back("verdict", std::move(verdict));
  figures.alignLeft(1);
  figures.alignLeft(4);
}

void Explanation::add(ExplainFigure figure) {
  figures.addRow({figure.name, figure.kind, figure.chosen.size(),
                  figure.isLong ? "no" : "yes", figure.note});
  if (!figure.heading.empty())
    section.findings.emplace_back(figure.name, figure.heading);
  for (auto [i, value] : llvm::enumerate(figure.chosen))
    chosen.addRow({figure.name, figure.table.getColumns()[i].name, value});
  section.tables.emplace_back(figure.name, std::move(figure.table));
}

void Explanation::addTable(StringRef name, Table table) {
  if (!table.isEmpty())
    section.tables.emplace_back(name, std::move(table));
}

void Explanation::say(std::string text) { notes.addRow({std::move(text)}); }

DocumentSection Explanation::finish() && {
  section.tables.emplace_back("figures", std::move(figures));
  if (!chosen.isEmpty())
    section.tables.emplace_back("chosen", std::move(chosen));
  if (!notes.isEmpty())
    section.tables.emplace_back("notes", std::move(notes));
  return std::move(section);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

StringRef tessera::explain::findSentence(const DocumentSection &section,
                                         StringRef figure) {
  for (const auto &[name, text] : section.findings)
    if (name == figure)
      return text;
  return "";
}

/// The most rows of a table that the text has, and how many it has of others.
static constexpr size_t kMostRows = 40, kFirstRows = 12;

/// Prints a table, of many rows the first.
static void printRows(const Table &table, llvm::raw_ostream &os) {
  size_t all = table.getRows().size();
  if (all <= kMostRows)
    return table.print(os);
  Table first(table.getColumns().vec());
  for (const auto &row : table.getRows().take_front(kFirstRows))
    first.addRow(row);
  first.print(os);
  os << formatv("  the first {0} of {1} rows; --json and --html have all\n",
                kFirstRows, all);
}

void tessera::printExplanation(const DocumentSection &section,
                               llvm::raw_ostream &os) {
  os << plainText(findSentence(section, "verdict")) << "\n";
  for (const auto &figure : section.find("figures")->getRows()) {
    const std::string &name = figure[0].text;
    if (figure[3].text == "no")
      continue;
    StringRef heading = findSentence(section, name);
    os << "\n" << plainText(heading.empty() ? StringRef(name) : heading);
    const char *separator = "; ";
    for (const auto &[choice, value] : listChoices(section, name)) {
      os << separator << choice << " " << plainText(value);
      separator = ", ";
    }
    os << "\n";
    if (!figure[4].text.empty())
      os << plainText(figure[4].text) << "\n";
    printRows(chooseRows(section, name), os);
  }
  if (const Table *notes = section.find("notes"))
    for (const auto &row : notes->getRows())
      os << "\n" << plainText(row[0].text) << "\n";
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

llvm::Error tessera::explain::checkSize(StringRef topic, StringRef option,
                                        int64_t size, int64_t most) {
  if (size >= 1 && size <= most)
    return llvm::Error::success();
  return llvm::createStringError(
      option + " expects 1 to " + groupedText(double(most)) +
      ", which explain " + topic + " can show, but got " + llvm::Twine(size));
}

llvm::Error tessera::explain::checkColumns(const ExplainSizes &sizes) {
  if (sizes.model.hidden % sizes.plan.tp == 0)
    return llvm::Error::success();
  return llvm::createStringError(
      "--tp: expects a number that divides the hidden size " +
      llvm::Twine(sizes.model.hidden) + " but got " +
      llvm::Twine(sizes.plan.tp));
}

std::vector<int64_t> tessera::explain::listDoubles(int64_t first, int64_t most,
                                                   int64_t asked) {
  std::vector<int64_t> sizes{asked};
  for (int64_t size = first; size <= most; size *= 2)
    if (size != asked)
      sizes.push_back(size);
  llvm::sort(sizes);
  return sizes;
}

std::string tessera::explain::sizeText(double size) {
  int power = int(std::floor(std::log10(size)));
  // 9.96 is 1.0 of the next power.
  if (size / std::pow(10.0, power) >= 9.95)
    ++power;
  return formatv("{0:f1}e{1}", size / std::pow(10.0, power), power);
}

std::vector<std::pair<std::string, double>>
tessera::explain::listSizes(llvm::ArrayRef<double> offered, double asked) {
  std::vector<std::pair<std::string, double>> list{{sizeText(asked), asked}};
  for (double size : offered)
    if (std::string text = sizeText(size); text != list.front().first)
      list.emplace_back(std::move(text), size);
  llvm::sort(list, llvm::less_second());
  return list;
}

cost::StateBytes tessera::explain::stateOf(const ExplainSizes &sizes) {
  return cost::stateBytes(sizes.plan, sizes.plan.execution());
}

double tessera::explain::capacityOf(const ExplainSizes &sizes) {
  return sizes.cluster.device.memoryBytes.value;
}

double tessera::explain::peakOf(const ExplainSizes &sizes) {
  return cost::makeDeviceModel(sizes.cluster.device).peak(cost::DType::BF16);
}
