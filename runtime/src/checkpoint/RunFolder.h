//===- RunFolder.h - The folder of --checkpoint -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The folder with the checkpoints of one run:
//
//   lock                   who writes here
//   record.jsonl           its attempts, and what their time went to
//   progress               the same of this attempt so far
//   step-00000100/         a checkpoint, whole
//   step-00000200.partial  one that is being written, or removed
//
// A checkpoint appears by one rename, once all of its files are on the disk,
// and vanishes by another before its files are removed. So step-N has all of
// its files whenever a process or the machine dies, and the next start removes
// what has the name of a partial one.
//
// One run at a time writes there. It locks the file `lock` and writes a number
// into it that no other run has. Before each rename it reads the number again:
// a file system may not offer locks, and a run that was stopped for long may
// have lost its own.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_RUNFOLDER_H
#define TESSERA_RT_SRC_RUNFOLDER_H

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tessera::rt {

/// "step-00000100"
std::string stepName(int64_t step);

/// The path of a step's folder while it is written.
std::string partialPath(const std::string &folder, int64_t step);
/// Returns a number of the run that has locked a folder; 0: there is no lock.
uint64_t readRunNumber(const std::string &folder);
/// The file by which the nodes of a job, by its hash, find each other. It may
/// be in the folder of checkpoints.
std::string rootFileName(uint64_t job);

/// Finds the steps of a folder's checkpoints, in ascending order. Returns a
/// message if the folder cannot be read or has other files, or nothing. A
/// folder that does not exist has none.
std::string findSteps(const std::string &folder, std::vector<int64_t> &steps);

/// The number of a step's folder, such as 100; -1 for any other name.
int64_t readStepName(const std::string &name);

/// The checkpoints that stay.
struct Retention {
  /// The newest so many.
  int64_t newest = 2;
  /// And those of each step that this number divides; 0: of none.
  int64_t every = 0;
};

/// The steps to remove. `whole` has the steps that are not damaged, in
/// ascending order.
std::vector<int64_t> stepsToRemove(const std::vector<int64_t> &whole,
                                   const Retention &retention);

/// The folder as the run that writes there sees it. Each function returns a
/// message, or nothing.
class RunFolder {
public:
  RunFolder() = default;
  RunFolder(const RunFolder &) = delete;
  RunFolder &operator=(const RunFolder &) = delete;
  /// Gives up the lock.
  ~RunFolder();

  /// Makes and locks the folder, waiting up to `patience` seconds for another
  /// run to end, checks that it holds checkpoints alone and that its file
  /// system can rename folders, and removes partial ones.
  std::string open(const std::string &path, double patience);

  /// Publishes the partial folder of a step, whose files are on the disk. It
  /// replaces a damaged one of that step.
  std::string publish(int64_t step);

  /// Removes the checkpoints that do not stay, of all but the `damaged` steps.
  std::string removeOld(const Retention &retention,
                        const std::set<int64_t> &damaged);

  const std::string &path() const { return folder; }

private:
  std::string lock(double patience);
  std::string checkRename() const;
  std::string checkOwner() const;

  std::string folder;
  /// The file `lock`, locked.
  int fd = -1;
  /// The text that this run wrote into it.
  std::string owner;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_RUNFOLDER_H
