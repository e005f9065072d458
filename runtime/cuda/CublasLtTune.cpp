//===- CublasLtTune.cpp - Choosing between cuBLASLt's algorithms ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See CublasLt.h. Each matmul is timed on its own operands before these hold
// the program's numbers: they have random contents, and the results are
// overwritten later.
//
//===----------------------------------------------------------------------===//

#include "CublasLt.h"

#include <algorithm>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

std::string CublasLt::time(const MatmulCall &call, const MatmulPlan &plan,
                           double &seconds) {
  constexpr int repeats = 4;
  Event from, to;
  std::string error = device.createEvent(/*timed=*/true, from);
  if (error.empty())
    error = device.createEvent(/*timed=*/true, to);
  // The first run loads the kernel.
  if (error.empty())
    error = enqueue(tuneStream, call, plan);
  seconds = 0;
  for (int i = 0; i < repeats && error.empty(); ++i) {
    double once = 0;
    error = device.record(from, tuneStream);
    if (error.empty())
      error = enqueue(tuneStream, call, plan);
    if (error.empty())
      error = device.record(to, tuneStream);
    if (error.empty())
      error = device.synchronize(tuneStream);
    if (error.empty())
      error = device.elapsed(from, to, once);
    seconds = i == 0 ? once : std::min(seconds, once);
  }
  device.destroy(from);
  device.destroy(to);
  return error;
}

std::string CublasLt::chooseAlgo(const MatmulCall &call, MatmulPlan &plan,
                                 TuneEntry &entry) {
  std::vector<lt::Heuristic> candidates;
  std::string error =
      findCandidates(withoutRest(call, plan.split), plan, candidates);
  if (!error.empty())
    return error;
  auto take = [&](const lt::Heuristic &candidate) {
    plan.algo = candidate.algo;
    plan.workspaceBytes = int64_t(candidate.workspaceSize);
  };
  take(candidates.front());
  bool isTimed = options.mode != TuneOptions::Off && options.isFirst;
  bool hasTime = false;
  entry = {plan.algo, plan.workspaceBytes, int64_t(plan.split), 0, {}, {}};
  for (size_t i = 0; i < candidates.size() && isTimed; ++i) {
    if (i > 0 && monotonicSeconds() > deadline)
      break;
    take(candidates[i]);
    double seconds = 0;
    error = time(call, plan, seconds);
    // An algorithm that cannot run is skipped.
    if (!error.empty() || (hasTime && seconds >= entry.seconds))
      continue;
    hasTime = true;
    entry.algo = plan.algo;
    entry.workspaceBytes = plan.workspaceBytes;
    entry.seconds = seconds;
  }
  if (isTimed && !hasTime)
    return error;
  plan.algo = entry.algo;
  plan.workspaceBytes = entry.workspaceBytes;
  return std::string();
}

/// Returns the splits of a call that cuBLASLt's rules allow, the one with the
/// least work for the runtime's kernels first. An epilogue needs 16-byte
/// addresses and, for GELU's argument, rows of a multiple of 8 elements. The
/// library decides whether it has an algorithm for the types and sizes.
static std::vector<MatmulSplit> splitsOf(const MatmulCall &call) {
  if (call.fusion.kind == TESSERA_RT_FUSE_NONE)
    return {MatmulSplit::Whole};
  bool isKnown = call.desc.dtype != TESSERA_RT_F64 &&
                 (!call.aux ||
                  (call.fusion.aux_ld % 8 == 0 && alignmentOf(call.aux) >= 16));
  std::vector<MatmulSplit> splits;
  if (isKnown && (!call.bias || alignmentOf(call.bias) >= 16))
    splits.push_back(MatmulSplit::Whole);
  if (isKnown && call.fusion.kind == TESSERA_RT_FUSE_GELU_GRADIENT && call.bias)
    splits.push_back(MatmulSplit::SumsApart);
  splits.push_back(MatmulSplit::Apart);
  return splits;
}

std::string CublasLt::tryOnce(const MatmulCall &call, const MatmulPlan &plan) {
  std::string error = enqueue(tuneStream, call, plan);
  return error.empty() ? device.synchronize(tuneStream) : error;
}

std::string CublasLt::choose(const MatmulCall &call, MatmulPlan &plan,
                             TuneEntry &entry) {
  bool isTimed = options.mode != TuneOptions::Off && options.isFirst;
  bool isFound = false;
  TuneEntry best;
  double bySplit[3] = {};
  std::string error;
  for (MatmulSplit split : splitsOf(call)) {
    if (split < options.leastApart && call.fusion.kind != TESSERA_RT_FUSE_NONE)
      continue;
    if (isFound && (!isTimed || monotonicSeconds() > deadline))
      break;
    MatmulPlan made;
    made.split = split;
    TuneEntry candidate;
    error = makePlan(call, made);
    if (error.empty())
      error = chooseAlgo(call, made, candidate);
    // A call that is not timed is tried, as long as there is another split.
    if (error.empty() && !isTimed && split != MatmulSplit::Apart &&
        call.fusion.kind != TESSERA_RT_FUSE_NONE)
      error = tryOnce(call, made);
    bool isBetter =
        error.empty() && (!isFound || candidate.seconds < best.seconds);
    if (error.empty())
      bySplit[size_t(split)] = candidate.seconds;
    if (isBetter) {
      std::swap(plan, made);
      best = candidate;
      isFound = true;
    }
    destroyPlan(made);
  }
  if (!isFound)
    return error;
  entry = best;
  std::copy(bySplit, bySplit + 3, entry.bySplit);
  entry.what = call.describe();
  return std::string();
}

