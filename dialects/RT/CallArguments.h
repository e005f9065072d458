//===- CallArguments.h - Arguments of calls of the C ABI --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_RT_CALLARGUMENTS_H
#define TESSERA_DIALECTS_RT_CALLARGUMENTS_H

#include "dialects/RT/RT.h"
#include <cstring>

namespace tessera::rt {

/// The arguments of a call after the context, in order.
using CallArguments = llvm::SmallVector<CallArgument>;

/// A number, as int32_t.
inline CallArgument int32(int64_t value) {
  return {CallArgument::Int32, value};
}
/// A number, as int64_t.
inline CallArgument int64(int64_t value) {
  return {CallArgument::Int64, value};
}
/// A pointer to `offset` bytes from the arena's base.
inline CallArgument address(int64_t offset) {
  return {CallArgument::Address, offset};
}
/// Bytes from the arena's base.
inline CallArgument offset(int64_t value) {
  return {CallArgument::Offset, value};
}
/// A pointer to a constant array.
inline CallArgument array(llvm::ArrayRef<int64_t> values) {
  return {CallArgument::Array, 0, llvm::SmallVector<int64_t>(values)};
}
/// A pointer to a constant descriptor, a struct of int64_t.
template <typename Desc> inline CallArgument descriptor(const Desc &desc) {
  llvm::SmallVector<int64_t> fields(sizeof(Desc) / sizeof(int64_t));
  std::memcpy(fields.data(), &desc, sizeof(Desc));
  return array(fields);
}
/// A null pointer.
inline CallArgument null() { return {CallArgument::Null}; }
/// An index that the program computes.
inline CallArgument scalar(mlir::Value value) {
  return {CallArgument::Scalar, 0, {}, {value}};
}

/// Adds a pointer for each offset from the arena's base.
inline void addAddresses(CallArguments &arguments,
                         llvm::ArrayRef<int64_t> offsets) {
  for (int64_t offset : offsets)
    arguments.push_back(address(offset));
}

} // namespace tessera::rt

#endif // TESSERA_DIALECTS_RT_CALLARGUMENTS_H
