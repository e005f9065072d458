//===- Calibrate.h - Constants from measurements of a cluster ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the output of nccl-tests and a table of matmul times, which are the
// usual first measurements on a new cluster. They determine a few constants,
// and only these change: efficiency and latency of the links that a group of
// ranks spans, the rate of large matmuls, the floor of a kernel. The rest of
// the cluster file stays as it is.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_CALIBRATE_H
#define TESSERA_COST_CALIBRATE_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Cost/Work.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera::cost {

/// One measured collective: a group of `ranks` devices took `seconds`.
struct CollectiveSample {
  CollectiveKind kind;
  int64_t ranks;
  /// Bytes as in CommWork::bytes.
  double bytes;
  double seconds;
};

/// One measured matmul of operands of `type` on one device.
struct MatmulSample {
  MatmulDims dims;
  DType type;
  double seconds;
};

/// The samples of a file, in the file's order.
struct Measurements {
  std::vector<CollectiveSample> collectives;
  std::vector<MatmulSample> matmuls;
};

/// Reads a file in one of two formats.
/// * nccl-tests: the lines "#  Rank  N ..." give the ranks. The name of the
///   program in the file (all_reduce_perf and so on) gives the collective;
///   without it, the ratio of the two bandwidths does. Out-of-place times are
///   used.
/// * Matmuls: comma-separated with a header that has m, n, k, and one of
///   seconds, ms, us, tflops; dtype (default bf16) and batch (default 1) are
///   optional.
/// Errors name the file, the line, the expected text and the actual text.
llvm::Expected<Measurements> parseMeasurements(llvm::StringRef text,
                                               llvm::StringRef fileName);

/// A constant that was changed, and the median of |predicted / measured - 1|
/// over the samples that determine it, before and after.
struct Refinement {
  std::string field;
  double before = 0, after = 0;
  size_t samples = 0;
  double errorBefore = 0, errorAfter = 0;
};

/// The median of at least one value. For an even number of values it is the
/// mean of the middle two.
double median(std::vector<double> values);

/// The median of |ratio - 1| for ratios of predicted to measured; 0 for none.
double medianError(const std::vector<double> &ratios);

/// Sets the constants of `cluster` that the measurements determine and marks
/// each as measured, with `source`. Fails if the measurements determine no
/// constant, or if a group of ranks does not fit on the cluster.
llvm::Expected<std::vector<Refinement>>
calibrate(ClusterSpec &cluster, const Measurements &measurements,
          const std::string &source);

/// Prints an aligned table with one row per constant: its value before and
/// after, its samples and their median error in percent.
void print(llvm::ArrayRef<Refinement> refinements, llvm::raw_ostream &os);

} // namespace tessera::cost

#endif // TESSERA_COST_CALIBRATE_H
