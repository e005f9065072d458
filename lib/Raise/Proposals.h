//===- Proposals.h - Which ops a region may be ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_PROPOSALS_H
#define TESSERA_LIB_RAISE_PROPOSALS_H

#include "RowTrial.h"

namespace tessera {

/// The ops that a region may be by its shape: what is reduced, and which kinds
/// of functions it has. Those whose op is in `skipped` ("gelu") are left out.
llvm::SmallVector<Proposal> proposeOps(const RowRegion &region,
                                       llvm::ArrayRef<std::string> skipped);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_PROPOSALS_H
