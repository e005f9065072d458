//===- PipelinePricer.h - Pipelines priced in microseconds ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices pipelines fast enough for a search with a million questions. Small
// pipelines are simulated, large ones are extrapolated from smaller ones: once
// a schedule has reached its steady state, its time grows by the same amount
// with each micro-batch (or round of them), and with each rank of a pipeline
// whose inner ranks are alike. So the time is linear in both numbers, and a few
// small simulations give its coefficients.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SCHEDULE_PIPELINEPRICER_H
#define TESSERA_SCHEDULE_PIPELINEPRICER_H

#include "tessera/Schedule/Generators.h"
#include "tessera/Schedule/ScheduleCsv.h"
#include <map>
#include <tuple>

namespace tessera::schedule {

/// A pipeline to price.
struct Pipeline {
  /// The result of makeProblem() for the kind, or the list's problem.
  ScheduleProblem problem;
  ScheduleKind kind = ScheduleKind::OneFOneB;
  /// Replaces the kind's schedule; null: none.
  const Schedule *list = nullptr;

  /// True if forwards of one chunk overlap with backwards of another.
  bool overlapsPairs() const;
};

/// Caches schedules; not thread-safe. The answer to a question does not depend
/// on earlier questions.
class PipelinePricer {
public:
  /// Limit on the actions of all simulations for one question; 0: always
  /// simulates the whole schedule.
  explicit PipelinePricer(size_t maxSteps = 20000) : maxSteps(maxSteps) {}

  /// Registers a schedule under a name that plans use; verify() must accept it.
  void addList(llvm::StringRef name, ListedSchedule list);
  /// The schedule of this name; null if there is none.
  const ListedSchedule *findList(llvm::StringRef name) const;

  /// The problem that makeProblem() gives; caches its ranks and chunks for
  /// other numbers of micro-batches. Fails where makeProblem() fails.
  llvm::Expected<ScheduleProblem> getProblem(ScheduleKind kind, int ranks,
                                             int chunks, int microBatches);

  /// Seconds of a step.
  CompiledSchedule::Ends price(const Pipeline &pipeline,
                               const PipelineTimes &times);
  /// The same for a problem from makeProblem(). `keptForWeightGrad` as in
  /// AutoOptions.
  CompiledSchedule::Ends price(ScheduleKind kind,
                               const ScheduleProblem &problem,
                               const PipelineTimes &times,
                               double keptForWeightGrad = 1.0);

  /// The schedule whose time price() returns.
  Schedule getSchedule(const Pipeline &pipeline,
                       const PipelineTimes &times) const;

  /// For each rank and chunk, the micro-batches alive when the rank has the
  /// most activations. `keptForWeightGrad` is the share of them that lives on
  /// from B to W: 0 counts micro-batches between F and B. For the automatic
  /// schedules, the number that their limit allows.
  const std::vector<std::vector<double>> &
  liveAtPeak(ScheduleKind kind, const ScheduleProblem &problem,
             double keptForWeightGrad = 1.0);

  /// For each rank, the most boundaries that it holds at once: received, posted
  /// or in transit (see HeldBlock). With many ranks the inner ones count as in
  /// a pipeline of four.
  std::vector<int64_t> boundariesAtPeak(const Pipeline &pipeline);

private:
  const std::vector<int64_t> &boundariesAtPeak(ScheduleKind kind,
                                               const ScheduleProblem &problem);
  CompiledSchedule::Ends priceScaled(ScheduleKind kind,
                                     const ScheduleProblem &problem,
                                     const PipelineTimes &times, double kept);
  CompiledSchedule::Ends priceRounds(const ScheduleProblem &problem,
                                     const PipelineTimes &times);
  bool canScale(ScheduleKind kind, const ScheduleProblem &problem,
                const PipelineTimes &times) const;
  /// The same problem with other numbers of ranks and micro-batches.
  ScheduleProblem withSizes(ScheduleKind kind, const ScheduleProblem &problem,
                            int ranks, int microBatches);
  using Key = std::vector<int>;
  /// Kind, ranks, chunks and micro-batches.
  using Sizes = std::tuple<ScheduleKind, int, int, int>;
  CompiledSchedule::Ends simulate(ScheduleKind kind,
                                  const ScheduleProblem &problem,
                                  const PipelineTimes &times, double kept);
  const CompiledSchedule &compiled(ScheduleKind kind,
                                   const ScheduleProblem &problem,
                                   const PipelineTimes &times, double kept);

  size_t maxSteps;
  std::map<std::string, ListedSchedule, std::less<>> lists;
  std::map<std::tuple<ScheduleKind, int, int>, ScheduleProblem> problems;
  std::map<Sizes, CompiledSchedule> schedules;
  /// Automatic schedules, by their sizes and the times that they are made for.
  std::map<std::pair<Sizes, Key>, CompiledSchedule> automatic;
  std::map<std::pair<Sizes, int>, std::vector<std::vector<double>>> live;
  std::map<Sizes, std::vector<int64_t>> boundaries;
};

} // namespace tessera::schedule

#endif // TESSERA_SCHEDULE_PIPELINEPRICER_H
