//===- ContextMethod.h - How devices share attention ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The methods of context parallelism by name, as strategies, plans and the
// attribute `dist.context` spell them. What each costs is in ContextChoice.h.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_CONTEXTMETHOD_H
#define TESSERA_SUPPORT_CONTEXTMETHOD_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace tessera {

/// How the devices of axis "cp" share attention.
struct ContextMethod {
  /// One for each form of the text.
  enum Kind {
    /// The fastest of the others, for each attention.
    Auto,
    /// Each device attends for its own queries; keys and values are gathered
    /// (Llama 3).
    AllGather,
    /// The same, chunk by chunk, beside the attention (Ring Attention).
    Ring,
    /// Each device attends for some of the heads and for all queries
    /// (DeepSpeed-Ulysses).
    AllToAll,
  };
  Kind kind = Auto;
  /// Of AllToAll: how many neighbours share heads; the others share queries, as
  /// in a ring (USP). 0: all of them.
  int64_t headDevices = 0;

  /// "all_to_all:2".
  std::string getName() const;
  bool operator==(const ContextMethod &o) const {
    return std::tie(kind, headDevices) == std::tie(o.kind, o.headDevices);
  }
};

/// The names, for messages: "auto, all_gather, ring, all_to_all or
/// all_to_all:U".
extern const llvm::StringLiteral kContextMethods;

/// The methods that `auto` compares, in the order that breaks ties: of
/// `devices` that have `heads` query heads each before they share them, more
/// than which cannot share heads.
std::vector<ContextMethod> listContextMethods(int64_t devices, int64_t heads);

/// The method of a name, with U from 1; none for any other text.
std::optional<ContextMethod> parseContextMethod(llvm::StringRef text);

} // namespace tessera

#endif // TESSERA_SUPPORT_CONTEXTMETHOD_H
