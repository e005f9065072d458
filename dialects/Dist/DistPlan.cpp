//===- DistPlan.cpp - Checks of a training plan ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

using EmitError = function_ref<InFlightDiagnostic()>;

static LogicalResult verifyAtLeast(EmitError emitError, StringRef label,
                                   StringRef name, int64_t value,
                                   int64_t least) {
  if (value >= least)
    return success();
  return emitError() << label << " expects " << name << " of at least " << least
                     << " but got " << value;
}

/// At least `least` and, if `below` is positive, below it.
static LogicalResult verifyNumber(EmitError emitError, StringRef label,
                                  StringRef name, FloatAttr attr, double least,
                                  double below = 0) {
  double value = attr.getValueAsDouble();
  if (value >= least && (below <= 0 || value < below) &&
      attr.getValue().isFinite())
    return success();
  InFlightDiagnostic error = emitError();
  error << label << " expects " << name << " of at least " << least;
  if (below > 0)
    error << " and below " << below;
  return error << " but got " << value;
}

bool dist::isRecomputePolicy(StringRef text) {
  int64_t bytes;
  return text == "none" || text == "selective" || text == "full" ||
         (text.consume_front("auto=") && !text.getAsInteger(10, bytes) &&
          bytes > 0);
}

LogicalResult
PlanAttr::verify(EmitError emitError, Precision precision, Precision grad,
                 int64_t microBatches, int64_t zero, ReduceWhen,
                 StringRef recompute, OptimizerKind, FloatAttr beta1,
                 FloatAttr beta2, FloatAttr eps, FloatAttr weightDecay,
                 FloatAttr momentum, FloatAttr clip, LearningRateKind schedule,
                 FloatAttr lr, FloatAttr minLr, int64_t warmup, int64_t steps,
                 FloatAttr lossScale, int64_t scaleWindow, ArrayAttr groups) {
  auto atLeast = [&](StringRef label, StringRef name, int64_t value,
                     int64_t least) {
    return verifyAtLeast(emitError, label, name, value, least);
  };
  auto number = [&](StringRef label, StringRef name, FloatAttr value,
                    double least, double below = 0) {
    return verifyNumber(emitError, label, name, value, least, below);
  };
  if (failed(atLeast("(C1)", "micro_batches", microBatches, 1)) ||
      failed(atLeast("(C1)", "scale_window", scaleWindow, 1)) ||
      failed(number("(C1)", "loss_scale", lossScale, 1)))
    return failure();
  if (zero < 0 || zero > 3)
    return emitError() << "(C2) expects zero of 0 to 3 but got " << zero;
  if (!isRecomputePolicy(recompute))
    return emitError() << "(C3) expects recompute to be none, selective, full "
                          "or auto=<bytes> but got '"
                       << recompute << "'";
  if (failed(number("(C4)", "beta1", beta1, 0, 1)) ||
      failed(number("(C4)", "beta2", beta2, 0, 1)) ||
      failed(number("(C4)", "momentum", momentum, 0, 1)) ||
      failed(number("(C4)", "eps", eps, 0)) ||
      failed(number("(C4)", "weight_decay", weightDecay, 0)) ||
      failed(number("(C4)", "clip", clip, 0)) ||
      failed(number("(C4)", "lr", lr, 0)) ||
      failed(number("(C4)", "min_lr", minLr, 0)) ||
      failed(atLeast("(C5)", "warmup", warmup, 0)) ||
      failed(atLeast("(C5)", "steps", steps, 0)))
    return failure();
  if (schedule == LearningRateKind::Cosine && steps <= warmup)
    return emitError() << "(C5) expects steps above warmup with cosine but got "
                       << steps << " and " << warmup;
  if (grad != Precision::F32 &&
      (grad != Precision::BF16 ||
       (precision != Precision::BF16 && precision != Precision::FP8)))
    return emitError()
           << "(C6) expects sums of gradients in f32, or in bf16 with "
              "precision bf16 or fp8, but got "
           << stringifyPrecision(grad) << " with "
           << stringifyPrecision(precision);
  if (groups && !llvm::all_of(groups, llvm::IsaPred<ParametersAttr>))
    return emitError() << "expects groups of #dist.parameters but got "
                       << groups;
  return success();
}
