//===- PlanFields.cpp - The fields of a plan ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of fields, and the JSON, messages and checks built from it. Options
// and the attribute are built where those are known.
//
//===----------------------------------------------------------------------===//

#include "tessera/Plan/PlanFields.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Errors.h"
#include "tessera/Support/Spelling.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace tessera;
using Field = PlanField;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace tessera {
template <> ArrayRef<StringRef> getNames<Recompute>() {
  static constexpr StringRef names[] = {"none", "selective", "full", "matmuls",
                                        "auto"};
  return names;
}
template <> ArrayRef<StringRef> getNames<Scatter>() {
  static constexpr StringRef names[] = {"each", "round", "last"};
  return names;
}
template <> ArrayRef<StringRef> getNames<Precision>() {
  static constexpr StringRef names[] = {"f32",       "bf16",        "f16",
                                        "fp8",       "fp8-current", "fp8-row",
                                        "fp8-block", "mxfp8",       "nvfp4"};
  return names;
}
template <> ArrayRef<StringRef> getNames<GradDType>() {
  static constexpr StringRef names[] = {"f32", "bf16", "bf16+f32"};
  return names;
}
template <> ArrayRef<StringRef> getNames<OptimizerKind>() {
  static constexpr StringRef names[] = {"adamw", "adamw-no-master",
                                        "adamw-8bit", "sgd"};
  return names;
}
template <> ArrayRef<StringRef> getNames<Offload>() {
  static constexpr StringRef names[] = {"none", "host", "nvme"};
  return names;
}
template <> ArrayRef<StringRef> getNames<AttentionKind>() {
  static constexpr StringRef names[] = {"flash", "naive", "flash2", "flash1"};
  return names;
}
template <> ArrayRef<StringRef> getNames<LoraTargets>() {
  static constexpr StringRef names[] = {"all", "qkv"};
  return names;
}
template <> ArrayRef<StringRef> getNames<LearningRateKind>() {
  static constexpr StringRef names[] = {"constant", "cosine"};
  return names;
}
template <> ArrayRef<StringRef> getNames<ScheduleKind>() {
  static constexpr StringRef names[] = {
#define TESSERA_SCHEDULE(kind, name, generator, placement, splits) name,
#include "tessera/Plan/ScheduleKinds.def"
  };
  return names;
}
} // namespace tessera

//===----------------------------------------------------------------------===//
// Values with a syntax of their own
//===----------------------------------------------------------------------===//

/// Sizes and counts, and products of few of them, stay exact.
static constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

/// A short text that parses to the same number; small integers with all digits.
static std::string printNumber(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e6)
    return std::to_string(static_cast<int64_t>(number));
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    char buffer[40];
    snprintf(buffer, sizeof(buffer), "%.*g", digits, number);
    text = buffer;
    double again;
    if (!StringRef(text).getAsDouble(again) && again == number)
      break;
  }
  return text;
}

static bool parseNumber(StringRef text, double &number) {
  return !text.getAsDouble(number) && std::isfinite(number);
}

static std::string printStageLayers(const Plan &plan) {
  if (plan.stageLayers.empty())
    return plan.evenStages ? "even" : "time";
  return join(map_range(plan.stageLayers, printNumber), ",");
}

static bool parseStageLayers(StringRef text, Plan &plan) {
  std::vector<double> layers;
  if (text != "time" && text != "even")
    for (StringRef part : split(text, ',')) {
      double &blocks = layers.emplace_back();
      if (!parseNumber(part, blocks) || blocks < 0 || blocks > kMost ||
          2 * blocks != std::floor(2 * blocks))
        return false;
    }
  plan.stageLayers = std::move(layers);
  plan.evenStages = text == "even";
  return true;
}

static std::string printRecompute(const Plan &plan) {
  std::string text = stringify(plan.recompute).str();
  if (plan.recompute == Recompute::Auto)
    text += "=" + std::to_string(plan.recomputeBytes);
  return text;
}

