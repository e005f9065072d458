//===- FuzzMain.cpp - Readers with libFuzzer ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   PROGRAM --reader=NAME [options of libFuzzer] FOLDER...
//
// libFuzzer damages the files of the folders and stores those that reach new
// code in the first folder.
//
//===----------------------------------------------------------------------===//

#include "Subject.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace tessera::fuzz;

static Subject subject;

void tessera::fuzz::require(bool holds, const std::string &what) {
  if (holds)
    return;
  fprintf(stderr, "%s accepts what it cannot use: %s\n", subject.name,
          what.c_str());
  abort(); // libFuzzer writes the input to a file
}

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  static const char prefix[] = "--reader=";
  for (int i = 1; i < *argc; ++i)
    if (strncmp((*argv)[i], prefix, strlen(prefix)) == 0)
      for (const Subject &each : getSubjects())
        if (strcmp(each.name, (*argv)[i] + strlen(prefix)) == 0)
          subject = each;
  if (subject.read)
    return 0;
  fprintf(stderr, "expects --reader=NAME, NAME one of");
  for (const Subject &each : getSubjects())
    fprintf(stderr, " %s", each.name);
  fprintf(stderr, "\n");
  exit(1);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  subject.read(std::string(reinterpret_cast<const char *>(data), size));
  return 0;
}
