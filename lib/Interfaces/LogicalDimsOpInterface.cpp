//===- LogicalDimsOpInterface.cpp - Dimensions by name --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/LogicalDimsOpInterface.h"

#include "tessera/Interfaces/LogicalDimsOpInterface.cpp.inc"