static bool parseRecompute(StringRef text, Plan &plan) {
  auto [name, bytesText] = text.split('=');
  std::optional<Recompute> kind = parseName<Recompute>(name);
  bool isAuto = kind == Recompute::Auto;
  std::optional<int64_t> bytes = isAuto ? parseBytes(bytesText) : 0;
  if (!kind || isAuto != text.contains('=') || !bytes || (isAuto && *bytes < 1))
    return false;
  plan.recompute = *kind;
  plan.recomputeBytes = *bytes;
  return true;
}

static std::string printContext(const Plan &plan) {
  return plan.cpMethod.getName();
}

static bool parseContext(StringRef text, Plan &plan) {
  std::optional<ContextMethod> method = parseContextMethod(text);
  if (method)
    plan.cpMethod = *method;
  return method.has_value();
}

/// Prints "*.gamma:decay=0;w?:lr=0.5".
static std::string printGroups(const Plan &plan) {
  std::string text;
  for (const ParameterGroup &group : plan.groups) {
    text += (text.empty() ? "" : ";") + group.pattern;
    if (group.lrScale != 1 || !group.weightDecay)
      text += ":lr=" + printNumber(group.lrScale);
    if (group.weightDecay)
      text += ":decay=" + printNumber(*group.weightDecay);
  }
  return text;
}

static bool parseGroup(StringRef text, ParameterGroup &group) {
  SmallVector<StringRef> parts;
  text.split(parts, ':');
  group.pattern = parts[0].str();
  if (parts.size() < 2 || parts[0].empty() ||
      parts[0].find_first_of("\"\\") != StringRef::npos)
    return false;
  for (StringRef part : drop_begin(parts)) {
    auto [name, value] = part.split('=');
    double number;
    if (!parseNumber(value, number))
      return false;
    if (name == "lr")
      group.lrScale = number;
    else if (name == "decay")
      group.weightDecay = number;
    else
      return false;
  }
  return true;
}

