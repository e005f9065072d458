//===- Arguments.cpp - Filling arguments ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Arguments.h.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "Floats.h"
#include "PageWriter.h"
#include "ShardRuns.h"
#include "kernels/CpuKernels.h"
#include "support/Random.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <sys/mman.h>

using namespace tessera::rt;

/// Runs body(run, block) over all runs of this rank's block, on all threads.
template <typename Body>
static void forEachRun(tessera_rt_context *ctx, const Value &value,
                       Body &&body) {
  ShardRuns runs(value, ctx->rank);
  uint8_t *block = ctx->arena() + value.offsetOn(ctx->rank);
  int64_t size = dtypeSize(value.dtype);
  ctx->pool->forEach(runs.size(), [&](int64_t index, int) {
    ShardRuns::Run run = runs[index];
    body(run, block + run.local * size);
  });
}

/// Returns the number of elements at the block's start that the runs cover
/// without a gap, or -1 if more elements follow a gap.
static int64_t countDense(const ShardRuns &runs) {
  int64_t filled = 0;
  for (int64_t i = 0; i < runs.size(); ++i) {
    ShardRuns::Run run = runs[i];
    if (run.length > 0 && run.local != filled)
      return -1;
    filled += run.length;
  }
  return filled;
}

/// Clips a run to a range of its block's elements.
static ShardRuns::Run clipRun(ShardRuns::Run run, const ByteRange &elements) {
  int64_t first =
      std::clamp<int64_t>(elements.begin - run.local, 0, run.length);
  int64_t last =
      std::clamp<int64_t>(elements.end - run.local, first, run.length);
  return {run.global + first, run.local + first, last - first};
}

/// Populates the pages of a range of the arena with one system call instead of
/// one fault each, and zeroes its bytes if `isZeroed`. Without that system
/// call, faults populate the pages later.
static void prepareRange(tessera_rt_context *ctx, const ByteRange &range,
                         bool isZeroed) {
#ifdef MADV_POPULATE_WRITE
  int64_t page = PagePlacer::pageBytes, begin = range.begin / page * page;
  madvise(ctx->arena() + begin, size_t(range.end - begin), MADV_POPULATE_WRITE);
#endif
  if (isZeroed)
    memset(ctx->arena() + range.begin, 0, size_t(range.end - range.begin));
}

/// Places the pages of a block's elements. `fill(first, count, out)` writes
/// their bytes, one run after the other.
template <typename Fill>
static void placeElements(tessera_rt_context *ctx, PagePlacer &placer,
                          const Value &value, const ShardRuns &runs,
                          const ByteRange &elements, Fill &fill) {
  // There are enough tasks to balance the threads. Each task writes the partly
  // filled pages at its ends by itself.
  constexpr int64_t taskBytes = 4 << 20;
  int64_t size = dtypeSize(value.dtype);
  int64_t tasks = std::clamp<int64_t>(value.bytes / taskBytes, 1, runs.size());
  uint8_t *block = ctx->arena() + value.offsetOn(ctx->rank);
  ctx->pool->forEach(tasks, [&](int64_t task, int thread) {
    std::optional<PageWriter> writer;
    int64_t end = runs.size() * (task + 1) / tasks;
    for (int64_t index = runs.size() * task / tasks; index < end; ++index) {
      ShardRuns::Run run = clipRun(runs[index], elements);
      if (!writer && run.length > 0)
        writer.emplace(placer, thread, block + run.local * size);
      while (run.length > 0) {
        int64_t some =
            std::min<int64_t>(run.length, int64_t(writer->room()) / size);
        fill(run.global, some, writer->next());
        writer->advance(size_t(some * size));
        run.global += some;
        run.length -= some;
      }
    }
    if (writer)
      writer->finish();
  });
}

/// Destination of the arguments: the host's arena, or a buffer on the way to
/// the program's arena.
struct Filling {
  tessera_rt_context *ctx;
  PagePlacer placer;
  /// Null if the host's arena is the program's.
  std::unique_ptr<PartSender> sender;

  explicit Filling(tessera_rt_context *ctx)
      : ctx(ctx), placer(ctx->pool->size()) {}
};

