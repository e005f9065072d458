//===- RunFolder.cpp - The folder of --checkpoint -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See RunFolder.h.
//
//===----------------------------------------------------------------------===//

#include "RunFolder.h"

#include "data/Folders.h"
#include "ranks/Control.h"
#include "support/Support.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tessera::rt;

static constexpr const char *lockName = "lock";
/// The files of RunRecord.
static constexpr const char *recordNames[] = {"record.jsonl", "progress"};
static constexpr const char *partialEnd = ".partial";
static constexpr const char *stepStart = "step-";

std::string tessera::rt::stepName(int64_t step) {
  return format("%s%08lld", stepStart, (long long)step);
}

static constexpr const char *rootStart = "root-";

std::string tessera::rt::rootFileName(uint64_t job) {
  return format("%s%016llx", rootStart, (unsigned long long)job);
}

/// True for the file of a root, and for one that is not whole yet.
static bool isRootFile(const std::string &name) {
  return name.compare(0, strlen(rootStart), rootStart) == 0;
}

std::string tessera::rt::partialPath(const std::string &folder, int64_t step) {
  return folder + "/" + stepName(step) + partialEnd;
}

int64_t tessera::rt::readStepName(const std::string &name) {
  size_t start = strlen(stepStart);
  if (name.compare(0, start, stepStart) != 0 || name.size() > start + 18 ||
      name.find_first_not_of("0123456789", start) != std::string::npos)
    return -1;
  int64_t step = strtoll(name.c_str() + start, nullptr, 10);
  return name == stepName(step) ? step : -1;
}

/// Finds the steps and the partial folders.
static std::string readFolder(const std::string &folder,
                              std::vector<int64_t> &steps,
                              std::vector<std::string> &partial) {
  std::vector<std::string> names;
  std::string error = listFolder(folder, names);
  for (const std::string &name : names) {
    int64_t step = readStepName(name);
    if (step >= 0)
      steps.push_back(step);
    else if (endsWith(name, partialEnd) &&
             name.compare(0, strlen(stepStart), stepStart) == 0)
      partial.push_back(folder + "/" + name);
    else if (name != lockName && name != recordNames[0] &&
             name != recordNames[1] && !isRootFile(name) && error.empty())
      error = "expects '" + folder +
              "' to be absent, empty, or the checkpoints of a run, but got '" +
              name + "' in it: name another folder";
  }
  std::sort(steps.begin(), steps.end());
  return error;
}

std::string tessera::rt::findSteps(const std::string &folder,
                                   std::vector<int64_t> &steps) {
  std::vector<std::string> partial;
  return exists(folder) ? readFolder(folder, steps, partial) : std::string();
}

std::vector<int64_t>
tessera::rt::stepsToRemove(const std::vector<int64_t> &whole,
                           const Retention &retention) {
  std::vector<int64_t> removed;
  int64_t older = int64_t(whole.size()) - retention.newest;
  for (int64_t i = 0; i < older; ++i)
    if (!retention.every || whole[size_t(i)] % retention.every != 0)
      removed.push_back(whole[size_t(i)]);
  return removed;
}

//===----------------------------------------------------------------------===//
// The lock
//===----------------------------------------------------------------------===//

/// Says who this run is, with a number that no other run has.
static std::string describeOwner() {
  char host[256] = "?";
  gethostname(host, sizeof(host) - 1);
  uint64_t number = 0;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number))
    number = uint64_t(monotonicSeconds() * 1e9) ^ uint64_t(getpid()) << 40;
  const char *job = getenv("SLURM_JOB_ID");
  return format("host %s, process %d, job %s, number %016llx\n", host,
                int(getpid()), job ? job : "none", (unsigned long long)number);
}

static std::string readOwner(const std::string &path) {
  char text[512];
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof(text));
  if (fd >= 0)
    ::close(fd);
  return bytes < 0 ? std::string() : std::string(text, size_t(bytes));
}

uint64_t tessera::rt::readRunNumber(const std::string &folder) {
  std::string owner = readOwner(folder + "/" + lockName);
  return owner.empty() ? 0 : hashBytes(owner.data(), owner.size());
}

/// Locks an open file. Returns 0, or the error; EAGAIN: another has the lock.
static int tryLock(int fd) {
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(fd, F_OFD_SETLK, &whole) == 0)
    return 0;
  return errno == EACCES ? EAGAIN : errno;
}

RunFolder::~RunFolder() {
  if (fd >= 0)
    ::close(fd);
}