static bool parseGroups(StringRef text, Plan &plan) {
  std::vector<ParameterGroup> groups;
  SmallVector<StringRef> parts;
  text.split(parts, ';', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    if (!parseGroup(part, groups.emplace_back()))
      return false;
  plan.groups = std::move(groups);
  return true;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

template <auto member>
static Field::Choice choice(std::string Plan::*file = nullptr) {
  using EnumT = std::decay_t<decltype(std::declval<Plan>().*member)>;
  return {getNames<EnumT>,
          [](const Plan &plan) { return static_cast<size_t>(plan.*member); },
          [](Plan &plan, size_t value) {
            plan.*member = static_cast<EnumT>(value);
          },
          file};
}

static Field::Integer size(int64_t Plan::*member) { return {member, 1, kMost}; }

static constexpr unsigned kStored = Field::kJson | Field::kAttribute;
static constexpr unsigned kPriced = kStored | Field::kPriced;
static constexpr unsigned kCompiled = kStored | Field::kCompiled;
static constexpr unsigned kBoth = kPriced | kCompiled;
static constexpr unsigned kOnlyPriced = kPriced | Field::kOnlyPriced;
static constexpr unsigned kDevices = Field::kDevices;
static constexpr unsigned kForward = Field::kForward;

ArrayRef<PlanField> tessera::getPlanFields() {
  static const PlanField fields[] = {
      {"forward", "", Field::kAttribute, Field::Flag{&Plan::forward},
       "a forward program: nothing is trained", Field::kTraining},
      {"ranks", "N", Field::kJson | Field::kPriced | kDevices,
       Field::Derived{&Plan::gpus}, "devices; default: dp x tp x pp x cp",
       Field::kMesh, /*isCommon=*/true, /*brief=*/"", /*old=*/"gpus"},
      {"dp", "N", kBoth | kDevices, size(&Plan::dp),
       "data axis: the batch; of plan, default: what is left of --ranks",
       Field::kMesh, /*isCommon=*/true, "data axis: the batch"},
      {"tp", "N", kBoth | kDevices, size(&Plan::tp),
       "tensor axis: heads, MLP and vocabulary", Field::kMesh,
       /*isCommon=*/true},
      {"pp", "N", kBoth | kDevices, size(&Plan::pp), "pipeline stages",
       Field::kMesh, /*isCommon=*/true},
      {"cp", "N", kBoth | kDevices, size(&Plan::cp),
       "context axis: the sequence, in attention too", Field::kMesh,
       /*isCommon=*/true},
      {"cp-method", "NAME", kBoth | kDevices,
       Field::Text{kContextMethods, printContext, parseContext},
       "how devices of cp share attention: all_gather (of keys and values), "
       "ring (the same in chunks, beside the attention), all_to_all (heads; "
       ":U, heads over U neighbours and queries over the rest), or auto, the "
       "fastest",
       Field::kMesh},
      {"ep", "N", kOnlyPriced | kDevices, size(&Plan::ep),
       "expert axis, a sub-axis of dp", Field::kMesh},
      {"sp", "", kBoth | kDevices, Field::Flag{&Plan::sp},
       "shard the residual stream's sequence over tp", Field::kMesh,
       /*isCommon=*/true},
      {"zero", "N", kBoth | kDevices, Field::Integer{&Plan::zero, 0, 3},
       "0 to 3: shard nothing, optimizer state, gradients too, parameters too, "
       "over dp",
       Field::kMesh, /*isCommon=*/true,
       "0 to 3: shard state, gradients too, parameters too"},
      {"zero2-reduce", "WHEN", kBoth, choice<&Plan::scatter>(),
       "with zero 2 (compiled: and 3), scatter gradients of each micro-batch "
       "(each), a chunk's after a round of micro-batches (round), or the "
       "step's sum (last, the memory of zero 1)",
       Field::kMesh},
      {"shard-ranks", "N", kOnlyPriced,
       Field::Integer{&Plan::shardRanks, 0, kMost},
       "devices that zero shards over; default: dp x cp", Field::kExecution},
      {"seq", "N", kPriced, size(&Plan::seq),
       "tokens of a sequence; default: the config's", Field::kTraining,
       /*isCommon=*/true, "tokens of a sequence"},
      {"document-tokens", "N", kOnlyPriced,
       Field::Integer{&Plan::documentTokens, 0, kMost},
       "tokens of a document where a sequence packs several, within which "
       "fused attention stays; 0: a sequence is one",
       Field::kExecution},
      {"micro-batch", "N", kPriced, size(&Plan::microBatch),
       "sequences of a device's micro-batch", Field::kTraining,
       /*isCommon=*/true},
      {"micro-batches", "N",
       Field::kPriced | Field::kCompiled | Field::kAttribute | kForward,
       size(&Plan::microBatches),
       "shares of a device's batch, one after the other", Field::kTraining,
       /*isCommon=*/true, "shares of a device's batch"},
      {"global-batch", "N", Field::kJson | Field::kPriced,
       Field::Derived{&Plan::globalBatch},
       "sequences of a step; default: dp x micro-batch x micro-batches",
       Field::kTraining, /*isCommon=*/true, "sequences of a step"},
      {"schedule", "NAME", kBoth | kForward,
       choice<&Plan::schedule>(&Plan::scheduleFile),
       "order of micro-batches on pipeline stages: {}, or FILE.csv with a list "
       "a stage, as torch.distributed.pipelining writes it",
       Field::kMesh},
      {"vpp", "N", kBoth | kForward, size(&Plan::vpp),
       "chunks of each stage, with interleaved; those of FILE.csv",
       Field::kMesh},
      {"stage-layers", "LIST", kBoth | kForward,
       Field::Text{"time, even or blocks of each chunk, as 7,8.5,8,6.5",
                   printStageLayers, parseStageLayers},
       "blocks of each chunk, whole and half ones, as 7,8.5,8,6.5, even, or "
       "time, so that stages take equally long; priced, even has short ends",
       Field::kMesh},
      {"batch-transfers", "", kOnlyPriced, Field::Flag{&Plan::batchTransfers},
       "off: stages do not receive while they send", Field::kExecution},
      {"recompute", "POLICY", kBoth,
       Field::Text{"none, selective, full, matmuls or auto=BYTES",
                   printRecompute, parseRecompute},
       "what the backward computes again: none, selective (what is cheap; "
       "priced: the core of attention), full (all but the inputs of layers), "
       "matmuls (priced only: all but every other matmul and attention), or "
       "auto=BYTES (compiled only: as little as fits a rank's arena into so "
       "many bytes, as 80GB or 450MB, of all it holds)",
       Field::kTraining, /*isCommon=*/true,
       "none, selective or full: what the backward recomputes"},
      {"checkpoint-every", "N", kOnlyPriced, size(&Plan::checkpointEvery),
       "layers between kept inputs, with full", Field::kExecution},
      {"precision", "TYPE", kBoth, choice<&Plan::precision>(),
       "parameters and activations: {}; below f32 with a master copy in f32; "
       "fp8: as bf16, with linear layers multiplied in 8 bits; those after it "
       "(priced only) differ in their scales; default: the graph's, of plan "
       "bf16",
       Field::kTraining, /*isCommon=*/true, "f32, bf16, f16 or fp8"},
      {"grad-dtype", "TYPE", kBoth, choice<&Plan::gradDType>(),
       "sums of gradients: {} (priced only: both)", Field::kTraining},
      {"grad-copy-bytes", "N", kStored | Field::kOnlyPriced,
       Field::Integer{&Plan::gradCopyBytes, 0, kMost},
       "bytes of further copies of each gradient", Field::kExecution},
      {"grad-buffers", "", kPriced, Field::Flag{&Plan::gradBuffers},
       "off: gradients of a single micro-batch take the memory that its "
       "backward frees, not buffers of their own",
       Field::kExecution},
      {"f32-parameters", "", kOnlyPriced, Field::Flag{&Plan::f32Parameters},
       "parameters are stored in f32 without a master copy, cast in use",
       Field::kExecution},
      {"weight-bytes", "N", kOnlyPriced,
       Field::Integer{&Plan::weightBytes, 0, 2},
       "with matmuls below 16 bits, bytes of each parameter of a block as they "
       "read it, kept and gathered so; 0: those of the precision",
       Field::kExecution},
      {"optimizer", "NAME", kBoth, choice<&Plan::optimizer>(),
       "{}; compiled: adamw, sgd", Field::kTraining},
      {"offload", "WHERE", kOnlyPriced, choice<&Plan::offload>(),
       "where optimizer state is kept: {}", Field::kTraining},
      {"attention", "KIND", kOnlyPriced, choice<&Plan::attention>(),
       "flash, naive, which writes scores, flash2, as flash without a device's "
       "newest instructions, or flash1, that of 2022",
       Field::kExecution},
      {"dropout", "", kOnlyPriced, Field::Flag{&Plan::dropout},
       "with dropout, as GPT-3 was trained", Field::kExecution},
      {"eager", "", kOnlyPriced, Field::Flag{&Plan::eager},
       "each op a kernel of its own that keeps its operands",
       Field::kExecution},
      {"keep-gathered", "", kPriced, Field::Flag{&Plan::keepGathered},
       "keep what sp gathers for a matmul, do not gather again",
       Field::kExecution},
      {"pad-to-multiple-of", "N", kPriced,
       Field::Integer{&Plan::padMultiple, 0, 4096},
       "minor dimensions of matmuls, as the vocabulary's, are padded where "
       "that adds no more than 1 %; 0: they are as they are",
       Field::kExecution},
      {"fused-epilogues", "", kPriced, Field::Flag{&Plan::fusedEpilogues},
       "matmuls add residuals, and do GELU by tanh and its gradient",
       Field::kExecution},
      {"fused-loss", "", kPriced, Field::Flag{&Plan::fusedLoss},
       "the loss in one pass over the logits; without effect over tp, but of "
       "models with experts",
       Field::kExecution},
      {"loss-copies", "N", kOnlyPriced, Field::Integer{&Plan::lossCopies, 0, 8},
       "without fused-loss, f32 copies of the logits alive at once beside the "
       "probabilities and their gradient",
       Field::kExecution},
      {"loss-metrics", "N", kOnlyPriced,
       Field::Integer{&Plan::lossMetrics, 0, 8},
       "losses that a micro-batch computes again from its logits, for metrics",
       Field::kExecution},
      {"loss-chunks", "N", kOnlyPriced,
       Field::Integer{&Plan::lossChunks, 1, 4096},
       "chunks of a micro-batch's tokens in which the head and the loss go "
       "there and back, so that the logits of one are alive",
       Field::kExecution},
      {"dispatch-once", "", kOnlyPriced, Field::Flag{&Plan::dispatchOnce},
       "a token goes once to each device with experts of it, not once for each "
       "expert",
       Field::kExecution},
      {"experts-apart", "", kOnlyPriced, Field::Flag{&Plan::expertsApart},
       "each local expert has kernels of its own, which the host issues once "
       "it "
       "knows the numbers of tokens",
       Field::kExecution},
      {"overlap-ep", "", kOnlyPriced, Field::Flag{&Plan::overlapExperts},
       "tokens go to experts and back beside kernels", Field::kExecution},
      {"lora-rank", "N", kOnlyPriced, Field::Integer{&Plan::loraRank, 0, 65536},
       "columns of the adapters beside linear layers that are trained in place "
       "of the parameters (LoRA); 0: parameters are trained",
       Field::kExecution},
      {"lora-targets", "WHICH", kOnlyPriced, choice<&Plan::loraTargets>(),
       "linear layers that have adapters: all of a block, or qkv, the "
       "projection to queries, keys and values",
       Field::kExecution},
      {"overlap", "", kPriced, Field::Flag{&Plan::overlap},
       "off: gradients and parameters travel beside no kernel",
       Field::kKernels},
      {"overlap-tp", "", kPriced, Field::Flag{&Plan::overlapTp},
       "collectives of tp run beside matmuls", Field::kKernels},
      {"registered-buffers", "", kOnlyPriced,
       Field::Flag{&Plan::registeredBuffers},
       "gradients and gathered parameters travel in buffers that NCCL knows, "
       "whose collectives slow kernels less",
       Field::kExecution},
      {"host-launch-us", "X", kPriced,
       Field::Number{&Plan::hostLaunchMicros, 0},
       "microseconds of the host for each kernel; default: the device's",
       Field::kExecution},
      {"step-floor-us", "X", kPriced, Field::Number{&Plan::stepFloorMicros, 0},
       "microseconds of a step outside of layers; default: the device's",
       Field::kExecution},
      {"gather-copy-bytes", "N", kOnlyPriced,
       Field::Integer{&Plan::gatherCopyBytes, 0, 64},
       "with zero 3, bytes that copies around gathers and scatters move for "
       "each parameter and micro-batch",
       Field::kExecution},
      {"sums-apart", "", kOnlyPriced, Field::Flag{&Plan::sumsApart},
       "kernels of their own add a micro-batch's gradients to the sums, not "
       "the matmuls that make them",
       Field::kExecution},
      {"optimizer-copy-bytes", "N", kOnlyPriced,
       Field::Integer{&Plan::optimizerCopyBytes, 0, 128},
       "bytes that copies, checks and scaling of gradients move for each "
       "parameter, beside the optimizer's own",
       Field::kExecution},
      {"fused-optimizer", "", kOnlyPriced, Field::Flag{&Plan::fusedOptimizer},
       "off: AdamW runs op by op, not in one pass over its state",
       Field::kExecution},
      {"pxn", "", kOnlyPriced, Field::Flag{&Plan::pxn},
       "off: groups of some of a node's devices leave it through the "
       "processors, as before NCCL 2.12",
       Field::kExecution},
      {"lr", "X", kCompiled, Field::Number{&Plan::lr, 0}, "learning rate",
       Field::kOptimizer},
      {"lr-schedule", "NAME", kCompiled, choice<&Plan::lrSchedule>(),
       "after warm-up: {}", Field::kOptimizer},
      {"warmup", "N", kCompiled, Field::Integer{&Plan::warmup, 0, kMost},
       "steps until the full learning rate", Field::kOptimizer},
      {"total-steps", "N", kCompiled,
       Field::Integer{&Plan::totalSteps, 0, kMost},
       "step at which cosine reaches --min-lr", Field::kOptimizer},
      {"min-lr", "X", kCompiled, Field::Number{&Plan::minLr, 0},
       "learning rate at the end of cosine", Field::kOptimizer},
      {"beta1", "X", kCompiled, Field::Number{&Plan::beta1, 0, 1}, "of adamw",
       Field::kOptimizer},
      {"beta2", "X", kCompiled, Field::Number{&Plan::beta2, 0, 1}, "of adamw",
       Field::kOptimizer},
      {"eps", "X", kCompiled, Field::Number{&Plan::eps, 0}, "of adamw",
       Field::kOptimizer},
      {"weight-decay", "X", kCompiled, Field::Number{&Plan::weightDecay, 0},
       "of matrices; norms and biases have none", Field::kOptimizer},
      {"momentum", "X", kCompiled, Field::Number{&Plan::momentum, 0, 1},
       "of sgd", Field::kOptimizer},
      {"clip", "X", kCompiled, Field::Number{&Plan::clip, 0},
       "largest norm of all gradients, 0 for any", Field::kOptimizer},
      {"groups", "LIST", kCompiled,
       Field::Text{"PATTERN:lr=FACTOR:decay=X, separated by ';'", printGroups,
                   parseGroups},
       "PATTERN:lr=FACTOR:decay=X, separated by ';': what parameters of such "
       "names are trained with; default: all alike",
       Field::kOptimizer},
      {"loss-scale", "X", kCompiled, Field::Number{&Plan::lossScale, 1},
       "of f16 at first: of the sum of losses, not of their mean, so far less "
       "than is usual",
       Field::kOptimizer},
      {"scale-window", "N", kCompiled, size(&Plan::scaleWindow),
       "steps without overflow until it doubles", Field::kOptimizer},
  };
  return fields;
}

const PlanField *tessera::findPlanField(StringRef name) {
  // Only reports and messages look up fields.
  for (const PlanField &field : getPlanFields())
    if (field.name == name || (!field.old.empty() && field.old == name))
      return &field;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// One field
//===----------------------------------------------------------------------===//

static bool isOnByDefault(const PlanField &field) {
  auto *flag = std::get_if<Field::Flag>(&field.type);
  return flag && Plan().*flag->member;
}

std::string PlanField::getOption() const { return "--" + name.str(); }

StringRef PlanField::getPlaceholder() const {
  return isOnByDefault(*this) ? "on|off" : value;
}

std::string PlanField::getOldOption() const {
  if (isOnByDefault(*this))
    return "--no-" + name.str();
  return old.empty() ? "" : "--" + old.str();
}

std::string PlanField::getParameter() const {
  std::string parameter = name.str();
  std::replace(parameter.begin(), parameter.end(), '-', '_');
  return parameter;
}

std::string PlanField::getHelp() const {
  std::string names;
  if (auto *choice = std::get_if<Choice>(&type))
    names = join(choice->names(), ", ");
  auto [before, after] = help.split("{}");
  std::string text =
      (before + (help.contains("{}") ? names : "") + after).str();
  if (value.empty() || help.contains("default"))
    return text;
  return text + "; default: " + print(Plan());
}

StringRef PlanField::getBrief() const {
  return isCommon && brief.empty() ? help : brief;
}

std::string PlanField::getForm() const {
  return std::visit(
      makeVisitor(
          [](const Integer &i) -> std::string {
            return formatv("an integer from {0} to {1}", i.least, i.most);
          },
          [](const Flag &) -> std::string { return "true or false"; },
          [](const Number &n) -> std::string {
            std::string text = "a number of at least " + printNumber(n.least);
            if (std::isfinite(n.below))
              text += " and below " + printNumber(n.below);
            return text;
          },
          [](const Choice &c) -> std::string {
            return "one of " + join(c.names(), ", ") +
                   (c.file ? " or FILE.csv" : "");
          },
          [](const Text &t) -> std::string { return t.form.str(); },
          [](const Derived &) -> std::string {
            return formatv("an integer from 1 to {0}", kMost);
          }),
      type);
}

std::string PlanField::print(const Plan &plan) const {
  return std::visit(
      makeVisitor(
          [&](const Integer &i) { return std::to_string(plan.*i.member); },
          [&](const Flag &f) -> std::string {
            return plan.*f.member ? "true" : "false";
          },
          [&](const Number &n) { return printNumber(plan.*n.member); },
          [&](const Choice &c) {
            if (c.file && !(plan.*c.file).empty())
              return plan.*c.file;
            return c.names()[c.get(plan)].str();
          },
          [&](const Text &t) { return t.print(plan); },
          [&](const Derived &d) { return std::to_string((plan.*d.get)()); }),
      type);
}

bool PlanField::isInRange(const Plan &plan) const {
  return std::visit(
      makeVisitor(
          [&](const Integer &i) {
            return plan.*i.member >= i.least && plan.*i.member <= i.most;
          },
          [&](const Number &n) {
            return plan.*n.member >= n.least && plan.*n.member < n.below;
          },
          [](const auto &) { return true; }),
      type);
}

bool PlanField::parse(StringRef text, Plan &plan) const {
  Plan changed = plan;
  bool parsed = std::visit(
      makeVisitor(
          [&](const Integer &i) {
            std::optional<int64_t> number = parseCount(text);
            changed.*i.member = number.value_or(0);
            return number.has_value();
          },
          [&](const Flag &f) {
            changed.*f.member = text == "true";
            return text == "true" || text == "false";
          },
          [&](const Number &n) { return parseNumber(text, changed.*n.member); },
          [&](const Choice &c) {
            const StringRef *found = find(c.names(), text);
            bool isName = found != c.names().end();
            if (!isName && !(c.file && text.ends_with(".csv")))
              return false;
            c.set(changed, isName ? found - c.names().begin() : c.get(Plan()));
            if (c.file)
              changed.*c.file = isName ? "" : text.str();
            return true;
          },
          [&](const Text &t) { return t.parse(text, changed); },
          [&](const Derived &) { return false; }),
      type);
  if (!parsed || !isInRange(changed))
    return false;
  plan = std::move(changed);
  return true;
}

json::Value PlanField::toJson(const Plan &plan) const {
  return std::visit(
      makeVisitor(
          [&](const Integer &i) { return json::Value(plan.*i.member); },
          [&](const Flag &f) { return json::Value(plan.*f.member); },
          [&](const Number &n) { return json::Value(plan.*n.member); },
          [&](const Derived &d) { return json::Value((plan.*d.get)()); },
          [&](const auto &) { return json::Value(print(plan)); }),
      type);
}

std::optional<std::string> PlanField::toText(const json::Value &value) const {
  auto integer = [](const json::Value &v) -> std::optional<std::string> {
    if (std::optional<int64_t> number = v.getAsInteger())
      return std::to_string(*number);
    return std::nullopt;
  };
  return std::visit(
      makeVisitor([&](const Integer &) { return integer(value); },
                  [&](const Derived &) { return integer(value); },
                  [&](const Flag &) -> std::optional<std::string> {
                    if (std::optional<bool> flag = value.getAsBoolean())
                      return *flag ? "true" : "false";
                    return std::nullopt;
                  },
                  [&](const Number &) -> std::optional<std::string> {
                    if (std::optional<double> number = value.getAsNumber())
                      return printNumber(*number);
                    return std::nullopt;
                  },
                  [&](const auto &) -> std::optional<std::string> {
                    if (std::optional<StringRef> text = value.getAsString())
                      return text->str();
                    return std::nullopt;
                  }),
      type);
}

bool PlanField::isEqual(const Plan &a, const Plan &b) const {
  return std::visit(
      makeVisitor([&](const Integer &i) { return a.*i.member == b.*i.member; },
                  [&](const Flag &f) { return a.*f.member == b.*f.member; },
                  [&](const Number &n) { return a.*n.member == b.*n.member; },
                  [&](const Choice &c) {
                    return c.get(a) == c.get(b) &&
                           (!c.file || a.*c.file == b.*c.file);
                  },
                  [&](const Text &t) { return t.print(a) == t.print(b); },
                  // A derived field is equal if all other fields are.
                  [&](const Derived &) { return true; }),
      type);
}

bool Plan::operator==(const Plan &o) const {
  return all_of(getPlanFields(), [&](const PlanField &field) {
    return field.isEqual(*this, o);
  });
}

hash_code tessera::hash_value(const Plan &plan) {
  hash_code hash = 0;
  for (const PlanField &field : getPlanFields())
    if (!field.isDefault(plan))
      hash = hash_combine(hash, StringRef(field.name), field.print(plan));
  return hash;
}
