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

#include "Random.h"
#include "kernels/HotKernels.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;

/// Ids that are made up where the manifest gives no vocabulary.
static constexpr int64_t defaultVocab = 256;

static bool endsWith(const std::string &text, const char *end) {
  size_t length = strlen(end);
  return text.size() >= length &&
         text.compare(text.size() - length, length, end) == 0;
}

std::string TokenSource::open(const Options &options) {
  path = options.data;
  if (options.randomData) {
    if (!path.empty())
      return "expects --data or --random-data, but got both";
    kind = MadeUp;
    key = randomKey(options.seed, "data");
    return std::string();
  }
  if (path.empty())
    return std::string();
  std::string error = file.open(path);
  if (!error.empty())
    return error;
  std::string format_ = options.dataFormat;
  if (format_ == "u16" || (format_.empty() && endsWith(path, ".u16")))
    width = 2;
  else if (format_ == "u32" || (format_.empty() && endsWith(path, ".u32")))
    width = 4;
  if (file.size() % width != 0)
    return format("expects '%s' to hold ids of %lld bytes, but got %lld bytes",
                  path.c_str(), (long long)width, (long long)file.size());
  kind = File;
  return std::string();
}

int64_t TokenSource::token(int64_t index, int64_t vocab) const {
  if (kind == MadeUp) {
    float value;
    int64_t limit = vocab > 0 ? vocab : defaultVocab;
    hotKernels().uniform(key, index, 1, 0.0f, 1.0f, &value);
    return std::min(limit - 1, int64_t(double(value) * double(limit)));
  }
  const uint8_t *p = file.data() + index * width;
  uint32_t id = 0;
  memcpy(&id, p, size_t(width));
  return id;
}

std::string TokenSource::fill(const Value &value, int64_t step, int64_t row,
                              int64_t first, int64_t count, void *out) const {
  int64_t length = value.shape.back();
  int64_t rows = length > 0 ? value.elements() / length : 0;
  int64_t begin = (step * rows + row) * length;
  if (kind == File) {
    // A row and the label of its last token must fit.
    int64_t starts = tokens() - length;
    if (starts < 1)
      return format("expects '%s' to hold at least %lld tokens, but got %lld",
                    path.c_str(), (long long)length + 1, (long long)tokens());
    begin %= starts;
  }
  begin += first + (value.role == Role::Labels ? 1 : 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t id = token(begin + i, value.vocab);
    if (value.vocab > 0 && id >= value.vocab)
      return format(
          "expects ids below %lld in '%s', but got %lld at token %lld",
          (long long)value.vocab, path.c_str(), (long long)id,
          (long long)(begin + i));
    if (value.dtype == TESSERA_RT_I64)
      static_cast<int64_t *>(out)[i] = id;
    else
      static_cast<int32_t *>(out)[i] = int32_t(id);
  }
  return std::string();
}
