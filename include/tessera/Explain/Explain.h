//===- Explain.h - Ideas of distributed training, computed ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explains a topic by tables for a model, sizes and a cluster. The numbers come
// from the planner's own functions where it has them; what it has not, such as
// the steps of a ring, runs on small integers and is checked.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_EXPLAIN_EXPLAIN_H
#define TESSERA_EXPLAIN_EXPLAIN_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Planning/Subject.h"
#include "tessera/Report/Document.h"

namespace tessera {

/// The model of an explanation: a model of share/models or a file, or sizes
/// that replace its own.
struct ExplainedModel {
  Subject subject;
  std::string name;
  double parameters = 0;
  /// Parameters that a token uses: with experts, those of its own.
  double active = 0;
  int64_t layers = 0, hidden = 0;
  /// False if sizes were replaced: the planner then has no graph to price.
  bool isWhole = true;
};

/// Reads a model: a file, or a name of share/models.
llvm::Expected<ExplainedModel> readExplainedModel(llvm::StringRef value);

/// The sizes that a topic is explained with.
struct ExplainSizes {
  ExplainedModel model;
  ClusterSpec cluster;
  /// Precision, type of gradients, optimizer, sequence, micro-batch, and the
  /// sizes of tp and pp.
  cost::ExecutedPlan plan;
  /// Devices; none: the topic's own number.
  std::optional<int64_t> ranks;
  /// Micro-batches of a step; none: the topic's own number.
  std::optional<int64_t> microBatches;
  /// Tokens of a run, dollars for a device and hour, the share of the peak that
  /// the run reaches, and bytes of a tensor.
  double tokens = 2e12, price = 2, mfu = 0.4, bytes = 4e9;
};

/// A topic of `tessera explain`.
struct ExplainTopic {
  llvm::StringRef name;
  /// One line.
  llvm::StringRef summary;
  llvm::Expected<DocumentSection> (*make)(const ExplainSizes &sizes);
};

/// All topics, in the order in which one learns them.
llvm::ArrayRef<ExplainTopic> getExplainTopics();

/// Explains a topic: a section "explain". Fails for an unknown topic, with the
/// one that is meant, and for sizes that the topic cannot show.
llvm::Expected<DocumentSection> explainTopic(llvm::StringRef name,
                                             const ExplainSizes &sizes);

/// Prints such a section: of tables with choices the rows of the sizes that
/// were asked for.
void printExplanation(const DocumentSection &section, llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_EXPLAIN_EXPLAIN_H
