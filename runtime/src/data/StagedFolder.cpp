//===- StagedFolder.cpp - Folders that are replaced as a whole ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See StagedFolder.h. Order of a publication: the files reach the disk (their
// writers flush them), then the folder that names them, the rename, and the
// parent folder. Only then are the former files removed.
//
//===----------------------------------------------------------------------===//

#include "StagedFolder.h"

#include "SavedState.h"
#include "SavedWeights.h"
#include "support/Support.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

using namespace tessera::rt;

static std::string describeError(const char *what, const std::string &path) {
  return std::string("cannot ") + what + " '" + path + "': " + strerror(errno);
}

static bool exists(const std::string &path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

static std::string parentOf(const std::string &resolved) {
  size_t slash = resolved.find_last_of('/');
  return slash == std::string::npos ? "."
         : slash == 0               ? "/"
                                    : resolved.substr(0, slash);
}

static std::string formerPath(const std::string &resolved) {
  return resolved + ".former";
}

std::string tessera::rt::stagingPath(const std::string &resolved) {
  return resolved + ".partial";
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

/// Makes the last rename and the entries of a folder survive a loss of power.
static std::string syncFolder(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return describeError("open the directory", path);
  // Some file systems cannot flush folders.
  bool good = fsync(fd) == 0 || errno == EINVAL;
  std::string error =
      good ? std::string() : describeError("sync the directory", path);
  ::close(fd);
  return error;
}

std::string tessera::rt::makeFolders(const std::string &path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    bool isNew = mkdir(part.c_str(), 0777) == 0;
    if (!isNew && errno != EEXIST)
      return describeError("make the directory", part);
    std::string error = isNew ? syncFolder(parentOf(part)) : std::string();
    if (!error.empty())
      return error;
    if (end == std::string::npos)
      return std::string();
  }
}

//===----------------------------------------------------------------------===//
// Contents of a folder
//===----------------------------------------------------------------------===//

/// Lists a folder, in order. Returns a message, or nothing.
static std::string list(const std::string &path,
                        std::vector<std::string> &names) {
  DIR *folder = opendir(path.c_str());
  if (!folder)
    return describeError("read the directory", path);
  errno = 0;
  while (dirent *entry = readdir(folder)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..")
      names.push_back(name);
  }
  std::string error =
      errno ? describeError("read the directory", path) : std::string();
  closedir(folder);
  std::sort(names.begin(), names.end());
  return error;
}

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Removes the files of a save from a folder; a file of another kind is an
/// error, and then none is removed.
static std::string removeFiles(const std::string &path) {
  std::vector<std::string> names;
  std::string error = list(path, names);
  if (!error.empty())
    return error;
  for (const std::string &name : names)
    if (name != stateManifestName && !endsWith(name, ".npy") &&
        !isWeightsName(name))
      return "expects '" + path + "' to hold files of a save alone, but got '" +
             name + "' in it: move it elsewhere";
  for (const std::string &name : names)
    if (unlink((path + "/" + name).c_str()) != 0)
      return describeError("remove", path + "/" + name);
  return std::string();
}

static std::string removeFolder(const std::string &path) {
  std::string error = removeFiles(path);
  if (error.empty() && rmdir(path.c_str()) != 0)
    error = describeError("remove", path);
  return error;
}

/// Checks that the files of a folder are from a former save of weights.
static std::string checkWeights(const std::string &path,
                                const std::vector<std::string> &names,
                                const std::string &expected) {
  for (const std::string &name : names) {
    if (!isWeightsName(name))
      return expected + "'" + name + "' in it";
    std::string error = endsWith(name, ".safetensors")
                            ? checkSavedWeights(path + "/" + name)
                            : std::string();
    if (!error.empty())
      return expected + "'" + name + "' in it: " + error;
  }
  return std::string();
}

/// Checks that a folder is empty or has only the files of a former save.
static std::string checkReplaceable(const std::string &path,
                                    StagedFolder::Kind kind, bool &isEmpty) {
  std::vector<std::string> names;
  std::string error = list(path, names);
  isEmpty = names.empty();
  if (!error.empty() || isEmpty)
    return error;
  SavedState state;
  std::string expected = "expects '" + path +
                         "' to be absent, empty, or what a former run saved, "
                         "since a save replaces the whole folder, but got ";
  if (kind == StagedFolder::Weights)
    return checkWeights(path, names, expected);
  error = readStateManifest(path + "/" + stateManifestName, state);
  if (!error.empty())
    return expected + "'" + names.front() + "' in it, and " + error;
  for (const std::string &name : names)
    if (name != stateManifestName && !state.hasFile(name))
      return expected + "'" + name + "', which its " + stateManifestName +
             " does not name";
  return std::string();
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

/// Restores the folder at `resolved` if a process died while it replaced it.
static std::string recover(const std::string &resolved) {
  std::string former = formerPath(resolved);
  if (!exists(former))
    return std::string();
  // Both renames were done, and only the removal is missing.
  if (exists(resolved))
    return removeFolder(former);
  if (rename(former.c_str(), resolved.c_str()) != 0)
    return describeError("put back the directory", resolved);
  return syncFolder(parentOf(resolved));
}

std::string tessera::rt::readablePath(const std::string &path) {
  std::string resolved = resolvePath(path), former = formerPath(resolved);
  return !exists(resolved) && exists(former) ? former : resolved;
}

/// Checks that `resolved` is or can become a folder on its parent's device.
static std::string checkTarget(const std::string &resolved, bool &isThere) {
  struct stat info, above;
  isThere = lstat(resolved.c_str(), &info) == 0;
  std::string parent = parentOf(resolved);
  if (stat(parent.c_str(), &above) != 0)
    return describeError("look at", parent);
  if (!isThere)
    return std::string();
  if (!S_ISDIR(info.st_mode))
    return "expects '" + resolved + "' to be a directory";
  if (info.st_dev != above.st_dev || resolved == "/")
    return "expects a directory that can be renamed, but '" + resolved +
           "' is where a file system is mounted: name one in it";
  return std::string();
}

/// Opens and locks the staging folder, which a dead run may have left. Sets
/// `fd`. Returns a message, or nothing.
static std::string lockStaging(const std::string &staging, int &fd) {
  bool isNew = mkdir(staging.c_str(), 0777) == 0;
  if (!isNew && errno != EEXIST)
    return describeError("make the directory", staging);
  fd = ::open(staging.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    return describeError("open the directory", staging);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    std::string error =
        errno == EWOULDBLOCK
            ? "another run saves there: '" + staging + "' is locked"
            : describeError("lock the directory", staging);
    ::close(fd);
    fd = -1;
    return error;
  }
  // Removes the files that a dead run left, but not the folder, which is
  // locked.
  return isNew ? std::string() : removeFiles(staging);
}

std::string StagedFolder::open(const std::string &path, int64_t bytes) {
  target = resolvePath(path);
  std::string parent = parentOf(target);
  std::string error = makeFolders(parent);
  if (!error.empty())
    return error;
  target = resolvePath(path);
  parent = parentOf(target);
  error = recover(target);
  bool isThere = false, isEmpty = false;
  if (error.empty())
    error = checkTarget(target, isThere);
  if (error.empty() && isThere)
    error = checkReplaceable(target, kind, isEmpty);
  if (error.empty())
    error = lockStaging(stagingPath(target), fd);
  if (!error.empty())
    return error;
  struct statvfs space;
  if (statvfs(parent.c_str(), &space) != 0)
    return describeError("look at", parent);
  int64_t room = int64_t(space.f_bavail) * int64_t(space.f_frsize);
  if (space.f_blocks > 0 && bytes > room)
    return "expects room for " + readableBytes(bytes) + " in '" + parent +
           "' beside the files there, but it has " + readableBytes(room);
  return std::string();
}

/// Renames the folders. `target` has been checked.
std::string StagedFolder::replace() {
  std::string staging = stagingPath(target), former = formerPath(target);
  bool isThere = false, isEmpty = true;
  std::string error = checkTarget(target, isThere);
  if (error.empty() && isThere)
    error = checkReplaceable(target, kind, isEmpty);
  if (!error.empty())
    return error;
  // An empty folder is replaced by a rename.
  if (!isThere || isEmpty)
    return rename(staging.c_str(), target.c_str()) == 0
               ? syncFolder(parentOf(target))
               : describeError("rename to", target);
  if (renameat2(AT_FDCWD, staging.c_str(), AT_FDCWD, target.c_str(),
                RENAME_EXCHANGE) == 0) {
    error = syncFolder(parentOf(target));
    return error.empty() ? removeFolder(staging) : error;
  }
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
    return describeError("exchange with a new one the directory", target);
  if (rename(target.c_str(), former.c_str()) != 0)
    return describeError("rename", target);
  if (rename(staging.c_str(), target.c_str()) != 0) {
    error = describeError("rename to", target);
    std::string back = recover(target);
    return back.empty() ? error : error + "; " + back;
  }
  error = syncFolder(parentOf(target));
  return error.empty() ? removeFolder(former) : error;
}

std::string StagedFolder::publish() {
  if (fsync(fd) != 0 && errno != EINVAL)
    return describeError("sync the directory", stagingPath(target));
  std::string error = replace();
  if (error.empty())
    close();
  return error;
}

void StagedFolder::close() {
  if (fd >= 0)
    ::close(fd);
  fd = -1;
}

std::string StagedFolder::discard() {
  // The staging folder may have been exchanged and then removed in part.
  std::string staging = stagingPath(target), error;
  if (fd >= 0 && exists(staging))
    error = removeFolder(staging);
  close();
  return error;
}

StagedFolder::~StagedFolder() { discard(); }
