//===- MegatronFlags.cpp - A plan as flags of Megatron-LM -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table follows megatron/training/arguments.py of release core_v0.14.0.
// Fields that are not in the table have no flag unless they have their default.
//
//===----------------------------------------------------------------------===//

#include "tessera/Plan/FieldImpl.h"
#include "tessera/Plan/PlanFields.h"
#include "tessera/Plan/TrainerFlags.h"

using namespace tessera;

namespace {
/// The flags for the value of a field; empty if Megatron's default is that
/// value, none if no flag says it.
using Flags = std::optional<std::string>;

/// A row of the table.
struct FlagRow {
  llvm::StringLiteral field;
  Flags (*get)(const Plan &plan);
};
} // namespace

static std::string withNumber(llvm::StringRef flag, double number) {
  return (flag + " ").str() + printNumber(number);
}

static Flags getContextMethod(const Plan &plan) {
  if (plan.cp == 1)
    return "";
  switch (plan.cpMethod.kind) {
  case ContextMethod::Ring:
    return "--cp-comm-type p2p";
  case ContextMethod::AllGather:
    return "--cp-comm-type allgather";
  case ContextMethod::AllToAll:
    if (plan.cpMethod.headDevices == 0 || plan.cpMethod.headDevices == plan.cp)
      return "--cp-comm-type a2a";
    return "--cp-comm-type a2a+p2p --hierarchical-context-parallel-sizes " +
           std::to_string(plan.cpMethod.headDevices) + " " +
           std::to_string(plan.cp / plan.cpMethod.headDevices);
  case ContextMethod::Auto:
  case ContextMethod::Latent:
    return std::nullopt;
  }
  llvm_unreachable("unknown method");
}

static Flags getZero(const Plan &plan) {
  const std::string fsdp =
      "--use-distributed-optimizer --use-megatron-fsdp --ckpt-format "
      "fsdp_dtensor --data-parallel-sharding-strategy ";
  switch (plan.zero) {
  case 0:
    return "";
  case 1:
    return "--use-distributed-optimizer";
  case 2:
    return fsdp + "optim_grads";
  default:
    return fsdp + "optim_grads_params";
  }
}

static Flags getOverlap(const Plan &plan) {
  if (!plan.overlap || plan.dp * plan.cp == 1)
    return "";
  return plan.zero == 0 ? "--overlap-grad-reduce"
                        : "--overlap-grad-reduce --overlap-param-gather";
}

static Flags getPipelineSchedule(const Plan &plan) {
  bool isKnown = plan.schedule == ScheduleKind::OneFOneB ||
                 plan.schedule == ScheduleKind::Interleaved;
  if (plan.pp == 1 || (isKnown && plan.scheduleFile.empty()))
    return "";
  return std::nullopt;
}

static Flags getChunks(const Plan &plan) {
  if (plan.pp == 1 || plan.vpp == 1)
    return "";
  if (plan.schedule != ScheduleKind::Interleaved)
    return std::nullopt;
  return "--num-virtual-stages-per-pipeline-rank " + std::to_string(plan.vpp);
}

/// Megatron splits layers evenly.
static Flags getStageLayers(const Plan &plan) {
  if (plan.pp == 1 || (plan.stageLayers.empty() && plan.evenStages))
    return "";
  return std::nullopt;
}

static Flags getRecompute(const Plan &plan) {
  switch (plan.recompute) {
  case Recompute::None:
    return "";
  case Recompute::Selective:
    return "--recompute-granularity selective";
  case Recompute::Full:
    return "--recompute-granularity full --recompute-method uniform "
           "--recompute-num-layers " +
           std::to_string(plan.checkpointEvery);
  case Recompute::Matmuls:
  case Recompute::Auto:
    return std::nullopt;
  }
  llvm_unreachable("unknown policy");
}

static Flags getPrecisionFlags(const Plan &plan) {
  auto in8Bits = [](llvm::StringRef format, llvm::StringRef recipe) {
    return ("--bf16 --fp8-format " + format + " --fp8-recipe " + recipe).str();
  };
  switch (plan.precision) {
  case Precision::F32:
    return "";
  case Precision::BF16:
    return "--bf16";
  case Precision::F16:
    return "--fp16";
  case Precision::FP8:
    return in8Bits("hybrid", "delayed");
  case Precision::FP8Current:
    return in8Bits("hybrid", "tensorwise");
  case Precision::FP8Block:
    return in8Bits("e4m3", "blockwise");
  case Precision::MXFP8:
    return in8Bits("e4m3", "mxfp8");
  case Precision::FP8Row:
  case Precision::NVFP4:
    return std::nullopt;
  }
  llvm_unreachable("unknown precision");
}

/// Gradients under --bf16: Megatron sums them in f32 unless a flag says
/// otherwise.
static Flags getGradDType(const Plan &plan) {
  if (plan.precision == Precision::F32)
    return plan.gradDType == GradDType::F32 ? Flags("") : std::nullopt;
  if (plan.gradDType == GradDType::Both)
    return std::nullopt;
  if (plan.gradDType == GradDType::F32)
    return plan.precision == Precision::F16
               ? "--accumulate-allreduce-grads-in-fp32"
               : "";
  return plan.precision == Precision::F16 ? Flags("") : "--grad-reduce-in-bf16";
}

static Flags getOptimizer(const Plan &plan) {
  if (plan.optimizer == OptimizerKind::AdamW)
    return "--optimizer adam";
  if (plan.optimizer == OptimizerKind::SGD)
    return "--optimizer sgd";
  return std::nullopt;
}

static Flags getOffload(const Plan &plan) {
  if (plan.offload == Offload::None)
    return "";
  if (plan.offload == Offload::Host)
    return "--optimizer-cpu-offload --use-precision-aware-optimizer";
  return std::nullopt;
}

