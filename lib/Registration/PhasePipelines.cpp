//===- PhasePipelines.cpp - The phases as named pipelines -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PhasePipelines.h"
#include "mlir/Pass/PassRegistry.h"
#include "tessera/AutoSharding/AutoSharding.h"
#include "tessera/Interfaces/Passes.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Share.h"

using namespace mlir;
using namespace tessera;

using ErrorHandler = llvm::function_ref<LogicalResult(const Twine &)>;

namespace {
/// The options of a pipeline as text.
struct TextOptions {
  PipelineOptions phases;
  AutoShardingOptions choice;
};
} // namespace

/// Parses `mesh=dp=2,tp=2` and the other options of phase plan; returns none
/// for other words.
static std::optional<LogicalResult>
parsePlanOption(StringRef word, TextOptions &text, ErrorHandler error) {
  PipelineOptions &options = text.phases;
  auto take = [&](auto parsed, auto &field) -> LogicalResult {
    if (!parsed)
      return error(llvm::toString(parsed.takeError()));
    field = std::move(*parsed);
    return success();
  };
  if (word.consume_front("mesh="))
    return take(parseMesh(word), options.layout.mesh);
  if (word.consume_front("strategy="))
    return take(parseStrategy(word), options.layout.strategy);
  if (word.consume_front("cluster="))
    return take(resolveShared("clusters", word, "cluster="), options.cluster);
  if (word.consume_front("ranks=")) {
    text.choice.ranks = parseCount(word).value_or(0);
    if (text.choice.ranks < 1)
      return error("ranks= expects a number of devices but got '" + word + "'");
    return success();
  }
  if (word.consume_front("memory-limit="))
    return take(parseMemoryLimit("memory-limit=", word),
                text.choice.memoryLimit);
  if (word.consume_front("training=")) {
    if (llvm::Error found = options.layout.plan.parse(word))
      return error(llvm::toString(std::move(found)));
    return success();
  }
  if (word != "forward")
    return std::nullopt;
  options.forward = true;
  return success();
}

static LogicalResult complete(TextOptions &options, ErrorHandler error) {
  if (llvm::Error found = options.phases.layout.complete())
    return error(llvm::toString(std::move(found)));
  return success();
}

/// Parses `partition mesh=dp=2,tp=2 strategy=dp,tp`.
static LogicalResult parseCompileTo(StringRef text, Phase &last,
                                    TextOptions &options, ErrorHandler error) {
  SmallVector<StringRef> words;
  text.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  bool hasPhase = false;
  for (StringRef word : words) {
    if (std::optional<LogicalResult> parsed =
            parsePlanOption(word, options, error)) {
      if (failed(*parsed))
        return failure();
    } else if (word.consume_front("target=")) {
      options.phases.target = word.str();
    } else if (word.consume_front("pad=")) {
      std::optional<int64_t> multiple = parseCount(word);
      options.phases.padMultiple = multiple.value_or(0);
      if (!multiple)
        return error("--compile-to expects an integer as pad but got '" + word +
                     "'");
    } else if (std::optional<Phase> phase = parsePhase(word)) {
      last = *phase;
      hasPhase = true;
    } else {
      return error("--compile-to expects a phase (" + listPhases() +
                   "), mesh=..., strategy=..., training=..., cluster=..., "
                   "ranks=..., memory-limit=..., target=..., pad=... or "
                   "forward but got '" +
                   word + "'");
    }
  }
  if (!hasPhase)
    return error("--compile-to expects a phase (" + listPhases() + ")");
  return complete(options, error);
}

/// Parses `mesh=dp=2,tp=2 strategy=dp,tp training=lr=0.5`.
static LogicalResult parsePlanOptions(StringRef text, TextOptions &options,
                                      ErrorHandler error) {
  SmallVector<StringRef> words;
  text.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    std::optional<LogicalResult> parsed = parsePlanOption(word, options, error);
    if (!parsed)
      return error("--tessera-plan expects mesh=..., strategy=..., "
                   "training=..., cluster=..., ranks=..., memory-limit=... or "
                   "forward but got '" +
                   word + "'");
    if (failed(*parsed))
      return failure();
  }
  return complete(options, error);
}

/// Adds the passes of a phase; a searched strategy is chosen first.
static void addPhase(OpPassManager &pm, Phase phase,
                     const TextOptions &options) {
  if (phase == Phase::Plan && options.phases.layout.strategy.isSearched)
    pm.addPass(createChooseShardingsPass(options.phases, options.choice));
  else
    buildPhase(pm, phase, options.phases);
}

void tessera::registerPhasePipelines() {
  registerPassPipeline(
      "tessera-plan",
      "Phase plan: the mesh, seed shardings and the plan of training: "
      "\"mesh=dp=2,tp=2 strategy=dp,tp training=lr=0.5\"",
      [](OpPassManager &pm, StringRef text, ErrorHandler error) {
        TextOptions options;
        if (failed(parsePlanOptions(text, options, error)))
          return failure();
        addPhase(pm, Phase::Plan, options);
        return success();
      },
      [](auto) {});
  for (int i = 0; i <= static_cast<int>(Phase::LLVM); ++i) {
    Phase phase = static_cast<Phase>(i);
    if (phase == Phase::Plan)
      continue;
    PassPipelineRegistration<>(
        ("tessera-" + stringifyPhase(phase)).str(),
        ("Phase " + stringifyPhase(phase)).str(), [phase](OpPassManager &pm) {
          // The input of a phase on its own comes from outside.
          if (phase == Phase::Train || phase == Phase::Propagate ||
              phase == Phase::Partition)
            pm.addPass(createVerifyInputPass());
          buildPhase(pm, phase, PipelineOptions());
        });
  }
  registerPassPipeline(
      "compile-to",
      "All phases up to one: \"partition mesh=dp=2,tp=2 strategy=dp,tp\"",
      [](OpPassManager &pm, StringRef text,
         llvm::function_ref<LogicalResult(const Twine &)> error) {
        Phase last = Phase::Input;
        TextOptions options;
        if (failed(parseCompileTo(text, last, options, error)))
          return failure();
        for (int phase = 0; phase <= static_cast<int>(last); ++phase)
          addPhase(pm, static_cast<Phase>(phase), options);
        return success();
      },
      [](auto) {});
}
