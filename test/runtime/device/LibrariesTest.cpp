//===- LibrariesTest.cpp - Libraries that are loaded when needed ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CublasLtApi.h"
#include "runtime/cuda/NcclApi.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tessera::rt::cuda;

/// Runs `body` in its own process, because a library stays once it is loaded.
static void apart(const std::function<void()> &body) {
  pid_t child = fork();
  if (child == 0) {
    body();
    fflush(stdout);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

static void search(const char *folder) {
  setenv("TESSERA_CUDA_LIBRARY_PATH",
         (std::string(FAKES "/none:" FAKES "/") + folder).c_str(), 1);
}

TEST(libraries, are_found_in_named_folders) {
  apart([] {
    search("good");
    nccl::Api api = {};
    api.library = findLibrary(LibraryKind::Nccl);
    api.bind();
    EXPECT_TRUE(api.library.isUsable()) << api.library.error;
    EXPECT_EQ(api.library.path, FAKES "/good/libnccl.so.2");
    EXPECT_EQ(api.library.version, "2.28.9");
    lt::Api matmuls = {};
    matmuls.library = findLibrary(LibraryKind::CublasLt);
    matmuls.bind();
    EXPECT_TRUE(matmuls.library.isUsable()) << matmuls.library.error;
    EXPECT_EQ(matmuls.library.version, "13.1");
  });
}

TEST(libraries, of_an_old_version_are_refused) {
  apart([] {
    search("old");
    Library library = findLibrary(LibraryKind::Nccl);
    EXPECT_TRUE(library.isFound());
    EXPECT_FALSE(library.isUsable());
    EXPECT_EQ(library.error, "expects NCCL 2.28.9 or later, but got 2.19.3 "
                             "(" FAKES "/old/libnccl.so.2)");
  });
}

TEST(libraries, of_an_old_version_are_passed_over) {
  apart([] {
    std::string root =
        testing::TempDir() + "tessera-versions-" + std::to_string(getpid());
    for (const char *part : {"", "/nvidia", "/nvidia/a", "/nvidia/b"})
      mkdir((root + part).c_str(), 0700);
    std::string first = root + "/nvidia/a/lib", second = root + "/nvidia/b/lib";
    ASSERT_EQ(symlink(FAKES "/old", first.c_str()), 0);
    ASSERT_EQ(symlink(FAKES "/good", second.c_str()), 0);
    unsetenv("TESSERA_CUDA_LIBRARY_PATH");
    setenv("PYTHONPATH", root.c_str(), 1);
    Library library = findLibrary(LibraryKind::Nccl);
    EXPECT_TRUE(library.isUsable()) << library.error;
    // The error names the old library if there is no other one.
    unlink(second.c_str());
    Library old = findLibrary(LibraryKind::Nccl);
    if (!old.isUsable())
      EXPECT_EQ(
          old.error.rfind("expects NCCL 2.28.9 or later, but got 2.19.3", 0),
          0u)
          << old.error;
    unlink(first.c_str());
    for (const char *part : {"/nvidia/b", "/nvidia/a", "/nvidia", ""})
      rmdir((root + part).c_str());
  });
}

TEST(libraries, without_a_function_are_refused) {
  apart([] {
    search("lacking");
    nccl::Api api = {};
    api.library = findLibrary(LibraryKind::Nccl);
    ASSERT_EQ(api.library.error, "");
    api.bind();
    EXPECT_EQ(api.library.error,
              "NCCL 2.28.9 (" FAKES "/lacking/libnccl.so.2) has no "
              "ncclCommSplit");
  });
}

TEST(libraries, that_are_no_libraries_are_named) {
  apart([] {
    std::string folder =
        testing::TempDir() + "tessera-libraries-" + std::to_string(getpid());
    mkdir(folder.c_str(), 0700);
    std::ofstream(folder + "/libcudnn.so.9") << "text";
    setenv("TESSERA_CUDA_LIBRARY_PATH", folder.c_str(), 1);
    Library library = findLibrary(LibraryKind::Cudnn);
    // The machine may have another library.
    if (!library.handle) {
      EXPECT_TRUE(library.isRefused);
      EXPECT_EQ(library.error.rfind("cuDNN (libcudnn.so.9) cannot be loaded: " +
                                        folder + "/libcudnn.so.9",
                                    0),
                0u)
          << library.error;
    }
    unlink((folder + "/libcudnn.so.9").c_str());
    rmdir(folder.c_str());
  });
}

TEST(libraries, python_packages_are_searched) {
  apart([] {
    std::string root =
        testing::TempDir() + "tessera-packages-" + std::to_string(getpid());
    for (const char *part : {"", "/nvidia", "/nvidia/nccl"})
      mkdir((root + part).c_str(), 0700);
    ASSERT_EQ(symlink(FAKES "/good", (root + "/nvidia/nccl/lib").c_str()), 0);
    unsetenv("TESSERA_CUDA_LIBRARY_PATH");
    setenv("PYTHONPATH", root.c_str(), 1);
    std::vector<std::string> folders = libraryFolders();
    EXPECT_NE(
        std::find(folders.begin(), folders.end(), root + "/nvidia/nccl/lib"),
        folders.end());
    unlink((root + "/nvidia/nccl/lib").c_str());
    for (const char *part : {"/nvidia/nccl", "/nvidia", ""})
      rmdir((root + part).c_str());
  });
}
