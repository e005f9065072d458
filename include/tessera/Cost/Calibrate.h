//===- Calibrate.h - Constants from measurements of a cluster ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads what people measure first on a new cluster, the output of nccl-tests
// and a table of matmuls, and moves the few constants that such numbers
// determine: efficiency and latency of the links that a group of ranks spans,
// the rate of large matmuls, the floor of a kernel. Everything else of a
// cluster file stays as it is.
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
  /// As in CommWork.
  double bytes;
  double seconds;
};

/// One measured matmul of operands of `type` on one device.
struct MatmulSample {
  MatmulDims dims;
  DType type;
  double seconds;
};

/// The samples of a file, in its order.
struct Measurements {
  std::vector<CollectiveSample> collectives;
  std::vector<MatmulSample> matmuls;
};

/// Reads a file of either form.
/// * nccl-tests: ranks are counted in its lines "#  Rank  N ..."; which
///   collective it is follows from the name of the program, where the file has
///   it (all_reduce_perf and so on), or else from the ratio of its two
///   bandwidths. Times out of place are taken.
/// * Matmuls: comma-separated with a header that has m, n, k, and one of
///   seconds, ms, us, tflops; dtype (default bf16) and batch (default 1) may be
///   there.
/// Errors name file, line, what is expected and what is there.
llvm::Expected<Measurements> parseMeasurements(llvm::StringRef text,
                                               llvm::StringRef fileName);

/// A constant that was moved, and the median of |predicted / measured - 1| over
/// the samples that determine it, before and after.
struct Refinement {
  std::string field;
  double before = 0, after = 0;
  size_t samples = 0;
  double errorBefore = 0, errorAfter = 0;
};

/// The median of at least one value: of an even number of them, the mean of the
/// two in the middle.
double median(std::vector<double> values);

/// The median of |ratio - 1| of predicted over measured; 0 of none.
double medianError(const std::vector<double> &ratios);

/// Moves the constants of `cluster` that the measurements determine; each then
/// says that it is measured, with `source`. An error if they determine none, or
/// if a group of ranks does not fit on the cluster.
llvm::Expected<std::vector<Refinement>>
calibrate(ClusterSpec &cluster, const Measurements &measurements,
          const std::string &source);

/// Prints an aligned table with a row for each constant: its value before and
/// after, its samples and their median error in percent.
void print(llvm::ArrayRef<Refinement> refinements, llvm::raw_ostream &os);

} // namespace tessera::cost

#endif // TESSERA_COST_CALIBRATE_H
