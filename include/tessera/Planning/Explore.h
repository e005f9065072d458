//===- Explore.h - All layouts of a space, reported --------------*- C++
//-*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports each combination of the values of some options, for a page on which a
// reader changes them. Unlike a search, nothing is left out: an option without
// influence has all its values, and an invalid layout has its own error.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_EXPLORE_H
#define TESSERA_PLANNING_EXPLORE_H

#include "tessera/Cost/PlanReport.h"
#include "tessera/Planning/PlanPricer.h"
#include "tessera/Planning/PlanSpace.h"

namespace tessera {

/// The most layouts of a space.
inline constexpr int64_t kMostExplored = 20000;

/// An option of a space and its values as the option spells them.
struct ExploredOption {
  const cost::ExecutedPlanField *field = nullptr;
  std::vector<std::string> values;

  /// A value as an argument of a command line: "--tp 4", "--sp=on".
  std::string getArgument(llvm::StringRef value) const;
};

/// The combinations of the values of options; the last option changes first.
class ExploredSpace {
public:
  /// Fails if no option has several values, or if there are more than
  /// kMostExplored combinations.
  static llvm::Expected<ExploredSpace>
  make(std::vector<ExploredOption> options);

  llvm::ArrayRef<ExploredOption> getOptions() const { return options; }
  size_t size() const { return count; }
  /// The value of each option in a combination.
  llvm::SmallVector<llvm::StringRef> getValues(size_t index) const;
  /// "tp 8, sp on": a combination in words.
  std::string describe(size_t index) const;

private:
  std::vector<ExploredOption> options;
  size_t count = 0;
};

/// The figures of a valid layout.
struct ExploredLayout {
  /// The combination.
  size_t index = 0;
  int64_t dp = 1, microBatches = 1, globalBatch = 1, devices = 1;
  std::string contextMethod;
  bool fits = false;
  double fitProbability = 0;
  double seconds = 0, tokens = 0, tokensPerSecond = 0, mfu = 0;
  /// Days and dollars of the whole run; 0 if its tokens are not given.
  double days = 0, dollars = 0;
  /// The resource that most of the step waits for.
  std::string bottleneck;
  /// The memory of the fullest stage.
  size_t fullest = 0;
  llvm::SmallVector<double, 10> bytes;
  double totalBytes = 0;
  /// Seconds of the parts of Exploration::parts.
  std::vector<std::pair<size_t, double>> parts;

  double secondsPerToken() const { return seconds / tokens; }
};

/// The layouts of a space.
struct Exploration {
  ExploredSpace space;
  std::string model, cluster;
  double parameters = 0;
  /// Bytes of a device.
  double capacity = 0;
  /// Names of the cluster's levels and of the categories of memory.
  std::vector<std::string> links, categories;
  /// Parts of a step (listWaterfall()), without their seconds.
  std::vector<cost::Cause> parts;
  std::vector<ExploredLayout> layouts;
  /// The other combinations and their errors.
  std::vector<std::pair<size_t, std::string>> invalid;
  /// Index of the layout with the least time of a token of those that fit; of
  /// the one that needs the least memory if none fits.
  size_t best = 0;
};

/// Makes the plan of a combination from the values of the options, which is
/// complete. Threads call it at once.
using ExploredPlanMaker = llvm::function_ref<llvm::Expected<cost::ExecutedPlan>(
    llvm::ArrayRef<llvm::StringRef>)>;

/// Reports all layouts of a space, on so many threads; their number changes
/// nothing. Fails if no layout is valid; the error has the reason of the first.
llvm::Expected<Exploration> explore(ExploredSpace space, const Subject &subject,
                                    const ClusterSpec &cluster,
                                    const cost::PlanQuestion &question,
                                    ExploredPlanMaker makePlan,
                                    size_t numThreads = 1);

/// The section "explore" of a document. `command` is the command of a layout
/// without the options of the space.
DocumentSection makeExploreSection(const Exploration &exploration,
                                   llvm::StringRef command);

/// Prints how many layouts are valid and fit, and which one is best.
void print(const Exploration &exploration, llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_PLANNING_EXPLORE_H
