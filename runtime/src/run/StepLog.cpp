//===- StepLog.cpp - Lines about steps ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See StepLog.h.
//
//===----------------------------------------------------------------------===//

#include "StepLog.h"

#include "support/Json.h"

using namespace tessera::rt;

bool StepRecord::isValid() const {
  // A step that changes nothing may have any norm if its loss may have been
  // scaled too far.
  bool mayOverflow = scalesLoss && isSkipped;
  return overflow.empty() && (!hasLoss || std::isfinite(loss)) &&
         (!hasGradNorm || mayOverflow || std::isfinite(gradNorm));
}

std::string StepRecord::describeFault() const {
  if (!overflow.empty())
    return overflow;
  if (hasLoss && !std::isfinite(loss))
    return format("the loss is %g", loss);
  return format("the norm of the gradients is %g", gradNorm);
}

StepLog::StepLog(tessera_rt_context *ctx, const Manifest &manifest,
                 const Options &options)
    : ctx(ctx), manifest(manifest), options(options), isFirst(ctx->rank == 0),
      isTraining(manifest.isTraining()), out(isTraining ? stdout : stderr) {}

void StepLog::plan() {
  if (!speaks() || isJson())
    return;
  for (const std::string &line : manifest.plan)
    fprintf(out, "plan: %s\n", line.c_str());
  fflush(out);
}

std::pair<double, double> StepRecord::loadRange() const {
  if (expertLoads.empty())
    return {std::nan(""), std::nan("")};
  double most = 0, least = std::numeric_limits<double>::infinity();
  for (const std::vector<int64_t> &uses : expertLoads) {
    double total = 0;
    for (int64_t count : uses)
      total += double(count);
    for (int64_t count : uses) {
      double load = total > 0 ? double(count) * double(uses.size()) / total : 0;
      most = std::max(most, load);
      least = std::min(least, load);
    }
  }
  return {most, least};
}

/// Returns `, "aux_loss": 0.1, "expert_loads": [[...], ...], "dropped": 0`, of
/// what there is.
static std::string expertsJson(const StepRecord &r) {
  std::string text;
  if (!std::isnan(r.auxLoss))
    text += ", \"aux_loss\": " + numberJson(r.auxLoss);
  if (r.expertLoads.empty())
    return text;
  text += ", \"expert_loads\": [";
  for (size_t layer = 0; layer < r.expertLoads.size(); ++layer) {
    text += layer ? ", [" : "[";
    for (size_t i = 0; i < r.expertLoads[layer].size(); ++i)
      text += format(i ? ", %lld" : "%lld", (long long)r.expertLoads[layer][i]);
    text += "]";
  }
  return text + format("], \"dropped\": %lld", (long long)r.dropped);
}

/// Returns the columns of experts, or their header.
static std::string expertColumns(const StepRecord &r, bool isHeader) {
  std::string text;
  if (!std::isnan(r.auxLoss))
    text += isHeader ? "  aux loss " : format("%10.6f ", r.auxLoss);
  auto [most, least] = r.loadRange();
  if (!std::isnan(most))
    text += isHeader ? "     loads " : format("%5.2f-%-5.2f", least, most);
  return text;
}

static std::string stepJson(const StepRecord &r) {
  return format("{\"event\": \"step\", \"step\": %lld, \"loss\": %s, "
                "\"grad_norm\": %s, \"lr\": %s, \"ms\": %.3f, "
                "\"tokens\": %s, \"tokens_per_second\": %.1f, \"mfu\": %s, "
                "\"memory_bytes\": %lld, \"slowest_rank\": %d, "
                "\"data_position\": %lld, \"skipped\": %s, \"undone\": %s%s}",
                (long long)r.step, numberJson(r.loss).c_str(),
                numberJson(r.gradNorm).c_str(), numberJson(r.lr).c_str(),
                r.seconds * 1e3, numberJson(r.tokens).c_str(),
                r.tokensPerSecond, numberJson(r.mfu, "%.4f").c_str(),
                (long long)r.memoryBytes, r.slowestRank,
                (long long)r.dataPosition, r.isSkipped ? "true" : "false",
                r.isUndone ? "true" : "false", expertsJson(r).c_str());
}

/// Formats a number in a column, or a dash if the program does not give it.
static std::string column(bool isThere, const char *pattern, double value,
                          int width) {
  char text[64];
  snprintf(text, sizeof(text), pattern, value);
  return isThere ? text : format("%*s", width, "-");
}

/// Describes a step that changed nothing; empty for any other.
static const char *describeSkip(const StepRecord &r) {
  if (r.isUndone)
    return "  undone";
  if (!r.overflow.empty())
    return "  skipped: experts have too little room";
  return r.isSkipped && r.scalesLoss ? "  skipped: the gradients overflow" : "";
}

