//===- Proposals.h - Candidate ops for a region -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_PROPOSALS_H
#define TESSERA_LIB_RAISE_PROPOSALS_H

#include "RowTrial.h"

namespace tessera {

/// The ops that a region can be, judged by its reductions and the kinds of
/// functions in it. Leaves out those whose op is in `skipped` ("gelu").
llvm::SmallVector<Proposal> proposeOps(const RowRegion &region,
                                       llvm::ArrayRef<std::string> skipped);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_PROPOSALS_H