bool CublasLt::takeFromFile(const MatmulCall &call, MatmulPlan &plan) {
  auto found = file.entries.find(call.key());
  if (found == file.entries.end())
    return false;
  std::vector<MatmulSplit> splits = splitsOf(call);
  MatmulPlan made;
  made.split = MatmulSplit(found->second.split);
  bool isUsable =
      std::find(splits.begin(), splits.end(), made.split) != splits.end() &&
      makePlan(call, made).empty();
  lt::Heuristic result = {};
  if (isUsable)
    isUsable = api.check(handle, made.desc, made.a, made.b, made.c, made.c,
                         &found->second.algo, &result) == lt::Success &&
               result.state == lt::Success &&
               result.workspaceSize <= size_t(matmulWorkspaceBytes);
  if (isUsable) {
    made.algo = found->second.algo;
    made.workspaceBytes = int64_t(result.workspaceSize);
    std::swap(plan, made);
  }
  destroyPlan(made);
  return isUsable;
}

/// Times the matmuls that are not in the file, and writes it.
std::string CublasLt::tune(const std::vector<MatmulCall> &calls) {
  double begin = monotonicSeconds();
  deadline = begin + options.seconds;
  size_t timed = 0;
  for (const MatmulCall &call : calls) {
    MatmulPlan &plan = plans[call.key()];
    if (options.mode != TuneOptions::On && takeFromFile(call, plan))
      continue;
    TuneEntry entry;
    std::string error = choose(call, plan, entry);
    if (!error.empty())
      return error;
    file.entries[call.key()] = entry;
    ++timed;
  }
  if (timed == 0)
    return std::string();
  std::string refused =
      options.path.empty() ? "there is no path" : file.write(options.path);
  options.remark(
      format("%zu matmuls timed in %.1f s", timed, monotonicSeconds() - begin) +
      (refused.empty()
           ? ", kept in '" + options.path + "'"
           : "; they cannot be kept in '" + options.path + "': " + refused));
  return std::string();
}

/// Forgets what was read if it cannot be used, and returns the reason, or
/// nothing. `refused` is what reading said.
std::string CublasLt::checkFile(std::string refused) {
  if (refused.empty() && !(file.subject == subject))
    refused = "it is for " + file.subject.describe() + ", but this is " +
              subject.describe();
  if (!refused.empty())
    file = {subject, {}};
  return refused;
}

/// Makes the file's contents of the first rank those of all ranks. A rank with
/// another device or library does not use them.
std::string CublasLt::shareFile() {
  std::string text = options.isFirst ? file.text() : std::string();
  std::string error = options.share(text);
  if (error.empty() && !options.isFirst)
    checkFile(file.parse(text));
  return error;
}

/// Uses the choices of the first rank, or the library's own.
std::string CublasLt::takeChoices(const std::vector<MatmulCall> &calls) {
  for (const MatmulCall &call : calls) {
    MatmulPlan &plan = plans[call.key()];
    TuneEntry entry;
    if (options.mode != TuneOptions::Off && takeFromFile(call, plan))
      continue;
    std::string error = choose(call, plan, entry);
    if (!error.empty())
      return error;
  }
  return std::string();
}

/// Runs each matmul once. A kernel that is loaded at its first launch could
/// wait for a collective that waits for that launch.
std::string CublasLt::warmUp(const std::vector<MatmulCall> &calls) {
  for (const MatmulCall &call : calls) {
    std::string error = enqueue(tuneStream, call, plans[call.key()]);
    if (!error.empty())
      return error;
  }
  return device.synchronize(tuneStream);
}

std::string CublasLt::prepare(const std::vector<MatmulCall> &calls) {
  std::vector<MatmulCall> distinct;
  for (const MatmulCall &call : calls) {
    if (plans.emplace(call.key(), MatmulPlan()).second)
      distinct.push_back(call);
  }
  const DeviceProperties &facts = device.properties();
  subject = {api.library.versionNumber, facts.name, facts.multiprocessors,
             options.tf32};
  file.subject = subject;
  bool tunes = options.isFirst && options.mode != TuneOptions::Off;
  if (tunes && options.mode == TuneOptions::Cache) {
    std::string refused = checkFile(
        options.path.empty() ? tuneFileAbsent : file.read(options.path));
    if (!refused.empty() && refused != tuneFileAbsent)
      options.remark("the tune file '" + options.path +
                     "' is not used: " + refused);
  }
  void *workspace = nullptr;
  std::string error = workspaceOf(tuneStream, workspace);
  if (error.empty() && tunes)
    error = tune(distinct);
  if (error.empty() && options.share)
    error = shareFile();
  if (error.empty() && !tunes)
    error = takeChoices(distinct);
  return error.empty() ? warmUp(distinct) : error;
}
