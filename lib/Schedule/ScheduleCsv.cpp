//===- ScheduleCsv.cpp - Pipeline schedules as CSV ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reader repeats checks of verify(), so that each message names a cell.
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/ScheduleCsv.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <map>
#include <tuple>

using namespace tessera;
using namespace tessera::schedule;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static constexpr StringRef kPair = "OVERLAP_F_B";

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Text such as "0F4".
static std::string cellText(const ScheduleProblem &problem, Slot slot,
                            ActionKind kind, int microBatch) {
  StringRef letter = kind == ActionKind::Forward      ? "F"
                     : kind == ActionKind::InputGrad  ? "I"
                     : kind == ActionKind::WeightGrad ? "W"
                                                      : "B";
  return (Twine(problem.stageOf(slot)) + letter + Twine(microBatch)).str();
}

/// The cell text of a compute action.
static std::string cellText(const ScheduleProblem &problem, int rank,
                            const Action &action) {
  if (action.kind != ActionKind::Overlapped)
    return cellText(problem, {rank, action.chunk}, action.kind,
                    action.microBatch);
  return "(" +
         cellText(problem, {rank, action.chunk}, ActionKind::Forward,
                  action.microBatch) +
         ";" +
         cellText(problem, {rank, action.backwardChunk}, ActionKind::Backward,
                  action.backwardMicroBatch) +
         ")" + kPair.str();
}

