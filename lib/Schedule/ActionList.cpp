//===- ActionList.cpp - Lists of actions as text --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/ActionList.h"
#include "llvm/ADT/StringExtras.h"

using namespace tessera::schedule;
using llvm::StringRef;

/// Reads a prefix such as "0.3".
static bool consumeNumbers(StringRef &text, int &chunk, int &microBatch) {
  return !text.consumeInteger(10, chunk) && chunk >= 0 &&
         text.consume_front(".") && !text.consumeInteger(10, microBatch) &&
         microBatch >= 0;
}

/// Parses "F0.3", or "F0.3|BW1.2".
static bool parseAction(StringRef text, Action &action) {
  // Longer names first: "BW" starts with "B".
  static constexpr std::pair<StringRef, ActionKind> kNames[] = {
      {"BW", ActionKind::Backward},
      {"F", ActionKind::Forward},
      {"B", ActionKind::InputGrad},
      {"W", ActionKind::WeightGrad},
      {"sA", ActionKind::SendActivation},
      {"sG", ActionKind::SendGradient},
      {"rA", ActionKind::ReceiveActivation},
      {"rG", ActionKind::ReceiveGradient}};
  const auto *name = llvm::find_if(kNames, [&](const auto &entry) {
    return text.consume_front(entry.first);
  });
  if (name == std::end(kNames) ||
      !consumeNumbers(text, action.chunk, action.microBatch))
    return false;
  action.kind = name->second;
  if (text.empty())
    return true;
  if (action.kind != ActionKind::Forward || !text.consume_front("|BW"))
    return false;
  action.kind = ActionKind::Overlapped;
  return consumeNumbers(text, action.backwardChunk,
                        action.backwardMicroBatch) &&
         text.empty();
}

llvm::Expected<std::vector<Action>>
tessera::schedule::parseActions(StringRef text) {
  llvm::SmallVector<StringRef> words;
  text.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::vector<Action> actions(words.size());
  for (auto [word, action] : llvm::zip_equal(words, actions))
    if (!parseAction(word, action))
      return llvm::createStringError(
          "expects actions such as F0.3, BW0.3, sA0.3 or F0.3|BW1.2 but got '" +
          word + "'");
  return actions;
}

std::string tessera::schedule::printActions(llvm::ArrayRef<Action> actions) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(actions, os, " ");
  return text;
}

StageRanks tessera::schedule::getStageRanks(const ScheduleProblem &problem) {
  StageRanks paths(problem.numPaths());
  for (auto [i, path] : llvm::enumerate(paths)) {
    int first = static_cast<int>(i) * problem.microBatchesOf();
    for (int stage = 0; stage < problem.stages(); ++stage)
      path.push_back(problem.slotOf(stage, first).rank);
  }
  return paths;
}

llvm::Expected<ScheduleProblem>
tessera::schedule::findProblem(const StageRanks &paths, int64_t microBatches) {
  auto count = static_cast<int>(microBatches);
  if (paths.size() == 1) {
    std::vector<int> ranks(paths.front().begin(), paths.front().end());
    return ScheduleProblem::make(ranks, count);
  }
  llvm::Expected<ScheduleProblem> problem = ScheduleProblem::make(
      Placement::Bidirectional, static_cast<int>(paths.front().size()),
      /*chunks=*/2, count);
  if (!problem || getStageRanks(*problem) == paths)
    return problem;
  return llvm::createStringError(
      "expects one path, or one down the pp ranks and one up");
}
