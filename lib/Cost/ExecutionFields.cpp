//===- ExecutionFields.cpp - The fields of an execution -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of fields, their JSON, and their line in reports.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/ExecutionFields.h"
#include "tessera/Plan/GivenImpl.h"

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

namespace tessera {
template <> ArrayRef<StringRef> getNames<AttentionKind>() {
  static constexpr StringRef names[] = {"flash", "naive", "flash2", "flash1"};
  return names;
}
} // namespace tessera

static constexpr unsigned kUses = FieldUse::kPriced | FieldUse::kJson;

template <> ArrayRef<Field<Execution>> tessera::getFields<Execution>() {
  using ExecutionField = Field<Execution>;
  static const ExecutionField fields[] = {
      {"attention",
       "KIND",
       kUses,
       makeChoice<&Execution::attention>(),
       "flash, naive, which writes scores, flash2, as flash without a device's "
       "newest instructions, or flash1, that of 2022",
       {FieldSection::Execution, 1}},
      {"eager",
       "",
       kUses,
       ExecutionField::Flag{&Execution::eager},
       "each op a kernel of its own that keeps its operands",
       {FieldSection::Execution, 3}},
      {"pad-to-multiple-of",
       "N",
       kUses,
       ExecutionField::Integer{&Execution::padMultiple, 0, 4096},
       "minor dimensions of matmuls, as the vocabulary's, are padded where "
       "that adds no more than 1 %; 0: they are as they are",
       {FieldSection::Execution, 13}},
      {"fused-epilogues",
       "",
       kUses,
       ExecutionField::Flag{&Execution::fusedEpilogues},
       "matmuls add residuals, and do GELU by tanh and its gradient",
       {FieldSection::Execution, 4}},
      {"fused-loss",
       "",
       kUses,
       ExecutionField::Flag{&Execution::fusedLoss},
       "the loss in one pass over the logits; without effect over tp, but of "
       "models with experts",
       {FieldSection::Execution, 5}},
      {"loss-copies",
       "N",
       kUses,
       ExecutionField::Integer{&Execution::lossCopies, 0, 8},
       "without fused-loss, f32 copies of the logits alive at once beside the "
       "probabilities and their gradient",
       {FieldSection::Execution, 6}},
      {"loss-metrics",
       "N",
       kUses,
       ExecutionField::Integer{&Execution::lossMetrics, 0, 8},
       "losses that a micro-batch computes again from its logits, for metrics",
       {FieldSection::Execution, 7}},
      {"loss-chunks",
       "N",
       kUses,
       ExecutionField::Integer{&Execution::lossChunks, 1, 4096},
       "chunks of a micro-batch's tokens in which the head and the loss go "
       "there and back, so that the logits of one are alive",
       {FieldSection::Execution, 8}},
      {"dispatch-once",
       "",
       kUses,
       ExecutionField::Flag{&Execution::dispatchOnce},
       "a token goes once to each device with experts of it, not once for each "
       "expert",
       {FieldSection::Execution, 9}},
      {"experts-apart",
       "",
       kUses,
       ExecutionField::Flag{&Execution::expertsApart},
       "each local expert has kernels of its own, which the host issues once "
       "it "
       "knows the numbers of tokens",
       {FieldSection::Execution, 10}},
      {"overlap-ep",
       "",
       kUses,
       ExecutionField::Flag{&Execution::overlapExperts},
       "tokens go to experts and back beside kernels",
       {FieldSection::Execution, 11}},
      {"batch-transfers",
       "",
       kUses,
       ExecutionField::Flag{&Execution::batchTransfers},
       "off: stages do not receive while they send",
       {FieldSection::Execution, 27}},
      {"registered-buffers",
       "",
       kUses,
       ExecutionField::Flag{&Execution::registeredBuffers},
       "gradients and gathered parameters travel in buffers that NCCL knows, "
       "whose collectives slow kernels less",
       {FieldSection::Execution, 17}},
      {"host-launch-us",
       "X",
       kUses,
       ExecutionField::Number{&Execution::hostLaunchMicros, 0},
       "microseconds of the host for each kernel; default: the device's",
       {FieldSection::Execution, 22}},
      {"step-floor-us",
       "X",
       kUses,
       ExecutionField::Number{&Execution::stepFloorMicros, 0},
       "microseconds of a step outside of layers; default: the device's",
       {FieldSection::Execution, 23}},
      {"gather-copy-bytes",
       "N",
       kUses,
       ExecutionField::Integer{&Execution::gatherCopyBytes, 0, 64},
       "with zero 3, bytes that copies around gathers and scatters move for "
       "each parameter and micro-batch",
       {FieldSection::Execution, 24}},
      {"sums-apart",
       "",
       kUses,
       ExecutionField::Flag{&Execution::sumsApart},
       "kernels of their own add a micro-batch's gradients to the sums, not "
       "the matmuls that make them",
       {FieldSection::Execution, 25}},
      {"grad-copy-bytes",
       "N",
       FieldUse::kJson,
       ExecutionField::Integer{&Execution::gradCopyBytes, 0, kMostCount},
       "bytes of further copies of each gradient",
       {FieldSection::Execution, 18}},
      {"grad-buffers",
       "",
       kUses,
       ExecutionField::Flag{&Execution::gradBuffers},
       "off: gradients of a single micro-batch take the memory that its "
       "backward frees, not buffers of their own",
       {FieldSection::Execution, 28}},
      {"context-bytes",
       "N",
       kUses,
       ExecutionField::Integer{&Execution::contextBytes, 0, 1000000000000},
       "bytes of a device that its context and the framework's libraries take; "
       "0: 2 GB, and 1 GB more with several devices",
       {FieldSection::Execution, 31}},
      {"optimizer-copy-bytes",
       "N",
       kUses,
       ExecutionField::Integer{&Execution::optimizerCopyBytes, 0, 128},
       "bytes that copies, checks and scaling of gradients move for each "
       "parameter, beside the optimizer's own",
       {FieldSection::Execution, 26}},
      {"fused-optimizer",
       "",
       kUses,
       ExecutionField::Flag{&Execution::fusedOptimizer},
       "off: AdamW runs op by op, not in one pass over its state",
       {FieldSection::Execution, 29}},
      {"pxn",
       "",
       kUses,
       ExecutionField::Flag{&Execution::pxn},
       "off: groups of some of a node's devices leave it through the "
       "processors, as before NCCL 2.12",
       {FieldSection::Execution, 30}},
  };
  return fields;
}

