//===- MeshLimits.h - How large a mesh may be -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_MESHLIMITS_H
#define TESSERA_INTERFACES_MESHLIMITS_H

#include <cstdint>

namespace tessera {

/// The most devices that a mesh may have: tables of all devices are made for it.
constexpr int64_t kMaxDevices = 1 << 20;

} // namespace tessera

#endif // TESSERA_INTERFACES_MESHLIMITS_H
