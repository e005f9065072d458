//===- Tokens.cpp - Token data --------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Tokens.h.
//
//===----------------------------------------------------------------------===//

#include "Tokens.h"

#include "Folders.h"

#include "kernels/CpuKernels.h"
#include "support/Random.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;

/// Vocabulary of random ids if the manifest gives none.
static constexpr int64_t defaultVocab = 256;

std::string
tessera::rt::findBatchShape(const std::vector<const Value *> &values,
                            BatchShape &shape) {
  for (const Value *value : values) {
    int64_t length = value->shape.back();
    int64_t rows = length > 0 ? value->elements() / length : 0;
    if (shape.rows && (rows != shape.rows || length != shape.length))
      return format("argument '%s' expects %lld sequences of %lld, as the "
                    "argument before it has, but has %lld of %lld",
                    value->name.c_str(), (long long)shape.rows,
                    (long long)shape.length, (long long)rows,
                    (long long)length);
    shape.rows = rows;
    shape.length = length;
    if (value->role == Role::Labels)
      shape.ahead = std::max(shape.ahead, value->shift);
    if (value->vocab > 0)
      shape.vocab =
          shape.vocab ? std::min(shape.vocab, value->vocab) : value->vocab;
  }
  return std::string();
}

std::string TokenSource::openFile(const std::string &path_,
                                  const std::string &dataFormat,
                                  const BatchShape &shape_) {
  path = path_;
  shape = shape_;
  std::string error = file.open(path);
  if (!error.empty())
    return error;
  if (dataFormat == "u16" || (dataFormat.empty() && endsWith(path, ".u16")))
    width = 2;
  else if (dataFormat == "u32" ||
           (dataFormat.empty() && endsWith(path, ".u32")))
    width = 4;
  if (file.size() % width != 0)
    return format("expects '%s' to hold ids of %lld bytes, but got %lld bytes",
                  path.c_str(), (long long)width, (long long)file.size());
  // The labels of the last token must be there too.
  int64_t tokens = file.size() / width;
  int64_t needed = shape.rows * shape.length + shape.ahead;
  if (tokens < needed)
    return format("expects '%s' to hold at least %lld tokens (%lld sequences "
                  "of %lld, and %s), but got %lld",
                  path.c_str(), (long long)needed, (long long)shape.rows,
                  (long long)shape.length,
                  shape.ahead == 1
                      ? "one"
                      : std::to_string((long long)shape.ahead).c_str(),
                  (long long)tokens);
  sequences = shape.length ? (tokens - shape.ahead) / shape.length : 0;
  kind = File;
  return std::string();
}

void TokenSource::makeUp(uint64_t seed, const BatchShape &shape_) {
  shape = shape_;
  key = randomKey(seed, "data");
  sequences = INT64_MAX / 4 / std::max<int64_t>(shape.length, 1);
  kind = MadeUp;
}

std::string TokenSource::holdOut(int64_t count) {
  int64_t left = sequences - shape.rows;
  if (count > left)
    return format("expects '%s' to hold at least %lld sequences of %lld: one "
                  "batch to train on, and %lld to hold out, but got %lld",
                  path.c_str(), (long long)(count + shape.rows),
                  (long long)shape.length, (long long)count,
                  (long long)sequences);
  held = count;
  return std::string();
}

bool TokenSource::wrapsIn(int64_t first) const {
  if (kind != File)
    return false;
  int64_t before = first > 0 ? (first - 1) / training() : 0;
  return (first + shape.rows - 1) / training() > before;
}

int64_t TokenSource::token(int64_t index) const {
  if (kind == MadeUp) {
    float value;
    int64_t limit = shape.vocab > 0 ? shape.vocab : defaultVocab;
    cpuKernels().uniform(key, index, 1, 0.0f, 1.0f, &value);
    return std::min(limit - 1, int64_t(double(value) * double(limit)));
  }
  const uint8_t *p = file.data() + index * width;
  uint32_t id = 0;
  memcpy(&id, p, size_t(width));
  return id;
}

/// Returns the position after the last token `eod` before `position` in the
/// sequence that begins with token `first`, or 0.
int64_t TokenSource::startOf(int64_t eod, int64_t first,
                             int64_t position) const {
  while (position > 0 && token(first + position - 1) != eod)
    --position;
  return position;
}

