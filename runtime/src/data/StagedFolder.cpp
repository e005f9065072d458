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

#include "Folders.h"
#include "SavedState.h"
#include "SavedWeights.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tessera::rt;

static std::string formerPath(const std::string &resolved) {
  return resolved + ".former";
}

std::string tessera::rt::stagingPath(const std::string &resolved) {
  return resolved + ".partial";
}

//===----------------------------------------------------------------------===//
// Contents of a folder
//===----------------------------------------------------------------------===//

/// Removes the files of a save from a folder; a file of another kind is an
/// error, and then none is removed.
static std::string removeFiles(const std::string &path) {
  std::vector<std::string> names;
  std::string error = listFolder(path, names);
  if (!error.empty())
    return error;
  for (const std::string &name : names)
    if (name != stateManifestName && !endsWith(name, ".npy") &&
        !isWeightsName(name))
      return "expects '" + path + "' to hold files of a save alone, but got '" +
             name + "' in it: move it elsewhere";
  for (const std::string &name : names)
    if (unlink((path + "/" + name).c_str()) != 0)
      return describeSystemError("remove", path + "/" + name);
  return std::string();
}

static std::string removeFolder(const std::string &path) {
  std::string error = removeFiles(path);
  if (error.empty() && rmdir(path.c_str()) != 0)
    error = describeSystemError("remove", path);
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
  std::string error = listFolder(path, names);
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
    return describeSystemError("put back the directory", resolved);
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
    return describeSystemError("look at", parent);
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
    return describeSystemError("make the directory", staging);
  fd = ::open(staging.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    return describeSystemError("open the directory", staging);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    std::string error =
        errno == EWOULDBLOCK
            ? "another run saves there: '" + staging + "' is locked"
            : describeSystemError("lock the directory", staging);
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
  return checkRoom(parent, bytes);
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
               : describeSystemError("rename to", target);
  if (renameat2(AT_FDCWD, staging.c_str(), AT_FDCWD, target.c_str(),
                RENAME_EXCHANGE) == 0) {
    error = syncFolder(parentOf(target));
    return error.empty() ? removeFolder(staging) : error;
  }
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
    return describeSystemError("exchange with a new one the directory", target);
  if (rename(target.c_str(), former.c_str()) != 0)
    return describeSystemError("rename", target);
  if (rename(staging.c_str(), target.c_str()) != 0) {
    error = describeSystemError("rename to", target);
    std::string back = recover(target);
    return back.empty() ? error : error + "; " + back;
  }
  error = syncFolder(parentOf(target));
  return error.empty() ? removeFolder(former) : error;
}

std::string StagedFolder::publish() {
  if (fsync(fd) != 0 && errno != EINVAL)
    return describeSystemError("sync the directory", stagingPath(target));
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
