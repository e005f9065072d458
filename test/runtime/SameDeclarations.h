//===- SameDeclarations.h - Compares declarations ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares, at compile time, the runtime's declarations of a library with those
// of its header. Names of types may differ; values of constants, sizes and
// kinds of parameters may not.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RUNTIME_SAMEDECLARATIONS_H
#define TESSERA_TEST_RUNTIME_SAMEDECLARATIONS_H

#include <type_traits>

/// True for types that are passed alike: pointers, integers of one size,
/// structs of one size.
template <typename A, typename B> constexpr bool isAlike() {
  if (std::is_pointer_v<A> || std::is_pointer_v<B>)
    return std::is_pointer_v<A> && std::is_pointer_v<B>;
  return sizeof(A) == sizeof(B) && std::is_class_v<A> == std::is_class_v<B> &&
         std::is_floating_point_v<A> == std::is_floating_point_v<B>;
}

template <typename A, typename B> struct Same : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
struct Same<R (*)(A...), S (*)(B...)> {
  static constexpr bool compare() {
    if constexpr (sizeof...(A) != sizeof...(B))
      return false;
    else
      return isAlike<R, S>() && (isAlike<A, B>() && ...);
  }
  static constexpr bool value = compare();
};

#define SAME_FUNCTION(api, field, function)                                    \
  static_assert(Same<decltype(api::Api::field), decltype(&(function))>::value, \
                #function)
#define SAME_NUMBER(ours, theirs)                                              \
  static_assert(int(ours) == int(theirs), #theirs)

#endif // TESSERA_TEST_RUNTIME_SAMEDECLARATIONS_H
