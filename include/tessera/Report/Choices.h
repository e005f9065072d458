//===- Choices.h - Tables of which a page shows chosen rows -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A section "explain" has figures of tables whose first columns are choices:
// its table "figures" lists them, its table "chosen" has a value for each
// choice, which a page changes by sliders. An empty value shows all rows in a
// text.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_CHOICES_H
#define TESSERA_REPORT_CHOICES_H

#include "tessera/Report/Document.h"

namespace tessera {

/// The choices of a figure that have a value, and their values.
std::vector<std::pair<std::string, std::string>>
listChoices(const DocumentSection &section, llvm::StringRef figure);

/// The rows of a figure's table that have these values, without their columns;
/// an empty table if there is none.
Table chooseRows(const DocumentSection &section, llvm::StringRef figure);

} // namespace tessera

#endif // TESSERA_REPORT_CHOICES_H