template <> ArrayRef<Field<ExecutedPlan>> tessera::getFields<ExecutedPlan>() {
  static const std::vector<ExecutedPlanField> fields =
      joinFields<ExecutedPlan, Plan, Execution>();
  return fields;
}

template class tessera::Field<Execution>;
template class tessera::Field<ExecutedPlan>;
template class tessera::Given<ExecutedPlan>;

bool Execution::operator==(const Execution &o) const {
  return haveEqualFields(*this, o);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

json::Object tessera::cost::toJson(const Execution &execution) {
  json::Object object;
  for (const Field<Execution> &field : getFields<Execution>())
    object[field.name] = field.toJson(execution);
  return object;
}

json::Object tessera::cost::toJson(const ExecutedPlan &plan) {
  json::Object object = tessera::toJson(static_cast<const Plan &>(plan));
  object[kExecutionObject] = toJson(plan.execution());
  return object;
}

Error tessera::cost::readExecution(const json::Object &object,
                                   GivenExecutedPlan &given) {
  for (StringRef name : sortKeys(object))
    if (!findField<Execution>(name))
      return makeUnknownField<Execution>(name);
  return given.read(object);
}

Error tessera::cost::readPlan(const json::Object &object,
                              GivenExecutedPlan &given) {
  json::Object plan = object;
  plan.erase(kExecutionObject);
  if (Error error = given.read(plan))
    return error;
  const json::Value *execution = object.get(kExecutionObject);
  if (!execution)
    return Error::success();
  const json::Object *fields = execution->getAsObject();
  if (!fields)
    return createStringError(
        formatv("{0}: expects an object of fields but got {1}",
                kExecutionObject, *execution));
  return prefixError(kExecutionObject + ": ", readExecution(*fields, given));
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// The text of a field in the line of settings; empty for one that is as usual.
static std::string describe(const ExecutedPlanField &field,
                            const ExecutedPlan &plan) {
  std::string value = field.print(plan);
  if (std::holds_alternative<ExecutedPlanField::Flag>(field.type)) {
    // A plan decides; an execution is as usual or not.
    bool isUsual =
        field.isOnByDefault() && field.place.section == FieldSection::Execution;
    if (isUsual)
      return value == "true" ? "" : (field.name + " off").str();
    return value == "true" ? field.name.str() : "";
  }
  bool isNumber =
      std::holds_alternative<ExecutedPlanField::Integer>(field.type) ||
      std::holds_alternative<ExecutedPlanField::Number>(field.type);
  if (isNumber && field.isDefault(plan))
    return "";
  return (field.name + " " + value).str();
}

std::string tessera::cost::describeSettings(const ExecutedPlan &plan) {
  std::vector<const ExecutedPlanField *> settings;
  for (const ExecutedPlanField &field : getFields<ExecutedPlan>())
    if (field.place.setting > 0)
      settings.push_back(&field);
  llvm::stable_sort(settings, [](const auto *a, const auto *b) {
    return a->place.setting < b->place.setting;
  });
  std::string text;
  ListSeparator comma;
  for (const ExecutedPlanField *field : settings) {
    std::string setting = describe(*field, plan);
    if (!setting.empty())
      text += StringRef(comma).str() + setting;
  }
  return text;
}
