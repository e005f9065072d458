//===- ContextMethod.h - Methods of sharing attention -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The methods of context parallelism by name, as strategies, plans and the
// attribute `dist.context` spell them. ContextChoice.h prices them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLAN_CONTEXTMETHOD_H
#define TESSERA_PLAN_CONTEXTMETHOD_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace tessera {

/// The way in which the devices of axis "cp" share attention.
struct ContextMethod {
  /// One value for each form of the text.
  enum Kind {
    /// The fastest of the next three, chosen for each attention.
    Auto,
    /// Each device attends for its own queries; keys and values are gathered
    /// (Llama 3).
    AllGather,
    /// The same, with the gather chunk by chunk, overlapped with attention
    /// (Ring Attention).
    Ring,
    /// Each device attends for some of the heads and for all queries
    /// (DeepSpeed-Ulysses).
    AllToAll,
    /// Each device attends for its own queries; latents are gathered, from
    /// which it computes keys and values of all tokens again (DeepSeek-V2).
    Latent,
  };
  Kind kind = Auto;
  /// For AllToAll: the number of neighbours that share heads; the others share
  /// queries, as in a ring (USP). 0: all of them.
  int64_t headDevices = 0;

  /// "all_to_all:2".
  std::string getName() const;
  bool operator==(const ContextMethod &o) const {
    return std::tie(kind, headDevices) == std::tie(o.kind, o.headDevices);
  }
};

/// The names, for messages: "auto, all_gather, ring, all_to_all, all_to_all:U
/// or latent".
extern const llvm::StringLiteral kContextMethods;

/// The methods that `auto` compares, in the order that breaks ties, for
/// `devices` devices with `heads` query heads each before sharing. At most
/// `heads` devices can share heads.
std::vector<ContextMethod> listContextMethods(int64_t devices, int64_t heads);

/// Parses the name of a method, with U from 1; none for any other text.
std::optional<ContextMethod> parseContextMethod(llvm::StringRef text);

} // namespace tessera

#endif // TESSERA_PLAN_CONTEXTMETHOD_H
