//===- TemporaryFile.h - A file that is removed at the end ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_TEMPORARYFILE_H
#define TESSERA_SUPPORT_TEMPORARYFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace tessera {

/// An empty file in a folder of this process inside the system's temporary
/// folder (TMPDIR). The file is removed with the object, the folder with the
/// last file, and both on an interrupt if cleanUpOnInterrupts() was called.
class TemporaryFile {
public:
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  ~TemporaryFile();

  /// Creates a file `prefix`-NUMBER.`suffix`; call it once.
  llvm::Error create(llvm::StringRef prefix, llvm::StringRef suffix);

  llvm::StringRef getPath() const { return path; }

  /// Replaces the content of the file. Errors name the file.
  llvm::Error write(llvm::StringRef text) const;

private:
  std::string path;
};

} // namespace tessera

#endif // TESSERA_SUPPORT_TEMPORARYFILE_H
