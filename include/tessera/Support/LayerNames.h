//===- LayerNames.h - The layer in a parameter's name -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_LAYERNAMES_H
#define TESSERA_SUPPORT_LAYERNAMES_H

#include "llvm/ADT/StringRef.h"
#include <algorithm>

namespace tessera {

/// Returns the prefix "model.layers.3" of "model.layers.3.attn.wq", up to the
/// first number; empty if there is none.
inline llvm::StringRef getLayerPrefix(llvm::StringRef parameter) {
  size_t end = 0;
  while (end < parameter.size()) {
    size_t dot = std::min(parameter.find('.', end), parameter.size());
    unsigned number;
    if (!parameter.slice(end, dot).getAsInteger(10, number))
      return parameter.take_front(dot);
    end = dot + 1;
  }
  return "";
}

} // namespace tessera

#endif // TESSERA_SUPPORT_LAYERNAMES_H
