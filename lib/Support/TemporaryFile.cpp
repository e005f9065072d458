//===- TemporaryFile.cpp - A file that is removed at exit -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/TemporaryFile.h"
#include "Interrupts.h"
#include "TemporaryFolder.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <mutex>
#include <stdlib.h>

using namespace tessera;
using llvm::Error;
using llvm::StringRef;

namespace {

/// The folder, which exists while there is a file.
struct Folder {
  std::mutex mutex;
  std::string path;
  /// The number of its users.
  int uses = 0;
};

} // namespace

/// Never destroyed: static files may outlive a static folder.
static Folder &getFolder() {
  static Folder *folder = new Folder;
  return *folder;
}

static Error makeError(std::error_code code) {
  return llvm::createStringError("no temporary file can be made: " +
                                 code.message());
}

llvm::Expected<std::string> tessera::useTemporaryFolder() {
  Folder &folder = getFolder();
  std::lock_guard lock(folder.mutex);
  if (folder.uses == 0) {
    llvm::SmallString<128> model;
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, model);
    llvm::sys::path::append(model, "tessera-XXXXXX");
    std::string path = model.str().str();
    InterruptGuard guard;
    if (!mkdtemp(path.data()))
      return makeError(std::error_code(errno, std::generic_category()));
    if (!setTemporaryFolder(path)) {
      removeFolder(path.c_str());
      return makeError(std::make_error_code(std::errc::filename_too_long));
    }
    folder.path = std::move(path);
  }
  ++folder.uses;
  return folder.path;
}

void tessera::leaveTemporaryFolder() {
  Folder &folder = getFolder();
  std::lock_guard lock(folder.mutex);
  if (--folder.uses > 0)
    return;
  removeFolder(folder.path.c_str());
  setTemporaryFolder("");
}

TemporaryFile::~TemporaryFile() {
  if (path.empty())
    return;
  // A file that cannot be removed is removed with its folder.
  (void)llvm::sys::fs::remove(path);
  leaveTemporaryFolder();
}

Error TemporaryFile::create(StringRef prefix, StringRef suffix) {
  auto folder = useTemporaryFolder();
  if (!folder)
    return folder.takeError();
  llvm::SmallString<128> model(*folder), made;
  llvm::sys::path::append(model, prefix + "-%%%%%%%%." + suffix);
  if (std::error_code code = llvm::sys::fs::createUniqueFile(model, made)) {
    leaveTemporaryFolder();
    return makeError(code);
  }
  path = made.str().str();
  return Error::success();
}

Error TemporaryFile::write(StringRef text) const {
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (!code) {
    os << text;
    os.close();
    code = os.error();
    os.clear_error();
  }
  return code ? llvm::createStringError(
                    path + ": cannot be written: " + code.message())
              : Error::success();
}
