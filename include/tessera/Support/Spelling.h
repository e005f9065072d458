//===- Spelling.h - Suggestions for misspelt names --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For error messages about names that users type: keys, options, commands.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_SPELLING_H
#define TESSERA_SUPPORT_SPELLING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <string>

namespace tessera {

/// Returns "; did you mean 'x'?" with the first of the nearest `known` names,
/// or "" if none is within two edits.
inline std::string didYouMean(llvm::StringRef name,
                              llvm::ArrayRef<llvm::StringRef> known) {
  llvm::StringRef best;
  unsigned bestDistance = 3;
  for (llvm::StringRef candidate : known) {
    unsigned distance = name.edit_distance(candidate,
                                           /*AllowReplacements=*/true,
                                           /*MaxEditDistance=*/bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best.empty() ? "" : ("; did you mean '" + best + "'?").str();
}

} // namespace tessera

#endif // TESSERA_SUPPORT_SPELLING_H
