//===- TextPicture.h - Figures for a terminal -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bars, steps, pipelines and curves as lines of characters, from the tables
// that a page draws.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_TEXTPICTURE_H
#define TESSERA_REPORT_TEXTPICTURE_H

#include "tessera/Report/Document.h"

namespace tessera {

/// How pictures are drawn.
struct PictureStyle {
  /// Characters of a line.
  size_t width = 80;
  bool isAscii = false;
  bool hasColour = false;
};

/// When pictures are drawn, in the order of `auto|on|off|ascii`.
enum class PictureChoice { Auto, On, Off, Ascii };

/// The style of pictures; none if there are none. `isStdout`: they go to
/// standard output, not to a file. `Auto` draws on terminals whose characters
/// are UTF-8. Colours need a terminal, and that NO_COLOR is not set.
std::optional<PictureStyle> findPictureStyle(PictureChoice choice,
                                             bool isStdout);

/// Prints the pictures of a section; nothing for a kind that has none.
void printPictures(const DocumentSection &section, const PictureStyle &style,
                   llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_REPORT_TEXTPICTURE_H
