//===- RootPlace.cpp - How nodes find the root of their job ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See RootPlace.h. A file has the lines "tessera root 1", the job, the endpoint
// and the key. It appears by a rename, so it is whole.
//
//===----------------------------------------------------------------------===//

#include "RootPlace.h"

#include "Interfaces.h"
#include "checkpoint/RunFolder.h"
#include "data/Folders.h"
#include "ranks/Control.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tessera::rt;

static constexpr const char *title = "tessera root 1";

/// Reads "HOST:PORT". Returns false if the text is not of that form.
static bool readHostPort(const std::string &text, std::string &host,
                         int &port) {
  size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 ||
      text.find('/') != std::string::npos)
    return false;
  char *end;
  long number = strtol(text.c_str() + colon + 1, &end, 10);
  if (*end || end == text.c_str() + colon + 1 || number < 1 || number > 65535)
    return false;
  host = text.substr(0, colon);
  port = int(number);
  return true;
}

std::string RootPlace::read(const Options &options, const std::string &name) {
  job = name;
  std::string where =
      options.rendezvous.empty() ? options.checkpoint : options.rendezvous;
  if (where.empty())
    return "several nodes expect --rendezvous DIR, a folder that all of them "
           "see, or --rendezvous HOST:PORT, where the root listens; the folder "
           "of --checkpoint is one, too";
  if (readHostPort(where, host, port)) {
    const char *text = getenv("TESSERA_KEY");
    if (!options.key.empty())
      return readKeyFile(options.key, key);
    if (!text)
      return "--rendezvous " + where +
             " expects a key, the same on all nodes, in TESSERA_KEY or a file "
             "of --key; `tessera key` prints one";
    std::string error = parseKey(text, key);
    return error.empty() ? error : "TESSERA_KEY: " + error;
  }
  std::string error = makeFolders(resolvePath(where));
  if (!error.empty())
    return error;
  folder = resolvePath(where);
  path = folder + "/" + rootFileName(hashBytes(job.data(), job.size()));
  return std::string();
}

/// Removes what roots of this job left that ended before their file was whole.
static void removeUnfinished(const std::string &folder,
                             const std::string &path) {
  std::vector<std::string> names;
  std::string start = path.substr(folder.size() + 1) + ".";
  if (!listFolder(folder, names).empty())
    return;
  for (const std::string &name : names)
    if (name.compare(0, start.size(), start) == 0)
      unlink((folder + "/" + name).c_str());
}

std::string RootPlace::publish(const RootAddress &address) {
  if (!isFolder())
    return std::string();
  std::string text = format("%s\n", title) + job + "\n" + address.endpoint +
                     "\n" + describeKey(address.key) + "\n";
  std::string partial = path + format(".%d", int(getpid()));
  removeUnfinished(folder, path);
  int fd = open(partial.c_str(),
                O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return describeSystemError("make", partial);
  std::string error;
  if (write(fd, text.data(), text.size()) != ssize_t(text.size()) ||
      fsync(fd) != 0)
    error = describeSystemError("write", partial);
  if (close(fd) != 0 && error.empty())
    error = describeSystemError("write", partial);
  if (error.empty() && rename(partial.c_str(), path.c_str()) != 0)
    error = describeSystemError("rename to", path);
  if (!error.empty())
    unlink(partial.c_str());
  published = error.empty() ? text : std::string();
  return error;
}

/// Reads the file of a root. `isThere` is false if there is none.
static std::string readRootFile(const std::string &path, std::string &text,
                                bool &isThere) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  isThere = fd >= 0;
  if (fd < 0)
    return errno == ENOENT || errno == ESTALE
               ? std::string()
               : describeSystemError("open", path);
  struct stat info;
  std::string error;
  char bytes[4096];
  ssize_t count = read(fd, bytes, sizeof(bytes));
  if (fstat(fd, &info) != 0 || count < 0)
    error = describeSystemError("read", path);
  else if (info.st_uid != geteuid() || (info.st_mode & 077) != 0)
    error = format("expects '%s' to be a file that user %d alone may read, but "
                   "it is of user %d with mode %o",
                   path.c_str(), int(geteuid()), int(info.st_uid),
                   unsigned(info.st_mode & 0777));
  close(fd);
  text.assign(bytes, size_t(std::max<ssize_t>(count, 0)));
  return error;
}

void RootPlace::remove() {
  std::string text;
  bool isThere = false;
  if (published.empty())
    return;
  readRootFile(path, text, isThere);
  if (isThere && text == published)
    unlink(path.c_str());
  published.clear();
}

std::string RootPlace::find(RootAddress &address, bool &isThere) const {
  if (!isFolder()) {
    std::string numeric;
    std::string error = resolveHost(host, numeric);
    // A name may be known later than its pod.
    isThere = error.empty();
    address.key = key;
    address.endpoint = format("tcp://%s:%d", numeric.c_str(), port);
    return std::string();
  }
  std::string text, lines[4];
  std::string error = readRootFile(path, text, isThere);
  if (!error.empty() || !isThere)
    return error;
  size_t at = 0;
  for (std::string &line : lines) {
    size_t end = std::min(text.find('\n', at), text.size());
    line = text.substr(at, end - at);
    at = std::min(end + 1, text.size());
  }
  if (lines[0] != title)
    return "expects '" + path +
           "' to be the root's file of this version, but "
           "it begins with '" +
           lines[0] + "'";
  if (lines[1] != job)
    return "expects '" + path + "' to be the root's file of job '" + job +
           "', but it is of job '" + lines[1] + "'";
  address.endpoint = lines[2];
  error = parseKey(lines[3], address.key);
  return error.empty() ? error : "'" + path + "': " + error;
}

std::string RootPlace::describe() const {
  return isFolder() ? "in '" + folder + "'"
                    : "at " + host + format(":%d", port);
}
