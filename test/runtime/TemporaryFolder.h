//===- TemporaryFolder.h - Files of a test program --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of this process alone, because test programs run concurrently. It is
// removed when the process ends.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RUNTIME_TEMPORARYFOLDER_H
#define TESSERA_TEST_RUNTIME_TEMPORARYFOLDER_H

#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace tessera::rt {

class TemporaryFolder {
public:
  TemporaryFolder()
      : path(testing::TempDir() + "tessera-test-" + std::to_string(getpid())),
        owner(getpid()) {
    std::error_code ignored;
    std::filesystem::create_directories(path, ignored);
  }
  ~TemporaryFolder() {
    // A forked child does not remove the folder.
    std::error_code ignored;
    if (owner == getpid())
      std::filesystem::remove_all(path, ignored);
  }
  const std::string path;

private:
  const pid_t owner;
};

/// A path in this process's folder.
inline std::string temporary(const std::string &name) {
  static const TemporaryFolder folder;
  return folder.path + "/" + name;
}

} // namespace tessera::rt

#endif // TESSERA_TEST_RUNTIME_TEMPORARYFOLDER_H
