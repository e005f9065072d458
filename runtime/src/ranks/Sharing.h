//===- Sharing.h - Memory that ranks share before the steps -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before the first step ranks read what others wrote to their blocks. The ranks
// of a node see each other's memory; what ranks of other nodes read is sent to
// these. Failures are recorded.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_SHARING_H
#define TESSERA_RT_SRC_SHARING_H

#include "support/Support.h"

#include <string>
#include <vector>

namespace tessera::rt {

/// Sends a part of this rank's memory to all other nodes. It must not change
/// until awaitShared.
Status shareMemory(tessera_rt_context *ctx, const void *at, int64_t bytes);

/// Announces at most 128 bytes under a name to the given ranks. A rank makes at
/// most maxGroups announcements, each under another name.
Status announce(tessera_rt_context *ctx, uint64_t name, const void *data,
                size_t bytes, const std::vector<int> &ranks);

/// Waits until all ranks have what others shared with them or announced to
/// them. All ranks call it.
Status awaitShared(tessera_rt_context *ctx);

/// Reads what `owner` has announced under a name. Returns false if there is
/// nothing.
bool findAnnouncement(const tessera_rt_context *ctx, int owner, uint64_t name,
                      void *data, size_t bytes);

/// Gives all ranks the text of rank 0. All ranks call it, before their arenas
/// have contents.
Status shareText(tessera_rt_context *ctx, std::string &text);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_SHARING_H