void StepLog::step(const StepRecord &r) {
  if (!isFirst)
    return;
  if (isJson()) {
    printf("%s\n", stepJson(r).c_str());
    fflush(stdout);
    return;
  }
  if (options.quiet)
    return;
  if (!isTraining || options.rehearsal.isAsked) {
    fprintf(out, "step %lld of %lld: %.2f ms\n", (long long)r.step,
            (long long)options.steps, r.seconds * 1e3);
    return;
  }
  if (!hasHeader)
    fprintf(out, "%7s %11s %11s %10s %10s %10s %5s %11s %s %s\n", "step",
            "loss", "grad norm", "lr", "ms", "tokens/s", "MFU", "memory",
            expertColumns(r, /*isHeader=*/true).c_str(), "slowest");
  hasHeader = true;
  std::string mfu = std::isnan(r.mfu) ? "N/A" : format("%.1f%%", r.mfu * 100);
  fprintf(
      out, "%7lld %s %s %s %10.2f %10s %5s %11s %s rank %d", (long long)r.step,
      column(r.hasLoss, "%11.6f", r.loss, 11).c_str(),
      column(r.hasGradNorm, "%11.5f", r.gradNorm, 11).c_str(),
      column(!std::isnan(r.lr), "%10.3e", r.lr, 10).c_str(), r.seconds * 1e3,
      column(r.tokensPerSecond > 0, "%10.0f", r.tokensPerSecond, 10).c_str(),
      mfu.c_str(), readableBytes(r.memoryBytes).c_str(),
      expertColumns(r, /*isHeader=*/false).c_str(), r.slowestRank);
  fprintf(out, "%s\n", describeSkip(r));
  fflush(out);
}

void StepLog::evaluation(int64_t step, double loss, int64_t batches,
                         double seconds) {
  if (!isFirst)
    return;
  if (isJson())
    printf("{\"event\": \"eval\", \"step\": %lld, \"loss\": %s, \"batches\": "
           "%lld, \"ms\": %.3f}\n",
           (long long)step, numberJson(loss).c_str(), (long long)batches,
           seconds * 1e3);
  else if (!options.quiet)
    fprintf(out, "eval after step %lld: loss %.6f over %lld batches\n",
            (long long)step, loss, (long long)batches);
  fflush(out);
}

void StepLog::memory(int64_t steps) {
  if (!isFirst || (options.quiet && !isJson()))
    return;
  MemoryReport report = reportMemory(ctx, manifest);
  const MemoryUse &use = report.measured;
  int64_t other = use.privateBytes - use.privateAtStart - use.scratchBytes;
  if (isJson())
    printf("{\"event\": \"memory\", \"step\": %lld, \"planned_bytes\": %lld, "
           "\"measured_bytes\": %lld}\n",
           (long long)steps, (long long)report.planned,
           (long long)report.ofTheStep());
  else
    fprintf(out,
            "memory per rank after %lld step%s: plan %s, measured %s (arena "
            "%s, library scratch at most %s, other %s) above an empty "
            "program's %s\n",
            (long long)steps, steps == 1 ? "" : "s",
            readableBytes(report.planned).c_str(),
            readableBytes(report.ofTheStep()).c_str(),
            readableBytes(use.arenaBytes).c_str(),
            readableBytes(use.scratchBytes).c_str(),
            readableBytes(std::max<int64_t>(other, 0)).c_str(),
            readableBytes(use.privateAtStart).c_str());
  fflush(out);
}

/// Formats "12.3 %", or that it is not known.
static std::string percent(double part) {
  return std::isfinite(part) ? format("%.1f %%", part * 100) : "N/A";
}

static std::string pipelineJson(int64_t steps, const PipelineFacts &facts,
                                int64_t ranks, const PipelineReport &report,
                                bool isShared) {
  return format("{\"event\": \"pipeline\", \"step\": %lld, \"schedule\": %s, "
                "\"pp_ranks\": %lld, \"micro_batches\": %lld, "
                "\"bubble_predicted\": %s, \"bubble_from_tasks\": %s, "
                "\"bubble_measured\": %s, \"seconds_from_tasks\": %s, "
                "\"seconds_measured\": %s, \"slowest_pp_rank\": %d, "
                "\"shares_processors\": %s}",
                (long long)steps, quoteJson(facts.schedule).c_str(),
                (long long)ranks, (long long)facts.microBatches,
                numberJson(facts.bubble).c_str(),
                numberJson(report.fromTasks.bubble()).c_str(),
                numberJson(report.measured.bubble()).c_str(),
                numberJson(report.fromTasks.makespan).c_str(),
                numberJson(report.measured.makespan).c_str(), report.slowest,
                isShared ? "true" : "false");
}

void StepLog::pipeline(int64_t steps, const PipelineReport &report) {
  if (!isFirst || (options.quiet && !isJson()))
    return;
  const PipelineFacts &facts = manifest.pipeline;
  // Sleeping ranks need no processor.
  bool isShared = ctx->sharesProcessors && !options.rehearsal.isAsked;
  int64_t ranks = manifest.stageAxis.size;
  if (isJson()) {
    printf("%s\n", pipelineJson(steps, facts, ranks, report, isShared).c_str());
    fflush(stdout);
    return;
  }
  fprintf(out,
          "pipeline: %s, %lld pp ranks, %lld micro-batches: bubble predicted "
          "%s",
          facts.schedule.c_str(), (long long)ranks,
          (long long)facts.microBatches, percent(facts.bubble).c_str());
  if (report.slowest >= 0)
    fprintf(out, ", from measured tasks %s, measured %s%s; slowest pp rank %d",
            percent(report.fromTasks.bubble()).c_str(),
            percent(report.measured.bubble()).c_str(),
            isShared ? " (meaningless: ranks share processors)" : "",
            report.slowest);
  fputc('\n', out);
  fflush(out);
}

void StepLog::remark(int64_t step, const std::string &text) {
  if (!isFirst)
    return;
  if (isJson())
    printf("{\"event\": \"remark\", \"step\": %lld, \"text\": %s}\n",
           (long long)step, quoteJson(text).c_str());
  else if (!options.quiet)
    fprintf(out, "remark: step %lld: %s\n", (long long)step, text.c_str());
  fflush(out);
}
