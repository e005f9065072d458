//===- TemporaryFile.h - A file that does not stay --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_TEMPORARYFILE_H
#define TESSERA_SUPPORT_TEMPORARYFILE_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"

namespace tessera {

/// An empty file in the system's folder for temporary ones. It is removed with
/// the object, and by SIGTERM, SIGHUP and SIGINT.
class TemporaryFile {
public:
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  ~TemporaryFile() {
    if (path.empty())
      return;
    llvm::sys::fs::remove(path);
    llvm::sys::DontRemoveFileOnSignal(path);
  }

  /// Makes a file `prefix`-NUMBER.`suffix`. To be called once.
  llvm::Error create(llvm::StringRef prefix, llvm::StringRef suffix) {
    std::error_code code =
        llvm::sys::fs::createTemporaryFile(prefix, suffix, path);
    if (code) {
      path.clear();
      return llvm::createStringError("no temporary file can be made: " +
                                     code.message());
    }
    llvm::sys::RemoveFileOnSignal(path);
    return llvm::Error::success();
  }

  llvm::StringRef getPath() const { return path; }

private:
  llvm::SmallString<128> path;
};

} // namespace tessera

#endif // TESSERA_SUPPORT_TEMPORARYFILE_H
