//===- LocalSearch.h - Improves a known assignment --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Large neighborhood search (Shaw 1998): some variables around a center are
// free, the others are fixed, and elimination finds the best states of the free
// ones. Moved costs show where this may gain: at variables and edges whose
// states cost something there.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SEARCH_LOCALSEARCH_H
#define TESSERA_LIB_SEARCH_LOCALSEARCH_H

#include "Elimination.h"
#include "Reparametrization.h"

namespace tessera::search {

/// A local optimum from `states`, whose cost is finite, over the remaining
/// states of `costs`. Tables of an elimination have at most `entries` entries.
std::vector<unsigned> improveStates(const NetworkView &view,
                                    const Reparametrization &costs,
                                    std::vector<unsigned> states,
                                    double entries);

} // namespace tessera::search

#endif // TESSERA_LIB_SEARCH_LOCALSEARCH_H
