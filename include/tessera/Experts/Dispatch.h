//===- Dispatch.h - How tokens are sent to experts --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_EXPERTS_DISPATCH_H
#define TESSERA_EXPERTS_DISPATCH_H

namespace tessera {

/// How tokens get to the devices that hold their experts.
enum class Dispatch {
  /// Peers on the host; elsewhere padded if there is a room, else dense.
  Auto,
  /// Each device reads the tokens that its experts use.
  Peers,
  /// Devices exchange blocks with room for some tokens, by the plan's
  /// `moe-room`.
  Padded,
  /// Each device gathers all tokens.
  Dense,
};

} // namespace tessera

#endif // TESSERA_EXPERTS_DISPATCH_H
