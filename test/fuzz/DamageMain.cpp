//===- DamageMain.cpp - Readers with randomly damaged inputs --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   PROGRAM [--inputs N] [--seed S] [READER...]
//   PROGRAM --write-examples FOLDER
//
// Gives each reader its corpus and N damaged inputs. The corpus is the files of
// test/fuzz/corpus/READER/, on which a reader once failed. A reader may refuse
// an input, but it may not crash, take 10 s, or accept an input that it then
// cannot use. Such an input is named by its file, or by its reader and seed;
// `--inputs 1 --seed S READER` reproduces it.
//
// The second form writes FOLDER/READER/NUMBER as initial inputs of libFuzzer.
//
//===----------------------------------------------------------------------===//

#include "Mutator.h"
#include "Subject.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/time.h>
#include <unistd.h>

using namespace tessera::fuzz;

static constexpr int secondsPerInput = 10;

/// Name of the current input; read by a signal handler.
static char currentInput[512];

void tessera::fuzz::require(bool holds, const std::string &what) {
  if (holds)
    return;
  fprintf(stderr, "accepts what it cannot use (%s): %s\n", what.c_str(),
          currentInput);
  _exit(2);
}

static void onCrash(int number) {
  const char *what = number == SIGALRM ? "too slow: " : "crash: ";
  if (write(2, what, strlen(what)) < 0 ||
      write(2, currentInput, strlen(currentInput)) < 0 || write(2, "\n", 1) < 0)
    _exit(3);
  _exit(2);
}

static void setTimeLimit(int seconds) {
  itimerval limit = {};
  limit.it_value.tv_sec = seconds;
  setitimer(ITIMER_REAL, &limit, nullptr);
}

/// Returns true if the reader accepts the input.
static bool read(const Subject &subject, const std::string &input) {
  setTimeLimit(secondsPerInput);
  bool isAccepted = subject.read(input);
  setTimeLimit(0);
  return isAccepted;
}

static void readCorpus(const Subject &subject) {
  std::vector<std::filesystem::path> paths;
  std::error_code code;
  for (const auto &entry : std::filesystem::directory_iterator(
           std::string(TESSERA_CORPUS "/") + subject.name, code))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const std::filesystem::path &path : paths) {
    snprintf(currentInput, sizeof(currentInput), "%s", path.c_str());
    std::ifstream in(path, std::ios::binary);
    read(subject, std::string(std::istreambuf_iterator<char>(in),
                              std::istreambuf_iterator<char>()));
  }
}

static void readDamaged(const Subject &subject, uint64_t seed, int64_t count) {
  std::vector<std::string> examples = subject.makeExamples();
  using Clock = std::chrono::steady_clock;
  int64_t accepted = 0;
  Clock::duration slowest{};
  for (int64_t i = 0; i < count; ++i) {
    snprintf(currentInput, sizeof(currentInput), "--inputs 1 --seed %llu %s",
             (unsigned long long)(seed + uint64_t(i)), subject.name);
    Mutator mutator(seed + uint64_t(i));
    std::string input = mutator.damage(examples);
    Clock::time_point begin = Clock::now();
    accepted += read(subject, input);
    slowest = std::max(slowest, Clock::now() - begin);
  }
  printf("%-12s %8lld inputs, %8lld accepted, slowest %.1f ms\n", subject.name,
         (long long)count, (long long)accepted,
         std::chrono::duration<double, std::milli>(slowest).count());
  fflush(stdout);
  // Requires a valid example and, among many inputs, a refused one. Damaged
  // inputs of a reader with a checksum are never valid.
  bool survives = false;
  for (const std::string &example : examples)
    survives |= subject.read(example);
  require(survives, "no example is valid");
  require(count < 1000 || accepted < count, "no input is damaged");
}

static int writeExamples(const std::filesystem::path &folder) {
  for (const Subject &subject : getSubjects()) {
    std::error_code code;
    std::filesystem::create_directories(folder / subject.name, code);
    int number = 0;
    for (const std::string &example : subject.makeExamples()) {
      std::ofstream out(folder / subject.name / std::to_string(number++),
                        std::ios::binary);
      if (!(out << example).flush()) {
        fprintf(stderr, "cannot write to %s\n", folder.c_str());
        return 1;
      }
    }
  }
  return 0;
}

int main(int argc, char **argv) {
  int64_t inputs = 1000;
  uint64_t seed = 0;
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    bool hasValue = i + 1 < argc;
    if (strcmp(argv[i], "--inputs") == 0 && hasValue)
      inputs = atoll(argv[++i]);
    else if (strcmp(argv[i], "--seed") == 0 && hasValue)
      seed = strtoull(argv[++i], nullptr, 10);
    else if (strcmp(argv[i], "--write-examples") == 0 && hasValue)
      return writeExamples(argv[++i]);
    else
      wanted.push_back(argv[i]);
  }
  for (int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM})
    signal(number, onCrash);
  size_t tried = 0;
  for (const Subject &subject : getSubjects()) {
    if (!wanted.empty() &&
        std::find(wanted.begin(), wanted.end(), subject.name) == wanted.end())
      continue;
    readCorpus(subject);
    readDamaged(subject, seed, inputs);
    ++tried;
  }
  if (wanted.empty() || tried == wanted.size())
    return 0;
  fprintf(stderr, "expects names of readers\n");
  return 1;
}
