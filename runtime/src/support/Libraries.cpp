//===- Libraries.cpp - Libraries that are loaded when needed --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Libraries.h. This uses nothing of the rest of the runtime, because
// tessera doctor uses it too.
//
//===----------------------------------------------------------------------===//

#include "Libraries.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

using namespace tessera::rt;

std::vector<std::string> tessera::rt::listLibraries(const std::string &folder,
                                                    const char *prefix) {
  std::vector<std::string> names;
  DIR *opened = opendir(folder.c_str());
  if (!opened)
    return names;
  while (dirent *entry = readdir(opened))
    if (entry->d_name[0] != '.' &&
        strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
      names.push_back(entry->d_name);
  closedir(opened);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> tessera::rt::splitPaths(const char *variable) {
  std::vector<std::string> paths;
  const char *text = getenv(variable);
  for (std::string rest = text ? text : ""; !rest.empty();) {
    size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0)
      paths.push_back(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  return paths;
}

/// Adds PREFIX/lib/python3.*/{site,dist}-packages.
static void addPackagesOf(const std::string &prefix,
                          std::vector<std::string> &packages) {
  for (const std::string &version : listLibraries(prefix + "/lib", "python3"))
    for (const char *folder : {"/site-packages", "/dist-packages"})
      packages.push_back(prefix + "/lib/" + version + folder);
}

std::vector<std::string> tessera::rt::pythonPackages() {
  std::vector<std::string> packages = splitPaths("PYTHONPATH");
  if (const char *environment = getenv("VIRTUAL_ENV"))
    addPackagesOf(environment, packages);
  for (const std::string &folder : splitPaths("PATH")) {
    struct stat info;
    if (stat((folder + "/python3").c_str(), &info) != 0)
      continue;
    addPackagesOf(folder.substr(0, folder.find_last_of('/')), packages);
    break;
  }
  if (const char *home = getenv("HOME"))
    addPackagesOf(std::string(home) + "/.local", packages);
  for (const char *prefix : {"/usr/local", "/usr"})
    addPackagesOf(prefix, packages);
  return packages;
}

bool tessera::rt::loadLibrary(const std::string &file, Library &library,
                              std::string &refused) {
  library.handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle) {
    link_map *map = nullptr;
    if (dlinfo(library.handle, RTLD_DI_LINKMAP, &map) == 0 && map)
      library.path = map->l_name;
    return true;
  }
  // If the loader names another file than the one asked for, a dependency is
  // missing.
  std::string error = dlerror();
  if (refused.empty() && error.rfind(file + ": cannot open", 0) != 0)
    refused = error;
  return false;
}

void *Library::symbol(const char *function) {
  void *address = handle ? dlsym(handle, function) : nullptr;
  if (!address && error.empty())
    error = name + (version.empty() ? "" : " " + version) + " (" + path +
            ") has no " + function;
  return address;
}
