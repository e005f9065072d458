//===- CollectiveKind.cpp - The kinds of collectives ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/CollectiveKind.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;
using Kind = CollectiveKind;

llvm::StringRef tessera::stringifyCollective(CollectiveKind kind) {
  switch (kind) {
  case Kind::AllGather:
    return "all_gather";
  case Kind::ReduceScatter:
    return "reduce_scatter";
  case Kind::AllReduce:
    return "all_reduce";
  case Kind::AllToAll:
    return "all_to_all";
  case Kind::Permute:
    return "permute";
  case Kind::Broadcast:
    return "broadcast";
  }
  return "";
}

int64_t tessera::getBytesReceived(CollectiveKind kind, int64_t bytes,
                                  int64_t n) {
  switch (kind) {
  case Kind::AllGather:
    return bytes * (n - 1);
  case Kind::ReduceScatter:
  case Kind::AllToAll:
    return bytes / n * (n - 1);
  case Kind::AllReduce:
    return llvm::divideCeil(2 * (n - 1) * bytes, n);
  case Kind::Permute:
  case Kind::Broadcast:
    return n > 1 ? bytes : 0;
  }
  return 0;
}

double tessera::getShareReceived(CollectiveKind kind, double n) {
  switch (kind) {
  case Kind::AllReduce:
    return 2 * (n - 1) / n;
  case Kind::AllGather:
  case Kind::ReduceScatter:
  case Kind::AllToAll:
    return (n - 1) / n;
  case Kind::Permute:
  case Kind::Broadcast:
    return n > 1 ? 1 : 0;
  }
  return 0;
}
