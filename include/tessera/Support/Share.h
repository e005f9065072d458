//===- Share.h - Files that come with the tools -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the JSON files of share/ (clusters, devices, frameworks, models) by
// name, from any working directory.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_SHARE_H
#define TESSERA_SUPPORT_SHARE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tessera {

/// Returns the path of the executable, or of the shared library, that this code
/// is in.
std::string findOwnFile();

/// Returns the path of share/`folder`/`name`.json, or "" if there is no such
/// file. share/ is share/tessera or share next to the folder of findOwnFile()
/// or one level up (build/bin in a source tree), otherwise the one of the
/// source tree that the executable was built from.
std::string findShared(llvm::StringRef folder, llvm::StringRef name);

/// Returns the path of NAME.json in `folder`, otherwise in share/`shared`, or
/// "" if there is no such file.
std::string findNear(llvm::StringRef folder, llvm::StringRef shared,
                     llvm::StringRef name);

/// Returns the names, sorted, that findShared() finds in `folder`.
std::vector<std::string> listShared(llvm::StringRef folder);

/// Returns the names, sorted, of the JSON files of a folder, without ".json".
std::vector<std::string> listJsonFiles(llvm::StringRef folder);

/// Returns the path of the file that a user means by `value`: `value` itself if
/// it has a slash or the ending .json, otherwise the file of share/ that has
/// the name, otherwise a file `value`. A program that was compiled to the name
/// of its model, in the current folder, so hides no name. The error for an
/// unknown name lists the names; `expected` is the option or argument, such as
/// "--cluster".
llvm::Expected<std::string> resolveShared(llvm::StringRef folder,
                                          llvm::StringRef value,
                                          llvm::StringRef expected);

} // namespace tessera

#endif // TESSERA_SUPPORT_SHARE_H
