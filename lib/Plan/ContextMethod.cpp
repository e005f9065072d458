//===- ContextMethod.cpp - How devices share attention --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Plan/ContextMethod.h"
#include <algorithm>

using namespace tessera;
using llvm::StringRef;

const llvm::StringLiteral tessera::kContextMethods =
    "auto, all_gather, ring, all_to_all, all_to_all:U or latent";

static constexpr llvm::StringLiteral kNames[] = {"auto", "all_gather", "ring",
                                                 "all_to_all", "latent"};

std::string ContextMethod::getName() const {
  std::string text = kNames[kind].str();
  if (headDevices)
    text += ":" + std::to_string(headDevices);
  return text;
}

std::vector<ContextMethod> tessera::listContextMethods(int64_t devices,
                                                       int64_t heads) {
  std::vector<ContextMethod> methods{{ContextMethod::AllGather, 0},
                                     {ContextMethod::Ring, 0}};
  for (int64_t shared = 2; shared <= std::min(devices, heads); ++shared)
    if (devices % shared == 0)
      methods.push_back(
          {ContextMethod::AllToAll, shared == devices ? 0 : shared});
  return methods;
}

std::optional<ContextMethod> tessera::parseContextMethod(StringRef text) {
  auto [name, number] = text.split(':');
  for (int kind = ContextMethod::Auto; kind <= ContextMethod::Latent; ++kind) {
    if (name != kNames[kind])
      continue;
    ContextMethod method{static_cast<ContextMethod::Kind>(kind), 0};
    if (text == name)
      return method;
    if (kind != ContextMethod::AllToAll ||
        number.getAsInteger(10, method.headDevices) || method.headDevices < 1)
      return std::nullopt;
    return method;
  }
  return std::nullopt;
}