void TokenSource::fill(const Value &value, bool isHeldOut, int64_t sequence,
                       int64_t begin, int64_t count, void *out) const {
  sequence = isHeldOut ? training() + sequence : sequence % training();
  int64_t first =
      sequence * shape.length + (value.role == Role::Labels ? value.shift : 0);
  bool isStarts = value.role == Role::Starts;
  int64_t start = isStarts ? startOf(value.eod, first, begin) : 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t id = token(first + begin + i);
    int64_t number = isStarts ? start : id;
    if (value.dtype == TESSERA_RT_I64)
      static_cast<int64_t *>(out)[i] = number;
    else
      static_cast<int32_t *>(out)[i] = int32_t(number);
    if (id == value.eod)
      start = begin + i + 1;
  }
}

std::string TokenSource::checkRange(ThreadPool &pool, int64_t begin,
                                    int64_t end) const {
  constexpr int64_t chunk = 64 << 10;
  std::atomic<int64_t> bad{INT64_MAX};
  pool.forEach((end - begin + chunk - 1) / chunk, [&](int64_t task, int) {
    int64_t from = begin + task * chunk, to = std::min(from + chunk, end);
    for (int64_t i = from; i < to; ++i) {
      if (token(i) < shape.vocab)
        continue;
      // The message names the first bad id whatever the order of the threads.
      int64_t known = bad.load();
      while (i < known && !bad.compare_exchange_weak(known, i))
        ;
      return;
    }
  });
  if (bad.load() == INT64_MAX)
    return std::string();
  return format("expects ids below %lld, the vocabulary, in '%s', but got %lld "
                "at token %lld",
                (long long)shape.vocab, path.c_str(),
                (long long)token(bad.load()), (long long)bad.load());
}

std::string TokenSource::check(ThreadPool &pool, int64_t first,
                               int64_t count) const {
  bool fits = width == 1 && shape.vocab > 255;
  if (kind != File || shape.vocab == 0 || fits || shape.length == 0)
    return std::string();
  // Reads the tokens after the sequences, too: they are the last labels.
  auto ofSequences = [&](int64_t begin, int64_t end) {
    return begin == end ? std::string()
                        : checkRange(pool, begin * shape.length,
                                     end * shape.length + shape.ahead);
  };
  std::string error;
  first %= training();
  if (first + count <= training())
    error = ofSequences(first, first + count);
  else
    error = ofSequences(0, training());
  return error.empty() ? ofSequences(training(), sequences) : error;
}

std::string tessera::rt::describeData(const Options &options) {
  if (options.randomData)
    return format("random, seed %llu", (unsigned long long)options.seed);
  return options.data.empty() ? options.data : resolvePath(options.data);
}

void RunData::findPosition(const Options &options) {
  beginPosition = std::max<int64_t>(options.dataPosition, 0);
  if (const SavedState *saved = inputs.state())
    stepsBefore = saved->step;
  if (checkpoint && !options.loadsParametersAlone) {
    const RunPosition &saved = checkpoint->manifest().position;
    stepsBefore = saved.step;
    if (options.dataPosition < 0 && saved.data == describeData(options))
      beginPosition = saved.dataPosition;
  }
  dataBegin = beginPosition;
  if (isResumed) {
    beginPosition = checkpoint->manifest().position.dataPosition;
    dataBegin = checkpoint->manifest().position.dataBegin;
  }
  numberBefore = options.checkpoint.empty() ? 0 : stepsBefore;
}

std::string RunData::open(const Options &options,
                          const std::vector<const Value *> &values) {
  std::string error = findBatchShape(values, shape);
  if (!error.empty() || values.empty())
    return error;
  if (options.randomData)
    source.makeUp(options.seed, shape);
  else if (!options.data.empty())
    error = source.openFile(options.data, options.dataFormat, shape);
  if (!error.empty() || options.evalEvery == 0 || !source.isOpen())
    return error;
  // Too large a count is refused below.
  int64_t rows = std::max<int64_t>(shape.rows, 1);
  int64_t count = std::min(options.evalBatches, INT64_MAX / 4 / rows) * rows;
  if (options.evalData.empty())
    return source.holdOut(count);
  error = evaluation.openFile(options.evalData, options.dataFormat, shape);
  return error;
}

std::string RunData::check(const Options &options, ThreadPool &pool) const {
  if (!source.isOpen())
    return std::string();
  int64_t rows = std::max<int64_t>(shape.rows, 1);
  int64_t steps =
      std::min(options.steps - numberBefore, source.training() / rows + 1);
  std::string error = source.check(pool, beginPosition, steps * rows);
  if (!error.empty() || !evaluation.isOpen())
    return error;
  return evaluation.check(
      pool, 0, std::min(options.evalBatches, evaluation.training()) * rows);
}