/// True if a plan has a number of the optimizer that is not the default: then
/// all are written, since Megatron's defaults differ.
static bool hasOptimizerNumbers(const Plan &plan) {
  return llvm::any_of(getFields<OptimizerConfig>(),
                      [&](const Field<OptimizerConfig> &field) {
                        return field.place.section == FieldSection::Optimizer &&
                               !field.isDefault(plan);
                      });
}

static bool isAdam(const Plan &plan) {
  return plan.optimizer != OptimizerKind::SGD;
}

/// A row for a number of the optimizer that matters if `condition` holds.
#define TESSERA_NUMBER(field, member, flag, condition)                         \
  {field, [](const Plan &plan) -> Flags {                                      \
     return hasOptimizerNumbers(plan) && (condition)                           \
                ? withNumber(flag, double(plan.member))                        \
                : "";                                                          \
   }}

/// A row for a size that Megatron takes as 1.
#define TESSERA_SIZE(field, member, flag)                                      \
  {field, [](const Plan &plan) -> Flags {                                      \
     return plan.member == 1 ? "" : withNumber(flag, double(plan.member));     \
   }}

static constexpr FlagRow kRows[] = {
    TESSERA_SIZE("tp", tp, "--tensor-model-parallel-size"),
    TESSERA_SIZE("pp", pp, "--pipeline-model-parallel-size"),
    TESSERA_SIZE("cp", cp, "--context-parallel-size"),
    {"cp-method", getContextMethod},
    TESSERA_SIZE("ep", ep, "--expert-model-parallel-size"),
    {"etp",
     [](const Plan &plan) -> Flags {
       return plan.etp || plan.ep == 1 || plan.tp == 1
                  ? ""
                  : "--expert-tensor-parallel-size 1";
     }},
    {"sp",
     [](const Plan &plan) -> Flags {
       return plan.sp && plan.tp > 1 ? "--sequence-parallel" : "";
     }},
    {"zero", getZero},
    {"zero2-reduce",
     [](const Plan &plan) -> Flags {
       return plan.zero < 2 || plan.scatter == Scatter::Each ? Flags("")
                                                             : std::nullopt;
     }},
    {"overlap", getOverlap},
    {"overlap-tp",
     [](const Plan &plan) -> Flags {
       return plan.overlapTp ? "--tp-comm-overlap" : "";
     }},
    {"schedule", getPipelineSchedule},
    {"vpp", getChunks},
    {"stage-layers", getStageLayers},
    {"seq",
     [](const Plan &plan) -> Flags {
       return withNumber("--seq-length", double(plan.seq));
     }},
    {"micro-batch",
     [](const Plan &plan) -> Flags {
       return withNumber("--micro-batch-size", double(plan.microBatch));
     }},
    {"global-batch",
     [](const Plan &plan) -> Flags {
       return withNumber("--global-batch-size", double(plan.globalBatch()));
     }},
    {"recompute", getRecompute},
    {"precision", getPrecisionFlags},
    {"grad-dtype", getGradDType},
    {"dropout",
     [](const Plan &plan) -> Flags {
       return plan.dropout ? "" : "--attention-dropout 0 --hidden-dropout 0";
     }},
    {"optimizer", getOptimizer},
    {"offload", getOffload},
    TESSERA_NUMBER("lr", lr, "--lr", true),
    {"lr-schedule",
     [](const Plan &plan) -> Flags {
       if (!hasOptimizerNumbers(plan))
         return "";
       return "--lr-decay-style " + stringify(plan.lrSchedule).str();
     }},
    TESSERA_NUMBER("warmup", warmup, "--lr-warmup-iters", true),
    TESSERA_NUMBER("total-steps", totalSteps, "--lr-decay-iters",
                   plan.totalSteps > 0),
    TESSERA_NUMBER("min-lr", minLr, "--min-lr", true),
    TESSERA_NUMBER("beta1", beta1, "--adam-beta1", isAdam(plan)),
    TESSERA_NUMBER("beta2", beta2, "--adam-beta2", isAdam(plan)),
    TESSERA_NUMBER("eps", eps, "--adam-eps", isAdam(plan)),
    TESSERA_NUMBER("weight-decay", weightDecay, "--weight-decay", true),
    TESSERA_NUMBER("momentum", momentum, "--sgd-momentum", !isAdam(plan)),
    TESSERA_NUMBER("balance-rate", balanceRate, "--moe-router-bias-update-rate",
                   plan.balanceRate > 0),
    TESSERA_NUMBER("clip", clip, "--clip-grad", true),
};

#undef TESSERA_NUMBER
#undef TESSERA_SIZE

/// Fields that others imply: Megatron computes them from the number of devices
/// and the sequences of a step, or from --recompute-granularity.
static constexpr llvm::StringLiteral kImplied[] = {
    "ranks", "dp", "micro-batches", "checkpoint-every"};

TrainerFlags tessera::getMegatronFlags(const Plan &plan) {
  TrainerFlags made;
  for (const PlanField &field : getFields<Plan>()) {
    const auto *row = llvm::find_if(
        kRows, [&](const FlagRow &row) { return row.field == field.name; });
    if (row == std::end(kRows)) {
      if (!field.isDefault(plan) && !llvm::is_contained(kImplied, field.name))
        made.unsaid.push_back((field.name + "=" + field.print(plan)).str());
      continue;
    }
    Flags flags = row->get(plan);
    if (!flags)
      made.unsaid.push_back((field.name + "=" + field.print(plan)).str());
    else if (!flags->empty())
      made.flags.push_back(*flags);
  }
  return made;
}
