//===- Share.h - Clusters and models by name --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of share/clusters and share/models, which options and arguments may
// name without a path.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_SHARE_H
#define TESSERA_TOOLS_SHARE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tessera {

/// Returns the names of the files NAME.json of a folder of share ("clusters",
/// "models"), sorted. The folder is ../share seen from this tool, or that of
/// the sources from which the tool was built.
std::vector<std::string> listShared(llvm::StringRef folder);

/// Returns the path of the file that a user means by `value`: `value` itself if
/// it is a file or has a slash or the ending .json, otherwise that of the name.
/// The error for an unknown name lists the names; `expected` is the option or
/// argument, such as "--cluster".
llvm::Expected<std::string> findShared(llvm::StringRef folder,
                                       llvm::StringRef value,
                                       llvm::StringRef expected);

} // namespace tessera

#endif // TESSERA_TOOLS_SHARE_H
