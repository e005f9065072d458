//===- SourceParts.h - What a node needs of a rank's operand ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ranks of another node read parts of the operand that a rank has posted.
// Only these parts are sent.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_SOURCEPARTS_H
#define TESSERA_RT_SRC_SOURCEPARTS_H

#include "ranks/Context.h"

namespace tessera::rt {

/// `count` runs of `bytes` bytes, `stride` bytes apart.
struct SourcePart {
  /// Bytes from the begin of the operand.
  int64_t offset = 0;
  int64_t bytes = 0, stride = 0, count = 1;

  int64_t size() const { return bytes * count; }
  bool operator==(const SourcePart &other) const {
    return offset == other.offset && bytes == other.bytes &&
           stride == other.stride && count == other.count;
  }
};

/// True if the member with this index reads the source that this rank posted.
bool isReader(const Operation &op, int index);

/// The parts of the source that these members, by ascending index, read.
std::vector<SourcePart> findSourceParts(const Operation &op,
                                        const std::vector<int> &readers);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_SOURCEPARTS_H