Error tessera::schedule::writeScheduleCsv(const ScheduleProblem &problem,
                                          const Schedule &schedule,
                                          llvm::raw_ostream &os) {
  if (problem.numPaths() > 1)
    return createStringError(
        "expects each stage on one rank, as CSV has no names for a second copy "
        "of the model, but got " +
        Twine(problem.numPaths()) + " copies");
  for (auto [rank, actions] : llvm::enumerate(schedule.ranks)) {
    llvm::ListSeparator comma(",");
    for (const Action &action : actions)
      if (!isTransfer(action.kind))
        os << comma << cellText(problem, rank, action);
    os << '\n';
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

/// Position of a cell, from 0.
struct Cell {
  int line = 0, column = 0;
  bool operator<(const Cell &o) const {
    return std::tie(line, column) < std::tie(o.line, o.column);
  }
  std::string str() const {
    return "line " + std::to_string(line + 1) + ", cell " +
           std::to_string(column + 1);
  }
};

/// A task such as "0F4", or one of a pair.
struct CellTask {
  ActionKind kind = ActionKind::Forward;
  int stage = 0, microBatch = 0;
};

/// The content of a cell: nothing, a task, or a pair.
struct CellAction {
  Cell cell;
  llvm::SmallVector<CellTask, 2> tasks;
};

class CsvReader {
public:
  CsvReader(StringRef text, StringRef name, bool mayBeForward)
      : text(text), name(name), mayBeForward(mayBeForward) {}

  Expected<ListedSchedule> read();

private:
  /// F, I or W of a stage and micro-batch: B is I and W.
  using Part = std::tuple<int, int, ActionKind>;

  Error error(const Twine &message) const {
    return createStringError(name + ": " + message);
  }
  Error errorAt(Cell cell, const Twine &message) const {
    return error(cell.str() + ": " + message);
  }
  Error parse();
  Error parseCell(Cell cell, StringRef cellText);
  Error parseTask(Cell cell, StringRef taskText, CellAction &action);
  /// Records the parts of a task; fails if one was recorded before.
  Error addTask(const CellTask &task, Cell cell);
  Error addPart(const Part &part, Cell cell);
  Error checkMissing();
  Error describeMissing(const Part &missing) const;
  Error checkOrder();
  ListedSchedule makeSchedule(ScheduleProblem problem) const;
  Error checkDeadlock(const ListedSchedule &listed) const;

  StringRef text, name;
  bool mayBeForward;
  /// The cells of each line.
  std::vector<std::vector<CellAction>> lines;
  /// The first cell of each stage, and the cell of each part.
  std::map<int, Cell> stages;
  std::map<Part, Cell> parts;
  int microBatches = 0;
};

std::string partText(int stage, ActionKind kind, int microBatch) {
  StringRef letter = kind == ActionKind::Forward     ? "F"
                     : kind == ActionKind::InputGrad ? "I"
                                                     : "W";
  return (Twine(stage) + letter + Twine(microBatch)).str();
}

Error CsvReader::addPart(const Part &part, Cell cell) {
  auto [it, isNew] = parts.try_emplace(part, cell);
  if (isNew)
    return Error::success();
  auto [stage, microBatch, kind] = part;
  return errorAt(cell, "expects " + partText(stage, kind, microBatch) +
                           " once but got it at " + it->second.str() + " too");
}

Error CsvReader::addTask(const CellTask &task, Cell cell) {
  auto [first, isNew] = stages.try_emplace(task.stage, cell);
  if (first->second.line != cell.line)
    return errorAt(cell, "expects stage " + Twine(task.stage) +
                             " on one rank but got it at " +
                             first->second.str() + " too");
  microBatches = std::max(microBatches, task.microBatch + 1);
  if (task.kind != ActionKind::Backward)
    return addPart({task.stage, task.microBatch, task.kind}, cell);
  if (Error failure =
          addPart({task.stage, task.microBatch, ActionKind::InputGrad}, cell))
    return failure;
  return addPart({task.stage, task.microBatch, ActionKind::WeightGrad}, cell);
}

/// Adds the task unless it is skipped.
Error CsvReader::parseTask(Cell cell, StringRef taskText, CellAction &action) {
  StringRef rest = taskText;
  CellTask task;
  bool hasStage = !rest.consumeInteger(10, task.stage) && task.stage >= 0;
  StringRef word =
      rest.take_while([](char c) { return llvm::isAlpha(c) || c == '_'; });
  rest = rest.drop_front(word.size());
  bool hasMicroBatch = !rest.consumeInteger(10, task.microBatch) &&
                       task.microBatch >= 0 && rest.empty();
  if (hasStage &&
      llvm::is_contained({"UNSHARD", "RESHARD", "REDUCE_GRAD"}, word))
    return Error::success();
  if (hasStage &&
      llvm::is_contained({"SEND_F", "RECV_F", "SEND_B", "RECV_B"}, word))
    return errorAt(cell, "expects a list without sends and receives, which "
                         "follow from it, but got '" +
                             taskText + "'");
  auto kind = llvm::StringSwitch<std::optional<ActionKind>>(word)
                  .Case("F", ActionKind::Forward)
                  .Case("I", ActionKind::InputGrad)
                  .Case("W", ActionKind::WeightGrad)
                  .Case("B", ActionKind::Backward)
                  .Default(std::nullopt);
  constexpr int kMost = 1 << 20;
  if (!hasStage || !hasMicroBatch || !kind || task.stage >= kMost ||
      task.microBatch >= kMost)
    return errorAt(cell, "expects an action such as 0F4, 1I2, 1W2, 2B3 or "
                         "(0F4;3B1)OVERLAP_F_B but got '" +
                             taskText + "'");
  task.kind = *kind;
  action.tasks.push_back(task);
  return addTask(task, cell);
}

Error CsvReader::parseCell(Cell cell, StringRef cellText) {
  cellText = cellText.trim();
  if (cellText.empty())
    return Error::success();
  CellAction action{cell, {}};
  StringRef inner = cellText;
  if (inner.consume_front("(") && inner.consume_back(kPair) &&
      inner.consume_back(")")) {
    auto [forward, backward] = inner.split(';');
    for (StringRef task : {forward, backward})
      if (Error failure = parseTask(cell, task.trim(), action))
        return failure;
    if (action.tasks.size() != 2 ||
        action.tasks[0].kind != ActionKind::Forward ||
        action.tasks[1].kind != ActionKind::Backward)
      return errorAt(cell, "expects a forward and a whole backward, as "
                           "(0F4;3B1)OVERLAP_F_B, but got '" +
                               cellText + "'");
  } else if (Error failure = parseTask(cell, cellText, action)) {
    return failure;
  }
  if (!action.tasks.empty())
    lines.back().push_back(std::move(action));
  return Error::success();
}

Error CsvReader::parse() {
  llvm::SmallVector<StringRef> rows;
  text.rtrim().split(rows, '\n');
  for (auto [line, row] : llvm::enumerate(rows)) {
    lines.emplace_back();
    llvm::SmallVector<StringRef> cells;
    row.split(cells, ',');
    for (auto [column, cellText] : llvm::enumerate(cells))
      if (Error failure = parseCell({int(line), int(column)}, cellText))
        return failure;
  }
  if (stages.empty())
    return error("expects one line of actions per rank but got none");
  return Error::success();
}

Error CsvReader::checkMissing() {
  for (auto [line, actions] : llvm::enumerate(lines))
    if (actions.empty())
      return error("line " + Twine(line + 1) +
                   ": expects the actions of a rank but got none");
  llvm::SmallVector<ActionKind, 3> needed{ActionKind::Forward};
  bool isForward = llvm::all_of(parts, [](const auto &part) {
    return std::get<ActionKind>(part.first) == ActionKind::Forward;
  });
  if (!mayBeForward || !isForward)
    needed.append({ActionKind::InputGrad, ActionKind::WeightGrad});
  for (int stage = 0; stage <= stages.rbegin()->first; ++stage) {
    auto found = stages.find(stage);
    if (found == stages.end())
      return error("expects the stages 0 to " + Twine(stages.rbegin()->first) +
                   " but got none of stage " + Twine(stage));
    for (int m = 0; m < microBatches; ++m)
      for (ActionKind kind : needed)
        if (!parts.count({stage, m, kind}))
          return describeMissing({stage, m, kind});
  }
  return Error::success();
}

/// An error that names a missing part, or the actions that are mistakes if
/// other micro-batches have more than twice as many.
Error CsvReader::describeMissing(const Part &missing) const {
  auto [stage, microBatch, kind] = missing;
  // Parts in file order: of this micro-batch, and of later ones.
  const std::pair<const Part, Cell> *own = nullptr, *later = nullptr;
  std::vector<size_t> counts(microBatches);
  for (const auto &entry : parts) {
    int other = std::get<1>(entry.first);
    ++counts[other];
    auto &first = other == microBatch ? own : later;
    if (other >= microBatch && (!first || entry.second < first->second))
      first = &entry;
  }
  auto textOf = [](const Part &part) {
    return partText(std::get<0>(part), std::get<2>(part), std::get<1>(part));
  };
  if (!own)
    return errorAt(later->second,
                   "expects micro-batches that follow each other but got " +
                       textOf(later->first) + " and none of micro-batch " +
                       Twine(microBatch));
  if (2 * counts[microBatch] < *llvm::max_element(counts))
    return errorAt(own->second, "expects all actions of micro-batch " +
                                    Twine(microBatch) + " but got " +
                                    textOf(own->first) + " without " +
                                    textOf(missing));
  return error("line " + Twine(stages.at(stage).line + 1) + ": expects " +
               textOf(missing) + " of the micro-batches 0 to " +
               Twine(microBatches - 1) + " but it is missing");
}

/// Checks that in each line, F comes before I, and W not before I.
Error CsvReader::checkOrder() {
  for (const auto &[part, cell] : parts) {
    auto [stage, microBatch, kind] = part;
    if (kind == ActionKind::Forward)
      continue;
    bool isInput = kind == ActionKind::InputGrad;
    ActionKind earlier = isInput ? ActionKind::Forward : ActionKind::InputGrad;
    Cell needed = parts.at({stage, microBatch, earlier});
    if (isInput ? needed < cell : !(cell < needed))
      continue;
    return errorAt(cell, "expects " + partText(stage, kind, microBatch) +
                             " after " + partText(stage, earlier, microBatch) +
                             ", which is at " + needed.str());
  }
  return Error::success();
}

ListedSchedule CsvReader::makeSchedule(ScheduleProblem problem) const {
  Schedule schedule;
  for (const std::vector<CellAction> &cells : lines) {
    std::vector<Action> &actions = schedule.ranks.emplace_back();
    for (const CellAction &cell : cells) {
      const CellTask &first = cell.tasks.front();
      Action action{first.kind,
                    problem.slotOf(first.stage, first.microBatch).chunk,
                    first.microBatch};
      if (cell.tasks.size() == 2) {
        const CellTask &second = cell.tasks.back();
        action.kind = ActionKind::Overlapped;
        action.backwardChunk =
            problem.slotOf(second.stage, second.microBatch).chunk;
        action.backwardMicroBatch = second.microBatch;
      }
      actions.push_back(action);
    }
  }
  return {std::move(problem), std::move(schedule)};
}

Error CsvReader::checkDeadlock(const ListedSchedule &listed) const {
  std::string waiting;
  std::vector<size_t> stops =
      findStops(listed.problem, listed.schedule, SendMode::Blocking);
  for (auto [rank, stop] : llvm::enumerate(stops))
    if (stop < lines[rank].size())
      waiting +=
          (waiting.empty() ? "" : "; ") + lines[rank][stop].cell.str() + ": " +
          cellText(listed.problem, rank, listed.schedule.ranks[rank][stop]);
  if (waiting.empty())
    return Error::success();
  return error("deadlock: each of these waits for another: " + waiting);
}

Expected<ListedSchedule> CsvReader::read() {
  if (Error failure = parse())
    return std::move(failure);
  if (Error failure = checkMissing())
    return std::move(failure);
  if (Error failure = checkOrder())
    return std::move(failure);
  std::vector<int> rankOfStage;
  for (const auto &[stage, cell] : stages)
    rankOfStage.push_back(cell.line);
  Expected<ScheduleProblem> problem =
      ScheduleProblem::make(rankOfStage, microBatches);
  if (!problem)
    return error(llvm::toString(problem.takeError()));
  ListedSchedule listed = makeSchedule(std::move(*problem));
  if (Error failure = checkDeadlock(listed))
    return std::move(failure);
  return listed;
}

} // namespace

Expected<ListedSchedule> tessera::schedule::readScheduleCsv(StringRef text,
                                                            StringRef name,
                                                            bool mayBeForward) {
  return CsvReader(text, name, mayBeForward).read();
}
