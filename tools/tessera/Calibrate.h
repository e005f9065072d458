//===- Calibrate.h - tessera doctor --calibrate -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_CALIBRATE_H
#define TESSERA_TOOLS_CALIBRATE_H

#include "tessera/Cluster/ClusterSpec.h"

namespace tessera {

/// Measures this machine with small programs on `ranks` ranks at once. The
/// executable `tessera` at `self` compiles the programs. Returns an error that
/// names the program that does not run, or the constant that differs too much
/// between rounds.
llvm::Expected<ClusterSpec> calibrateHost(llvm::StringRef self, int64_t ranks,
                                          bool quiet);

} // namespace tessera

#endif // TESSERA_TOOLS_CALIBRATE_H
