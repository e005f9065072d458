//===- Options.h - Command line of a program --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options of a compiled program, and the text of --help. OptionTable.cpp
// has the rows.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_OPTIONS_H
#define TESSERA_RT_SRC_OPTIONS_H

#include "data/Manifest.h"
#include "ranks/Agreement.h"
#include "support/Timeouts.h"

#include <string>
#include <vector>

namespace tessera::rt {

/// Values of --rehearse: seconds of 1/p of the model, and of a transfer.
struct Rehearsal {
  bool isAsked = false;
  double forward = 0, inputGrad = 0, weightGrad = 0, link = 0;
};

/// Value of --serve: the descriptors of tessera_serve.h.
struct ServeDescriptors {
  int socket = -1, memory = -1;

  bool areGiven() const { return socket >= 0; }
};

struct Options {
  enum Report { Text, JsonLine };
  enum Log { TextLog, JsonLog };
  /// Reaction to a loss or a gradient norm that is NaN.
  enum OnNan { Stop, Skip };

  /// 0: not given.
  int ranks = 0;
  int threads = 0;
  int64_t steps = 1;
  uint64_t seed = 0;
  Timeouts timeouts;
  /// Bytes that a rank may use; 0: no limit.
  int64_t memoryLimit = 0;
  /// Failures in a row after which all ranks are started anew.
  int64_t restarts = 0;
  /// Ranks that this process starts on its node, and the node; 0 and -1: not
  /// given.
  int localRanks = 0, node = -1;
  /// A folder or HOST:PORT by which nodes find each other, the file of their
  /// key, and the interface that they use; empty: not given.
  std::string rendezvous, key, interface;

  std::string data, dataFormat, inputs, weights, evalData;
  bool randomData = false;
  /// Parameters and state that `inputs` and `weights` lack are initialized as
  /// without these options.
  bool initMissing = false;
  /// Number of the sequence with which the first batch begins; -1: not given.
  int64_t dataPosition = -1;
  /// Steps between evaluations; 0: never.
  int64_t evalEvery = 0;
  int64_t evalBatches = 4;
  OnNan onNan = Stop;

  std::string saveOutputs, saveInitial, saveFinal, saveWeights, compare;

  /// Folder of the run's checkpoints; empty: none.
  std::string checkpoint;
  /// A checkpoint, or a folder of them, that a run begins with.
  std::string load;
  /// True if only parameters are taken from it.
  bool loadsParametersAlone = false;
  /// Time between checkpoints: so many steps, so many seconds, or, if both are
  /// 0, what loses least.
  int64_t checkpointSteps = 0;
  double checkpointSeconds = 0;
  /// Device-hours between two failures. The default is that of the training of
  /// Llama 3 (arXiv:2407.21783, section 3.3.4): 419 failures in 54 days of
  /// 16,384 devices.
  double deviceHoursToFailure = 50700;
  /// Bytes of each rank's ring; 0: all that it writes.
  int64_t checkpointMemory = 0;
  /// The newest checkpoints that stay, and those of each step that this number
  /// divides; 0: of none.
  int64_t keep = 2, keepEvery = 0;
  /// Steps between comparisons of replicas; 0: never.
  int64_t checkReplicas = 0;
  /// File for the actions of the last step; empty: none.
  std::string trace;
  Rehearsal rehearsal;
  ServeDescriptors serve;
  Log log = TextLog;
  Report report = Text;
  bool quiet = false, help = false, printManifest = false;

  // Options of targets with devices.
  /// Choice of algorithms for matmuls; see TuneOptions.
  enum Tune { TuneOff, TuneCache, TuneOn };
  Tune tune = TuneCache;
  /// File that keeps the choices; empty: a file next to the program.
  std::string tuneFile;
  bool tf32 = false, deterministic = false;
  /// True if steps are not recorded as a graph.
  bool noGraph = false;
  /// The most nodes of a graph; a larger step is enqueued instead.
  int maxGraphNodes = 100000;
  /// Several ranks may use one device.
  bool shareDevice = false;
  /// Ranks simulated in one process; 0: every rank is a process.
  int simulateRanks = 0;
};

/// Reads the command line. Returns false and a message at the first mistake.
bool parseOptions(int argc, char **argv, Options &options, std::string &error);

/// Returns the options, with their values, that must be equal on all ranks.
/// Most are: see OptionSpec::mayDiffer.
std::vector<Fact> comparedOptions(const Options &options);

/// The text of --help.
std::string helpText(const char *program, const Manifest &manifest);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_OPTIONS_H
