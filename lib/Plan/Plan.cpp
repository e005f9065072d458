//===- Plan.cpp - How a model is trained on a cluster ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derived values of a plan, and the checks of a plan against itself and against
// a model.
//
//===----------------------------------------------------------------------===//

#include "tessera/Plan/Plan.h"
#include "tessera/Plan/PlanFields.h"
#include "tessera/Support/Errors.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

using namespace llvm;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// The largest divisor of `number` below `size`; 0 if there is none.
static int64_t divisorBelow(int64_t number, int64_t size) {
  int64_t best = 0;
  for (int64_t low = 1; low * low <= number; ++low)
    if (number % low == 0)
      for (int64_t divisor : {low, number / low})
        if (divisor < size)
          best = std::max(best, divisor);
  return best;
}

/// Advises which axis to change to fit the devices, or how many to take. dp
/// takes what the others leave. Of the others, the one that changes least is
/// made smaller, tp and cp by an integer factor, since heads and sequences
/// divide so.
static std::string adviseAxes(const Layout &l, int64_t gpus) {
  struct Axis {
    const char *name;
    int64_t size;
    bool divides;
  };
  const Axis axes[] = {
      {"tp", l.tp, true}, {"pp", l.pp, false}, {"cp", l.cp, true}};
  double others = double(l.tp) * l.pp * l.cp;
  bool enough = others <= double(gpus);
  if (enough && gpus % int64_t(others) == 0)
    return formatv("change dp to {0}", gpus / int64_t(others));
  const char *axis = nullptr;
  int64_t to = 0, dp = 0;
  double kept = 0;
  for (const auto &[name, size, divides] : axes) {
    double rest = others / size;
    if (rest > double(gpus) || gpus % int64_t(rest) != 0)
      continue;
    int64_t left = gpus / int64_t(rest);
    int64_t divisor = divisorBelow(divides ? std::gcd(left, size) : left, size);
    if (divisor <= kept * size)
      continue;
    axis = name;
    to = divisor;
    dp = left / divisor;
    kept = double(divisor) / size;
  }
  if (axis && dp == l.dp)
    return formatv("change {0} to {1}", axis, to);
  if (axis)
    return formatv("change {0} to {1} and dp to {2}", axis, to, dp);
  if (!enough)
    return formatv("make tp, pp or cp smaller: together they are {0:F0}",
                   others);
  int64_t fits = gpus / int64_t(others);
  std::string change;
  if (fits != l.dp)
    change = formatv("dp to {0} and ", fits);
  return formatv(
      "change {0}ranks to {1}, or tp, pp and cp to divisors of ranks", change,
      fits * int64_t(others));
}

Error Layout::checkDevices(int64_t devices) const {
  double product = double(dp) * tp * pp * cp;
  if (product == double(devices))
    return Error::success();
  return createStringError(
      formatv("ranks: expects dp x tp x pp x cp = {0} x {1} x {2} x {3} = "
              "{4:F0} but got {5}; {6}",
              dp, tp, pp, cp, product, devices, adviseAxes(*this, devices)));
}

