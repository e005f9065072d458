//===- Passes.h - The search for shardings ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SHARDINGSEARCH_PASSES_H
#define TESSERA_SHARDINGSEARCH_PASSES_H

#include "mlir/Pass/Pass.h"
#include "tessera/ShardingSearch/ShardingSearch.h"

namespace tessera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/ShardingSearch/Passes.h.inc"

/// Creates the pass that writes given shardings.
std::unique_ptr<mlir::Pass>
createSearchShardingsPass(const FoundShardings &found);

} // namespace tessera

#endif // TESSERA_SHARDINGSEARCH_PASSES_H
