//===- Folders.cpp - Folders of files -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Folders.h.
//
//===----------------------------------------------------------------------===//

#include "Folders.h"

#include "support/Support.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

using namespace tessera::rt;

std::string tessera::rt::describeSystemError(const char *what,
                                             const std::string &path) {
  return std::string("cannot ") + what + " '" + path + "': " + strerror(errno);
}

bool tessera::rt::exists(const std::string &path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

std::string tessera::rt::parentOf(const std::string &resolved) {
  size_t slash = resolved.find_last_of('/');
  return slash == std::string::npos ? "."
         : slash == 0               ? "/"
                                    : resolved.substr(0, slash);
}

std::string tessera::rt::resolvePath(const std::string &path) {
  std::string text = path;
  while (text.size() > 1 && text.back() == '/')
    text.pop_back();
  char resolved[PATH_MAX];
  if (realpath(text.c_str(), resolved))
    return resolved;
  size_t slash = text.find_last_of('/');
  if (slash == 0)
    return text;
  std::string parent = slash == std::string::npos ? "." : text.substr(0, slash);
  if (!realpath(parent.c_str(), resolved))
    return text;
  return std::string(resolved) + "/" +
         text.substr(slash == std::string::npos ? 0 : slash + 1);
}

std::string tessera::rt::syncFolder(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return describeSystemError("open the directory", path);
  // Some file systems cannot flush folders.
  bool good = fsync(fd) == 0 || errno == EINVAL;
  std::string error =
      good ? std::string() : describeSystemError("sync the directory", path);
  ::close(fd);
  return error;
}

std::string tessera::rt::makeFolders(const std::string &path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    bool isNew = mkdir(part.c_str(), 0777) == 0;
    if (!isNew && errno != EEXIST)
      return describeSystemError("make the directory", part);
    std::string error = isNew ? syncFolder(parentOf(part)) : std::string();
    if (!error.empty())
      return error;
    if (end == std::string::npos)
      return std::string();
  }
}

std::string tessera::rt::listFolder(const std::string &path,
                                    std::vector<std::string> &names) {
  DIR *folder = opendir(path.c_str());
  if (!folder)
    return describeSystemError("read the directory", path);
  errno = 0;
  while (dirent *entry = readdir(folder)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..")
      names.push_back(name);
  }
  std::string error =
      errno ? describeSystemError("read the directory", path) : std::string();
  closedir(folder);
  std::sort(names.begin(), names.end());
  return error;
}

bool tessera::rt::endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string tessera::rt::checkRoom(const std::string &folder, int64_t bytes) {
  struct statvfs space;
  if (statvfs(folder.c_str(), &space) != 0)
    return describeSystemError("look at", folder);
  int64_t room = int64_t(space.f_bavail) * int64_t(space.f_frsize);
  if (space.f_blocks > 0 && bytes > room)
    return "expects room for " + readableBytes(bytes) + " in '" + folder +
           "' beside the files there, but it has " + readableBytes(room);
  return std::string();
}
