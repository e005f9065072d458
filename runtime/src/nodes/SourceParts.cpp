//===- SourceParts.cpp - What a node needs of a rank's operand ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See SourceParts.h.
//
//===----------------------------------------------------------------------===//

#include "SourceParts.h"

#include <algorithm>

using namespace tessera::rt;

bool tessera::rt::isReader(const Operation &op, int index) {
  if (!op.isRead || index == op.group->index)
    return false;
  if (isPointToPoint(op.kind))
    return index == op.peer;
  return op.kind != OpKind::Permute ||
         std::find(op.targets.begin(), op.targets.end(), index) !=
             op.targets.end();
}

/// The blocks of members in a source of `outer` rows of a block each. Blocks
/// beside each other are one run.
static std::vector<SourcePart> findBlocks(int64_t outer, int64_t blockBytes,
                                          int64_t members,
                                          const std::vector<int> &readers) {
  std::vector<SourcePart> parts;
  for (size_t i = 0; i < readers.size();) {
    size_t end = i + 1;
    while (end < readers.size() && readers[end] == readers[end - 1] + 1)
      ++end;
    parts.push_back({readers[i] * blockBytes, int64_t(end - i) * blockBytes,
                     members * blockBytes, outer});
    i = end;
  }
  return parts;
}

std::vector<SourcePart>
tessera::rt::findSourceParts(const Operation &op,
                             const std::vector<int> &readers) {
  int64_t members = op.group->size(), size = dtypeSize(op.header.dtype);
  switch (op.kind) {
  case OpKind::ReduceScatter:
  case OpKind::Combine:
    return findBlocks(op.outer, op.inner * size, members, readers);
  case OpKind::AllToAll: {
    int64_t outer = 1, inner = size;
    for (size_t d = 0; d < op.shape.size(); ++d)
      (int32_t(d) < op.splitDim ? outer : inner) *= op.shape[d];
    return findBlocks(outer, inner / members, members, readers);
  }
  case OpKind::AllReduce: {
    if (!isLargeReduce(op))
      break;
    std::vector<SourcePart> parts;
    for (int reader : readers) {
      int64_t begin, end;
      getReducedChunk(op, reader, begin, end);
      if (begin == end)
        continue;
      if (!parts.empty() &&
          parts.back().offset + parts.back().bytes == begin * size)
        parts.back().bytes += (end - begin) * size;
      else
        parts.push_back({begin * size, (end - begin) * size, 0, 1});
    }
    return parts;
  }
  default:
    break;
  }
  return {{0, op.header.count * size, 0, 1}};
}