/// Fills this rank's block part by part, as fillBlock does, and sends it.
template <typename Fill>
static Status sendBlock(tessera_rt_context *ctx, PartSender &sender,
                        const Value &value, const ShardRuns &runs, Fill &fill) {
  constexpr int64_t taskBytes = 256 << 10;
  int64_t size = dtypeSize(value.dtype), offset = value.offsetOn(ctx->rank);
  bool isDense = countDense(runs) * size == value.bytes;
  int64_t from = 0;
  for (int64_t begin = 0; begin < value.bytes; begin += sender.partBytes()) {
    if (ctx->memory.control->aborted.load())
      return TESSERA_RT_ABORTED;
    int64_t bytes = std::min(sender.partBytes(), value.bytes - begin);
    ByteRange elements{begin / size, (begin + bytes) / size};
    uint8_t *part = nullptr;
    if (Status status = sender.next(part))
      return status;
    if (!isDense)
      memset(part, 0, size_t(bytes));
    // Runs are in the order of the block, except for empty ones, which may be
    // anywhere.
    int64_t to = from, last = from;
    for (; to < runs.size(); ++to) {
      ShardRuns::Run run = runs[to];
      if (run.length > 0 && run.local >= elements.end)
        break;
      if (run.length > 0)
        last = to;
    }
    int64_t tasks = std::clamp<int64_t>(bytes / taskBytes, 1, to - from + 1);
    ctx->pool->forEach(tasks, [&](int64_t task, int) {
      int64_t end = from + (to - from) * (task + 1) / tasks;
      for (int64_t i = from + (to - from) * task / tasks; i < end; ++i) {
        ShardRuns::Run run = clipRun(runs[i], elements);
        if (run.length > 0)
          fill(run.global, run.length,
               part + (run.local - elements.begin) * size);
      }
    });
    if (Status status = sender.send({offset + begin, bytes}))
      return status;
    // A run may continue in the next part.
    from = last;
  }
  return TESSERA_RT_OK;
}

/// Fills this rank's share of its block. `fill(first, count, out)` writes
/// elements that are consecutive in the logical shape. The padding is zeros.
template <typename Fill>
static Status fillBlock(Filling &filling, const Value &value, Fill &&fill) {
  tessera_rt_context *ctx = filling.ctx;
  PagePlacer &placer = filling.placer;
  ShardRuns runs(value, ctx->rank);
  if (filling.sender)
    return sendBlock(ctx, *filling.sender, value, runs, fill);
  int64_t size = dtypeSize(value.dtype), offset = value.offsetOn(ctx->rank);
  int64_t dense = countDense(runs);
  for (const ByteRange &range :
       ctx->memory.rangesToFill(ctx->rank, {offset, offset + value.bytes})) {
    ByteRange elements{(range.begin - offset) / size,
                       (range.end - offset) / size};
    if (placer.isOpen() && dense > 0) {
      placeElements(ctx, placer, value, runs, elements, fill);
      int64_t padding = std::max(range.begin, offset + dense * size);
      if (padding < range.end)
        prepareRange(ctx, {padding, range.end}, /*isZeroed=*/true);
      continue;
    }
    prepareRange(ctx, range, dense * size < value.bytes);
    ctx->pool->forEach(runs.size(), [&](int64_t index, int) {
      ShardRuns::Run run = clipRun(runs[index], elements);
      if (run.length > 0)
        fill(run.global, run.length, ctx->arena() + offset + run.local * size);
    });
  }
  return TESSERA_RT_OK;
}

static Status initialise(Filling &filling, const Value &value, uint64_t seed) {
  uint64_t key = randomKey(seed, value.of.empty() ? value.name : value.of);
  float mean = float(value.init.first), second = float(value.init.second);
  auto fill = [&](int64_t first, int64_t length, uint8_t *out) {
    constexpr int64_t chunk = 4096;
    float values[chunk];
    bool direct = value.dtype == TESSERA_RT_F32;
    for (int64_t begin = 0; begin < length; begin += chunk) {
      int64_t count = std::min(chunk, length - begin);
      float *target = direct ? reinterpret_cast<float *>(out) + begin : values;
      if (value.init.kind == Initialiser::Normal)
        cpuKernels().normal(key, first + begin, count, mean, second, target);
      else if (value.init.kind == Initialiser::Uniform)
        cpuKernels().uniform(key, first + begin, count, mean, second, target);
      else
        std::fill(target, target + count, mean);
      if (!direct)
        convertFloats(values, value.dtype, out + begin * dtypeSize(value.dtype),
                      count);
    }
  };
  return fillBlock(filling, value, fill);
}

