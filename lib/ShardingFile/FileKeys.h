//===- FileKeys.h - The head and the plan of a sharding file ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SHARDINGFILE_FILEKEYS_H
#define TESSERA_SHARDINGFILE_FILEKEYS_H

#include "tessera/ShardingFile/ShardingFile.h"

namespace tessera {

inline constexpr llvm::StringLiteral kFileMagic = "shardings";
inline constexpr int64_t kFileVersion = 1;

/// The fields of a plan that decide a layout; the mesh has the others.
inline constexpr llvm::StringRef kLayoutFields[] = {
    "zero", "zero2-reduce", "sp",           "cp", "cp-method",
    "ep",   "etp",          "moe-room",     "pp", "schedule",
    "vpp",  "stage-layers", "micro-batches"};

} // namespace tessera

#endif // TESSERA_SHARDINGFILE_FILEKEYS_H