Error Layout::setGlobalBatch(int64_t sequences) {
  microBatches = std::max<int64_t>(sequences / (dp * microBatch), 1);
  if (sequences == globalBatch())
    return Error::success();
  return createStringError(
      formatv("global-batch: expects a multiple of dp x micro-batch = {0} x "
              "{1} but got {2}",
              dp, microBatch, sequences));
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// The most devices, and the most sequences of a step.
static constexpr double kMostOfAll = std::numeric_limits<int32_t>::max();

/// Checks that experts go over whole axes from the inside out, and over a part
/// of the last one.
static void checkExperts(Error &errors, const Layout &l) {
  if (l.ep % (l.etp ? 1 : l.tp)) {
    addError(errors, formatv("ep: expects a multiple of tp = {0} with etp off "
                             "but got {1}",
                             l.tp, l.ep));
    return;
  }
  int64_t inner = std::gcd(l.expertRanks(), l.cp);
  int64_t outer = l.expertRanks() / inner;
  if (l.dp % outer == 0 && (outer == 1 || inner == l.cp))
    return;
  std::string tp = l.etp || l.tp == 1 ? "" : formatv(" x tp = {0}", l.tp).str();
  if (l.cp == 1)
    addError(errors, formatv("ep: expects a divisor of dp = {0}{1} but got {2}",
                             l.dp, tp, l.ep));
  else
    addError(errors, formatv("ep: expects a number of innermost devices of dp "
                             "= {0} x cp = {1}{2} but got {3}",
                             l.dp, l.cp, tp, l.ep));
}

static void checkAxes(Error &errors, const Plan &l) {
  checkExperts(errors, l);
  int64_t shards = l.dp * l.cp;
  if (l.shardRanks && shards % l.shardRanks)
    addError(
        errors,
        formatv("shard-ranks: expects a divisor of dp x cp = {0} but got {1}",
                shards, l.shardRanks));
  if (l.recompute == Recompute::Auto)
    addError(errors, "recompute: expects none, selective, full or matmuls for "
                     "a price but got auto");
  if (l.weightBytes && !hasNarrowMatmuls(l.precision))
    addError(errors,
             formatv("weight-bytes: expects 0 with precision {0}, whose "
                     "matmuls are not below 16 bits, but got {1}",
                     stringify(l.precision), l.weightBytes));
  int64_t shared = l.cpMethod.headDevices;
  if (shared && l.cp % shared)
    addError(errors, formatv("cp-method: expects a divisor of cp = {0} after "
                             "all_to_all but got {1}",
                             l.cp, shared));
  int64_t parts = l.cp * (l.sp ? l.tp : 1);
  if (l.seq % parts)
    addError(errors, formatv("seq: expects a multiple of cp{0} = {1} but got "
                             "{2}",
                             l.sp ? " x tp" : "", parts, l.seq));
  if (l.documentTokens > l.seq)
    addError(errors, formatv("document-tokens: expects at most seq = {0} but "
                             "got {1}",
                             l.seq, l.documentTokens));
}

static void checkStageLayers(Error &errors, const Layout &l) {
  if (!l.stageLayers.empty() && int64_t(l.stageLayers.size()) != l.chunks())
    addError(errors,
             formatv("stage-layers: expects time, even or {0} numbers, one for "
                     "each chunk of a stage, but got {1}",
                     l.chunks(), l.stageLayers.size()));
}

static void checkSchedule(Error &errors, const Layout &l) {
  bool interleaved = l.schedule == ScheduleKind::Interleaved;
  if (!l.scheduleFile.empty()) {
    checkStageLayers(errors, l);
    return;
  }
  if (l.vpp > 1 && !interleaved)
    addError(errors, formatv("vpp: expects 1 with schedule {0} but got {1}",
                             stringify(l.schedule), l.vpp));
  if (interleaved && l.pp == 1 && l.vpp > 1)
    addError(errors,
             formatv("vpp: expects 1 with one stage but got {0}", l.vpp));
  if (l.schedule == ScheduleKind::DualPipe &&
      (l.pp % 2 || l.microBatches % 2 || l.microBatches < 2 * l.pp))
    addError(errors, formatv("schedule: dualpipe expects an even pp and an "
                             "even number of at least 2 pp micro-batches but "
                             "got pp = {0} and {1} micro-batches",
                             l.pp, l.microBatches));
  if (l.isVee() && l.pp > 1 && l.microBatches < 2 * l.pp)
    addError(errors, formatv("schedule: {0} expects at least 2 pp = {1} "
                             "micro-batches but got {2}",
                             stringify(l.schedule), 2 * l.pp, l.microBatches));
  checkStageLayers(errors, l);
}

/// Checks products that might overflow.
static void checkProducts(Error &errors, const Layout &l) {
  double devices = double(l.dp) * l.tp * l.pp * l.cp;
  if (devices > kMostOfAll)
    addError(errors, formatv("ranks: expects at most {0:F0} but got dp x tp x "
                             "pp x cp = {1:F0}",
                             kMostOfAll, devices));
  double sequences = double(l.dp) * l.microBatch * l.microBatches;
  if (sequences > kMostOfAll)
    addError(errors, formatv("global-batch: expects at most {0:F0} but got dp "
                             "x micro-batch x micro-batches = {1:F0}",
                             kMostOfAll, sequences));
}

Error Plan::checkFields() const {
  Error errors = Error::success();
  for (const PlanField &field : getFields<Plan>())
    if (!field.isInRange(*this))
      addError(errors, (field.name + ": expects " + field.getForm() +
                        " but got " + field.print(*this)));
  if (errors)
    return errors;
  checkProducts(errors, *this);
  if (lrSchedule == LearningRateKind::Cosine && totalSteps <= warmup)
    addError(errors, formatv("total-steps: expects more than warmup = {0} with "
                             "cosine but got {1}",
                             warmup, totalSteps));
  return errors;
}

Error Plan::check() const {
  Error errors = checkFields();
  if (errors)
    return errors;
  checkAxes(errors, *this);
  if (!errors)
    checkSchedule(errors, *this);
  return errors;
}

//===----------------------------------------------------------------------===//
// What follows
//===----------------------------------------------------------------------===//

int64_t Layout::chunks() const {
  if (pp == 1)
    return 1;
  return pp * (isVee() ? 2 : vpp);
}

bool Layout::isVee() const {
  return schedule == ScheduleKind::ZeroBubbleV ||
         schedule == ScheduleKind::DualPipeV;
}

bool Layout::hasRounds() const {
  return pp > 1 && vpp > 1 && schedule == ScheduleKind::Interleaved;
}

int64_t Layout::scatters() const {
  switch (scatter) {
  case Scatter::Each:
    return microBatches;
  case Scatter::Round:
    return hasRounds() ? std::max<int64_t>(1, microBatches / pp) : 1;
  case Scatter::Last:
    return 1;
  }
  return 1;
}

Error Layout::checkModel(int64_t heads, int64_t kvHeads, int64_t ffn,
                         int64_t layers, bool padsHeads,
                         bool hasLatents) const {
  Error errors = Error::success();
  auto divides = [&](const char *what, int64_t size) {
    if (size % tp)
      addError(errors, formatv("tp: expects a divisor of the {0} {1} but got "
                               "{2}",
                               size, what, tp));
  };
  divides("heads", heads);
  divides("columns of the MLP", ffn);
  // More ranks than groups of heads share each group evenly.
  if (!padsHeads && kvHeads % tp && tp % kvHeads)
    addError(errors, formatv("tp: expects a divisor or a multiple of the {0} "
                             "KV heads but got {1}",
                             kvHeads, tp));
  if (cpMethod.kind == ContextMethod::AllToAll) {
    int64_t shared = cpMethod.headDevices ? cpMethod.headDevices : cp;
    if (shared > 1 && shared > std::max<int64_t>(heads / tp, 1))
      addError(errors, formatv("cp-method: expects at most the {0} query heads "
                               "of a device of tp but got {1} devices that "
                               "share them",
                               heads / tp, shared));
  }
  if (cp > 1 && cpMethod.kind == ContextMethod::Latent && !hasLatents)
    addError(errors, "cp-method: expects a model whose keys and values are "
                     "computed from latents but got latent for one without");
  // The embedding and the head may be separate chunks.
  if (pp > 1 && layers + 2 < chunks())
    addError(errors, formatv("pp: expects chunks of stages of at most the {0} "
                             "layers, embedding and head but got {1} x {2}",
                             layers, pp, chunks() / pp));
  double given = std::accumulate(stageLayers.begin(), stageLayers.end(), 0.0);
  if (!stageLayers.empty() && given != double(layers))
    addError(errors,
             formatv("stage-layers: expects a sum of {0} but got {1}{2}",
                     layers, int64_t(given),
                     given == double(int64_t(given)) ? "" : ".5"));
  return errors;
}

std::string Plan::summary() const {
  std::string text = formatv("dp{0} tp{1} pp{2}", dp, tp, pp);
  auto addSize = [&](const char *name, int64_t value, int64_t none) {
    if (value != none)
      text += formatv(" {0}{1}", name, value);
  };
  addSize("cp", cp, 1);
  addSize("ep", ep, 1);
  if (!etp && ep > 1 && tp > 1)
    text += " etp=off";
  addSize("vpp", vpp, 1);
  addSize("mb", microBatch, 0);
  addSize("zero", zero, 0);
  if (zero == 2 && scatter != Scatter::Each)
    text += (" zero2-reduce=" + stringify(scatter)).str();
  if (sp)
    text += " sp";
  if (recompute != Recompute::None)
    text += " recompute=" + findField<Plan>("recompute")->print(*this);
  return text;
}
