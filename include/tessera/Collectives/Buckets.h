//===- Buckets.h - Which collectives are done as one ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives of one kind over the same axes, in the order in which what they
// move is ready, are split into buckets of neighbours. A bucket has one latency
// but begins only when its last member is ready, and members may have to be
// copied side by side. Buckets run one after the other beside the computation;
// the best split is done first, and of those that are done equally early, the
// one that keeps the links busy for the shortest time.
//
// Plain C++: no IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COLLECTIVES_BUCKETS_H
#define TESSERA_COLLECTIVES_BUCKETS_H

#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>
#include <vector>

namespace tessera {

/// A collective that may be done as one with its neighbours.
struct BucketMember {
  /// Bytes that a device puts in.
  int64_t bytes = 0;
  /// When they are ready: seconds from the start.
  double ready = 0;
  /// Seconds of the copies that it needs if it is not done alone.
  double copyTime = 0;
  /// The last member whose result it needs, also through other ops; -1: none.
  int lastNeeded = -1;
};

/// Collectives of one kind over the same axes, to be partitioned into buckets
/// of neighbours.
struct BucketProblem {
  /// By the time at which they are ready.
  std::vector<BucketMember> members;
  /// Most bytes of a bucket of several members.
  int64_t maxBytes = 0;
  /// Seconds of one collective, given the bytes that a device puts in.
  std::function<double(int64_t)> getTime;
  /// Bytes that stay alive for longer since members [begin, end) are one
  /// bucket: what reads the first results has to wait for the last member, and
  /// so does all that it reads. Grows with the bucket. None if not set.
  std::function<int64_t(size_t begin, size_t end)> getKeptBytes;
  /// Most of these bytes.
  int64_t maxKeptBytes = 0;

  /// An error if this is no problem.
  llvm::Error check() const;
  /// An error if members [begin, end) cannot be one bucket.
  llvm::Error checkBucket(size_t begin, size_t end) const;
  /// True if members [begin, end) as one bucket keep too many bytes alive.
  bool keepsTooMuch(size_t begin, size_t end) const {
    return getKeptBytes && getKeptBytes(begin, end) > maxKeptBytes;
  }
  /// Seconds of members [begin, end) as one bucket, copies included.
  double getBucketTime(size_t begin, size_t end) const;
};

/// A partition of the members into buckets, and when its buckets are done, in
/// seconds.
struct BucketPlan {
  /// Number of members of each bucket, in order.
  std::vector<size_t> sizes;
  /// When the last bucket is done, and seconds that buckets take in all.
  double finish = 0, busy = 0;

  /// An error if this is no plan for the problem.
  llvm::Error verify(const BucketProblem &problem) const;
};

/// The best plan of a problem that passes check(). Exact, unless more than 64
/// splits of some first members are each better than every other in one of the
/// two times.
BucketPlan planBuckets(const BucketProblem &problem);

/// Of members that are all ready, none of which needs another: which to do as
/// one so that all collectives take the shortest time, in order; none if no two
/// of them save anything. Those with the shortest copies come first. Exact
/// where a collective takes a latency, and then time by its bytes, as long as
/// `maxBytes` leaves none of them out.
std::vector<size_t> chooseTogether(const BucketProblem &problem);

} // namespace tessera

#endif // TESSERA_COLLECTIVES_BUCKETS_H
