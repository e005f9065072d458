//===- Tokens.h - Token data ------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The source of tokens and labels: the bytes of a text, a flat file of ids, or
// made-up ids. Batches follow each other in the data and wrap around at its
// end.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_TOKENS_H
#define TESSERA_RT_SRC_TOKENS_H

#include "Manifest.h"
#include "Npy.h"
#include "Options.h"

namespace tessera::rt {

class TokenSource {
public:
  /// Opens what the options name. Returns a message, or nothing.
  std::string open(const Options &options);
  bool isOpen() const { return kind != None; }

  /// Writes tokens `first` .. first + count - 1 of row `row` of the batch of
  /// step `step`; labels are the same one position later. Returns a message
  /// when the data is too short or an id is not below value.vocab.
  std::string fill(const Value &value, int64_t step, int64_t row, int64_t first,
                   int64_t count, void *out) const;

private:
  int64_t tokens() const { return file.size() / width; }
  int64_t token(int64_t index, int64_t vocab) const;

  enum { None, File, MadeUp } kind = None;
  int64_t width = 1;
  MappedFile file;
  std::string path;
  uint64_t key = 0;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_TOKENS_H
