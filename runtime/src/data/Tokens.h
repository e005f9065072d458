//===- Tokens.h - Token data ------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The source of tokens and labels: the bytes of a text, a flat file of ids, or
// random ids.
//
// The data is split into sequences of the program's length L. Sequence i is the
// tokens iL .. iL + L - 1; its labels are the tokens one position later. The
// remainder at the end is not read. Starts of documents are positions in the
// sequence: a document that began in the sequence before starts at 0. A batch
// is the next B sequences, whatever the number of ranks and micro-batches: row
// r of a batch, counted over all dimensions but the last, is its r-th sequence.
// After the last sequence the data restarts at the first. Held-out sequences
// are the last ones; no batch of training has any of them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_TOKENS_H
#define TESSERA_RT_SRC_TOKENS_H

#include "Inputs.h"
#include "Manifest.h"
#include "Npy.h"
#include "Weights.h"
#include "checkpoint/Reader.h"
#include "run/Options.h"
#include "support/ThreadPool.h"

#include <memory>

namespace tessera::rt {

/// The common shape of a program's tokens and labels.
struct BatchShape {
  /// Sequences of a batch; 0: the program takes no data.
  int64_t rows = 0;
  /// Tokens of a sequence.
  int64_t length = 0;
  /// Ids are less than this; 0: not known.
  int64_t vocab = 0;
  /// Tokens after a sequence that its labels reach.
  int64_t ahead = 1;
};

/// Finds the shape of `values`. Returns a message if they differ.
std::string findBatchShape(const std::vector<const Value *> &values,
                           BatchShape &shape);

/// One file, or random ids, split into sequences.
class TokenSource {
public:
  /// Opens a file; `dataFormat` is as in Options, or empty. Returns a message,
  /// or nothing.
  std::string openFile(const std::string &path, const std::string &dataFormat,
                       const BatchShape &shape);
  /// Generates an endless sequence of ids from a seed.
  void makeUp(uint64_t seed, const BatchShape &shape);
  bool isOpen() const { return kind != None; }

  /// Holds the last `count` sequences out of training. Returns a message if
  /// less than one batch is left.
  std::string holdOut(int64_t count);

  /// Number of sequences for training, and of held-out ones.
  int64_t training() const { return sequences - held; }
  int64_t heldOut() const { return held; }
  const std::string &name() const { return path; }
  /// Bytes of the file, for a comparison between ranks; 0: there is none.
  int64_t fileSize() const { return file.size(); }

  /// True if a batch that begins with sequence `first` (counted from the start
  /// of the run's data) is the first to read a sequence again.
  bool wrapsIn(int64_t first) const;

  /// Writes tokens `begin` .. begin + count - 1 of sequence `sequence` of the
  /// data, counted modulo training(), or of the held-out sequence of that
  /// number. The role of `value` chooses between tokens, labels and starts. The
  /// ids must have passed check.
  void fill(const Value &value, bool isHeldOut, int64_t sequence, int64_t begin,
            int64_t count, void *out) const;

  /// Checks all ids of `count` sequences from `first` on and of the held-out
  /// sequences. Returns a message about the first id outside the vocabulary, or
  /// nothing.
  std::string check(ThreadPool &pool, int64_t first, int64_t count) const;

private:
  int64_t token(int64_t index) const;
  int64_t startOf(int64_t eod, int64_t first, int64_t position) const;
  std::string checkRange(ThreadPool &pool, int64_t begin, int64_t end) const;

  enum { None, File, MadeUp } kind = None;
  int64_t width = 1;
  MappedFile file;
  std::string path;
  uint64_t key = 0;
  BatchShape shape;
  int64_t sequences = 0, held = 0;
};

/// Consecutive sequences of a source.
struct Batch {
  const TokenSource &source;
  int64_t first = 0;
  /// True if the sequences are in the source's held-out part.
  bool isHeldOut = false;
};

/// The source of a run's data, for manifests: a path, or a seed.
std::string describeData(const Options &options);

/// The data that a run reads.
struct RunData {
  /// The checkpoint that the run begins with; null if there is none.
  std::unique_ptr<CheckpointReader> checkpoint;
  /// True if it is one of this run: nothing else gives parameters or state.
  bool isResumed = false;
  InputFolder inputs;
  WeightFiles weights;
  BatchShape shape;
  TokenSource source;
  /// Data of --eval-data; not open if evaluation uses the held-out part of
  /// `source`.
  TokenSource evaluation;

  /// Opens the files of the options and checks their length. `values` are the
  /// tokens and labels that come from them. Returns a message, or nothing.
  std::string open(const Options &options,
                   const std::vector<const Value *> &values);
  /// Checks all ids that the run will read.
  std::string check(const Options &options, ThreadPool &pool) const;

  /// Steps that parameters and state have been through before this run, and the
  /// number from which its steps are counted: these steps with --checkpoint,
  /// else 0.
  int64_t stepsBefore = 0, numberBefore = 0;
  /// The sequence with which this run begins, and that with which the first run
  /// of its checkpoints did.
  int64_t beginPosition = 0, dataBegin = 0;

  /// Sets the numbers above, once the files are open.
  void findPosition(const Options &options);
  /// The sequence that follows `steps` steps of this run.
  int64_t position(int64_t steps) const {
    return beginPosition + steps * shape.rows;
  }
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_TOKENS_H
