//===- Subject.h - Readers that are given damaged inputs --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a fuzz target is: a reader, and inputs to begin with. RuntimeReaders.cpp
// and CompilerReaders.cpp define them. DamageMain.cpp damages inputs at random,
// in every build and fast enough for tests; FuzzMain.cpp lets libFuzzer look
// for inputs that run new code, in build-fuzz/ and build-runtime-fuzz/.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_FUZZ_SUBJECT_H
#define TESSERA_TEST_FUZZ_SUBJECT_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::fuzz {

/// A reader and what it reads.
struct Subject {
  const char *name;
  /// Reads one input and uses what it accepts; returns whether it accepts it.
  bool (*read)(const std::string &input);
  std::vector<std::string> (*makeExamples)();
};

/// The readers of this program.
std::vector<Subject> getSubjects();

/// Ends the program, with what was wrong, where a reader does what it must not.
/// The input is named by the main program.
void require(bool holds, const std::string &what);

/// Of inputs, one in `count`: for what takes long. The same input is always
/// drawn, or never.
inline bool isDrawn(const std::string &input, uint64_t count) {
  uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  for (char c : input)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return (hash >> 32) % count == 0;
}

} // namespace tessera::fuzz

#endif // TESSERA_TEST_FUZZ_SUBJECT_H
