//===- Folders.h - Folders of files -----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on folders whose messages name the path and the system's reason.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_FOLDERS_H
#define TESSERA_RT_SRC_FOLDERS_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::rt {

/// "cannot WHAT 'PATH': " and the text of errno.
std::string describeSystemError(const char *what, const std::string &path);

/// True if there is anything at `path`, a broken link included.
bool exists(const std::string &path);

/// The folder that `resolved`, a path without trailing slashes, is in.
std::string parentOf(const std::string &resolved);

/// `path` without symbolic links and trailing slashes, as far as it exists.
std::string resolvePath(const std::string &path);

/// Creates a folder and its parents. Returns a message, or nothing.
std::string makeFolders(const std::string &path);

/// Makes the last rename and the entries of a folder survive a loss of power.
/// Returns a message, or nothing.
std::string syncFolder(const std::string &path);

/// Appends the names in a folder, in order. Returns a message, or nothing.
std::string listFolder(const std::string &path,
                       std::vector<std::string> &names);

bool endsWith(const std::string &text, const std::string &end);

/// Checks that a folder's file system has `bytes` free. Returns a message with
/// both numbers, or nothing.
std::string checkRoom(const std::string &folder, int64_t bytes);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_FOLDERS_H