std::string RunFolder::lock(double patience) {
  std::string path = folder + "/" + lockName;
  fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0)
    return describeSystemError("open", path);
  double end = monotonicSeconds() + patience;
  bool isTold = false;
  int error;
  while ((error = tryLock(fd)) == EAGAIN && monotonicSeconds() < end) {
    if (!isTold)
      fprintf(stderr, "waiting up to %.0f s for the run that writes to '%s'\n",
              patience, folder.c_str());
    isTold = true;
    usleep(100000);
  }
  if (error == EAGAIN) {
    std::string holder = readOwner(path);
    holder = holder.substr(0, holder.find('\n'));
    return "expects a folder for one run, but another one writes to '" +
           folder + "': " + (holder.empty() ? "not known" : holder);
  }
  // The number alone keeps runs apart where there are no locks.
  bool isOffered = error != ENOLCK && error != ENOSYS && error != EINVAL &&
                   error != EOPNOTSUPP;
  errno = error;
  if (error && isOffered)
    return describeSystemError("lock", path);
  owner = describeOwner();
  if (ftruncate(fd, 0) != 0 ||
      pwrite(fd, owner.data(), owner.size(), 0) != ssize_t(owner.size()) ||
      fsync(fd) != 0)
    return describeSystemError("write", path);
  return std::string();
}

std::string RunFolder::checkOwner() const {
  std::string now = readOwner(folder + "/" + lockName);
  if (now == owner)
    return std::string();
  return "another run writes to '" + folder +
         "' now: " + now.substr(0, now.find('\n'));
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

/// Removes a folder that holds files alone.
static std::string removePartial(const std::string &path) {
  std::vector<std::string> names;
  std::string error = listFolder(path, names);
  for (const std::string &name : names)
    if (error.empty() && unlink((path + "/" + name).c_str()) != 0)
      error = describeSystemError("remove", path + "/" + name);
  if (error.empty() && rmdir(path.c_str()) != 0)
    error = describeSystemError("remove", path);
  return error;
}

std::string RunFolder::checkRename() const {
  std::string from = folder + "/" + stepStart + "test-1" + partialEnd;
  std::string to = folder + "/" + stepStart + "test-2" + partialEnd;
  if (mkdir(from.c_str(), 0777) != 0)
    return describeSystemError("make the directory", from);
  std::string error;
  if (rename(from.c_str(), to.c_str()) != 0) {
    error = describeSystemError("rename to", to) +
            ": a checkpoint appears by a rename";
    rmdir(from.c_str());
  } else if (rmdir(to.c_str()) != 0) {
    error = describeSystemError("remove", to);
  }
  return error;
}

std::string RunFolder::open(const std::string &path, double patience) {
  std::string error = makeFolders(resolvePath(path));
  if (!error.empty())
    return error;
  folder = resolvePath(path);
  std::vector<int64_t> steps;
  std::vector<std::string> partial;
  // A folder of other files gets no lock.
  error = readFolder(folder, steps, partial);
  if (error.empty())
    error = lock(patience);
  partial.clear();
  if (error.empty())
    error = readFolder(folder, steps, partial);
  for (const std::string &path : partial)
    if (error.empty())
      error = removePartial(path);
  return error.empty() ? checkRename() : error;
}

std::string RunFolder::publish(int64_t step) {
  std::string partial = partialPath(folder, step);
  std::string target = folder + "/" + stepName(step);
  std::string error = syncFolder(partial);
  if (error.empty())
    error = checkOwner();
  if (!error.empty())
    return error;
  if (exists(target)) {
    // A damaged one gives way; the next start removes it if this one ends.
    std::string damaged =
        folder + "/" + stepName(step) + "-damaged" + partialEnd;
    if (rename(target.c_str(), damaged.c_str()) != 0)
      return describeSystemError("rename", target);
    if (rename(partial.c_str(), target.c_str()) != 0)
      return describeSystemError("rename to", target);
    error = syncFolder(folder);
    return error.empty() ? removePartial(damaged) : error;
  }
  if (rename(partial.c_str(), target.c_str()) != 0)
    return describeSystemError("rename to", target);
  return syncFolder(folder);
}

std::string RunFolder::removeOld(const Retention &retention,
                                 const std::set<int64_t> &damaged) {
  std::vector<int64_t> steps, whole;
  std::string error = findSteps(folder, steps);
  if (error.empty())
    error = checkOwner();
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(whole),
               [&](int64_t step) { return !damaged.count(step); });
  std::vector<std::string> removed;
  for (int64_t step : stepsToRemove(whole, retention)) {
    std::string path = folder + "/" + stepName(step);
    removed.push_back(partialPath(folder, step));
    if (error.empty() && rename(path.c_str(), removed.back().c_str()) != 0)
      error = describeSystemError("rename", path);
  }
  // A loss of power must not bring the name back and leave the files away.
  if (error.empty() && !removed.empty())
    error = syncFolder(folder);
  for (const std::string &path : removed)
    if (error.empty())
      error = removePartial(path);
  return error;
}
