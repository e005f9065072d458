//===- EnumNames.h - Names of the values of enums ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names by which options, JSON and attributes spell the values of an enum.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLAN_ENUMNAMES_H
#define TESSERA_PLAN_ENUMNAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace tessera {

/// The names of the values of an enum, in the enum's order.
template <typename EnumT> llvm::ArrayRef<llvm::StringRef> getNames();

/// The name of a value, as options, JSON and attributes spell it.
template <typename EnumT> llvm::StringRef stringify(EnumT value) {
  return getNames<EnumT>()[static_cast<size_t>(value)];
}

/// The value with this name; none if there is no such value.
template <typename EnumT> std::optional<EnumT> parseName(llvm::StringRef name) {
  for (auto [i, known] : llvm::enumerate(getNames<EnumT>()))
    if (known == name)
      return static_cast<EnumT>(i);
  return std::nullopt;
}

} // namespace tessera

#endif // TESSERA_PLAN_ENUMNAMES_H
