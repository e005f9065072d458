//===- RotaryTables.h - Frequencies of cos and sin tables -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of rotary embeddings hold, at row p, cos(p f) and sin(p f), rounded to
// a type. An angle is known up to whole turns, so f is unwrapped row by row:
//
//     row 1    f in an interval of one turn, around atan2(sin, cos)
//     row p    p f in the current interval, of less than a turn: its number of
//              turns is known, and the entries of the row narrow the interval
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RAISE_ROTARYTABLES_H
#define TESSERA_RAISE_ROTARYTABLES_H

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>

namespace tessera {

/// The frequency f, in radians per row, such that row p of the tables has the
/// cosine and the sine of p f, each within 2 units in the last place of `type`
/// plus 2^-23 p |f|: angles are often computed in f32. None if there is no such
/// f, or fewer than two rows.
std::optional<double> findFrequency(llvm::ArrayRef<double> cosines,
                                    llvm::ArrayRef<double> sines,
                                    const llvm::fltSemantics &type);

} // namespace tessera

#endif // TESSERA_RAISE_ROTARYTABLES_H
