//===- Subject.h - Readers that get damaged inputs --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fuzz target is a reader with initial inputs. RuntimeReaders.cpp and
// CompilerReaders.cpp define them. DamageMain.cpp damages inputs at random, in
// every build and fast enough for tests. FuzzMain.cpp lets libFuzzer search for
// inputs that reach new code, in build-fuzz/ and build-runtime-fuzz/.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_FUZZ_SUBJECT_H
#define TESSERA_TEST_FUZZ_SUBJECT_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::fuzz {

/// A reader and its example inputs.
struct Subject {
  const char *name;
  /// Reads one input and uses it if it is accepted; returns true if it is.
  bool (*read)(const std::string &input);
  std::vector<std::string> (*makeExamples)();
};

/// The readers of this program.
std::vector<Subject> getSubjects();

/// Ends the program with the message `what` if a reader breaks a rule. The main
/// program names the input.
void require(bool holds, const std::string &what);

/// Selects one in `count` inputs, for slow checks. The same input is always
/// selected, or never.
inline bool isDrawn(const std::string &input, uint64_t count) {
  uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  for (char c : input)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return (hash >> 32) % count == 0;
}

} // namespace tessera::fuzz

#endif // TESSERA_TEST_FUZZ_SUBJECT_H