/// Copies this rank's block out of a .npy file. bf16 and f16 are rounded from
/// f32.
static Status loadFile(Filling &filling, const Value &value,
                       const InputFolder &inputs, const std::string &name) {
  NpyArray array;
  std::string error = inputs.load(name, array);
  if (error.empty())
    error = checkArray(value, array);
  if (!error.empty())
    return fail(filling.ctx, TESSERA_RT_INVALID, error);
  bool rounded = array.dtype != value.dtype;
  int64_t size = dtypeSize(array.dtype);
  auto fill = [&](int64_t first, int64_t length, uint8_t *out) {
    const uint8_t *source = array.elements + first * size;
    if (rounded) {
      // The file's data may be unaligned.
      constexpr int64_t chunk = 4096;
      float values[chunk];
      for (int64_t i = 0; i < length; i += chunk) {
        int64_t count = std::min(chunk, length - i);
        memcpy(values, source + i * 4, size_t(count) * 4);
        convertFloats(values, value.dtype, out + i * 2, count);
      }
      return;
    }
    memcpy(out, source, size_t(length * size));
  };
  return fillBlock(filling, value, fill);
}

/// Copies this rank's block out of a file of weights.
static Status loadWeights(Filling &filling, const Value &value,
                          const WeightFiles &weights) {
  const WeightView &view = *weights.find(value);
  auto fill = [&](int64_t first, int64_t length, uint8_t *out) {
    readElements(view, value.logicalShape, value.dtype, first, length, out);
  };
  return fillBlock(filling, value, fill);
}

/// The tensor of the run's checkpoint that an argument begins with; null if it
/// begins with something else.
static const Value *findSaved(const RunData &data, const Options &options,
                              const Value &value) {
  return data.checkpoint &&
                 isTaken(value, options.loadsParametersAlone && !data.isResumed)
             ? data.checkpoint->find(value.name)
             : nullptr;
}

/// Copies this rank's block out of a checkpoint.
static Status loadSaved(Filling &filling, const Value &value,
                        const CheckpointReader &checkpoint,
                        const Value &tensor) {
  std::mutex mutex;
  std::string error;
  auto fill = [&](int64_t first, int64_t length, uint8_t *out) {
    std::string fault = checkpoint.read(tensor, first, length, out);
    if (fault.empty())
      return;
    std::lock_guard<std::mutex> guard(mutex);
    error = fault;
  };
  Status status = fillBlock(filling, value, fill);
  if (!error.empty())
    return fail(filling.ctx, statusOfFailure(error), error);
  return status;
}

/// True if an argument is all zeros under these options. Requests give those
/// that have no initialiser.
static bool isZeros(const RunData &data, const Options &options,
                    const Value &value) {
  bool isRequested = options.serve.areGiven() &&
                     (isData(value) || value.init.kind == Initialiser::None);
  bool isInitZero = !isData(value) && value.init.kind == Initialiser::Zeros;
  return (isRequested || isInitZero) && !findSaved(data, options, value) &&
         data.inputs.fileOf(value).empty() && !data.weights.find(value);
}

/// Zeroes this rank's block of tokens, which arrive later in the host's arena;
/// its padding stays zero.
static Status prepareTokens(tessera_rt_context *ctx, const Options &options,
                            const Value &value) {
  if (options.data.empty() && !options.randomData)
    return fail(ctx, TESSERA_RT_INVALID,
                "argument '" + value.name +
                    "' needs tokens: expects --data FILE, --random-data, or "
                    "--inputs DIR with its file");
  int64_t offset = value.offsetOn(ctx->rank);
  prepareRange(ctx, {offset, offset + value.bytes}, /*isZeroed=*/true);
  return ctx->target->send(value.blockOn(ctx->rank));
}

