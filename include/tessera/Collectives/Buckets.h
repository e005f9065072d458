//===- Buckets.h - Collectives merged into buckets --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives of one kind over the same axes, sorted by the time at which their
// data is ready, are split into buckets of neighbours. A bucket has one latency
// but begins only when its last member is ready, and members may have to be
// copied next to each other. Buckets run one after the other during the
// computation. The best split finishes first; among splits that finish equally
// early, it keeps the links busy for the shortest time.
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

/// A collective that may be merged with its neighbours.
struct BucketMember {
  /// Bytes that a device sends in.
  int64_t bytes = 0;
  /// Time at which they are ready, in seconds from the start.
  double ready = 0;
  /// Seconds of the copies that it needs in a bucket with others.
  double copyTime = 0;
  /// The last member whose result it needs, also through other ops; -1: none.
  int lastNeeded = -1;
};

/// Collectives of one kind over the same axes, to be partitioned into buckets
/// of neighbours.
struct BucketProblem {
  /// Members, sorted by the time at which they are ready.
  std::vector<BucketMember> members;
  /// Most bytes of a bucket with several members.
  int64_t maxBytes = 0;
  /// Seconds of one collective, given the bytes that a device sends in.
  std::function<double(int64_t)> getTime;
  /// Bytes that stay alive longer if members [begin, end) are one bucket: the
  /// users of the first results wait for the last member, and so do their
  /// operands. Grows with the bucket. No limit if not set.
  std::function<int64_t(size_t begin, size_t end)> getKeptBytes;
  /// The limit of these bytes.
  int64_t maxKeptBytes = 0;

  /// Fails if the problem is malformed.
  llvm::Error check() const;
  /// Fails if members [begin, end) cannot be one bucket.
  llvm::Error checkBucket(size_t begin, size_t end) const;
  /// True if members [begin, end) as one bucket keep too many bytes alive.
  bool keepsTooMuch(size_t begin, size_t end) const {
    return getKeptBytes && getKeptBytes(begin, end) > maxKeptBytes;
  }
  /// Seconds of members [begin, end) as one bucket, copies included.
  double getBucketTime(size_t begin, size_t end) const;
};

/// A partition of the members into buckets, and its times in seconds.
struct BucketPlan {
  /// Number of members of each bucket, in order.
  std::vector<size_t> sizes;
  /// Time at which the last bucket is done, and total seconds of all buckets.
  double finish = 0, busy = 0;

  /// Fails if this is not a plan for the problem.
  llvm::Error verify(const BucketProblem &problem) const;
};

/// The best plan of a problem that passes check(). Exact, unless more than 64
/// splits of some first members are each better than every other in one of the
/// two times.
BucketPlan planBuckets(const BucketProblem &problem);

/// Chooses which members to merge into one collective so that all collectives
/// take the shortest time, in order; none if no two of them save anything. All
/// members are ready and none needs another. Members with the shortest copies
/// come first. Exact if a collective takes a latency and a time proportional to
/// its bytes, as long as `maxBytes` leaves no member out.
std::vector<size_t> chooseTogether(const BucketProblem &problem);

} // namespace tessera

#endif // TESSERA_COLLECTIVES_BUCKETS_H