/// Fills this rank's block of one argument that persists between steps and is
/// not all zeros.
static Status fillArgument(Filling &filling, const Options &options,
                           const RunData &data, const Value &value) {
  if (const Value *tensor = findSaved(data, options, value))
    return loadSaved(filling, value, *data.checkpoint, *tensor);
  // A master copy in --inputs is newer than its parameter in --weights.
  std::string file = data.inputs.fileOf(value);
  if (!file.empty())
    return loadFile(filling, value, data.inputs, file);
  if (data.weights.find(value))
    return loadWeights(filling, value, data.weights);
  if (isData(value))
    return prepareTokens(filling.ctx, options, value);
  if (value.init.kind == Initialiser::None)
    return fail(filling.ctx, TESSERA_RT_INVALID,
                "argument '" + value.name +
                    "' has no initialiser: expects --inputs DIR with '" +
                    value.name + ".npy'");
  return initialise(filling, value, options.seed);
}

/// Warns if all parameters begin with zeros: results then say nothing of the
/// model, and no gradient differs from zero.
static void warnOfZeros(const Manifest &manifest, const Options &options,
                        const RunData &data) {
  size_t params = 0;
  for (const Value &value : manifest.arguments) {
    if (value.role != Role::Param)
      continue;
    if (!isZeros(data, options, value))
      return;
    ++params;
  }
  if (params)
    fprintf(stderr,
            "tessera: warning: all parameters (%zu) begin with zeros: expects "
            "--weights FILE or --inputs DIR with their values (python3 -m "
            "tessera import writes them with --weights-out)\n",
            params);
}

Status tessera::rt::fillArguments(tessera_rt_context *ctx,
                                  const Manifest &manifest,
                                  const Options &options, const RunData &data) {
  Filling filling(ctx);
  if (Status status = ctx->target->createPartSender(filling.sender))
    return status;
  if (ctx->rank == 0 && !options.serve.areGiven())
    warnOfZeros(manifest, options, data);
  double begin = monotonicSeconds(), shown = begin;
  for (size_t i = 0; i < manifest.arguments.size(); ++i) {
    if (ctx->memory.control->aborted.load())
      return TESSERA_RT_ABORTED;
    const Value &value = manifest.arguments[i];
    if (!value.isOn(ctx->rank) || value.role == Role::Control)
      continue;
    Status status = isZeros(data, options, value)
                        ? ctx->target->clear(value.blockOn(ctx->rank))
                        : fillArgument(filling, options, data, value);
    if (status)
      return status;
    double now = monotonicSeconds();
    if (ctx->rank == 0 && !options.quiet && now - shown > 2) {
      fprintf(stderr, "arguments: %zu of %zu filled, %.1f s\n", i + 1,
              manifest.arguments.size(), now - begin);
      shown = now;
    }
  }
  return setLimits(ctx, manifest, std::numeric_limits<float>::infinity());
}

Status tessera::rt::setLimits(tessera_rt_context *ctx, const Manifest &manifest,
                              float limit) {
  for (const Value &value : manifest.arguments) {
    if (value.role != Role::Control || !value.isOn(ctx->rank))
      continue;
    ArenaBlock block = value.blockOn(ctx->rank);
    memcpy(ctx->arena() + block.offset, &limit, sizeof(limit));
    if (Status status = ctx->target->send(block))
      return status;
  }
  return TESSERA_RT_OK;
}

std::vector<const Value *>
tessera::rt::dataArguments(const Manifest &manifest,
                           const InputFolder &inputs) {
  std::vector<const Value *> values;
  for (const Value &value : manifest.arguments)
    if (isData(value) && inputs.fileOf(value).empty())
      values.push_back(&value);
  return values;
}

Status tessera::rt::fillTokens(tessera_rt_context *ctx,
                               const Manifest &manifest,
                               const InputFolder &inputs, const Batch &batch) {
  for (const Value *value : dataArguments(manifest, inputs)) {
    if (!value->isOn(ctx->rank))
      continue;
    ArenaBlock block = value->blockOn(ctx->rank);
    // The program may have reused the block, padding included.
    memset(ctx->arena() + block.offset, 0, size_t(block.bytes));
    int64_t length = value->shape.back(), size = dtypeSize(value->dtype);
    forEachRun(ctx, *value, [&](const ShardRuns::Run &run, uint8_t *out) {
      // A run may span rows.
      for (int64_t i = 0; i < run.length;) {
        int64_t at = run.global + i;
        int64_t count = std::min(length - at % length, run.length - i);
        batch.source.fill(*value, batch.isHeldOut, batch.first + at / length,
                          at % length, count, out + i * size);
        i += count;
      }
    });
    if (Status status = ctx->target->send(block))
      return status;
  }
  return TESSERA_RT_OK;
}
